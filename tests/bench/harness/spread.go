// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// parts of a series in time: their medians show how steady the machine was.
const spreadParts = 10

// spread is what a series of times says, in milliseconds.
type spread struct {
	Count int     `json:"count"`
	P50   float64 `json:"p50"`
	P99   float64 `json:"p99"`
	P999  float64 `json:"p999"` // of fewer than 1,000 times: the longest
	// The least and the largest median of the series' parts.
	Least float64 `json:"least"`
	Most  float64 `json:"most"`
}

func quantile(times []time.Duration, q float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(times))
	return sorted[min(int(math.Floor(float64(len(sorted))*q)), len(sorted)-1)]
}

func spreadOf(times []time.Duration) spread {
	s := spread{Count: len(times), P50: exact(quantile(times, 0.5)), P99: exact(quantile(times, 0.99)),
		P999: exact(quantile(times, 0.999))}
	s.Least, s.Most = s.P50, s.P50
	for part := range slices.Chunk(times, max(1, len(times)/spreadParts)) {
		if len(part) < max(1, len(times)/spreadParts) {
			continue // what is left over
		}
		p50 := exact(quantile(part, 0.5))
		s.Least, s.Most = min(s.Least, p50), max(s.Most, p50)
	}
	return s
}

func exact(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

// String is three cells of a table: p50 with its spread, p99, p99.9.
func (s spread) String() string {
	return fmt.Sprintf("%.2f (%.2f to %.2f) ms | %.2f ms | %.2f ms", s.P50, s.Least, s.Most, s.P99, s.P999)
}
