// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
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

// bundled is the bundle of the simulated node of an agent, as an archive.
func (a *agent) bundled() string {
	a.t.Helper()
	archive := filepath.Join(a.t.TempDir(), "node.tar")
	command := exec.Command(agentBinary, "bundle", "-", "--node-name", nodeName, "--sysfs-root", filepath.Join(a.node, "sys"),
		"--dev-root", filepath.Join(a.node, "dev"))
	command.Stdout = must(os.Create(archive))
	if err := command.Run(); err != nil && command.ProcessState.ExitCode() != 1 { // 1: no agent runs here
		a.t.Fatal(err)
	}
	return archive
}

// The bundle of a node, as an archive, makes that node again, and the command names the files that nobody knew.
func TestCaptureOfBundle(t *testing.T) {
	t.Parallel()
	for _, board := range []string{"trn2.48xlarge", "trn2u.48xlarge", "trn1.32xlarge", "inf2.24xlarge"} {
		a := newAgent(t, board)
		device := filepath.Join(a.node, "sys/class/neuron_device/neuron0")
		const odd = "1\x1b[31m\n2\\x41 -> \xff"
		check(t, os.WriteFile(filepath.Join(device, "stats/hardware/novel_counter"), []byte(odd), 0o444))
		all, err := filepath.Glob(filepath.Join(a.node, "sys/class/neuron_device/neuron*/stats/power/utilization"))
		check(t, err)
		for _, path := range all {
			check(t, os.Remove(path))
		}
		archive, again := a.bundled(), t.TempDir()
		said := capture(t, "make", archive, "--dir", again)
		contains(t, said, "module 2.26.5.0, "+board+", ")
		contains(t, said, "simulated node lacks: stats/hardware/novel_counter\n")
		contains(t, said, "this module lacks: stats/power/utilization\n")
		contains(t, said, "the bundle lacks: info/serial_number\n")
		if got, want := slicesOf(t, again), slicesOf(t, a.node); got != want || !strings.Contains(got, "neuron-") {
			t.Errorf("%s: slices %s\nwant %s", board, got, want)
		}
		if got := must(os.ReadFile(filepath.Join(again, "sys/class/neuron_device/neuron0/stats/hardware/novel_counter"))); string(got) != odd {
			t.Errorf("%s: an unknown file has %q", board, got)
		}
		text := string(must(os.ReadFile(archive)))
		serials, err := filepath.Glob(filepath.Join(a.node, "sys/class/neuron_device/neuron*/info/serial_number"))
		check(t, err)
		for _, path := range serials {
			if serial := strings.TrimSpace(string(must(os.ReadFile(path)))); len(serial) != 16 || strings.Contains(text, serial) {
				t.Errorf("%s: the bundle has the serial number %q", board, serial)
			}
		}
		if len(serials) == 0 || len(all) != len(serials) {
			t.Errorf("%s: %d serial numbers", board, len(serials))
		}
	}
}

// A bundle comes from a stranger: it is refused in one line, and writes nothing outside its folder.
func TestCaptureOfStranger(t *testing.T) {
	t.Parallel()
	const head = "f module/neuron/version 2.30.2.0\\x0a\n"
	const device = "l class/neuron_device/neuron0 ../../devices/virtual/neuron_device/neuron0\n"
	up := strings.Repeat("../", 20)
	for name, text := range map[string]string{
		"no module":          device,
		"a path upwards":     head + "f ../../x 1\n",
		"an escaped path":    head + "f class/neuron_device/\\x2e\\x2e/\\x2e\\x2e/x 1\n",
		"a path of the root": head + "f /etc/x 1\n",
		"an escaped root":    head + "f \\x2fetc/x 1\n",
		"a link upwards":     head + "l class/neuron_device/neuron0 " + up + "tmp\n",
		"a link of the root": head + "l class/neuron_device/neuron0 /tmp\n",
		"a link to a link":   head + "l class/neuron_device/neuron0 ../../class/infiniband\n",
		"a link round":       head + "l class/neuron_device/neuron0 ../../devices/../../../../tmp\n",
		"no kind":            head + "class/neuron_device/x 1\n",
		"a raw byte":         head + "f class/neuron_device/\x1b[31m 1\n",
		"a NUL":              head + "f class/neuron_device/a\\x00b 1\n",
		"a long path":        head + "f class/neuron_device/" + strings.Repeat("a", 2000) + " 1\n",
		"a deep path":        head + "f class/neuron_device" + strings.Repeat("/a", 50) + " 1\n",
		"a file as folder":   head + device + "f class/neuron_device/neuron0/a 1\nf class/neuron_device/neuron0/a/b 1\n",
		"a long name":        head + device + "f class/neuron_device/neuron0/" + strings.Repeat("a", 300) + " 1\n",
		"no archive":         strings.Repeat("\x1f\x8b\x08\x00", 512),
	} {
		dir := t.TempDir()
		bundle := filepath.Join(dir, "sysfs.txt")
		check(t, os.WriteFile(bundle, []byte(text), 0o600))
		out, err := exec.Command("/usr/bin/python3", "../../tools/simnode/capture.py", "make", bundle, "--dir", filepath.Join(dir, "node")).CombinedOutput()
		if err == nil || strings.Count(string(out), "\n") != 1 || !strings.HasPrefix(string(out), "capture.py: ") || strings.Contains(string(out), "\x1b") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}

	a := newAgent(t, "trn2.3xlarge")
	whole := must(os.ReadFile(a.bundled()))
	cut, node := filepath.Join(t.TempDir(), "cut.tar"), t.TempDir()
	check(t, os.WriteFile(cut, whole[:len(whole)-20000], 0o600))
	if out, err := exec.Command("/usr/bin/python3", "../../tools/simnode/capture.py", "make", cut, "--dir", node).CombinedOutput(); err == nil || strings.Count(string(out), "\n") != 1 {
		t.Errorf("an archive that ends early: %v\n%s", err, out)
	}

	// Files of no device, links of no folder, and numbers of device nodes are not taken over.
	text := head + device + "f class/neuron_device/neuron0/dev 1:1\n" + "f etc/passwd x\n" + "l class/neuron_device/neuron0/d ../../../../..\n" +
		"f class/neuron_device/neuron0/d/x 1\n" + "l d/n ..\n" + "f d/n/x 1\n" + "l class/neuron_device/mem ../../devices/mem\n" +
		"f class/neuron_device/mem/dev 1:1\n! class/neuron_device/neuron0/\\x1b]0;x no\\x1b[31m\n"
	bundle := filepath.Join(t.TempDir(), "sysfs.txt")
	check(t, os.WriteFile(bundle, []byte(text), 0o600))
	if said := capture(t, "make", bundle, "--dir", node); strings.Contains(said, "\x1b") {
		t.Errorf("a terminal gets %q", said)
	}
	var found []string
	check(t, filepath.WalkDir(node, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			found = append(found, strings.TrimPrefix(path, node+"/"))
		}
		return err
	}))
	want := []string{".simnode.json", "dev/neuron0", "proc/sys/kernel/random/boot_id", "sys/class/neuron_device/mem", "sys/class/neuron_device/neuron0",
		"sys/devices/mem/dev", "sys/devices/virtual/neuron_device/neuron0/d/x", "sys/devices/virtual/neuron_device/neuron0/dev", "sys/module/neuron/version"}
	if !slices.Equal(found, want) {
		t.Errorf("files %q\nwant %q", found, want)
	}
	if info := must(os.Stat(filepath.Join(node, "dev/neuron0"))); info.Mode()&os.ModeCharDevice != 0 && info.Sys().(*syscall.Stat_t).Rdev == 1<<8|1 {
		t.Error("dev/neuron0 is the memory of the machine")
	}
}
