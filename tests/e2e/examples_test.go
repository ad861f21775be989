// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"
)

func torusRow(t *testing.T) { checkBlock(t, runExample(t, "torus-row", 4)) }

// prioritized is given the first of its three wishes on an empty node, and the second where a device is taken.
func prioritized(t *testing.T) {
	manifest := example(t, "prioritized")
	apply(t, manifest)
	waitRunning(t, "prioritized")
	checkContainer(t, "prioritized", "app", devicesOf(t, "prioritized", "neurons/sixteen", 16))
	clean(t)
	runExample(t, "single-device", 1)
	apply(t, manifest)
	waitRunning(t, "prioritized")
	devices := devicesOf(t, "prioritized", "neurons/eight", 8)
	checkBlock(t, devices)
	checkContainer(t, "prioritized", "app", devices)
}

func prefillDecode(t *testing.T) {
	layer := mustKubectl(t, "get", "resourceslices", "-o",
		`jsonpath={.items[0].spec.devices[0].attributes.networkNodeLayer2.string}`)
	apply(t, changed(t, example(t, "prefill-decode"), "== 'nn-2'", "== '"+layer+"'"))
	waitRunning(t, "prefill", "decode")
	checkContainer(t, "prefill", "app", devicesOf(t, "prefill", "neurons", 8))
	checkContainer(t, "decode", "app", devicesOf(t, "decode", "neurons", 4))
}

// sizeClasses: the quota refuses the claim of a second large pod, which has to wait.
func sizeClasses(t *testing.T) {
	manifest := example(t, "size-classes")
	defer mustKubectl(t, "delete", "--ignore-not-found", "resourcequota/neuron-sizes", "deviceclass/large.neuron.example.com")
	apply(t, manifest)
	waitRunning(t, "size-large")
	checkContainer(t, "size-large", "app", devicesOf(t, "size-large", "neurons", 8))
	// The controller counts late on a busy machine, and a quota that has counted nothing refuses nothing.
	eventually(t, "the quota counts the first claim", soon, func() error {
		used, err := kubectl("get", "resourcequota", "neuron-sizes", "-o", "jsonpath={.status.used}")
		if err == nil && !strings.Contains(used, `:"8"`) {
			err = fmt.Errorf("used: %s", used)
		}
		return err
	})
	apply(t, renamed(t, manifest, "size-large", "size-large-2"))
	eventually(t, "the quota refuses the second claim", soon, func() error {
		out, err := kubectl("get", "events", "-o", "jsonpath={.items[*].message}")
		if err == nil && !strings.Contains(out, "exceeded quota: neuron-sizes") {
			err = fmt.Errorf("events: %s", out)
		}
		return err
	})
}

// driverOfRelease waits on this node for its version of the kernel module, and runs where the node has it.
func driverOfRelease(t *testing.T) {
	manifest := example(t, "2.26-driver-trn2")
	apply(t, manifest)
	waitPending(t, "driver-2-26")
	clean(t)
	checkBlock(t, runManifest(t, changed(t, manifest, "2.24.7.0", "2.26.5.0"), 8))
}

// extendedResource: the scheduler makes the pod's claim, and the agent prepares it as any other. Before 1.36 the chart
// has no class for it and the pod waits for a device plugin.
func extendedResource(t *testing.T) {
	const name = "extended-resource"
	apply(t, example(t, name))
	if minor := kubeletMinor(t); minor < 36 {
		waitEvent(t, name, "FailedScheduling", "Insufficient aws.amazon.com/neuron")
		return
	}
	waitRunning(t, name)
	claim := mustKubectl(t, "get", "pod", name, "-o", "jsonpath={.status.extendedResourceClaimStatus.resourceClaimName}")
	devices := strings.Fields(mustKubectl(t, "get", "resourceclaim", claim, "-o", "jsonpath={.status.allocation.devices.results[*].device}"))
	if len(devices) != 2 {
		t.Errorf("claim %s was given %v, want two devices", claim, devices)
	}
	checkContainer(t, name, "app", devices)
}
