// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

// installChart installs the release, or upgrades it, with these values.
func installChart(t *testing.T, values ...string) {
	t.Helper()
	args := append([]string{"upgrade", "--install", release, filepath.Join(root, "cfg", "deploy", "chart"), "--namespace", "kube-system",
		"--wait"}, hostPaths()...)
	for _, value := range values {
		args = append(args, "--set", value)
	}
	if out, err := helm(args...); err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, agentPods())
	}
}

// hookObjects are those that exist for the check alone.
func hookObjects(t *testing.T) string {
	t.Helper()
	found := ""
	for _, line := range strings.Fields(mustKubectl(t, "get", "jobs,pods,serviceaccounts", "-n", agentNamespace, "-o", "name") +
		mustKubectl(t, "get", "clusterroles,clusterrolebindings", "-o", "name")) {
		if strings.Contains(line, "uninstall") {
			found += line + "\n"
		}
	}
	return found
}

// TestUninstall: a release is not taken away from a pod that holds a claim, unless that is asked for.
func TestUninstall(t *testing.T) {
	before := withoutAgent(t, release)
	typeLines(t, shellBlock(t, "README.md", "## Install")[:2]...)
	installChart(t)
	steps(t, []step{
		{"refused", uninstallRefused},
		{"goes on after a refusal", goesOn},
		{"forced", uninstallForced},
		{"not looked at", uninstallUnasked},
	})
	installChart(t)
	uninstall(t, before)
}

// uninstallRefused: Helm fails, the log has the pod, and what was there is there, but for a Job.
func uninstallRefused(t *testing.T) {
	runExample(t, "single-device", 1)
	agent := mustKubectl(t, "-n", agentNamespace, "get", "pods", "-o", agentPodUID)
	slice := mustSlice(t)
	for range 2 { // the second one replaces the Job of the first
		out, err := helm("uninstall", release, "--namespace", "kube-system", "--wait")
		if err == nil {
			t.Fatalf("it was uninstalled: %s", out)
		}
		if !strings.Contains(err.Error(), "job neuron-dra-driver-uninstall failed") {
			t.Errorf("Helm's reason: %v", err)
		}
		user, log := newShell(t), ""
		for _, line := range shellBlock(t, "cfg/deploy/operate.md", "## Uninstall")[:1] {
			log += user.typeLine(t, line)
		}
		for _, words := range []string{"claim default/single-device-neurons-", " on node " + kube.Node + " is reserved for pods/single-device\n",
			"end these pods first"} {
			if !strings.Contains(log, words) {
				t.Errorf("the log lacks %q:\n%s", words, log)
			}
		}
	}
	if now := mustKubectl(t, "-n", agentNamespace, "get", "daemonset", daemonSet, "-o", "jsonpath={.status.numberReady}"); now != "1" {
		t.Errorf("agents that are ready: %s", now)
	}
	for _, uid := range strings.Fields(agent) {
		if now := mustKubectl(t, "-n", agentNamespace, "get", "pods", "-o", agentPodUID); !strings.Contains(now, uid) {
			t.Errorf("the agent's pod %s was replaced: %s", uid, now)
		}
	}
	if now := mustSlice(t); now.Metadata.UID != slice.Metadata.UID {
		t.Errorf("the slice %s was replaced by %s", slice.Metadata.UID, now.Metadata.UID)
	}
	for _, line := range strings.Fields(hookObjects(t)) {
		if !strings.HasPrefix(line, "job") && !strings.HasPrefix(line, "pod/") {
			t.Errorf("left beside the Job: %s", line)
		}
	}
}

// goesOn: a release whose uninstallation was refused can be used again.
func goesOn(t *testing.T) {
	for _, line := range shellBlock(t, "cfg/deploy/operate.md", "## Uninstall")[1:2] {
		newShell(t).typeLine(t, line)
	}
	installChart(t)
	runExample(t, "single-device", 1)
}

// podsEnd installs the driver again, without which they could not.
func podsEnd(t *testing.T) {
	t.Helper()
	mustKubectl(t, "delete", "pod", "single-device", "--wait=false")
	installChart(t, "draDriver.uninstall.force=true")
	eventually(t, "the pod gone", soon, func() error {
		if out := mustKubectl(t, "get", "pods", "-o", "name"); strings.Contains(out, "pod/single-device\n") {
			return errors.New(out)
		}
		return nil
	})
}

// uninstallForced: without its hooks Helm asks nobody, and takes what a refusal left.
func uninstallForced(t *testing.T) {
	runExample(t, "single-device", 1)
	if out, err := helm("uninstall", release, "--namespace", "kube-system", "--wait", "--no-hooks"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	podsEnd(t)
}

// uninstallUnasked: draDriver.uninstall.force, which podsEnd set, says the same for all time.
func uninstallUnasked(t *testing.T) {
	runExample(t, "single-device", 1)
	if out, err := helm("uninstall", release, "--namespace", "kube-system", "--wait"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	podsEnd(t)
}
