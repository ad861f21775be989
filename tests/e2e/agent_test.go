// SPDX-License-Identifier: Apache-2.0

// Package e2e shows the agent at work on a real one-node cluster: scheduler, API server, kubelet and containerd are
// Kubernetes' own, only the Neuron devices are simulated. tools/cluster/e2e.py brings the cluster up and runs it.
package e2e

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	path := os.Getenv("NEURON_DRA_CLUSTER")
	if path == "" {
		fmt.Fprintln(os.Stderr, "NEURON_DRA_CLUSTER names no cluster.json: run `make e2e`")
		os.Exit(2)
	}
	if err := loadCluster(path); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	flag.Parse()
	_ = flag.Set("test.parallel", "64") // TestFaults has a bound of its own
	code := m.Run()
	printReport(os.Stdout)
	if folder := os.Getenv("NEURON_DRA_LEFT_OUT"); folder != "" {
		path := filepath.Join(folder, fmt.Sprint(os.Getpid()))
		if err := os.WriteFile(path, []byte(strings.Join(leftOut(), "\n")), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

type step struct {
	name string
	test func(*testing.T)
}

// steps runs tests in order; after each the node has to be as empty as before it.
func steps(t *testing.T, list []step) {
	t.Helper()
	for _, one := range list {
		one := one
		t.Run(one.name, func(t *testing.T) {
			defer clean(t)
			one.test(t)
		})
	}
}

func TestTrn2(t *testing.T) {
	steps(t, []step{
		{"attributes", trn2Attributes},
		{"one device", oneDevice},
		{"four connected devices, four pods and a fifth", connectedFour},
		{"eight connected devices", connectedEight},
		{"sixteen connected devices", connectedSixteen},
		{"all devices", allDevices},
		{"all devices by count", func(t *testing.T) { checkBlock(t, runExample(t, "xl-trn2", 16)) }},
		{"four connected devices of a pod", func(t *testing.T) { checkBlock(t, runExample(t, "1x4-connected-devices", 4)) }},
		{"a device by CEL", func(t *testing.T) { runExample(t, "cel-filter", 1) }},
		{"eight connected devices of a driver version", driverOfRelease},
		{"seventeen devices stay pending", seventeen},
		{"LNC 1", lncOne},
		{"LNC 2", lncTwo},
		{"LNC 1 on all devices, in older versions", func(t *testing.T) {
			runExample(t, "lnc-setting-trn2", 16, "NEURON_LOGICAL_NC_CONFIG=1")
			clean(t)
			runExample(t, "lnc-neurons", 16, "NEURON_LOGICAL_NC_CONFIG=1")
		}},
		{"LNC 1 where possible", func(t *testing.T) { runExample(t, "lnc-guarded", 1, "NEURON_LOGICAL_NC_CONFIG=1") }},
		{"a device of 64 GiB", func(t *testing.T) { runExample(t, "device-memory", 1) }},
		{"a row of the torus", torusRow},
		{"sixteen, eight or four", prioritized},
		{"administrative access", adminAccess},
		{"prefill and decode", prefillDecode},
		{"size classes", sizeClasses},
		{"misspelt field", misspeltField},
		{"two containers, two requests", twoContainers},
		{"slice deleted by hand", sliceDeletedByHand},
		{"slice edited by hand", sliceEditedByHand},
		{"agent killed while three pods run", agentKilled},
		{"state lost while two pods run", stateLost},
		{"kubelet restarted", kubeletRestarted},
		{"updates and a downgrade while pods come", updates},
		{"API server restarted", apiServerRestarted},
	})
}

func TestTrn1(t *testing.T) {
	control(t, "board", "--board", "trn1.2xlarge", "--driver-version", "2.26.5.0")
	t.Cleanup(func() { control(t, "board", "--board", "trn2.48xlarge", "--driver-version", "2.26.5.0") })
	steps(t, []step{
		{"attributes", trn1Attributes},
		{"one device", func(t *testing.T) { runExample(t, "single-device", 1) }},
		{"the only device", func(t *testing.T) { runExample(t, "single-neuron-device", 1) }},
		{"driver version", driverVersion},
		{"memory that no device here has", func(t *testing.T) {
			apply(t, example(t, "device-memory"))
			waitPending(t, "device-memory")
		}},
		{"LNC is refused", lncOnTrn1},
	})
}

// cdiContents are the CDI files by name.
func cdiContents(t *testing.T) map[string]string {
	t.Helper()
	names, err := cdiFiles()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(kube.CDI, name))
		if err != nil {
			t.Fatal(err)
		}
		found[name] = string(data)
	}
	return found
}

func agentKilled(t *testing.T) {
	names := []string{"held-a", "held-b", "held-c"}
	for _, name := range names {
		apply(t, renamed(t, example(t, "single-device"), "single-device", name))
	}
	waitRunning(t, names...)
	before := cdiContents(t)
	if len(before) != len(names) {
		t.Fatalf("CDI directory holds %v, want a file per claim", before)
	}
	control(t, "agent", "kill")
	// Its unprepare has to wait for the next agent, which never prepared it.
	mustKubectl(t, "delete", "pod", "held-c", "--wait=false")
	control(t, "agent", "start")
	after := cdiContents(t)
	for _, name := range names[:2] {
		file := claimFile(t, name, before)
		if after[file] != before[file] {
			t.Errorf("%s was changed by the restart, from\n%s\nto\n%s", file, before[file], after[file])
		}
		checkContainer(t, name, "app", devicesOf(t, name, "neurons", 1))
	}
	clean(t)
}

// claimOf is the claim of a pod that has one.
func claimOf(t *testing.T, pod string) *claim {
	t.Helper()
	var found struct {
		Metadata meta `json:"metadata"`
	}
	if err := get(&found, "resourceclaim", getPod(t, pod).Status.ResourceClaimStatuses[0].Name); err != nil {
		t.Fatal(err)
	}
	return &claim{found.Metadata.Name, found.Metadata.UID}
}

// claimFile is the CDI file with the UID of the pod's claim in its name.
func claimFile(t *testing.T, pod string, files map[string]string) string {
	t.Helper()
	uid := claimOf(t, pod).uid
	for name := range files {
		if strings.Contains(name, uid) {
			return name
		}
	}
	t.Fatalf("no CDI file for claim %s of pod %s: %v", uid, pod, files)
	return ""
}

const kubeletRestarts = 5

// kubeletRestarted kills the kubelet again and again while pods run and others come.
func kubeletRestarted(t *testing.T) {
	names := []string{"kept"}
	apply(t, renamed(t, example(t, "single-device"), "single-device", "kept"))
	waitRunning(t, "kept")
	follow()
	files := map[string]string{}
	for i := range kubeletRestarts {
		old, begin := mustSlice(t), time.Now()
		for name, content := range cdiContents(t) {
			files[name] = content
		}
		control(t, "kubelet", "kill")
		fresh := fmt.Sprintf("fresh-%d", i)
		names = append(names, fresh)
		apply(t, renamed(t, example(t, "single-device"), "single-device", fresh))
		control(t, "kubelet", "start")
		// A kubelet that starts deletes the slices of its node: the driver has to put a new one in place.
		waitNewSlice(t, old)
		if i == 0 {
			backAtOnce(t, "kubelet restarted", "it deletes the slices of its node", begin)
		}
	}
	waitRunning(t, names...)
	now, holder := cdiContents(t), map[string]string{}
	if len(now) != len(names) {
		t.Errorf("there are CDI files of %d claims, want %d", len(now), len(names))
	}
	for name, content := range files {
		if now[name] != content {
			t.Errorf("%s was changed, from\n%s\nto\n%s", name, content, now[name])
		}
	}
	for _, name := range names {
		devices := devicesOf(t, name, "neurons", 1)
		if other := holder[devices[0]]; other != "" {
			t.Errorf("%s and %s both hold %s", name, other, devices[0])
		}
		holder[devices[0]] = name
		checkContainer(t, name, "app", devices)
	}
}

// awayAtMost is less than it takes whoever does not watch, on a machine where a kubelet starts meanwhile.
const awayAtMost = 20 * time.Second

// backAtOnce holds that the real node was without a slice for a moment only.
func backAtOnce(t *testing.T, name, what string, from time.Time) {
	t.Helper()
	var absent []time.Duration
	follow().wait(t, "news of the slice's return", soon, func() error {
		if absent = follow().absences(kube.Node, from); len(absent) == 0 {
			return errors.New("the slice was never away")
		}
		return nil
	})
	longest := slices.Max(absent)
	if longest > awayAtMost {
		t.Errorf("%s: the slice was away for %s", name, longest)
	}
	addRow(row{item: 1, name: name, what: what, recovery: longest, passed: !t.Failed()})
}

// apiServerRestarted kills the real one under pods that run.
func apiServerRestarted(t *testing.T) {
	apply(t, renamed(t, example(t, "single-device"), "single-device", "kept"))
	waitRunning(t, "kept")
	old := mustSlice(t)
	agent := agentProcess(t)
	control(t, "apiserver", "kill")
	time.Sleep(5 * time.Second)
	control(t, "apiserver", "start")
	begin := time.Now()
	mustKubectl(t, "delete", "resourceslice", old.Metadata.Name)
	waitNewSlice(t, old)
	addRow(row{item: 5, name: "API server killed", what: "the real one, for 5 s; then the slice is deleted",
		recovery: time.Since(begin), passed: !t.Failed()})
	if now := agentProcess(t); now != agent {
		t.Errorf("the agent was process %s and is %s", agent, now)
	}
	apply(t, renamed(t, example(t, "single-device"), "single-device", "fresh"))
	waitRunning(t, "kept", "fresh")
}

// agentProcess is the cluster runner's line about the agent of the real node.
func agentProcess(t *testing.T) string {
	t.Helper()
	script := filepath.Join(root, "tools", "cluster", "cluster.py")
	out, err := run("", "/usr/bin/python3", script, "status", "--name", kube.Name)
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`(?m)^agent .*$`).FindString(out)
}

// eventsSeen counts the events in the agent's log, of which each line is one.
func eventsSeen(t *testing.T) map[string]int {
	t.Helper()
	file, err := os.Open(kube.AgentLog)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	pair := `[A-Za-z_][A-Za-z0-9_.-]*=(?:"(?:[^"\\]|\\.)*"|[^ "=]+)`
	form := regexp.MustCompile(`^ts=[^ ]+ level=(?:error|warn|info|debug) event=(?:"[^"]+"|[^ "]+)(?: ` + pair + `)*$`)
	event := regexp.MustCompile(`event=("[^"]+"|[^ ]+)`)
	seen := map[string]int{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if !form.MatchString(lines.Text()) {
			t.Errorf("not one event in key=value form: %q", lines.Text())
			continue
		}
		seen[event.FindStringSubmatch(lines.Text())[1]]++
	}
	return seen
}

// TestZForm comes last on each cluster: what the agent said during all of the above has one form.
func TestZForm(t *testing.T) {
	if seen := eventsSeen(t); seen["started"] == 0 {
		t.Errorf("no event started in the agent's log; seen: %v", seen)
	}
}

// TestZLog comes last on the first cluster, where claims come and go in the agent's log.
func TestZLog(t *testing.T) {
	seen := eventsSeen(t)
	for _, name := range []string{"registered", "slice_published", "claim_prepared", "claim_unprepared", `"Opaque device configs"`} {
		if seen[name] == 0 {
			t.Errorf("no event %s in the agent's log; seen: %v", name, seen)
		}
	}
}
