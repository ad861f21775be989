// SPDX-License-Identifier: Apache-2.0

package e2e

import "testing"

// TestBesideDranet: the EFA devices are another driver's, with what it publishes beyond our own. The claim is allocated; its
// pod has to wait for that driver, which does not run here. The agent lets its slices be. It runs before the tests in which the agent
// serves that driver: half a minute after such an agent has gone, the kubelet deletes all slices of the driver.
func TestBesideDranet(t *testing.T) {
	efaClasses(t)
	defer clean(t)
	var devices []object
	facts := efasOf(t, efaTrn2)
	for _, name := range sortedKeys(facts) {
		attributes := facts[name].attributes
		delete(attributes, "resource.kubernetes.io/pciBusID") // dranet does not have it
		for key, value := range map[string]attribute{"ifName": text("eth" + name), "mac": text("0a:00:00:00:00:01"), "type": text("device"),
			"encapsulation": text("ether"), "alias": text(""), "state": text("up"), "mtu": {"int": 9001}, "ebpf": {"bool": false},
			"sriov": {"bool": false}, "virtual": {"bool": false}} {
			attributes[efaDriver+"/"+key] = value
		}
		devices = append(devices, object{"name": name, "attributes": attributes})
	}
	var made slice
	mustAsk(t, "POST", slicesPath, object{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice",
		"metadata": object{"generateName": kube.Node + "-dra.net-"},
		"spec": object{"driver": efaDriver, "nodeName": kube.Node, "devices": devices,
			"pool": object{"name": kube.Node, "generation": 1, "resourceSliceCount": 1}}}, &made)
	defer func() { _ = ask("DELETE", slicesPath+"/"+made.Metadata.Name, nil, nil) }()
	apply(t, example(t, "aligned-efa-neuron"))
	const pod = "neuron-inference-worker"
	waitEvent(t, pod, "FailedPrepareDynamicResources", "DRA driver dra.net is not registered")
	neurons, efas := devicesOf(t, pod, "4-neurons", 4), devicesOf(t, pod, "4-efas", 4)
	checkBlock(t, neurons)
	near(t, efaTrn2, neurons, efas)
	control(t, "agent", "kill")
	control(t, "agent", "start")
	var now slice
	mustAsk(t, "GET", slicesPath+"/"+made.Metadata.Name, nil, &now)
	if now.Metadata.ResourceVersion != made.Metadata.ResourceVersion {
		t.Errorf("the slice of dranet was changed: %+v became %+v", made.Metadata, now.Metadata)
	}
}
