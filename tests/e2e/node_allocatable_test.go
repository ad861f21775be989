// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	needsPod  = "efa-node-resources" // the example, with two EFA devices
	needsFlag = "--flag=--efa-node-resources="
)

// keepsNodeResources: whether the API server has the alpha gate by which it keeps nodeAllocatableResources, as the cluster has that
// tools/cluster/e2e.py brings up for TestNodeAllocatable. 1.36 knows the gate with other fields, which the agent does not write.
func keepsNodeResources(t *testing.T) bool {
	t.Helper()
	metrics := mustKubectl(t, "get", "--raw", "/metrics")
	return serverMinor(t) >= 37 && strings.Contains(metrics, `kubernetes_feature_enabled{name="DRANodeAllocatableResources",stage="ALPHA"} 1`)
}

// startNeeding has the agent serve the EFA devices too, each with these needs.
func startNeeding(t *testing.T, flags ...string) {
	t.Helper()
	control(t, "agent", "stop")
	control(t, append([]string{"agent", "start", efaFlag}, flags...)...)
	efaPublished(t, 16)
}

// needs waits until so many of the published EFA devices need this amount of a node resource for each pod.
func needs(t *testing.T, resource, amount string, devices int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d devices that need %s of %s", devices, amount, resource), soon, func() error {
		out, err := kubectl("get", "resourceslices", "--field-selector", "spec.driver="+efaDriver, "-o",
			"jsonpath={.items[*].spec.devices[*].nodeAllocatableResources['"+resource+"'].overhead.perPod}")
		want := strings.TrimSpace(strings.Repeat(amount+" ", devices))
		if err != nil || out != want {
			return fmt.Errorf("%q (%v)", out, err)
		}
		return nil
	})
}

// needsRefused holds that the pod of the example waits, and that the scheduler says for what.
func needsRefused(t *testing.T, manifest, words string) {
	t.Helper()
	apply(t, manifest)
	waitEvent(t, needsPod, "FailedScheduling", words)
	p := getPod(t, needsPod)
	if devices, err := allocated(p); err != nil || len(devices) != 0 || p.Status.Phase != "Pending" {
		t.Fatalf("pod %s is %s and holds devices %v (%v)", needsPod, p.Status.Phase, devices, err)
	}
}

// TestNodeAllocatable runs on the cluster whose gate DRANodeAllocatableResources is on (tools/cluster/e2e.py): a pod whose two EFA devices
// need more huge pages, or more memory, than the node has is refused in the scheduler's words. It starts when the devices need less, and
// the scheduler counts the need of both devices for it.
func TestNodeAllocatable(t *testing.T) {
	if !keepsNodeResources(t) {
		t.Skip("this API server does not keep nodeAllocatableResources; TestNodeAllocatableOff is for it")
	}
	efaClasses(t)
	t.Cleanup(func() { control(t, "board", "--board", efaTrn2, "--driver-version", "2.26.5.0") })
	defer clean(t)
	manifest := example(t, needsPod)
	startNeeding(t, needsFlag+"hugepages-2Mi=512Gi,memory=64Mi")
	needs(t, "hugepages-2Mi", "512Gi", 16)
	needs(t, "memory", "64Mi", 16)
	needsRefused(t, manifest, "Insufficient hugepages-2Mi")
	clean(t)
	startNeeding(t, needsFlag+"memory=1024Gi")
	needs(t, "memory", "1Ti", 16)
	needs(t, "hugepages-2Mi", "", 0)
	needsRefused(t, manifest, "Insufficient memory")
	startNeeding(t, needsFlag+"memory=64Mi")
	needs(t, "memory", "64Mi", 16)
	waitRunning(t, needsPod)
	if counted := mustKubectl(t, "get", "pod", needsPod, "-o", "jsonpath={.status.nodeAllocatableResourceClaimStatuses[*].overhead[*]}"); !strings.Contains(counted, `"128Mi"`) {
		t.Errorf("the scheduler counted %s for two devices of 64Mi", counted)
	}
	startNeeding(t)
	needs(t, "memory", "", 0)
	waitRunning(t, needsPod)
}

// TestNodeAllocatableOff: an API server that does not keep the field. The devices are published without it, once; the log and `check`
// say so, and a pod with such devices runs on a node that lacks what they would need.
func TestNodeAllocatableOff(t *testing.T) {
	if keepsNodeResources(t) {
		t.Skip("this API server keeps nodeAllocatableResources; TestNodeAllocatable is for it")
	}
	efaClasses(t)
	t.Cleanup(func() { control(t, "board", "--board", efaTrn2, "--driver-version", "2.26.5.0") })
	defer clean(t)
	port := freePort(t)
	startNeeding(t, needsFlag+"hugepages-2Mi=512Gi", "--flag=--metrics-port="+port)
	needs(t, "hugepages-2Mi", "", 0)
	const words = "the API server does not keep --efa-node-resources"
	eventually(t, "a line of check", soon, func() error {
		if check := needsCheck(port); !strings.Contains(check, "warning: "+words) {
			return fmt.Errorf("check:\n%s", check)
		}
		return nil
	})
	stored := func() string {
		return mustKubectl(t, "get", "resourceslices", "--field-selector", "spec.driver="+efaDriver, "-o", "jsonpath={.items[*].metadata.resourceVersion}")
	}
	before := stored()
	apply(t, example(t, needsPod))
	waitRunning(t, needsPod)
	time.Sleep(20 * time.Second) // longer than the agent's pauses between writes
	if now := stored(); now != before {
		t.Errorf("the slice was written again: %s, before %s", now, before)
	}
	startNeeding(t, "--flag=--metrics-port="+port)
	if check := needsCheck(port); strings.Contains(check, words) {
		t.Errorf("check without the setting:\n%s", check)
	}
}

// needsCheck is what the command `check` prints.
func needsCheck(port string) string {
	out, _ := run("", kube.Agent, "check", "--efa", "--metrics-port", port, "--sysfs-root", filepath.Join(kube.Run, "node", "sys"), "--dev-root",
		filepath.Join(kube.Run, "node", "dev"), "--cdi-root", kube.CDI, "--kubelet-plugins-directory-path",
		filepath.Join(kube.Short, "kubelet", "plugins")) // it fails where it has something to say
	return out
}
