// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	resource "k8s.io/api/resource/v1"
)

const healthyComponents = "\n" // of a device of which nothing is wrong

// extendedClass is what the chart makes for pods of the device plugin.
const extendedClass = `apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata:
  name: extended
spec:
  extendedResourceName: aws.amazon.com/neuron
  selectors:
  - cel:
      expression: device.driver == 'neuron.aws.com' && device.attributes['neuron.aws.com'].resourceType == 'neuron_device'
`

// unhealthyComponents writes the file that the kernel module has for a device.
func unhealthyComponents(t *testing.T, number int, text string) {
	t.Helper()
	if _, err := run("", "/usr/bin/python3", filepath.Join(root, "tools", "simnode", "simnode.py"), "set", "--dir",
		filepath.Join(kube.Run, "node"),
		fmt.Sprintf("neuron%d/stats/hardware/health_status/unhealthy_components", number), text); err != nil {
		t.Fatal(err)
	}
}

func serverMinor(t *testing.T) int {
	t.Helper()
	var version struct{ Minor string }
	if err := json.Unmarshal([]byte(mustKubectl(t, "get", "--raw", "/version")), &version); err != nil {
		t.Fatal(err)
	}
	minor, err := strconv.Atoi(version.Minor)
	if err != nil {
		t.Fatalf("minor version %q of the server", version.Minor)
	}
	return minor
}

// published waits until the slice has a device as it should be: listed with this number of taints, or, for -1, not
// at all.
func published(t *testing.T, device string, taints int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s with %d taints", device, taints), soon, func() error {
		var list struct{ Items []resource.ResourceSlice }
		if err := get(&list, "resourceslices"); err != nil {
			return err
		}
		found := -1
		for _, slice := range list.Items {
			for _, one := range slice.Spec.Devices {
				if one.Name == device {
					found = len(one.Taints)
				}
			}
		}
		if found != taints {
			return fmt.Errorf("it has %d", found)
		}
		return nil
	})
}

// A server that keeps taints gets the unhealthy device with one; on an older one it is left out.
func unhealthyIs(t *testing.T) int {
	t.Helper()
	if serverMinor(t) >= 36 {
		return 1
	}
	return -1
}

// TestHealth makes devices of the simulated node unhealthy, beside a real scheduler and kubelet.
func TestHealth(t *testing.T) {
	control(t, "board", "--board", "trn2.48xlarge", "--driver-version", "2.30.2.0")
	t.Cleanup(func() { control(t, "board", "--board", "trn2.48xlarge", "--driver-version", "2.26.5.0") })
	steps(t, []step{
		{"no new pod", unhealthyGetsNoPod},
		{"no new pod with the extended resource", unhealthyExtendedResource},
		{"all devices, one of them unhealthy", allHealthy},
		{"a monitor", unhealthyMonitor},
		{"in use", unhealthyInUse},
	})
}

// unhealthyGetsNoPod: a pod that needs all devices waits for the recovery; one that needs fifteen does not.
func unhealthyGetsNoPod(t *testing.T) {
	published(t, "neuron-device-5", 0)
	unhealthyComponents(t, 5, "hbm\n")
	published(t, "neuron-device-5", unhealthyIs(t))
	whole := example(t, "xl-trn2")
	apply(t, whole)
	waitPending(t, "xl-trn2")
	for _, device := range runExample(t, "single-device", 1) {
		if device == "neuron-device-5" {
			t.Error("the unhealthy device was given to a pod")
		}
	}
	mustKubectl(t, "delete", "pod", "single-device", "--wait=true")
	unhealthyComponents(t, 5, healthyComponents)
	published(t, "neuron-device-5", 0)
	waitRunning(t, "xl-trn2")
	devicesOf(t, "xl-trn2", "neurons", 16)
}

// unhealthyExtendedResource: the claim that the scheduler makes tolerates nothing either.
func unhealthyExtendedResource(t *testing.T) {
	if serverMinor(t) < 36 || kubeletMinor(t) < 36 {
		return // there a device plugin would have to offer the resource; see extendedResource
	}
	unhealthyComponents(t, 9, "sram\n")
	published(t, "neuron-device-9", 1)
	apply(t, extendedClass)
	t.Cleanup(func() { _, _ = kubectl("delete", "deviceclass", "extended") })
	apply(t, changed(t, example(t, "extended-resource"), "aws.amazon.com/neuron: 2", "aws.amazon.com/neuron: 16"))
	waitEvent(t, "extended-resource", "FailedScheduling", "0/1 nodes are available")
	unhealthyComponents(t, 9, healthyComponents)
	published(t, "neuron-device-9", 0)
	waitRunning(t, "extended-resource")
}

// unhealthyInUse: the device stays listed, its pod runs on, and a kubelet that shows the health of devices shows it.
func unhealthyInUse(t *testing.T) {
	devices := runExample(t, "single-device", 1)
	number := numbers(t, devices)[0]
	unhealthyComponents(t, number, "hbm,link_host\n")
	t.Cleanup(func() { unhealthyComponents(t, number, healthyComponents) })
	want := max(unhealthyIs(t), 0)
	eventually(t, "the Event", soon, func() error {
		out, err := kubectl("get", "events", "--all-namespaces", "-o", "jsonpath={.items[?(@.reason==\"NeuronDeviceUnhealthy\")]}")
		if err == nil && !strings.Contains(out, devices[0]) {
			err = fmt.Errorf("none names %s: %s", devices[0], out)
		}
		return err
	})
	published(t, devices[0], want)
	if kubeletMinor(t) >= 36 {
		healthInStatus(t, "Unhealthy")
	}
	if p := getPod(t, "single-device"); !p.ready() {
		t.Errorf("the pod that has the device is not ready any more: %+v", p.Status)
	}
	unhealthyComponents(t, number, healthyComponents)
	published(t, devices[0], 0)
	if kubeletMinor(t) >= 36 {
		healthInStatus(t, "Healthy")
	}
}

// TestNoExecute: with NoExecute, Kubernetes evicts a pod whose claim has the device. A pod with the extended resource
// stays (kubernetes#141290): the controller looks at the claims that a pod names, and it names none. It runs first on the
// cluster of TestPodGroups: the controller of 1.36.3 ignores the deletion of a slice that it missed ("Expected
// ResourceSlice", actual DeletedFinalStateUnknown), as tests of the other cluster bring about, and evicts nobody afterwards.
func TestNoExecute(t *testing.T) {
	if _, err := kubectl("get", "podgroups"); err != nil {
		t.Skipf("not on this cluster; `make e2e` brings up a second one: %v", err)
	}
	defer clean(t)
	control(t, "board", "--board", "trn2.48xlarge", "--driver-version", "2.30.2.0")
	t.Cleanup(func() { control(t, "board", "--board", "trn2.48xlarge", "--driver-version", "2.26.5.0") })
	control(t, "agent", "stop")
	control(t, "agent", "start", "--flag=--unhealthy-taint=neuron.aws.com/unhealthy:NoExecute")
	t.Cleanup(func() {
		control(t, "agent", "stop")
		control(t, "agent", "start")
	})
	const extended = "extended-resource"
	apply(t, extendedClass)
	t.Cleanup(func() { _, _ = kubectl("delete", "deviceclass", "extended") })
	apply(t, example(t, extended))
	waitRunning(t, extended)
	claim := mustKubectl(t, "get", "pod", extended, "-o", "jsonpath={.status.extendedResourceClaimStatus.resourceClaimName}")
	held := strings.Fields(mustKubectl(t, "get", "resourceclaim", claim, "-o", "jsonpath={.status.allocation.devices.results[*].device}"))
	evicted := runExample(t, "single-device", 1)
	all := append(held, evicted...)
	for _, number := range numbers(t, all) {
		unhealthyComponents(t, number, "hbm\n")
		t.Cleanup(func() { unhealthyComponents(t, number, healthyComponents) })
	}
	for _, device := range all {
		published(t, device, 1)
	}
	eventually(t, "eviction of the pod with a claim", soon, func() error {
		if out, err := kubectl("get", "pod", "single-device", "--ignore-not-found", "-o", "name"); err != nil || out != "" {
			return fmt.Errorf("%q, %v", out, err)
		}
		return nil
	})
	time.Sleep(5 * time.Second)
	if p := getPod(t, extended); !p.ready() {
		t.Errorf("the pod with the extended resource is not ready: it is evicted now, see cfg/deploy/operate.md: %+v", p.Status)
	}
}

// healthInStatus waits until the pod's status says this of the device.
func healthInStatus(t *testing.T, want string) {
	t.Helper()
	eventually(t, "health "+want+" in the pod's status", soon, func() error {
		out, err := kubectl("get", "pod", "single-device", "-o",
			"jsonpath={.status.containerStatuses[*].allocatedResourcesStatus[*].resources[*].health}")
		if err == nil && out != want {
			err = fmt.Errorf("it says %q", out)
		}
		return err
	})
}
