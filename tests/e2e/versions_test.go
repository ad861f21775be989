// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"testing"
)

// served writes a manifest in the newest version of resource.k8s.io that the API server serves. The repository's are
// in v1; v1beta2 looks the same, v1beta1 has the fields of "exactly" in the request itself.
func served(t *testing.T, manifest string) string {
	t.Helper()
	if kube.Seen[0] == "v1" {
		return manifest
	}
	// kubectl reads YAML without asking the server; what it prints is one JSON object per document.
	out, err := run(manifest, kube.Programs["kubectl"], "patch", "--local", "--type=merge", "-p", "{}", "-o", "json", "-f", "-")
	if err != nil {
		t.Fatal(err)
	}
	var written strings.Builder
	for objects := json.NewDecoder(strings.NewReader(out)); ; {
		var object map[string]any
		if err := objects.Decode(&object); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		inVersion(object, kube.Seen[0])
		data, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		written.WriteString("---\n" + string(data) + "\n")
	}
	return written.String()
}

// inVersion changes a claim, a template or a device class to another version; other objects stay.
func inVersion(object map[string]any, version string) {
	if object["apiVersion"] != "resource.k8s.io/v1" {
		return
	}
	object["apiVersion"] = "resource.k8s.io/" + version
	if version != "v1beta1" {
		return
	}
	spec, _ := object["spec"].(map[string]any)
	if object["kind"] == "ResourceClaimTemplate" {
		spec, _ = spec["spec"].(map[string]any)
	}
	devices, _ := spec["devices"].(map[string]any)
	requests, _ := devices["requests"].([]any)
	for _, one := range requests {
		request, _ := one.(map[string]any)
		exactly, _ := request["exactly"].(map[string]any)
		delete(request, "exactly")
		for key, value := range exactly {
			request[key] = value
		}
	}
}

// TestVersions holds the cluster to what it was brought up for, and the agent and the kubelet to the versions that
// they have to speak there: otherwise a row of the matrix could pass on the versions of another.
func TestVersions(t *testing.T) {
	steps(t, []step{
		{"served by the API server", servedVersions},
		{"written by the agent", writtenVersion},
		{"called by the kubelet", calledVersion},
	})
}

func servedVersions(t *testing.T) {
	var group struct {
		Versions []struct{ Version string }
	}
	if err := json.Unmarshal([]byte(mustKubectl(t, "get", "--raw", "/apis/resource.k8s.io")), &group); err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, one := range group.Versions {
		if !strings.Contains(one.Version, "alpha") {
			found = append(found, one.Version)
		}
	}
	want := append([]string{}, kube.Seen...)
	sort.Strings(found)
	sort.Strings(want)
	if !reflect.DeepEqual(found, want) {
		t.Errorf("the API server serves %v, want %v", found, want)
	}
}

// writtenVersion reads from the server's own record in which version the slice was last written.
func writtenVersion(t *testing.T) {
	var list struct {
		Items []struct {
			Metadata struct {
				ManagedFields []struct{ Manager, APIVersion string } `json:"managedFields"`
			} `json:"metadata"`
		} `json:"items"`
	}
	if err := get(&list, "resourceslices", "--show-managed-fields"); err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 1 || len(list.Items[0].Metadata.ManagedFields) != 1 {
		t.Fatalf("not one slice with one writer: %+v", list.Items)
	}
	writer, want := list.Items[0].Metadata.ManagedFields[0], "resource.k8s.io/"+kube.Seen[0]
	if writer.APIVersion != want {
		t.Errorf("%s wrote the slice in %s, want %s", writer.Manager, writer.APIVersion, want)
	}
}

// calledVersion reads from the kubelet's own counters which service it called.
func calledVersion(t *testing.T) {
	runExample(t, "single-device", 1)
	clean(t)
	want := "v1"
	if minor := kubeletMinor(t); minor < 34 {
		want = "v1beta1"
	}
	service := regexp.MustCompile(`dra_grpc_operations_duration_seconds_count{driver_name="` + regexp.QuoteMeta(driver) +
		`",grpc_status_code="([A-Za-z]+)",method_name="/k8s\.io\.kubelet\.pkg\.apis\.dra\.([a-z0-9]+)\.DRAPlugin/([A-Za-z]+)"}`)
	calls := map[string]bool{}
	out := mustKubectl(t, "get", "--raw", "/api/v1/nodes/"+kube.Node+"/proxy/metrics")
	for _, line := range service.FindAllStringSubmatch(out, -1) {
		if status, version, method := line[1], line[2], line[3]; version != want {
			t.Errorf("the kubelet called %s of %s, want %s", method, version, want)
		} else if status == "OK" {
			calls[method] = true
		}
	}
	if !calls["NodePrepareResources"] || !calls["NodeUnprepareResources"] {
		t.Errorf("the kubelet counted no successful call of both methods of %s: %v", want, calls)
	}
}

func kubeletMinor(t *testing.T) int {
	t.Helper()
	var node struct {
		Status struct {
			NodeInfo struct {
				KubeletVersion string `json:"kubeletVersion"`
			} `json:"nodeInfo"`
		} `json:"status"`
	}
	if err := get(&node, "node", kube.Node); err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(node.Status.NodeInfo.KubeletVersion, ".")
	if len(parts) != 3 {
		t.Fatalf("kubelet version %q", node.Status.NodeInfo.KubeletVersion)
	}
	minor, err := strconv.Atoi(parts[1])
	if err != nil {
		t.Fatal(fmt.Errorf("kubelet version %q: %w", node.Status.NodeInfo.KubeletVersion, err))
	}
	return minor
}
