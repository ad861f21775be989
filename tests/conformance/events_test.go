// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	events "k8s.io/api/events/v1"
	resource "k8s.io/api/resource/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const eventsPath = "/apis/events.k8s.io/v1/namespaces/"

// --- the server's part ---

// eventKindOf names a request below eventsPath.
func eventKindOf(r *http.Request) string {
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, eventsPath), "/")
	switch {
	case r.Method == "POST" && len(parts) == 2 && parts[1] == "events":
		return "event"
	case r.Method == "PATCH" && len(parts) == 3 && parts[1] == "events":
		return "series"
	}
	return ""
}

func bodyType(kind string) string {
	switch kind {
	case "series":
		return "application/merge-patch+json"
	case "status":
		return "application/apply-patch+yaml"
	}
	return protobufType
}

// strict decodes one JSON object of which every field is known.
func strict(body []byte, object any) error {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	return decoder.Decode(object)
}

// wrongIn says what the real server's validation of events.k8s.io/v1 would not take.
func wrongIn(e *events.Event, namespace string) error {
	limits := []struct {
		text  string
		most  int
		field string
	}{
		{e.ReportingController, 63, "reportingController"},
		{e.ReportingInstance, 128, "reportingInstance"},
		{e.Action, 128, "action"}, {e.Reason, 128, "reason"}, {e.Note, 1024, "note"}, {e.Name, 253, "name"},
	}
	for _, l := range limits {
		if len(l.text) == 0 || len(l.text) > l.most {
			return fmt.Errorf("%s: %q", l.field, l.text)
		}
	}
	regarding := e.Regarding.Namespace
	if regarding == "" {
		regarding = "default"
	}
	switch {
	case e.Namespace != namespace || regarding != namespace:
		return fmt.Errorf("namespace: %q in %q, about %q", e.Namespace, namespace, regarding)
	case e.EventTime.IsZero():
		return fmt.Errorf("eventTime: required")
	case e.Type != "Normal" && e.Type != "Warning":
		return fmt.Errorf("type: %q", e.Type)
	case e.Series != nil && (e.Series.Count < 2 || e.Series.LastObservedTime.IsZero()):
		return fmt.Errorf("series: %+v", e.Series)
	}
	return nil
}

// patched takes a patch of a series over, nil when there is no such Event.
func (s *apiServer) patched(path string, body []byte) *events.Event {
	patch := struct {
		Series *events.EventSeries `json:"series"`
	}{}
	err := strict(body, &patch)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || patch.Series == nil {
		s.wrong = append(s.wrong, fmt.Sprintf("patch of a series: %v: %s", err, body))
	}
	if s.told[path] == nil {
		return nil
	}
	s.told[path].Series = patch.Series
	return s.told[path].DeepCopy()
}

func (s *apiServer) serveEvent(kind string, w http.ResponseWriter, r *http.Request, body []byte) {
	if kind == "series" {
		if e := s.patched(r.URL.Path, body); e != nil {
			s.reply(w, 200, envelope("events.k8s.io/v1", "Event", e))
		} else {
			s.fail(w, 404, meta.StatusReasonNotFound, "no such event")
		}
		return
	}
	e := &events.Event{}
	err := open(body, "Event", e)
	if err == nil {
		err = wrongIn(e, strings.Split(strings.TrimPrefix(r.URL.Path, eventsPath), "/")[0])
	}
	s.mu.Lock()
	if err != nil {
		s.wrong = append(s.wrong, "event: "+err.Error())
	} else {
		s.told[r.URL.Path+"/"+e.Name] = e.DeepCopy()
	}
	s.mu.Unlock()
	if err != nil {
		s.fail(w, 422, meta.StatusReasonInvalid, err.Error())
		return
	}
	s.reply(w, 201, envelope("events.k8s.io/v1", "Event", e))
}

// applied takes an apply of a claim's status over; nil and the refusal's code when it is none of ours.
func (s *apiServer) applied(r *http.Request, body []byte) (*resource.ResourceClaim, int) {
	version, rest := versionOf(r)
	parts := strings.Split(rest, "/")
	sent := &resource.ResourceClaim{}
	err := strict(body, sent)
	query := r.URL.Query()
	driver, _, _ := strings.Cut(query.Get("fieldManager"), "-")
	if driver != efaDriver {
		driver = driverName
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || sent.Kind != "ResourceClaim" || sent.APIVersion != groupName+"/"+version ||
		query.Get("fieldManager") != driver+"-"+nodeName || query.Get("force") != "true" {
		s.wrong = append(s.wrong, fmt.Sprintf("status: %v: %s: %s", err, r.URL, body))
	}
	claim := s.claims[parts[1]+"/"+parts[3]]
	if claim == nil {
		return nil, 404
	}
	if claim.UID != sent.UID {
		return nil, 409
	}
	// An apply replaces what its manager applied before, and leaves the others' alone.
	others := slices.DeleteFunc(slices.Clone(claim.Status.Devices), func(d resource.AllocatedDeviceStatus) bool { return d.Driver == driver })
	if slices.ContainsFunc(sent.Status.Devices, func(d resource.AllocatedDeviceStatus) bool { return d.Driver != driver }) {
		s.wrong = append(s.wrong, fmt.Sprintf("status of another driver: %s: %s", r.URL, body))
	}
	claim.Status.Devices = append(others, sent.Status.Devices...)
	return claim.DeepCopy(), 200
}

func (s *apiServer) serveStatus(w http.ResponseWriter, r *http.Request, body []byte) {
	version, _ := versionOf(r)
	claim, code := s.applied(r, body)
	if claim == nil {
		s.fail(w, code, meta.StatusReasonConflict, "not the claim that was meant")
		return
	}
	s.reply(w, 200, envelope(groupName+"/"+version, "ResourceClaim", claimIn(version, claim)))
}

// event finds the Event of a reason, nil when there is none yet.
func (s *apiServer) event(reason string) *events.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.told {
		if e.Reason == reason {
			return e.DeepCopy()
		}
	}
	return nil
}

func (s *apiServer) devicesOf(c *resource.ResourceClaim) []resource.AllocatedDeviceStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.claims[c.Namespace+"/"+c.Name].DeepCopy().Status.Devices
}

// --- the tests ---

// What a refused claim and a node with a lost device tell, as the API's own types read it.
func TestEvents(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a := newAgent(t, "trn2.48xlarge")
	simnode(t, "remove", "--dir", a.node, "neuron3")
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir))
	a.start()
	k := a.register()
	missing := newClaim("missing", "req=0")
	k.prepareError(named(missing))
	waitFor(t, "both events", func() bool {
		return api.event("ClaimFailed") != nil && api.event("NeuronDeviceIssue") != nil
	})
	claim, node := api.event("ClaimFailed"), api.event("NeuronDeviceIssue")
	if claim.Regarding.Kind != "ResourceClaim" || claim.Regarding.APIVersion != "resource.k8s.io/v1" ||
		claim.Regarding.Name != missing.Name || claim.Regarding.UID != missing.UID ||
		claim.Type != "Warning" || claim.ReportingController != driverName ||
		!strings.Contains(claim.Note, "claim default/missing not found") ||
		time.Since(claim.EventTime.Time) > time.Hour {
		t.Errorf("of the claim: %+v", claim)
	}
	if node.Regarding.Kind != "Node" || node.Regarding.UID != nodeUID || node.Namespace != "default" ||
		!strings.HasPrefix(node.Name, nodeName+".") || node.ReportingInstance != nodeName {
		t.Errorf("of the node: %+v", node)
	}
}

// Nothing is told of a healthy node; with --claim-status its claims' status has their devices.
func TestClaimStatus(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a := newAgent(t, "trn2.48xlarge")
	a.args = append(a.args, "--claim-status=true", "--kubeconfig", api.kubeconfig(a.dir))
	a.start()
	k := a.register()
	c := api.addClaim(configure(newClaim("with-status", "req=3", "req=4"), resource.AllocationConfigSourceClaim, lnc(1)))
	k.prepareOK(named(c))
	waitFor(t, "the status", func() bool { return len(api.devicesOf(c)) == 2 })
	for i, d := range api.devicesOf(c) {
		if d.Driver != driverName || d.Pool != nodeName || d.Device != fmt.Sprintf("neuron-device-%d", i+3) ||
			len(d.Conditions) != 1 || d.Conditions[0].Type != "Ready" || d.Conditions[0].Status != "True" ||
			d.Conditions[0].Reason != "Prepared" || time.Since(d.Conditions[0].LastTransitionTime.Time) > time.Hour ||
			d.Data == nil || string(d.Data.Raw) != `{"logicalNeuronCore":1}` {
			t.Errorf("device %d: %+v", i, d)
		}
	}
	k.unprepareOK(named(c))
	waitFor(t, "the status without devices", func() bool { return len(api.devicesOf(c)) == 0 })
	if n := api.seen("event", "series"); n != 0 {
		t.Errorf("%d events of a healthy node", n)
	}
}

// A slice that somebody deletes is restored without an Event, since each node of a cluster would send one; that it is
// deleted again is worth one.
func TestDriftEvent(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, _ := running(t, api, "trn2.48xlarge")
	for i := range 3 {
		slice := api.published()
		waitFor(t, "a watch", api.watching)
		time.Sleep(time.Second) // the round that created the slice is over, and an Event would have come
		if found := api.seen("event", "series"); found != i/2 {
			t.Errorf("%d requests about Events before deletion %d", found, i+1)
		}
		mark := a.log.count()
		api.remove(slice.Name)
		a.waitLog(mark, "event=slice_drift_detected", "what=deleted")
	}
	api.published()
	time.Sleep(time.Second)
	if found := api.seen("event", "series"); found != 1 {
		t.Errorf("%d requests about Events of one incident", found)
	}
}
