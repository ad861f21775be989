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
	drahealth "k8s.io/kubelet/pkg/apis/dra-health/v1alpha1"
)

// efaTaints returns the taints of an EFA device; listed: the slice has the device.
func efaTaints(api *apiServer, name string) (taints []resource.DeviceTaint, listed bool) {
	for _, slice := range api.ofEFA() {
		for _, device := range slice.Spec.Devices {
			if device.Name == name {
				return device.Taints, true
			}
		}
	}
	return nil, false
}

// efaIs waits until a device is listed with or without the taint.
func efaIs(t *testing.T, api *apiServer, name string, tainted bool) {
	t.Helper()
	waitFor(t, fmt.Sprintf("%s tainted: %t", name, tainted), func() bool {
		taints, listed := efaTaints(api, name)
		if !tainted {
			return listed && len(taints) == 0
		}
		return listed && len(taints) == 1 && taints[0].Key == driverName+"/unhealthy" && taints[0].Effect == resource.DeviceTaintEffectNoSchedule
	})
}

// efaGone waits until a device is not listed.
func efaGone(t *testing.T, api *apiServer, name string) {
	t.Helper()
	waitFor(t, name+" left out", func() bool { _, listed := efaTaints(api, name); return !listed && len(api.ofEFA()) == 1 })
}

// A link that is down, a node that is gone and a driver that lets go, of free devices and of one that a claim holds.
func TestEFAHealth(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, _, efa, address := runningBoth(t, api, "trn2.48xlarge", "--health-interval", healthInterval.String())
	reports := efa.watchDevices(t, "v1")
	waitEntry(t, reports, 16, "pci-0000-c9-00-0", drahealth.HealthStatus_HEALTHY, "")

	// The link goes down and comes back; INIT and ARMED are no links that carry data either.
	for _, state := range []string{"1: DOWN", "2: INIT", "3: ARMED"} {
		mark := a.log.count()
		a.setPort("0000:c9:00.0", state)
		waitEntry(t, reports, 16, "pci-0000-c9-00-0", drahealth.HealthStatus_UNHEALTHY, "link_efa")
		efaIs(t, api, "pci-0000-c9-00-0", true)
		efaIs(t, api, "pci-0000-b4-00-0", false)
		a.waitLog(mark, "event=device_unhealthy", "driver="+efaDriver, "device=pci-0000-c9-00-0", "text=link_efa")
		a.setPort("0000:c9:00.0", "4: ACTIVE")
		waitEntry(t, reports, 16, "pci-0000-c9-00-0", drahealth.HealthStatus_HEALTHY, "")
		efaIs(t, api, "pci-0000-c9-00-0", false)
		a.waitLog(mark, "event=device_recovered", "driver="+efaDriver, "device=pci-0000-c9-00-0")
	}
	// No Neuron device is concerned.
	if text := strings.Join(a.log.slice(0, a.log.count()), "\n"); strings.Contains(text, "device=neuron-device") {
		t.Error("a line of Neuron devices")
	}
	waitFor(t, "the Event", func() bool { return api.event("NeuronDeviceUnhealthy") != nil })
	contains(t, api.event("NeuronDeviceUnhealthy").Note, "device=pci-0000-c9-00-0")

	// A free device of which the node goes, or the driver lets go, is not offered; one that a claim holds stays, tainted.
	held := api.addClaim(withEFA(newClaim("held"), "efa=pci-0000-b4-00-0"))
	efa.prepareOK(named(held))
	node := filepath.Join(a.node, "dev/infiniband/uverbs9") // of 0000:b4:00.0
	check(t, os.Rename(node, node+".away"))
	efaIs(t, api, "pci-0000-b4-00-0", true)
	contains(t, efa.prepare(named(held))[string(held.UID)].Error, "pci-0000-b4-00-0 is gone: the kernel module no longer shows it (see dmesg). Delete the pod to get another device.")
	free := filepath.Join(a.node, "dev/infiniband/uverbs8") // of 0000:b3:00.0
	check(t, os.Rename(free, free+".away"))
	efaGone(t, api, "pci-0000-b3-00-0")
	simnode(t, "remove", "--dir", a.node, "0000:ca:00.0")
	efaGone(t, api, "pci-0000-ca-00-0")
	waitFor(t, "three devices that are gone", func() bool {
		text := a.commandOK(address, "devices")
		return strings.Contains(text, "pci-0000-b4-00-0  1       gone     default/held") && strings.Contains(text, "13 EFA devices, 1 held, 1 unhealthy or gone")
	})
	check(t, os.Rename(node+".away", node))
	check(t, os.Rename(free+".away", free))
	simnode(t, "add", "--dir", a.node, "0000:ca:00.0")
	for _, name := range []string{"pci-0000-b4-00-0", "pci-0000-b3-00-0", "pci-0000-ca-00-0"} {
		efaIs(t, api, name, false)
	}
	efa.prepareOK(named(held))
}

// Where the server drops taints, an unhealthy device is left out, unless a claim holds it.
func TestEFAHealthWithoutTaints(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, _, efa, _ := runningBoth(t, api, "trn2.48xlarge", "--health-interval", healthInterval.String(), "--unhealthy-taint", "")
	held := api.addClaim(withEFA(newClaim("held"), "efa=pci-0000-b4-00-0"))
	efa.prepareOK(named(held))
	a.setPort("0000:c9:00.0", "1: DOWN")
	a.setPort("0000:b4:00.0", "1: DOWN")
	efaGone(t, api, "pci-0000-c9-00-0")
	a.waitLog(0, "event=device_unhealthy", "device=pci-0000-b4-00-0")
	efaIs(t, api, "pci-0000-b4-00-0", false)
	a.setPort("0000:c9:00.0", "4: ACTIVE")
	efaIs(t, api, "pci-0000-c9-00-0", false)
}

// The driver is reloaded: all devices go and come back within seconds. Slices and claims stay; what the driver numbered in
// another order since, containers get by the device that the claim was prepared with.
func TestEFADriverReload(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, _, efa, address := runningBoth(t, api, "trn1.32xlarge", "--health-interval", healthInterval.String())
	same, other := api.addClaim(withEFA(newClaim("same"), "efa=pci-0000-a0-1a-0")), api.addClaim(withEFA(newClaim("other"), "efa=pci-0000-10-19-0"))
	efa.prepareOK(named(same))
	efa.prepareOK(named(other))
	writes := api.seen("create", "update", "delete")
	mark := a.log.count()
	driver := filepath.Join(a.node, "sys/bus/pci/drivers/efa")
	check(t, os.Rename(driver, driver+".away"))
	a.waitLog(mark, "event=devices_missing", "driver="+efaDriver)
	waitFor(t, "the reason", func() bool {
		code, text := page(t, address, "/readyz")
		return code == 503 && text == efaDriver+": the last probe found none of the node's devices: is the kernel module efa loaded?\n"
	})
	check(t, os.Rename(driver+".away", driver))
	a.waitLog(mark, "event=devices_found", "driver="+efaDriver, "devices=8")
	waitFor(t, "readiness", func() bool { code, _ := page(t, address, "/readyz"); return code == 200 })
	efa.prepareOK(named(same))
	if n := api.seen("create", "update", "delete") - writes; n != 0 || len(api.ofEFA()[0].Spec.Devices) != 8 {
		t.Errorf("%d writes in a reload: %v", n, api.ofEFA())
	}

	// Reloaded in another order: two devices have each other's node. Record and CDI file follow, with or without the API
	// server.
	api.down()
	mark = a.log.count()
	a.swapVerbs("0000:10:19.0", "0000:10:1a.0")
	a.waitLog(mark, "event=efa_node_moved", string(other.UID))
	equalStrings(t, "container's devices", a.inject(idsOf(efa.prepareOK(named(other)), "efa")...).devices, "/dev/infiniband/uverbs1")
	efa.prepareOK(named(same))
	api.up()
	equalStrings(t, "container's devices", a.inject(idsOf(efa.prepareOK(named(other)), "efa")...).devices, "/dev/infiniband/uverbs1")
}

// swapVerbs gives two devices each other's uverbs number.
func (a *agent) swapVerbs(one, other string) {
	a.t.Helper()
	place := func(address string) (folder, name string) {
		found, err := filepath.Glob(filepath.Join(a.node, "sys/bus/pci/devices", address, "infiniband_verbs/uverbs*"))
		check(a.t, err)
		if len(found) != 1 {
			a.t.Fatalf("nodes of %s: %v", address, found)
		}
		real, err := filepath.EvalSymlinks(filepath.Dir(found[0]))
		check(a.t, err)
		return real, filepath.Base(found[0])
	}
	folder, name := place(one)
	folder2, name2 := place(other)
	link := func(folder, name string) {
		path := filepath.Join(a.node, "sys/class/infiniband_verbs", name)
		to, err := filepath.Rel(filepath.Dir(path), filepath.Join(folder, name))
		check(a.t, err)
		check(a.t, os.Remove(path))
		check(a.t, os.Symlink(to, path))
	}
	ibdev := func(folder, name string) []byte {
		text, err := os.ReadFile(filepath.Join(folder, name, "ibdev"))
		check(a.t, err)
		return text
	}
	first, second := ibdev(folder, name), ibdev(folder2, name2)
	check(a.t, os.Rename(filepath.Join(folder, name), filepath.Join(folder, name2)))
	check(a.t, os.Rename(filepath.Join(folder2, name2), filepath.Join(folder2, name)))
	link(folder, name2)
	link(folder2, name)
	if slices.Equal(first, second) {
		a.t.Fatal("one device under two names")
	}
}

// On a type without a map a device that goes takes nothing from those that claims hold.
func TestEFAHotPlugUnmapped(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, _, efa, address := runningBoth(t, api, "trn1.32xlarge", "--health-interval", healthInterval.String(), "--instance-type", "trn2.3xlarge")
	claim := api.addClaim(withEFA(newClaim("held"), "efa=pci-0000-a0-1a-0"))
	efa.prepareOK(named(claim))
	contains(t, a.commandOK(address, "devices"), "pci-0000-a0-1a-0  -       healthy  default/held")
	simnode(t, "remove", "--dir", a.node, "0000:10:19.0")
	efaGone(t, api, "pci-0000-10-19-0")
	other := api.addClaim(withEFA(newClaim("other"), "efa=pci-0000-a0-1a-0"))
	contains(t, efa.prepare(named(other))[string(other.UID)].Error, "pci-0000-a0-1a-0 is already held by claim default/held")
	api.down() // what is prepared needs no server
	efa.prepareOK(named(claim))
	api.up()
	simnode(t, "add", "--dir", a.node, "0000:10:19.0")
	efaIs(t, api, "pci-0000-10-19-0", false)
	efa.prepareOK(named(claim))
}
