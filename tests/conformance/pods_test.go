// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	resource "k8s.io/api/resource/v1"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"
)

// podLister is the kubelet's PodResources service, with the pods that a test gives it.
type podLister struct {
	podresources.UnimplementedPodResourcesListerServer
	pods atomic.Pointer[[]*podresources.PodResources]
}

func (l *podLister) List(context.Context, *podresources.ListPodResourcesRequest) (*podresources.ListPodResourcesResponse, error) {
	pods := l.pods.Load()
	if pods == nil {
		return nil, status.Error(codes.ResourceExhausted, "rejected by rate limit")
	}
	return &podresources.ListPodResourcesResponse{PodResources: *pods}, nil
}

func (l *podLister) set(pods ...*podresources.PodResources) { l.pods.Store(&pods) }

func (a *agent) podResourcesSocket() string {
	return filepath.Join(a.dir, "pod-resources", "kubelet.sock")
}

func (a *agent) listenPods() net.Listener {
	a.t.Helper()
	check(a.t, os.MkdirAll(filepath.Dir(a.podResourcesSocket()), 0o755))
	check(a.t, os.RemoveAll(a.podResourcesSocket()))
	listener, err := net.Listen("unix", a.podResourcesSocket())
	check(a.t, err)
	a.t.Cleanup(func() { _ = listener.Close() })
	return listener
}

// servePods starts the service at its place beside the plugins directory; without pods it refuses each call.
func (a *agent) servePods() *podLister {
	a.t.Helper()
	lister, server := &podLister{}, grpc.NewServer()
	podresources.RegisterPodResourcesListerServer(server, lister)
	listener := a.listenPods()
	go func() { _ = server.Serve(listener) }()
	a.t.Cleanup(server.Stop)
	return lister
}

// podUsing is a pod of which two containers use each of the claims, beside devices, CPUs and memory.
func podUsing(namespace, name string, claims ...string) *podresources.PodResources {
	pod := &podresources.PodResources{Namespace: namespace, Name: name}
	for _, container := range []string{"app", "sidecar"} {
		c := &podresources.ContainerResources{Name: container, CpuIds: []int64{0, 1, 300},
			Devices: []*podresources.ContainerDevices{{ResourceName: "example.com/device", DeviceIds: []string{strings.Repeat("d", 300)},
				Topology: &podresources.TopologyInfo{Nodes: []*podresources.NUMANode{{ID: 1}}}}},
			Memory: []*podresources.ContainerMemory{{MemoryType: "memory", Size: 1 << 40}}}
		for _, claim := range claims {
			c.DynamicResources = append(c.DynamicResources, &podresources.DynamicResource{ClaimName: claim, ClaimNamespace: namespace,
				ClaimResources: []*podresources.ClaimResource{{CdiDevices: []*podresources.CDIDevice{{Name: "neuron.aws.com/claim=x"}},
					DriverName: "neuron.aws.com", PoolName: nodeName, DeviceName: "neuron-device-0"}}})
		}
		pod.Containers = append(pod.Containers, c)
	}
	return pod
}

// podsOf is what `claims --pod` prints as pods of each claim.
func (a *agent) podsOf(pod string) map[string][]string {
	a.t.Helper()
	var printed struct {
		Claims []struct {
			Name string
			Pods []string
		} `json:"claims"`
	}
	check(a.t, json.Unmarshal([]byte(a.commandOK(closedPort(a.t), "claims", "--pod", pod, "-o", "json")), &printed))
	found := map[string][]string{}
	for _, c := range printed.Claims {
		found[c.Name] = c.Pods
	}
	return found
}

func reservedFor(claim *resource.ResourceClaim, kind string, names ...string) *resource.ResourceClaim {
	claim.Status.ReservedFor = nil
	for _, name := range names {
		claim.Status.ReservedFor = append(claim.Status.ReservedFor, resource.ResourceClaimConsumerReference{Resource: kind, Name: name, UID: uid(name)})
	}
	return claim
}

// claims --pod prints the pods that the kubelet lists, those that joined after the prepare and those of a PodGroup included.
// Without that list, it uses the first consumer of the record, and reports why.
func TestPodsOfClaim(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a := newAgent(t, "trn2.48xlarge")
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir))
	a.start()
	k := a.register()
	api.published()
	k.prepareOK(named(api.addClaim(reservedFor(newClaim("shared", "req=3"), "pods", "llama-0"))))
	k.prepareOK(named(api.addClaim(reservedFor(newClaim("group", "req=5"), "podgroups", "team"))))
	a.kill()

	const unknown = "neuron-dra-agent: pods that share a claim may be missing: the kubelet, at "
	withoutList := func(words string) {
		t.Helper()
		got := a.command(closedPort(t), "claims", "--pod", "default/llama-0")
		if got.code != 0 || !strings.HasPrefix(got.stdout, "default/shared\n") || strings.Contains(got.stdout, "pods:") ||
			got.stderr != unknown+a.podResourcesSocket()+": "+words+"\n" {
			t.Errorf("%s: %+v", words, got)
		}
		got = a.command(closedPort(t), "claims", "--pod", "default/llama-1", "-o", "json")
		if got.code != 1 || !strings.HasPrefix(got.stderr, unknown) || !strings.Contains(got.stderr, "no claim was prepared here for pod default/llama-1; ") {
			t.Errorf("%s: %+v", words, got)
		}
	}
	withoutList("no such file or directory")
	listener := a.listenPods()
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
			defer c.Close()
		}
	}()
	withoutList("no list of pods")
	check(t, listener.Close())
	lister := a.servePods()
	withoutList("rejected by rate limit")

	// As with the default of maxPods, and pods of other namespaces whose claims have the same names.
	pods := []*podresources.PodResources{podUsing("default", "plain"), podUsing("other", "llama-3", "shared")}
	for i := range 110 {
		pods = append(pods, podUsing("kube-system", fmt.Sprint("daemon-", i)))
	}
	lister.set(append(pods, podUsing("default", "llama-0", "shared"), podUsing("default", "llama-1", "shared", "unknown"),
		podUsing("default", "team-a", "group"), podUsing("default", "team-b", "group", "shared"))...)
	shared := []string{"llama-0", "llama-1", "team-b"}
	for pod, want := range map[string]map[string][]string{
		"default/llama-0": {"shared": shared}, "default/llama-1": {"shared": shared}, "default/team-a": {"group": {"team-a", "team-b"}},
		"default/team-b": {"shared": shared, "group": {"team-a", "team-b"}},
	} {
		if got := a.podsOf(pod); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", pod, got, want)
		}
	}
	contains(t, a.commandOK(closedPort(t), "claims", "--pod", "default/llama-1"), "\n  prepared for: Pod llama-0\n", "\n  pods: llama-0, llama-1, team-b\n")
	for _, pod := range []string{"default/plain", "other/llama-3", "default/llama"} {
		got := a.command(closedPort(t), "claims", "--pod", pod)
		if got.code != 1 || got.stdout != "" || got.stderr != "neuron-dra-agent: no claim that is prepared here is of pod "+pod+": see \"claims\"\n" {
			t.Errorf("%s: %+v", pod, got)
		}
	}
	if got := a.commandOK(closedPort(t), "claims"); strings.Contains(got, "pods:") {
		t.Errorf("without --pod: %s", got)
	}
	// The first pod has ended; a claim without a listed pod is shown for it, too.
	lister.set(podUsing("default", "llama-1", "shared"))
	if got := a.podsOf("default/llama-0"); !reflect.DeepEqual(got, map[string][]string{"shared": {"llama-1"}}) {
		t.Errorf("after its end: %v", got)
	}
	lister.set(podUsing("other", "llama-3", "shared"))
	contains(t, a.commandOK(closedPort(t), "claims", "--pod", "default/llama-0"), "\n  pods: none that the kubelet lists\n")
	// As a kubelet without the feature gate KubeletPodResourcesDynamicResources.
	lister.set(podUsing("default", "llama-0"))
	withoutList("it lists no claims")
	pods = nil
	for i := range 1000 {
		pods = append(pods, podUsing("default", fmt.Sprint("many-", i), "shared"))
	}
	lister.set(pods...)
	got := a.command(closedPort(t), "claims", "--pod", "default/many-0", "-o", "json")
	if got.code != 0 || got.stderr != unknown+a.podResourcesSocket()+": too many pods\n" || !strings.Contains(got.stdout, "\"many-99\"") ||
		strings.Contains(got.stdout, "\"many-999\"") {
		t.Errorf("many: %d, %s", got.code, got.stderr)
	}
}

// consumers are the series of neuron_dra_device_consumer_info: "device kind name uid" of each, in the order of the page.
func consumers(text string) (found []string) {
	for _, m := range regexp.MustCompile(`(?m)^neuron_dra_device_consumer_info\{device="([^"]*)",kind="([^"]*)",name="([^"]*)",uid="([^"]*)"\} 1$`).FindAllStringSubmatch(text, -1) {
		found = append(found, strings.Join(m[1:], " "))
	}
	return found
}

// awaitConsumers scrapes until the metrics have exactly these consumers; `complete` is the value of device_consumers_complete.
func awaitConsumers(t *testing.T, address string, complete int, want ...string) {
	t.Helper()
	var text string
	waitForLong(t, longPatience, fmt.Sprint("the consumers ", want), func() bool {
		text = scrape(t, address)
		return slices.Equal(consumers(text), want)
	})
	hasLine(t, text, fmt.Sprint("neuron_dra_device_consumers_complete ", complete))
}

// listens serves the socket of the kubelet's list of pods by a function for each connection.
func (a *agent) listens(serve func(net.Conn)) (end func()) {
	listener := a.listenPods()
	serveEach(listener, serve)
	return func() { _ = listener.Close() }
}

// The metrics have all pods that the kubelet lists, from the scrape after the one that had the agent ask; each answer but a list
// leaves the first consumers alone, is logged once, and disturbs nothing else. Each list is POD_LIST_AGE_MS after the last.
func TestPodsInMetrics(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, address := withMetrics(t, api, "trn2.48xlarge")
	k := a.register()
	api.published()
	if text := scrape(t, address); len(consumers(text)) != 0 {
		t.Errorf("no claim is held: %s", text)
	}
	shared := api.addClaim(reservedFor(newClaim("shared", "req=3"), "pods", "llama-0"))
	k.prepareOK(named(shared))
	k.prepareOK(named(api.addClaim(reservedFor(newClaim("group", "req=5"), "podgroups", "team"))))
	first, group := "neuron-device-3 Pod llama-0 "+string(uid("llama-0")), "neuron-device-5 PodGroup team "+string(uid("team"))

	// No socket: logged once, with the remedy, however often it is scraped.
	awaitConsumers(t, address, 0, first, group)
	line := a.waitLog(0, "event=pod_list_incomplete")
	contains(t, line, a.podResourcesSocket()+": no such file or directory", "mount the kubelet's directory pod-resources into the agent's pod")
	lister := a.servePods()
	lister.set(podUsing("default", "llama-0", "shared"), podUsing("default", "llama-1", "shared"), podUsing("other", "llama-2", "shared"),
		podUsing("default", "team-a", "group"), podUsing("default", "team-b", "group", "shared"))
	of := func(device int, pod string) string { return fmt.Sprintf("neuron-device-%d Pod %s ", device, pod) }
	all := []string{first, of(3, "llama-1"), of(3, "team-b"), group, of(5, "team-a"), of(5, "team-b")}
	awaitConsumers(t, address, 1, all...)
	a.waitLog(0, "event=pod_list_complete")

	// A pod that joins is seen at the second scrape after it, and not before.
	lister.set(podUsing("default", "llama-1", "shared"), podUsing("default", "late", "shared"), podUsing("default", "team-a", "group"))
	time.Sleep(11 * time.Second)
	if got := consumers(scrape(t, address)); !slices.Equal(got, all) {
		t.Errorf("before the agent asked again: %q", got)
	}
	late := []string{first, of(3, "llama-1"), of(3, "late"), group, of(5, "team-a")}
	awaitConsumers(t, address, 1, late...)

	// A claim that is released takes its pods along; another one in its slot has its own alone.
	k.unprepareOK(named(shared))
	awaitConsumers(t, address, 1, group, of(5, "team-a"))
	k.prepareOK(named(api.addClaim(reservedFor(newClaim("next", "req=3"), "pods", "mistral-0"))))
	next := "neuron-device-3 Pod mistral-0 " + string(uid("mistral-0"))
	if got := consumers(scrape(t, address)); !slices.Equal(got, []string{next, group, of(5, "team-a")}) {
		t.Errorf("another claim in the slot: %q", got)
	}
	hasLine(t, scrape(t, address), `neuron_dra_log_events_total{event="pod_list_incomplete"} 1`)
}

// A kubelet that answers anything but a list: the first consumer alone, one line, and a prepare is as quick as ever.
func TestPodListRefused(t *testing.T) {
	t.Parallel()
	settings := append([]byte("\x00\x00\x00\x04\x00\x00\x00\x00\x00"), []byte("\x00\x00\x00\x04\x01\x00\x00\x00\x00")...)
	endless := func(c net.Conn) { // SETTINGS and their acknowledgement, a response, then DATA without end
		_, _ = c.Write(settings)
		_, _ = c.Write([]byte("\x00\x00\x01\x01\x04\x00\x00\x00\x01\x88")) // HEADERS of stream 1: status 200
		frame := append([]byte("\x00\x40\x00\x00\x00\x00\x00\x00\x01"), make([]byte, 16384)...)
		for n := 0; ; n++ {
			if n > 0 {
				frame[9] = 0x0a
			}
			if _, err := c.Write(frame); err != nil {
				return
			}
		}
	}
	for _, c := range []struct {
		name, text string
		serve      func(net.Conn)
	}{
		{"another protocol", "the kubelet gives no list of pods", func(c net.Conn) { _, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")) }},
		{"closes", "the kubelet gives no list of pods", func(net.Conn) {}},
		{"silent", "the kubelet gives no list of pods", func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }},
		{"no response", "the kubelet gives no list of pods in time", func(c net.Conn) {
			_, _ = c.Write(settings)
			_, _ = io.Copy(io.Discard, c)
		}},
		{"endless", "the kubelet", endless},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			api := startAPIServer(t)
			a, address := withMetrics(t, api, "trn2.48xlarge")
			end := a.listens(c.serve)
			k := a.register()
			api.published()
			k.prepareOK(named(api.addClaim(reservedFor(newClaim("claim", "req=3"), "pods", "llama-0"))))
			first := "neuron-device-3 Pod llama-0 " + string(uid("llama-0"))
			awaitConsumers(t, address, 0, first)
			contains(t, a.waitLog(0, "event=pod_list_incomplete"), c.text, "see the kubelet's log")
			awaitConsumers(t, address, 0, first)
			end()
			a.servePods().set(podUsing("default", "llama-1", "claim"))
			awaitConsumers(t, address, 1, first, "neuron-device-3 Pod llama-1 ")
			a.waitLog(0, "event=pod_list_complete")
		})
	}
}

// A kubelet that answers and closes at once: what it sent is read to its end, although the agent can send no acknowledgement.
func TestPodListBeforeTheEnd(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, address := withMetrics(t, api, "trn2.48xlarge")
	names := []string{}
	for i := range 40 {
		names = append(names, fmt.Sprintf("late-%02d", i))
	}
	list := &podresources.ListPodResourcesResponse{}
	for _, name := range names {
		list.PodResources = append(list.PodResources, podUsing("default", name, "claim"))
	}
	body, err := proto.Marshal(list)
	check(t, err)
	body = append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body))), body...)
	if len(body) < 3*8192 || len(body) > 65535 {
		t.Fatalf("a list of %d bytes: more than the agent reads at once, and no more than the window, was meant", len(body))
	}
	a.listens(func(c net.Conn) {
		_, _ = io.ReadFull(c, make([]byte, len(http2.ClientPreface)))
		_ = c.(*net.UnixConn).CloseRead() // as after the close, but surely before the agent reads
		f := http2.NewFramer(c, c)
		fields := func(end bool, pairs ...string) {
			var block bytes.Buffer
			e := hpack.NewEncoder(&block)
			for i := 0; i < len(pairs); i += 2 {
				check(t, e.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]}))
			}
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: end})
		}
		_ = f.WriteSettings()
		fields(false, ":status", "200", "content-type", "application/grpc")
		for piece := range slices.Chunk(body, 16384) {
			_ = f.WriteData(1, false, piece)
		}
		fields(true, "grpc-status", "0")
	})
	k := a.register()
	api.published()
	k.prepareOK(named(api.addClaim(reservedFor(newClaim("claim", "req=3"), "pods", "llama-0"))))
	want := []string{"neuron-device-3 Pod llama-0 " + string(uid("llama-0"))}
	for _, name := range names {
		want = append(want, "neuron-device-3 Pod "+name+" ")
	}
	awaitConsumers(t, address, 1, want...)
}

// What a scrape costs with a long list of pods, beside TestScrapeCost: `make bench` prints it. Times decide nothing.
func TestPodListCost(t *testing.T) {
	t.Parallel()
	const scrapes = 40
	api := startAPIServer(t)
	a, address := withMetrics(t, api, "trn2.48xlarge")
	lister := a.servePods()
	k := a.register()
	api.published()
	k.prepareOK(named(api.addClaim(reservedFor(newClaim("claim", "req=3"), "pods", "llama-0"))))
	pods, want := []*podresources.PodResources{}, []string{"neuron-device-3 Pod llama-0 " + string(uid("llama-0"))}
	for i := range 250 {
		pods = append(pods, podUsing("default", fmt.Sprint("p-", i), "claim"))
		want = append(want, fmt.Sprintf("neuron-device-3 Pod p-%d ", i))
	}
	lister.set(pods...)
	awaitConsumers(t, address, 1, want...)
	_, text := page(t, address, "/metrics")
	before := a.cpuTime(t)
	for range scrapes {
		page(t, address, "/metrics")
	}
	scrapeTable.add("250 pods of a claim", seriesOf(text), len(text),
		((a.cpuTime(t) - before) / scrapes).Round(time.Microsecond), fmt.Sprint(a.privateKiB(t), " KiB"))
}
