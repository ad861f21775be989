// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	resource "k8s.io/api/resource/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	dra "k8s.io/kubelet/pkg/apis/dra/v1"
)

const (
	driverName   = "neuron.aws.com"
	claimsPrefix = "/apis/resource.k8s.io/v1/namespaces/"
	devicesCount = 16
)

func uid(text string) types.UID {
	h := fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
	return types.UID(fmt.Sprintf("%s-%s-4%s-8%s-%s", h[:8], h[8:12], h[12:15], h[15:18], h[18:30]))
}

// newClaim makes an allocated claim as the API server has it, with the managed fields of its three writers;
// a result is "request=number" of a device of the node.
// Each node has a namespace of its own.
func newClaim(node, name string, results ...string) *resource.ResourceClaim {
	namespace, _, _ := strings.Cut(node, ".")
	c := &resource.ResourceClaim{ObjectMeta: meta.ObjectMeta{Name: name, Namespace: namespace,
		UID: uid(node + " claim " + name), ResourceVersion: "7001", CreationTimestamp: meta.NewTime(time.Now()),
		Finalizers:    []string{"resource.kubernetes.io/delete-protection"},
		ManagedFields: managedFields(),
		OwnerReferences: []meta.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "pod-of-" + name,
			UID: uid("pod " + name)}}}}
	allocation := &resource.AllocationResult{}
	seen := map[string]bool{}
	for _, r := range results {
		request, device, _ := strings.Cut(r, "=")
		allocation.Devices.Results = append(allocation.Devices.Results, resource.DeviceRequestAllocationResult{
			Request: request, Driver: driverName, Pool: node, Device: "neuron-device-" + device})
		if !seen[request] {
			seen[request] = true
			c.Spec.Devices.Requests = append(c.Spec.Devices.Requests, resource.DeviceRequest{Name: request,
				Exactly: &resource.ExactDeviceRequest{DeviceClassName: driverName,
					AllocationMode: resource.DeviceAllocationModeExactCount, Count: 1}})
		}
	}
	c.Status.Allocation = allocation
	c.Status.ReservedFor = []resource.ResourceClaimConsumerReference{{Resource: "pods", Name: "pod-of-" + name,
		UID: uid("pod " + name)}}
	return c
}

func managedFields() []meta.ManagedFieldsEntry {
	now := meta.NewTime(time.Now())
	entry := func(manager, subresource, fields string) meta.ManagedFieldsEntry {
		return meta.ManagedFieldsEntry{Manager: manager, Operation: meta.ManagedFieldsOperationUpdate,
			APIVersion: "resource.k8s.io/v1", Time: &now, FieldsType: "FieldsV1", Subresource: subresource,
			FieldsV1: &meta.FieldsV1{Raw: []byte(fields)}}
	}
	return []meta.ManagedFieldsEntry{
		entry("kube-controller-manager", "", `{"f:metadata":{"f:annotations":{".":{},"f:resource.kubernetes.io/pod-claim-name":{}},"f:generateName":{},"f:ownerReferences":{".":{}}},"f:spec":{"f:devices":{"f:config":{},"f:requests":{}}}}`),
		entry("kube-scheduler", "status", `{"f:metadata":{"f:finalizers":{".":{},"v:\"resource.kubernetes.io/delete-protection\"":{}}},"f:status":{"f:allocation":{".":{},"f:devices":{".":{},"f:config":{},"f:results":{}},"f:nodeSelector":{}},"f:reservedFor":{}}}`),
	}
}

// configure adds an opaque configuration of the driver; no requests: for all of them.
func configure(c *resource.ResourceClaim, text string, requests ...string) *resource.ResourceClaim {
	allocation := &c.Status.Allocation.Devices
	allocation.Config = append(allocation.Config, resource.DeviceAllocationConfiguration{
		Source: resource.AllocationConfigSourceClaim, Requests: requests,
		DeviceConfiguration: resource.DeviceConfiguration{Opaque: &resource.OpaqueDeviceConfiguration{
			Driver: driverName, Parameters: runtime.RawExtension{Raw: []byte(text)}}}})
	return c
}

func lnc(value int) string {
	return fmt.Sprintf(`{"apiVersion":"neuron.aws.com/v1","kind":"NeuronConfig","logicalNeuronCore":%d}`, value)
}

// measuredClaim is what most pods ask for: one device, its logical NeuronCores configured.
func measuredClaim(node string, number int) *resource.ResourceClaim {
	c := newClaim(node, fmt.Sprintf("measured-%d", number), fmt.Sprintf("neuron=%d", number%devicesCount))
	return configure(c, lnc(1+number%2), "neuron")
}

// wideClaim is a measured claim of so many devices.
func wideClaim(node string, number, devices int) *resource.ResourceClaim {
	if devices == 1 {
		return measuredClaim(node, number)
	}
	var results []string
	for d := range devices {
		results = append(results, fmt.Sprintf("neuron=%d", d))
	}
	c := newClaim(node, fmt.Sprintf("measured-%d", number), results...)
	return configure(c, lnc(1+number%2), "neuron")
}

// heldClaim holds no device against others: only so can more claims than devices be prepared.
func heldClaim(node string, number int) *resource.ResourceClaim {
	c := newClaim(node, fmt.Sprintf("held-%d", number), fmt.Sprintf("neuron=%d", number%devicesCount))
	yes := true
	c.Status.Allocation.Devices.Results[0].AdminAccess = &yes
	return configure(c, lnc(1), "neuron")
}

// named is the claim as the kubelet names it.
func named(c *resource.ResourceClaim) *dra.Claim {
	return &dra.Claim{Namespace: c.Namespace, Name: c.Name, Uid: string(c.UID)}
}
