// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	resource "k8s.io/api/resource/v1"
)

// The files of dranetDir hold what dranet's own discovery (pkg/inventory with pkg/cloudprovider/aws of revision f258477, after
// its release 1.4.0) published on the trees of dranetTrees, seen once: the tree's sys was bound over /sys in a mount and a
// network namespace, the instance identity came from a server on loopback, and the PCI ID database was that of its image. RDMA
// devices it read from sysfs, since netlink has none in a new network namespace. Its module is in no registry that this build
// may use, so no test runs it: these files are compared.
const dranetDir = "../vectors/dranet"

// dranetTrees are the trees besides those of the boards, and how each is made of one.
var dranetTrees = map[string]struct {
	board  string
	change func(t *testing.T, node string)
}{
	// Of eight devices, seven each with an oddity of its own.
	"odd": {"trn1.32xlarge", func(t *testing.T, node string) {
		replace(t, node, "sys/bus/pci/devices/0000:10:19.0/numa_node", "-1\n")
		simnode(t, "remove", "--dir", node, "0000:10:1a.0")
		giveToVFIO(t, node, "0000:20:19.0")
		replace(t, node, "sys/bus/pci/devices/0000:20:1a.0/infiniband/rdmap32s26/ports/1/state", "1: DOWN\n")
		behindBridge(t, node, "0000:90:19.0", "rdmap144s25", "uverbs4")
		check(t, os.Remove(filepath.Join(node, "sys/bus/pci/devices/0000:90:1a.0/numa_node")))
		replace(t, node, "sys/bus/pci/devices/0000:a0:19.0/modalias", "pci:v00001D0Fd0000EFA9sv00001D0Fsd0000EFA9bc02sc00i00\n")
		replace(t, node, "sys/bus/pci/devices/0000:a0:19.0/device", "0xefa9\n")
		replace(t, node, "sys/bus/pci/devices/0000:a0:19.0/subsystem_device", "0xefa9\n")
		addENA(t, node, "0000:00:05.0")
	}},
	// EFA devices where no map says to which Neuron devices they belong.
	"unknown-type": {"trn1.32xlarge", func(t *testing.T, node string) {
		replace(t, node, "sys/devices/virtual/dmi/id/product_name", "xyz9.96xlarge\n")
	}},
}

// replace writes a file of the tree, through its links.
func replace(t *testing.T, node, path, text string) {
	t.Helper()
	check(t, os.Remove(filepath.Join(node, path)))
	check(t, os.WriteFile(filepath.Join(node, path), []byte(text), 0o444))
}

// link makes a symbolic link from one place below sys to another, as sysfs has them.
func link(t *testing.T, node, from, to string) {
	t.Helper()
	from, to = filepath.Join(node, "sys", from), filepath.Join(node, "sys", to)
	check(t, os.MkdirAll(filepath.Dir(from), 0o755))
	_ = os.Remove(from)
	check(t, os.Symlink(must(filepath.Rel(filepath.Dir(from), to)), from))
}

// giveToVFIO takes a function from the EFA driver and binds it to that of virtual machines.
func giveToVFIO(t *testing.T, node, address string) {
	t.Helper()
	simnode(t, "remove", "--dir", node, address)
	place := "devices/pci" + address[:len("0000:20")] + "/" + address
	link(t, node, "bus/pci/drivers/vfio-pci/"+address, place)
	link(t, node, place+"/driver", "bus/pci/drivers/vfio-pci")
}

// behindBridge moves a function from its root complex behind a bridge of the same.
func behindBridge(t *testing.T, node, address, rdma, verbs string) {
	t.Helper()
	root := "devices/pci" + address[:len("0000:90")]
	place := root + "/" + address[:len("0000:90")] + ":01.0/" + address
	check(t, os.MkdirAll(filepath.Join(node, "sys", filepath.Dir(place)), 0o755))
	check(t, os.Rename(filepath.Join(node, "sys", root, address), filepath.Join(node, "sys", place)))
	link(t, node, "bus/pci/devices/"+address, place)
	link(t, node, "bus/pci/drivers/efa/"+address, place)
	link(t, node, "class/infiniband/"+rdma, place+"/infiniband/"+rdma)
	link(t, node, "class/infiniband_verbs/"+verbs, place+"/infiniband_verbs/"+verbs)
	link(t, node, place+"/driver", "bus/pci/drivers/efa")
	link(t, node, place+"/infiniband/"+rdma+"/device", place)
	link(t, node, place+"/infiniband_verbs/"+verbs+"/device", place)
}

// addENA adds a network card of the kind that comes with every instance.
func addENA(t *testing.T, node, address string) {
	t.Helper()
	place := "devices/pci" + address[:len("0000:00")] + "/" + address
	link(t, node, "bus/pci/devices/"+address, place)
	check(t, os.MkdirAll(filepath.Join(node, "sys", place), 0o755))
	for name, text := range map[string]string{"class": "0x020000", "vendor": "0x1d0f", "device": "0xec20", "numa_node": "0",
		"subsystem_vendor": "0x1d0f", "subsystem_device": "0xec20",
		"modalias": "pci:v00001D0Fd0000EC20sv00001D0Fsd0000EC20bc02sc00i00"} {
		check(t, os.WriteFile(filepath.Join(node, "sys", place, name), []byte(text+"\n"), 0o444))
	}
	link(t, node, "bus/pci/drivers/ena/"+address, place)
	link(t, node, place+"/driver", "bus/pci/drivers/ena")
}

// attributeLines are the attributes of devices, a line for each, as the files of dranetDir have them.
func attributeLines(devices []resource.Device) (lines []string) {
	for _, device := range devices {
		for key, value := range device.Attributes {
			line := fmt.Sprint(device.Name, " ", key)
			switch {
			case value.StringValue != nil:
				line += " string " + *value.StringValue
			case value.IntValue != nil:
				line += fmt.Sprint(" int ", *value.IntValue)
			case value.BoolValue != nil:
				line += fmt.Sprint(" bool ", *value.BoolValue)
			default:
				line += " of another type"
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// difference is what one of the two publishes alone: words that stand in such a line, and why.
type difference struct {
	words []string
	why   string
	seen  int
}

// take says whether the line is one of the differences, and counts it there.
func take(known []*difference, line string) bool {
	i := slices.IndexFunc(known, func(d *difference) bool { return containsAll(line, d.words) })
	if i >= 0 {
		known[i].seen++
	}
	return i >= 0
}

// lacking returns the lines that the other list has not.
func lacking(lines, other []string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return slices.Contains(other, line) })
}

// On the same tree the agent publishes device by device what dranet does, but for the differences that are listed here.
func TestEFASlicesAreThoseOfDranet(t *testing.T) {
	t.Parallel()
	ours := []*difference{
		{[]string{" resource.kubernetes.io/pciBusID string "}, "a standard attribute that dranet does not publish: a claim can " +
			"ask for one device by it whichever driver publishes it", 0},
		{[]string{"pci-0000-a0-19-0 dra.net/pciDevice string Elastic Fabric Adapter (EFA)"}, "the DeviceClass of AWS's chart selects by " +
			"this name, and the kernel driver has the device: one that is newer than a database of names is an EFA device too", 0},
	}
	theirs := []*difference{
		{[]string{"pci-0000-00-05-0 "}, "a network card: the agent has the devices of the kernel driver efa alone, and moves no " +
			"network interface into a pod", 0},
		{[]string{"pci-0000-a0-19-0 dra.net/pciDevice string unknown"}, "the same device as above", 0},
	}
	trees := []string{"odd", "unknown-type"}
	for _, file := range files(t, "../vectors/efa") {
		trees = append(trees, strings.TrimSuffix(file, ".txt"))
	}
	for _, tree := range trees {
		api := startAPIServer(t)
		board := tree
		if made, is := dranetTrees[tree]; is {
			board = made.board
		}
		a := newAgent(t, board)
		if made, is := dranetTrees[tree]; is {
			made.change(t, a.node)
		}
		a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir), "--efa", "true")
		a.start()
		a.register() // what is not registered is published later
		a.registerEFA()
		waitFor(t, tree+": the slice of the EFA driver", func() bool { return len(api.ofEFA()) == 1 })
		devices := api.ofEFA()[0].Spec.Devices
		got := attributeLines(devices)
		var want []string
		for _, line := range strings.Split(strings.TrimSpace(string(must(os.ReadFile(filepath.Join(dranetDir, tree+".txt"))))), "\n") {
			if !strings.HasPrefix(line, "#") {
				want = append(want, line)
			}
		}
		for _, line := range lacking(got, want) {
			if !take(ours, line) {
				t.Errorf("%s: the agent alone publishes %q", tree, line)
			}
		}
		for _, line := range lacking(want, got) {
			if !take(theirs, line) {
				t.Errorf("%s: dranet alone publishes %q", tree, line)
			}
		}
		// dranet has no opinion about a port that is down; the agent taints its device.
		for _, device := range devices {
			if down := tree == "odd" && device.Name == "pci-0000-20-1a-0"; down != (len(device.Taints) > 0) {
				t.Errorf("%s %s: taints %v", tree, device.Name, device.Taints)
			}
		}
		a.stop()
	}
	for _, d := range append(ours, theirs...) {
		if d.seen == 0 {
			t.Errorf("listed, but no difference any more: %q (%s)", d.words, d.why)
		}
	}
}
