// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	resource "k8s.io/api/resource/v1"
	"sigs.k8s.io/yaml"
)

// command runs a command with the flags of the agent beside it, and its metrics port.
func (a *agent) command(address string, words ...string) outcome {
	a.t.Helper()
	_, port, err := net.SplitHostPort(address)
	check(a.t, err)
	return run(a.t, nil, append(append(words[:len(words):len(words)], a.commandLine()...), "--metrics-port", port)...)
}

func (a *agent) commandOK(address string, words ...string) string {
	a.t.Helper()
	got := a.command(address, words...)
	if got.code != 0 || got.stderr != "" {
		a.t.Fatalf("%v: %+v", words, got)
	}
	return got.stdout
}

// files are the names, sizes and times of all files below the agent's directories.
func (a *agent) files() (found []string) {
	for _, dir := range []string{"r", "p", "c"} {
		check(a.t, filepath.Walk(filepath.Join(a.dir, dir), func(path string, info os.FileInfo, err error) error {
			found = append(found, path+info.ModTime().String())
			return err
		}))
	}
	return found
}

// Commands beside a running agent show what it holds, and change no file of it.
func TestCommandsBesideAgent(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, address := withMetrics(t, api, "trn2.48xlarge")
	k := a.register()
	api.published()
	claim := api.addClaim(configure(newClaim("llama", "train=4", "train=5"), resource.AllocationConfigSourceClaim, lnc(1)))
	k.prepareOK(named(claim))
	a.waitLog(0, "event=slice_published")
	before := a.files()

	contains(t, a.commandOK(address, "devices"), "neuron-device-4   8      held   default/llama", "2 of 16 devices held",
		"   4 A   5 A   6 .   7 .")
	contains(t, a.commandOK(address, "claims"), "default/llama", "uid: "+string(claim.UID),
		"neuron-device-4 (request train, logicalNeuronCore 1)", "CDI file: good")
	if got := a.commandOK(address, "check"); got != "ready\n" {
		t.Errorf("check: %q", got)
	}
	for _, what := range []string{"liveness", "readiness"} {
		if got := a.commandOK(address, "probe", what); got != "ok\n" {
			t.Errorf("probe %s: %q", what, got)
		}
	}
	for _, what := range []string{"devices", "claims", "slices", "check"} {
		var fromJSON, fromYAML any
		check(t, json.Unmarshal([]byte(a.commandOK(address, what, "-o", "json")), &fromJSON))
		check(t, yaml.Unmarshal([]byte(a.commandOK(address, what, "-o", "yaml")), &fromYAML))
		if !reflect.DeepEqual(fromJSON, fromYAML) {
			t.Errorf("%s: JSON %v, YAML %v", what, fromJSON, fromYAML)
		}
	}
	if after := a.files(); !reflect.DeepEqual(before, after) {
		t.Errorf("files before %v, after %v", before, after)
	}

	check(t, os.Remove(a.cdiFile(claim)))
	contains(t, a.commandOK(address, "claims"), "CDI file: missing")
	a.kill()
	contains(t, a.commandOK(address, "devices"), "default/llama")
	got := a.command(address, "check")
	if lines := strings.Split(strings.TrimSpace(got.stdout), "\n"); got.code != 1 || len(lines) != 3 {
		t.Errorf("check without the agent: %+v", got)
	}
	contains(t, got.stdout, a.registrationSocket()+": nobody listens", a.serviceSocket()+": nobody listens", "no agent responds to /readyz")
	if got := a.command(address, "probe", "readiness"); got.code != 1 || !strings.Contains(got.stderr, "--metrics-port") {
		t.Errorf("probe without the agent: %+v", got)
	}
}

// What `slices` prints is the slice that the agent publishes, but for what the server and the node's labels add.
func TestSlicesAsPublished(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, address := withMetrics(t, api, "trn2.48xlarge")
	a.register()
	published := api.published()
	var printed resource.ResourceSlice
	check(t, yaml.UnmarshalStrict([]byte(a.commandOK(address, "slices")), &printed))
	for i := range published.Spec.Devices {
		for name := range published.Spec.Devices[i].Attributes {
			if strings.HasPrefix(string(name), "networkNodeLayer") {
				delete(published.Spec.Devices[i].Attributes, name)
			}
		}
	}
	if !reflect.DeepEqual(published.Spec, printed.Spec) {
		t.Errorf("published %+v\nprinted %+v", published.Spec, printed.Spec)
	}
}

// Without hardware and without an agent: the slice of a board, and one line for each reason against the node.
func TestCommandsWithoutAgent(t *testing.T) {
	t.Parallel()
	var printed resource.ResourceSlice
	got := run(t, nil, "slices", "--board", "trn2.48xlarge", "-o", "json")
	check(t, json.Unmarshal([]byte(got.stdout), &printed))
	if n := len(printed.Spec.Devices); got.code != 0 || n != 16 {
		t.Errorf("exit code %d, %d devices", got.code, n)
	}
	got = run(t, nil, "slices", "--board", "trn9.48xlarge")
	if got.code != 2 || got.stdout != "" {
		t.Errorf("unknown board: %+v", got)
	}
	contains(t, got.stderr, "--board", "trn9.48xlarge", "trn2.48xlarge")

	a := newAgent(t, "trn2.48xlarge")
	got = a.command(closedPort(t), "check")
	if got.code != 1 {
		t.Errorf("check: %+v", got)
	}
	contains(t, got.stdout, a.registrationSocket(), a.serviceSocket(), "claims.store does not exist", "no agent responds to /readyz")
	if got = a.command(closedPort(t), "claims"); got.code != 1 || strings.Count(got.stderr, "\n") != 1 {
		t.Errorf("claims: %+v", got)
	}
	contains(t, a.commandOK(closedPort(t), "devices"), "0 of 16 devices held")

	script := run(t, nil, "completion", "bash").stdout
	cmd := exec.Command("bash", "-c", script+`COMP_WORDS=(neuron-dra-agent dev); COMP_CWORD=1; _neuron_dra_agent; echo "${COMPREPLY[@]}"`)
	if words, err := cmd.Output(); err != nil || strings.TrimSpace(string(words)) != "devices" {
		t.Errorf("completion of dev: %q, %v", words, err)
	}
}
