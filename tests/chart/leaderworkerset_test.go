// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"path/filepath"
	"testing"

	core "k8s.io/api/core/v1"
	resource "k8s.io/api/resource/v1"
	leaderworkerset "sigs.k8s.io/lws/api/leaderworkerset/v1"
)

// TestLeaderWorkerSet holds the example strictly against the type of its controller, and the names in it against the
// template's. The controller runs in tests/e2e.
func TestLeaderWorkerSet(t *testing.T) {
	var set leaderworkerset.LeaderWorkerSet
	var template resource.ResourceClaimTemplate
	var pod core.Pod
	decode(t, "leaderworkerset/us-4-node-config.yaml", &set)
	decode(t, "us-4-node-config.yaml", &template, &pod)
	files, err := filepath.Glob(filepath.Join(root, "cfg", "deploy", "examples", "leaderworkerset", "*"))
	if err != nil || len(files) != 1 {
		t.Errorf("%v: %v, want the one that is read here", err, files)
	}
	if t.Failed() {
		return
	}
	if got := set.APIVersion; got != leaderworkerset.GroupVersion.String() || set.Kind != "LeaderWorkerSet" {
		t.Errorf("%s of %s", set.Kind, got)
	}
	if set.Annotations[leaderworkerset.ExclusiveKeyAnnotationKey] != "neuron.amazonaws.com/ultraserver-server-id-4" {
		t.Errorf("annotations %v", set.Annotations)
	}
	workers := set.Spec.LeaderWorkerTemplate
	if *set.Spec.Replicas != 2 || *workers.Size != 4 {
		t.Errorf("%d groups of %d", *set.Spec.Replicas, *workers.Size)
	}
	for what, spec := range map[string]core.PodSpec{"leader": workers.LeaderTemplate.Spec, "worker": workers.WorkerTemplate.Spec, "pod": pod.Spec} {
		claim := spec.ResourceClaims[0]
		if *claim.ResourceClaimTemplateName != template.Name || spec.Containers[0].Resources.Claims[0].Name != claim.Name {
			t.Errorf("the %s does not use the template: %+v", what, spec)
		}
	}
}
