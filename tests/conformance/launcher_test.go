// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	resource "k8s.io/api/resource/v1"
	"sigs.k8s.io/yaml"
)

// launcher is the script of the example, and shells with the tools of two makes: busybox's alone, and this machine's.
type launcher struct {
	t      *testing.T
	script string
	paths  []string
}

func newLauncher(t *testing.T) *launcher {
	t.Helper()
	l := &launcher{t: t, script: filepath.Join(t.TempDir(), "neuron-launch"), paths: []string{os.Getenv("PATH")}}
	text := must(os.ReadFile("../../cfg/deploy/examples/distributed-launch.yaml"))
	var config struct{ Data map[string]string }
	check(t, yaml.Unmarshal([]byte(regexp.MustCompile(`(?m)^---$`).Split(string(text), 2)[0]), &config))
	check(t, os.WriteFile(l.script, []byte(config.Data["neuron-launch"]), 0o755))
	box, err := exec.LookPath("busybox")
	if err != nil {
		t.Fatal("no busybox (Debian: busybox-static): run `make deps`")
	}
	bin := t.TempDir()
	for _, applet := range []string{"sh", "awk", "env"} {
		check(t, os.Symlink(box, filepath.Join(bin, applet)))
	}
	l.paths = append(l.paths, bin)
	return l
}

// run starts the script with the files of a folder; what its program has in its environment, or the one line that it fails with.
func (l *launcher) run(folder string, env map[string]string, program ...string) (map[string]string, string) {
	l.t.Helper()
	var found map[string]string
	var line string
	for i, path := range l.paths {
		cmd := exec.Command("sh", append([]string{l.script}, program...)...)
		cmd.Path = filepath.Join(path, "sh")
		if i == 0 {
			cmd.Path = "/bin/sh"
		}
		cmd.Env = []string{"PATH=" + path, "LAUNCH_METADATA=" + folder}
		for key, value := range env {
			cmd.Env = append(cmd.Env, key+"="+value)
		}
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		said := strings.TrimSuffix(stderr.String(), "\n")
		if !strings.HasPrefix(said, "neuron-launch: ") || strings.Contains(said, "\n") {
			l.t.Errorf("it says %q (%v)", said, err)
		}
		now := map[string]string{}
		for _, one := range strings.Split(string(out), "\n") {
			if name, value, is := strings.Cut(one, "="); is && regexp.MustCompile(`^(CLAIM|FI|MASTER|NEURON)_`).MatchString(name) {
				now[name] = value
			}
		}
		if i > 0 && (!maps.Equal(found, now) || line != said) {
			l.t.Errorf("busybox makes of it %v %q, another shell %v %q", now, said, found, line)
		}
		if found, line = now, said; err != nil {
			found = nil
		}
	}
	return found, line
}

// gives holds what the program has in its environment.
func (l *launcher) gives(folder string, env, want map[string]string) {
	l.t.Helper()
	if found, line := l.run(folder, env, "env"); !maps.Equal(found, want) {
		l.t.Errorf("with %v: %s\n%v, want\n%v", env, line, found, want)
	}
}

// mounted is a folder as a container of the claim sees it.
func (a *agent) mounted(ids ...string) string {
	a.t.Helper()
	folder := a.t.TempDir()
	for inside, outside := range a.mounts(ids...) {
		path := filepath.Join(folder, strings.TrimPrefix(inside, metadataDir))
		check(a.t, os.MkdirAll(filepath.Dir(path), 0o755))
		check(a.t, os.WriteFile(path, must(os.ReadFile(outside)), 0o644))
	}
	return folder
}

// described is an agent with both drivers, and the folder that a container of this claim sees.
func described(t *testing.T, board string, c *resource.ResourceClaim, flags ...string) string {
	t.Helper()
	api := startAPIServer(t)
	a := newAgent(t, board)
	a.args = append(append(a.args, "--kubeconfig", api.kubeconfig(a.dir), "--device-metadata", "true"), flags...)
	a.start()
	k := a.register()
	claim := api.addClaim(c)
	ids := idsOf(k.prepareOK(named(claim)), "neurons")
	if slices.Contains(flags, "--efa") {
		ids = append(ids, idsOf(a.registerEFA().prepareOK(named(claim)), "efas")...)
	}
	return a.mounted(ids...)
}

// The example's launcher makes of the files alone what a distributed run needs.
func TestLauncher(t *testing.T) {
	t.Parallel()
	l := newLauncher(t)
	aligned := withEFA(newClaim("aligned", "neurons=4", "neurons=5", "neurons=6", "neurons=7"),
		"efas=pci-0000-6c-00-0", "efas=pci-0000-57-00-0", "efas=pci-0000-56-00-0", "efas=pci-0000-6d-00-0")
	aligned.Annotations = map[string]string{"resource.kubernetes.io/pod-claim-name": "devices"}
	trn2 := described(t, "trn2.48xlarge", aligned, "--efa", "true")
	want := map[string]string{
		"CLAIM_DEVICES": "4 5 6 7", "CLAIM_GRID": "4=1,0 5=1,1 6=1,2 7=1,3", "CLAIM_CORES": "16",
		"CLAIM_EFAS":         "0000:6c:00.0 0000:57:00.0 0000:56:00.0 0000:6d:00.0",
		"CLAIM_NEAREST_EFAS": "4=0000:6c:00.0 5=0000:57:00.0 6=0000:56:00.0 7=0000:6d:00.0",
		"CLAIM_GROUP":        "devicegroup4_id=671622785349fddf",
		"FI_PROVIDER":        "efa", "FI_EFA_USE_DEVICE_RDMA": "1", "NEURON_RT_NUM_CORES": "16"}
	l.gives(trn2, nil, want)
	workers := map[string]string{"LAUNCH_WORKERS": "3", "LAUNCH_LEADER": "job-0.job", "JOB_COMPLETION_INDEX": "2"}
	distributed := maps.Clone(want)
	maps.Copy(distributed, map[string]string{"MASTER_ADDR": "job-0.job", "MASTER_PORT": "61000", "NEURON_RT_ROOT_COMM_ID": "job-0.job:61001",
		"NEURON_PJRT_PROCESSES_NUM_DEVICES": "16,16,16", "NEURON_PJRT_PROCESS_INDEX": "2"})
	l.gives(trn2, workers, distributed)
	single := maps.Clone(want)
	maps.Copy(single, map[string]string{"CLAIM_CORES": "32", "NEURON_RT_NUM_CORES": "32", "NEURON_LOGICAL_NC_CONFIG": "1"})
	l.gives(trn2, map[string]string{"NEURON_LOGICAL_NC_CONFIG": "1"}, single)
	shared := maps.Clone(want)
	delete(shared, "NEURON_RT_NUM_CORES")
	maps.Copy(shared, map[string]string{"CLAIM_CORES": "3", "NEURON_RT_VISIBLE_CORES": "0-1,3"})
	l.gives(trn2, map[string]string{"NEURON_RT_VISIBLE_CORES": "0-1,3"}, shared)

	halves := withEFA(newClaim("halves", "neurons=0", "neurons=1"), "efas=pci-0000-10-1a-0")
	l.gives(described(t, "trn1.32xlarge", halves, "--efa", "true"), nil, map[string]string{
		"CLAIM_DEVICES": "0 1", "CLAIM_GRID": "0=0,0 1=0,1", "CLAIM_CORES": "4", "CLAIM_EFAS": "0000:10:1a.0",
		"CLAIM_NEAREST_EFAS": "0=0000:10:1a.0 1=0000:10:1a.0", "CLAIM_GROUP": "devicegroup1_id=0000:10:1a.0",
		"FI_PROVIDER": "efa", "FI_EFA_USE_DEVICE_RDMA": "1", "NEURON_RT_NUM_CORES": "4"})
	l.gives(described(t, "inf2.48xlarge", newClaim("plain", "neurons=3", "neurons=4")), nil, map[string]string{
		"CLAIM_DEVICES": "3 4", "CLAIM_GRID": "", "CLAIM_CORES": "4", "CLAIM_EFAS": "", "CLAIM_NEAREST_EFAS": "", "CLAIM_GROUP": "",
		"NEURON_RT_NUM_CORES": "4"})
	l.gives(described(t, "trn2u.48xlarge", newClaim("whole", "neurons=node"), "--ultraserver-devices", "node"), nil, map[string]string{
		"CLAIM_DEVICES": "", "CLAIM_GRID": "", "CLAIM_CORES": "64", "CLAIM_EFAS": "", "CLAIM_NEAREST_EFAS": "",
		"CLAIM_GROUP": "devicegroup16_id=821d14afaf11327d", "NEURON_RT_NUM_CORES": "64"})
	if _, line := l.run(trn2, workers, "true"); line != "neuron-launch: worker 2 of 3: 4 Neuron devices with 16 logical cores, "+
		"EFA devices: 0000:6c:00.0 0000:57:00.0 0000:56:00.0 0000:6d:00.0, devicegroup4_id=671622785349fddf" {
		t.Errorf("it says %q", line)
	}
	l.refusals(trn2, workers)
}

// refusals: each fails with a line that names the thing and the remedy, and starts nothing.
func (l *launcher) refusals(folder string, workers map[string]string) {
	t := l.t
	path := filepath.Join(folder, "resourceclaimtemplates", "devices", "neurons", "neuron.aws.com-metadata.json")
	text := string(must(os.ReadFile(path)))
	first, second, _ := strings.Cut(text, "\n}\n")
	other := strings.NewReplacer("/v1beta1", "/v7", "/v1alpha1", "/v8")
	with := func(key, value string) map[string]string {
		changed := maps.Clone(workers)
		changed[key] = value
		return changed
	}
	for _, one := range []struct {
		text, why string
		env       map[string]string
	}{
		{text, "the rank is '3', and has to be 0 to 2: set LAUNCH_RANK", with("LAUNCH_RANK", "3")},
		{text, "the rank is '', and has to be 0 to 2", with("JOB_COMPLETION_INDEX", "")},
		{text, "LAUNCH_LEADER is not set", with("LAUNCH_LEADER", "")},
		{text, "LAUNCH_WORKERS is no number of pods: two", with("LAUNCH_WORKERS", "two")},
		{text, "LAUNCH_WORKERS is no number of pods: 0", with("LAUNCH_WORKERS", "0")},
		{first, path + ": no whole document of version v1beta1 or v1alpha1", nil},
		{"", path + ": no whole document of version v1beta1 or v1alpha1", nil},
		{other.Replace(text), path + ": no whole document of version v1beta1 or v1alpha1", nil},
		{strings.ReplaceAll(text, `"coreCount"`, `"count"`), "neuron-device-4 has no coreCount", nil},
	} {
		check(t, os.WriteFile(path, []byte(one.text), 0o644))
		if found, line := l.run(folder, one.env, "env"); found != nil || !strings.Contains(line, one.why) {
			t.Errorf("with %v it says %q and gives %v, want %q", one.env, line, found, one.why)
		}
	}
	// A version that nobody knows yet, before one that is known.
	check(t, os.WriteFile(path, []byte(other.Replace(first)+"\n}\n"+second), 0o644))
	if found, line := l.run(folder, nil, "env"); found["CLAIM_CORES"] != "16" {
		t.Errorf("of the second document it says %q and gives %v", line, found)
	}
	check(t, os.Remove(path))
	if _, line := l.run(folder, nil, "env"); line != "neuron-launch: no */*/*/neuron.aws.com-metadata.json in "+folder+
		": set draDriver.deviceMetadata=true, and name the claim in the container's resources.claims" {
		t.Errorf("without the file it says %q", line)
	}
	if _, line := l.run(folder, nil); line != "neuron-launch: name the program to start" {
		t.Errorf("without a program it says %q", line)
	}
}
