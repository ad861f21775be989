// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	oci "github.com/opencontainers/runtime-spec/specs-go"
	resource "k8s.io/api/resource/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	dra "k8s.io/kubelet/pkg/apis/dra/v1"
	"tags.cncf.io/container-device-interface/pkg/cdi"
)

// uid makes a UID that follows from a text.
func uid(text string) types.UID {
	h := fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
	return types.UID(fmt.Sprintf("%s-%s-4%s-8%s-%s", h[:8], h[8:12], h[12:15], h[15:18], h[18:30]))
}

// newClaim makes an allocated claim; a result is "request=number" of a device of this node, or "request=node" for all of them.
func newClaim(name string, results ...string) *resource.ResourceClaim {
	c := &resource.ResourceClaim{
		ObjectMeta: meta.ObjectMeta{Name: name, Namespace: "default", UID: uid("claim " + name), ResourceVersion: "7"},
		Status:     resource.ResourceClaimStatus{Allocation: &resource.AllocationResult{}},
	}
	for _, r := range results {
		request, device, _ := strings.Cut(r, "=")
		device = "neuron-device-" + device
		if strings.HasSuffix(r, "=node") {
			device = nodeDevice
		}
		c.Status.Allocation.Devices.Results = append(c.Status.Allocation.Devices.Results,
			resource.DeviceRequestAllocationResult{Request: request, Driver: driverName, Pool: nodeName,
				Device: device})
	}
	return c
}

// configure adds an opaque configuration of the driver.
func configure(c *resource.ResourceClaim, source resource.AllocationConfigSource, text string, requests ...string) *resource.ResourceClaim {
	c.Status.Allocation.Devices.Config = append(c.Status.Allocation.Devices.Config, resource.DeviceAllocationConfiguration{
		Source: source, Requests: requests,
		DeviceConfiguration: resource.DeviceConfiguration{Opaque: &resource.OpaqueDeviceConfiguration{
			Driver: driverName, Parameters: runtime.RawExtension{Raw: []byte(text)}}},
	})
	return c
}

func lnc(value int) string {
	return fmt.Sprintf(`{"apiVersion":"neuron.aws.com/v1","kind":"NeuronConfig","logicalNeuronCore":%d}`, value)
}

// named is the claim as the kubelet names it.
func named(c *resource.ResourceClaim) *dra.Claim {
	return &dra.Claim{Namespace: c.Namespace, Name: c.Name, Uid: string(c.UID)}
}

// cdiFile is the one file that bears the claim's UID.
func (a *agent) cdiFile(c *resource.ResourceClaim) string {
	found, err := filepath.Glob(filepath.Join(a.cdiDir(), "*"+string(c.UID)+"*.json"))
	check(a.t, err)
	if len(found) != 1 {
		a.t.Fatalf("claim %s has %d CDI files", c.Name, len(found))
	}
	return found[0]
}

func (a *agent) cdiBytes(c *resource.ResourceClaim) string {
	a.t.Helper()
	text, err := os.ReadFile(a.cdiFile(c))
	check(a.t, err)
	return string(text)
}

// noCDI holds that nothing is left in the CDI directory. The temporary file of an agent that was killed stays for a
// minute, see TestLeftOverTemporaryFile.
func (a *agent) noCDI() {
	a.t.Helper()
	left := slices.DeleteFunc(files(a.t, a.cdiDir()), func(name string) bool { return strings.HasSuffix(name, ".tmp") })
	if len(left) != 0 {
		a.t.Errorf("left in the CDI directory: %v", left)
	}
}

// container is what a container sees.
type container struct {
	devices []string // container path, or container path = host path where they differ in name
	env     []string
}

// inject does what containerd does with the ids of a reply: the real library reads the directory and
// edits an OCI spec. Every file there must be valid.
func (a *agent) inject(ids ...string) container {
	a.t.Helper()
	cache, err := cdi.NewCache(cdi.WithSpecDirs(a.cdiDir()), cdi.WithAutoRefresh(false))
	check(a.t, err)
	for path, errs := range cache.GetErrors() {
		a.t.Errorf("CDI file %s: %v", path, errs)
	}
	for _, id := range ids {
		if cache.GetDevice(id) == nil {
			a.t.Fatalf("CDI device %s is not in any file", id)
		}
	}
	spec := &oci.Spec{Process: &oci.Process{}, Linux: &oci.Linux{}}
	if unresolved, err := cache.InjectDevices(spec, ids...); err != nil || len(unresolved) > 0 {
		if !a.specialDevices() {
			a.t.Skip("this user may not make device nodes")
		}
		a.t.Fatalf("inject %v: %v, unresolved %v", ids, err, unresolved)
	}
	var seen container
	for _, d := range spec.Linux.Devices {
		seen.devices = append(seen.devices, d.Path)
	}
	sort.Strings(seen.devices)
	seen.env = spec.Process.Env
	return seen
}

func (a *agent) specialDevices() bool {
	info, err := os.Stat(filepath.Join(a.node, "dev", "neuron0"))
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// annotations of a claim's CDI file.
func (a *agent) annotations(c *resource.ResourceClaim) map[string]string {
	a.t.Helper()
	var file struct {
		Annotations map[string]string `json:"annotations"`
	}
	check(a.t, json.Unmarshal([]byte(a.cdiBytes(c)), &file))
	return file.Annotations
}

// idsOf are the CDI ids that the kubelet gives to a container that names this request.
func idsOf(devices []*dra.Device, request string) []string {
	var ids []string
	seen := map[string]bool{}
	for _, d := range devices {
		for _, name := range d.RequestNames {
			for _, id := range d.CdiDeviceIds {
				if name == request && !seen[id] {
					seen[id] = true
					ids = append(ids, id)
				}
			}
		}
	}
	return ids
}

func equalStrings(t testing.TB, what string, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func contains(t testing.TB, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%q lacks %q", text, w)
		}
	}
}
