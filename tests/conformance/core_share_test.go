// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	resource "k8s.io/api/resource/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
)

const visibleCores = "NEURON_RT_VISIBLE_CORES="

// startCores starts an agent that shares Neuron devices by core.
func startCores(t testing.TB, api *apiServer, board string, flags ...string) (a *agent, neuron *kubelet) {
	t.Helper()
	a = newAgent(t, board)
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir), "--share-cores", "true")
	a.args = append(a.args, flags...)
	a.start()
	return a, a.register()
}

// consuming is the result of a claim as a share that takes so many cores.
func consuming(c *resource.ResourceClaim, at int, cores string) {
	result := &c.Status.Allocation.Devices.Results[at]
	id := types.UID(uid(fmt.Sprint(c.Name, at)))
	result.ShareID = &id
	result.ConsumedCapacity = map[resource.QualifiedName]quantity.Quantity{
		"cores": quantity.MustParse(cores), "memory": quantity.MustParse("0")}
}

// part is a claim of so many cores of a device.
func (s *apiServer) part(name string, device int, cores string) *resource.ResourceClaim {
	c := newClaim(name, fmt.Sprint("neurons=", device))
	consuming(c, 0, cores)
	c.Status.ReservedFor = []resource.ResourceClaimConsumerReference{{Resource: "pods", Name: "pod-of-" + name, UID: uid("pod of " + name)}}
	return s.addClaim(c)
}

// coresOf prepares a claim, and returns the cores that its container sees.
func (a *agent) coresOf(neuron *kubelet, c *resource.ResourceClaim) (cores string) {
	a.t.Helper()
	devices := neuron.prepareOK(named(c))
	if id := c.Status.Allocation.Devices.Results[0].ShareID; devices[0].ShareId == nil || *devices[0].ShareId != string(*id) {
		a.t.Errorf("share of %s: %+v, want %s", c.Name, devices[0], *id)
	}
	seen := a.inject(devices[0].CdiDeviceIds...)
	equalStrings(a.t, "container's devices", seen.devices, "/dev/neuron0")
	for _, variable := range seen.env {
		if value, found := strings.CutPrefix(variable, visibleCores); found {
			cores += value
		}
	}
	return cores
}

// coresIn counts the devices of the slice that claims may share; -1: an exclusive one has the capacity.
func coresIn(t testing.TB, slice *resource.ResourceSlice, cores, step int64) (count int) {
	t.Helper()
	for _, device := range slice.Spec.Devices {
		capacity, has := device.Capacity["cores"]
		memory := device.Capacity["memory"]
		if device.AllowMultipleAllocations == nil {
			if has {
				return -1
			}
			if memory.RequestPolicy != nil {
				t.Errorf("memory of an exclusive device: %+v", memory)
			}
			continue
		}
		count++
		policy := capacity.RequestPolicy
		if capacity.Value.Value() != cores || policy == nil || policy.Default.Value() != cores ||
			policy.ValidRange.Min.Value() != step || policy.ValidRange.Step.Value() != step || policy.ValidRange.Max != nil {
			t.Errorf("capacity of %s: %+v", device.Name, capacity)
		}
		if memory.RequestPolicy == nil || !memory.RequestPolicy.Default.IsZero() || memory.RequestPolicy.ValidRange != nil {
			t.Errorf("memory of %s: %+v", device.Name, memory)
		}
	}
	return count
}

func waitCores(t testing.TB, api *apiServer, count int, cores, step int64) {
	t.Helper()
	waitFor(t, fmt.Sprint(count, " devices shared by core"), func() bool {
		own := api.own()
		return len(own) == 1 && coresIn(t, own[0], cores, step) == count
	})
}

// Claims share a device by core, through kills, a lost CDI directory and a lost store: nobody gets a core of another.
func TestCoreShares(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, neuron := startCores(t, api, "trn2.48xlarge")
	waitCores(t, api, 16, 8, 2)
	// Physical cores are given in pairs, which the runtime joins (LNC 2) and numbers from 0 on.
	claims := []*resource.ResourceClaim{api.part("a", 3, "2"), api.part("b", 3, "4"), api.part("c", 3, "2")}
	want := []string{"0", "1-2", "3"}
	replies, files := [][]byte{}, []string{}
	for i, c := range claims {
		if got := a.coresOf(neuron, c); got != want[i] {
			t.Errorf("claim %s has cores %q, want %q", c.Name, got, want[i])
		}
		contains(t, a.cdiBytes(c), "NEURON_LOGICAL_NC_CONFIG=2", "/neuron3")
		reply, err := neuron.callBytes(prepareV1, callLimit, named(c))
		check(t, err)
		replies, files = append(replies, reply), append(files, a.cdiBytes(c))
	}
	contains(t, a.command("127.0.0.1:1", "claims").stdout, "cores 0-1)", "cores 2-5)", "cores 6-7)")
	contains(t, a.command("127.0.0.1:1", "claims", "-o", "json").stdout, `"cores": "2-5"`)
	late := api.part("late", 3, "2")
	contains(t, neuron.prepareError(named(late)), "claim default/late", "neuron-device-3", "has no 2 free cores side by side (free: 0 of 8)", "end pods")
	alone := api.addClaim(newClaim("alone", "neurons=3"))
	contains(t, neuron.prepareError(named(alone)), "neuron-device-3 is already held by claim default/a")
	for _, lost := range []string{"nothing", "CDI", "store", "nothing"} {
		a.kill()
		if lost == "CDI" {
			check(t, os.RemoveAll(a.cdiDir()))
			check(t, os.Mkdir(a.cdiDir(), 0o755))
		}
		if lost == "store" {
			check(t, os.Remove(filepath.Join(a.pluginDir(), "claims.store")))
		}
		a.start()
		neuron = a.register()
		contains(t, neuron.prepareError(named(late)), "(free: 0 of 8)")
		for i := range claims {
			c := claims[len(claims)-1-i]
			at := len(claims) - 1 - i
			reply, err := neuron.callBytes(prepareV1, callLimit, named(c))
			check(t, err)
			if !bytes.Equal(reply, replies[at]) || a.cdiBytes(c) != files[at] {
				t.Errorf("another reply or file of claim %s after a kill, %s lost", c.Name, lost)
			}
		}
	}
	// Cores are given back. Two pairs with one between them are no four cores side by side.
	neuron.unprepareOK(named(claims[0]))
	neuron.unprepareOK(named(claims[2]))
	four := api.part("four", 3, "4")
	contains(t, neuron.prepareError(named(four)), "has no 4 free cores side by side (free: 4 of 8)")
	if got := a.coresOf(neuron, late); got != "0" {
		t.Errorf("the late claim has cores %q", got)
	}
	neuron.unprepareOK(named(claims[1]))
	if got := a.coresOf(neuron, four); got != "1-2" {
		t.Errorf("four cores are %q", got)
	}
}

// On inf2 a core is a core: two claims, each with one; who asks for both has the device alone.
func TestCoreSharesOfTwoCores(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, neuron := startCores(t, api, "inf2.xlarge")
	waitCores(t, api, 1, 2, 1)
	first, second, whole := api.part("first", 0, "1"), api.part("second", 0, "1"), api.part("whole", 0, "2")
	if got := a.coresOf(neuron, first); got != "0" {
		t.Errorf("cores %q", got)
	}
	contains(t, neuron.prepareError(named(whole)), "already held by claim default/first")
	if got := a.coresOf(neuron, second); got != "1" {
		t.Errorf("cores %q", got)
	}
	if strings.Contains(a.cdiBytes(second), "NEURON_LOGICAL_NC_CONFIG") {
		t.Error("LNC on a type that has none")
	}
	neuron.unprepareOK(named(first))
	neuron.unprepareOK(named(second))
	if got := a.coresOf(neuron, whole); got != "" {
		t.Errorf("the whole device is cores %q", got)
	}
	contains(t, neuron.prepareError(named(first)), "already held by claim default/whole")
}

// What a part of a device cannot be.
func TestCoreSharesRefused(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	_, neuron := startCores(t, api, "trn2.48xlarge")
	two := newClaim("two", "neurons=1", "neurons=2")
	consuming(two, 0, "2")
	consuming(two, 1, "2")
	contains(t, neuron.prepareError(named(api.addClaim(two))), "claim default/two asks for a part of a device's cores beside other devices")
	contains(t, neuron.prepareError(named(api.part("odd", 1, "3"))), "not a multiple of the published step")
	single := api.part("single", 1, "2")
	configure(single, resource.AllocationConfigSourceClaim, lnc(1))
	contains(t, neuron.prepareError(named(single)), "logicalNeuronCore 1; ask for 2")
	// Two claims of one pod, of which one is a part, whichever comes first.
	part, whole := api.part("part", 1, "2"), newClaim("whole", "neurons=2")
	whole.Status.ReservedFor = part.Status.ReservedFor
	api.addClaim(whole)
	for _, pair := range [][]*resource.ResourceClaim{{part, whole}, {whole, part}} {
		neuron.prepareOK(named(pair[0]))
		contains(t, neuron.prepareError(named(pair[1])), "claim part", "claim whole", "of the same pod", "the only one of its pod")
		neuron.unprepareOK(named(pair[0]))
	}
}

// A release that knows no parts holds the device for the claims that have some and gives nobody else one. What it prepares again
// sees all cores, until the newer release is back: then each claim has cores of its own again.
func TestCoreSharesDowngrade(t *testing.T) {
	t.Parallel()
	if !exists(olderBinary) {
		skipped.add(t.Name(), "the older release is not built: make older")
		t.Skip("the older release is not built: make older")
	}
	api := startAPIServer(t)
	a, neuron := startCores(t, api, "trn2.48xlarge")
	waitCores(t, api, 16, 8, 2)
	claims := []*resource.ResourceClaim{api.part("a", 3, "2"), api.part("b", 3, "4")}
	var files []string
	for i, c := range claims {
		if got, want := a.coresOf(neuron, c), []string{"0", "1-2"}[i]; got != want {
			t.Errorf("claim %s has cores %q, want %q", c.Name, got, want)
		}
		files = append(files, a.cdiBytes(c))
	}
	a.kill()
	line := append([]string{olderBinary}, a.commandLine()...)
	for _, unknown := range []string{"--neuron-config-directory-path", "--share-cores"} {
		at := slices.Index(line, unknown)
		line = slices.Delete(line, at, at+2)
	}
	a.launch(line...)
	neuron = a.register()
	alone := api.addClaim(newClaim("alone", "neurons=3"))
	contains(t, neuron.prepareError(named(alone)), "neuron-device-3 is already held by claim default/")
	neuron.prepareOK(named(claims[0])) // as after a restart of the kubelet
	if again, left := a.cdiBytes(claims[0]), a.cdiBytes(claims[1]); strings.Contains(again, visibleCores) || left != files[1] {
		t.Errorf("the older release writes\n%s\nand leaves\n%s", again, left)
	}
	a.kill()
	a.start()
	neuron = a.register()
	contains(t, neuron.prepareError(named(alone)), "neuron-device-3 is already held by claim default/")
	for i, c := range claims {
		if got, want := a.coresOf(neuron, c), []string{"0", "1-2"}[i]; got != want || a.cdiBytes(c) != files[i] {
			t.Errorf("claim %s has cores %q after the way back, want %q", c.Name, got, want)
		}
	}
	neuron.unprepareOK(named(claims[0]))
	neuron.unprepareOK(named(claims[1]))
	neuron.prepareOK(named(alone))
}

// After a reboot a part gets a device that a claim of before had as a whole, while a process uses memory of it: the part is
// refused, and no file of it is left that the next process would take for a prepared claim.
func TestCoreShareRefusedAfterReboot(t *testing.T) {
	t.Parallel()
	const memory = "neuron3/neuron_core0/stats/memory_usage/device_mem/total"
	api := startAPIServer(t)
	a, neuron := startCores(t, api, "trn2.48xlarge")
	waitCores(t, api, 16, 8, 2)
	neuron.prepareOK(named(api.addClaim(newClaim("whole", "neurons=3"))))
	a.kill()
	simnode(t, "reboot", "--dir", a.node)
	simnode(t, "set", "--dir", a.node, memory, "4096\n")
	a.start()
	neuron = a.register()
	part := api.part("part", 3, "2")
	for range 2 {
		contains(t, neuron.prepareError(named(part)), "device neuron-device-3 has 4096 bytes of memory in use")
		a.noCDI()
		a.kill()
		a.start()
		neuron = a.register()
	}
	simnode(t, "set", "--dir", a.node, memory, "0\n")
	if got := a.coresOf(neuron, part); got != "0" {
		t.Errorf("cores %q", got)
	}
}

// Sharing is switched off while claims have parts: they keep them, nobody joins, and the slice has exclusive devices.
func TestCoreSharesSwitchedOff(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, neuron := startCores(t, api, "inf2.xlarge")
	waitCores(t, api, 1, 2, 1)
	first, second, third := api.part("first", 0, "1"), api.part("second", 0, "1"), api.part("third", 0, "1")
	a.coresOf(neuron, first)
	a.coresOf(neuron, second)
	if code := a.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	a.args = append(a.args, "--share-cores=false")
	a.start()
	neuron = a.register()
	waitCores(t, api, -1, 2, 1) // the capacity keeps the scheduler off while parts are left
	neuron.unprepareOK(named(first))
	contains(t, neuron.prepareError(named(third)), "is already held by claim default/second", "switch sharing on again")
	if got := a.coresOf(neuron, second); got != "1" {
		t.Errorf("cores %q", got)
	}
	neuron.unprepareOK(named(second))
	waitCores(t, api, 0, 2, 1)
}

// A server that does not keep shared devices: they are exclusive, which is reported once.
func TestCoreSharesDropped(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	api.drop = func(s *resource.ResourceSlice) {
		for i := range s.Spec.Devices {
			device := &s.Spec.Devices[i]
			device.AllowMultipleAllocations = nil
			for key, capacity := range device.Capacity {
				capacity.RequestPolicy = nil
				device.Capacity[key] = capacity
			}
		}
	}
	a, neuron := startCores(t, api, "inf2.xlarge")
	a.waitLog(0, "event=device_sharing_dropped", "DRAConsumableCapacity", "--share-cores=false")
	waitCores(t, api, 0, 2, 1)
	waitFor(t, "the Event", func() bool { return api.event("DeviceSharingDropped") != nil })
	neuron.prepareOK(named(api.addClaim(newClaim("alone", "neurons=0"))))
	contains(t, neuron.prepareError(named(api.addClaim(newClaim("other", "neurons=0")))), "is already held by claim default/alone")
}
