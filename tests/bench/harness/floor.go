// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc/health/grpc_health_v1"
)

const (
	floorWarm       = 20  // claims that wire/floor.c does not count
	freshFloorBound = 1.5 // a fresh prepare beside its own system calls, at p50
	repeatBound     = 0.3 // ms, a repeated prepare beyond a bare call by the same client, at p50
)

// floorRow is a call of the agent beside the program that makes the same system calls.
type floorRow struct {
	Name  string  `json:"name"`
	Agent spread  `json:"agent"`
	Floor spread  `json:"floor"`
	Ratio float64 `json:"ratio"` // at p50
}

// floors is what a call costs beyond what it cannot do without.
type floors struct {
	Rows []floorRow `json:"rows"`
	Echo spread     `json:"echo"` // a bare exchange of a prepare's octets
	// By the kubelet's library: a repeated prepare, and a call of the agent that does nothing.
	Repeat spread `json:"repeat"`
	Bare   spread `json:"bare"`
}

// The first one has the bound.
var floorPairs = []struct{ name, agent, floor string }{
	{"fresh prepare, its system calls with the exchange for the GET", "fresh-agent", "fresh-floor-get"},
	{"fresh prepare, its system calls for socket, CDI file and store alone", "fresh-agent", "fresh-floor"},
	{"repeated prepare, its system calls with the exchange for the GET", "again-agent", "again-floor-get"},
	{"unprepare, its system calls", "unprepare-agent", "unprepare-floor"},
}

// measureFloor has wire/floor.c call the agent and the floor by turns.
func (b *bench) measureFloor() error {
	s := b.sides[0]
	var list strings.Builder
	for range b.options.claims + floorWarm {
		c := measuredClaim(s.node, b.claims)
		b.claims++
		s.api.addClaim(c)
		defer s.api.dropClaim(c)
		fmt.Fprintf(&list, "%s %s %s\n", c.Namespace, c.UID, c.Name)
	}
	path := filepath.Join(s.dir, "claims")
	if err := os.WriteFile(path, []byte(list.String()), 0o600); err != nil {
		return err
	}
	// Files of the floor lie beside the agent's, and not among its CDI files.
	cdi := s.cdi + "-floor"
	if err := os.MkdirAll(cdi, 0o755); err != nil {
		return err
	}
	text, err := tool(b.options.dir, "floor", s.serviceSocket(), path, s.dir, cdi)
	if err != nil {
		return fmt.Errorf("floor: %w", err)
	}
	times, err := floorTimes(text)
	if err != nil {
		return err
	}
	b.floors = &floors{Echo: spreadOf(times["echo"])}
	for _, p := range floorPairs {
		row := floorRow{Name: p.name, Agent: spreadOf(times[p.agent]), Floor: spreadOf(times[p.floor])}
		if row.Agent.Count == 0 || row.Floor.Count == 0 {
			return fmt.Errorf("floor: no figure for %s", p.name)
		}
		row.Ratio = row.Agent.P50 / row.Floor.P50
		b.floors.Rows = append(b.floors.Rows, row)
	}
	return b.measureRepeat(s)
}

func floorTimes(text []byte) (map[string][]time.Duration, error) {
	times := map[string][]time.Duration{}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		var name string
		var us float64
		if _, err := fmt.Sscan(line, &name, &us); err != nil {
			return nil, fmt.Errorf("floor: unreadable figure %q", line)
		}
		times[name] = append(times[name], time.Duration(us*float64(time.Microsecond)))
	}
	return times, nil
}

// measureRepeat holds repeated prepares against calls that do nothing, both by grpc-go, by turns.
func (b *bench) measureRepeat(s *side) error {
	c := measuredClaim(s.node, b.claims)
	b.claims++
	s.api.addClaim(c)
	defer s.api.dropClaim(c)
	if _, err := s.prepare(named(c)); err != nil {
		return err
	}
	health := grpc_health_v1.NewHealthClient(s.conn)
	var repeat, bare []time.Duration
	for range b.options.claims {
		begun := time.Now()
		if _, err := s.prepare(named(c)); err != nil {
			return err
		}
		repeat = append(repeat, time.Since(begun))
		begun = time.Now()
		if _, err := health.Check(context.Background(), &grpc_health_v1.HealthCheckRequest{}); err != nil {
			return err
		}
		bare = append(bare, time.Since(begun))
	}
	b.floors.Repeat, b.floors.Bare = spreadOf(repeat), spreadOf(bare)
	return s.unprepare(named(c))
}

func verdict(reached bool) string {
	if reached {
		return "reached"
	}
	return "NOT reached"
}

func writeFloors(w io.Writer, f *floors) {
	fmt.Fprintf(w, "| a call by a client in C, and the floor | agent p50 | p99 | p99.9 | floor p50 | p99 | p99.9 | ratio at p50 |\n"+
		"|---|---|---|---|---|---|---|---|\n")
	for _, row := range f.Rows {
		fmt.Fprintf(w, "| %s | %s | %s | %.2f |\n", row.Name, row.Agent, row.Floor, row.Ratio)
	}
	fmt.Fprintf(w, "| bare echo of as many octets | | | | %s | |\n\n", f.Echo)
	fmt.Fprintf(w, "| a call by the kubelet's library | p50 | p99 | p99.9 |\n|---|---|---|---|\n")
	fmt.Fprintf(w, "| repeated prepare | %s |\n| a call that does nothing: Health/Check | %s |\n\n", f.Repeat, f.Bare)
	first, beyond := f.Rows[0], f.Repeat.P50-f.Bare.P50
	fmt.Fprintf(w, "- bound: fresh prepare at most %.1f times the floor at p50: %.2f, %s\n", freshFloorBound, first.Ratio,
		verdict(first.Ratio <= freshFloorBound))
	fmt.Fprintf(w, "- bound: repeated prepare at most %.1f ms over a bare call at p50: %.2f ms, %s\n\n", repeatBound, beyond,
		verdict(beyond <= repeatBound))
}
