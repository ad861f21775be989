// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

const coresFlag = "--flag=--share-cores=true"

// coreSharing puts the agent on a board whose devices are shared by core.
func coreSharing(t *testing.T, board string) {
	t.Helper()
	control(t, "board", "--board", board, "--driver-version", "2.26.5.0", coresFlag)
	t.Cleanup(func() { control(t, "board", "--board", "trn2.48xlarge", "--driver-version", "2.26.5.0") })
}

// sharesDevices tells whether the agent publishes that devices are shared, and the scheduler counts shares: by default from 1.36 on;
// not where pod groups are (tools/cluster/e2e.py), and not where the agent is served no v1.
func sharesDevices(t *testing.T) bool {
	t.Helper()
	_, err := kubectl("get", "podgroups")
	return err != nil && serverMinor(t) >= 36 && kube.Seen[0] == "v1"
}

// devicesShared waits until so many Neuron devices are published as such that claims share.
func devicesShared(t *testing.T, want int) {
	t.Helper()
	eventually(t, fmt.Sprint(want, " shared Neuron devices"), soon, func() error {
		out, err := kubectl("get", "resourceslices", "--field-selector", "spec.driver="+driver, "-o",
			"jsonpath={.items[*].spec.devices[*].allowMultipleAllocations}")
		if n := strings.Count(out, "true"); err != nil || n != want {
			return fmt.Errorf("%d (%v)", n, err)
		}
		return nil
	})
}

// corePods are pods of the example under these names.
func corePods(t *testing.T, names ...string) (manifest string) {
	t.Helper()
	template, pod, _ := strings.Cut(example(t, "core-share"), "---\n")
	manifest = template
	for _, name := range names {
		manifest += "---\n" + renamed(t, pod, "core-share", name)
	}
	return manifest
}

// coreOf is the value of NEURON_RT_VISIBLE_CORES in a running pod, which sees one device, as number 0.
func coreOf(t *testing.T, pod string) (core string) {
	t.Helper()
	found := look(t, pod, "worker")
	if len(found.nodes) != 1 || !strings.HasPrefix(found.nodes[0], "neuron0 ") {
		t.Errorf("pod %s sees %v", pod, found.nodes)
	}
	for _, one := range found.env {
		if value, is := strings.CutPrefix(one, "NEURON_RT_VISIBLE_CORES="); is {
			core = value
		}
	}
	return core
}

// runningOf are those of the pods that are Ready.
func runningOf(names []string) (ready []string) {
	for _, name := range names {
		var p pod
		if get(&p, "pod", name) == nil && p.ready() {
			ready = append(ready, name)
		}
	}
	return ready
}

// TestCoreShares: eight pods on the two cores of one inf2 device. Two run at a time; whenever one has ended, while the agent is
// killed again and again, the next one gets its core, and never do two have the same.
func TestCoreShares(t *testing.T) {
	if !sharesDevices(t) {
		t.Skip("TestCoreSharesOff is for this cluster")
	}
	coreSharing(t, "inf2.xlarge")
	devicesShared(t, 1)
	defer clean(t)
	var waiting []string
	for i := range 8 {
		waiting = append(waiting, fmt.Sprint("core-", i+1))
	}
	for i, name := range waiting {
		apply(t, corePods(t, name))
		if i < 2 { // while the scheduler allocates a claim it may count it twice
			waitRunning(t, name)
		}
	}
	for ended := 0; len(waiting) > 0; ended++ {
		want := min(2, len(waiting))
		var running []string
		eventually(t, fmt.Sprint(want, " pods running, ", ended, " ended"), soon, func() error {
			if running = runningOf(waiting); len(running) != want {
				return fmt.Errorf("running: %v; events: %s", running, strings.Join(events(waiting[0], ""), " | "))
			}
			return nil
		})
		given := map[string]string{}
		for _, name := range running {
			core := coreOf(t, name)
			if given[core] != "" || (core != "0" && core != "1") {
				t.Fatalf("pod %s has core %q, %v are given", name, core, given)
			}
			given[core] = name
		}
		eventually(t, fmt.Sprint("CDI files of ", want, " pods"), soon, func() error {
			if files := cdiContents(t); len(files) != want { // the kubelet may still end the pod before
				return fmt.Errorf("%v", sortedKeys(files))
			}
			return nil
		})
		last := running[ended%len(running)]
		mustKubectl(t, "delete", "pod", last, "--wait=false")
		if ended%2 == 0 {
			control(t, "agent", "kill")
			control(t, "agent", "start", coresFlag)
		}
		var left []string
		for _, name := range waiting {
			if name != last {
				left = append(left, name)
			}
		}
		waiting = left
	}
}

// TestCoreSharesWhole: beside pods with a part of a trn2 device, a claim that was written before there were parts has a whole
// device; parts are pairs of cores, and all are as they were after the agent died and came back without sharing.
func TestCoreSharesWhole(t *testing.T) {
	if !sharesDevices(t) {
		t.Skip("TestCoreSharesOff is for this cluster")
	}
	coreSharing(t, "trn2.3xlarge")
	devicesShared(t, 1)
	defer clean(t)
	given := map[string]bool{}
	for i := range 4 {
		name := fmt.Sprint("pair-", i+1)
		apply(t, corePods(t, name))
		waitRunning(t, name)
		given[coreOf(t, name)] = true
	}
	if want := []string{"0", "1", "2", "3"}; !reflect.DeepEqual(sortedKeys(given), want) {
		t.Errorf("logical cores %v, want %v", sortedKeys(given), want)
	}
	before := cdiContents(t)
	control(t, "agent", "kill")
	control(t, "agent", "start")
	devicesShared(t, 0)
	whole := changed(t, example(t, "single-device"), "name: single-device\n", "name: whole\n")
	apply(t, whole)
	waitPending(t, "whole")
	if left := cdiContents(t); !reflect.DeepEqual(left, before) {
		t.Errorf("CDI files are not as they were: %v", sortedKeys(left))
	}
	for i := range 4 {
		mustKubectl(t, "delete", "pod", fmt.Sprint("pair-", i+1), "--wait=false")
	}
	waitRunning(t, "whole")
}

// TestCoreSharesOff runs where devices are not shared: on the second cluster of tools/cluster/e2e.py, whose gate DRAConsumableCapacity is
// off, and in the matrix. The same claims get whole devices, of two pods the second waits, and an Event says why.
func TestCoreSharesOff(t *testing.T) {
	if sharesDevices(t) {
		t.Skip("not on this cluster; `make e2e` brings up a second one")
	}
	coreSharing(t, "inf2.xlarge")
	defer clean(t)
	eventually(t, "the Event", soon, func() error {
		found, err := eventsAbout(kube.Node, "DeviceSharingDropped")
		if err != nil || len(found) == 0 {
			return fmt.Errorf("%v (%v)", found, err)
		}
		return nil
	})
	devicesShared(t, 0)
	apply(t, corePods(t, "core-1"))
	waitRunning(t, "core-1")
	checkContainer(t, "core-1", "worker", []string{"neuron-device-0"})
	apply(t, corePods(t, "core-2"))
	waitPending(t, "core-2")
	mustKubectl(t, "delete", "pod", "core-1", "--wait=false")
	waitRunning(t, "core-2")
}
