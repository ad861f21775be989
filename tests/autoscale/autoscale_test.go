// SPDX-License-Identifier: Apache-2.0

package autoscale

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unique"

	core "k8s.io/api/core/v1"
	resource "k8s.io/api/resource/v1"
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

// fitsFuture tells whether Karpenter's allocator would make a node of the type for the claims.
func fitsFuture(t *testing.T, board string, slices []resource.ResourceSlice, known client.Client, claims []*resource.ResourceClaim) bool {
	t.Helper()
	templates := karpenterTemplates(slices)
	f := future{board: unique.Make(board)}
	for _, one := range templates.ResourceSliceTemplates {
		f.templates = append(f.templates, dynamicresources.NewTemplateSlice(one))
	}
	none := dynamicresources.AllocatedDeviceState{ExclusiveDevices: sets.New[cloudprovider.DeviceID]()}
	allocator := dynamicresources.NewAllocator(nil, none, bindings(f.board, templates.AttributeBindings), known, nil)
	result, err := allocator.Allocate(context.Background(), f, claims)
	return err == nil && result != nil && len(result.InstanceTypes) == 1
}

// fitsNode tells whether the scheduler's allocator gives the claims to a live node with these slices. The attributes that come from
// the Node are there then.
func fitsNode(t *testing.T, slices []resource.ResourceSlice, known lister, claims []*resource.ResourceClaim) bool {
	t.Helper()
	node := &core.Node{ObjectMeta: meta.ObjectMeta{Name: "node-1"}}
	var live []*resource.ResourceSlice
	for i := range slices {
		slice := slices[i].DeepCopy()
		slice.Spec.NodeName, slice.Spec.Pool.ResourceSliceCount = &node.Name, slicesOf(slices, slice.Spec.Driver)
		for _, device := range slice.Spec.Devices {
			for _, name := range fromNode {
				value := "nn-1"
				device.Attributes[name] = resource.DeviceAttribute{StringValue: &value}
			}
		}
		live = append(live, slice)
	}
	features := structured.Features{AdminAccess: true, ConsumableCapacity: true, PartitionableDevices: true, PrioritizedList: true}
	none := structured.AllocatedState{AllocatedDevices: sets.New[structured.DeviceID](),
		AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](), AggregatedCapacity: structured.NewConsumedCapacityCollection()}
	cache := cel.NewCache(10, cel.Features{EnableConsumableCapacity: true})
	allocator, err := structured.NewAllocator(context.Background(), features, none, known, live, cache)
	check(t, err)
	result, err := allocator.Allocate(context.Background(), node, claims)
	return err == nil && len(result) == len(claims)
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
	grantsNothing       = "All, of which there is none"
	ignoresCapacity     = "capacity that no device has"
)

// knownDifference is the reason why Karpenter decides otherwise about a claim than the scheduler, whose decision is given.
func knownDifference(claim *resource.ResourceClaim, fits bool) string {
	for _, request := range claim.Spec.Devices.Requests {
		switch {
		case len(request.FirstAvailable) > 0 && fits:
			return refusesAlternatives
		case request.Exactly != nil && request.Exactly.AllocationMode == resource.DeviceAllocationModeAll && !fits:
			return grantsNothing
		case request.Exactly != nil && request.Exactly.Capacity != nil && !fits:
			return ignoresCapacity
		}
	}
	return ""
}

// For the claim of each example, Karpenter's own allocator decides about a type from its templates, and no node, as the scheduler's
// does about a live node of that type, but for the known differences.
func TestKarpenterDecidesAsTheScheduler(t *testing.T) {
	known := lister(classes(t))
	scheme := runtime.NewScheme()
	check(t, resource.AddToScheme(scheme))
	builder := fake.NewClientBuilder().WithScheme(scheme)
	for _, class := range known {
		builder = builder.WithObjects(class)
	}
	client := builder.Build()
	paths, err := filepath.Glob(deploy + "examples/*.yaml")
	check(t, err)
	count := map[string]int{}
	for _, path := range paths {
		for _, template := range documents[resource.ResourceClaimTemplate](t, path, "ResourceClaimTemplate") {
			claim := stored(template)
			for _, board := range boards {
				_, slices := printed(t, board)
				want := fitsNode(t, slices, known, []*resource.ResourceClaim{claim})
				got := fitsFuture(t, board, slices, client, []*resource.ResourceClaim{claim})
				switch difference := knownDifference(claim, want); {
				case got == want && want:
					count["fits"]++
				case got == want:
					count["does not fit"]++
				case difference == "":
					t.Errorf("%s on %s: Karpenter %v, the scheduler %v", filepath.Base(path), board, got, want)
				default:
					count[difference]++
				}
			}
		}
	}
	t.Logf("decisions: %v", count)
	if count["fits"] < 40 || count["does not fit"] < 40 || len(count) != 5 {
		t.Errorf("too few decisions of one kind to show anything: %v", count)
	}
}

// The page's filter makes a DRAConfig of Karpenter's own test driver, which publishes the slices on simulated nodes.
func TestDRAConfig(t *testing.T) {
	page, err := os.ReadFile(deploy + "autoscaling.md")
	check(t, err)
	found := regexp.MustCompile("(?s)```jq\n(.*?)```").FindSubmatch(page)
	if found == nil {
		t.Fatal("the page has no filter")
	}
	for _, board := range boards {
		out, slices := printed(t, board)
		command := exec.Command("jq", "--arg", "type", board, string(found[1]))
		command.Stdin = strings.NewReader(string(out))
		text, err := command.Output()
		check(t, err)
		var configs []kwok.DRAConfig
		check(t, yaml.UnmarshalStrict(text, &configs))
		devices := 0
		for _, config := range configs {
			for _, pool := range config.Spec.Pools {
				if term := pool.NodeSelectorTerms[0].MatchExpressions[0]; term.Key != core.LabelInstanceTypeStable || term.Values[0] != board {
					t.Errorf("%s: selector %+v", board, term)
				}
				for _, slice := range pool.ResourceSlices {
					devices += len(slice.Devices)
				}
			}
		}
		want := 0
		for _, slice := range slices {
			want += len(slice.Spec.Devices)
		}
		if devices != want || want == 0 {
			t.Errorf("%s: %d devices, not %d", board, devices, want)
		}
	}
}
