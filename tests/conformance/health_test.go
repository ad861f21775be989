// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
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
	// a counter of errors that cannot be corrected
	simnode(t, "set", "--dir", a.node, "neuron5/stats/hardware/mem_ecc_uncorrected", "1\n")
	waitReport(t, reports, "neuron-device-5", drahealth.HealthStatus_UNHEALTHY, "uncorrectable memory errors")
	waitFor(t, "the taint", func() bool { return hasTaint(api, 5) })
	// a module that has no such file says nothing
	file := filepath.Join(a.node, "sys/class/neuron_device/neuron7", unhealthyComponents)
	check(t, os.Remove(file))
	waitReport(t, reports, "neuron-device-7", drahealth.HealthStatus_UNKNOWN,
		"unhealthy_components cannot be read, or a reset is under way")
	if hasTaint(api, 7) {
		t.Error("a device of which nothing is known has a taint")
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
