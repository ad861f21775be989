// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const capturesDir = "../vectors/captures"

// capture runs tools/simnode/capture.py.
func capture(t *testing.T, words ...string) string {
	t.Helper()
	out, err := exec.Command("/usr/bin/python3", append([]string{"../../tools/simnode/capture.py"}, words...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("capture.py %v: %v\n%s", words, err, out)
	}
	return string(out)
}

// slicesOf is what the agent publishes on a simulated node, as a capture keeps it.
func slicesOf(t *testing.T, node string) string {
	t.Helper()
	out, err := exec.Command(agentBinary, "slices", "-o", "yaml", "--node-name", nodeName, "--sysfs-root", filepath.Join(node, "sys"),
		"--dev-root", filepath.Join(node, "dev"), "--efa", "--metrics-port=-1").Output()
	check(t, err)
	return regexp.MustCompile(`(draDriverVersion:\s+version: )"[^"]*"`).ReplaceAllString(string(out), "${1}AGENT_VERSION")
}

// On each node that somebody captured, the agent publishes what was looked at when the capture was kept.
func TestCaptures(t *testing.T) {
	t.Parallel()
	kept, err := os.ReadDir(capturesDir)
	check(t, err)
	if len(kept) == 0 {
		t.Fatal("no capture")
	}
	for _, one := range kept {
		t.Run(one.Name(), func(t *testing.T) {
			node, folder := t.TempDir(), filepath.Join(capturesDir, one.Name())
			capture(t, "make", folder, "--dir", node)
			if got, want := slicesOf(t, node), string(must(os.ReadFile(filepath.Join(folder, "slices.yaml")))); got != want {
				t.Errorf("slices %s\nwant %s\nif this is right: make capture BUNDLE=%s NAME=%s", got, want, folder, one.Name())
			}
		})
	}
}

// The bundle of a node, as an archive, makes that node again, and the command names the files that nobody knew.
func TestCaptureOfBundle(t *testing.T) {
	t.Parallel()
	for _, board := range []string{"trn2.48xlarge", "trn2u.48xlarge", "trn1.32xlarge", "inf2.24xlarge"} {
		a := newAgent(t, board)
		args := []string{"--sysfs-root", filepath.Join(a.node, "sys"), "--dev-root", filepath.Join(a.node, "dev")}
		unknown := filepath.Join(a.node, "sys/class/neuron_device/neuron0/stats/hardware/novel_counter")
		check(t, os.WriteFile(unknown, []byte("1\x1b[31m\n2\\\n"), 0o444))
		check(t, os.Remove(filepath.Join(a.node, "sys/class/neuron_device/neuron0/stats/power/utilization")))
		for i := range 16 { // of all devices, so that the module lacks it
			_ = os.Remove(filepath.Join(a.node, "sys/class/neuron_device", fmt.Sprintf("neuron%d", i), "stats/power/utilization"))
		}
		archive := filepath.Join(t.TempDir(), "node.tar")
		command := exec.Command(agentBinary, append([]string{"bundle", "-", "--node-name", nodeName}, args...)...)
		command.Stdout = must(os.Create(archive))
		_ = command.Run() // 1: no agent runs here
		again := t.TempDir()
		said := capture(t, "make", archive, "--dir", again)
		contains(t, said, "module 2.26.5.0, "+board+", ")
		contains(t, said, "does not know: stats/hardware/novel_counter\n")
		contains(t, said, "this module lacks: stats/power/utilization\n")
		if got, want := slicesOf(t, again), slicesOf(t, a.node); got != want || !strings.Contains(got, "neuron-") {
			t.Errorf("%s: slices %s\nwant %s", board, got, want)
		}
		if got := must(os.ReadFile(filepath.Join(again, "sys/class/neuron_device/neuron0/stats/hardware/novel_counter"))); string(got) != "1\x1b[31m\n2\\\n" {
			t.Errorf("%s: an unknown file has %q", board, got)
		}
		serial := filepath.Join("sys/class/neuron_device/neuron0/info/serial_number")
		text := must(os.ReadFile(filepath.Join(a.node, serial)))
		if bytes := must(os.ReadFile(archive)); strings.Contains(string(bytes), strings.TrimSpace(string(text))) || len(text) < 16 {
			t.Errorf("%s: the bundle has the serial number %q", board, text)
		}
		if _, err := os.Stat(filepath.Join(again, serial)); !os.IsNotExist(err) {
			t.Errorf("%s: the simulated node has a serial number: %v", board, err)
		}
	}
}
