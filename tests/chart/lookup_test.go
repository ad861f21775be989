// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	resource "k8s.io/api/resource/v1"
	"sigs.k8s.io/yaml"
)

type object = map[string]any

// apiServer answers what Helm asks for before it installs anything: its version, the kinds that it serves, and these objects,
// by path.
func apiServer(t *testing.T, stored map[string]object) string {
	t.Helper()
	kinds := map[string][]string{"v1": {"Namespace", "Pod", "Service", "ServiceAccount"}, "apps/v1": {"DaemonSet"}, "batch/v1": {"Job"},
		"rbac.authorization.k8s.io/v1":    {"ClusterRole", "ClusterRoleBinding"},
		"resource.k8s.io/v1":              {"DeviceClass", "ResourceClaimTemplate"},
		"admissionregistration.k8s.io/v1": {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"},
		"flowcontrol.apiserver.k8s.io/v1": {"FlowSchema", "PriorityLevelConfiguration"}}
	answers := map[string]any{"/version": object{"major": "1", "minor": "36", "gitVersion": "v1.36.3"},
		"/api": object{"kind": "APIVersions", "versions": []string{"v1"}}}
	var groups []object
	for version, names := range kinds {
		path := "/api/v1"
		if group, short, found := strings.Cut(version, "/"); found {
			path = "/apis/" + version
			one := object{"groupVersion": version, "version": short}
			groups = append(groups, object{"name": group, "versions": []object{one}, "preferredVersion": one})
		}
		var resources []object
		for _, kind := range names {
			plural := regexp.MustCompile(`(?:y|s)?$`).ReplaceAllStringFunc(strings.ToLower(kind), func(end string) string {
				return map[string]string{"y": "ies", "s": "ses", "": "s"}[end]
			})
			namespaced := map[string]bool{"Pod": true, "Service": true, "ServiceAccount": true, "DaemonSet": true, "Job": true, "ResourceClaimTemplate": true}
			resources = append(resources, object{"name": plural, "kind": kind, "namespaced": namespaced[kind], "verbs": []string{"get", "list", "create"}})
		}
		answers[path] = object{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": resources}
	}
	answers["/apis"] = object{"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
	for path, one := range stored {
		answers[path] = one
	}
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, request *http.Request) {
		out.Header().Set("Content-Type", "application/json")
		answer, found := answers[request.URL.Path]
		if !found {
			out.WriteHeader(http.StatusNotFound)
			answer = object{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}
		}
		_ = json.NewEncoder(out).Encode(answer)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// install is what Helm says of an installation that it does not carry out.
func install(t *testing.T, server string, args ...string) (string, error) {
	t.Helper()
	return helm(t, append([]string{"install", "second", chart, "--namespace", "kube-system", "--dry-run=server", "--kube-apiserver", server,
		"--disable-openapi-validation"}, args...)...)
}

// owned is an object of a release.
func owned(version, kind, name, release, namespace string) object {
	return object{"apiVersion": version, "kind": kind, "metadata": object{"name": name, "labels": object{"app.kubernetes.io/managed-by": "Helm"},
		"annotations": object{"meta.helm.sh/release-name": release, "meta.helm.sh/release-namespace": namespace}}}
}

// TestOtherRelease: an object that another release has under the same name is named, with the values to set; one's own object and
// a shared DeviceClass are no hindrance.
func TestOtherRelease(t *testing.T) {
	const set, role = "/apis/apps/v1/namespaces/neuron-dra-driver/daemonsets/neuron-dra-driver-kubelet-plugin",
		"/apis/rbac.authorization.k8s.io/v1/clusterroles/neuron-dra-driver-clusterrole"
	const class = "/apis/resource.k8s.io/v1/deviceclasses/neuron.aws.com"
	for _, one := range []struct {
		stored map[string]object
		words  string
	}{
		{map[string]object{role: owned("rbac.authorization.k8s.io/v1", "ClusterRole", "neuron-dra-driver-clusterrole", "first", "kube-system")},
			"ClusterRole neuron-dra-driver-clusterrole belongs to the release first in namespace kube-system: a second release needs names and " +
				"nodes of its own: --set draDriver.nameOverride=,draDriver.fullnameOverride=,draDriver.namespaceOverride=,draDriver.serviceAccount.name="},
		// One of the same name, in another namespace, is another release.
		{map[string]object{role: owned("rbac.authorization.k8s.io/v1", "ClusterRole", "neuron-dra-driver-clusterrole", "second", "default")},
			"ClusterRole neuron-dra-driver-clusterrole belongs to the release second in namespace default"},
		{map[string]object{set: owned("apps/v1", "DaemonSet", "neuron-dra-driver-kubelet-plugin", "first", "a")},
			"DaemonSet neuron-dra-driver-kubelet-plugin belongs to the release first in namespace a"},
		{map[string]object{role: owned("rbac.authorization.k8s.io/v1", "ClusterRole", "neuron-dra-driver-clusterrole", "second", "kube-system"),
			class: owned("resource.k8s.io/v1", "DeviceClass", "neuron.aws.com", "first", "kube-system")}, ""},
	} {
		out, err := install(t, apiServer(t, one.stored))
		switch {
		case one.words == "" && err != nil:
			t.Errorf("%v: %v", one.stored, err)
		case one.words == "" && (strings.Contains(out, "kind: DeviceClass\nmetadata:\n  name: neuron.aws.com") ||
			!strings.Contains(out, "The DeviceClass neuron.aws.com was there before and stays as it is")):
			t.Errorf("it takes the DeviceClass of another release, or does not say that it leaves it: %s", out)
		case one.words != "" && (err == nil || !strings.Contains(err.Error(), one.words)):
			t.Errorf("%v, want %s", err, one.words)
		}
		if _, err := install(t, apiServer(t, one.stored), "-f", "values/second-release.yaml"); err != nil {
			t.Errorf("with names of its own: %v", err)
		}
	}
}

// TestNotes: what `helm install` prints has a manifest to paste, in the version of resource.k8s.io that the API server serves.
func TestNotes(t *testing.T) {
	out, err := install(t, apiServer(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	pasted := regexp.MustCompile(`(?s)\nkubectl apply -f - <<EOF\n(.*?)\nEOF\n`).FindStringSubmatch(out)
	if pasted == nil {
		t.Fatalf("no manifest in\n%s", out[strings.Index(out, "NOTES:"):])
	}
	documents := strings.Split(pasted[1], "\n---\n")
	var template resource.ResourceClaimTemplate
	var pod core.Pod
	if len(documents) != 2 {
		t.Fatalf("%d documents: %s", len(documents), pasted[1])
	}
	for i, into := range []any{&template, &pod} {
		if err := yaml.UnmarshalStrict([]byte(documents[i]), into); err != nil {
			t.Errorf("%v: %s", err, documents[i])
		}
	}
	if template.APIVersion != "resource.k8s.io/v1" || template.Spec.Spec.Devices.Requests[0].Exactly.DeviceClassName != "neuron.aws.com" ||
		*pod.Spec.ResourceClaims[0].ResourceClaimTemplateName != template.Name || pod.Spec.Containers[0].Resources.Claims[0].Name != pod.Spec.ResourceClaims[0].Name {
		t.Errorf("the manifest is\n%s", pasted[1])
	}
	if image := pod.Spec.Containers[0].Image; image != exampleImage {
		t.Errorf("the image is %s, that of the examples %s", image, exampleImage)
	}
	if !strings.Contains(out, "\n  helm test second --namespace kube-system\n") {
		t.Error("it does not say how to test the release")
	}
}
