// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"io"
	"sort"
	"sync"
	"time"

	"e2e/proxy"
)

// row is one case in the table that ends the run.
type row struct {
	item     int // of the list in faults_test.go's comment
	name     string
	what     string // the fault
	recovery time.Duration
	requests int // from the fault to the end of the case
	peak     int // most requests in any second of it, GETs of claims excepted
	passed   bool
}

var report struct {
	mu   sync.Mutex
	rows []row
}

func addRow(r row) {
	report.mu.Lock()
	defer report.mu.Unlock()
	report.rows = append(report.rows, r)
}

func printReport(out io.Writer) {
	report.mu.Lock()
	defer report.mu.Unlock()
	rows := report.rows
	if len(rows) == 0 {
		return
	}
	sort.SliceStable(rows, func(i, j int) bool {
		if rows[i].item != rows[j].item {
			return rows[i].item < rows[j].item
		}
		return rows[i].name < rows[j].name
	})
	name, what, failed := 0, 0, 0
	for _, r := range rows {
		name, what = max(name, len(r.name)), max(what, len(r.what))
	}
	fmt.Fprintf(out, "\n%-4s %-*s %-*s %9s %9s %5s\n", "item", name, "case", what, "fault", "recovery", "requests", "peak")
	for _, r := range rows {
		mark := ""
		if !r.passed {
			mark = "  FAILED"
			failed++
		}
		fmt.Fprintf(out, "%-4d %-*s %-*s %7.1f s %9d %3d/s%s\n", r.item, name, r.name, what, r.what, r.recovery.Seconds(), r.requests, r.peak, mark)
	}
	fmt.Fprintf(out, "%d cases, %d failed\n\n", len(rows), failed)
}

// since are the requests that came after a time.
func since(all []proxy.Request, from time.Time) []proxy.Request {
	for i, r := range all {
		if r.At.After(from) {
			return all[i:]
		}
	}
	return nil
}

// peak counts the most requests in any second.
func peak(requests []proxy.Request) int { return densest(requests, time.Second) }

// densest counts the most requests in any window; a claim's GET comes when the kubelet asks, and does not count.
func densest(requests []proxy.Request, window time.Duration) int {
	var times []time.Time
	for _, r := range requests {
		if r.Kind != "claim" {
			times = append(times, r.At)
		}
	}
	return connections(times, window)
}

// connections counts the most in any window.
func connections(times []time.Time, window time.Duration) int {
	most, first := 0, 0
	for i, at := range times {
		for at.Sub(times[first]) >= window {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// count counts requests of some kinds.
func count(requests []proxy.Request, kinds ...string) int {
	found := 0
	for _, r := range requests {
		for _, kind := range kinds {
			if r.Kind == kind {
				found++
			}
		}
	}
	return found
}
