// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"time"

	resource "k8s.io/api/resource/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// reservations runs the command against the server.
func (s *apiServer) reservations(words ...string) outcome {
	s.t.Helper()
	return run(s.t, nil, append([]string{"reservations", "--kubeconfig", s.kubeconfig(s.t.TempDir())}, words...)...)
}

// reserved is a claim that so many pods hold.
func reserved(name string, pods int) *resource.ResourceClaim {
	claim := newClaim(name, "train=4")
	claim.Status.ReservedFor = nil
	for i := range pods {
		claim.Status.ReservedFor = append(claim.Status.ReservedFor,
			resource.ResourceClaimConsumerReference{Resource: "pods", Name: fmt.Sprintf("%s-%d", name, i), UID: "u"})
	}
	return claim
}

// What nobody holds, and what other drivers gave away, does not keep the driver.
func TestReservationsNone(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	want := outcome{0, "No claim of neuron.aws.com is reserved.\n", ""}
	if got := api.reservations(); got != want {
		t.Errorf("of no claims: %+v", got)
	}
	other := reserved("gpu", 1)
	other.Status.Allocation.Devices.Results[0].Driver = "gpu.example.com"
	api.addClaim(other)
	api.addClaim(reserved("idle", 0))
	waiting := reserved("waiting", 0)
	waiting.Status = resource.ResourceClaimStatus{}
	api.addClaim(waiting)
	if got := api.reservations(); got != want {
		t.Errorf("of claims that are not reserved: %+v", got)
	}
	if got := api.reservations("-o", "json"); got.code != 0 || strings.Join(strings.Fields(got.stdout), "") != `{"reservations":[]}` {
		t.Errorf("JSON: %+v", got)
	}
}

// Each claim of all pages and versions has its line, and the exit code says that there is one.
func TestReservationsOnPages(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"v1", "v1beta2", "v1beta1"} {
		api := startAPIServer(t)
		api.serveOnly(version)
		for i := range 1100 {
			api.addClaim(reserved(fmt.Sprintf("idle-%04d", i), 0))
		}
		for _, claim := range []*resource.ResourceClaim{reserved("a-first", 1), reserved("idle-0700-held", 3), reserved("z-last", 1)} {
			api.addClaim(claim)
		}
		got := api.reservations()
		lines := strings.Split(got.stdout, "\n")
		want := []string{
			"claim default/a-first on node " + nodeName + " is reserved for pods/a-first-0",
			"claim default/idle-0700-held on node " + nodeName + " is reserved for pods/idle-0700-held-0 and 2 more",
			"claim default/z-last on node " + nodeName + " is reserved for pods/z-last-0",
		}
		if got.code != 1 || got.stderr != "" || len(lines) != 5 || !reflect.DeepEqual(lines[:3], want) {
			t.Errorf("%s: %+v", version, got)
		}
		contains(t, got.stdout, "end these pods first", "--no-hooks", "Claims: 3\n")
		if pages := api.seen("claims"); pages != 3 {
			t.Errorf("%s: %d pages", version, pages)
		}
		var fromJSON, fromYAML struct{ Reservations []map[string]any }
		check(t, json.Unmarshal([]byte(api.reservations("-o", "json").stdout), &fromJSON))
		check(t, yaml.Unmarshal([]byte(api.reservations("-o", "yaml").stdout), &fromYAML))
		if len(fromJSON.Reservations) != 3 || !reflect.DeepEqual(fromJSON, fromYAML) ||
			fromJSON.Reservations[1]["name"] != "idle-0700-held" || fromJSON.Reservations[1]["consumers"] != 3.0 {
			t.Errorf("JSON %v, YAML %v", fromJSON, fromYAML)
		}
	}
}

// noObject has no field, not even metadata.
type noObject struct{}

func (noObject) Marshal() ([]byte, error) { return nil, nil }

// What cannot be told is never "none": exit code 2, and one line with the reason.
func TestReservationsNotTold(t *testing.T) {
	t.Parallel()
	cannot := func(what string, got outcome, words ...string) {
		t.Helper()
		if got.code != 2 || strings.Count(got.stderr, "\n") != 1 || strings.Contains(got.stdout, "No claim") {
			t.Errorf("%s: %+v", what, got)
		}
		contains(t, got.stderr, words...)
	}
	cannot("no cluster", run(t, nil, "reservations"), "KUBERNETES_SERVICE_HOST", "--kubeconfig")
	for what, one := range map[string]struct {
		answer func(s *apiServer, w http.ResponseWriter)
		words  []string
	}{
		"forbidden": {func(s *apiServer, w http.ResponseWriter) {
			s.fail(w, 403, meta.StatusReasonForbidden, `User "x" cannot list resource "resourceclaims"`)
		}, []string{"HTTP 403", "cannot list resource", "may list resourceclaims"}},
		"unauthorized": {func(s *apiServer, w http.ResponseWriter) {
			s.fail(w, 401, meta.StatusReasonUnauthorized, "Unauthorized")
		}, []string{"401 Unauthorized", "renew the token of its kubeconfig\n"}},
		"garbage": {func(s *apiServer, w http.ResponseWriter) { s.reply(w, 200, []byte("k8s\x00\xff\xff\xff\xff")) },
			[]string{"not a readable ResourceClaimList"}},
		"text": {func(_ *apiServer, w http.ResponseWriter) { _, _ = w.Write([]byte("welcome\x1b[2J")) },
			[]string{"not a readable ResourceClaimList"}},
		"nothing": {func(s *apiServer, w http.ResponseWriter) { s.reply(w, 200, nil) },
			[]string{"not a readable ResourceClaimList"}},
		"another object": {func(s *apiServer, w http.ResponseWriter) {
			s.reply(w, 200, envelope("v1", "Status", &meta.Status{Status: "Success"}))
		}, []string{"not a readable ResourceClaimList"}},
		"a list without its metadata": {func(s *apiServer, w http.ResponseWriter) {
			s.reply(w, 200, envelope(groupName+"/v1", "ResourceClaimList", noObject{}))
		}, []string{"not a readable ResourceClaimList"}},
	} {
		// The first page, and one after a claim was printed.
		for _, page := range []int{1, 2} {
			api := startAPIServer(t)
			for i := range 600 {
				api.addClaim(reserved(fmt.Sprintf("idle-%04d", i), 0))
			}
			api.addClaim(reserved("held", 1))
			api.setFaults(func(kind string, w http.ResponseWriter, r *http.Request) bool {
				bad := kind == "claims" && api.seen("claims") == page
				if bad {
					one.answer(api, w)
				}
				return bad
			})
			got := api.reservations()
			cannot(fmt.Sprint(what, ", page ", page), got, one.words...)
			if lines := strings.Count(got.stdout, "\n"); lines != page-1 {
				t.Errorf("%s, page %d: %d lines before", what, page, lines)
			}
			if n := api.seen("claims"); n != page {
				t.Errorf("%s, page %d: %d requests", what, page, n)
			}
		}
	}
}

// An API server that is busy, or restarts, is asked again; one that is away is given up in time.
func TestReservationsAskedAgain(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	api.addClaim(reserved("held", 1))
	api.setFaults(func(kind string, w http.ResponseWriter, r *http.Request) bool {
		n := api.seen("claims")
		switch {
		case kind == "claims" && n == 1:
			s := "1"
			w.Header().Set("Retry-After", s)
			api.fail(w, 429, meta.StatusReasonTooManyRequests, "busy")
		case kind == "claims" && n == 2:
			panic(http.ErrAbortHandler)
		case kind == "claims" && n == 3:
			api.fail(w, 500, meta.StatusReasonInternalError, "etcd is away")
		default:
			return false
		}
		return true
	})
	got := api.reservations()
	if got.code != 1 || got.stderr != "" || strings.Count(got.stdout, "claim default/held ") != 1 {
		t.Errorf("after failures that pass: %+v", got)
	}

	api.setFaults(nil)
	api.down()
	config := api.kubeconfig(t.TempDir())
	var stderr bytes.Buffer
	cmd := exec.Command(agentBinary, "reservations", "--kubeconfig", config)
	cmd.Stderr = &stderr
	start := time.Now()
	_ = cmd.Run()
	if code, took := cmd.ProcessState.ExitCode(), time.Since(start); code != 2 || took > 35*time.Second {
		t.Errorf("without an API server: exit code %d after %v", code, took)
	}
	contains(t, stderr.String(), "the reserved claims cannot be read: ", "connection refused")
}
