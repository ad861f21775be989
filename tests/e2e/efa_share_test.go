// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

const (
	sharesFlag = "--flag=--efa-share=8"
	// The pods of these tests want one EFA device, and no other.
	shareAddress = "0000:b4:00.0"
	shareDevice  = "pci-0000-b4-00-0"
	shareRequest = "          capacity:\n            requests:\n              shares: \"1\"\n"
)

// efaSharing has the agent serve the EFA devices too, in eight shares each.
func efaSharing(t *testing.T) {
	t.Helper()
	efaClasses(t)
	control(t, "agent", "stop")
	t.Cleanup(func() { control(t, "board", "--board", efaTrn2, "--driver-version", "2.26.5.0") })
	control(t, "agent", "start", efaFlag, sharesFlag)
	efaPublished(t, 16)
}

// shareTemplate is that of the example, under another name and for shareDevice alone; without shares it asks for the whole
// device, as claims do that were written before there were shares.
func shareTemplate(t *testing.T, name string, shares bool) string {
	t.Helper()
	template, _, _ := strings.Cut(example(t, "efa-share"), "---\n")
	template = changed(t, template, "name: efa-share\n", "name: "+name+"\n")
	kept := map[bool]string{true: shareRequest}[shares]
	return changed(t, template, shareRequest, kept+"          selectors:\n          - cel:\n              expression: device.attributes['dra.net'].pciAddress == '"+
		shareAddress+"'\n")
}

// sharePods are pods of the example, each with a claim from this template.
func sharePods(t *testing.T, template string, pods ...string) (manifest string) {
	t.Helper()
	_, pod, _ := strings.Cut(example(t, "efa-share"), "---\n")
	pod = changed(t, pod, "TemplateName: efa-share\n", "TemplateName: "+template+"\n")
	for _, name := range pods {
		manifest += "---\n" + renamed(t, pod, "efa-share", name)
	}
	return manifest
}

// TestEFAShares: eight pods on one EFA device. The agent dies, and comes back without sharing: all keep their shares, and nobody
// gets a part or all of the device. One pod goes while the agent is dead once more: with sharing on again the ninth pod has the
// free share. A claim that was written before there were shares has devices to itself.
func TestEFAShares(t *testing.T) {
	if kubeletMinor(t) < 36 {
		t.Skip("consumable capacity is on by default from Kubernetes 1.36 on")
	}
	if _, err := kubectl("get", "podgroups"); err == nil {
		t.Skip("TestEFASharesOff is for this cluster")
	}
	efaSharing(t)
	defer clean(t)
	var pods []string
	// While the scheduler allocates a claim it may count it twice, and it does not try a pod again by itself that it turned away
	// for that: so the pods come in groups for which there is room even then.
	template := shareTemplate(t, "share", true)
	for _, count := range []int{4, 2, 1, 1} {
		var group []string
		for range count {
			group = append(group, fmt.Sprint("share-", len(pods)+len(group)+1))
		}
		apply(t, template+sharePods(t, "share", group...))
		waitRunning(t, group...)
		pods = append(pods, group...)
	}
	for _, pod := range []string{pods[0], pods[7]} {
		sees(t, efaTrn2, pod, "worker", nil, []string{shareDevice})
	}
	shares := map[string]bool{}
	for _, one := range strings.Fields(mustKubectl(t, "get", "resourceclaims", "-o",
		`jsonpath={range .items[*].status.allocation.devices.results[*]}{.device}/{.shareID}{"\n"}{end}`)) {
		shares[one] = strings.HasPrefix(one, shareDevice+"/")
	}
	if list := sortedKeys(shares); len(list) != 8 || !shares[list[0]] || !shares[list[7]] {
		t.Errorf("shares: %v", list)
	}
	const ninth, whole, alone = "share-9", "whole", "alone"
	two, _, _ := strings.Cut(changed(t, example(t, "efa-share"), shareRequest, ""), "---\n")
	apply(t, changed(t, two, "count: 1\n", "count: 2\n")+sharePods(t, "efa-share", whole)+sharePods(t, "share", ninth))
	waitRunning(t, whole)
	if given := devicesOf(t, whole, "efa", 2); given[0] == given[1] || given[0] == shareDevice || given[1] == shareDevice {
		t.Errorf("two whole devices are %v", given)
	}
	waitPending(t, ninth)
	before := cdiContents(t)
	if len(before) != 9 {
		t.Errorf("CDI files: %v, want nine", sortedKeys(before))
	}

	control(t, "agent", "kill")
	control(t, "agent", "start", efaFlag)
	shared(t, false)
	apply(t, shareTemplate(t, alone, false)+sharePods(t, alone, alone))
	waitPending(t, alone)
	if left := cdiContents(t); !reflect.DeepEqual(left, before) {
		t.Errorf("CDI files are not as they were: %v", sortedKeys(left))
	}
	gone := claimOf(t, pods[4])
	control(t, "agent", "kill")
	mustKubectl(t, "delete", "pod", pods[4], "--wait=false")
	control(t, "agent", "start", efaFlag, sharesFlag)
	waitRunning(t, ninth)
	for _, pod := range []string{pods[7], ninth} {
		sees(t, efaTrn2, pod, "worker", nil, []string{shareDevice})
	}
	waitPending(t, alone)
	left := cdiContents(t)
	for name, content := range before {
		if strings.Contains(name, gone.uid) == (left[name] == content) {
			t.Errorf("%s is not as it has to be", name)
		}
	}
	if len(left) != 9 {
		t.Errorf("CDI files: %v, want nine", sortedKeys(left))
	}
}

// shared waits until the EFA devices are published as such that claims share, or as such that they do not.
func shared(t *testing.T, want bool) {
	t.Helper()
	eventually(t, fmt.Sprint("slice with shared devices: ", want), soon, func() error {
		out, err := kubectl("get", "resourceslices", "--field-selector", "spec.driver="+efaDriver, "-o",
			"jsonpath={.items[*].spec.devices[*].allowMultipleAllocations}")
		if n := strings.Count(out, "true"); err != nil || n != map[bool]int{true: 16}[want] {
			return fmt.Errorf("%d shared devices (%v)", n, err)
		}
		return nil
	})
}

// dropped is how many Events say that the server dropped the sharing of devices, with this in their notes.
func dropped(word string) (int, error) {
	found, err := eventsAbout(kube.Node, "DeviceSharingDropped")
	count := 0
	for _, event := range found {
		if strings.Contains(event.Note, word) {
			count++
		}
	}
	return count, err
}

// TestEFASharesOff runs on the cluster whose gate DRAConsumableCapacity is off (tools/cluster/e2e.py): of two pods that
// would share a device the second is Pending, no driver hears of it, and an Event says why.
func TestEFASharesOff(t *testing.T) {
	if _, err := kubectl("get", "podgroups"); err != nil {
		t.Skipf("not on this cluster; `make e2e` brings up a second one: %v", err)
	}
	before, err := dropped("driver=" + efaDriver)
	if err != nil {
		t.Fatal(err)
	}
	efaSharing(t)
	defer clean(t)
	shared(t, false)
	eventually(t, "the one Event", soon, func() error {
		if now, err := dropped("driver=" + efaDriver); err != nil || now != before+1 {
			return fmt.Errorf("%d, %d before (%v)", now, before, err)
		}
		return nil
	})
	const first, second = "share-1", "share-2"
	apply(t, shareTemplate(t, "share", true)+sharePods(t, "share", first))
	waitRunning(t, first)
	sees(t, efaTrn2, first, "worker", nil, []string{shareDevice})
	apply(t, sharePods(t, "share", second)[4:])
	waitPending(t, second)
	if files := cdiContents(t); len(files) != 1 {
		t.Errorf("CDI files: %v, want one", sortedKeys(files))
	}
	mustKubectl(t, "delete", "pod", first, "--wait=false")
	waitRunning(t, second)
}
