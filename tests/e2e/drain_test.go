// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

const (
	drainLabel  = "neuron.aws.com/drain"
	drained     = "the node is drained: the kernel module may be unloaded"
	settledSoon = 40 * time.Second // DRAIN_SETTLE_MS, and what publishing takes
)

// labelDrain sets the label of the Node, or removes it where value is empty.
func labelDrain(t *testing.T, value string) {
	t.Helper()
	word := drainLabel + "-"
	if value != "" {
		word = drainLabel + "=" + value
	}
	mustKubectl(t, "label", "node", kube.Node, "--overwrite", word)
}

// drainShown waits until check prints the line.
func drainShown(t *testing.T, port, line string) {
	t.Helper()
	eventually(t, "check says "+line, settledSoon, func() error {
		check, _ := heldShown(t, port)
		if !strings.Contains(check, "warning: "+line+"\n") {
			return fmt.Errorf("%s", check)
		}
		return nil
	})
}

// upgradePod is the pod of the example, on the only node.
func upgradePod(t *testing.T) (p pod, found bool) {
	t.Helper()
	var list struct{ Items []pod }
	if err := get(&list, "pods", "-n", "kube-system", "-l", "app=module-upgrade"); err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 1 {
		return pod{}, false
	}
	return list.Items[0], true
}

// upgradeExample is the example, which waits for the file of this node's CDI root and upgrades nothing.
func upgradeExample(t *testing.T) string {
	t.Helper()
	manifest := changed(t, example(t, "module-upgrade"), "path: /var/run/cdi", "path: "+kube.CDI)
	return changed(t, manifest,
		`chroot /host sh -ec "modprobe -r neuron; dnf -y upgrade aws-neuronx-dkms; modprobe neuron"`, "ls /host")
}

// TestDrain: the label taints all devices, so that a new pod waits, and the pod that runs stays and is named. When it ends, the node is
// drained: the DaemonSet of the example gets its turn. Without the label the waiting pod runs.
func TestDrain(t *testing.T) {
	t.Parallel()
	port := freePort(t)
	takeNode(t, "--flag=--metrics-port="+port)
	defer clean(t)
	defer labelDrain(t, "")
	free, tainted := -1, 0 // where the server drops taints, devices without a claim are left out
	if serverMinor(t) >= 36 {
		free, tainted = 1, 1
	}
	before, err := eventsAbout(kube.Node, "NodeDrained")
	if err != nil {
		t.Fatal(err)
	}
	manifest := changed(t, example(t, "single-device"), "          count: 1\n", "          count: 1\n"+outlivedOnly)
	apply(t, renamed(t, manifest, "single-device", "runs"))
	waitRunning(t, "runs")
	runs := claimOf(t, "runs")
	published(t, heldDevice, 0)

	apply(t, upgradeExample(t))
	defer mustKubectl(t, "delete", "daemonset", "-n", "kube-system", "module-upgrade")
	labelDrain(t, "true")
	published(t, "neuron-device-5", free)
	published(t, heldDevice, tainted)
	drainShown(t, port, "the node is draining, claims left: 1")
	drainShown(t, port, "the drain waits for claim default/"+runs.name+" of Pod runs")
	_, devices := heldShown(t, port)
	if !strings.Contains(devices, "the node is draining, claims left: 1\n") {
		t.Errorf("devices:\n%s", devices)
	}
	apply(t, renamed(t, manifest, "single-device", outlivedNext))
	waitPending(t, outlivedNext)
	time.Sleep(2 * settledSoon / 3) // longer than a drained node needs
	if p := getPod(t, "runs"); !p.ready() {
		t.Errorf("the pod that ran is %s", p.Status.Phase)
	}
	if p, found := upgradePod(t); !found || p.ready() || p.Status.Phase != "Pending" {
		t.Errorf("the upgrade (%t) does not wait: %s", found, p.Status.Phase)
	}

	mustKubectl(t, "delete", "pod", "runs", "--wait=true")
	drainShown(t, port, drained)
	eventually(t, "the Event", soon, func() error {
		after, err := eventsAbout(kube.Node, "NodeDrained")
		if err == nil && len(after) != len(before)+1 {
			err = fmt.Errorf("%d Events, %d before", len(after), len(before))
		}
		return err
	})
	mustKubectl(t, "-n", "kube-system", "wait", "daemonset/module-upgrade", "--for=jsonpath={.status.numberReady}=1", "--timeout=60s")
	published(t, heldDevice, free)
	waitPending(t, outlivedNext)

	labelDrain(t, "")
	published(t, heldDevice, 0)
	waitRunning(t, outlivedNext)
	eventually(t, "the upgrade is gone", soon, func() error {
		if p, found := upgradePod(t); found {
			return fmt.Errorf("phase %q", p.Status.Phase)
		}
		return nil
	})
	if check, _ := heldShown(t, port); strings.Contains(check, "the node is drain") {
		t.Errorf("check still says:\n%s", check)
	}
}
