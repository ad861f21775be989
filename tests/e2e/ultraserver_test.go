// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// ultraSet has one pod for each node of an UltraServer, without a controller beside Kubernetes' own. The selector is what the
// exclusive topology of a LeaderWorkerSet comes to.
const ultraSet = `apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: vllm
spec:
  replicas: 4
  serviceName: vllm
  podManagementPolicy: Parallel
  selector:
    matchLabels: {app: vllm}
  template:
    metadata:
      labels: {app: vllm}
    spec:
      terminationGracePeriodSeconds: 1
      nodeSelector: {neuron.amazonaws.com/ultraserver-server-id-4: "` + ultraServer + `"}
      containers:
      - name: app
        image: ` + exampleImage + `
        command: ["sleep", "86400"]
        resources:
          claims:
          - name: one-node-from-ultraserver
      resourceClaims:
      - name: one-node-from-ultraserver
        resourceClaimTemplateName: us-4-node-config
`

const (
	ultraNodes   = 4
	nodeDevice   = "neuron-node" // all devices of a node
	ultraExample = "us-4-node-config"
	ultraPod     = "us-4-node"
	ultraServer  = "8796a5b4c3d2e1f0"
)

// ultraPairOf is the pair of nodes of which the node with this number is one.
func ultraPairOf(number int) string { return fmt.Sprintf("0f1e2d3c4b5a697%d", number/2) }

// elect writes into the simulated node below a folder of a run what the kernel module shows to the node of this number in
// its UltraServer, each file in one move.
func elect(t *testing.T, run, modes string, number int) {
	t.Helper()
	class := filepath.Join(run, "node", "sys", "class", "neuron_device")
	for name, text := range map[string]string{"ultraserver_mode": modes, "server_id_4": ultraServer,
		"node_id_4": fmt.Sprint(number), "server_id_2": ultraPairOf(number), "node_id_2": fmt.Sprint(number % 2)} {
		if modes == "busy" {
			text = modes
		}
		fresh := filepath.Join(run, "fresh")
		overwrite(t, fresh, text+"\n")
		if err := os.Rename(fresh, filepath.Join(class, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// reelected starts the agent anew on a node of which the kernel module shows something else: it was loaded again.
func reelected(t *testing.T, modes string) {
	t.Helper()
	control(t, "agent", "stop")
	elect(t, kube.Run, modes, 2)
	control(t, "agent", "start")
}

// wholeNode are the devices that a container with the node's device sees.
func wholeNode() (devices []string) {
	for number := range 16 {
		devices = append(devices, fmt.Sprintf("neuron-device-%d", number))
	}
	return devices
}

// ultraEnv is what a container is told of its place, by name.
func ultraEnv(mode, number int, server string) []string {
	return []string{fmt.Sprintf("NEURON_RT_ULTRASERVER_MODE=%d", mode), fmt.Sprintf("NEURON_RT_ULTRASERVER_NODE_ID=%d", number),
		"NEURON_RT_ULTRASERVER_SERVER_ID=" + server}
}

// hasNode checks that a pod was given the node's device, and what it sees.
func hasNode(t *testing.T, pod string, env ...string) {
	t.Helper()
	if devices := devicesOf(t, pod, "neurons", 1); !reflect.DeepEqual(devices, []string{nodeDevice}) {
		t.Errorf("pod %s was given %v", pod, devices)
	}
	checkContainer(t, pod, "app", wholeNode(), env...)
}

// TestUltraServer puts a node of an UltraServer under the agent, beside a real scheduler and kubelet.
func TestUltraServer(t *testing.T) {
	control(t, "board", "--board", "trn2u.48xlarge", "--driver-version", "2.30.2.0")
	t.Cleanup(func() { control(t, "board", "--board", "trn2.48xlarge", "--driver-version", "2.26.5.0") })
	steps(t, []step{
		{"a pod has the node, and a second one waits", ultraOnePod},
		{"the agent is killed under the pod", ultraKilled},
		{"two nodes, without and with LNC", ultraPair},
		{"single devices", ultraSingle},
		{"busy, then elected", ultraBusy},
		{"a set that the links do not allow", ultraNotOffered},
		{"an unhealthy device", ultraUnhealthy},
		{"the Node's labels", ultraLabels},
		{"devices and pods by name", ultraAttribution},
		{"slice deleted by hand under a pod", ultraSliceDeleted},
	})
}

func ultraOnePod(t *testing.T) {
	reelected(t, "1,3,4")
	manifest := example(t, ultraExample)
	apply(t, manifest)
	waitRunning(t, ultraPod)
	hasNode(t, ultraPod, ultraEnv(1, 2, ultraServer)...)
	apply(t, renamed(t, manifest, ultraPod, "second"))
	waitPending(t, "second")
	if files, err := cdiFiles(); err != nil || len(files) != 1 {
		t.Errorf("CDI files %v (%v), want the first pod's", files, err)
	}
	// it waited for the node and nothing else
	mustKubectl(t, "delete", "pod", ultraPod)
	waitRunning(t, "second")
	hasNode(t, "second", ultraEnv(1, 2, ultraServer)...)
}

func ultraKilled(t *testing.T) {
	apply(t, example(t, ultraExample))
	waitRunning(t, ultraPod)
	before := cdiContents(t)
	control(t, "agent", "kill")
	control(t, "agent", "start")
	if after := cdiContents(t); len(before) != 1 || !reflect.DeepEqual(before, after) {
		t.Errorf("CDI files before %v, after %v", before, after)
	}
	hasNode(t, ultraPod, ultraEnv(1, 2, ultraServer)...)
}

func ultraPair(t *testing.T) {
	place := ultraEnv(3, 0, ultraPairOf(2))
	apply(t, example(t, "us-2-node-config"))
	waitRunning(t, "us-2-node")
	hasNode(t, "us-2-node", place...)
	mustKubectl(t, "delete", "pod", "us-2-node")
	apply(t, example(t, "us-and-lnc-config"))
	waitRunning(t, "us-and-lnc")
	hasNode(t, "us-and-lnc", append([]string{"NEURON_LOGICAL_NC_CONFIG=1"}, place...)...)
}

// ultraSingle: where the scheduler has shared counters, single devices are given away beside the node, and none twice. Elsewhere
// the node is one device, and who wants a part of it waits.
func ultraSingle(t *testing.T) {
	whole := example(t, ultraExample)
	single := changed(t, renamed(t, example(t, "single-device"), "single-device", "single"), "count: 1", "count: 2")
	apply(t, changed(t, single, "deviceClassName: neuron.aws.com\n", "deviceClassName: neuron.aws.com\n"+
		"          selectors:\n          - cel:\n              expression: device.attributes['neuron.aws.com'].resourceType == 'neuron_device'\n"))
	if serverMinor(t) < 36 || kubeletMinor(t) < 36 {
		waitPending(t, "single")
		return
	}
	waitRunning(t, "single")
	checkContainer(t, "single", "app", devicesOf(t, "single", "neurons", 2))
	apply(t, extendedClass)
	t.Cleanup(func() { _, _ = kubectl("delete", "deviceclass", "extended") })
	apply(t, example(t, "extended-resource"))
	waitRunning(t, "extended-resource")
	apply(t, whole)
	waitPending(t, ultraPod)
	mustKubectl(t, "delete", "pod", "single", "--wait=true")
	waitPending(t, ultraPod)
	mustKubectl(t, "delete", "pod", "extended-resource", "--wait=true")
	waitRunning(t, ultraPod)
	hasNode(t, ultraPod, ultraEnv(1, 2, ultraServer)...)
	mustKubectl(t, "delete", "resourceclaimtemplate", "single-neuron") // of which the first pod has a changed one
	apply(t, renamed(t, example(t, "single-device"), "single-device", "late"))
	waitPending(t, "late")
	mustKubectl(t, "delete", "pod", ultraPod, "--wait=true")
	waitRunning(t, "late")
}

func ultraBusy(t *testing.T) {
	reelected(t, "busy")
	apply(t, example(t, ultraExample))
	waitEvent(t, ultraPod, "FailedPrepareDynamicResources", "the nodes of the UltraServer are still finding each other")
	if p := getPod(t, ultraPod); p.Status.Phase != "Pending" {
		t.Errorf("pod %s is %s, not Pending", ultraPod, p.Status.Phase)
	}
	elect(t, kube.Run, "1,3,4", 2)
	waitRunning(t, ultraPod)
	hasNode(t, ultraPod, ultraEnv(1, 2, ultraServer)...)
}

func ultraNotOffered(t *testing.T) {
	reelected(t, "4")
	t.Cleanup(func() { reelected(t, "1,3,4") })
	refused(t, ultraPod, example(t, ultraExample), "ultraserverMode 4 (four nodes) is not possible on this node now")
}

// ultraUnhealthy: a pod that comes waits until all devices are healthy.
func ultraUnhealthy(t *testing.T) {
	published(t, nodeDevice, 0)
	unhealthyComponents(t, 5, "link_interserver\n")
	published(t, nodeDevice, unhealthyIs(t))
	apply(t, example(t, ultraExample))
	waitPending(t, ultraPod)
	unhealthyComponents(t, 5, healthyComponents)
	published(t, nodeDevice, 0)
	waitRunning(t, ultraPod)
	hasNode(t, ultraPod, ultraEnv(1, 2, ultraServer)...)
}

// ultraSliceDeleted: the slices come back as they were under a pod that holds the node.
func ultraSliceDeleted(t *testing.T) {
	apply(t, example(t, ultraExample))
	waitRunning(t, ultraPod)
	const names = `jsonpath={.items[*].spec.devices[*].name}`
	before := strings.Fields(mustKubectl(t, "get", "resourceslices", "-o", names))
	mustKubectl(t, "delete", "resourceslices", "--all")
	eventually(t, "the slices are back", soon, func() error {
		after, err := kubectl("get", "resourceslices", "-o", names)
		now := strings.Fields(after)
		slices.Sort(before)
		slices.Sort(now)
		if err == nil && !slices.Equal(now, before) {
			err = fmt.Errorf("they have %v, not %v", now, before)
		}
		return err
	})
	hasNode(t, ultraPod, ultraEnv(1, 2, ultraServer)...)
}

// nodeRun is the run of a node by its number: its name and its folder.
func nodeRun(number int) (name, folder string) {
	if number == 0 {
		return kube.Name, kube.Run
	}
	suffix := fmt.Sprintf("-node-%d", number)
	return kube.Name + suffix, kube.Run + suffix
}

// joinUltraServer makes the cluster the four nodes of an UltraServer, each with its own kubelet and agent, until the test ends.
func joinUltraServer(t *testing.T) {
	t.Helper()
	for number := 1; number < ultraNodes; number++ {
		node := fmt.Sprint(number)
		t.Cleanup(func() { control(t, "leave", "--node", node) })
		control(t, "join", "--node", node, "--board", "trn2u.48xlarge", "--driver-version", "2.30.2.0", "--no-agent")
		name, folder := nodeRun(number)
		elect(t, folder, "1,3,4", number)
		controlOf(t, name, "agent", "start")
	}
	control(t, "agent", "stop")
	elect(t, kube.Run, "1,3,4", 0)
	control(t, "agent", "start")
	ultraPlaces(t)
}

// ultraPlaces waits for the slices: an agent that starts finds the slice that it wrote before the nodes had found each other.
func ultraPlaces(t *testing.T) {
	t.Helper()
	eventually(t, "four slices with the nodes' places", soon, func() error {
		places, err := kubectl("get", "resourceslices", "-o",
			`jsonpath={.items[*].spec.devices[?(@.name=="neuron-node")].attributes.ultraserverNodeId4.int}`)
		numbers := strings.Fields(places)
		slices.Sort(numbers)
		if err == nil && strings.Join(numbers, " ") != "0 1 2 3" {
			err = fmt.Errorf("places %q", places)
		}
		return err
	})
}

// TestUltraServerNodes: four pods on four nodes, each told its place.
func TestUltraServerNodes(t *testing.T) {
	control(t, "board", "--board", "trn2u.48xlarge", "--driver-version", "2.30.2.0")
	t.Cleanup(func() { control(t, "board", "--board", "trn2.48xlarge", "--driver-version", "2.26.5.0") })
	joinUltraServer(t)
	labelNodes(t)
	steps(t, []step{
		{"node labels", ultraNodeLabels},
		{"four pods on four nodes", ultraFourPods},
		{"a LeaderWorkerSet of groups of four", ultraGroups},
		{"a LeaderWorkerSet of pairs", ultraPairs},
	})
	for number := range ultraNodes {
		_, folder := nodeRun(number)
		eventually(t, fmt.Sprintf("no CDI file on node %d", number), soon, func() error {
			if left := must(os.ReadDir(filepath.Join(folder, "cdi"))); len(left) != 0 {
				return fmt.Errorf("left: %v", left)
			}
			return nil
		})
	}
}

func ultraFourPods(t *testing.T) {
	template, _, _ := strings.Cut(example(t, ultraExample), "\n---\n")
	apply(t, template)
	apply(t, ultraSet)
	defer mustKubectl(t, "delete", "statefulset", "vllm") // before the pods are deleted, which it would make again
	at := map[string]string{}
	names := []string{"vllm-0", "vllm-1", "vllm-2", "vllm-3"}
	waitRunning(t, names...)
	for _, name := range names {
		var number int
		node := getPod(t, name).Spec.Node
		if _, err := fmt.Sscanf(node, "neuron-node-%d", &number); err != nil || at[node] != "" {
			t.Errorf("pods %s and %s are on node %s (%v)", name, at[node], node, err)
		}
		at[node] = name
		hasNode(t, name, ultraEnv(1, number, ultraServer)...)
	}
	// there is no fifth node, and no fifth pod on one of the four
	mustKubectl(t, "scale", "statefulset", "vllm", "--replicas=5")
	waitPending(t, "vllm-4")
	// a pod that is replaced finds the node that it left
	node := getPod(t, "vllm-2").Spec.Node
	mustKubectl(t, "scale", "statefulset", "vllm", "--replicas=4")
	mustKubectl(t, "delete", "pod", "vllm-2")
	waitRunning(t, "vllm-2")
	if now := getPod(t, "vllm-2").Spec.Node; now != node {
		t.Errorf("vllm-2 went from %s to %s", node, now)
	}
	var number int
	fmt.Sscanf(node, "neuron-node-%d", &number)
	hasNode(t, "vllm-2", ultraEnv(1, number, ultraServer)...)
}
