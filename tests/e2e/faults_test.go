// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"e2e/proxy"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// fault is one case: what happens between an agent and its API server while a right slice is stored, and how the
// agent comes back from it. Meanwhile the slice is deleted by hand, unless harm says otherwise. Items: 1 slices, 2 the
// Node, 3 versions, 4 limits of the server, 5 the connection, 6 Events, 7 claim status, 8 readiness and metrics.
type fault struct {
	item   int
	name   string
	what   string
	board  string // trn2.48xlarge unless it says otherwise
	flags  []string
	before func(w *world) // in place of listening at the world's address, with the Node there
	on     func(w *world)
	harm   func(w *world)
	local  func(w *world)                       // what is asked of the agent's sockets during the fault; all of it unless it says otherwise
	says   func(w *world, within time.Duration) // what its pages tell meanwhile
	hold   time.Duration                        // how long it lasts, if it does not end by itself
	off    func(w *world)
	after  func(w *world) // what has to hold in the end
	limit  time.Duration  // of the recovery: atOnce, or recovery
}

const (
	// Most requests in a second, over any 20 s: what the agent sends evenly may arrive in a heap where the machine
	// is busy. The simulator, whose clock is virtual, holds each single second to its bound, and recovery to 60 s.
	rateLimit    = 2
	connectLimit = 1
	window       = 20 * time.Second

	recovery    = 90 * time.Second
	atOnceTries = 3 // a recovery that takes longer is measured again, because the machine may have been busy
)

var allFaults = slices.Concat(sliceFaults, answerFaults, pathFaults, nodeFaults, versionFaults, eventFaults, statusFaults)

// TestAtOnce has the cases whose end is expected within moments: few run at one time.
func TestAtOnce(t *testing.T) { testFaults(t, runtime.NumCPU(), true) }

// TestFaults has the others, which wait much more than they compute.
func TestFaults(t *testing.T) {
	t.Parallel()
	testFaults(t, 8*runtime.NumCPU(), false)
}

func testFaults(t *testing.T, together int, atOnceOnly bool) {
	gate := make(chan struct{}, together)
	for _, one := range allFaults {
		if (one.limit == atOnce) != atOnceOnly {
			continue
		}
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			gate <- struct{}{}
			defer func() { <-gate }()
			one.test(t)
		})
	}
}

func (f *fault) test(t *testing.T) {
	w := newWorld(t)
	result := row{item: f.item, name: f.name, what: f.what}
	defer func() {
		result.passed = !t.Failed()
		addRow(result)
	}()
	f.prepare(w)
	w.hold()
	begin := time.Now()
	f.on(w)
	f.spoil(w)
	if f.limit == atOnce {
		result.recovery = f.atOnce(w, begin)
	}
	if f.local != nil {
		f.local(w)
	} else {
		w.serves()
	}
	if f.says != nil {
		f.says(w, soon) // the fault lasts until it is told
	}
	healed := begin
	if f.off != nil {
		time.Sleep(time.Until(begin.Add(f.hold)))
		f.off(w)
		healed = time.Now()
	}
	follow().wait(t, "recovery from "+f.name, recovery-time.Since(healed), w.whole)
	if f.limit != atOnce {
		result.recovery = time.Since(healed)
	}
	w.holds(begin)
	if f.after != nil {
		f.after(w)
	}
	requests := since(w.proxy.Requests(), begin)
	result.requests, result.peak = len(requests), peak(requests)
}

func (f *fault) spoil(w *world) {
	if f.harm != nil {
		f.harm(w)
	} else {
		w.deleteSlice()
	}
}

// atOnce waits for the recovery that began then, and tells how long it took.
func (f *fault) atOnce(w *world, begin time.Time) (took time.Duration) {
	w.t.Helper()
	for try := 1; ; try++ {
		follow().wait(w.t, "recovery from "+f.name, recovery, w.whole)
		if took = time.Since(begin); took <= atOnce {
			return took
		}
		if try == atOnceTries {
			w.t.Errorf("%s was put right after %s, and not within %s in %d tries", f.name, took, atOnce, try)
			return took
		}
		time.Sleep(atOnce) // it may be repaired often, but not without pause
		begin = time.Now()
		f.spoil(w)
	}
}

// prepare starts the agent and waits for its slices.
func (f *fault) prepare(w *world) {
	w.t.Helper()
	if f.board != "" {
		w.board = f.board
	}
	w.flags = f.flags
	w.makeForeign()
	if f.before != nil {
		f.before(w)
	} else {
		w.listen(w.address)
		w.kubeconfig(w.address)
		w.makeNode(w.nodeLabels())
	}
	w.publish(len(w.tableDevices()))
}

// tableDevices are the devices that the world's board publishes.
func (w *world) tableDevices() []string {
	count := map[string]int{"trn2.48xlarge": 16, "trn2u.48xlarge": 16, "trn1.2xlarge": 1}[w.board]
	if w.devices >= 0 {
		count = w.devices
	}
	return make([]string, count)
}

// holds checks what has to be so after every fault, and stays so.
func (w *world) holds(begin time.Time) {
	w.t.Helper()
	if err := w.call(w.spare, soon, false); err != nil {
		w.t.Errorf("prepare after the fault: %v", err)
	}
	time.Sleep(1200 * time.Millisecond)
	requests := since(w.proxy.Requests(), begin)
	follow().wait(w.t, "the end of what was asked last", soon, w.whole)
	for _, err := range []error{w.untouched(), w.alive()} {
		if err != nil {
			w.t.Error(err)
		}
	}
	if most := densest(requests, window); most > rateLimit*int(window/time.Second) {
		w.t.Errorf("%d requests in %s, %d a second at most", most, window, rateLimit)
	}
	if most := connections(w.proxy.Connects(), window); most > connectLimit*int(window/time.Second) {
		w.t.Errorf("%d connections in %s, %d a second at most", most, window, connectLimit)
	}
	w.wellBehaved()
	w.measured()
}

// wellBehaved holds every request of the agent against rules that no case changes.
func (w *world) wellBehaved() {
	w.t.Helper()
	for _, r := range w.proxy.Requests() {
		if r.Kind == "delete" {
			options := deleteOptions(r.Body)
			if options.Preconditions == nil || options.Preconditions.UID == nil || options.Preconditions.ResourceVersion == nil {
				w.t.Errorf("DELETE %s without preconditions", r.Path)
			}
		}
		if r.Kind == "other" || r.Kind == "" {
			w.t.Errorf("%s %s is nothing that the agent needs", r.Method, r.Path)
		}
	}
}

func deleteOptions(body []byte) *metav1.DeleteOptions {
	options := &metav1.DeleteOptions{}
	proxy.Edit(body, func(found *metav1.DeleteOptions) { *options = *found })
	return options
}
