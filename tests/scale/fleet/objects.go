// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"time"

	core "k8s.io/api/core/v1"
	resource "k8s.io/api/resource/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const foreignDevices = 8 // of a foreign slice: a node with eight GPUs

// makeNodes makes the Node of each agent, labelled as a cloud's controllers do.
func (k *control) makeNodes() error {
	return each(k.s.Agents, writers, func(number int) error {
		node := &core.Node{ObjectMeta: meta.ObjectMeta{Name: nodeName(number), Labels: map[string]string{
			"kubernetes.io/hostname":           nodeName(number),
			"node.kubernetes.io/instance-type": "trn2.48xlarge",
			label:                              "nn-1"}}}
		_, err := k.client.CoreV1().Nodes().Create(context.Background(), node, meta.CreateOptions{})
		return err
	})
}

// relabel changes a label of every Node that its slices show, and says when each patch was sent.
func (k *control) relabel(value string) (sent []time.Time, err error) {
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, label, value)
	sent = make([]time.Time, k.s.Agents)
	return sent, each(k.s.Agents, writers, func(number int) error {
		sent[number] = time.Now()
		_, err := k.client.CoreV1().Nodes().Patch(context.Background(), nodeName(number), types.MergePatchType, patch, meta.PatchOptions{})
		return err
	})
}

// deleteSlices deletes the slices of all agents. A starved API server may end the request before all are deleted.
func (k *control) deleteSlices() error {
	var err error
	for end := time.Now().Add(k.s.patience()); time.Now().Before(end); time.Sleep(time.Second) {
		err = k.client.ResourceV1().ResourceSlices().DeleteCollection(context.Background(), meta.DeleteOptions{},
			meta.ListOptions{FieldSelector: "spec.driver=" + driverName})
		if err == nil {
			return nil
		}
	}
	return err
}

// allocatedClaim makes a claim with the allocation that a scheduler would have written.
func (k *control) allocatedClaim(name, driver, node, device string) (*resource.ResourceClaim, error) {
	ctx, claims := context.Background(), k.client.ResourceV1().ResourceClaims(claimSpace)
	claim, err := claims.Create(ctx, &resource.ResourceClaim{ObjectMeta: meta.ObjectMeta{Name: name},
		Spec: resource.ResourceClaimSpec{Devices: resource.DeviceClaim{Requests: []resource.DeviceRequest{{Name: "device",
			Exactly: &resource.ExactDeviceRequest{DeviceClassName: driver, AllocationMode: resource.DeviceAllocationModeExactCount,
				Count: 1}}}}}}, meta.CreateOptions{})
	if err != nil {
		return nil, err
	}
	claim.Status.Allocation = &resource.AllocationResult{
		Devices: resource.DeviceAllocationResult{Results: []resource.DeviceRequestAllocationResult{
			{Request: "device", Driver: driver, Pool: node, Device: device}}},
		NodeSelector: &core.NodeSelector{NodeSelectorTerms: []core.NodeSelectorTerm{{
			MatchFields: []core.NodeSelectorRequirement{{Key: "metadata.name", Operator: core.NodeSelectorOpIn,
				Values: []string{node}}}}}},
	}
	claim.Status.ReservedFor = []resource.ResourceClaimConsumerReference{
		{Resource: "pods", Name: "pod-of-" + name, UID: types.UID("uid-of-" + name)}}
	return claims.UpdateStatus(ctx, claim, meta.UpdateOptions{})
}

// fillForeign makes claims and slices of another driver on other nodes: none of them concerns an agent.
func (k *control) fillForeign() error {
	if err := each(k.s.ForeignSlices, writers, func(number int) error {
		_, err := k.client.ResourceV1().ResourceSlices().Create(context.Background(), foreignSlice(number), meta.CreateOptions{})
		return err
	}); err != nil {
		return err
	}
	return each(k.s.ForeignClaims, writers, func(number int) error {
		_, err := k.allocatedClaim(fmt.Sprintf("foreign-%05d", number), foreignDriver, foreignNode(number/foreignDevices),
			fmt.Sprintf("gpu-%d", number%foreignDevices))
		return err
	})
}

func foreignNode(number int) string { return fmt.Sprintf("foreign-node-%05d", number) }

func foreignSlice(number int) *resource.ResourceSlice {
	node, model := foreignNode(number), "GPU"
	slice := &resource.ResourceSlice{ObjectMeta: meta.ObjectMeta{Name: node},
		Spec: resource.ResourceSliceSpec{Driver: foreignDriver, NodeName: &node,
			Pool: resource.ResourcePool{Name: node, Generation: 1, ResourceSliceCount: 1}}}
	for device := range foreignDevices {
		index := int64(device)
		slice.Spec.Devices = append(slice.Spec.Devices, resource.Device{Name: fmt.Sprintf("gpu-%d", device),
			Attributes: map[resource.QualifiedName]resource.DeviceAttribute{
				"model": {StringValue: &model}, "index": {IntValue: &index}}})
	}
	return slice
}

// writeCheckpoint writes the kubelet's checkpoint of claims, whole and without a claim, as kubelet 1.36 does.
func writeCheckpoint(path string) error {
	data, err := json.Marshal(struct {
		Kind               string `json:"kind"`
		APIVersion         string `json:"apiVersion"`
		ClaimInfoStateList []string
	}{Kind: "DRACheckpoint", APIVersion: "checkpoint.dra.kubelet.k8s.io/v1"})
	if err != nil {
		return err
	}
	whole, err := json.Marshal(struct {
		Data     string
		Checksum uint32
	}{string(data), crc32.ChecksumIEEE(data)})
	if err != nil {
		return err
	}
	return os.WriteFile(path, whole, 0o600)
}
