// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"reflect"
	"testing"
)

// podLines starts a pod of the example for each name and expects each to have an aligned line of its own, of size devices.
// What the pods hold together, ascending.
func podLines(t *testing.T, size int, names ...string) []int {
	t.Helper()
	example, all := example(t, fmt.Sprintf("contiguous-%d", size)), []string{}
	for _, name := range names {
		apply(t, renamed(t, example, fmt.Sprintf("contiguous-%d", size), name))
	}
	waitRunning(t, names...)
	for _, name := range names {
		devices := devicesOf(t, name, "neurons", size)
		checkBlock(t, devices)
		checkContainer(t, name, "app", devices)
		all = append(all, devices...)
	}
	return numbers(t, all)
}

// upTo are the numbers below count.
func upTo(count int) []int {
	found := make([]int, count)
	for i := range found {
		found[i] = i
	}
	return found
}

// allPairs: six pods have the whole ring in pairs; a seventh waits for a pair, and gets the one that comes free.
func allPairs(t *testing.T) {
	if held := podLines(t, 2, "pair-a", "pair-b", "pair-c", "pair-d", "pair-e", "pair-f"); !reflect.DeepEqual(held, upTo(12)) {
		t.Errorf("six pairs hold %v, want each device once", held)
	}
	freed := numbers(t, devicesOf(t, "pair-c", "neurons", 2))
	apply(t, renamed(t, example(t, "contiguous-2"), "contiguous-2", "pair-g"))
	waitPending(t, "pair-g")
	mustKubectl(t, "delete", "pod", "pair-c")
	waitRunning(t, "pair-g")
	if given := numbers(t, devicesOf(t, "pair-g", "neurons", 2)); !reflect.DeepEqual(given, freed) {
		t.Errorf("the seventh pair is %v, want %v", given, freed)
	}
}

// pairBesideSingles: two single devices, one of each of two pairs, leave neighbours that are no pair.
func pairBesideSingles(t *testing.T) {
	single := changed(t, example(t, "contiguous-2"), "count: 2", "count: 1")
	for _, id := range []string{"1", "2"} {
		const any = "instanceType.startsWith('inf2.')"
		one := changed(t, changed(t, single, any, "deviceId == "+id), "contiguous-2-neurons", "device-"+id)
		apply(t, renamed(t, one, "contiguous-2", "single-"+id))
	}
	waitRunning(t, "single-1", "single-2")
	held := podLines(t, 2, "pair-a", "pair-b", "pair-c", "pair-d")
	if !reflect.DeepEqual(held, []int{4, 5, 6, 7, 8, 9, 10, 11}) {
		t.Errorf("four pairs hold %v", held)
	}
	apply(t, renamed(t, example(t, "contiguous-2"), "contiguous-2", "pair-e"))
	waitPending(t, "pair-e")
}

// halves: the ring is two lines of six.
func halves(t *testing.T) {
	if held := podLines(t, 6, "half-a", "half-b"); !reflect.DeepEqual(held, upTo(12)) {
		t.Errorf("two lines of six hold %v, want each device once", held)
	}
}

// fourOfSix: the chain has one line of four, and its other two devices are a pair.
func fourOfSix(t *testing.T) {
	four := changed(t, example(t, "contiguous-6"), "count: 6", "count: 4")
	four = changed(t, changed(t, four, "contiguous6_id", "contiguous4_id"), "contiguous-6-neurons", "contiguous-4-neurons")
	apply(t, renamed(t, four, "contiguous-6", "four-a"))
	waitRunning(t, "four-a")
	if held := numbers(t, devicesOf(t, "four-a", "neurons", 4)); !reflect.DeepEqual(held, upTo(4)) {
		t.Errorf("the line of four is %v", held)
	}
	apply(t, renamed(t, four, "contiguous-6", "four-b"))
	waitPending(t, "four-b")
	if held := podLines(t, 2, "pair-a"); !reflect.DeepEqual(held, []int{4, 5}) {
		t.Errorf("the pair is %v", held)
	}
}

// TestSubsets: what contiguousN_id selects, by the real scheduler, on the ring and on the chain of inf2.
func TestSubsets(t *testing.T) {
	t.Cleanup(func() { control(t, "board", "--board", "trn2.48xlarge", "--driver-version", "2.26.5.0") })
	control(t, "board", "--board", "inf2.48xlarge", "--driver-version", "2.26.5.0")
	steps(t, []step{{"pairs of the ring", allPairs}, {"a pair beside single devices", pairBesideSingles}, {"halves of the ring", halves}})
	control(t, "board", "--board", "inf2.24xlarge", "--driver-version", "2.26.5.0")
	steps(t, []step{
		{"four of the chain", fourOfSix},
		{"the whole chain", func(t *testing.T) { podLines(t, 6, "chain") }},
	})
}
