// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"reflect"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"testing"
)

const deviceMajor = "243" // of the simulated node's character devices

// view is what a container sees of Neuron and EFA.
type view struct {
	nodes []string // "neuron3 243:3" and "infiniband/uverbs3 231:195", by name
	env   []string // NEURON_… lines, by name
}

// look reads a container's /dev and environment from inside.
func look(t *testing.T, pod, container string) view {
	t.Helper()
	out := mustKubectl(t, "exec", pod, "-c", container, "--", "sh", "-c",
		`cd /dev && for f in neuron* infiniband/*; do [ -e "$f" ] && echo "dev $f $((0x$(stat -c %t $f))):$((0x$(stat -c %T $f)))"; done; `+
			`tr '\0' '\n' </proc/1/environ | grep ^NEURON_ | sed 's/^/env /'; true`)
	var found view
	for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
		if rest, is := strings.CutPrefix(line, "dev "); is {
			found.nodes = append(found.nodes, rest)
		}
		if rest, is := strings.CutPrefix(line, "env "); is {
			found.env = append(found.env, rest)
		}
	}
	sort.Strings(found.nodes)
	sort.Strings(found.env)
	return found
}

// nodesOf are the device nodes that a container has to see for these allocated devices.
func nodesOf(t *testing.T, devices []string) []string {
	t.Helper()
	var want []string
	for _, device := range devices {
		id, found := strings.CutPrefix(device, "neuron-device-")
		if !found {
			t.Fatalf("allocated device %q has no number", device)
		}
		want = append(want, fmt.Sprintf("neuron%s %s:%s", id, deviceMajor, id))
	}
	sort.Strings(want)
	return want
}

// checkContainer compares what a container sees with what its request was given, and the environment with env.
func checkContainer(t *testing.T, pod, container string, devices []string, env ...string) {
	t.Helper()
	found := look(t, pod, container)
	if want := nodesOf(t, devices); !reflect.DeepEqual(found.nodes, want) {
		t.Errorf("pod %s container %s sees %v, want %v", pod, container, found.nodes, want)
	}
	if !reflect.DeepEqual(found.env, env) {
		t.Errorf("pod %s container %s has environment %v, want %v", pod, container, found.env, env)
	}
}

// checkRights opens an own and a foreign device from inside: the kernel has to permit the first (it then finds no
// module behind the number) and to refuse the second.
func checkRights(t *testing.T, pod, container, own, foreign string) {
	t.Helper()
	denied := "not permitted"
	try := func(device string) string {
		major, minor := deviceMajor, strings.TrimPrefix(device, "neuron")
		if number, is := strings.CutPrefix(device, "uverbs"); is {
			major, minor = uverbsMajor, fmt.Sprint(uverbsMinor+must(strconv.Atoi(number)))
		}
		out, _ := kubectl("exec", pod, "-c", container, "--", "sh", "-c",
			fmt.Sprintf("mknod /tmp/%[1]s c %[2]s %[3]s; dd if=/tmp/%[1]s of=/dev/null count=0 2>&1; rm -f /tmp/%[1]s", device, major, minor))
		return out
	}
	if out := try(own); strings.Contains(out, denied) {
		t.Errorf("pod %s container %s may not open its own %s: %s", pod, container, own, out)
	}
	if out := try(foreign); !strings.Contains(out, denied) {
		t.Errorf("pod %s container %s is not kept from %s: %s", pod, container, foreign, out)
	}
}

// devicesOf are the devices of a pod with one request, after a check of their number.
func devicesOf(t *testing.T, name, request string, count int) []string {
	t.Helper()
	all, err := allocated(getPod(t, name))
	if err != nil {
		t.Fatal(err)
	}
	if len(all[request]) != count {
		t.Fatalf("pod %s: request %s was given %v, want %d devices", name, request, all[request], count)
	}
	return all[request]
}

// numbers are the device numbers, ascending.
func numbers(t *testing.T, devices []string) []int {
	t.Helper()
	var found []int
	for _, device := range devices {
		id, err := strconv.Atoi(strings.TrimPrefix(device, "neuron-device-"))
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, id)
	}
	sort.Ints(found)
	return found
}

// checkBlock expects the devices to be one aligned block.
func checkBlock(t *testing.T, devices []string) {
	t.Helper()
	ids := numbers(t, devices)
	for i, id := range ids {
		if id != ids[0]+i || ids[0]%len(ids) != 0 {
			t.Fatalf("devices %v are no aligned block of %d", ids, len(ids))
		}
	}
}

// runExample runs an example's pod with one request called neurons and checks what it sees.
func runExample(t *testing.T, name string, count int, env ...string) []string {
	t.Helper()
	return runManifest(t, example(t, name), count, env...)
}

// runManifest does the same with an example that a test has changed.
func runManifest(t *testing.T, manifest string, count int, env ...string) []string {
	t.Helper()
	found := regexp.MustCompile(`kind: Pod\nmetadata:\n  name: (\S+)\n`).FindStringSubmatch(manifest)
	if found == nil {
		t.Fatalf("no pod in\n%s", manifest)
	}
	name := found[1]
	apply(t, manifest)
	waitRunning(t, name)
	devices := devicesOf(t, name, "neurons", count)
	checkContainer(t, name, "app", devices, env...)
	return devices
}

func oneDevice(t *testing.T) {
	devices := runExample(t, "single-device", 1)
	own := numbers(t, devices)[0]
	checkRights(t, "single-device", "app", fmt.Sprintf("neuron%d", own), fmt.Sprintf("neuron%d", (own+1)%16))
}

func connectedFour(t *testing.T) {
	manifest := example(t, "connected-4")
	names := []string{"four-a", "four-b", "four-c", "four-d"}
	for _, name := range names {
		apply(t, renamed(t, manifest, "connected-4-test", name))
	}
	waitRunning(t, names...)
	holder := map[string]string{}
	for _, name := range names {
		devices := devicesOf(t, name, "neurons", 4)
		checkBlock(t, devices)
		checkContainer(t, name, "app", devices)
		for _, device := range devices {
			if other := holder[device]; other != "" {
				t.Errorf("%s was given to %s and to %s", device, other, name)
			}
			holder[device] = name
		}
	}
	if len(holder) != 16 {
		t.Errorf("four pods hold %d devices, want 16", len(holder))
	}
	apply(t, renamed(t, manifest, "connected-4-test", "four-e"))
	waitPending(t, "four-e")
	// It waited for devices and nothing else: it runs once a group is free.
	mustKubectl(t, "delete", "pod", "four-b")
	waitRunning(t, "four-e")
	checkContainer(t, "four-e", "app", devicesOf(t, "four-e", "neurons", 4))
}

func connectedEight(t *testing.T)   { checkBlock(t, runExample(t, "l-trn2", 8)) }
func connectedSixteen(t *testing.T) { checkBlock(t, runExample(t, "connected-16", 16)) }
func allDevices(t *testing.T)       { checkBlock(t, runExample(t, "all-neurons", 16)) }

func seventeen(t *testing.T) {
	apply(t, changed(t, example(t, "connected-16"), "count: 16", "count: 17"))
	waitPending(t, "connected-16")
}

func driverVersion(t *testing.T) {
	runExample(t, "neuron-with-driver-version", 1)
	clean(t)
	apply(t, changed(t, example(t, "neuron-with-driver-version"), "2.26.5.0", "9.99.99.0"))
	waitPending(t, "neuron-with-driver-version")
}

func lncOne(t *testing.T) { runExample(t, "lnc-config", 1, "NEURON_LOGICAL_NC_CONFIG=1") }
func lncTwo(t *testing.T) { runExample(t, "lnc-2", 1, "NEURON_LOGICAL_NC_CONFIG=2") }

func twoContainers(t *testing.T) {
	apply(t, example(t, "two-containers"))
	waitRunning(t, "two-containers")
	first := devicesOf(t, "two-containers", "first", 1)
	second := devicesOf(t, "two-containers", "second", 2)
	checkContainer(t, "two-containers", "one", first)
	checkContainer(t, "two-containers", "two", second)
	own, foreign := nodesOf(t, first)[0], nodesOf(t, second)[0]
	own, _, _ = strings.Cut(own, " ")
	foreign, _, _ = strings.Cut(foreign, " ")
	checkRights(t, "two-containers", "one", own, foreign)
	checkRights(t, "two-containers", "two", foreign, own)
}

// refused expects an example, changed or not, to stay unstarted with an event of the kubelet that says why.
func refused(t *testing.T, name, manifest, why string) {
	t.Helper()
	apply(t, manifest)
	waitEvent(t, name, "FailedPrepareDynamicResources", why)
	if p := getPod(t, name); p.Status.Phase != "Pending" {
		t.Errorf("pod %s is %s, not Pending", name, p.Status.Phase)
	}
	if files, err := cdiFiles(); err != nil || len(files) != 0 {
		t.Errorf("a refused claim left %v in the CDI directory (%v)", files, err)
	}
}

func misspeltField(t *testing.T) {
	manifest := changed(t, example(t, "lnc-config"), "logicalNeuronCore:", "logicalNeuronCoreCount:")
	refused(t, "lnc-test", manifest, `strict decoding error: unknown field "logicalNeuronCoreCount"`)
}

func lncOnTrn1(t *testing.T) {
	refused(t, "neuron-lnc-1", example(t, "neuron-lnc-1"), "LNC value is not configurable for instance type trn1.2xlarge")
}
