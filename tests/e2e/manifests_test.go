// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// overlay is a kustomization over cfg/deploy/manifests with nothing but the paths of the simulated node.
func overlay(t *testing.T) string {
	t.Helper()
	// kustomize refuses an absolute path of another kustomization.
	folder := must(filepath.EvalSymlinks(t.TempDir()))
	base := must(filepath.Rel(folder, filepath.Join(root, "cfg", "deploy", "manifests")))
	kubelet, node := filepath.Join(kube.Short, "kubelet"), filepath.Join(kube.Run, "node")
	plugin := filepath.Join(kubelet, "plugins", driver)
	type list []object
	var mounts, volumes list
	for _, one := range []struct {
		name, path string
		readOnly   bool
	}{
		{"registrar", filepath.Join(kubelet, "plugins_registry"), false}, {"plugin", plugin, false}, {"cdi", kube.CDI, false},
		{"device-plugins", devicePlugins, true}, {"pod-resources", filepath.Join(kubelet, "pod-resources"), true}, {"dev", filepath.Join(node, "dev"), true}, {"sysfs", filepath.Join(node, "sys"), true},
	} {
		mounts = append(mounts, object{"name": one.name, "mountPath": one.path, "readOnly": one.readOnly})
		volumes = append(volumes, object{"name": one.name, "hostPath": object{"path": one.path, "type": "DirectoryOrCreate"}})
	}
	environment := list{
		{"name": "CDI_ROOT", "value": kube.CDI},
		{"name": "KUBELET_REGISTRAR_DIRECTORY_PATH", "value": filepath.Join(kubelet, "plugins_registry")},
		{"name": "KUBELET_PLUGINS_DIRECTORY_PATH", "value": filepath.Join(kubelet, "plugins")},
		{"name": "DEV_ROOT", "value": filepath.Join(node, "dev")},
		{"name": "SYSFS_ROOT", "value": filepath.Join(node, "sys")}}
	// By name and in place: the other variables stay, the other mounts do not.
	merge := object{"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": object{"name": daemonSet, "namespace": agentNamespace},
		"spec": object{"template": object{"spec": object{"containers": list{{"name": "agent", "env": environment}}}}}}
	replace := list{
		{"op": "replace", "path": "/spec/template/spec/containers/0/volumeMounts", "value": mounts},
		{"op": "replace", "path": "/spec/template/spec/volumes", "value": volumes}}
	text := func(value any) string { return string(must(json.Marshal(value))) }
	kustomization := object{"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": []string{base},
		"patches": list{{"patch": text(merge)}, {"target": object{"kind": "DaemonSet"}, "patch": text(replace)}}}
	overwrite(t, filepath.Join(folder, "kustomization.yaml"), text(kustomization))
	return folder
}

// TestManifests installs the agent without Helm, by kubectl's own kustomize, and takes it away again.
func TestManifests(t *testing.T) {
	before := withoutAgent(t)
	typeLines(t, shellBlock(t, "README.md", "## Install")[:2]...)
	folder := overlay(t)
	t.Cleanup(func() { _, _ = kubectl("delete", "-k", folder, "--ignore-not-found", "--timeout=60s") })
	mustKubectl(t, "apply", "-k", folder)
	mustKubectl(t, "-n", agentNamespace, "rollout", "status", "daemonset/"+daemonSet, "--timeout=60s")
	runExample(t, "single-device", 1)
	out := mustKubectl(t, "-n", agentNamespace, "exec", "daemonset/"+daemonSet, "--", "neuron-dra-agent", "claims", "--pod", "default/single-device")
	if serverMinor(t) >= 34 && !strings.Contains(out, "\n  pods: single-device\n") {
		t.Errorf("through the read-only mount: %s", out)
	}
	mustKubectl(t, "delete", "pod", "single-device")
	mustKubectl(t, "delete", "-k", folder, "--timeout=60s")
	nothingLeft(t, before)
}
