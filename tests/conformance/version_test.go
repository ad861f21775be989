// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	resource "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// versioned are the requests in which a version is named, all of them.
var versioned = []string{"list", "watch", "create", "update", "delete", "claim"}

// versions lists the versions of the requests of these kinds.
func (s *apiServer) versions(kinds ...string) map[string]int {
	found := map[string]int{}
	for _, r := range s.log(kinds...) {
		found[r.version]++
	}
	return found
}

func (s *apiServer) allSeen() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests)
}

// publishedRight waits until the only slice of the agent is as the board wants it.
func (s *apiServer) publishedRight(board string) {
	s.t.Helper()
	want := wantedSlice(s.t, board).Spec
	waitFor(s.t, "the right slice", func() bool {
		own := s.own()
		if len(own) != 1 {
			return false
		}
		want.Pool.Generation = own[0].Spec.Pool.Generation
		return equality.Semantic.DeepEqual(own[0].Spec, want)
	})
}

// unregistered starts an agent that waits for the kubelet.
func (s *apiServer) unregistered(board string) *agent {
	s.t.Helper()
	a := newAgent(s.t, board)
	a.args = append(a.args, "--kubeconfig", s.kubeconfig(a.dir))
	a.start()
	return a
}

// fullClaim has all that the agent reads of a claim: subrequest, admin access, both kinds of configuration.
func fullClaim(name string) *resource.ResourceClaim {
	c := newClaim(name, "req=1", "req/sub=2", "watch=1")
	yes := true
	c.Status.Allocation.Devices.Results[2].AdminAccess = &yes
	configure(c, resource.AllocationConfigSourceClass, lnc(1))
	configure(c, resource.AllocationConfigSourceClaim, lnc(2), "req")
	return c
}

func checkFullClaim(t *testing.T, a *agent, k *kubelet, c *resource.ResourceClaim) {
	t.Helper()
	devices := k.prepareOK(named(c))
	equalStrings(t, "devices", deviceNames(devices), "neuron-device-1", "neuron-device-1", "neuron-device-2")
	equalStrings(t, "environment", a.inject(idsOf(devices, "req")...).env, "NEURON_LOGICAL_NC_CONFIG=2")
	equalStrings(t, "environment", a.inject(idsOf(devices, "watch")...).env, "NEURON_LOGICAL_NC_CONFIG=1")
}

// Whatever is served: the same slice, the same claims, the same five requests at the start.
func TestServedVersions(t *testing.T) {
	t.Parallel()
	for _, served := range []string{"v1", "v1beta2", "v1beta1", "v1beta2 v1beta1", "v1 v1beta2 v1beta1", "v1beta1 v1"} {
		t.Run(served, func(t *testing.T) {
			t.Parallel()
			all := strings.Fields(served)
			best := all[0]
			if served == "v1beta1 v1" {
				best = "v1" // the server's order does not matter
			}
			api := startAPIServer(t)
			api.serveOnly(all...)
			a, k := running(t, api, "trn2.48xlarge")
			api.publishedRight("trn2.48xlarge")
			waitFor(t, "watch", api.watching)
			// its versions, Node, slices, the write and the watch: nothing can be lost, so no claim is listed
			if n := api.allSeen(); n != 5 {
				t.Errorf("%d requests at the start", n)
			}
			checkFullClaim(t, a, k, api.addClaim(fullClaim("full")))
			slice := api.published()
			slice.Spec.Devices[3].Taints = []resource.DeviceTaint{{Key: "a/b", Effect: "NoSchedule"}}
			api.store(slice)
			api.publishedRight("trn2.48xlarge")
			name := api.published().Name
			api.remove(name)
			api.publishedRight("trn2.48xlarge")
			api.store(wantedSlice(t, "trn2.48xlarge"))
			waitFor(t, "one of two", func() bool { return len(api.own()) == 1 })
			if got := api.versions(versioned...); len(got) != 1 || got[best] == 0 {
				t.Errorf("spoken: %v", got)
			}
			if n := api.seen("group"); n != 1 {
				t.Errorf("asked %d times for the versions", n)
			}
			a.waitLog(0, "event=resource_api_version_selected", "version=resource.k8s.io/"+best)
		})
	}
}

// A control plane that is upgraded and downgraded drops its connections; prepares go through it.
func TestVersionChangesWithRestart(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	api.serveOnly("v1beta1")
	a, k := running(t, api, "trn2.48xlarge")
	early := api.addClaim(fullClaim("early"))
	checkFullClaim(t, a, k, early)
	for i, served := range []string{"v1", "v1beta2", "v1beta1 v1beta2 v1", "v1beta1"} {
		all := strings.Fields(served)
		mark := a.log.count()
		api.down()
		a.waitLog(mark, "event=api_connection_lost")
		api.serveOnly(all...)
		before := api.allSeen()
		api.up()
		c := api.addClaim(newClaim(fmt.Sprint("c", i), "req=5"))
		waitForLong(t, longPatience, "prepare", prepareWorks(k, named(c)))
		k.prepareOK(named(early))
		k.unprepareOK(named(c))
		waitForLong(t, longPatience, "watch", api.watching)
		// five for the change and the claim; one compares the held claim, one asks whether it is still there; and where
		// v1 was served before, it is asked in vain for slices and the claim
		if n := api.allSeen() - before; n > 9 {
			t.Errorf("%s: %d requests for the change and a claim", served, n)
		}
	}
	api.publishedRight("trn2.48xlarge")
	if n := api.seen("create", "update", "delete"); n != 1 {
		t.Errorf("%d writes of a slice that stayed the same", n)
	}
	k.unprepareOK(named(early))
}

// A load balancer keeps the connection while the servers behind it change: what comes next finds out.
func TestVersionChangesOnOneConnection(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, k := running(t, api, "trn2.48xlarge")
	waitFor(t, "watch", api.watching)
	for i, served := range []string{"v1beta1", "v1", "v1beta2", "v1beta1", "v1"} {
		api.serveOnly(served)
		mark, asked := a.log.count(), api.seen("group")
		c := api.addClaim(newClaim(fmt.Sprint("c", i), "req=5"))
		k.prepareOK(named(c)) // at once, not after a retry of the kubelet
		k.unprepareOK(named(c))
		a.waitLog(mark, "event=resource_api_version_selected", "version=resource.k8s.io/"+served)
		if n := api.seen("group") - asked; n != 1 {
			t.Errorf("%s: asked %d times for the versions", served, n)
		}
		api.remove(api.published().Name) // by the watch, in whichever version it was opened
		api.publishedRight("trn2.48xlarge")
	}
	if a.log.last("event=api_connection_lost") >= 0 {
		t.Error("the connection was given up")
	}
}

// No version at all: one clear line, few requests, registration and known claims as ever.
func TestNoVersionServed(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, k := running(t, api, "trn2.48xlarge")
	known := api.addClaim(newClaim("known", "req=1"))
	k.prepareOK(named(known))
	mark := a.log.count()
	api.down()
	api.serveOnly()
	before := api.allSeen()
	api.up()
	line := a.waitLogFor(longPatience, mark, "event=resource_api_not_served")
	contains(t, line, "level=error", "resource.k8s.io/v1, v1beta2 and v1beta1",
		"--feature-gates=DynamicResourceAllocation=true", "--runtime-config=resource.k8s.io/v1beta1=true")
	k.prepareOK(named(known))
	again := a.register()
	text := again.prepareError(named(api.addClaim(newClaim("new", "req=2"))))
	contains(t, text, "claim", "it serves none of resource.k8s.io/v1, v1beta2 and v1beta1")
	again.unprepareOK(named(known))
	a.noCDI()
	// the group, the Node, three lists; besides them what is told of it
	if n := api.allSeen() - api.seen("event") - before; n > 5 {
		t.Errorf("%d requests", n)
	}
	mark = a.log.count()
	api.down()
	api.serveOnly("v1beta1")
	api.up()
	a.waitLogFor(longPatience, mark, "event=slice_verified")
	k.prepareOK(named(api.addClaim(newClaim("late", "req=2"))))
}

// Answers to the question for the versions that are of no use, or meant to harm.
func TestHostileGroupAnswers(t *testing.T) {
	t.Parallel()
	right := envelope("v1", "APIGroup", group(groupName, "v1", "v1beta2", "v1beta1"))
	unknown := make([]string, 100000)
	for i := range unknown {
		unknown[i] = fmt.Sprint("v", i+2)
	}
	text := func(code int, kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(code)
			_, _ = w.Write([]byte(body))
		}
	}
	answer := func(body []byte) http.HandlerFunc { return text(200, protobufType, string(body)) }
	cases := map[string]http.HandlerFunc{
		"wrong group": answer(envelope("v1", "APIGroup", group("apps", "v1"))),
		"right name, wrong versions": answer(envelope("v1", "APIGroup", func() *meta.APIGroup {
			g := group("apps", "v1")
			g.Name = groupName
			return g
		}())),
		"no version":    answer(envelope("v1", "APIGroup", group(groupName))),
		"unknown":       answer(envelope("v1", "APIGroup", group(groupName, "v2", "v1beta11", "v1alpha3", "v1 ", ""))),
		"long":          answer(envelope("v1", "APIGroup", group(groupName, strings.Repeat("v1", 5000)))),
		"many":          answer(envelope("v1", "APIGroup", group(groupName, unknown...))),
		"truncated":     answer(right[:len(right)-3]),
		"cut early":     answer(right[:20]),
		"magic alone":   answer(right[:4]),
		"no magic":      answer(right[4:]),
		"empty":         answer(nil),
		"noise":         answer([]byte("k8s\x00\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01" + strings.Repeat("\x80", 5000))),
		"groups":        answer([]byte("k8s\x00" + strings.Repeat("\x0b", 5000))),
		"nested":        answer([]byte("k8s\x00" + strings.Repeat("\x12\x7f", 5000))),
		"a Status":      answer(envelope("v1", "Status", &meta.Status{Status: "Failure", Code: 404, Reason: "NotFound"})),
		"JSON":          text(200, "application/json", `{"kind":"APIGroup","versions":[{"groupVersion":"resource.k8s.io/v7"}]}`),
		"a web page":    text(200, "text/html", "<html>"+strings.Repeat("welcome ", 10000)),
		"all, with 404": text(404, protobufType, string(right)),
		"all, with 500": text(500, protobufType, string(right)),
		"404":           text(404, "text/plain", "404 page not found\n"),
		"403":           text(403, "text/plain", "Forbidden"),
		"429":           text(429, "text/plain", "Too many requests, please try again later."),
		"all named":     answer(right),
		"aborted":       func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"hangs":         func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"endless": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", protobufType)
			_, _ = w.Write([]byte("k8s\x00\x12\xff\xff\xff\xff\x07"))
			version := must((&meta.APIGroup{Versions: group(groupName, "v9").Versions}).Marshal())
			for r.Context().Err() == nil {
				_, _ = w.Write(version)
				w.(http.Flusher).Flush()
				time.Sleep(time.Millisecond)
			}
		},
	}
	for name, handler := range cases {
		versions := []string{"v1beta1"} // the last one tried
		if name == "404" || name == "truncated" || name == "all named" {
			versions = append(versions, "v1", "v1beta2")
		}
		for _, served := range versions {
			t.Run(name+" "+served, func(t *testing.T) {
				t.Parallel()
				api := startAPIServer(t)
				api.serveOnly(served)
				api.setFaults(func(kind string, w http.ResponseWriter, r *http.Request) bool {
					if kind == "group" {
						handler(w, r)
					}
					return kind == "group"
				})
				a, k := running(t, api, "trn1.2xlarge")
				api.publishedRight("trn1.2xlarge")
				k.prepareOK(named(api.addClaim(newClaim("c", "req=0"))))
				a.waitLog(0, "event=resource_api_version_selected", "version=resource.k8s.io/"+served)
				if n := api.seen("create", "update", "delete"); n != 1 {
					t.Errorf("%d writes", n)
				}
				if n := api.allSeen(); n > 12 { // slices and claims may each be asked for in three versions
					t.Errorf("%d requests", n)
				}
			})
		}
	}
}

// A 404 for a claim is about the claim when a Status says so; any other is looked into and never believed of
// the whole version.
func TestMissingClaims(t *testing.T) {
	t.Parallel()
	status := func(code meta.StatusReason, message string, details *meta.StatusDetails) []byte {
		return envelope("v1", "Status", &meta.Status{Status: "Failure", Message: message, Reason: code, Code: 404, Details: details})
	}
	object := &meta.StatusDetails{Name: "gone", Group: groupName, Kind: "resourceclaims"}
	cases := []struct {
		name, kind string
		body       []byte
		asks       int // for the versions
		text       string
	}{
		{"real", protobufType, status("NotFound", `resourceclaims.resource.k8s.io "gone" not found`, object), 0, "not found on the API server"},
		{"short", protobufType, status("NotFound", "not found", nil), 0, "not found on the API server"},
		{"JSON", "application/json", []byte(`{"kind":"Status","reason":"NotFound"}`), 0, "not found on the API server"},
		{"text", "text/plain", []byte("404 page not found\n"), 2, "HTTP 404 404 page not found"},
		{"empty", "text/plain", nil, 2, "HTTP 404"},
		{"resource", protobufType, status("NotFound", "the server could not find the requested resource", nil), 2,
			"HTTP 404 the server could not find the requested resource"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			api := startAPIServer(t)
			a, k := running(t, api, "trn1.2xlarge")
			waitFor(t, "watch", api.watching)
			before := api.seen("group")
			api.setFaults(func(kind string, w http.ResponseWriter, r *http.Request) bool {
				if kind != "claim" || !strings.HasSuffix(r.URL.Path, "/gone") {
					return false
				}
				w.Header().Set("Content-Type", c.kind)
				w.WriteHeader(404)
				_, _ = w.Write(c.body)
				return true
			})
			text := k.prepareError(named(newClaim("gone", "req=0")))
			contains(t, text, "claim default/gone", c.text)
			k.prepareOK(named(api.addClaim(newClaim("here", "req=0"))))
			if n := api.seen("group") - before; n != c.asks {
				t.Errorf("asked %d times for the versions", n)
			}
			if got := api.versions(versioned...); len(got) != 1 || got["v1"] == 0 {
				t.Errorf("spoken: %v", got)
			}
			if a.log.last("event=resource_api_not_served") >= 0 {
				t.Error("one claim made the agent doubt the whole API")
			}
		})
	}
}
