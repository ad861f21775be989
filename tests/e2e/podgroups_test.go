// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// podGroup has the version of the API that the cluster has.
const podGroup = `apiVersion: %s
kind: PodGroup
metadata:
  name: team
spec:
  schedulingPolicy:
    basic: {}
  resourceClaims:
  - name: neurons
    resourceClaimTemplateName: connected-4-neurons
`

// groupVersion is the version of the API of groups that the cluster serves.
func groupVersion(t *testing.T) string {
	t.Helper()
	for _, line := range strings.Split(mustKubectl(t, "api-resources", "--api-group=scheduling.k8s.io", "--no-headers"), "\n") {
		fields := strings.Fields(line)
		if at := slices.Index(fields, "PodGroup"); at > 1 {
			return fields[at-2]
		}
	}
	t.Fatal("kubectl api-resources lists no PodGroup")
	return ""
}

// inGroup is the pod of an example as a member of the group.
func inGroup(t *testing.T, manifest, name string) string {
	t.Helper()
	return changed(t, renamed(t, manifest, "connected-4-test", name), "\nspec:\n  nodeSelector",
		"\nspec:\n  schedulingGroup:\n    podGroupName: team\n  nodeSelector")
}

// TestPodGroups runs on a cluster that has such groups (tools/cluster/e2e.py): their claim outlives each of their pods, and is
// prepared again under the same UID.
func TestPodGroups(t *testing.T) {
	if _, err := kubectl("get", "podgroups"); err != nil {
		t.Skipf("this cluster has no PodGroups; `make e2e` brings up one that has: %v", err)
	}
	port := freePort(t)
	takeNode(t, "--flag=--metrics-port="+port)
	defer clean(t)
	manifest := example(t, "connected-4")
	template, _, _ := strings.Cut(manifest, "\n---\n")
	apply(t, template)
	apply(t, fmt.Sprintf(podGroup, groupVersion(t)))
	defer mustKubectl(t, "delete", "--ignore-not-found", "podgroup", "team")
	apply(t, inGroup(t, manifest, "first"))
	apply(t, inGroup(t, manifest, "second"))
	waitRunning(t, "first", "second")
	claim := getPod(t, "first").Status.ResourceClaimStatuses[0].Name
	uid := mustKubectl(t, "get", "resourceclaim", claim, "-o", "jsonpath={.metadata.uid}")
	devices := devicesOf(t, "first", "neurons", 4)
	for _, name := range []string{"first", "second"} {
		if got := getPod(t, name).Status.ResourceClaimStatuses[0].Name; got != claim {
			t.Errorf("pod %s has claim %s, not %s", name, got, claim)
		}
		checkContainer(t, name, "app", devices)
	}
	if by := mustKubectl(t, "get", "resourceclaim", claim, "-o", "jsonpath={.status.reservedFor[*].resource}"); by != "podgroups" {
		t.Fatalf("the claim is reserved for %q", by)
	}
	checkPodsOfClaim(t, claim, "first", "second")
	checkConsumers(t, port, claim, 4, "PodGroup team", "Pod first", "Pod second")
	// No pod has the claim, and it is allocated and reserved as before: an agent that comes new must not hold its devices.
	mustKubectl(t, "delete", "pod", "first", "second", "--wait=true")
	eventually(t, "no CDI file without a pod", soon, func() error {
		files, err := cdiFiles()
		if err == nil && len(files) != 0 {
			err = fmt.Errorf("there are %v", files)
		}
		return err
	})
	control(t, "agent", "kill")
	control(t, "agent", "start", "--flag=--metrics-port="+port)

	apply(t, inGroup(t, manifest, "third"))
	waitRunning(t, "third")
	again := getPod(t, "third").Status.ResourceClaimStatuses[0].Name
	if got := mustKubectl(t, "get", "resourceclaim", again, "-o", "jsonpath={.metadata.uid}"); got != uid {
		t.Errorf("the third pod has claim %s of UID %s, not %s", again, got, uid)
	}
	if got := devicesOf(t, "third", "neurons", 4); !reflect.DeepEqual(got, devices) {
		t.Errorf("the third pod has %v, not %v", got, devices)
	}
	checkContainer(t, "third", "app", devices)
	checkPodsOfClaim(t, claim, "third")
	checkConsumers(t, port, claim, 4, "PodGroup team", "Pod third")
	mustKubectl(t, "delete", "pod", "third", "--wait=true")
	mustKubectl(t, "delete", "podgroup", "team")
}
