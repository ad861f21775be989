// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// theNode is the cluster's own node, for tests that run beside those with nodes of their own.
var theNode sync.Mutex

// takeNode has the agent run with these flags, until the test ends.
func takeNode(t *testing.T, flags ...string) {
	t.Helper()
	theNode.Lock()
	t.Cleanup(theNode.Unlock)
	t.Cleanup(func() {
		control(t, "agent", "stop")
		control(t, "agent", "start")
	})
	control(t, "agent", "stop")
	control(t, append([]string{"agent", "start"}, flags...)...)
}

const (
	outlived     = "neuron3" // the one device that these pods want
	outlivedNext = "waits"
	outlivedOnly = "          selectors:\n          - cel:\n              expression: device.attributes['neuron.aws.com'].deviceId == 3\n"

	freeWithin = 100 * time.Second // once its memory is free: cfg/deploy/operate.md, "Memory that is still in use"
)

// deviceMemory writes how much memory of the device a process has, as the kernel module does.
func deviceMemory(t *testing.T, bytes string) {
	t.Helper()
	if _, err := run("", "/usr/bin/python3", filepath.Join(root, "tools", "simnode", "simnode.py"), "set", "--dir", filepath.Join(kube.Run, "node"),
		outlived+"/neuron_core5/stats/memory_usage/device_mem/total", bytes); err != nil {
		t.Fatal(err)
	}
}

// undying is a pod whose processes nothing ends until it is let go.
type undying struct {
	pids  []int
	letGo func()
}

// makeUndying freezes the pod's cgroup: in version 1 a frozen process does not take SIGKILL. Version 2 ends it all the same; so
// there the pod's shim, which would send the signal, is stopped.
func makeUndying(t *testing.T, pod string) *undying {
	t.Helper()
	const freezer = "/sys/fs/cgroup/freezer"
	top, one := freezer, &undying{}
	if _, err := os.Stat(top); err != nil {
		top = "/sys/fs/cgroup"
	}
	group := fmt.Sprintf("%s/neuron-dra-%d/kubepods/besteffort/pod%s", top, kube.Slot, getPod(t, pod).Metadata.UID)
	for _, file := range must(filepath.Glob(group + "/*/cgroup.procs")) {
		for _, pid := range strings.Fields(string(must(os.ReadFile(file)))) {
			one.pids = append(one.pids, must(strconv.Atoi(pid)))
		}
	}
	if len(one.pids) == 0 {
		t.Fatalf("no process in %s", group)
	}
	if top == freezer {
		state := filepath.Join(group, "freezer.state")
		overwrite(t, state, "FROZEN")
		one.letGo = func() { _ = os.WriteFile(state, []byte("THAWED"), 0o600) }
	} else {
		shim := parent(t, one.pids[0])
		_ = syscall.Kill(shim, syscall.SIGSTOP)
		one.letGo = func() { _ = syscall.Kill(shim, syscall.SIGCONT) }
	}
	t.Cleanup(one.letGo)
	return one
}

// parent is the process that started this one.
func parent(t *testing.T, pid int) int {
	t.Helper()
	_, rest, _ := strings.Cut(string(must(os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)))), "\nPPid:\t")
	line, _, _ := strings.Cut(rest, "\n")
	return must(strconv.Atoi(line))
}

// alive is an error unless each of its processes lives, or, for false, unless none does.
func (u *undying) alive(want bool) error {
	for _, pid := range u.pids {
		if (syscall.Kill(pid, 0) == nil) != want {
			return fmt.Errorf("process %d lives: %v", pid, !want)
		}
	}
	return nil
}

// outlivedPods is a pod that runs, whose processes nothing ends, with its claim, and the manifest of a second one that wants the
// same device.
func outlivedPods(t *testing.T) (first *undying, claim *claim, second string) {
	t.Helper()
	manifest := changed(t, example(t, "single-device"), "          count: 1\n", "          count: 1\n"+outlivedOnly)
	apply(t, renamed(t, manifest, "single-device", "outlived"))
	waitRunning(t, "outlived")
	claim = claimOf(t, "outlived")
	deviceMemory(t, "4096")
	return makeUndying(t, "outlived"), claim, renamed(t, manifest, "single-device", outlivedNext)
}

// inUse is what the second pod's Event says.
func inUse(first *claim) string {
	return "has 4096 bytes of memory in use by a process of another claim: claim default/" + first.name + " (" + first.uid +
		") had it last; find the process on the node by fuser -v /dev/" + outlived
}

// freed: the container of the first pod dies, and the second one has the device.
func freed(t *testing.T, first *undying) {
	t.Helper()
	eventually(t, "the container dead", soon, func() error { return first.alive(false) })
	begin := time.Now()
	deviceMemory(t, "0")
	waitRunning(t, outlivedNext)
	if took := time.Since(begin); took > freeWithin {
		t.Errorf("the device was free after %s, %s are documented", took.Round(time.Second), freeWithin)
	}
}

// TestContainerOutlivesPod: the API server forgets the claim at once, and the kubelet unprepares it within a minute though the container
// lives. Nobody gets the device until its memory is free.
func TestContainerOutlivesPod(t *testing.T) {
	t.Parallel()
	takeNode(t, "--flag=--kubelet-state-file=/absent") // as the chart has it by default
	defer clean(t)
	first, claim, second := outlivedPods(t)
	mustKubectl(t, "delete", "pod", "outlived", "--force", "--grace-period=0")
	apply(t, second)
	waitEvent(t, outlivedNext, "FailedPrepareDynamicResources", inUse(claim))
	if err := first.alive(true); err != nil {
		t.Errorf("nobody has the device any more: %v", err)
	}
	first.letGo()
	freed(t, first)
}

// TestContainerOutlivesKubelet: nobody unprepares the claim, and the kubelet's checkpoint lists it. So the agent holds it, until it is
// told to release it; then the memory of the device alone keeps it. The test asks for the device in the kubelet's place.
func TestContainerOutlivesKubelet(t *testing.T) {
	t.Parallel()
	takeNode(t)
	defer clean(t)
	first, claim, second := outlivedPods(t)
	control(t, "kubelet", "kill")
	mustKubectl(t, "delete", "pod", "outlived", "--force", "--grace-period=0")
	apply(t, second)
	eventually(t, "the device allocated to "+outlivedNext, soon, func() error {
		if p := getPod(t, outlivedNext); p.Spec.Node == "" {
			return errors.New("not yet")
		}
		return nil
	})
	socket, next := filepath.Join(filepath.Dir(storePath()), "dra.sock"), claimOf(t, outlivedNext)
	refused := func(what, text string) {
		t.Helper()
		eventually(t, what, soon, func() error {
			if err := callClaim(socket, next, localLimit, false); err == nil || !strings.Contains(err.Error(), text) {
				return fmt.Errorf("a claim for the device: %v", err)
			}
			return nil
		})
	}
	refused("the device held for the kubelet's sake", "neuron-dra-agent release "+claim.uid)
	eventually(t, "the Event", soon, func() error {
		found, err := eventsAbout(kube.Node, "ClaimReleaseWithheld")
		for _, event := range found {
			if strings.Contains(event.Note, claim.uid) && strings.Contains(event.Note, "the kubelet has yet to unprepare it") {
				return nil
			}
		}
		return fmt.Errorf("%v of %s; there are %+v", err, claim.uid, found)
	})
	nodeCommand(t, "release", claim.uid)
	refused("the device held for its memory", inUse(claim))
	first.letGo()
	control(t, "kubelet", "start")
	freed(t, first)
}
