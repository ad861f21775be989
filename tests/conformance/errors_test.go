// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	resource "k8s.io/api/resource/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Each claim fails by itself with words; no file and no record stays, and its device is free.
func TestClaimErrors(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, k := running(t, api, "trn2.48xlarge")
	fromClaim := resource.AllocationConfigSourceClaim
	config := func(name, text string) *resource.ResourceClaim {
		return api.addClaim(configure(newClaim(name, "req=0"), fromClaim, text))
	}
	missing := newClaim("missing", "req=0")
	replaced := api.addClaim(newClaim("replaced", "req=0")).DeepCopy()
	replaced.UID = uid("before")
	pending := newClaim("pending")
	pending.Status.Allocation = nil
	foreignPool := newClaim("foreign-pool", "req=0")
	foreignPool.Status.Allocation.Devices.Results[0].Pool = "node-2"
	otherDriver := newClaim("other-driver", "req=0")
	otherDriver.Status.Allocation.Devices.Results[0].Driver = "gpu.example.com"
	noOpaque := configure(newClaim("no-opaque", "req=0"), fromClaim, lnc(1))
	noOpaque.Status.Allocation.Devices.Config[0].Opaque = nil
	source := configure(newClaim("source", "req=0"), "FromNowhere", lnc(1))
	for _, c := range []*resource.ResourceClaim{pending, foreignPool, otherDriver, noOpaque, source} {
		api.addClaim(c)
	}
	strict := `error applying config: strict decoding error: `
	cases := []struct {
		claim *resource.ResourceClaim
		words []string
	}{
		{missing, []string{"default/missing", "not found"}},
		{replaced, []string{"default/replaced", string(uid("before")), string(uid("claim replaced"))}},
		{pending, []string{"default/pending", "not allocated"}},
		{api.addClaim(newClaim("unknown-device", "req=99")), []string{"neuron-device-99", "not found", nodeName, "neuron-device-0", "neuron-device-15"}},
		{api.addClaim(newClaim("odd-device", "req=x\"\n%s")), []string{"not found"}},
		{foreignPool, []string{"node-2", nodeName, "delete the pod", "spec.nodeName"}},
		{otherDriver, []string{"default/other-driver", driverName}},
		{api.addClaim(newClaim("doubled", "req=3", "req=3")), []string{"neuron-device-3", "twice"}},
		{noOpaque, []string{"not opaque"}},
		{source, []string{"FromNowhere", "FromClass", "FromClaim"}},
		{config("misspelt", `{"apiVersion":"neuron.aws.com/v1","kind":"NeuronConfig","logicalNeuronCoreCount":2}`),
			[]string{strict + `unknown field "logicalNeuronCoreCount"`, "logicalNeuronCore", "apiVersion", "kind"}},
		{config("case", `{"apiVersion":"neuron.aws.com/v1","kind":"NeuronConfig","LogicalNeuronCore":2}`), []string{`unknown field "LogicalNeuronCore"`}},
		{config("duplicate", `{"apiVersion":"neuron.aws.com/v1","kind":"NeuronConfig","logicalNeuronCore":1,"logicalNeuronCore":1}`),
			[]string{strict + `duplicate field "logicalNeuronCore"`}},
		{config("kind", `{"apiVersion":"neuron.aws.com/v1","kind":"GpuConfig","logicalNeuronCore":2}`),
			[]string{`no kind "GpuConfig" is registered for version "neuron.aws.com/v1"`, "NeuronConfig"}},
		{config("version", `{"apiVersion":"neuron.aws.com/v7","kind":"NeuronConfig","logicalNeuronCore":2}`),
			[]string{`no kind "NeuronConfig" is registered for version "neuron.aws.com/v7"`, "neuron.aws.com/v1"}},
		{config("no-kind", `{"apiVersion":"neuron.aws.com/v1","logicalNeuronCore":2}`), []string{"Object 'Kind' is missing; write apiVersion: neuron.aws.com/v1 and kind: NeuronConfig or UltraServerConfig"}},
		{config("no-version", `{"kind":"NeuronConfig","logicalNeuronCore":2}`), []string{"apiVersion", "missing"}},
		{config("text", `{"apiVersion":"neuron.aws.com/v1","kind":"NeuronConfig","logicalNeuronCore":"2"}`), []string{"logicalNeuronCore", "integer", "string; write the number without quotes"}},
		{config("value", `{"apiVersion":"neuron.aws.com/v1","kind":"NeuronConfig","logicalNeuronCore":3}`), []string{"logicalNeuronCore", "3", "1, 2"}},
		{config("no-value", `{"apiVersion":"neuron.aws.com/v1","kind":"NeuronConfig"}`), []string{"logicalNeuronCore", "Required"}},
		{config("no-json", `logicalNeuronCore: 2`), []string{"not valid JSON"}},
		{config("array", `[]`), []string{"not a JSON object", "opaque.parameters (config[0] of the allocation, FromClaim, "}},
		{config("ultraserver", `{"apiVersion":"neuron.aws.com/v1","kind":"UltraServerConfig","ultraserverMode":4}`),
			[]string{"UltraServer", "not configurable", "trn2.48xlarge", "remove the UltraServerConfig"}},
		{config("long", `{"apiVersion":"neuron.aws.com/v1","kind":"NeuronConfig","x":"`+strings.Repeat("y", 11000)+`"}`), []string{"10240 bytes"}},
		{config("hostile", "{\"apiVersion\":\"neuron.aws.com/v1\",\"kind\":\"NeuronConfig\",\"\\u001b[31m\\n"+strings.Repeat("z", 300)+"\":1}"), []string{"unknown field"}},
	}
	for _, c := range cases {
		t.Run(c.claim.Name, func(t *testing.T) {
			mark := a.log.count()
			text := k.prepareError(named(c.claim))
			contains(t, text, c.words...)
			a.noCDI()
			a.waitLog(mark, "event=claim_failed", string(c.claim.UID))
			// No record: had it one, prepare would succeed now without asking the API server.
			reads := api.seen("claim")
			k.prepareError(named(c.claim))
			if api.seen("claim") == reads {
				t.Error("the second answer did not come from the API server")
			}
		})
	}
	good := api.addClaim(newClaim("good", "req=0", "req=3"))
	k.prepareOK(named(good))
	for _, c := range cases {
		k.unprepareOK(named(c.claim)) // the kubelet does this after a failed prepare
	}
	k.unprepareOK(named(good))
	a.noCDI()
}

func TestHeldByAnother(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, k := running(t, api, "trn2.48xlarge")
	holder := api.addClaim(newClaim("holder", "req=4", "req=5"))
	wanting := api.addClaim(newClaim("wanting", "req=5", "req=6"))
	k.prepareOK(named(holder))
	text := k.prepareError(named(wanting))
	contains(t, text, "default/wanting", "neuron-device-5", "default/holder", string(holder.UID))
	// Over a restart the record says who holds it.
	a.kill()
	a.start()
	k = a.register()
	a.waitLog(0, "event=slice_verified")
	contains(t, k.prepareError(named(wanting)), "default/wanting", "neuron-device-5", "default/holder")
	// In one call: first come, first served.
	third := api.addClaim(newClaim("third", "req=9"))
	fourth := api.addClaim(newClaim("fourth", "req=9"))
	r := k.prepare(named(third), named(fourth))
	if (r[string(third.UID)].Error == "") == (r[string(fourth.UID)].Error == "") {
		t.Errorf("device 9 went to %v", r)
	}
	k.unprepareOK(named(holder), named(third), named(fourth))
	k.prepareOK(named(wanting))
	k.unprepareOK(named(wanting))
	a.noCDI()
}

func TestLNC(t *testing.T) {
	t.Parallel()
	for board, allowed := range map[string]bool{"trn1.2xlarge": false, "trn1.32xlarge": false, "trn2.3xlarge": true, "trn2.48xlarge": true} {
		api := startAPIServer(t)
		a, k := running(t, api, board)
		for value := 1; value <= 2; value++ {
			c := api.addClaim(configure(newClaim(fmt.Sprintf("lnc-%d", value), "req=0"), resource.AllocationConfigSourceClaim, lnc(value)))
			if !allowed {
				text := k.prepareError(named(c))
				// AWS's text as it is, then the way out
				contains(t, text, "error applying config: LNC value is not configurable for instance type "+board+
					"; remove the NeuronConfig, or use a trn2 or trn3 type (config[0] of the allocation, FromClaim, ")
				continue
			}
			devices := k.prepareOK(named(c))
			equalStrings(t, board, a.inject(idsOf(devices, "req")...).env, fmt.Sprintf("NEURON_LOGICAL_NC_CONFIG=%d", value))
			k.unprepareOK(named(c))
		}
		a.noCDI()
	}
}

// Claim over class, later over earlier, and only what names the request.
func TestConfigPrecedence(t *testing.T) {
	t.Parallel()
	const class, claim = resource.AllocationConfigSourceClass, resource.AllocationConfigSourceClaim
	api := startAPIServer(t)
	a, k := running(t, api, "trn2.48xlarge")
	type entry struct {
		source   resource.AllocationConfigSource
		value    int
		requests []string
	}
	cases := []struct {
		name    string
		entries []entry
		want    string
	}{
		{"none", nil, ""},
		{"class", []entry{{class, 2, nil}}, "2"},
		{"claim-after-class", []entry{{class, 2, nil}, {claim, 1, nil}}, "1"},
		{"claim-before-class", []entry{{claim, 1, nil}, {class, 2, nil}}, "1"},
		{"later-class", []entry{{class, 1, nil}, {class, 2, nil}}, "2"},
		{"later-claim", []entry{{claim, 1, nil}, {claim, 2, []string{"req"}}}, "2"},
		{"other-request", []entry{{claim, 1, nil}, {claim, 2, []string{"other"}}}, "1"},
		{"only-other-request", []entry{{claim, 2, []string{"other", "third"}}}, ""},
		{"one-of-several", []entry{{claim, 2, []string{"other", "req"}}}, "2"},
	}
	for _, c := range cases {
		object := newClaim(c.name, "req=0")
		for _, e := range c.entries {
			configure(object, e.source, lnc(e.value), e.requests...)
		}
		devices := k.prepareOK(named(api.addClaim(object)))
		got := strings.Join(a.inject(idsOf(devices, "req")...).env, " ")
		if strings.TrimPrefix(got, "NEURON_LOGICAL_NC_CONFIG=") != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		k.unprepareOK(named(object))
	}
	// What applies to nothing of ours is not even decoded.
	object := configure(newClaim("not-ours", "req=0"), claim, `{"nonsense":true}`, "other")
	k.prepareOK(named(api.addClaim(object)))
	k.unprepareOK(named(object))
	// All spellings of the version, and JSON with space and escapes.
	for i, text := range []string{
		`{"apiVersion":"neuron.aws.com/v1alphav1","kind":"NeuronConfig","logicalNeuronCore":1}`,
		`{"apiVersion":"resource.neuron.aws.com/v1alphav1","kind":"NeuronConfig","logicalNeuronCore":1}`,
		"\n{ \"logicalNeuronCore\" : 1 ,\t\"kind\":\"Neuron\\u0043onfig\",\"apiVersion\":\"neuron.aws.com\\/v1\" }\n",
	} {
		object := configure(newClaim(fmt.Sprintf("spelling-%d", i), "req=0"), claim, text)
		devices := k.prepareOK(named(api.addClaim(object)))
		equalStrings(t, text, a.inject(idsOf(devices, "req")...).env, "NEURON_LOGICAL_NC_CONFIG=1")
		k.unprepareOK(named(object))
	}
	a.noCDI()
}

// What the API server says instead of a claim becomes the claim's error.
func TestAPIServerErrors(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, k := running(t, api, "trn2.48xlarge")
	c := api.addClaim(newClaim("one", "req=0"))
	plain := func(code int, text string) hook {
		return func(kind string, w http.ResponseWriter, r *http.Request) bool {
			if kind == "claim" {
				w.Header().Set("Content-Type", "text/plain")
				w.WriteHeader(code)
				fmt.Fprint(w, text)
			}
			return kind == "claim"
		}
	}
	status := func(code int, message string) hook {
		return func(kind string, w http.ResponseWriter, r *http.Request) bool {
			if kind == "claim" {
				api.fail(w, code, meta.StatusReasonForbidden, message)
			}
			return kind == "claim"
		}
	}
	body := func(b []byte) hook {
		return func(kind string, w http.ResponseWriter, r *http.Request) bool {
			if kind == "claim" {
				api.reply(w, 200, b)
			}
			return kind == "claim"
		}
	}
	abort := func(kind string, w http.ResponseWriter, r *http.Request) bool {
		if kind == "claim" {
			panic(http.ErrAbortHandler)
		}
		return false
	}
	whole := envelope("resource.k8s.io/v1", "ResourceClaim", c)
	wrongKind := &runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "Pod"}}
	cases := map[string]struct {
		fault hook
		words []string
	}{
		"403":        {status(403, "resourceclaims is forbidden: no RBAC"), []string{"403", "no RBAC"}},
		"429":        {plain(429, "Too many requests, please try again later."), []string{"429", "Too many requests"}},
		"500":        {plain(500, "etcd is\x00\r\n\x1b[31m away "+strings.Repeat("é", 2000)), []string{"500", "etcd is"}},
		"503":        {status(503, "starting"), []string{"503", "starting"}},
		"empty":      {body(nil), []string{"one"}},
		"json":       {body([]byte(`{"kind":"ResourceClaim"}`)), []string{"one"}},
		"truncated":  {body(whole[:len(whole)-3]), []string{"one"}},
		"prefix":     {body(whole[:4]), []string{"one"}},
		"wrong kind": {body(append([]byte("k8s\x00"), must(wrongKind.Marshal())...)), []string{"one"}},
		"garbage":    {body([]byte("k8s\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")), []string{"one"}},
		"aborted":    {abort, []string{"one"}},
	}
	limit := k.limit
	k.limit = 4 * time.Second // a failure that passes is asked about again until then
	for name, c1 := range cases {
		api.setFaults(c1.fault)
		text := k.prepareError(named(c))
		contains(t, text, c1.words...)
		a.noCDI()
		if strings.Contains(text, "\x1b") || !strings.Contains(text, "default/one") {
			t.Errorf("%s: %q", name, text)
		}
	}
	api.setFaults(nil)
	k.limit = limit
	k.prepareOK(named(c))
	k.unprepareOK(named(c))
}

// Names that no claim can have come back as errors, whatever they are made of.
func TestOddNames(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, k := running(t, api, "trn2.48xlarge")
	for i, text := range []string{"../../etc/passwd", "a/b", ".", "..", "a b", "x%2f..%2f", "ü", strings.Repeat("n", 250), "-"} {
		c := named(newClaim(fmt.Sprint("odd-", i), "req=0"))
		for _, change := range []func(){func() { c.Name = text }, func() { c.Namespace = text }} {
			before := *named(newClaim(fmt.Sprint("odd-", i), "req=0"))
			c.Name, c.Namespace = before.Name, before.Namespace
			change()
			_, err := k.callBytes(prepareV1, callLimit, c)
			if err == nil {
				k.prepareError(c)
			}
		}
		c.Name, c.Namespace, c.Uid = "name", "default", text
		if _, err := k.callBytes(prepareV1, callLimit, c); err == nil {
			k.prepareError(c)
			k.unprepareOK(c)
		}
	}
	a.noCDI()
	if n := len(files(t, a.dir)); n != 6 {
		t.Errorf("files beside those that belong there: %v", files(t, a.dir))
	}
}
