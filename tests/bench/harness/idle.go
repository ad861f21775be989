// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	idleShare = 0.9 // of all processors, over idleTime
	idleTime  = 2 * time.Second
)

// ticks are those of all processors since the machine started: idle ones, and all.
func ticks() (idle, all float64) {
	text, err := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(text), "\n")
	words := strings.Fields(line)
	if err != nil || len(words) < 5 {
		return 0, 0
	}
	for i, word := range words[1:] {
		n, _ := strconv.ParseFloat(word, 64)
		all += n
		if i == 3 {
			idle = n
		}
	}
	return idle, all
}

// waitForIdle returns when the machine has nothing else to do, or after the limit. A busy machine adds the
// same to both sides: it makes ratios smaller, and tails longer.
func waitForIdle(limit time.Duration) {
	for end := time.Now().Add(limit); time.Now().Before(end); {
		idle, all := ticks()
		time.Sleep(min(idleTime, limit))
		idleNow, allNow := ticks()
		if idleNow-idle >= idleShare*(allNow-all) {
			return
		}
	}
	fmt.Fprintf(os.Stderr, "bench: the machine was busy for %v: figures are those of a busy machine\n", limit)
}
