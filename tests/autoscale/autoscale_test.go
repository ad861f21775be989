// SPDX-License-Identifier: Apache-2.0

package autoscale

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unique"

	core "k8s.io/api/core/v1"
	resource "k8s.io/api/resource/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	crd "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	kwok "sigs.k8s.io/karpenter/dra-kwok-driver/pkg/apis/v1alpha1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/scheduling"
	"sigs.k8s.io/karpenter/pkg/scheduling/dynamicresources"
	"sigs.k8s.io/yaml"
)

const deploy = "../../cfg/deploy/"

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// printed are the slices of a type as the command prints them, read strictly.
func printed(t *testing.T, board string) ([]byte, []resource.ResourceSlice) {
	t.Helper()
	out, err := exec.Command(os.Getenv("AGENT"), "slices", "--board", board, "-o", "json", "--efa", "--metrics-port=-1").Output()
	check(t, err)
	var list struct {
		APIVersion, Kind string
		Items            []json.RawMessage
	}
	check(t, json.Unmarshal(out, &list))
	slices := make([]resource.ResourceSlice, len(list.Items))
	for i, item := range list.Items {
		check(t, yaml.UnmarshalStrict(item, &slices[i]))
	}
	return out, slices
}

// documents are the objects of a file of manifests that have this kind.
func documents[T any](t *testing.T, path, kind string) (found []T) {
	t.Helper()
	text, err := os.ReadFile(path)
	check(t, err)
	for _, one := range regexp.MustCompile(`(?m)^---$`).Split(string(text), -1) {
		var head meta.TypeMeta
		check(t, yaml.Unmarshal([]byte(one), &head))
		if head.Kind == kind {
			var object T
			check(t, yaml.UnmarshalStrict([]byte(one), &object))
			found = append(found, object)
		}
	}
	return found
}

const efaClass = "efa.networking.k8s.aws" // of the chart, where it serves EFA devices

// classes are the DeviceClasses that the chart installs, and those that examples bring along.
func classes(t *testing.T) (found []*resource.DeviceClass) {
	t.Helper()
	paths, err := filepath.Glob(deploy + "examples/*.yaml")
	check(t, err)
	seen := map[string]bool{}
	for _, path := range append([]string{deploy + "manifests/deviceclass.yaml"}, paths...) {
		for _, class := range documents[resource.DeviceClass](t, path, "DeviceClass") {
			if !seen[class.Name] {
				seen[class.Name] = true
				found = append(found, &class)
			}
		}
	}
	if !seen["neuron.aws.com"] {
		t.Fatal("no class neuron.aws.com")
	}
	chart, err := os.ReadFile(deploy + "chart/templates/deviceclass.yaml")
	check(t, err)
	expression := regexp.MustCompile(`\$efa := printf "(.*)" `).FindSubmatch(chart)
	if expression == nil || !strings.Contains(string(chart), "name: "+efaClass+"\n") {
		t.Fatalf("the chart has no class %s", efaClass)
	}
	text := strings.Replace(string(expression[1]), "%s", "dra.net", 1)
	selector := resource.DeviceSelector{CEL: &resource.CELDeviceSelector{Expression: text}}
	return append(found, &resource.DeviceClass{ObjectMeta: meta.ObjectMeta{Name: efaClass},
		Spec: resource.DeviceClassSpec{Selectors: []resource.DeviceSelector{selector}}})
}

// lister gives the scheduler's allocator the classes.
type lister []*resource.DeviceClass

func (l lister) List() ([]*resource.DeviceClass, error) { return l, nil }

func (l lister) Get(name string) (*resource.DeviceClass, error) {
	for _, class := range l {
		if class.Name == name {
			return class, nil
		}
	}
	return nil, os.ErrNotExist
}

// future is a node that Karpenter thinks of: one instance type, whose templates are those of a board.
type future struct {
	board     unique.Handle[string]
	templates []dynamicresources.ResourceSlice
}

func (f future) ID() dynamicresources.NodeClaimID        { return unique.Make("claim-1") }
func (f future) NodeName() string                        { return "" }
func (f future) NodePoolID() dynamicresources.NodePoolID { return unique.Make("pool-1") }
func (f future) Requirements() scheduling.Requirements   { return scheduling.NewRequirements() }
func (f future) InstanceTypes() []dynamicresources.InstanceTypeID {
	return []dynamicresources.InstanceTypeID{f.board}
}
func (f future) ResourceSlices() map[dynamicresources.InstanceTypeID][]dynamicresources.ResourceSlice {
	return map[dynamicresources.InstanceTypeID][]dynamicresources.ResourceSlice{f.board: f.templates}
}

// bindings are attribute bindings as Karpenter indexes them.
func bindings(board unique.Handle[string], all []*cloudprovider.AttributeBinding) dynamicresources.AttributeBindings {
	found := dynamicresources.AttributeBindings{}
	for _, one := range all {
		devices := map[cloudprovider.DeviceID]sets.Set[cloudprovider.DeviceID]{}
		for _, device := range one.Devices {
			devices[device] = sets.New(one.Devices...)
		}
		found[one.Attribute] = map[string]map[dynamicresources.InstanceTypeID]map[cloudprovider.DeviceID]sets.Set[cloudprovider.DeviceID]{
			"pool-1": {board: devices}}
	}
	return found
}

// What Karpenter says of a claim that it does not decide about, and the difference of the page that this is.
var unsupported = map[string]string{
	"only Exactly requests are supported":        refusesAlternatives,
	"DistinctAttribute constraints not done yet": refusesDistinct,
}

// deciders know the device classes of a cluster: the scheduler's allocator by a lister, Karpenter's by a client.
type deciders struct {
	known  lister
	client client.Client
}

func newDeciders(t *testing.T) deciders {
	t.Helper()
	known := lister(classes(t))
	scheme := runtime.NewScheme()
	check(t, resource.AddToScheme(scheme))
	builder := fake.NewClientBuilder().WithScheme(scheme)
	for _, class := range known {
		builder = builder.WithObjects(class)
	}
	return deciders{known, builder.Build()}
}

// fitsFuture tells whether Karpenter's allocator would make a node of the type for the claim, and which difference of the page makes
// it not decide at all.
func (d deciders) fitsFuture(t *testing.T, board string, slices []resource.ResourceSlice, claim *resource.ResourceClaim) (bool, string) {
	t.Helper()
	templates := karpenterTemplates(slices)
	f := future{board: unique.Make(board)}
	for _, one := range templates.ResourceSliceTemplates {
		f.templates = append(f.templates, dynamicresources.NewTemplateSlice(one))
	}
	none := dynamicresources.AllocatedDeviceState{ExclusiveDevices: sets.New[cloudprovider.DeviceID]()}
	allocator := dynamicresources.NewAllocator(nil, none, bindings(f.board, templates.AttributeBindings), d.client, nil)
	result, err := allocator.Allocate(context.Background(), f, []*resource.ResourceClaim{claim})
	if err == nil {
		if result == nil || len(result.InstanceTypes) != 1 {
			t.Fatalf("%s on %s: Karpenter grants %+v", claim.Name, board, result)
		}
		return true, ""
	}
	if strings.Contains(err.Error(), "no instance type can satisfy") {
		return false, ""
	}
	for text, difference := range unsupported {
		if strings.Contains(err.Error(), text) {
			return false, difference
		}
	}
	t.Fatalf("%s on %s: Karpenter: %v", claim.Name, board, err)
	return false, ""
}

// demanded is the version of the kernel module that a claim asks for. A live node has it then.
var demanded = regexp.MustCompile(`neuronDriverVersion == '([0-9.]+)'`)

// liveAttribute is the value that the devices of a live node have, as ATTRIBUTES.md shows it.
func liveAttribute(t *testing.T, name resource.QualifiedName, claim *resource.ResourceClaim) resource.DeviceAttribute {
	t.Helper()
	texts := map[resource.QualifiedName]string{"networkNodeLayer1": "nn-1", "networkNodeLayer2": "nn-2", "networkNodeLayer3": "nn-3",
		"capacityBlockId": "cb-1", "neuronDriverVersion": "2.26.5.0",
		"ultraserverServerId2": "00000000000000a1", "ultraserverServerId4": "00000000000000b2"}
	numbers := map[resource.QualifiedName]int64{"ultraserverNodeId2": 1, "ultraserverNodeId4": 3}
	if number, found := numbers[name]; found {
		return resource.DeviceAttribute{IntValue: &number}
	}
	text, found := texts[name]
	if !found {
		t.Fatalf("no value of %s", name)
	}
	written, err := json.Marshal(claim.Spec)
	check(t, err)
	if version := demanded.FindSubmatch(written); name == "neuronDriverVersion" && version != nil {
		text = string(version[1])
	}
	return resource.DeviceAttribute{StringValue: &text}
}

// fitsNode tells whether the scheduler's allocator gives the claim to a live node with these slices. The attributes that come from
// the Node and from its kernel module are there then. An error of the allocator is none of its answers.
func (d deciders) fitsNode(t *testing.T, slices []resource.ResourceSlice, claim *resource.ResourceClaim) bool {
	t.Helper()
	node := &core.Node{ObjectMeta: meta.ObjectMeta{Name: "node-1"}}
	var live []*resource.ResourceSlice
	for i := range slices {
		slice := slices[i].DeepCopy()
		slice.Spec.NodeName, slice.Spec.Pool.ResourceSliceCount = &node.Name, slicesOf(slices, slice.Spec.Driver)
		for _, device := range slice.Spec.Devices {
			if slice.Spec.Driver != neuron {
				break
			}
			for _, name := range fromNode(device) {
				device.Attributes[name] = liveAttribute(t, name, claim)
			}
		}
		live = append(live, slice)
	}
	features := structured.Features{AdminAccess: true, ConsumableCapacity: true, PartitionableDevices: true, PrioritizedList: true}
	none := structured.AllocatedState{AllocatedDevices: sets.New[structured.DeviceID](),
		AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](), AggregatedCapacity: structured.NewConsumedCapacityCollection()}
	cache := cel.NewCache(10, cel.Features{EnableConsumableCapacity: true})
	allocator, err := structured.NewAllocator(context.Background(), features, none, d.known, live, cache)
	check(t, err)
	result, err := allocator.Allocate(context.Background(), node, []*resource.ResourceClaim{claim})
	if err != nil {
		t.Fatalf("%s: the scheduler: %v", claim.Name, err)
	}
	return len(result) == 1
}

func slicesOf(slices []resource.ResourceSlice, driver string) (count int64) {
	for _, slice := range slices {
		if slice.Spec.Driver == driver {
			count++
		}
	}
	return count
}

var boards = []string{"trn1.2xlarge", "trn1.32xlarge", "trn2.3xlarge", "trn2.48xlarge", "trn2u.48xlarge", "inf2.48xlarge"}

// stored is the claim as the API server keeps it: with its defaults.
func stored(template resource.ResourceClaimTemplate) *resource.ResourceClaim {
	claim := &resource.ResourceClaim{ObjectMeta: meta.ObjectMeta{Name: template.Name, Namespace: "default", UID: "1"}, Spec: template.Spec.Spec}
	complete := func(mode *resource.DeviceAllocationMode, count *int64) {
		if *mode == "" {
			*mode = resource.DeviceAllocationModeExactCount
		}
		if *mode == resource.DeviceAllocationModeExactCount && *count == 0 {
			*count = 1
		}
	}
	for i := range claim.Spec.Devices.Requests {
		request := &claim.Spec.Devices.Requests[i]
		if request.Exactly != nil {
			complete(&request.Exactly.AllocationMode, &request.Exactly.Count)
		}
		for j := range request.FirstAvailable {
			complete(&request.FirstAvailable[j].AllocationMode, &request.FirstAvailable[j].Count)
		}
	}
	return claim
}

// How Karpenter 1.14.1 is known to decide otherwise, as the page says; a later release that does not makes the test fail.
const (
	refusesAlternatives = "firstAvailable"
	refusesDistinct     = "distinctAttribute"
	missesAttribute     = "a selector on an attribute that no template has"
	grantsNothing       = "All, of which there is none"
	ignoresCapacity     = "capacity that no device has"
)

// selected is a selector's comparison with an attribute that no template has.
var selected = regexp.MustCompile(`device\.attributes\['neuron\.aws\.com'\]\.\??` +
	`(neuronDriverVersion|networkNodeLayer[123]|capacityBlockId|ultraserver(Node|Server)Id[24])(\.orValue\([^)]*\))? == '[^']*'`)

// withoutMissing is the claim without comparisons with attributes that no template has.
func withoutMissing(claim *resource.ResourceClaim) (*resource.ResourceClaim, bool) {
	less, changed := claim.DeepCopy(), false
	for _, request := range less.Spec.Devices.Requests {
		for i := range request.Exactly.Selectors {
			expression := &request.Exactly.Selectors[i].CEL.Expression
			changed = changed || selected.MatchString(*expression)
			*expression = selected.ReplaceAllString(*expression, "true")
		}
	}
	return less, changed
}

// withoutCapacity is the claim without what it asks for of a device's capacity.
func withoutCapacity(claim *resource.ResourceClaim) (*resource.ResourceClaim, bool) {
	less, changed := claim.DeepCopy(), false
	for _, request := range less.Spec.Devices.Requests {
		changed = changed || request.Exactly.Capacity != nil
		request.Exactly.Capacity = nil
	}
	return less, changed
}

// withoutEmpty is the claim without requests for all devices where the scheduler finds not even one.
func (d deciders) withoutEmpty(t *testing.T, slices []resource.ResourceSlice, claim *resource.ResourceClaim) (*resource.ResourceClaim, bool) {
	t.Helper()
	less := claim.DeepCopy()
	less.Spec.Devices.Requests = nil
	for _, request := range claim.Spec.Devices.Requests {
		if request.Exactly.AllocationMode == resource.DeviceAllocationModeAll {
			one := claim.DeepCopy()
			one.Spec.Devices.Constraints, one.Spec.Devices.Requests = nil, []resource.DeviceRequest{*request.DeepCopy()}
			one.Spec.Devices.Requests[0].Exactly.AllocationMode = resource.DeviceAllocationModeExactCount
			one.Spec.Devices.Requests[0].Exactly.Count = 1
			if !d.fitsNode(t, slices, one) {
				continue
			}
		}
		less.Spec.Devices.Requests = append(less.Spec.Devices.Requests, request)
	}
	return less, len(less.Spec.Devices.Requests) < len(claim.Spec.Devices.Requests)
}

// bothGrant tells whether both allocators grant the claim. Nothing to allocate is granted.
func (d deciders) bothGrant(t *testing.T, board string, slices []resource.ResourceSlice, claim *resource.ResourceClaim) bool {
	t.Helper()
	if len(claim.Spec.Devices.Requests) == 0 {
		return true
	}
	fits, _ := d.fitsFuture(t, board, slices, claim)
	return fits && d.fitsNode(t, slices, claim)
}

// decision is what both allocators say of a claim: "fits", "does not fit", or the known difference between them. A difference in
// what a claim asks for is known only where both grant the claim without it.
func (d deciders) decision(t *testing.T, board string, slices []resource.ResourceSlice, claim *resource.ResourceClaim) string {
	t.Helper()
	want := d.fitsNode(t, slices, claim)
	got, undecided := d.fitsFuture(t, board, slices, claim)
	switch {
	case undecided != "":
		return undecided
	case got && want:
		return "fits"
	case got == want:
		return "does not fit"
	case want:
		if less, changed := withoutMissing(claim); changed && d.bothGrant(t, board, slices, less) {
			return missesAttribute
		}
	default:
		if less, changed := d.withoutEmpty(t, slices, claim); changed && d.bothGrant(t, board, slices, less) {
			return grantsNothing
		}
		if less, changed := withoutCapacity(claim); changed && d.bothGrant(t, board, slices, less) {
			return ignoresCapacity
		}
	}
	t.Errorf("%s on %s: Karpenter %v, the scheduler %v", claim.Name, board, got, want)
	return "unknown difference"
}

// For the claim of each example, Karpenter's own allocator decides about a type from its templates, and no node, as the scheduler's
// does about a live node of that type, but for the known differences.
func TestKarpenterDecidesAsTheScheduler(t *testing.T) {
	d := newDeciders(t)
	paths, err := filepath.Glob(deploy + "examples/*.yaml")
	check(t, err)
	count, missed := map[string]int{}, map[string]bool{}
	for _, board := range boards {
		_, slices := printed(t, board)
		for _, path := range paths {
			for _, template := range documents[resource.ResourceClaimTemplate](t, path, "ResourceClaimTemplate") {
				decision := d.decision(t, board, slices, stored(template))
				count[decision]++
				if decision == missesAttribute {
					missed[filepath.Base(path)] = true
				}
			}
		}
	}
	t.Logf("decisions: %v, attributes missed by %v", count, missed)
	if count["fits"] < 40 || count["does not fit"] < 40 || len(count) != 6 {
		t.Errorf("too few decisions of one kind to show anything: %v", count)
	}
	if !missed["2.26-driver-trn2.yaml"] || !missed["neuron-with-driver-version.yaml"] {
		t.Errorf("a claim for a version of the kernel module is granted: %v", missed)
	}
}

// A binding stands for an attribute of Neuron devices that no template has. EFA devices have no such attribute, live or bound.
func TestConstraints(t *testing.T) {
	d := newDeciders(t)
	match := func(name resource.FullyQualifiedName) resource.DeviceConstraint {
		return resource.DeviceConstraint{MatchAttribute: &name}
	}
	distinct := resource.FullyQualifiedName("neuron.aws.com/deviceId")
	for _, row := range []struct {
		board, first, second string
		constraint           resource.DeviceConstraint
		want                 string
	}{
		{"trn2.48xlarge", neuron, neuron, match("neuron.aws.com/networkNodeLayer1"), "fits"},
		{"trn2.48xlarge", neuron, neuron, match("neuron.aws.com/neuronDriverVersion"), "fits"},
		{"trn2.48xlarge", neuron, neuron, match("neuron.aws.com/ultraserverServerId2"), "does not fit"},
		{"trn2u.48xlarge", neuron, neuron, match("neuron.aws.com/ultraserverServerId2"), "fits"},
		{"trn2u.48xlarge", neuron, neuron, match("neuron.aws.com/ultraserverNodeId4"), "fits"},
		{"trn2.48xlarge", neuron, efaClass, match("neuron.aws.com/networkNodeLayer1"), "does not fit"},
		{"trn2.48xlarge", efaClass, efaClass, match("dra.net/networkNodeLayer1"), "does not fit"},
		{"trn2.48xlarge", neuron, neuron, resource.DeviceConstraint{DistinctAttribute: &distinct}, refusesDistinct},
	} {
		_, slices := printed(t, row.board)
		claim := claimFor(row.first, row.second)
		claim.Spec.Devices.Constraints = []resource.DeviceConstraint{row.constraint}
		if got := d.decision(t, row.board, slices, claim); got != row.want {
			t.Errorf("%s, %s and %s, not %s: %s", row.board, row.first, row.second, row.want, got)
		}
	}
}

// claimFor is a claim for one device of each class.
func claimFor(classes ...string) *resource.ResourceClaim {
	template := resource.ResourceClaimTemplate{ObjectMeta: meta.ObjectMeta{Name: "built"}}
	for i, class := range classes {
		exactly := &resource.ExactDeviceRequest{DeviceClassName: class}
		template.Spec.Spec.Devices.Requests = append(template.Spec.Spec.Devices.Requests,
			resource.DeviceRequest{Name: string(rune('a' + i)), Exactly: exactly})
	}
	return stored(template)
}

// fence is the text of the page's one block of this language.
func fence(t *testing.T, language string) string {
	t.Helper()
	page, err := os.ReadFile(deploy + "autoscaling.md")
	check(t, err)
	found := regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllSubmatch(page, -1)
	if len(found) != 1 {
		t.Fatalf("the page has %d blocks of %s", len(found), language)
	}
	return string(found[0][1])
}

// draConfigs is what the command of the page prints, run by a shell as it is written, but for the type and for more flags.
func draConfigs(t *testing.T, board, flags string) []byte {
	t.Helper()
	dir := t.TempDir()
	agent, err := filepath.Abs(os.Getenv("AGENT"))
	check(t, err)
	check(t, os.Symlink(agent, dir+"/neuron-dra-agent"))
	check(t, os.WriteFile(dir+"/draconfig.jq", []byte(fence(t, "jq")), 0o600))
	line := strings.ReplaceAll(fence(t, "sh"), "trn2.48xlarge", board)
	line = strings.Replace(line, " -o json", flags+" -o json", 1)
	command := exec.Command("bash", "-euo", "pipefail", "-c", line)
	command.Dir, command.Stderr = dir, os.Stderr
	command.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
	text, err := command.Output()
	check(t, err)
	return text
}

// draConfigSchema checks objects as the API server does that has the CRD of Karpenter's test driver.
func draConfigSchema(t *testing.T) validation.SchemaValidator {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/karpenter").Output()
	check(t, err)
	path := strings.TrimSpace(string(dir)) + "/dra-kwok-driver/pkg/apis/crds/test.karpenter.sh_draconfigs.yaml"
	crds := documents[crd.CustomResourceDefinition](t, path, "CustomResourceDefinition")
	if len(crds) != 1 || len(crds[0].Spec.Versions) != 1 {
		t.Fatalf("%s: %d definitions", path, len(crds))
	}
	var schema apiextensions.JSONSchemaProps
	written := crds[0].Spec.Versions[0].Schema.OpenAPIV3Schema
	check(t, crd.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(written, &schema, nil))
	validator, _, err := validation.NewSchemaValidator(&schema)
	check(t, err)
	return validator
}

// The page's command makes a list of DRAConfigs of Karpenter's own test driver, which publishes the slices on simulated nodes. The
// CRD admits each, and the scheduler can allocate every device of what the driver publishes.
func TestDRAConfig(t *testing.T) {
	d, schema := newDeciders(t), draConfigSchema(t)
	for _, board := range boards {
		_, slices := printed(t, board)
		for _, flags := range []string{"", " --efa"} {
			var list struct {
				APIVersion, Kind string
				Items            []json.RawMessage
			}
			check(t, yaml.UnmarshalStrict(draConfigs(t, board, flags), &list))
			if list.APIVersion != "v1" || list.Kind != "List" {
				t.Errorf("%s%s: %s %s", board, flags, list.APIVersion, list.Kind)
			}
			published := map[string]int{}
			for _, item := range list.Items {
				var object any
				check(t, json.Unmarshal(item, &object))
				for _, problem := range validation.ValidateCustomResource(nil, object, schema) {
					t.Errorf("%s%s: the CRD refuses: %v", board, flags, problem)
				}
				var config kwok.DRAConfig
				check(t, yaml.UnmarshalStrict(item, &config))
				published[config.Spec.Driver] += checkConfig(t, d, board, config)
			}
			want := map[string]int{}
			for _, slice := range slices {
				if slice.Spec.Driver == neuron || flags != "" {
					want[slice.Spec.Driver] += single(slice.Spec.Devices)
				}
			}
			maps.DeleteFunc(want, func(_ string, devices int) bool { return devices == 0 })
			if !maps.Equal(published, want) || want[neuron] == 0 {
				t.Errorf("%s%s: devices %v, not %v", board, flags, published, want)
			}
		}
	}
}

// single is the number of devices that are not the whole node.
func single(devices []resource.Device) (count int) {
	for _, device := range devices {
		if kind := device.Attributes["resourceType"].StringValue; kind == nil || *kind != "neuron_node" {
			count++
		}
	}
	return count
}

// checkConfig returns the number of devices that the driver publishes on a node of the type, all of which one claim can have.
func checkConfig(t *testing.T, d deciders, board string, config kwok.DRAConfig) int {
	t.Helper()
	var slices []resource.ResourceSlice
	devices := 0
	for _, pool := range config.Spec.Pools {
		if term := pool.NodeSelectorTerms[0].MatchExpressions[0]; term.Key != core.LabelInstanceTypeStable || term.Values[0] != board {
			t.Errorf("%s: selector %+v", board, term)
		}
		for _, slice := range pool.ResourceSlices {
			devices += len(slice.Devices)
			slices = append(slices, resource.ResourceSlice{Spec: resource.ResourceSliceSpec{Driver: config.Spec.Driver,
				Pool: resource.ResourcePool{Name: config.Spec.Driver + "/node-1"}, Devices: slice.Devices}})
		}
	}
	class := map[string]string{neuron: neuron, "dra.net": efaClass}[config.Spec.Driver]
	for _, count := range []int64{1, int64(devices)} {
		claim := claimFor(class)
		claim.Spec.Devices.Requests[0].Exactly.Count = count
		if !d.fitsNode(t, slices, claim) {
			t.Errorf("%s: the scheduler cannot allocate %d devices of %s", board, count, config.Spec.Driver)
		}
	}
	return devices
}
