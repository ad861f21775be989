// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"
)

const (
	openTime    = 10 // seconds of claims in an open loop, if the run asks for so many
	pacedRate   = 10 // claims a second
	pacedP50    = 2  // ms, the goal under the CPU limit
	pacedP99    = 5
	openWorkers = 64 // calls under way at the same time
	pacedName   = "prepare, 10 claims a second one after the other, " + limitName
)

// pacedRow is what the prepares of claims took that came at a given rate.
type pacedRow struct {
	Name      string  `json:"name"`
	Agent     spread  `json:"agent"`
	Reference spread  `json:"reference"`
	Ratio     float64 `json:"ratio"` // at p50
}

// measureOpen prepares and unprepares claims that come at a rate, whether the last one is done or not. A time
// begins when its claim is due, so that what waits behind a slow call counts.
func (b *bench) measureOpen() error {
	for _, rate := range []int{10, 100} {
		var times [sideCount][]time.Duration
		count := min(b.options.claims, rate*openTime)
		err := b.eachSide(func(i int, s *side) (err error) {
			times[i], err = b.openLoop(s, rate, count)
			return err
		})
		if err != nil {
			return err
		}
		b.addPaced(fmt.Sprintf("prepare, open loop of %d claims a second", rate), times)
	}
	return nil
}

func (b *bench) addPaced(name string, times [sideCount][]time.Duration) {
	row := pacedRow{Name: name, Agent: spreadOf(times[0]), Reference: spreadOf(times[1])}
	row.Ratio = row.Reference.P50 / row.Agent.P50
	b.paced = append(b.paced, row)
}

// openLoop: the claims take no device from each other, so that one that is late fails no other.
func (b *bench) openLoop(s *side, rate, count int) ([]time.Duration, error) {
	times, failed := make([]time.Duration, count), make([]error, count)
	slots := make(chan struct{}, openWorkers)
	var calls sync.WaitGroup
	runtime.GC()
	begun := time.Now()
	for n := range count {
		due := begun.Add(time.Duration(n) * time.Second / time.Duration(rate))
		time.Sleep(time.Until(due))
		if b.interrupted.Load() {
			return nil, errInterrupted
		}
		c := heldClaim(s.node, heldMost+n)
		s.api.addClaim(c)
		slots <- struct{}{}
		calls.Go(func() {
			defer func() { <-slots }()
			_, failed[n] = s.prepare(named(c))
			times[n] = time.Since(due)
			if failed[n] == nil {
				failed[n] = s.unprepare(named(c))
			}
			s.api.dropClaim(c)
		})
	}
	calls.Wait()
	return times, errors.Join(failed...)
}

// measurePaced: one claim after the other, none before it is due.
func (b *bench) measurePaced(name string, rate, count int) error {
	var times [sideCount][]time.Duration
	err := b.eachSide(func(i int, s *side) error {
		runtime.GC()
		begun := time.Now()
		for n := range count {
			time.Sleep(time.Until(begun.Add(time.Duration(n) * time.Second / time.Duration(rate))))
			if b.interrupted.Load() {
				return errInterrupted
			}
			var one series
			if err := b.prepareEach(s, 1, &one); err != nil {
				return err
			}
			times[i] = append(times[i], one.times...)
		}
		return nil
	})
	if err == nil {
		b.addPaced(name, times)
	}
	return err
}

func writePaced(w io.Writer, rows []pacedRow) {
	fmt.Fprintf(w, "| claims that come by the clock | agent p50 | p99 | p99.9 | Go reference p50 | p99 | p99.9 | ratio at p50 |\n"+
		"|---|---|---|---|---|---|---|---|\n")
	for _, row := range rows {
		fmt.Fprintf(w, "| %s | %s | %s | %.1f |\n", row.Name, row.Agent, row.Reference, row.Ratio)
	}
	fmt.Fprintln(w)
	for _, row := range rows {
		if row.Name == pacedName {
			fmt.Fprintf(w, "- bound: %s: p50 at most %d ms, p99 at most %d ms: %.2f and %.2f ms, %s\n\n", row.Name, pacedP50,
				pacedP99, row.Agent.P50, row.Agent.P99, verdict(row.Agent.P50 <= pacedP50 && row.Agent.P99 <= pacedP99))
		}
	}
}
