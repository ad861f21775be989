// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	resource "k8s.io/api/resource/v1"
	leaderworkerset "sigs.k8s.io/lws/api/leaderworkerset/v1"
)

// TestLeaderWorkerSet holds the examples strictly against the type of its controller, and the names in them against the
// templates'. The controller runs in tests/e2e.
func TestLeaderWorkerSet(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "cfg", "deploy", "examples", "leaderworkerset", "*"))
	if err != nil || len(files) != 2 {
		t.Errorf("%v: %v, want the two that are read here", err, files)
	}
	for _, size := range []int32{2, 4} {
		groupsOf(t, size)
	}
}

// groupsOf reads the example of two groups of so many nodes, and its template.
func groupsOf(t *testing.T, size int32) {
	t.Helper()
	var set leaderworkerset.LeaderWorkerSet
	var template resource.ResourceClaimTemplate
	var pod core.Pod
	file := fmt.Sprintf("us-%d-node-config.yaml", size)
	decode(t, "leaderworkerset/"+file, &set)
	decode(t, file, &template, &pod)
	if t.Failed() {
		return
	}
	if got := set.APIVersion; got != leaderworkerset.GroupVersion.String() || set.Kind != "LeaderWorkerSet" {
		t.Errorf("%s: %s of %s", file, set.Kind, got)
	}
	label := fmt.Sprintf("neuron.amazonaws.com/ultraserver-server-id-%d", size)
	if set.Annotations[leaderworkerset.ExclusiveKeyAnnotationKey] != label {
		t.Errorf("%s: annotations %v, want %s", file, set.Annotations, label)
	}
	mode := fmt.Sprintf(`"ultraserverMode":%d`, size)
	if config := template.Spec.Spec.Devices.Config; len(config) != 1 || !strings.Contains(string(config[0].Opaque.Parameters.Raw), mode) {
		t.Errorf("%s: the template's configuration is %v, want %s", file, config, mode)
	}
	workers := set.Spec.LeaderWorkerTemplate
	if *set.Spec.Replicas != 2 || *workers.Size != size {
		t.Errorf("%s: %d groups of %d", file, *set.Spec.Replicas, *workers.Size)
	}
	for what, spec := range map[string]core.PodSpec{"leader": workers.LeaderTemplate.Spec, "worker": workers.WorkerTemplate.Spec, "pod": pod.Spec} {
		claim := spec.ResourceClaims[0]
		if *claim.ResourceClaimTemplateName != template.Name || spec.Containers[0].Resources.Claims[0].Name != claim.Name {
			t.Errorf("%s: the %s does not use the template: %+v", file, what, spec)
		}
	}
}
