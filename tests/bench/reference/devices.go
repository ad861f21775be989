// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	resource "k8s.io/api/resource/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
)

// The one instance type that the benchmark simulates.
const (
	instanceType  = "trn2.48xlarge"
	driverVersion = "1.0.0"
	gridWidth     = 4
	labelPrefix   = "topology.k8s.aws/network-node-layer-"
	groupPrefix   = "resource.aws.com/devicegroup"
)

// efa is the PCI bus of the EFA interface beside each Neuron device of a trn2 node.
var efa = [16]string{"c9", "b4", "b3", "ca", "6c", "57", "56", "6d", "98", "83", "82", "99", "f5", "e0", "df", "f6"}

// pci is the PCI bus of each device.
var pci = [16]string{"cc", "b5", "b6", "cb", "6f", "58", "59", "6e", "9b", "84", "85", "9a", "f8", "e1", "e2", "f7"}

// node is what sysfs shows.
type node struct {
	moduleVersion string
	cores         map[int]int64 // by device number
	numa          map[int]int64
	root          map[int]string
}

func address(number int) string { return "0000:" + pci[number] + ":00.0" }

func readText(path ...string) (string, error) {
	text, err := os.ReadFile(filepath.Join(path...))
	return strings.TrimSpace(string(text)), err
}

func discover(sysfs string) (*node, error) {
	product, err := readText(sysfs, "devices/virtual/dmi/id/product_name")
	if err != nil {
		return nil, err
	}
	if product != instanceType {
		return nil, fmt.Errorf("instance type %q: only %s is known", product, instanceType)
	}
	n := &node{cores: map[int]int64{}, numa: map[int]int64{}, root: map[int]string{}}
	if n.moduleVersion, err = readText(sysfs, "module/neuron/version"); err != nil {
		return nil, err
	}
	entries, err := filepath.Glob(filepath.Join(sysfs, "class/neuron_device/neuron*"))
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		number, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(entry), "neuron"))
		if err != nil || number < 0 || number >= len(efa) {
			return nil, fmt.Errorf("device %s: not one of this instance type", entry)
		}
		text, err := readText(entry, "core_count")
		if err != nil {
			return nil, err
		}
		if n.cores[number], err = strconv.ParseInt(text, 10, 64); err != nil {
			return nil, err
		}
		if text, err = readText(sysfs, "bus/pci/devices", address(number), "numa_node"); err != nil {
			return nil, err
		}
		if n.numa[number], err = strconv.ParseInt(text, 10, 64); err != nil {
			return nil, err
		}
		link, err := os.Readlink(filepath.Join(sysfs, "bus/pci/devices", address(number)))
		if err != nil {
			return nil, err
		}
		_, place, _ := strings.Cut(link, "/devices/")
		n.root[number], _, _ = strings.Cut(place, "/")
	}
	return n, nil
}

func deviceName(number int) string { return fmt.Sprintf("neuron-device-%d", number) }

// group names the block of n devices that holds the device, after the EFA interfaces in it.
func group(number, n int) string {
	if n == 1 {
		return "0000:" + efa[number] + ":00.0"
	}
	var interfaces []string
	for i := range n {
		interfaces = append(interfaces, group(number/n*n+i, 1))
	}
	slices.Sort(interfaces)
	sum := sha256.Sum256([]byte(strings.Join(interfaces, ",")))
	return hex.EncodeToString(sum[:])[:16]
}

func (n *node) devices(labels map[string]string) []resource.Device {
	var devices []resource.Device
	for number := range len(efa) {
		cores, present := n.cores[number]
		if present {
			devices = append(devices, resource.Device{Name: deviceName(number),
				Attributes: n.attributes(int64(number), cores, labels),
				Capacity: map[resource.QualifiedName]resource.DeviceCapacity{
					"memory": {Value: quantity.MustParse("96Gi")}}})
		}
	}
	return devices
}

func (n *node) attributes(number, cores int64, labels map[string]string) map[resource.QualifiedName]resource.DeviceAttribute {
	integer := func(v int64) resource.DeviceAttribute { return resource.DeviceAttribute{IntValue: &v} }
	text := func(v string) resource.DeviceAttribute { return resource.DeviceAttribute{StringValue: &v} }
	configurable, version := true, driverVersion
	all := map[resource.QualifiedName]resource.DeviceAttribute{
		"contiguous2_id":      integer(number / 2),
		"coreCount":           integer(cores),
		"deviceId":            integer(number),
		"draDriverVersion":    {VersionValue: &version},
		"instanceType":        text(instanceType),
		"lncConfigurable":     {BoolValue: &configurable},
		"neuronDriverVersion": text(n.moduleVersion),
		"resourceType":        text("neuron_device"),
		"topology_x":          integer(number / gridWidth),
		"topology_y":          integer(number % gridWidth),
		"topology4_id":        integer(number / 4),
		"topology8_id":        integer(number / 8),
	}
	for layer := 1; layer <= 3; layer++ {
		if value, ok := labels[labelPrefix+strconv.Itoa(layer)]; ok {
			all[resource.QualifiedName(fmt.Sprintf("networkNodeLayer%d", layer))] = text(value)
		}
	}
	all["resource.kubernetes.io/numaNode"] = integer(n.numa[int(number)])
	all["resource.kubernetes.io/pciBusID"] = text(address(int(number)))
	all["resource.kubernetes.io/pcieRoot"] = text(n.root[int(number)])
	for _, size := range []int{1, 4, 8, 16} {
		all[resource.QualifiedName(fmt.Sprintf("%s%d_id", groupPrefix, size))] = text(group(int(number), size))
	}
	return all
}
