// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

// other is a second installation with all the names of AWS's chart, which this one has by default.
const other = "other-dra-driver"

// TestMigration moves a node from one installation of the driver to another and back, as cfg/deploy/install.md says, and ends
// with an uninstallation that comes too early for a pod.
func TestMigration(t *testing.T) {
	before := withoutAgent(t, release, other)
	typeLines(t, shellBlock(t, "README.md", "## Install")[:2]...)
	chart := filepath.Join(root, "cfg", "deploy", "chart")
	mustHelm := func(args ...string) {
		t.Helper()
		if out, err := helm(append(args, "--namespace", "kube-system")...); err != nil {
			t.Fatalf("%v\n%s\n%s", err, out, agentPods())
		}
	}
	install := func(name string, args ...string) {
		t.Helper()
		mustHelm(append(append([]string{"install", name, chart, "--wait"}, args...), hostPaths()...)...)
	}
	label := func(value string) {
		t.Helper()
		mustKubectl(t, "label", "node", kube.Node, "neuron-dra-driver="+value, "--overwrite")
		t.Cleanup(func() { _, _ = kubectl("label", "node", kube.Node, "neuron-dra-driver-") })
	}
	serves := func(namespace string) {
		t.Helper()
		eventually(t, "one agent, that of "+namespace, soon, func() error {
			for _, one := range []string{agentNamespace, release} {
				want := map[bool]string{true: "True", false: ""}[one == namespace]
				if got := mustKubectl(t, "-n", one, "get", "pods", "-o", "jsonpath={.items[*].status.conditions[?(@.type=='Ready')].status}"); got != want {
					return fmt.Errorf("pods of %s that are ready: %q, want %q", one, got, want)
				}
			}
			return nil
		})
	}
	class := func() string {
		out, _ := kubectl("get", "deviceclass", driver, "-o", "jsonpath={.metadata.annotations.meta\\.helm\\.sh/release-name}")
		return out
	}

	label("theirs")
	install(other, "--set", "draDriver.nodeSelector.neuron-dra-driver=theirs")
	runExample(t, "single-device", 1)
	mustKubectl(t, "delete", "pod", "single-device")
	install(release, "--set", "draDriver.nodeSelector.neuron-dra-driver=agent", "--set", "draDriver.nameOverride="+release,
		"--set", "draDriver.namespaceOverride="+release, "--set", "draDriver.fullnameOverride="+release)
	if owner := class(); owner != other {
		t.Errorf("the DeviceClass is that of %q, want %s", owner, other)
	}
	for _, value := range []string{"agent", "theirs", "agent"} {
		label(value)
		serves(map[string]string{"agent": release, "theirs": agentNamespace}[value])
		runExample(t, "single-device", 1)
		mustKubectl(t, "delete", "pod", "single-device")
	}
	mustHelm("uninstall", other, "--wait", "--no-hooks") // AWS's chart asks nobody
	mustHelm("upgrade", release, chart, "--reuse-values", "--wait")
	if owner := class(); owner != release {
		t.Errorf("the DeviceClass is that of %q, want %s", owner, release)
	}
	runExample(t, "single-device", 1)

	// Nobody can unprepare its claim until the driver is installed again.
	mustHelm("uninstall", release, "--wait", "--no-hooks")
	mustKubectl(t, "delete", "pod", "single-device", "--wait=false", "--grace-period=1")
	time.Sleep(5 * time.Second)
	if phase := getPod(t, "single-device").Status.Phase; phase == "" {
		t.Error("the pod is gone, though nothing unprepared its claim")
	}
	install(release)
	eventually(t, "the pod gone", soon, func() error {
		if out, err := kubectl("get", "pod", "single-device"); err == nil {
			return errors.New(out)
		}
		return nil
	})
	uninstall(t, before)
}
