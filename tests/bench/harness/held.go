// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"time"
)

const (
	heldRounds = 10
	heldClaims = 60   // prepared in each half of a round
	heldBound  = 1.05 // what a prepare may cost with a full table, as a multiple of one with an empty table
)

// heldCost is what the claims that the agent holds cost a new prepare. Full and empty table alternate in
// short rounds, so that what else the machine does hits both alike.
type heldCost struct {
	EmptyP50 float64 `json:"emptyP50"` // ms
	FullP50  float64 `json:"fullP50"`
	Ratio    float64 `json:"ratio"`
	Reached  bool    `json:"reached"`
}

func (b *bench) measureHeld() error {
	agent := b.sides[0]
	var empty, full series
	for range heldRounds {
		if err := b.prepareEach(agent, heldClaims, &empty); err != nil {
			return err
		}
		// One place is left for the claim that is measured.
		if err := hold(b.sides[:1], heldMost-1); err != nil {
			return err
		}
		if err := b.prepareEach(agent, heldClaims, &full); err != nil {
			return err
		}
		if err := release(b.sides[:1], 0, heldMost-1); err != nil {
			return err
		}
	}
	cost := &heldCost{EmptyP50: milliseconds(empty.percentile(50)), FullP50: milliseconds(full.percentile(50))}
	cost.Ratio = cost.FullP50 / cost.EmptyP50
	cost.Reached = cost.Ratio <= heldBound
	b.held = cost
	return nil
}

// prepareEach times new prepares; each claim is unprepared at once.
func (b *bench) prepareEach(s *side, count int, times *series) error {
	for range count {
		if b.interrupted.Load() {
			return errInterrupted
		}
		c := measuredClaim(s.node, b.claims)
		b.claims++
		s.api.addClaim(c)
		begun := time.Now()
		_, err := s.prepare(named(c))
		times.times = append(times.times, time.Since(begun))
		if err == nil {
			err = s.unprepare(named(c))
		}
		s.api.dropClaim(c)
		if err != nil {
			return err
		}
	}
	return nil
}

func writeHeld(w io.Writer, c *heldCost) {
	fmt.Fprintf(w, "bound: prepare p50 of the agent with %d claims held at most %.2f times that with none: "+
		"%.2f ms beside %.2f ms, %.2f, %s\n\n", heldMost-1, heldBound, c.FullP50, c.EmptyP50, c.Ratio, verdict(c.Reached))
}
