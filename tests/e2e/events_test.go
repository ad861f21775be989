// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"e2e/proxy"
)

// told is an Event of events.k8s.io/v1 as an operator reads it.
type told struct {
	Reason, Type, Note, Action, ReportingController string
	Regarding                                       struct{ Kind, Name, Namespace, UID string }
	Series                                          struct{ Count int }
}

// eventsAbout are those about an object of this name and reason.
func eventsAbout(name, reason string) ([]told, error) {
	var list struct{ Items []told }
	path := "/apis/events.k8s.io/v1/namespaces/default/events?fieldSelector=regarding.name%3D" + name + "%2Creason%3D" + reason
	err := ask("GET", path, nil, &list)
	return list.Items, err
}

// checkEvent waits for the one Event of a reason about an object, with all of some words in its note.
func (w *world) checkEvent(kind, name, reason string, words ...string) {
	w.t.Helper()
	follow().wait(w.t, "Event "+reason+" about "+kind+" "+name, soon, func() error {
		found, err := eventsAbout(name, reason)
		if err != nil || len(found) == 0 {
			return errors.Join(err, errors.New("there is none"))
		}
		event := found[0]
		for _, word := range words {
			if !strings.Contains(event.Note, word) {
				return fmt.Errorf("its note is %q, without %q", event.Note, word)
			}
		}
		if event.Regarding.Kind != kind || event.ReportingController == "" || event.Action == "" {
			return fmt.Errorf("it is %+v", event)
		}
		return nil
	})
}

// event is what an operator has to see about the Node after a fault.
func event(reason string, words ...string) func(w *world) {
	return func(w *world) { w.checkEvent("Node", w.name, reason, words...) }
}

// both holds two things in the end.
func both(a, b func(w *world)) func(w *world) { return func(w *world) { a(w); b(w) } }

// fewEvents holds that Events cost no more than so many requests.
func (w *world) fewEvents(most int) {
	w.t.Helper()
	if found := count(w.proxy.Requests(), "event"); found > most {
		w.t.Errorf("%d requests about Events, %d at most", found, most)
	}
}

// refuseClaim asks many times for a claim whose device is not there.
func refuseClaim(w *world) {
	w.serves()
	broken := w.newClaim("broken", "neuron-device-63")
	for i := 0; i < 30; i++ {
		if err := w.call(broken, localLimit, false); err == nil || !strings.Contains(err.Error(), "neuron-device-63") {
			w.t.Fatalf("prepare of a device that is not there: %v", err)
		}
	}
	w.checkEvent("ResourceClaim", broken.name, "ClaimFailed", "neuron-device-63")
	w.fewEvents(3)
}

// refuseWhileEventsFail has Events to write, and expects answers at once although nobody takes them.
func refuseWhileEventsFail(w *world) {
	w.serves()
	broken := w.newClaim("broken", "neuron-device-63")
	for end := time.Now().Add(4 * time.Second); time.Now().Before(end); time.Sleep(400 * time.Millisecond) {
		if err := w.call(broken, localLimit, false); err == nil || !strings.Contains(err.Error(), "neuron-device-63") {
			w.t.Fatalf("prepare of a device that is not there: %v", err)
		}
	}
	w.fewEvents(5)
}

// spoilEvents spoils what the agent writes about Events and nothing else.
func spoilEvents(act func(x *proxy.Exchange)) func(w *world) {
	return func(w *world) { w.proxy.Add(proxy.Rule{Kinds: []string{"event"}, Act: act}) }
}

// eventFaults are those of item 6.
var eventFaults = []fault{
	{item: 6, name: "claim refused", what: "asked 30 times for a device that is not there: one Event on the claim",
		on: nothing, local: refuseClaim},
	{item: 6, name: "Events forbidden", what: "403 for each Event while claims are refused", local: refuseWhileEventsFail,
		on: spoilEvents(fail(403, "Forbidden", "events.events.k8s.io is forbidden")), hold: 5 * time.Second, off: clearRules},
	{item: 6, name: "Events unanswered", what: "no answer to any Event while claims are refused", local: refuseWhileEventsFail,
		on: spoilEvents((*proxy.Exchange).Hang), hold: 5 * time.Second, off: clearRules},
}
