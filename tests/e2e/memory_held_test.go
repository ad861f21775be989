// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	heldDevice = "neuron-device-3" // that of outlivedOnly and deviceMemory
	heldTaint  = "neuron.aws.com/memory-held:NoSchedule"
	heldAfter  = 5 * time.Minute // DEVICE_MEMORY_STUCK_MS
	heldWithin = heldAfter + time.Minute
)

// freePort is a TCP port of this host that nobody listens on.
func freePort(t *testing.T) string {
	t.Helper()
	listener := must(net.Listen("tcp", "127.0.0.1:0"))
	defer listener.Close()
	return fmt.Sprint(listener.Addr().(*net.TCPAddr).Port)
}

// heldEvents are the Events about the memory of the device.
func heldEvents(t *testing.T) []told {
	t.Helper()
	found, err := eventsAbout(kube.Node, "DeviceMemoryStuck")
	if err != nil {
		t.Fatal(err)
	}
	var of []told
	for _, one := range found {
		if strings.Contains(one.Note, heldDevice) {
			of = append(of, one)
		}
	}
	return of
}

// heldShown are what the commands `check` and `devices` print about the device.
func heldShown(t *testing.T, port string) (check, devices string) {
	t.Helper()
	flags := []string{"--metrics-port", port, "--sysfs-root", filepath.Join(kube.Run, "node", "sys"), "--dev-root",
		filepath.Join(kube.Run, "node", "dev"), "--cdi-root", kube.CDI, "--kubelet-plugins-directory-path",
		filepath.Join(kube.Short, "kubelet", "plugins")}
	check, _ = run("", kube.Agent, append([]string{"check"}, flags...)...) // it fails where it has something to say
	return check, must(run("", kube.Agent, append([]string{"devices"}, flags...)...))
}

// TestMemoryHeld: a pod ends, and memory of its device stays in use, as a runtime that died leaves it. After the time of grace, and not
// before, that is shown and the device is tainted, so that a new pod waits for it; when the memory is free, the pod gets it.
func TestMemoryHeld(t *testing.T) {
	t.Parallel()
	port := freePort(t)
	takeNode(t, "--flag=--memory-held-taint="+heldTaint, "--flag=--metrics-port="+port)
	defer clean(t)
	defer deviceMemory(t, "0")
	before := len(heldEvents(t))
	manifest := changed(t, example(t, "single-device"), "          count: 1\n", "          count: 1\n"+outlivedOnly)
	apply(t, renamed(t, manifest, "single-device", "leaks"))
	waitRunning(t, "leaks")
	leaks := claimOf(t, "leaks")
	deviceMemory(t, "4096")
	mustKubectl(t, "delete", "pod", "leaks", "--wait=true")
	ended := time.Now()
	published(t, heldDevice, 0)

	eventually(t, "the Event", heldWithin, func() error {
		if found := heldEvents(t); len(found) == before {
			return fmt.Errorf("%d Events", before)
		}
		return nil
	})
	if took := time.Since(ended); took < heldAfter-10*time.Second {
		t.Errorf("held after %s, %s are documented", took.Round(time.Second), heldAfter)
	}
	taints := 0 // where the server drops taints, the device stays listed without one
	if serverMinor(t) >= 36 {
		taints = 1
	}
	published(t, heldDevice, taints)
	check, devices := heldShown(t, port)
	for _, words := range []string{"no claim holds device " + heldDevice + ", but its memory has been in use", leaks.uid,
		"fuser -v /dev/" + outlived} {
		if !strings.Contains(check, words) {
			t.Errorf("check lacks %q:\n%s", words, check)
		}
	}
	if !strings.Contains(devices, heldDevice+" has memory in use, but no claim") {
		t.Errorf("devices:\n%s", devices)
	}

	apply(t, renamed(t, manifest, "single-device", outlivedNext))
	if taints > 0 {
		waitPending(t, outlivedNext)
	} else {
		waitEvent(t, outlivedNext, "FailedPrepareDynamicResources", inUse(leaks))
	}
	deviceMemory(t, "0")
	published(t, heldDevice, 0)
	waitRunning(t, outlivedNext)
	if found := len(heldEvents(t)); found != before+1 {
		t.Errorf("%d Events about the device, %d before", found, before)
	}
	if check, _ := heldShown(t, port); strings.Contains(check, "no claim holds device") {
		t.Errorf("check still says:\n%s", check)
	}
}
