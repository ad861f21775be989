// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	resource "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// agentVersion is the second word of --version.
var agentVersion = sync.OnceValue(func() string {
	return strings.Fields(string(must(exec.Command(agentBinary, "--version").Output())))[1]
})

// wantedSlice is the slice of a board, from the golden file that names every attribute.
func wantedSlice(t testing.TB, board string) *resource.ResourceSlice {
	t.Helper()
	node, yes := nodeName, true
	slice := &resource.ResourceSlice{
		ObjectMeta: meta.ObjectMeta{GenerateName: node + "-" + driverName + "-",
			OwnerReferences: []meta.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node, UID: nodeUID, Controller: &yes}}},
		Spec: resource.ResourceSliceSpec{Driver: driverName, NodeName: &node,
			Pool: resource.ResourcePool{Name: node, Generation: 1, ResourceSliceCount: 1}},
	}
	f, err := os.Open("../vectors/boards/" + board + ".txt")
	check(t, err)
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		words := strings.SplitN(s.Text(), " ", 4)
		number, err := strconv.Atoi(words[0])
		if err != nil {
			continue // comments and what the board is
		}
		if number == len(slice.Spec.Devices) {
			slice.Spec.Devices = append(slice.Spec.Devices, resource.Device{
				Name:       fmt.Sprintf("neuron-device-%d", number),
				Attributes: map[resource.QualifiedName]resource.DeviceAttribute{}})
		}
		text := strings.ReplaceAll(words[3], "AGENT_VERSION", agentVersion())
		if words[2] == "capacity" {
			slice.Spec.Devices[number].Capacity = map[resource.QualifiedName]resource.DeviceCapacity{
				resource.QualifiedName(words[1]): {Value: quantity.MustParse(text)}}
			continue
		}
		slice.Spec.Devices[number].Attributes[resource.QualifiedName(words[1])] = attribute(t, words[2], text)
	}
	return slice
}

func attribute(t testing.TB, kind, text string) (a resource.DeviceAttribute) {
	t.Helper()
	switch kind {
	case "int":
		n := must(strconv.ParseInt(text, 10, 64))
		a.IntValue = &n
	case "bool":
		yes := text == "true"
		a.BoolValue = &yes
	case "string":
		a.StringValue = &text
	case "version":
		a.VersionValue = &text
	default:
		t.Fatalf("attribute type %s", kind)
	}
	return a
}

// wantedNode is the slice of a board whose devices are one, and whether it is published so. What its devices have in common
// stays, and the group of all of them.
func wantedNode(t testing.TB, board string) (slice *resource.ResourceSlice, published bool) {
	t.Helper()
	golden := string(must(os.ReadFile("../vectors/boards/" + board + ".txt")))
	slice = wantedSlice(t, board)
	node, devices := slice.Spec.Devices[0], len(slice.Spec.Devices)
	node.Name = nodeDevice
	for _, name := range []string{"contiguous2_id", "deviceId", "resource.aws.com/devicegroup1_id", "resource.aws.com/devicegroup4_id",
		"resource.aws.com/devicegroup8_id"} {
		delete(node.Attributes, resource.QualifiedName(name))
	}
	cores := *node.Attributes["coreCount"].IntValue * int64(devices)
	node.Attributes["coreCount"] = attribute(t, "int", fmt.Sprint(cores))
	memory := node.Capacity["memory"].Value
	memory.Mul(int64(devices))
	node.Capacity = map[resource.QualifiedName]resource.DeviceCapacity{"memory": {Value: memory}}
	node.Attributes["deviceCount"] = attribute(t, "int", fmt.Sprint(devices))
	node.Attributes["resourceType"] = attribute(t, "string", "neuron_node")
	slice.Spec.Devices = []resource.Device{node}
	return slice, strings.Contains(golden, "\nboard ultraserver yes\n")
}

// created is the body of the one slice that was made.
func (s *apiServer) created() *resource.ResourceSlice {
	s.t.Helper()
	created := s.log("create")
	if len(created) != 1 {
		s.t.Fatalf("%d creates", len(created))
	}
	if created[0].query != "" {
		s.t.Errorf("query %q", created[0].query)
	}
	slice := &resource.ResourceSlice{}
	check(s.t, open(created[0].body, "ResourceSlice", slice))
	return slice
}

// publishesOnce starts an agent with these flags: what is created is exactly this; later starts write nothing.
func publishesOnce(t *testing.T, board string, want *resource.ResourceSlice, flags ...string) {
	t.Helper()
	api := startAPIServer(t)
	a := newAgent(t, board)
	a.args = append(append(a.args, "--kubeconfig", api.kubeconfig(a.dir)), flags...)
	a.start()
	a.register()
	a.waitLog(0, "event=slice_published")
	if got := api.created(); !equality.Semantic.DeepEqual(got, want) {
		t.Errorf("%v: created\n%+v\nwant\n%+v", flags, got, want)
	}
	for range 2 {
		mark := a.log.count()
		a.kill()
		a.start()
		a.register()
		a.waitLog(mark, "event=slice_verified")
	}
	if n := api.seen("create", "update", "delete"); n != 1 {
		t.Errorf("%v: %d writes; one was needed", flags, n)
	}
}

// Each board, as its devices and as one device where it is a node of an UltraServer.
func TestPublishedSlices(t *testing.T) {
	t.Parallel()
	nodes := 0
	for _, board := range strings.Fields(simnode(t, "list")) {
		node, one := wantedNode(t, board)
		if one {
			nodes++
		}
		t.Run(board, func(t *testing.T) {
			t.Parallel()
			publishesOnce(t, board, wantedSlice(t, board), "--ultraserver-devices=devices")
			if one {
				publishesOnce(t, board, node)
			}
		})
	}
	if nodes < 10 {
		t.Errorf("%d boards are nodes of UltraServers", nodes)
	}
}

// What others do to the stored slice is put right within seconds.
func TestSliceIsRepaired(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	running(t, api, "trn2.48xlarge")
	want := wantedSlice(t, "trn2.48xlarge").Spec
	right := func() bool {
		own := api.own()
		if len(own) != 1 {
			return false
		}
		want.Pool.Generation = own[0].Spec.Pool.Generation
		return equality.Semantic.DeepEqual(own[0].Spec, want) && len(own[0].OwnerReferences) == 1 &&
			own[0].OwnerReferences[0].UID == api.node.UID
	}
	waitFor(t, "slice", right)
	waitFor(t, "watch", func() bool { return api.seen("watch") > 0 })
	spoil := map[string]func(*resource.ResourceSlice){
		"attribute gone":  func(s *resource.ResourceSlice) { delete(s.Spec.Devices[3].Attributes, "deviceId") },
		"attribute more":  func(s *resource.ResourceSlice) { s.Spec.Devices[3].Attributes["x"] = attribute(t, "int", "1") },
		"attribute other": func(s *resource.ResourceSlice) { s.Spec.Devices[3].Attributes["topology_x"] = attribute(t, "int", "9") },
		"attribute type": func(s *resource.ResourceSlice) {
			s.Spec.Devices[3].Attributes["deviceId"] = attribute(t, "string", "3")
		},
		"device gone": func(s *resource.ResourceSlice) { s.Spec.Devices = s.Spec.Devices[1:] },
		"device more": func(s *resource.ResourceSlice) {
			s.Spec.Devices = append(s.Spec.Devices, resource.Device{Name: "ghost"})
		},
		"device tainted": func(s *resource.ResourceSlice) {
			s.Spec.Devices[0].Taints = []resource.DeviceTaint{{Key: "a/b", Effect: "NoSchedule"}}
		},
		"count":     func(s *resource.ResourceSlice) { s.Spec.Pool.ResourceSliceCount = 2 },
		"no owner":  func(s *resource.ResourceSlice) { s.OwnerReferences = nil },
		"old owner": func(s *resource.ResourceSlice) { s.OwnerReferences[0].UID = uid("old node") },
	}
	for name, change := range spoil {
		t.Run(name, func(t *testing.T) {
			slice := api.published()
			change(slice)
			api.store(slice)
			waitFor(t, name, right)
		})
	}
	for i := range 3 {
		generation := api.published().Spec.Pool.Generation
		api.remove(api.published().Name)
		waitFor(t, "slice after delete", right)
		if got := api.published().Spec.Pool.Generation; got < generation {
			t.Errorf("round %d: generation went from %d to %d", i, generation, got)
		}
	}
	double := wantedSlice(t, "trn2.48xlarge")
	api.store(double)
	waitFor(t, "one of two", right)
	waitFor(t, "quiet", func() bool {
		n := len(api.log("create", "update", "delete"))
		time.Sleep(500 * time.Millisecond)
		return n == len(api.log("create", "update", "delete"))
	})
}

// Slices of other drivers and nodes are never written, not even when the server ignores the selector.
func TestForeignSlicesStay(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	otherNode := wantedSlice(t, "trn2.48xlarge")
	name := "node-2"
	otherNode.Spec.NodeName, otherNode.Spec.Pool.Name = &name, name
	otherDriver := wantedSlice(t, "trn2.48xlarge")
	otherDriver.Spec.Driver = "dra.net"
	foreign := []*resource.ResourceSlice{api.store(otherNode), api.store(otherDriver)}
	api.setFaults(func(kind string, w http.ResponseWriter, r *http.Request) bool {
		if kind != "list" {
			return false
		}
		list := &resource.ResourceSliceList{}
		api.mu.Lock()
		list.ResourceVersion = strconv.Itoa(api.version)
		for _, s := range api.slices {
			list.Items = append(list.Items, *s.DeepCopy())
		}
		api.mu.Unlock()
		api.reply(w, 200, envelope("resource.k8s.io/v1", "ResourceSliceList", list))
		return true
	})
	running(t, api, "trn2.48xlarge")
	api.published()
	for _, s := range foreign {
		api.mu.Lock()
		now := api.slices[s.Name]
		api.mu.Unlock()
		if now == nil || now.ResourceVersion != s.ResourceVersion {
			t.Errorf("foreign slice %s was touched", s.Name)
		}
	}
	if n := api.seen("delete", "update"); n != 0 {
		t.Errorf("%d deletes and updates", n)
	}
}

// cycle gives sizes one after the other; answers may be on their way at the same time.
func cycle(sizes ...int) func() int {
	var n atomic.Int64
	return func() int { return sizes[int(n.Add(1))%len(sizes)] }
}

// Surplus slices of ours go away, many large ones included; the answer comes in odd pieces.
func TestBigListInPieces(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	for i := range 20 {
		s := wantedSlice(t, "trn2.48xlarge")
		s.Spec.Pool.Generation = int64(i)
		s.Annotations = map[string]string{"big": strings.Repeat("x", 30000)}
		s.ManagedFields = []meta.ManagedFieldsEntry{{Manager: "m", FieldsV1: &meta.FieldsV1{Raw: []byte(`{"f":"` + strings.Repeat("y", 20000) + `"}`)}}}
		api.store(s)
	}
	api.setPieces(cycle(1, 2, 3, 5, 17, 4093, 9, 16384, 1, 8191))
	a := newAgent(t, "trn2.48xlarge")
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir))
	a.start()
	a.register()
	waitForLong(t, longPatience, "one slice", func() bool { return len(api.own()) == 1 })
	a.waitLogFor(longPatience, 0, "event=slice_verified")
	if g := api.published().Spec.Pool.Generation; g < 19 {
		t.Errorf("generation %d is below one that was there", g)
	}
}

// A claim of 1.5 MB, most of it of no interest, in odd pieces.
func TestBigClaimInPieces(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, k := running(t, api, "trn2.48xlarge")
	c := newClaim("big", "req=1", "req/sub=2", "more=3")
	c.Annotations = map[string]string{}
	for i := range 25 {
		c.Annotations[fmt.Sprintf("example.com/note-%d", i)] = strings.Repeat("a", 10000)
	}
	for i := range 12 {
		c.ManagedFields = append(c.ManagedFields, meta.ManagedFieldsEntry{Manager: fmt.Sprint("m", i), Operation: "Update",
			FieldsV1: &meta.FieldsV1{Raw: []byte(`{"f:metadata":"` + strings.Repeat("m", 95000) + `"}`)}})
	}
	for range 32 {
		configure(c, resource.AllocationConfigSourceClass, `{"x":"`+strings.Repeat("z", 3000)+`"}`, "elsewhere")
	}
	configure(c, resource.AllocationConfigSourceClaim, strings.Repeat(" ", 10000)+lnc(1), "req", "more")
	api.addClaim(c)
	if size := len(envelope("resource.k8s.io/v1", "ResourceClaim", c)); size < 1400000 || size > 1600000 {
		t.Fatalf("the claim has %d bytes", size)
	}
	for _, sizes := range [][]int{{1 << 20}, {16384, 1}, {997}, {1, 30000, 2, 3, 4093}} {
		api.setPieces(cycle(sizes...))
		devices := k.prepareOK(named(c))
		equalStrings(t, "devices", deviceNames(devices), "neuron-device-1", "neuron-device-2", "neuron-device-3")
		equalStrings(t, "environment", a.inject(idsOf(devices, "req")...).env, "NEURON_LOGICAL_NC_CONFIG=1")
		k.unprepareOK(named(c))
	}
	a.noCDI()
}

// Faults of the server while publishing: each is said, waited out, and overcome.
func TestPublishingFaults(t *testing.T) {
	t.Parallel()
	once := func(on string, f func(api *apiServer, w http.ResponseWriter)) func(*apiServer) hook {
		return func(api *apiServer) hook {
			done := false
			return func(kind string, w http.ResponseWriter, r *http.Request) bool {
				api.mu.Lock()
				first := kind == on && !done
				done = done || first
				api.mu.Unlock()
				if first {
					f(api, w)
				}
				return first
			}
		}
	}
	refuse := func(code int) func(*apiServer, http.ResponseWriter) {
		return func(api *apiServer, w http.ResponseWriter) {
			w.Header().Set("Retry-After", "1")
			api.fail(w, code, "Test", "a fault of the test")
		}
	}
	abort := func(*apiServer, http.ResponseWriter) { panic(http.ErrAbortHandler) }
	closing := func(api *apiServer, w http.ResponseWriter) {
		w.Header().Set("Connection", "close")
		api.fail(w, 503, "ServiceUnavailable", "shutting down")
	}
	cases := map[string]func(*apiServer) hook{}
	for _, on := range []string{"node watch", "list", "create", "watch"} {
		cases[on+" 500"] = once(on, refuse(500))
		cases[on+" 429"] = once(on, refuse(429))
		cases[on+" aborted"] = once(on, abort)
		cases[on+" goaway"] = once(on, closing)
		cases[on+" late"] = once(on, func(api *apiServer, w http.ResponseWriter) {
			time.Sleep(300 * time.Millisecond)
			refuse(503)(api, w)
		})
	}
	for name, fault := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := startAPIServer(t)
			api.setFaults(fault(api))
			a := newAgent(t, "trn2.48xlarge")
			a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir))
			a.start()
			k := a.register()
			api.published()
			waitFor(t, "watch", func() bool { return api.seen("watch") > 0 })
			c := api.addClaim(newClaim("c", "req=0"))
			waitFor(t, "prepare", prepareWorks(k, named(c)))
			gone := api.published().Name
			waitForLong(t, longPatience, "watch on a live connection", func() bool {
				return a.log.last("event=api_connected") > a.log.last("event=api_connection_lost") && api.watching()
			})
			api.remove(gone)
			waitFor(t, "repair, so the watch works", func() bool {
				own := api.own()
				return len(own) == 1 && own[0].Name != gone
			})
			if len(api.own()) != 1 {
				t.Errorf("%d slices", len(api.own()))
			}
		})
	}
}

// The watch may tell of a slice's end before the answer to its create is read.
func TestDeletedBeforeCreateIsAnswered(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, _ := running(t, api, "trn2.48xlarge")
	waitFor(t, "watch", api.watching)
	first := true
	api.setFaults(func(kind string, w http.ResponseWriter, r *http.Request) bool {
		if kind != "create" || !first {
			return false
		}
		first = false
		slice := &resource.ResourceSlice{}
		check(t, open(api.lastBody(), "ResourceSlice", slice))
		stored := api.store(slice)
		api.remove(stored.Name)
		time.Sleep(200 * time.Millisecond) // the watch is faster
		api.reply(w, 201, envelope("resource.k8s.io/v1", "ResourceSlice", stored))
		return true
	})
	mark := a.log.count()
	api.remove(api.published().Name)
	a.waitLog(mark, "event=slice_published")
	waitFor(t, "the slice again", func() bool { return len(api.own()) == 1 })
}

// A create that the server carried out without an answer is found, not repeated.
func TestLostCreateAnswer(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	lost := false
	api.setFaults(func(kind string, w http.ResponseWriter, r *http.Request) bool {
		if kind != "create" || lost {
			return false
		}
		lost = true
		slice := &resource.ResourceSlice{}
		check(t, open(api.lastBody(), "ResourceSlice", slice))
		api.store(slice)
		panic(http.ErrAbortHandler)
	})
	a := newAgent(t, "trn2.48xlarge")
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir))
	a.start()
	a.register()
	a.waitLog(0, "event=slice_verified")
	if n := api.seen("create"); n != 1 {
		t.Errorf("%d creates", n)
	}
}

// A server that keeps less than was sent is reported, not fought without end.
func TestDroppedFields(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	api.drop = func(s *resource.ResourceSlice) {
		for i := range s.Spec.Devices {
			delete(s.Spec.Devices[i].Attributes, "lncConfigurable")
		}
	}
	a := newAgent(t, "trn2.48xlarge")
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir))
	a.start()
	a.register()
	a.waitLog(0, "event=slice_fields_dropped")
	time.Sleep(3 * time.Second)
	if n := api.seen("create", "update", "delete"); n > 8 {
		t.Errorf("%d writes in 3 s", n)
	}
}
