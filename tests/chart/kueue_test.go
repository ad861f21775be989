// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	resource "k8s.io/api/resource/v1"
	kueueconfig "sigs.k8s.io/kueue/apis/config/v1beta2"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/yaml"
)

// decode reads the documents of an example strictly into the objects, which have to be as many; nil skips one.
func decode(t *testing.T, path string, into ...any) {
	t.Helper()
	documents := regexp.MustCompile(`(?m)^---$`).Split(read(t, "cfg", "deploy", "examples", path), -1)
	if len(documents) != len(into) {
		t.Fatalf("%s has %d documents, want %d", path, len(documents), len(into))
	}
	for i, document := range documents {
		if into[i] == nil {
			continue
		}
		if err := yaml.UnmarshalStrict([]byte(document), into[i]); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestKueue holds the examples against Kueue's types, and the names in them against each other and the chart's. Kueue itself
// does not run here.
func TestKueue(t *testing.T) {
	var configuration kueueconfig.Configuration
	var flavor kueue.ResourceFlavor
	var cluster kueue.ClusterQueue
	var queue kueue.LocalQueue
	var job batch.Job
	var template resource.ResourceClaimTemplate
	decode(t, "kueue/configuration.yaml", &configuration)
	decode(t, "kueue/queues.yaml", &flavor, &cluster, &queue)
	decode(t, "kueue/job.yaml", &job)
	decode(t, "l-trn2.yaml", &template, nil)
	files, err := filepath.Glob(filepath.Join(root, "cfg", "deploy", "examples", "kueue", "*"))
	if err != nil || len(files) != 3 {
		t.Errorf("%v: %v, want the three that are read here", err, files)
	}
	if t.Failed() {
		return
	}
	if got := configuration.APIVersion; got != kueueconfig.SchemeGroupVersion.String() {
		t.Errorf("the configuration's version is %s", got)
	}
	if got := flavor.APIVersion; got != kueue.SchemeGroupVersion.String() {
		t.Errorf("the queues' version is %s", got)
	}

	chartClasses := []core.ResourceName{}
	for _, object := range rendered(t, "--kube-version", "1.36.0") {
		if class, ok := object.(*resource.DeviceClass); ok {
			chartClasses = append(chartClasses, core.ResourceName(class.Name))
		}
	}
	mapping := configuration.Resources.DeviceClassMappings[0]
	slices.Sort(chartClasses)
	if classes := slices.Sorted(slices.Values(mapping.DeviceClassNames)); !slices.Equal(classes, chartClasses) {
		t.Errorf("the mapping has the classes %v, the chart %v", classes, chartClasses)
	}

	group := cluster.Spec.ResourceGroups[0]
	quota := group.Flavors[0].Resources[0]
	if group.CoveredResources[0] != mapping.Name || quota.Name != mapping.Name {
		t.Errorf("the queue counts %v, the mapping is called %s", group, mapping.Name)
	}
	if string(group.Flavors[0].Name) != flavor.Name || string(queue.Spec.ClusterQueue) != cluster.Name ||
		job.Labels["kueue.x-k8s.io/queue-name"] != queue.Name {
		t.Error("flavor, queues and job do not name each other")
	}

	if name := job.Spec.Template.Spec.ResourceClaims[0].ResourceClaimTemplateName; *name != template.Name {
		t.Errorf("the job's template is %s", *name)
	}
	// Kueue refuses firstAvailable and the mode All.
	request := template.Spec.Spec.Devices.Requests[0].Exactly
	if request == nil || request.AllocationMode != resource.DeviceAllocationModeExactCount || request.Count > quota.NominalQuota.Value() {
		t.Errorf("Kueue does not admit %+v", request)
	}
}
