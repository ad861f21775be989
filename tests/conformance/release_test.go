// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"encoding/json"
	"hash/crc32"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	resource "k8s.io/api/resource/v1"
)

// checkpoint writes the kubelet's dra_manager_state as kubelet 1.36.3 does: pkg/kubelet/cm/dra/state/checkpoint.go, and
// pkg/kubelet/util/store/filestore.go for the temporary file.
func checkpoint(t *testing.T, path string, claims ...*resource.ResourceClaim) {
	t.Helper()
	type claimInfo struct {
		ClaimUID, ClaimName, Namespace string
		PodUIDs                        map[string]struct{}
	}
	data := struct {
		Kind               string `json:"kind"`
		APIVersion         string `json:"apiVersion"`
		ClaimInfoStateList []claimInfo
	}{Kind: "DRACheckpoint", APIVersion: "checkpoint.dra.kubelet.k8s.io/v1"}
	for _, c := range claims {
		data.ClaimInfoStateList = append(data.ClaimInfoStateList, claimInfo{string(c.UID), c.Name, c.Namespace, map[string]struct{}{"pod": {}}})
	}
	text, err := json.Marshal(data)
	check(t, err)
	whole, err := json.Marshal(struct {
		Data     string
		Checksum uint32
	}{string(text), crc32.ChecksumIEEE(text)})
	check(t, err)
	check(t, os.WriteFile(path+".tmp", whole, 0o600))
	check(t, os.Rename(path+".tmp", path))
}

// A claim that is gone at the API server stays held while the kubelet's checkpoint lists it, and is released once it
// does not: read through the sandbox, by a path that the kubelet replaces.
func TestKubeletState(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a := newAgent(t, "trn2.48xlarge")
	path := filepath.Join(t.TempDir(), "state")
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir), "--metrics-port", "0", "--reconcile-interval", "2s",
		"--kubelet-state-file", path)
	a.start()
	k, address := a.register(), a.metricsAddress()
	api.published()
	claim := api.addClaim(newClaim("gone", "req=3"))
	checkpoint(t, path, claim)
	k.prepareOK(named(claim))
	checkpoint(t, path, claim)
	api.removeClaim(claim)
	a.waitLogFor(60*time.Second, 0, "event=claim_release_withheld", string(claim.UID))
	if got := a.command(address, "check"); got.code != 0 || !strings.Contains(got.stdout, "neuron-dra-agent release "+string(claim.UID)) {
		t.Errorf("check: %+v", got)
	}
	next := api.addClaim(newClaim("next", "req=3"))
	contains(t, k.prepareError(named(next)), "neuron-dra-agent release "+string(claim.UID))
	checkpoint(t, path)
	a.waitLogFor(15*time.Second, 0, "event=claim_released", string(claim.UID))
	k.prepareOK(named(next))
}

// The command ends what the agent may not end by itself.
func TestRelease(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, address := withMetrics(t, api, "trn2.48xlarge")
	k := a.register()
	api.published()
	claim := api.addClaim(newClaim("gone", "req=3"))
	k.prepareOK(named(claim))
	api.removeClaim(claim)
	if got := a.command(address, "release", "5b2f0c1e-7d3a-4e8f-9a60-0d3c2b1a4f5e"); got.code != 1 || !strings.Contains(got.stderr, "no claim of this UID is held here") {
		t.Errorf("a UID that is not held: %+v", got)
	}
	if got := a.command(address, "release", "nothex"); got.code != 1 || !strings.Contains(got.stderr, `"nothex" is malformed as the UID of a claim`) {
		t.Errorf("a malformed UID: %+v", got)
	}
	if got, want := a.commandOK(address, "release", string(claim.UID)), "released claim default/gone ("+string(claim.UID)+") of neuron.aws.com\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := a.commandOK(address, "claims"); strings.Contains(got, string(claim.UID)) {
		t.Errorf("it is still held: %s", got)
	}
	next := api.addClaim(newClaim("next", "req=3"))
	k.prepareOK(named(next))
	a.kill()
	if got := a.command(address, "release", string(next.UID)); got.code != 1 || !strings.Contains(got.stderr, "no agent answers at "+a.serviceSocket()) ||
		!strings.Contains(got.stderr, "check that the agent runs here") {
		t.Errorf("without an agent: %+v", got)
	}
	// In its place another program, and one that hangs.
	for words, serve := range map[string]func(c net.Conn){
		"another program answers there, without gRPC": func(c net.Conn) { _, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")) },
		"timed out; the agent hangs: delete its pod":  func(net.Conn) {},
	} {
		check(t, os.RemoveAll(a.serviceSocket()))
		listener, err := net.Listen("unix", a.serviceSocket())
		check(t, err)
		go func() {
			for {
				c, err := listener.Accept()
				if err != nil {
					return
				}
				defer c.Close()
				serve(c)
			}
		}()
		if got := a.command(address, "release", string(next.UID)); got.code != 1 || !strings.Contains(got.stderr, words) {
			t.Errorf("want %q: %+v", words, got)
		}
		check(t, listener.Close())
	}
}
