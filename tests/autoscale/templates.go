// SPDX-License-Identifier: Apache-2.0

// Package autoscale shows that what `neuron-dra-agent slices --board TYPE -o json` prints is enough for an autoscaler to decide
// about a node of that type before there is one.
package autoscale

import (
	"strings"
	"unique"

	resource "k8s.io/api/resource/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
)

// neuron is the driver of the Neuron devices. Only its devices have the attributes of fromNode.
const neuron = "neuron.aws.com"

// fromNode are the attributes that a device gets from labels of its Node or from the loaded kernel module, so that no template has
// them. All Neuron devices of a node have the same value of each. Only the module of an UltraServer knows the last four.
func fromNode(device resource.Device) []resource.QualifiedName {
	names := []resource.QualifiedName{"networkNodeLayer1", "networkNodeLayer2", "networkNodeLayer3", "capacityBlockId",
		"neuronDriverVersion"}
	if kind := device.Attributes["instanceType"].StringValue; kind != nil && strings.HasPrefix(*kind, "trn2u.") {
		names = append(names, "ultraserverNodeId2", "ultraserverNodeId4", "ultraserverServerId2", "ultraserverServerId4")
	}
	return names
}

// karpenterTemplates are the slices of a type as a cloud provider of Karpenter returns them for an instance type.
func karpenterTemplates(slices []resource.ResourceSlice) *cloudprovider.DynamicResources {
	found := &cloudprovider.DynamicResources{}
	shared := map[resource.QualifiedName]*cloudprovider.AttributeBinding{}
	for _, slice := range slices {
		driver, pool := unique.Make(slice.Spec.Driver), cloudprovider.ResourcePool{Name: unique.Make(slice.Spec.Pool.Name)}
		template := &cloudprovider.ResourceSliceTemplate{Driver: driver, Pool: pool, SharedCounters: slice.Spec.SharedCounters}
		for _, device := range slice.Spec.Devices {
			one := cloudprovider.Device{Name: unique.Make(device.Name), Attributes: device.Attributes, Capacity: device.Capacity,
				AllowMultipleAllocations: device.AllowMultipleAllocations != nil && *device.AllowMultipleAllocations,
				ConsumesCounters:         device.ConsumesCounters}
			template.Devices = append(template.Devices, one)
			if slice.Spec.Driver != neuron {
				continue
			}
			for _, name := range fromNode(device) {
				attribute := resource.QualifiedName(slice.Spec.Driver + "/" + string(name))
				if shared[attribute] == nil {
					shared[attribute] = &cloudprovider.AttributeBinding{Attribute: attribute}
					found.AttributeBindings = append(found.AttributeBindings, shared[attribute])
				}
				id := cloudprovider.DeviceID{Driver: driver, Pool: pool.Name, Device: one.Name}
				shared[attribute].Devices = append(shared[attribute].Devices, id)
			}
		}
		found.ResourceSliceTemplates = append(found.ResourceSliceTemplates, template)
	}
	return found
}
