// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"strings"
	"testing"
)

const scattered = "has devices 0,1,5, which are not consecutive on the host"

// A claim whose devices leave a gap is prepared, and an operator sees it in the claim's Event and in check while it is held.
func TestScatteredDevices(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, address := withMetrics(t, api, "trn2.48xlarge")
	k := a.register()
	api.published()
	row := named(api.addClaim(newClaim("row", "a=8", "a=9", "b=10", "b=11")))
	k.prepareOK(row)
	if got := a.commandOK(address, "check"); got != "ready\n" {
		t.Errorf("check: %q", got)
	}
	gap := newClaim("gap", "a=0", "a=5", "b=1")
	k.prepareOK(named(api.addClaim(gap)))
	waitFor(t, "the Event", func() bool { return api.event("ClaimDevicesScattered") != nil })
	if e := api.event("ClaimDevicesScattered"); e.Regarding.UID != gap.UID || e.Type != "Warning" || !strings.Contains(e.Note, "0,1,5") {
		t.Errorf("the Event: %+v", e)
	}
	out := a.commandOK(address, "check")
	contains(t, out, "warning: claim default/gap "+scattered, "ask for 4 devices by matchAttribute resource.aws.com/devicegroup4_id", "\nready\n")
	if n := strings.Count(out, "\n"); n != 2 {
		t.Errorf("check: %s", out)
	}
	if c, code := a.checked(address); code != 0 || !c.Ready || len(c.Reasons) != 0 || len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0], scattered) {
		t.Errorf("check: %d %+v", code, c)
	}
	k.unprepareOK(named(gap))
	if got := a.commandOK(address, "check"); got != "ready\n" {
		t.Errorf("check: %q", got)
	}
}

// No setting of --device-numbering closes a gap: with zero the numbers in the container have none, and the agent still reports
// the devices of the host.
func TestScatteredNumbers(t *testing.T) {
	t.Parallel()
	for numbering, want := range map[string][]string{
		"host": {"/dev/neuron0", "/dev/neuron1", "/dev/neuron5"}, "zero": {"/dev/neuron0", "/dev/neuron1", "/dev/neuron2"},
	} {
		t.Run(numbering, func(t *testing.T) {
			t.Parallel()
			api := startAPIServer(t)
			a := newAgent(t, "trn2.48xlarge")
			a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir), "--device-numbering="+numbering)
			a.start()
			k := a.register()
			devices := k.prepareOK(named(api.addClaim(newClaim("gap", "a=0", "a=5", "a=1"))))
			equalStrings(t, "a", a.inject(idsOf(devices, "a")...).devices, want...)
			a.waitLog(0, "event=claim_devices_scattered namespace=default claim=gap")
			a.waitLog(0, "devices=0,1,5 remedy=")
		})
	}
}

// With --require-consecutive it is refused, in words that name the remedy; claims without a gap are prepared.
func TestRequireConsecutive(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a := newAgent(t, "trn2.48xlarge")
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir), "--require-consecutive=true")
	a.start()
	k := a.register()
	a.waitLog(0, "event=slice_published")
	gap := api.addClaim(newClaim("gap", "a=0", "a=5", "b=1"))
	contains(t, k.prepareError(named(gap)), "claim default/gap "+scattered, "delete the pod",
		"ask for 4 devices by matchAttribute resource.aws.com/devicegroup4_id", "(--require-consecutive)")
	a.noCDI()
	k.prepareOK(named(api.addClaim(newClaim("row", "a=2", "a=1", "b=0", "b=3"))))
	k.prepareOK(named(api.addClaim(newClaim("one", "a=9"))))
}
