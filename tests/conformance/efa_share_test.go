// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	resource "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	sharedEFA  = "pci-0000-b4-00-0" // uverbs9 of the simulated trn2.48xlarge
	sharedNode = "/dev/infiniband/uverbs9"
)

// startSharing starts an agent that publishes eight shares of each EFA device, or as many as the flag says.
func startSharing(t testing.TB, api *apiServer, flags ...string) (a *agent, efa *kubelet) {
	t.Helper()
	a = newAgent(t, "trn2.48xlarge")
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir), "--efa", "true")
	a.args = append(a.args, flags...)
	a.start()
	a.register()
	return a, a.registerEFA()
}

// sharing is a claim of shares of one EFA device, one for each request.
func (s *apiServer) sharing(name string, requests ...string) *resource.ResourceClaim {
	c := newClaim(name)
	for i, request := range requests {
		withEFA(c, request+"="+sharedEFA)
		id := types.UID(uid(fmt.Sprint(name, i)))
		c.Status.Allocation.Devices.Results[i].ShareID = &id
	}
	c.Status.ReservedFor = []resource.ResourceClaimConsumerReference{{Resource: "pods", Name: "pod-of-" + name, UID: uid("pod of " + name)}}
	return s.addClaim(c)
}

// sharedIn counts the devices of the EFA slice that may be shared, and looks at their capacity; -1: an exclusive one has it.
func sharedIn(t testing.TB, slice *resource.ResourceSlice) (count int) {
	t.Helper()
	for _, device := range slice.Spec.Devices {
		shares, has := device.Capacity["shares"]
		if device.AllowMultipleAllocations == nil {
			if has {
				return -1
			}
			continue
		}
		count++
		policy := shares.RequestPolicy
		if !*device.AllowMultipleAllocations || shares.Value.Value() != 8 || policy == nil || policy.Default.Value() != 8 ||
			policy.ValidRange.Min.Value() != 1 || policy.ValidRange.Step.Value() != 1 || policy.ValidRange.Max != nil {
			t.Errorf("capacity of %s: %+v", device.Name, shares)
		}
	}
	return count
}

// waitShared waits until so many devices of the EFA slice may be shared.
func waitShared(t testing.TB, api *apiServer, count int) {
	t.Helper()
	waitFor(t, fmt.Sprint(count, " shared devices"), func() bool {
		own := api.ofEFA()
		return len(own) == 1 && sharedIn(t, own[0]) == count
	})
}

// Eight claims share an EFA device, through kills, a lost CDI directory and a lost store; the device of the others is not touched.
func TestEFAShares(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, efa := startSharing(t, api, "--efa-share", "8")
	waitShared(t, api, 16)
	claims := []*resource.ResourceClaim{api.sharing("twice", "a", "b")} // two requests, a share each
	for i := 1; i < 8; i++ {
		claims = append(claims, api.sharing(fmt.Sprint("share-", i), "efa"))
	}
	replies := [][]byte{}
	for i, c := range claims {
		for k, device := range efa.prepareOK(named(c)) {
			result := c.Status.Allocation.Devices.Results[k]
			if device.ShareId == nil || *device.ShareId != string(*result.ShareID) || device.DeviceName != sharedEFA {
				t.Errorf("claim %d: %+v of %+v", i, device, result)
			}
			equalStrings(t, "container's devices", a.inject(device.CdiDeviceIds...).devices, sharedNode)
		}
		reply, err := efa.callBytes(prepareV1, callLimit, named(c))
		check(t, err)
		replies = append(replies, reply)
		if i == 3 || i == 6 {
			a.kill()
			a.start()
			a.register()
			efa = a.registerEFA()
		}
	}
	// Who has the device for itself is in the way, and is kept out, by name.
	alone := api.addClaim(withEFA(newClaim("alone"), "efa="+sharedEFA))
	contains(t, efa.prepareError(named(alone)), "requested device "+sharedEFA+" is already held by claim default/")
	// A container with both requests of a claim has the device once.
	both := efa.prepareOK(named(claims[0]))
	equalStrings(t, "container's devices", a.inject(append(idsOf(both, "a"), idsOf(both, "b")...)...).devices, sharedNode)
	// Neither a kill nor a lost CDI directory nor a lost store takes one of them.
	for _, lost := range []string{"nothing", "CDI", "store", "CDI and store"} {
		a.kill()
		if strings.Contains(lost, "CDI") {
			check(t, os.RemoveAll(a.cdiDir()))
			check(t, os.Mkdir(a.cdiDir(), 0o755))
		}
		if strings.Contains(lost, "store") {
			check(t, os.Remove(filepath.Join(filepath.Dir(a.efaServiceSocket()), "claims.store")))
		}
		a.start()
		a.register()
		efa = a.registerEFA()
		for i, c := range claims {
			reply, err := efa.callBytes(prepareV1, callLimit, named(c))
			check(t, err)
			if !bytes.Equal(reply, replies[i]) {
				t.Errorf("another reply for claim %d after a kill, %s lost", i, lost)
			}
		}
	}
	// One gives its share back: seven are left, and its place is free.
	efa.unprepareOK(named(claims[4]))
	if n := len(files(t, a.cdiDir())); n != 7 {
		t.Errorf("%d CDI files, want 7", n)
	}
	for i, c := range claims {
		if i != 4 {
			equalStrings(t, "container's devices", a.inject(efa.prepareOK(named(c))[0].CdiDeviceIds...).devices, sharedNode)
		}
	}
	efa.prepareOK(named(api.sharing("next", "efa")))
}

// Sharing is switched off while two claims have shares: both keep them, nobody joins, and the slice has exclusive devices.
func TestEFASharesSwitchedOff(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, efa := startSharing(t, api, "--efa-share", "8")
	waitShared(t, api, 16)
	first, second, third := api.sharing("first", "efa"), api.sharing("second", "efa"), api.sharing("third", "efa")
	efa.prepareOK(named(first))
	efa.prepareOK(named(second))
	if code := a.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	a.args = append(a.args, "--efa-share=1")
	a.start()
	a.register()
	efa = a.registerEFA()
	waitShared(t, api, -1) // the capacity keeps the scheduler off while shares are left
	if shares := api.ofEFA()[0].Spec.Devices[0].Capacity["shares"]; shares.Value.Value() != 1 || shares.RequestPolicy != nil {
		t.Errorf("capacity of an exclusive device: %+v", shares)
	}
	efa.prepareOK(named(first))
	efa.prepareOK(named(second))
	contains(t, efa.prepareError(named(third)), "is already held by claim default/first", "which has a share of it",
		"switch sharing on again")
	efa.unprepareOK(named(first))
	contains(t, efa.prepareError(named(third)), "is already held by claim default/second")
	efa.unprepareOK(named(second))
	efa.prepareOK(named(third))
	contains(t, efa.prepareError(named(first)), "is already held by claim default/third")
	efa.unprepareOK(named(third))
	waitShared(t, api, 0)
}

// A server that does not keep shared devices: gate off, or a version of the API that has none. They are exclusive, which is
// reported once, and after an upgrade they are shared.
func TestEFASharesDropped(t *testing.T) {
	t.Parallel()
	for _, served := range []string{"v1", "v1beta1"} {
		t.Run(served, func(t *testing.T) {
			t.Parallel()
			api := startAPIServer(t)
			if served != "v1" {
				api.serveOnly(served)
			}
			var sent atomic.Int32
			api.drop = func(s *resource.ResourceSlice) {
				for i := range s.Spec.Devices {
					device := &s.Spec.Devices[i]
					if device.AllowMultipleAllocations != nil {
						sent.Add(1)
					}
					device.AllowMultipleAllocations = nil
					for key, capacity := range device.Capacity {
						capacity.RequestPolicy = nil
						device.Capacity[key] = capacity
					}
				}
			}
			a, efa := startSharing(t, api, "--efa-share", "8")
			a.waitLog(0, "event=device_sharing_dropped", "driver="+efaDriver, "shares=8", "DRAConsumableCapacity", "--efa-share=1")
			a.waitLog(0, "event=slice_published", "driver="+efaDriver)
			waitShared(t, api, 0)
			waitFor(t, "the Event", func() bool { return api.event("DeviceSharingDropped") != nil })
			if n, want := sent.Load(), map[string]int32{"v1": 16}[served]; n != want {
				t.Errorf("%d devices were sent as shared, want %d", n, want)
			}
			c := api.addClaim(withEFA(newClaim("alone"), "efa="+sharedEFA))
			efa.prepareOK(named(c))
			other := api.addClaim(withEFA(newClaim("other"), "efa="+sharedEFA))
			contains(t, efa.prepareError(named(other)), "is already held by claim default/alone")
			if n := strings.Count(strings.Join(a.log.slice(0, a.log.count()), "\n"), "event=device_sharing_dropped"); n != 1 {
				t.Errorf("reported %d times", n)
			}
		})
	}
}
