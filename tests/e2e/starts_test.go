// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"e2e/proxy"
)

const (
	startLimit = 5               // requests of a start
	calm       = 5 * time.Second // without a request: the start is over
)

// calmed waits until nothing was asked for a while; the requests since a time.
func (w *world) calmed(begin time.Time) []proxy.Request {
	w.t.Helper()
	follow().wait(w.t, "5 s without a request", soon, func() error {
		last := begin
		for _, r := range since(w.proxy.Requests(), begin) {
			last = r.At
		}
		if time.Since(last) < calm {
			return fmt.Errorf("the last one is %s old", time.Since(last))
		}
		return nil
	})
	return since(w.proxy.Requests(), begin)
}

// started holds a start to its limit and writes its row.
func (w *world) started(item int, name, what string, begin time.Time, published time.Duration, writes int) {
	w.t.Helper()
	requests := w.calmed(begin)
	events := count(requests, "event") // of a healthy node: none
	if len(requests)-events > startLimit || events > w.findings {
		w.t.Errorf("%s: %d requests, %d of them for Events; %d at most, and %d", name, len(requests), events,
			startLimit+w.findings, w.findings)
	}
	if lists := count(requests, "claims"); lists != 0 {
		w.t.Errorf("%s: the claims are listed %d times, though none can be lost", name, lists)
	}
	if found := count(requests, "create", "update", "delete"); found != writes {
		w.t.Errorf("%s: %d writes, want %d", name, found, writes)
	}
	w.wellBehaved()
	addRow(row{item, name, what, published, len(requests), peak(requests), !w.t.Failed()})
}

// TestStarts counts what an agent asks of the API server from its first connection on, with a slice to be made and
// with one that is as it has to be.
func TestStarts(t *testing.T) {
	t.Parallel()
	// A board with another number of devices than it is made with is worth an Event.
	for devices, board := range map[int]string{0: "trn2.48xlarge", 1: "trn1.2xlarge", 16: "trn2.48xlarge", 64: "trn2.48xlarge"} {
		t.Run(fmt.Sprintf("%d devices", devices), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.board, w.devices = board, devices
			if devices == 0 || devices == 64 {
				w.findings = 1
			}
			w.tree()
			w.makeForeign()
			w.listen(w.address)
			w.kubeconfig(w.address)
			w.makeNode(w.nodeLabels())
			begin := time.Now()
			w.run()
			w.unready("the kubelet has not registered the driver", soon)
			w.register()
			w.published(devices)
			w.started(1, fmt.Sprintf("start, %d devices", devices), "none; until the slice is stored and watched", begin, time.Since(begin), 1)
			before := w.own().Metadata
			w.kill()
			again := time.Now()
			w.run()
			w.register()
			follow().wait(t, "watch of the second start", soon, func() error {
				if count(since(w.proxy.Requests(), again), "watch") == 0 {
					return fmt.Errorf("no watch yet")
				}
				return w.whole()
			})
			w.started(1, fmt.Sprintf("restart, %d devices", devices), "the agent is killed; nothing has changed", again, time.Since(again), 0)
			if after := w.own().Metadata; after.ResourceVersion != before.ResourceVersion {
				t.Errorf("the slice was written by a restart: %+v became %+v", before, after)
			}
			if err := w.untouched(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestLeftOut holds that what the server would refuse is left out, said once, and costs nothing else.
func TestLeftOut(t *testing.T) {
	t.Parallel()
	cases := []struct{ garbage, missing string }{
		{"version-long", "neuronDriverVersion"},
		{"version-control", "neuronDriverVersion"},
	}
	for _, one := range cases {
		t.Run(one.garbage, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.garbage, w.findings = one.garbage, 1
			w.tree()
			f := fault{item: 4}
			begin := time.Now()
			f.prepare(w)
			published := time.Since(begin)
			for _, device := range w.want {
				if _, there := device.Attributes[one.missing]; there || len(device.Attributes) < 10 {
					t.Errorf("%s has the attributes %v, want all but %s", device.Name, device.Attributes, one.missing)
				}
			}
			w.started(4, one.garbage, "the device's "+one.missing+" is nothing that the server takes", begin, published, 1)
			if said := strings.Count(w.log.all(), one.missing+" is left out"); said != 1 {
				t.Errorf("that %s is left out is said %d times, want once", one.missing, said)
			}
		})
	}
}
