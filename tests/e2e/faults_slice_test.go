// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"net/http"
	"time"

	"e2e/proxy"

	resource "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// atOnce is how fast a slice is back that somebody spoilt while nothing else was wrong.
const atOnce = 2 * time.Second

func nothing(*world) {}

func editSlice(w *world) { w.editSlice() }

// editAgain edits the slice once more after the agent has repaired it: a single edit causes no Event.
func editAgain(w *world) {
	w.serves()
	time.Sleep(3 * time.Second) // the round that verifies the repair is over: until then it is one difference
	w.editSlice()
}

// dropAttribute stores what the agent writes without one attribute, as a server does that does not know it.
func dropAttribute(x *proxy.Exchange) {
	x.Body = proxy.Edit(x.Body, func(s *resource.ResourceSlice) {
		for _, device := range s.Spec.Devices {
			delete(device.Attributes, "networkNodeLayer3")
		}
	})
	x.Pass()
}

// lose swallows all events of a type on the way to the agent, from the next watch on.
func lose(kind string) func(w *world) {
	return func(w *world) {
		w.proxy.Add(proxy.Rule{Kinds: []string{"watch"}, Act: func(x *proxy.Exchange) {
			x.EditEvents(func(event string, object []byte) []byte {
				if event == kind {
					return nil
				}
				return object
			})
		}})
		seen := len(w.proxy.Requests())
		w.proxy.ResetAll()
		follow().wait(w.t, "a watch that loses events", soon, func() error {
			if count(w.proxy.Requests()[seen:], "watch") == 0 {
				return fmt.Errorf("no new watch")
			}
			return w.watching()
		})
		time.Sleep(500 * time.Millisecond) // the round that the new connection began is over
	}
}

// listAll answers a list without its field selector.
func listAll(x *proxy.Exchange) {
	x.Query.Del("fieldSelector")
	x.Pass()
}

// half answers with the first half of what the API server says.
func half(x *proxy.Exchange) {
	status, header, body := x.Forward()
	x.Answer(status, header, body[:len(body)/2])
}

// listsAtMost holds that a watch that ended went on from where it was, without a list.
func listsAtMost(most int) func(w *world) {
	return func(w *world) {
		if found := count(w.proxy.Requests(), "list"); found > most {
			w.t.Errorf("%d lists, want %d at most", found, most)
		}
	}
}

// otherObject answers a write with another object than the one that was written.
func otherObject(x *proxy.Exchange) {
	status, header, body := x.Forward()
	x.Answer(status, header, proxy.Edit(body, func(s *resource.ResourceSlice) {
		node := "somebody-else"
		s.Name, s.UID, s.Spec.NodeName, s.Spec.Pool.Name = "foreign", "11111111-2222-4333-8444-555555555555", &node, node
	}))
}

// sliceFaults are those of item 1.
var sliceFaults = []fault{
	{item: 1, name: "slice deleted", what: "by hand", on: nothing, limit: atOnce},
	{item: 1, name: "slice edited", what: "by hand, one attribute, and once more", on: nothing, harm: editSlice, limit: atOnce,
		local: editAgain, after: event("ResourceSliceDriftDetected", "slice=")},
	{item: 1, name: "slice duplicated", what: "by hand, same content under another name", on: nothing, limit: atOnce,
		harm: func(w *world) { w.copySlice(object{"generateName": "copied-"}) }},
	{item: 1, name: "old-style duplicate", what: "named as older helpers name it", on: nothing, limit: atOnce,
		harm: func(w *world) { w.copySlice(object{"name": w.name + "-" + driver + "-x7k2p"}) }},
	{item: 1, name: "DELETED lost", what: "the event does not come; reconciled every 10 s",
		flags: []string{"--reconcile-interval", "10s"}, local: (*world).servesClaims, on: lose("DELETED")},
	{item: 1, name: "MODIFIED lost", what: "the event does not come; reconciled every 10 s",
		flags: []string{"--reconcile-interval", "10s"}, local: (*world).servesClaims, on: lose("MODIFIED"), harm: editSlice},
	{item: 1, name: "410 as status", what: "410 Gone for the next watch, after the connection ended",
		on: func(w *world) {
			first(func(x *proxy.Exchange) { x.Fail(410, "Expired", "too old resource version: 1 (2)") }, "watch")(w)
			w.proxy.ResetAll()
		}, after: spoilt},
	{item: 1, name: "410 as event", what: "ERROR event with 410 in a watch of status 200, after the connection ended",
		on: func(w *world) {
			first(func(x *proxy.Exchange) { x.ErrorEvent(410, "Expired", "too old resource version: 1 (2)") }, "watch")(w)
			w.proxy.ResetAll()
		}, after: spoilt},
	{item: 1, name: "watch ended", what: "each watch ends in good order after 2 s, for 10 s", local: (*world).servesClaims,
		on:   every(func(x *proxy.Exchange) { x.PassFor(2 * time.Second) }, "watch"),
		hold: 10 * time.Second, off: func(w *world) { clearRules(w); time.Sleep(2 * time.Second) }, after: listsAtMost(4)},
	{item: 1, name: "list cut short", what: "each list ends in its middle, as if complete, for 5 s", harm: noHarm,
		on: every(half, "list"), hold: 5 * time.Second, off: clearRules},
	{item: 1, name: "list without selector", what: "every list holds the slices of the whole cluster",
		on: every(listAll, "list"), hold: 5 * time.Second, off: clearRules},
	{item: 1, name: "another object", what: "the answer to the next POST is another node's slice",
		on: first(otherObject, "create"), after: spoilt},
	{item: 1, name: "another object after PUT", what: "the answer to the next PUT is another node's slice",
		on: first(otherObject, "update"), harm: editSlice, after: spoilt},
	{item: 1, name: "dropped field", what: "the server stores and answers without one attribute for 12 s", board: "trn2.48xlarge",
		on:   func(w *world) { w.proxy.Add(proxy.Rule{Kinds: []string{"create", "update"}, Act: dropAttribute}) },
		hold: 12 * time.Second, off: func(w *world) {
			if found := count(w.proxy.Requests(), "create", "update"); found > 4 {
				w.t.Errorf("%d writes against a server that drops a field: a loop", found)
			}
			clearRules(w)
			w.editSlice()
		}, after: event("ResourceSliceFieldsDropped", "devices=16", "feature gates")},
}

// fail answers with a Status of this code.
func fail(code int, reason, message string) func(x *proxy.Exchange) {
	return func(x *proxy.Exchange) { x.Fail(code, metav1.StatusReason(reason), message) }
}

// tooMany is what API priority and fairness says: a line of text.
func tooMany(seconds string) func(x *proxy.Exchange) {
	return func(x *proxy.Exchange) {
		x.Text(http.StatusTooManyRequests, "Too many requests, please try again later.\n", http.Header{"Retry-After": {seconds}})
	}
}

// keptRetryAfter holds that a Retry-After of 3 s was kept by the requests that it was said to.
func keptRetryAfter(w *world) {
	var last time.Time
	for _, r := range w.proxy.Requests() {
		if r.Kind != "list" || r.Status != http.StatusTooManyRequests {
			continue
		}
		if pause := r.At.Sub(last); pause < 2900*time.Millisecond {
			w.t.Errorf("a list %s after a 429 that asked for 3 s", pause)
		}
		last = r.At
	}
}

var invalid = fail(422, "Invalid", `ResourceSlice.resource.k8s.io "" is invalid: spec.devices[0].attributes: Invalid value: "x"`)

// powerless forwards with the token of an account without any rights: the 403 is the real server's.
func powerless(w *world) {
	w.proxy.Impersonate(mintToken(w.t, "default", "default"))
	w.proxy.ResetAll()
}

// slowly ends a lasting refusal and holds that a lasting refusal is asked slowly.
func slowly(most int, kinds ...string) func(w *world) {
	return func(w *world) {
		w.proxy.Clear()
		w.proxy.Impersonate("")
		if found := refusals(w, kinds...); found > most {
			w.t.Errorf("%d requests of %v were refused, %d at most in that time", found, kinds, most)
		}
	}
}

func refusals(w *world, kinds ...string) int {
	found := 0
	for _, r := range w.proxy.Requests() {
		if r.Status == 403 || r.Status == 422 {
			found += count([]proxy.Request{r}, kinds...)
		}
	}
	return found
}

// otherClaim answers the GET of a claim with another one: nothing may be prepared from it.
func otherClaim(w *world) {
	w.serves()
	third := w.newClaim("third", w.want[1].Name)
	first(func(x *proxy.Exchange) { x.Path = claimsPath + "/" + w.held.name; x.Pass() }, "claim")(w)
	if err := w.call(third, soon, false); err == nil {
		w.t.Error("a claim was prepared from another claim's allocation")
	}
	if err := w.call(third, soon, false); err != nil {
		w.t.Errorf("prepare after the answer with another claim: %v", err)
	}
}

// answerFaults are answers of item 5 that a server gives in bad times.
var answerFaults = []fault{
	{item: 5, name: "401", what: "the server does not take the token for 5 s", hold: 5 * time.Second,
		on:  func(w *world) { w.proxy.Impersonate("nonsense"); w.proxy.ResetAll() },
		off: func(w *world) { w.proxy.Impersonate("") }},
	// A server that has just started refuses so too: the list and the watch of the Node are repeated as after 5xx, with waits that double.
	{item: 5, name: "403", what: "the account has no rights for 10 s", on: powerless, hold: 10 * time.Second,
		off: slowly(14, "list", "create", "watch", "node", "node watch")},
	{item: 5, name: "404 of the group", says: unready("the API server cannot be asked"), what: "resource.k8s.io is not served for 5 s", hold: 5 * time.Second, off: clearRules,
		after: event("ResourceAPINotServed"),
		on: every(func(x *proxy.Exchange) {
			if x.Kind == "group" || x.Version() != "" {
				x.Text(404, "404 page not found\n", nil)
				return
			}
			x.Pass()
		})},
	{item: 4, name: "422", says: unready("not confirmed as up to date"), what: "each POST is invalid for 12 s, then another content is wanted", hold: 12 * time.Second,
		off: both(slowly(2, "create"), labelGone), after: event("APIRequestFailed", "spec.devices[0].attributes"),
		on: func(w *world) { w.proxy.Add(proxy.Rule{Kinds: []string{"create"}, Act: invalid}) }},
	{item: 5, name: "429", what: "plain text and Retry-After: 3 for each list, 10 s", on: every(tooMany("3"), "list"),
		hold: 10 * time.Second, off: clearRules, after: keptRetryAfter},
	{item: 5, name: "429 for everything", what: "plain text and Retry-After: 1, 6 s", on: every(tooMany("1")),
		hold: 6 * time.Second, off: clearRules},
	{item: 5, name: "500", says: unready("not confirmed as up to date"), what: "for everything, 6 s", hold: 6 * time.Second, off: clearRules,
		on: every(fail(500, "InternalError", "etcdserver: leader changed"))},
	{item: 5, name: "503", says: unready("not confirmed as up to date"), what: "for everything, 6 s", hold: 6 * time.Second, off: clearRules,
		on: every(func(x *proxy.Exchange) {
			x.Text(503, "apiserver is shutting down\n", http.Header{"Retry-After": {"1"}})
		})},
	{item: 5, name: "504", what: "for the next POST, which was not done",
		on: first(fail(504, "Timeout", "request did not complete within requested timeout"), "create"), after: spoilt},
	{item: 5, name: "504 after the write", what: "for the next POST, which was done", after: spoilt,
		on: first(func(x *proxy.Exchange) {
			x.Forward()
			x.Fail(504, "Timeout", "request did not complete within requested timeout")
		}, "create")},
	{item: 5, name: "409", what: "for the next PUT", harm: editSlice, after: spoilt,
		on: first(fail(409, "Conflict", "the object has been modified"), "update")},
	{item: 5, name: "another claim", what: "the GET of a claim is answered with another one", on: nothing,
		local: otherClaim, after: spoilt},
	{item: 5, name: "garbage", what: "200 with a page of HTML for each list, 5 s", hold: 5 * time.Second, off: clearRules,
		harm: noHarm,
		on:   every(func(x *proxy.Exchange) { x.Text(200, fmt.Sprintf("<html>%20000s</html>", ""), nil) }, "list")},
}
