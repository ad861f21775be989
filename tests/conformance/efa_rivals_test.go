// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// besideRivals is an agent with both drivers and a pod's UID, as the chart gives it one, that looks often for those who give
// away the same devices.
func besideRivals(t *testing.T, api *apiServer) (a *agent, address string) {
	t.Helper()
	a = withDevicePlugins(t)
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir), "--efa", "true", "--pod-uid", string(uid("pod")))
	a.start()
	address = a.metricsAddress()
	a.registerPod("pod")
	a.registerPodEFA("pod")
	a.waitLog(0, "event=slice_published", "driver="+efaDriver)
	waitFor(t, "readiness of both drivers", func() bool { code, _ := page(t, address, "/readyz"); return code == 200 })
	return a, address
}

// registerPodEFA does for the EFA driver what registerPod does for the first one.
func (a *agent) registerPodEFA(name string) *kubelet {
	a.t.Helper()
	conn := dialRegistration(a.t, filepath.Join(a.dir, "r", efaDriver+"-"+string(uid(name))+"-reg.sock"))
	service := dialService(a.t, getInfo(a.t, conn).Endpoint)
	notify(a.t, conn, true, "")
	conn.Close()
	return &kubelet{t: a.t, conn: service}
}

// unready waits until the agent is not ready for this reason alone.
func (a *agent) unready(address, reason string) {
	a.t.Helper()
	waitFor(a.t, "unready: "+reason, func() bool {
		code, text := page(a.t, address, "/readyz")
		return code == 503 && text == reason+"\n"
	})
}

const efaRival = " runs on this node and allocates the same devices: let only one of the two run here; its socket is "

// dranet beside the agent, by the socket that it has: noticed, named in log, Event and readiness, and no fight about slices.
func TestOtherEFADriver(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, address := besideRivals(t, api)
	path := a.efaRegistrationSocket()
	other, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	check(t, err)
	other.SetUnlinkOnClose(false)
	defer other.Close()
	reason := efaDriver + ": another driver " + efaDriver + ", as dranet is," + efaRival + path
	a.unready(address, reason)
	a.waitLog(0, "level=warn", "event=other_driver_found", "driver="+efaDriver, "socket="+path, "remedy=")
	waitFor(t, "the Event", func() bool { return api.event("OtherDriverFound") != nil })
	if e := api.event("OtherDriverFound"); e.Type != "Warning" || e.Regarding.Kind != "Node" || !strings.Contains(e.Note, path) {
		t.Errorf("the Event is %+v", e)
	}
	if got := a.command(address, "check"); got.code != 1 || got.stdout != reason+"\n" {
		t.Errorf("check: %+v", got)
	}

	// The other one writes the slice as it likes, again and again: it stays so. That of the Neuron devices is still ours.
	writes := func() int { return api.seen("create", "update", "delete") }
	before := writes()
	for range 3 {
		slice := api.ofEFA()[0]
		slice.Spec.Devices = slice.Spec.Devices[:1]
		api.store(slice)
		time.Sleep(time.Second)
	}
	if n := writes() - before; n != 0 || len(api.ofEFA()[0].Spec.Devices) != 1 {
		t.Errorf("%d writes beside another driver", n)
	}
	neuron := api.own()[0]
	neuron.Spec.Devices = neuron.Spec.Devices[:1]
	api.store(neuron)
	waitFor(t, "the Neuron slice", func() bool { return len(api.own()[0].Spec.Devices) == 16 })
	if !isSocket(path) {
		t.Error("the socket of the other driver was removed")
	}

	// It ends, and leaves its file as a killed process does.
	check(t, other.Close())
	a.waitLog(0, "level=info", "event=other_driver_gone", "driver="+efaDriver)
	waitFor(t, "the slice", func() bool { return len(api.ofEFA()) == 1 && len(api.ofEFA()[0].Spec.Devices) == 16 })
	waitFor(t, "readiness", func() bool { code, _ := page(t, address, "/readyz"); return code == 200 })
	waitFor(t, "the other Event", func() bool { return api.event("OtherDriverGone") != nil })
	found := strings.Count(strings.Join(a.log.slice(0, a.log.count()), "\n"), "event=other_driver_found")
	if found != 1 {
		t.Errorf("logged %d times", found)
	}
}

// Without a pod's UID both have the same names: the newer process keeps them, and the agent says so once.
func TestOtherEFADriverTakesSocket(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, _, _, address := runningBoth(t, api, "trn2.48xlarge", "--health-interval", healthInterval.String())
	path := a.efaRegistrationSocket()
	check(t, os.Remove(path))
	other, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	check(t, err)
	defer other.Close()
	a.waitLog(0, "event=socket_file_lost", "driver="+efaDriver, "now belongs to another process")
	a.waitLog(0, "event=other_driver_found", "driver="+efaDriver)
	a.unready(address, efaDriver+": another driver "+efaDriver+", as dranet is,"+efaRival+path)
	mark := a.log.count()
	time.Sleep(3 * time.Second)
	if a.log.count() != mark || !isSocket(path) {
		t.Errorf("a fight about the socket: %v", a.log.slice(mark, a.log.count()))
	}
	check(t, other.Close()) // and takes its file with it
	a.waitLog(0, "event=other_driver_gone")
	waitFor(t, "the socket again", func() bool { return isSocket(path) })
	a.registerEFA()
	waitFor(t, "readiness", func() bool { code, _ := page(t, address, "/readyz"); return code == 200 })
}

// The EFA device plugin beside the agent; names that only look like its own do not count, and without --efa none does.
func TestEFADevicePlugin(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, address := besideRivals(t, api)
	a.listenAs("default.sock")
	plugin := a.listenAs("aws-efa-device-plugin.sock")
	path := filepath.Join(a.devicePlugins(), "aws-efa-device-plugin.sock")
	a.unready(address, efaDriver+": an EFA device plugin"+efaRival+path)
	a.waitLog(0, "level=warn", "event=device_plugin_found", "driver="+efaDriver, "socket=aws-efa-device-plugin.sock")
	waitFor(t, "the Event", func() bool { return api.event("NeuronDevicePluginFound") != nil })
	if e := api.event("NeuronDevicePluginFound"); !strings.Contains(e.Note, "aws-efa-device-plugin.sock") || !strings.Contains(e.Note, "driver="+efaDriver) {
		t.Errorf("the Event is %+v", e)
	}
	check(t, plugin.Close())
	a.waitLog(0, "event=device_plugin_gone", "driver="+efaDriver)
	waitFor(t, "readiness", func() bool { code, _ := page(t, address, "/readyz"); return code == 200 })
	a.kill()
	a.listenAs("efa.sock")
	contains(t, a.command(address, "check").stdout, "an EFA device plugin"+efaRival+filepath.Join(a.devicePlugins(), "efa.sock"))
	b := withDevicePlugins(t)
	b.listenAs("efa.sock")
	if got := b.command(address, "check"); strings.Contains(got.stdout, "device plugin") {
		t.Errorf("check without --efa: %+v", got)
	}
}

// A rolling update is no second driver: both agents have a pod's UID in their names.
func TestEFARollingUpdate(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, _ := besideRivals(t, api)
	b := a.surge("two", "trn2.48xlarge")
	b.start()
	address := b.metricsAddress()
	b.registerPod("two")
	b.registerPodEFA("two")
	waitFor(t, "readiness of the next agent", func() bool { code, _ := page(t, address, "/readyz"); return code == 200 })
	for _, one := range []*agent{a, b} {
		if one.log.last("other_driver") >= 0 || one.log.last("device_plugin") >= 0 {
			t.Error("one agent takes the other for another driver")
		}
	}
}
