// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"regexp"
	"testing"
)

// unhealthyMonitor: a monitor sees all devices of a node that has an unhealthy one, while a pod that tolerates nothing waits.
func unhealthyMonitor(t *testing.T) {
	mustKubectl(t, "label", "namespace", "default", adminLabel+"=true")
	defer mustKubectl(t, "label", "namespace", "default", adminLabel+"-")
	unhealthyComponents(t, 7, "hbm\n")
	t.Cleanup(func() { unhealthyComponents(t, 7, healthyComponents) })
	published(t, "neuron-device-7", unhealthyIs(t))
	count := 16
	if unhealthyIs(t) < 0 {
		count = 15 // an older server has the unhealthy device in no slice
	} else {
		intolerant := changed(t, renamed(t, example(t, "admin-access"), "admin-access", "intolerant"),
			"          tolerations:\n          - operator: Exists\n", "")
		apply(t, changed(t, intolerant, "TemplateName: admin-access", "TemplateName: intolerant"))
		waitPending(t, "intolerant")
	}
	runExample(t, "admin-access", count)
}

// attributed is what a tool makes of the allocations of these pods that knows the devices by their names alone: the pod of
// each number, without those that two pods have. It is what CloudWatch's Container Insights does (aws-observability/helm-charts
// #356, the processor awsdevicepodcorrelation of its collector).
func attributed(t *testing.T, pods ...string) map[string]string {
	t.Helper()
	number := regexp.MustCompile(`neuron-device-(\d+)`)
	found, shared := map[string]string{}, map[string]bool{}
	for _, name := range pods {
		given, err := allocated(getPod(t, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, devices := range given {
			for _, device := range devices {
				key := device
				if parts := number.FindStringSubmatch(device); parts != nil {
					key = parts[1]
				}
				if other := found[key]; other != "" && other != name {
					shared[key] = true
				}
				found[key] = name
			}
		}
	}
	for key := range shared {
		delete(found, key)
	}
	return found
}

// ultraAttribution: how the devices of a whole node are attributed to its pod, with each way to claim it, and beside a monitor.
func ultraAttribution(t *testing.T) {
	reelected(t, "1,3,4")
	apply(t, example(t, ultraExample))
	waitRunning(t, ultraPod)
	if found := attributed(t, ultraPod); len(found) != 1 || found[nodeDevice] != ultraPod {
		t.Errorf("a claim of the node: %v", found)
	}
	clean(t)

	const pod = "us-4-node-devices"
	apply(t, example(t, pod))
	if serverMinor(t) < 36 || kubeletMinor(t) < 36 { // the node alone is published
		waitPending(t, pod)
		return
	}
	waitRunning(t, pod)
	checkContainer(t, pod, "app", wholeNode(), ultraEnv(1, 2, ultraServer)...)
	found := attributed(t, pod)
	for number := range 16 {
		if key := fmt.Sprint(number); found[key] != pod {
			t.Errorf("device %d of a claim of the devices: %v", number, found)
		}
	}

	// The node is taken as a whole. A monitor waits too, as long as the devices have counters (kubernetes #140729); without
	// them it sees all devices, and its claim takes the attribution away.
	apply(t, renamed(t, example(t, ultraExample), ultraPod, "second"))
	waitPending(t, "second")
	mustKubectl(t, "delete", "pod", "second")
	mustKubectl(t, "label", "namespace", "default", adminLabel+"=true")
	defer mustKubectl(t, "label", "namespace", "default", adminLabel+"-")
	apply(t, example(t, "admin-access"))
	waitPending(t, "admin-access")
	control(t, "agent", "stop")
	control(t, "agent", "start", "--flag=--ultraserver-devices=devices")
	t.Cleanup(func() {
		control(t, "agent", "stop")
		control(t, "agent", "start")
		published(t, nodeDevice, 0)
	})
	waitRunning(t, "admin-access")
	checkContainer(t, "admin-access", "app", wholeNode())
	checkContainer(t, pod, "app", wholeNode(), ultraEnv(1, 2, ultraServer)...)
	if found := attributed(t, pod, "admin-access"); len(found) != 0 {
		t.Errorf("beside a monitor: %v", found)
	}
}
