// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	oci "github.com/opencontainers/runtime-spec/specs-go"
	resource "k8s.io/api/resource/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"tags.cncf.io/container-device-interface/pkg/cdi"
)

// Where containers find device metadata files (KEP-5304).
const metadataDir = "/var/run/kubernetes.io/dra-device-attributes/"

// readMetadata is what tests/interop/metadata prints of a file.
type readMetadata struct {
	Known, Unknown []string
	Rewrites       bool
	Metadata       struct {
		meta.ObjectMeta
		PodClaimName *string
		Requests     []struct {
			Name    string
			Devices []struct {
				Driver, Pool, Name string
				Attributes         map[resource.QualifiedName]resource.DeviceAttribute
			}
		}
	}
}

// decodeMetadata reads a file with the decoder of one release of Kubernetes.
func decodeMetadata(t testing.TB, program, path string) readMetadata {
	t.Helper()
	cmd := exec.Command(interopDir+program, path)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v", program, path, err)
	}
	var all []readMetadata
	check(t, json.Unmarshal(out, &all))
	return all[0]
}

// mounts are what the CDI library adds to a container: the path there, and the path on the host.
func (a *agent) mounts(ids ...string) map[string]string {
	a.t.Helper()
	cache, err := cdi.NewCache(cdi.WithSpecDirs(a.cdiDir()), cdi.WithAutoRefresh(false))
	check(a.t, err)
	spec := &oci.Spec{Process: &oci.Process{}, Linux: &oci.Linux{}}
	if unresolved, err := cache.InjectDevices(spec, ids...); err != nil || len(unresolved) > 0 {
		if !a.specialDevices() {
			a.t.Skip("this user may not make device nodes")
		}
		a.t.Fatalf("inject %v: %v, unresolved %v", ids, err, unresolved)
	}
	found := map[string]string{}
	for _, m := range spec.Mounts {
		if strings.Join(m.Options, ",") != "ro,bind" {
			a.t.Errorf("mount %+v", m)
		}
		found[m.Destination] = m.Source
	}
	return found
}

// published are the attributes of a device as they are in a slice.
func published(t testing.TB, slices []*resource.ResourceSlice, name string) map[resource.QualifiedName]resource.DeviceAttribute {
	t.Helper()
	for _, slice := range slices {
		for _, d := range slice.Spec.Devices {
			if d.Name == name {
				return d.Attributes
			}
		}
	}
	t.Fatalf("no device %s is published", name)
	return nil
}

// asHeld are the attributes of a device as a claim has it that has all of it and asks for no LNC.
func asHeld(published map[resource.QualifiedName]resource.DeviceAttribute) map[resource.QualifiedName]resource.DeviceAttribute {
	held := maps.Clone(published)
	if count := published["coreCount"].IntValue; count != nil {
		lnc := int64(1)
		if *published["lncConfigurable"].BoolValue {
			lnc = 2
		}
		cores := fmt.Sprint("0-", *count/lnc-1)
		held["logicalNeuronCore"] = resource.DeviceAttribute{IntValue: &lnc}
		held["logicalCores"] = resource.DeviceAttribute{StringValue: &cores}
	}
	return held
}

// judgeMetadata holds the file of a request against the claim and the slices, read by both releases.
func (a *agent) judgeMetadata(c *resource.ResourceClaim, path, podClaim, request, driver string, slices []*resource.ResourceSlice, devices ...string) {
	t := a.t
	t.Helper()
	info, err := os.Stat(path)
	check(t, err)
	if info.Mode().Perm() != 0o644 {
		t.Errorf("%s has mode %v", path, info.Mode())
	}
	for program, known := range map[string]string{"metadata": "v1beta1 v1alpha1", "metadata136": "v1alpha1"} {
		read := decodeMetadata(t, program, path)
		m := read.Metadata
		if got := strings.ReplaceAll(strings.Join(read.Known, " "), "metadata.resource.k8s.io/", ""); got != known || !read.Rewrites ||
			len(read.Known)+len(read.Unknown) != 2 {
			t.Errorf("%s: %s read %v, does not know %v; writes the same: %t", path, program, read.Known, read.Unknown, read.Rewrites)
		}
		if m.Name != c.Name || m.Namespace != c.Namespace || m.UID != c.UID || m.Generation != 1 ||
			len(m.Requests) != 1 || m.Requests[0].Name != request || len(m.Requests[0].Devices) != len(devices) {
			t.Fatalf("%s: %s has %+v", path, program, m)
		}
		if got := m.PodClaimName; podClaim == "" != (got == nil) || got != nil && *got != podClaim {
			t.Errorf("%s: claim of the pod %v, want %q", path, got, podClaim)
		}
		for i, d := range m.Requests[0].Devices {
			if d.Driver != driver || d.Pool != nodeName || d.Name != devices[i] {
				t.Errorf("%s: device %s %s %s, want %s", path, d.Driver, d.Pool, d.Name, devices[i])
			}
			attributes := asHeld(published(t, slices, d.Name))
			got, want := must(json.Marshal(d.Attributes)), must(json.Marshal(attributes))
			if len(attributes) < 8 || string(got) != string(want) {
				t.Errorf("%s: %s has\n%s, the slice\n%s", path, d.Name, got, want)
			}
		}
	}
}

// A container of an aligned claim reads what it got from both drivers: Kubernetes' own decoder finds the attributes that
// the slices have, in both versions, and Kubernetes' own encoder writes the same bytes. The files are there as long as
// the claim is prepared, whatever is lost meanwhile, and no longer.
func TestDeviceMetadata(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a := newAgent(t, "trn2.48xlarge")
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir), "--efa", "true", "--device-metadata", "true")
	a.start()
	neuron, efa := a.register(), a.registerEFA()
	waitFor(t, "slices of both drivers", func() bool { return len(api.own()) == 1 && len(api.ofEFA()) == 1 })

	aligned := withEFA(newClaim("aligned-x7k2p", "neurons=0", "neurons=1", "spare=5"), "efas=pci-0000-c9-00-0", "efas=pci-0000-b4-00-0")
	aligned.Annotations = map[string]string{"example.com/x": "y", "resource.kubernetes.io/pod-claim-name": "devices"}
	c, plain := api.addClaim(aligned), api.addClaim(newClaim("plain", "req=7"))
	ids := append(idsOf(neuron.prepareOK(named(c)), "neurons"), idsOf(efa.prepareOK(named(c)), "efas")...)
	mounts := a.mounts(ids...)
	ofClaim := metadataDir + "resourceclaimtemplates/devices/"
	files := map[string]string{"neuron": mounts[ofClaim+"neurons/neuron.aws.com-metadata.json"], "efa": mounts[ofClaim+"efas/dra.net-metadata.json"]}
	if len(mounts) != 2 || files["neuron"] == "" || files["efa"] == "" {
		t.Fatalf("a container that names two of the three requests has the mounts %v", mounts)
	}
	a.judgeMetadata(c, files["neuron"], "devices", "neurons", driverName, api.own(), "neuron-device-0", "neuron-device-1")
	a.judgeMetadata(c, files["efa"], "devices", "efas", efaDriver, api.ofEFA(), "pci-0000-c9-00-0", "pci-0000-b4-00-0")
	address := decodeMetadata(t, "metadata", files["efa"]).Metadata.Requests[0].Devices[0].Attributes["resource.kubernetes.io/pciBusID"].StringValue
	if address == nil || *address != "0000:c9:00.0" {
		t.Errorf("the EFA device's address: %v", address)
	}

	// A claim that somebody made is found under its own name.
	mounts = a.mounts(idsOf(neuron.prepareOK(named(plain)), "req")...)
	own := mounts[metadataDir+"resourceclaims/plain/req/neuron.aws.com-metadata.json"]
	a.judgeMetadata(plain, own, "", "req", driverName, api.own(), "neuron-device-7")

	// Whatever is lost comes back as it was: a file, the directory, all of it while nobody looks.
	whole := a.cdiContents()
	prepareAll := func() {
		neuron.prepareOK(named(c))
		neuron.prepareOK(named(plain))
		efa.prepareOK(named(c))
	}
	for what, spoil := range map[string]func(){
		"a file":             func() { check(t, os.Remove(files["neuron"])) },
		"a file of the EFAs": func() { check(t, os.Truncate(files["efa"], 100)) },
		"the directory":      func() { check(t, os.RemoveAll(a.cdiDir())) },
		"a kill": func() {
			a.kill()
			check(t, os.RemoveAll(a.cdiDir()))
			check(t, os.Mkdir(a.cdiDir(), 0o755))
			check(t, os.WriteFile(filepath.Join(a.cdiDir(), "neuron.aws.com-metadata_nobody_0"), nil, 0o644))
			a.start()
			neuron, efa = a.register(), a.registerEFA()
			// at first without the Node's labels, which nobody knows before the API server is asked
			waitFor(t, "files after the start", func() bool { return reflect.DeepEqual(a.cdiContents(), whole) })
		},
	} {
		spoil()
		prepareAll()
		if again := a.cdiContents(); !reflect.DeepEqual(again, whole) {
			t.Errorf("after the loss of %s: %d files, not %d, or other ones", what, len(again), len(whole))
		}
	}
	neuron.unprepareOK(named(c))
	for path := range a.cdiContents() {
		if strings.Contains(path, string(c.UID)) && !strings.HasPrefix(path, "efa.") {
			t.Errorf("%s stays after the unprepare", path)
		}
	}
	if !exists(files["efa"]) || !exists(own) {
		t.Error("an unprepare took the file of another driver or claim")
	}
	efa.unprepareOK(named(c))
	neuron.unprepareOK(named(plain))
	a.noCDI()
}

// cdiContents are the files of the CDI directory and what is in them.
func (a *agent) cdiContents() map[string]string {
	a.t.Helper()
	found := map[string]string{}
	entries, err := os.ReadDir(a.cdiDir())
	check(a.t, err)
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(a.cdiDir(), e.Name()))
		check(a.t, err)
		found[e.Name()] = string(text)
	}
	return found
}

// All devices of a node in one request: hundreds of attributes.
func TestDeviceMetadataOfAll(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a := newAgent(t, "trn2.48xlarge", "--driver-version", "2.30<&>\"\\2.0") // Go's encoder escapes them in its own way
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir))
	a.env = append(a.env, "DEVICE_METADATA=true")
	a.start()
	k := a.register()
	api.published()
	var results, names []string
	for i := range 16 {
		results = append(results, fmt.Sprintf("all=%d", i))
		names = append(names, fmt.Sprintf("neuron-device-%d", i))
	}
	c := api.addClaim(newClaim("all", results...))
	mounts := a.mounts(idsOf(k.prepareOK(named(c)), "all")...)
	path := mounts[metadataDir+"resourceclaims/all/all/neuron.aws.com-metadata.json"]
	a.judgeMetadata(c, path, "", "all", driverName, api.own(), names...)
	info, err := os.Stat(path)
	check(t, err)
	t.Logf("%d bytes", info.Size())
}
