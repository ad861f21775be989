// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"
)

const adminLabel = "resource.kubernetes.io/admin-access"

// adminAccess: a monitor is given the devices that a pod holds, and what it does changes nothing for that pod.
func adminAccess(t *testing.T) {
	manifest := example(t, "admin-access")
	if _, err := run(served(t, manifest), kube.Programs["kubectl"], "--kubeconfig", kube.Kubeconfig, "apply", "-f", "-"); err == nil || !strings.Contains(err.Error(), adminLabel) {
		t.Errorf("in a namespace without the label: %v", err)
	}
	mustKubectl(t, "label", "namespace", "default", adminLabel+"=true")
	defer mustKubectl(t, "label", "namespace", "default", adminLabel+"-")
	held := runExample(t, "connected-16", 16)
	apply(t, manifest)
	waitRunning(t, "admin-access")
	seen := devicesOf(t, "admin-access", "neurons", 16)
	checkContainer(t, "admin-access", "app", seen)
	// The monitor goes, by itself and under an agent that has to remember it.
	control(t, "agent", "kill")
	control(t, "agent", "start")
	mustKubectl(t, "delete", "pod", "admin-access", "--wait=true")
	checkContainer(t, "connected-16", "app", held)
	apply(t, example(t, "single-device"))
	waitPending(t, "single-device")
}

// allHealthy: who asks for all devices gets them only together.
func allHealthy(t *testing.T) {
	manifest := example(t, "all-neurons")
	unhealthyComponents(t, 3, "hbm\n")
	t.Cleanup(func() { unhealthyComponents(t, 3, healthyComponents) })
	published(t, "neuron-device-3", unhealthyIs(t))
	apply(t, manifest)
	if unhealthyIs(t) < 0 { // it is not in the slice: all are fifteen
		waitRunning(t, "all-neurons-test")
		checkContainer(t, "all-neurons-test", "app", devicesOf(t, "all-neurons-test", "neurons", 15))
		return
	}
	waitPending(t, "all-neurons-test")
	unhealthyComponents(t, 3, healthyComponents)
	published(t, "neuron-device-3", 0)
	waitRunning(t, "all-neurons-test")
	checkContainer(t, "all-neurons-test", "app", devicesOf(t, "all-neurons-test", "neurons", 16))
}
