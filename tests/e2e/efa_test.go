// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
)

const (
	efaDriver   = "dra.net"
	efaFlag     = "--flag=--efa=true"
	uverbsMajor = "231" // of the simulated node's RDMA devices, as in the kernel
	uverbsMinor = 192   // of uverbs0
	efaTrn1     = "trn1.32xlarge"
	efaTrn2     = "trn2.48xlarge"
)

// efaFacts is what the public map and the simulated machine have of one EFA device.
type efaFacts struct {
	neurons    []int // the nearest Neuron devices
	uverbs     int
	attributes map[string]attribute
}

// efasOf are the EFA devices of a board by name, from its golden file.
func efasOf(t *testing.T, board string) map[string]*efaFacts {
	t.Helper()
	found := map[string]*efaFacts{}
	golden := string(must(os.ReadFile(filepath.Join(root, "tests", "vectors", "efa", board+".txt"))))
	line := regexp.MustCompile(`(?m)^([0-9a-f:.]+) (\S+) (.+)$`)
	for _, one := range line.FindAllStringSubmatch(golden, -1) {
		name := "pci-" + strings.NewReplacer(":", "-", ".", "-").Replace(one[1])
		if found[name] == nil {
			found[name] = &efaFacts{attributes: map[string]attribute{}}
		}
		switch facts, value := found[name], one[3]; one[2] {
		case "neurons":
			for _, id := range strings.Split(value, ",") {
				facts.neurons = append(facts.neurons, must(strconv.Atoi(id)))
			}
		case "uverbs":
			facts.uverbs = must(strconv.Atoi(value))
		default:
			facts.attributes[one[2]] = attributeOf(value)
		}
	}
	if len(found) == 0 {
		t.Fatalf("no EFA devices of %s", board)
	}
	return found
}

// attributeOf reads "int 0".
func attributeOf(text string) attribute {
	kind, value, _ := strings.Cut(text, " ")
	switch kind {
	case "int":
		return attribute{kind: must(strconv.Atoi(value))}
	case "bool":
		return attribute{kind: value == "true"}
	}
	return attribute{kind: value}
}

// alignedPod is the example with another number of each, and other names: alignedPod(t, 8) is the pod aligned-8.
func alignedPod(t *testing.T, count int) (manifest, pod string) {
	t.Helper()
	manifest, pod = example(t, "aligned-efa-neuron"), fmt.Sprintf("aligned-%d", count)
	for old, new := range map[string]string{"4-neurons": "%d-neurons", "4-efas": "%d-efas", "count: 4\n": "count: %d\n",
		"resource.aws.com/devicegroup4_id": "resource.aws.com/devicegroup%d_id", "name: aligned-efa-neuron\n": "name: aligned-%d\n",
		"TemplateName: aligned-efa-neuron\n": "TemplateName: aligned-%d\n", "name: neuron-inference-worker\n": "name: aligned-%d\n"} {
		manifest = changed(t, manifest, old, fmt.Sprintf(new, count))
	}
	return manifest, pod
}

// near holds that these are the EFA devices nearest to these Neuron devices, and no others.
func near(t *testing.T, board string, neurons, efas []string) {
	t.Helper()
	facts, ids := efasOf(t, board), []int{}
	for _, one := range efas {
		if facts[one] == nil {
			t.Fatalf("%s has no EFA device %s", board, one)
		}
		ids = append(ids, facts[one].neurons...)
	}
	sort.Ints(ids)
	if !slices.Equal(ids, numbers(t, neurons)) {
		t.Errorf("%v are nearest to the Neuron devices %v, not to %v", efas, ids, neurons)
	}
}

// sees holds that a container has the nodes of these devices alone.
func sees(t *testing.T, board, pod, container string, neurons, efas []string) {
	t.Helper()
	facts, want := efasOf(t, board), nodesOf(t, neurons)
	for _, one := range efas {
		number := facts[one].uverbs
		want = append(want, fmt.Sprintf("infiniband/uverbs%d %s:%d", number, uverbsMajor, uverbsMinor+number))
	}
	sort.Strings(want)
	if found := look(t, pod, container); !reflect.DeepEqual(found.nodes, want) {
		t.Errorf("pod %s container %s sees %v, want %v", pod, container, found.nodes, want)
	}
}

// checkAligned looks at a running pod of alignedPod, or of an example like it.
func checkAligned(t *testing.T, board, pod string, neurons, efas int) {
	t.Helper()
	given := devicesOf(t, pod, fmt.Sprintf("%d-neurons", neurons), neurons)
	fabric := devicesOf(t, pod, fmt.Sprintf("%d-efas", efas), efas)
	checkBlock(t, given)
	near(t, board, given, fabric)
	sees(t, board, pod, "worker", given, fabric)
}

// efaPublished waits until the slice of the EFA driver is stored.
func efaPublished(t *testing.T, count int) {
	t.Helper()
	follow().wait(t, "slice of the EFA driver", soon, func() error {
		found := follow().of(kube.Node, efaDriver)
		if len(found) != 1 || len(found[0].Spec.Devices) != count {
			return fmt.Errorf("it is %+v, want %d devices", found, count)
		}
		return nil
	})
}

// efaClasses installs the chart's DeviceClasses for EFA.
func efaClasses(t *testing.T) {
	t.Helper()
	out, err := helm("template", release, filepath.Join(root, "cfg", "deploy", "chart"), "--kube-version", fmt.Sprintf("1.%d.0", kubeletMinor(t)),
		"--set", "draDriver.efa.enabled=true", "--show-only", "templates/deviceclass.yaml")
	if err != nil {
		t.Fatal(err)
	}
	apply(t, out)
	t.Cleanup(func() {
		mustKubectl(t, "delete", "deviceclass", "efa.networking.k8s.aws", "extended-resource.efa.networking.k8s.aws",
			"extended-resource.neuron.aws.com", "--ignore-not-found")
	})
}

// TestEFA has the agent serve two drivers, on a type with an EFA device for each Neuron device and on one without.
func TestEFA(t *testing.T) {
	efaClasses(t)
	control(t, "agent", "stop")
	t.Cleanup(func() { control(t, "board", "--board", efaTrn2, "--driver-version", "2.26.5.0") })
	control(t, "agent", "start", efaFlag)
	efaPublished(t, 16)
	steps(t, []step{
		{"one, four and eight of each, agent and kubelet killed", alignedKilled},
		{"the training example", alignedTraining},
		{"sixteen of each, by claim and by extended resource", alignedWhole},
	})
	control(t, "board", "--board", efaTrn1, "--driver-version", "2.26.5.0", efaFlag)
	efaPublished(t, 8)
	steps(t, []step{{"two Neuron devices for one EFA device", alignedTrn1}})
}

func sortedKeys[V any](of map[string]V) []string {
	var keys []string
	for key := range of {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}

// alignedKilled: what two pods hold stays theirs, what a third one gives back meanwhile is given back. alignedWhole takes all.
func alignedKilled(t *testing.T) {
	const four = "neuron-inference-worker"
	one, single := alignedPod(t, 1)
	eight, large := alignedPod(t, 8)
	apply(t, example(t, "aligned-efa-neuron"))
	apply(t, one+"---\n"+eight)
	waitRunning(t, four, single, large)
	check := func() {
		t.Helper()
		checkAligned(t, efaTrn2, four, 4, 4)
		checkAligned(t, efaTrn2, large, 8, 8)
	}
	check()
	checkAligned(t, efaTrn2, single, 1, 1)
	facts := efasOf(t, efaTrn2)
	uverbs := func(pod, request string, count int) string {
		return fmt.Sprintf("uverbs%d", facts[devicesOf(t, pod, request, count)[0]].uverbs)
	}
	checkRights(t, four, "worker", uverbs(four, "4-efas", 4), uverbs(single, "1-efas", 1))
	before := cdiContents(t)
	if len(before) != 6 {
		t.Errorf("CDI files: %v, want one of each driver for each of three claims", sortedKeys(before))
	}
	gone := claimOf(t, single).uid
	control(t, "agent", "kill")
	control(t, "kubelet", "kill")
	mustKubectl(t, "delete", "pod", single, "--wait=false")
	control(t, "kubelet", "start")
	control(t, "agent", "start", efaFlag)
	eventually(t, "the third claim unprepared", soon, func() error {
		left := cdiContents(t)
		for name, content := range before {
			if strings.Contains(name, gone) == (left[name] == content) {
				return fmt.Errorf("%s is not as it has to be: left are %v", name, sortedKeys(left))
			}
		}
		return nil
	})
	check()
	efaPublished(t, 16)
}

// alignedTraining runs the template that AWS's training example names.
func alignedTraining(t *testing.T) {
	apply(t, example(t, "efa-neurons-4-devices"))
	waitRunning(t, "mpitest")
	checkAligned(t, efaTrn2, "mpitest", 4, 4)
}

// alignedWhole takes each device of the node twice: so none is held from before. By extended resource the scheduler makes
// the claim, from Kubernetes 1.36 on.
func alignedWhole(t *testing.T) {
	const extended = "extended-resource-efa"
	manifest, pod := alignedPod(t, 16)
	apply(t, manifest)
	waitRunning(t, pod)
	checkAligned(t, efaTrn2, pod, 16, 16)
	apply(t, example(t, extended))
	if kubeletMinor(t) < 36 {
		waitEvent(t, extended, "FailedScheduling", "Insufficient vpc.amazonaws.com/efa")
		return
	}
	waitEvent(t, extended, "FailedScheduling", "cannot allocate all claims")
	mustKubectl(t, "delete", "pod", pod, "--wait=false")
	waitRunning(t, extended)
	name := mustKubectl(t, "get", "pod", extended, "-o", "jsonpath={.status.extendedResourceClaimStatus.resourceClaimName}")
	given := map[bool][]string{}
	for _, device := range strings.Fields(mustKubectl(t, "get", "resourceclaim", name, "-o",
		"jsonpath={.status.allocation.devices.results[*].device}")) {
		is := strings.HasPrefix(device, "pci-")
		given[is] = append(given[is], device)
	}
	if len(given[false]) != 16 || len(given[true]) != 16 {
		t.Errorf("claim %s was given %v", name, given)
	}
	sees(t, efaTrn2, extended, "worker", given[false], given[true])
}

// nodeCommand runs a command of the agent on the node.
func nodeCommand(t *testing.T, words ...string) string {
	t.Helper()
	node := filepath.Join(kube.Run, "node")
	return must(run("", kube.Agent, append(words, "--sysfs-root", filepath.Join(node, "sys"), "--dev-root", filepath.Join(node, "dev"),
		"--cdi-root", kube.CDI, "--kubelet-plugins-directory-path", filepath.Join(kube.Short, "kubelet", "plugins"))...))
}

// alignedTrn1: as many EFA devices as Neuron devices of one group do not exist. The scheduler's event is all that it says;
// `devices` says why.
func alignedTrn1(t *testing.T) {
	const trn1 = "aligned-efa-neuron-trn1"
	apply(t, example(t, "aligned-efa-neuron"))
	waitPending(t, "neuron-inference-worker")
	apply(t, example(t, trn1))
	waitRunning(t, trn1)
	checkAligned(t, efaTrn1, trn1, 4, 2)
	out := nodeCommand(t, "devices", "--efa=true")
	for _, words := range []string{"\npci-0000-10-1a-0  0,1 ", "trn1.32xlarge: 8 EFA devices, 2 held\n", "Neuron devices share an EFA device"} {
		if !strings.Contains(out, words) {
			t.Errorf("`devices` lacks %q:\n%s", words, out)
		}
	}
}
