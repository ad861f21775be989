// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	resource "k8s.io/api/resource/v1"
)

// withoutEFA takes the flag from the agent's next start.
func (a *agent) withoutEFA() {
	i := slices.Index(a.args, "--efa")
	a.args = slices.Delete(a.args, i, i+2)
}

// gone waits until nothing of the EFA driver is there for the kubelet.
func (a *agent) goneEFA() {
	a.t.Helper()
	waitFor(a.t, "no socket of the EFA driver", func() bool {
		return !exists(a.efaRegistrationSocket()) && !exists(a.efaServiceSocket())
	})
}

// --efa is switched off while a pod has an EFA device: the kubelet can unprepare its claim, which ends the driver.
func TestEFASwitchedOff(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, _, efa := runningEFA(t, api, "trn2.48xlarge")
	c := api.addClaim(withEFA(newClaim("running"), "efa=pci-0000-c9-00-0"))
	before := must(efa.callBytes(prepareV1, callLimit, named(c)))
	a.stop()
	a.withoutEFA()
	a.args = append(a.args, "--metrics-port", "0")
	mark := a.log.count()
	a.start()
	neuron, efa := a.register(), a.registerEFA()
	address := a.metricsAddress()
	a.waitLog(mark, "event=driver_kept", "driver="+efaDriver, "claims_held=1")
	waitFor(t, "Event", func() bool { return api.event("EFADriverKept") != nil })
	waitFor(t, "no EFA device is published", func() bool {
		return !slices.ContainsFunc(api.ofEFA(), func(s *resource.ResourceSlice) bool { return len(s.Spec.Devices) > 0 })
	})
	waitFor(t, "ready all the same", func() bool { return a.command(address, "probe", "readiness").code == 0 })
	if got := a.command(address, "check"); got.code != 0 || got.stdout != "warning: --efa is off, and the EFA driver dra.net stays until its "+
		"claims are unprepared, now 1: end their pods, or switch draDriver.efa.enabled on again\nready\n" {
		t.Errorf("check: %+v", got)
	}
	// What is held is answered, as after a reboot; nothing is prepared anew, and the other driver is not concerned.
	if again := must(efa.callBytes(prepareV1, callLimit, named(c))); !bytes.Equal(again, before) {
		t.Errorf("the held claim: %q", again)
	}
	other := api.addClaim(withEFA(newClaim("new", "neuron=3"), "efa=pci-0000-b4-00-0"))
	contains(t, efa.prepareError(named(other)), "runs without --efa (draDriver.efa.enabled) and prepares no claim for EFA devices")
	neuron.prepareOK(named(other))

	// Switched on for a while, and off again: what is held stays so.
	a.stop()
	a.args = append(a.args, "--efa", "true")
	a.start()
	a.register()
	a.registerEFA().prepareOK(named(c))
	a.stop()
	a.withoutEFA()
	mark = a.log.count()
	a.start()
	neuron, efa = a.register(), a.registerEFA()
	address = a.metricsAddressAfter(mark)

	efa.unprepareOK(named(c))
	a.waitLog(mark, "event=driver_ended", "driver="+efaDriver)
	a.goneEFA()
	waitFor(t, "ready", func() bool { return a.command(address, "check").stdout == "ready\n" })
	neuron.unprepareOK(named(other))
	a.noCDI()
	if code := a.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}

	// The store that is left holds nothing: the driver never comes.
	mark = a.log.count()
	a.start()
	a.register()
	a.waitLog(mark, "event=slice_verified")
	a.goneEFA()
	if started := strings.Join(a.log.slice(mark, a.log.count()), "\n"); strings.Contains(started, "event=driver_") ||
		strings.Count(started, "event=devices_found") != 1 {
		t.Error("a driver without claims was kept")
	}

	// And --efa may be switched on again.
	a.stop()
	a.args = append(a.args, "--efa", "true")
	a.start()
	a.register()
	a.registerEFA().prepareOK(named(api.addClaim(withEFA(newClaim("later"), "efa=pci-0000-c9-00-0"))))
}

// A rolling update that switches --efa off: the agent of before serves its claims to its end, then the new one does.
func TestEFASwitchedOffInUpdate(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, _, efa := runningEFA(t, api, "trn2.48xlarge")
	c := named(api.addClaim(withEFA(newClaim("running"), "efa=pci-0000-c9-00-0")))
	efa.prepareOK(c)
	b := a.surge("two", "trn2.48xlarge")
	b.withoutEFA()
	b.start()
	b.registerPod("two")
	b.waitLog(0, "event=slice_verified")
	late := named(api.addClaim(withEFA(newClaim("late"), "efa=pci-0000-b4-00-0")))
	efa.prepareOK(late)
	if b.log.last("driver_kept") >= 0 {
		t.Error("the new agent took the EFA driver from one that has --efa")
	}
	a.stop()
	b.waitLog(0, "event=driver_kept", "claims_held=2")
	next := b.registerEFAPod("two")
	next.unprepareOK(c)
	next.unprepareOK(late)
	b.waitLog(0, "event=driver_ended")
}
