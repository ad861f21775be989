// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"testing"
)

type attribute map[string]any

type slice struct {
	Metadata meta `json:"metadata"`
	Spec     struct {
		Driver   string `json:"driver"`
		NodeName string `json:"nodeName"`
		Pool     struct {
			Name               string `json:"name"`
			Generation         int64  `json:"generation"`
			ResourceSliceCount int64  `json:"resourceSliceCount"`
		} `json:"pool"`
		Devices []device `json:"devices"`
	} `json:"spec"`
}

type device struct {
	Name       string               `json:"name"`
	Attributes map[string]attribute `json:"attributes"`
	Capacity   map[string]struct {
		Value string `json:"value"`
	} `json:"capacity"`
}

// UnmarshalJSON reads a device of any version: v1beta1 keeps attributes and capacities one level deeper.
func (d *device) UnmarshalJSON(data []byte) error {
	type plain device
	var either struct {
		plain
		Basic *plain `json:"basic"`
	}
	if err := json.Unmarshal(data, &either); err != nil {
		return err
	}
	*d = device(either.plain)
	if either.Basic != nil {
		d.Attributes, d.Capacity = either.Basic.Attributes, either.Basic.Capacity
	}
	return nil
}

// oneSlice is the node's only slice of the Neuron driver.
func oneSlice() (slice, error) {
	var list struct {
		Items []slice `json:"items"`
	}
	if err := get(&list, "resourceslices."+kube.Seen[0]+".resource.k8s.io", "--field-selector", "spec.driver="+driver); err != nil {
		return slice{}, err
	}
	if len(list.Items) != 1 {
		return slice{}, fmt.Errorf("%d slices, not 1", len(list.Items))
	}
	return list.Items[0], nil
}

func mustSlice(t *testing.T) slice {
	t.Helper()
	found, err := oneSlice()
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func text(value string) attribute    { return attribute{"string": value} }
func number(value int) attribute     { return attribute{"int": float64(value)} }
func version(value string) attribute { return attribute{"version": value} }

// agentVersion is the version that the agent was built to publish.
func agentVersion(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "cfg", "identity.h"))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`#define AGENT_VERSION "([0-9]+\.[0-9]+\.[0-9]+)"`).FindSubmatch(data)
	if found == nil {
		t.Fatal("cfg/identity.h names no AGENT_VERSION of three numbers")
	}
	return string(found[1])
}

// common are the attributes that every Neuron device has, with the names and types of the AWS driver, and our own two.
func common(t *testing.T, board string, id, cores int, lnc bool) map[string]attribute {
	t.Helper()
	return map[string]attribute{
		"deviceId":            number(id),
		"instanceType":        text(board),
		"neuronDriverVersion": text("2.26.5.0"),
		"draDriverVersion":    version(agentVersion(t)),
		"resourceType":        text("neuron_device"),
		"networkNodeLayer1":   text("nn-1111111111111111a"),
		"networkNodeLayer2":   text("nn-2222222222222222b"),
		"networkNodeLayer3":   text("nn-3333333333333333c"),
		"coreCount":           number(cores),
		"lncConfigurable":     {"bool": lnc},
	}
}

// The bus of each device of a trn2.48xlarge, and the NUMA node of each row, as AWS documents them.
var (
	trn2PCI  = []string{"cc", "b5", "b6", "cb", "6f", "58", "59", "6e", "9b", "84", "85", "9a", "f8", "e1", "e2", "f7"}
	trn2NUMA = []int{1, 0, 0, 1}
)

// The public EFA map of the trn2 family: the bus of the EFA of each device, and the ids of the blocks.
var (
	trn2EFA    = []string{"c9", "b4", "b3", "ca", "6c", "57", "56", "6d", "98", "83", "82", "99", "f5", "e0", "df", "f6"}
	trn2Group4 = []string{"13713e551cd37c19", "671622785349fddf", "237e3ef7b968b4d3", "b3d6ce1919d29f8f"}
	trn2Group8 = []string{"3593812b8066a078", "614e16dab9ba2f1f"}
	trn2All    = "821d14afaf11327d"
)

// trn2Device are the attributes of one device of a trn2.48xlarge.
func trn2Device(t *testing.T, id int) map[string]attribute {
	t.Helper()
	want := common(t, "trn2.48xlarge", id, 8, true)
	want["resource.kubernetes.io/pciBusID"] = text("0000:" + trn2PCI[id] + ":00.0")
	want["resource.kubernetes.io/numaNode"] = number(trn2NUMA[id/4])
	bus, err := strconv.ParseUint(trn2PCI[id], 16, 8)
	if err != nil {
		t.Fatal(err)
	}
	// The simulated node has a root complex for each four buses.
	want["resource.kubernetes.io/pcieRoot"] = text(fmt.Sprintf("pci0000:%02x", bus&^3))
	want["contiguous2_id"] = number(id / 2)
	want["topology_x"] = number(id / 4)
	want["topology_y"] = number(id % 4)
	want["topology4_id"] = number(id / 4)
	want["topology8_id"] = number(id / 8)
	want["resource.aws.com/devicegroup1_id"] = text("0000:" + trn2EFA[id] + ":00.0")
	want["resource.aws.com/devicegroup4_id"] = text(trn2Group4[id/4])
	want["resource.aws.com/devicegroup8_id"] = text(trn2Group8[id/8])
	want["resource.aws.com/devicegroup16_id"] = text(trn2All)
	return want
}

// checkSlice compares the published slice with count devices of this memory as want describes them, name by name, type
// by type.
func checkSlice(t *testing.T, count int, memory string, want func(*testing.T, int) map[string]attribute) {
	t.Helper()
	found := mustSlice(t)
	spec := found.Spec
	if spec.Driver != driver || spec.NodeName != kube.Node || spec.Pool.Name != kube.Node {
		t.Errorf("driver %q, node %q, pool %q; want %q and twice %q", spec.Driver, spec.NodeName, spec.Pool.Name, driver, kube.Node)
	}
	if spec.Pool.ResourceSliceCount != 1 || spec.Pool.Generation < 1 {
		t.Errorf("pool counts %d slices of generation %d; want 1 of at least 1", spec.Pool.ResourceSliceCount, spec.Pool.Generation)
	}
	checkOwner(t, found.Metadata)
	if len(spec.Devices) != count {
		t.Fatalf("%d devices, want %d", len(spec.Devices), count)
	}
	for id, device := range spec.Devices {
		if name := "neuron-device-" + strconv.Itoa(id); device.Name != name {
			t.Errorf("device %d is called %q, want %q", id, device.Name, name)
		}
		compare(t, device.Name, device.Attributes, want(t, id))
		if len(device.Capacity) != 1 || device.Capacity["memory"].Value != memory {
			t.Errorf("%s: capacity %v, want memory of %s", device.Name, device.Capacity, memory)
		}
	}
}

func checkOwner(t *testing.T, found meta) {
	t.Helper()
	var node struct {
		Metadata meta `json:"metadata"`
	}
	if err := get(&node, "node", kube.Node); err != nil {
		t.Fatal(err)
	}
	owners := found.OwnerReferences
	if len(owners) != 1 || owners[0].Kind != "Node" || owners[0].UID != node.Metadata.UID {
		t.Errorf("owners %+v, want the Node %s alone", owners, node.Metadata.UID)
	}
}

func compare(t *testing.T, device string, found, want map[string]attribute) {
	t.Helper()
	for key, value := range want {
		if !reflect.DeepEqual(found[key], value) {
			t.Errorf("%s: attribute %s is %v, want %v", device, key, found[key], value)
		}
	}
	for key := range found {
		if _, known := want[key]; !known {
			t.Errorf("%s: attribute %s = %v is not among the documented ones", device, key, found[key])
		}
	}
}

// waitNewSlice waits for a whole slice that is not the one with this UID.
func waitNewSlice(t *testing.T, old slice) {
	t.Helper()
	eventually(t, "a new slice instead of "+old.Metadata.Name, soon, func() error {
		found, err := oneSlice()
		if err != nil {
			return err
		}
		if found.Metadata.UID == old.Metadata.UID {
			return fmt.Errorf("the old slice is still there")
		}
		if !reflect.DeepEqual(found.Spec.Devices, old.Spec.Devices) {
			return fmt.Errorf("the new slice has other devices: %+v", found.Spec.Devices)
		}
		return nil
	})
}

func trn2Attributes(t *testing.T) { checkSlice(t, 16, "96Gi", trn2Device) }

func trn1Attributes(t *testing.T) {
	checkSlice(t, 1, "32Gi", func(t *testing.T, id int) map[string]attribute { return common(t, "trn1.2xlarge", id, 2, false) })
}

func sliceDeletedByHand(t *testing.T) {
	old := mustSlice(t)
	mustKubectl(t, "delete", "resourceslice", old.Metadata.Name)
	waitNewSlice(t, old)
	checkSlice(t, 16, "96Gi", trn2Device)
}

func sliceEditedByHand(t *testing.T) {
	old := mustSlice(t)
	path := "/spec/devices/3/attributes/instanceType"
	if kube.Seen[0] == "v1beta1" {
		path = "/spec/devices/3/basic/attributes/instanceType"
	}
	mustKubectl(t, "patch", "resourceslice", old.Metadata.Name, "--type=json", "-p",
		fmt.Sprintf(`[{"op":"replace","path":%q,"value":{"string":"edited.by-hand"}}]`, path))
	eventually(t, "the edited slice put right", soon, func() error {
		found, err := oneSlice()
		if err != nil {
			return err
		}
		if !reflect.DeepEqual(found.Spec.Devices, old.Spec.Devices) {
			return fmt.Errorf("device 3 is %+v", found.Spec.Devices[3])
		}
		return nil
	})
}
