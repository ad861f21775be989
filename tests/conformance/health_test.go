// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	resource "k8s.io/api/resource/v1"
	drahealth "k8s.io/kubelet/pkg/apis/dra-health/v1alpha1"
)

const (
	unhealthyComponents = "stats/hardware/health_status/unhealthy_components"
	hwErrorEvent        = "stats/hardware/health_status/hw_error_event"
	healthInterval      = 200 * time.Millisecond
)

// watchDevices opens the health stream as the kubelet does, and hands on each report by the devices' names.
func (k *kubelet) watchDevices(t *testing.T, version string) <-chan map[string]*drahealth.DeviceHealth {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	stream, err := k.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true},
		"/"+version+".DRAResourceHealth/NodeWatchResources")
	check(t, err)
	check(t, stream.SendMsg(&drahealth.NodeWatchResourcesRequest{}))
	check(t, stream.CloseSend())
	reports := make(chan map[string]*drahealth.DeviceHealth, 1000)
	go func() {
		defer close(reports)
		for {
			response := &drahealth.NodeWatchResourcesResponse{}
			if stream.RecvMsg(response) != nil {
				return
			}
			devices := map[string]*drahealth.DeviceHealth{}
			for _, d := range response.Devices {
				if d.Device.PoolName == nodeName {
					devices[d.Device.DeviceName] = d
				}
			}
			reports <- devices
		}
	}()
	return reports
}

// waitReport takes reports of sixteen devices until one has the device in that state.
func waitReport(t *testing.T, reports <-chan map[string]*drahealth.DeviceHealth, device string,
	status drahealth.HealthStatus, message string) {
	t.Helper()
	waitEntry(t, reports, 16, device, status, message)
}

// waitEntry takes reports until one of so many entries has the device in that state.
func waitEntry(t *testing.T, reports <-chan map[string]*drahealth.DeviceHealth, entries int, device string,
	status drahealth.HealthStatus, message string) {
	t.Helper()
	late := time.After(patience)
	for {
		select {
		case report, open := <-reports:
			if !open {
				t.Fatal("the stream ended")
			}
			d := report[device]
			if len(report) == entries && d != nil && d.Health == status && d.Message == message &&
				d.HealthCheckTimeoutSeconds == 30 && time.Since(time.Unix(d.LastUpdatedTime, 0)) < time.Minute {
				return
			}
		case <-late:
			t.Fatalf("no report of %s as %v", device, status)
		}
	}
}

func taintsOf(api *apiServer, number int) []resource.DeviceTaint {
	own := api.own()
	if len(own) != 1 || len(own[0].Spec.Devices) != 16 {
		return nil
	}
	return own[0].Spec.Devices[number].Taints
}

func hasTaint(api *apiServer, number int) bool {
	taints := taintsOf(api, number)
	return len(taints) == 1 && taints[0].Key == driverName+"/unhealthy" && taints[0].Value == "" &&
		taints[0].Effect == resource.DeviceTaintEffectNoSchedule && taints[0].TimeAdded != nil
}

// What the files say reaches the slice and both versions of the kubelet's stream, and so does the recovery.
func TestDeviceHealth(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a := newAgent(t, "trn2.48xlarge", "--driver-version", "2.30.2.0")
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir), "--health-interval", healthInterval.String())
	a.start()
	k := a.register()
	a.waitLog(0, "event=slice_published")
	reports := k.watchDevices(t, "v1")
	older := k.watchDevices(t, "v1alpha1")
	waitReport(t, reports, "neuron-device-3", drahealth.HealthStatus_HEALTHY, "")
	waitReport(t, older, "neuron-device-3", drahealth.HealthStatus_HEALTHY, "")
	simnode(t, "set", "--dir", a.node, "neuron3/"+unhealthyComponents, "hbm,link_host\n")
	waitReport(t, reports, "neuron-device-3", drahealth.HealthStatus_UNHEALTHY, "hbm, link_host")
	waitReport(t, older, "neuron-device-3", drahealth.HealthStatus_UNHEALTHY, "hbm, link_host")
	waitFor(t, "the taint", func() bool { return hasTaint(api, 3) })
	simnode(t, "set", "--dir", a.node, "neuron3/"+unhealthyComponents, "\n")
	waitReport(t, reports, "neuron-device-3", drahealth.HealthStatus_HEALTHY, "")
	waitReport(t, older, "neuron-device-3", drahealth.HealthStatus_HEALTHY, "")
	waitFor(t, "no taint", func() bool { return len(api.own()) == 1 && len(taintsOf(api, 3)) == 0 })
	// a counter is no verdict where the components are one
	simnode(t, "set", "--dir", a.node, "neuron5/"+hwErrorEvent, "1\n")
	simnode(t, "set", "--dir", a.node, "neuron5/stats/hardware/mem_ecc_corrected", "1\n")
	simnode(t, "set", "--dir", a.node, "neuron5/stats/hardware/mem_ecc_uncorrected", "1\n")
	// a file that cannot be read says nothing
	file := filepath.Join(a.node, "sys/class/neuron_device/neuron7", unhealthyComponents)
	check(t, os.Remove(file))
	waitReport(t, reports, "neuron-device-7", drahealth.HealthStatus_UNKNOWN,
		"no file that can be read says whether the device is healthy, or a reset is under way")
	if hasTaint(api, 7) {
		t.Error("a device of which nothing is known has a taint")
	}
	if hasTaint(api, 5) {
		t.Error("a device has a taint by its counters")
	}
}

// Before module 2.30 the counters of uncorrected errors are the verdict; hw_error_event and the counts of its folder, which have
// corrected errors too, are none.
func TestDeviceHealthByCounters(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a := newAgent(t, "trn2.48xlarge", "--driver-version", "2.28.0.0")
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir), "--health-interval", healthInterval.String())
	a.start()
	k := a.register()
	a.waitLog(0, "event=slice_published")
	reports := k.watchDevices(t, "v1")
	simnode(t, "set", "--dir", a.node, "neuron3/"+hwErrorEvent, "1")
	simnode(t, "set", "--dir", a.node, "neuron3/stats/hardware/health_status/hbm_ecc_err_count", "65536")
	simnode(t, "set", "--dir", a.node, "neuron5/stats/hardware/mem_ecc_uncorrected", "1")
	waitReport(t, reports, "neuron-device-5", drahealth.HealthStatus_UNHEALTHY, "uncorrectable memory errors")
	waitFor(t, "the taint", func() bool { return hasTaint(api, 5) })
	if hasTaint(api, 3) {
		t.Error("a corrected error is a taint")
	}
}

// A process that outlives its claim has memory of the device, as the kernel module counts it: the next claim is refused until
// that memory is free, and says which claim had the device. An operator can switch that off.
func TestDeviceMemoryGuard(t *testing.T) {
	t.Parallel()
	const memory = "/neuron_core6/stats/memory_usage/device_mem/total"
	api := startAPIServer(t)
	a := newAgent(t, "trn2.48xlarge")
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir))
	a.start()
	k := a.register()
	a.waitLog(0, "event=slice_published")
	first := named(api.addClaim(newClaim("first", "req=3")))
	k.prepareOK(first)
	simnode(t, "set", "--dir", a.node, "neuron3"+memory, "4096\n")
	k.prepareOK(first) // its own containers run
	k.unprepareOK(first)
	next := named(api.addClaim(newClaim("next", "req=3")))
	if text := k.prepareError(next); !strings.Contains(text, "requested device neuron-device-3 has 4096 bytes of memory in use") ||
		!strings.Contains(text, "claim default/first (") || !strings.Contains(text, "fuser -v /dev/neuron3") {
		t.Errorf("refused by %q", text)
	}
	k.prepareOK(named(api.addClaim(newClaim("beside", "req=4"))))
	simnode(t, "set", "--dir", a.node, "neuron3"+memory, "0\n")
	k.prepareOK(next)
	// what the module keeps for itself, and what stays until a reset, is no process's
	for file, bytes := range map[string]string{"driver_memory/total": "16777216\n", "notifications/total": "65536\n"} {
		place := filepath.Join(a.node, "sys/class/neuron_device/neuron6", strings.TrimSuffix(memory, "total"), file)
		check(t, os.MkdirAll(filepath.Dir(place), 0o755))
		check(t, os.WriteFile(place, []byte(bytes), 0o444))
	}
	simnode(t, "set", "--dir", a.node, "neuron6"+memory, "16842753\n")
	kept := named(api.addClaim(newClaim("kept", "req=6")))
	if text := k.prepareError(kept); !strings.Contains(text, "requested device neuron-device-6 has 1 bytes of memory in use") {
		t.Errorf("refused by %q", text)
	}
	simnode(t, "set", "--dir", a.node, "neuron6"+memory, "16842752\n")
	k.prepareOK(kept)
	// the module may be older
	simnode(t, "set", "--dir", a.node, "neuron5"+memory, "4096\n")
	for _, file := range must(filepath.Glob(filepath.Join(a.node, "sys/class/neuron_device/neuron5/neuron_core*/stats/memory_usage/device_mem/total"))) {
		check(t, os.Remove(file))
	}
	k.prepareOK(named(api.addClaim(newClaim("older", "req=5"))))

	b := newAgent(t, "trn2.48xlarge")
	b.args = append(b.args, "--kubeconfig", api.kubeconfig(b.dir), "--check-device-memory=false")
	simnode(t, "set", "--dir", b.node, "neuron3"+memory, "4096\n")
	b.start()
	b.register().prepareOK(named(api.addClaim(newClaim("unguarded", "req=3"))))
}

// A kernel module that has moved a file: nothing is known of the devices' health, and that is said once, with what to do.
func TestHealthFileMoved(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a := newAgent(t, "trn2.48xlarge", "--driver-version", "2.31.7.0")
	for _, file := range must(filepath.Glob(filepath.Join(a.node, "sys/class/neuron_device/neuron*", unhealthyComponents))) {
		check(t, os.Remove(file))
	}
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir), "--health-interval", healthInterval.String())
	a.start()
	reports := a.register().watchDevices(t, "v1")
	waitReport(t, reports, "neuron-device-3", drahealth.HealthStatus_UNKNOWN,
		"no file that can be read says whether the device is healthy, or a reset is under way")
	const line = "health unknown: module 2.31.7.0 should have unhealthy_components; absent of devices " +
		"0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15"
	waitFor(t, "the Event", func() bool { return api.event("NeuronDeviceIssue") != nil })
	contains(t, api.event("NeuronDeviceIssue").Note, line)
	contains(t, a.command(closedPort(t), "check").stdout, line, "use an agent release that knows this kernel module")
	simnode(t, "set", "--dir", a.node, "neuron4/reset", "2\n") // which a later look finds
	a.waitLog(0, "event=device_unhealthy", "neuron-device-4")
	logged := strings.Join(a.log.slice(0, a.log.count()), "\n")
	if n := strings.Count(logged, "issue=health-files"); n != 1 {
		t.Errorf("logged %d times", n)
	}
}

// The kernel module notifies hw_error_event (POLLPRI): the error is seen long before the next look, an hour away. The
// one file of a kernel that notifies and that a test may write is the host name of a UTS namespace.
func TestErrorEvent(t *testing.T) {
	t.Parallel()
	const hostname = "/proc/sys/kernel/hostname"
	api := startAPIServer(t)
	a := newAgent(t, "trn2.48xlarge", "--driver-version", "2.30.2.0")
	file := filepath.Join(a.node, "sys/class/neuron_device/neuron3", hwErrorEvent)
	check(t, os.Remove(file))
	check(t, os.Symlink(hostname, file))
	a.by = []string{"unshare", "--uts", "/bin/sh", "-c", "echo 0 > " + hostname + ` && exec "$0" "$@"`}
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir), "--health-interval", "1h")
	a.start()
	a.waitLog(0, "event=slice_published")
	count := func(errors string) {
		t.Helper()
		write := exec.Command("nsenter", "--target", strconv.Itoa(a.pid()), "--uts", "/bin/sh", "-c",
			"echo "+errors+" > "+hostname)
		if out, err := write.CombinedOutput(); err != nil {
			t.Fatalf("the host name cannot be set: %v: %s", err, out)
		}
	}
	simnode(t, "set", "--dir", a.node, "neuron3/"+unhealthyComponents, "hbm\n")
	count("1")
	waitFor(t, "the taint", func() bool { return hasTaint(api, 3) })
	// a storm of errors: what comes last is seen as well
	for i := 2; i < 50; i++ {
		count(strconv.Itoa(i))
	}
	simnode(t, "set", "--dir", a.node, "neuron5/"+unhealthyComponents, "hbm\n")
	count("50")
	waitFor(t, "what a look shows of another device", func() bool { return hasTaint(api, 5) })
}

// A device that a claim holds stays listed when it vanishes, with the taint; unprepared, it goes.
func TestVanishedDeviceInUse(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a := newAgent(t, "trn2.48xlarge")
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir), "--health-interval", healthInterval.String())
	a.start()
	k := a.register()
	a.waitLog(0, "event=slice_published")
	claim := api.addClaim(newClaim("vanishes", "req=2"))
	k.prepareOK(named(claim))
	simnode(t, "remove", "--dir", a.node, "neuron2")
	waitFor(t, "the taint", func() bool { return hasTaint(api, 2) })
	k.unprepareOK(named(claim))
	waitFor(t, "a slice without the device", func() bool {
		own := api.own()
		return len(own) == 1 && len(own[0].Spec.Devices) == 15
	})
}
