// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	resource "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	dra "k8s.io/kubelet/pkg/apis/dra/v1"
	drabeta "k8s.io/kubelet/pkg/apis/dra/v1beta1"
)

func TestPrepareAndUnprepare(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, k := running(t, api, "trn2.48xlarge")
	c := api.addClaim(configure(newClaim("one", "req=3", "req=7"), resource.AllocationConfigSourceClaim, lnc(1)))
	devices := k.prepareOK(named(c))
	equalStrings(t, "devices", deviceNames(devices), "neuron-device-3", "neuron-device-7")
	for _, d := range devices {
		if d.PoolName != nodeName || len(d.RequestNames) != 1 || d.RequestNames[0] != "req" || d.ShareId != nil {
			t.Errorf("device %v", d)
		}
	}
	seen := a.inject(idsOf(devices, "req")...)
	equalStrings(t, "container's devices", seen.devices, "/dev/neuron3", "/dev/neuron7")
	equalStrings(t, "container's environment", seen.env, "NEURON_LOGICAL_NC_CONFIG=1")
	annotations := a.annotations(c)
	for key, want := range map[string]string{"claim-namespace": c.Namespace, "claim-name": c.Name, "claim-uid": string(c.UID)} {
		if annotations[driverName+"/"+key] != want {
			t.Errorf("annotation %s: %q, want %q", key, annotations[driverName+"/"+key], want)
		}
	}
	a.waitLog(0, "Opaque device configs", "NeuronConfig", "logicalNeuronCore=1")
	// that of a claim that is refused is logged too
	contains(t, k.prepareError(named(api.addClaim(configure(newClaim("rival", "req=7"), resource.AllocationConfigSourceClaim, lnc(2))))), "already held")
	a.waitLog(0, "Opaque device configs", "claim=rival", "NeuronConfig", "logicalNeuronCore=2")
	k.unprepareOK(named(c))
	a.noCDI()
	k.unprepareOK(named(c)) // again, and for a claim that the API server no longer has
	api.removeClaim(c)
	k.unprepareOK(named(c))
}

// The same bytes each time, also without the API server, and a lost CDI file comes back.
func TestPrepareIsRepeatable(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, k := running(t, api, "trn2.48xlarge")
	c := api.addClaim(newClaim("again", "a=0", "b=5", "a=1"))
	first, err := k.callBytes(prepareV1, callLimit, named(c))
	check(t, err)
	file := a.cdiBytes(c)
	reads := api.seen("claim")
	for range 5 {
		again, err := k.callBytes(prepareV1, callLimit, named(c))
		check(t, err)
		if !bytes.Equal(first, again) || a.cdiBytes(c) != file {
			t.Fatal("another reply or CDI file")
		}
	}
	if again := api.seen("claim") - reads; again != 5 {
		t.Errorf("a prepared claim was compared %d times with the API server's, not once for each call", again)
	}
	api.down()
	for _, spoil := range []func(){
		func() { check(t, os.Remove(a.cdiFile(c))) },
		func() { check(t, os.Truncate(a.cdiFile(c), 10)) },
		func() { check(t, os.WriteFile(a.cdiFile(c), []byte("{}"), 0o644)) },
	} {
		spoil()
		again, err := k.callBytes(prepareV1, callLimit, named(c))
		check(t, err)
		if !bytes.Equal(first, again) || a.cdiBytes(c) != file {
			t.Fatal("another reply or CDI file")
		}
	}
	k.unprepareOK(named(c))
	a.noCDI()
}

func TestBetaService(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, k := running(t, api, "trn1.32xlarge")
	c := api.addClaim(newClaim("beta", "req=15"))
	other := api.addClaim(newClaim("beta-other", "req=15"))
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	client := drabeta.NewDRAPluginClient(k.conn)
	claim := func(c *resource.ResourceClaim) *drabeta.Claim {
		return &drabeta.Claim{Namespace: c.Namespace, Name: c.Name, Uid: string(c.UID)}
	}
	reply, err := client.NodePrepareResources(ctx, &drabeta.NodePrepareResourcesRequest{Claims: []*drabeta.Claim{claim(c)}})
	check(t, err)
	devices := reply.Claims[string(c.UID)].GetDevices()
	if len(reply.Claims) != 1 || len(devices) != 1 || devices[0].DeviceName != "neuron-device-15" {
		t.Fatalf("reply %v", reply)
	}
	equalStrings(t, "container's devices", a.inject(devices[0].CdiDeviceIds...).devices, "/dev/neuron15")
	beta, err := k.callBytes(prepareV1beta1, callLimit, named(c))
	check(t, err)
	v1, err := k.callBytes(prepareV1, callLimit, named(c))
	check(t, err)
	if !bytes.Equal(beta, v1) {
		t.Error("v1 and v1beta1 differ for the same claim")
	}
	failed, err := client.NodePrepareResources(ctx, &drabeta.NodePrepareResourcesRequest{Claims: []*drabeta.Claim{claim(other)}})
	check(t, err)
	checkErrorText(t, failed.Claims[string(other.UID)].GetError())
	undone, err := client.NodeUnprepareResources(ctx, &drabeta.NodeUnprepareResourcesRequest{Claims: []*drabeta.Claim{claim(c), claim(other)}})
	check(t, err)
	if len(undone.Claims) != 2 || undone.Claims[string(c.UID)].GetError() != "" {
		t.Errorf("reply %v", undone)
	}
	a.noCDI()
}

// 64 claims in one call, each with its own result; one more is refused as a whole.
func TestManyClaimsInOneCall(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, k := running(t, api, "trn2.48xlarge", "--devices", "64")
	var claims []*dra.Claim
	for i := range 64 {
		claims = append(claims, named(api.addClaim(newClaim(fmt.Sprintf("many-%d", i), fmt.Sprintf("req=%d", i)))))
	}
	claims[20].Uid = string(uid("another")) // those fail alone
	claims[40].Name = "not-there"
	for range 2 {
		reply := k.prepare(claims...)
		for i, c := range claims {
			bad := i == 20 || i == 40
			if (reply[c.Uid].Error != "") != bad {
				t.Errorf("claim %d: %q", i, reply[c.Uid].Error)
			}
			if !bad {
				equalStrings(t, c.Name, deviceNames(reply[c.Uid].Devices), fmt.Sprintf("neuron-device-%d", i))
			}
		}
	}
	if n := len(files(t, a.cdiDir())); n != 62 {
		t.Errorf("%d CDI files for 62 claims", n)
	}
	_, err := k.callBytes(prepareV1, callLimit, append(claims, named(newClaim("one-more", "req=1")))...)
	if status.Code(err) != codes.ResourceExhausted {
		t.Errorf("65 claims: %v", err)
	}
	k.unprepareOK(claims...)
	a.noCDI()
}

// The same claim named twice is one entry.
func TestClaimNamedTwice(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, k := running(t, api, "trn2.48xlarge")
	c := named(api.addClaim(newClaim("twice", "req=1")))
	if r := k.prepare(c, c); r[c.Uid].Error != "" {
		t.Errorf("error %q", r[c.Uid].Error)
	}
	k.unprepareOK(c, c)
	a.noCDI()
}

func TestTwoRequestsTwoDevices(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, k := running(t, api, "trn2.48xlarge")
	c := newClaim("two", "first=2", "second=9", "second=10")
	configure(c, resource.AllocationConfigSourceClaim, lnc(1), "first")
	configure(c, resource.AllocationConfigSourceClaim, lnc(2), "second")
	devices := k.prepareOK(named(api.addClaim(c)))
	first := a.inject(idsOf(devices, "first")...)
	equalStrings(t, "first", first.devices, "/dev/neuron2")
	equalStrings(t, "first", first.env, "NEURON_LOGICAL_NC_CONFIG=1")
	second := a.inject(idsOf(devices, "second")...)
	equalStrings(t, "second", second.devices, "/dev/neuron10", "/dev/neuron9")
	equalStrings(t, "second", second.env, "NEURON_LOGICAL_NC_CONFIG=2")
	both := a.inject(append(idsOf(devices, "first"), idsOf(devices, "second")...)...)
	equalStrings(t, "both", both.devices, "/dev/neuron10", "/dev/neuron2", "/dev/neuron9")
	k.unprepareOK(named(c))
	a.noCDI()
}

// The kubelet and containers know only the part before the slash.
func TestSubRequests(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, k := running(t, api, "trn2.48xlarge")
	c := newClaim("sub", "req/small=4", "other=6")
	configure(c, resource.AllocationConfigSourceClaim, lnc(2), "req/large") // of a choice that was not taken
	configure(c, resource.AllocationConfigSourceClaim, lnc(1), "req/small")
	devices := k.prepareOK(named(api.addClaim(c)))
	got := a.inject(idsOf(devices, "req")...)
	equalStrings(t, "req", got.devices, "/dev/neuron4")
	equalStrings(t, "req", got.env, "NEURON_LOGICAL_NC_CONFIG=1")
	equalStrings(t, "other", a.inject(idsOf(devices, "other")...).env)
	k.unprepareOK(named(c))

	base := newClaim("base", "req/small=4")
	configure(base, resource.AllocationConfigSourceClass, lnc(2), "req")
	devices = k.prepareOK(named(api.addClaim(base)))
	equalStrings(t, "base name", a.inject(idsOf(devices, "req")...).env, "NEURON_LOGICAL_NC_CONFIG=2")
	k.unprepareOK(named(base))
	a.noCDI()
}

// Monitoring claims see devices that others hold, and hold none.
func TestAdminAccess(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, k := running(t, api, "trn2.48xlarge")
	holder := api.addClaim(newClaim("holder", "req=0"))
	monitor := newClaim("monitor", "all=0", "all=1")
	yes := true
	for i := range monitor.Status.Allocation.Devices.Results {
		monitor.Status.Allocation.Devices.Results[i].AdminAccess = &yes
	}
	api.addClaim(monitor)
	k.prepareOK(named(holder))
	devices := k.prepareOK(named(monitor))
	equalStrings(t, "monitor", a.inject(idsOf(devices, "all")...).devices, "/dev/neuron0", "/dev/neuron1")
	later := api.addClaim(newClaim("later", "req=1"))
	k.prepareOK(named(later))
	k.unprepareOK(named(holder), named(monitor), named(later))
	a.noCDI()
}

// Results and configurations of other drivers in the same claim are not ours to judge.
func TestOtherDriversInClaim(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, k := running(t, api, "trn2.48xlarge")
	c := newClaim("mixed", "nic=3", "req=3")
	c.Status.Allocation.Devices.Results[0].Driver = "dra.net"
	c.Status.Allocation.Devices.Results[0].Device = "pci-0000-10-19-0"
	c.Status.Allocation.Devices.Results[0].Pool = "elsewhere"
	configure(c, resource.AllocationConfigSourceClaim, `{"kind":"Foreign"}`)
	c.Status.Allocation.Devices.Config[0].Opaque.Driver = "dra.net"
	devices := k.prepareOK(named(api.addClaim(c)))
	equalStrings(t, "devices", deviceNames(devices), "neuron-device-3")
	k.unprepareOK(named(c))
	a.noCDI()
}

// A device that is allocated in shares goes to several claims, each with its share.
func TestShares(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, k := running(t, api, "trn2.48xlarge")
	c := newClaim("share", "req=3", "req=3")
	for i := range c.Status.Allocation.Devices.Results {
		share := types.UID(uid(fmt.Sprint("share ", i)))
		c.Status.Allocation.Devices.Results[i].ShareID = &share
	}
	devices := k.prepareOK(named(api.addClaim(c)))
	if len(devices) != 2 || devices[0].ShareId == nil || *devices[0].ShareId != string(uid("share 0")) {
		t.Errorf("devices %v", devices)
	}
	equalStrings(t, "devices", a.inject(idsOf(devices, "req")...).devices, "/dev/neuron3")
	k.unprepareOK(named(c))
	a.noCDI()
}

func TestDeviceNumberingZero(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a := newAgent(t, "trn2.48xlarge")
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir), "--device-numbering=zero")
	a.start()
	k := a.register()
	c := api.addClaim(newClaim("zero", "req=12", "req=9", "more=15"))
	devices := k.prepareOK(named(c))
	equalStrings(t, "req", a.inject(idsOf(devices, "req")...).devices, "/dev/neuron0", "/dev/neuron1")
	equalStrings(t, "more", a.inject(idsOf(devices, "more")...).devices, "/dev/neuron2")
	k.unprepareOK(named(c))
}

// The claims of one call are those of one pod, and one container may use all of them: they have one row of numbers, in
// the order of the call, whichever the API server answers first.
func TestDeviceNumberingAcrossClaims(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a := newAgent(t, "trn2.48xlarge")
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir), "--device-numbering=zero")
	a.start()
	k := a.register()
	first, second := api.addClaim(newClaim("first", "req=12")), api.addClaim(newClaim("second", "req=3", "req=1"))
	api.setFaults(func(kind string, _ http.ResponseWriter, r *http.Request) bool {
		if kind == "claim" && strings.HasSuffix(r.URL.Path, "/first") {
			time.Sleep(500 * time.Millisecond)
		}
		return false
	})
	reply := k.prepare(named(first), named(second))
	var ids []string
	for _, c := range []*resource.ResourceClaim{first, second} {
		if text := reply[string(c.UID)].Error; text != "" {
			t.Fatalf("claim %s: %s", c.Name, text)
		}
		ids = append(ids, idsOf(reply[string(c.UID)].Devices, "req")...)
	}
	equalStrings(t, "first", a.inject(ids[0]).devices, "/dev/neuron0")
	equalStrings(t, "second", a.inject(ids[1]).devices, "/dev/neuron1", "/dev/neuron2")
	equalStrings(t, "both", a.inject(ids...).devices, "/dev/neuron0", "/dev/neuron1", "/dev/neuron2")
	// A file that is gone comes back with the same numbers.
	check(t, os.Remove(a.cdiFile(second)))
	k.prepareOK(named(second))
	equalStrings(t, "second again", a.inject(ids[1]).devices, "/dev/neuron1", "/dev/neuron2")
	k.unprepareOK(named(first), named(second))
	a.noCDI()
}

// One claim that hangs at the API server delays no other, and ends with words inside the kubelet's time.
func TestHangingClaim(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, k := running(t, api, "trn2.48xlarge")
	slow := named(api.addClaim(newClaim("slow", "req=0")))
	api.setFaults(func(kind string, w http.ResponseWriter, r *http.Request) bool {
		if kind == "claim" && r.URL.Path == groupPath+"/v1/namespaces/default/resourceclaims/slow" {
			<-r.Context().Done()
			return true
		}
		return false
	})
	var group sync.WaitGroup
	group.Go(func() {
		r := k.prepare(slow, named(api.addClaim(newClaim("beside", "req=1"))))
		contains(t, r[slow.Uid].Error, "slow", "no response in time")
		if text := r[string(uid("claim beside"))].Error; text != "" {
			t.Errorf("the claim beside it: %s", text)
		}
	})
	waitFor(t, "slow request", func() bool { return api.seen("claim") > 0 })
	for i := range 50 {
		c := api.addClaim(newClaim(fmt.Sprintf("quick-%d", i), "req=5"))
		k.prepareOK(named(c))
		k.unprepareOK(named(c))
	}
	group.Wait()
	api.setFaults(nil)
	k.prepareOK(slow)
	k.unprepareOK(slow, named(newClaim("beside")))
	a.noCDI()
}

// A call that the kubelet gives up leaves nothing half done.
func TestCancelledCall(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, k := running(t, api, "trn2.48xlarge")
	c := named(api.addClaim(newClaim("cancelled", "req=0")))
	api.setFaults(func(kind string, w http.ResponseWriter, r *http.Request) bool {
		if kind == "claim" {
			time.Sleep(30 * time.Millisecond)
		}
		return false
	})
	for i := range 30 {
		_, err := k.callBytes(prepareV1, time.Duration(1+3*i)*time.Millisecond, c)
		if code := status.Code(err); err != nil && code != codes.DeadlineExceeded && code != codes.Canceled {
			t.Fatalf("call %d: %v", i, err)
		}
	}
	first := k.prepareOK(c)
	if again := k.prepareOK(c); !reflect.DeepEqual(deviceNames(first), deviceNames(again)) {
		t.Error("another answer")
	}
	k.unprepareOK(c)
	a.noCDI()
}

// Calls for several pods at one time over one connection.
func TestConcurrentCalls(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, k := running(t, api, "trn2.48xlarge")
	var group sync.WaitGroup
	for worker := range 12 {
		group.Go(func() {
			for i := range 25 {
				c := api.addClaim(newClaim(fmt.Sprintf("w%d-%d", worker, i), fmt.Sprintf("req=%d", worker)))
				request := &dra.NodePrepareResourcesRequest{Claims: []*dra.Claim{named(c)}}
				ctx, cancel := context.WithTimeout(context.Background(), callLimit)
				reply, err := dra.NewDRAPluginClient(k.conn).NodePrepareResources(ctx, request)
				if err != nil || reply.Claims[string(c.UID)].GetError() != "" || proto.Size(reply) == 0 {
					t.Errorf("prepare: %v %v", reply, err)
				}
				_, err = dra.NewDRAPluginClient(k.conn).NodeUnprepareResources(ctx,
					&dra.NodeUnprepareResourcesRequest{Claims: request.Claims})
				if err != nil {
					t.Errorf("unprepare: %v", err)
				}
				cancel()
			}
		})
	}
	group.Wait()
	a.noCDI()
}

// The host's logical_nc_config is for claims that ask for no LNC; containers do not see it. It may change at any time, but
// what is prepared stays.
func TestLNCOfTheHost(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a := newAgent(t, "trn2.48xlarge")
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir))
	file := filepath.Join(a.neuronDir(), "logical_nc_config")
	write := func(text string) {
		check(t, os.WriteFile(file+".new", []byte(text), 0o644))
		check(t, os.Rename(file+".new", file))
	}
	check(t, os.Mkdir(a.neuronDir(), 0o755))
	write("# of the fleet\nNEURON_LOGICAL_NC_CONFIG=1\n")
	a.start()
	k := a.register()
	a.waitLog(0, "event=slice_published")
	a.waitLog(0, "event=devices_found", "logical_nc_config=1")
	contains(t, a.commandOK(closedPort(t), "devices"), "16 devices, 0 held, LNC 1 by logical_nc_config")
	environment := func(name string, device int, want ...string) *resource.ResourceClaim {
		c := newClaim(name, fmt.Sprintf("req=%d", device))
		if device == 1 {
			configure(c, resource.AllocationConfigSourceClaim, lnc(2))
		}
		api.addClaim(c)
		equalStrings(t, name, a.inject(idsOf(k.prepareOK(named(c)), "req")...).env, want...)
		return c
	}
	first := environment("of-the-host", 0, "NEURON_LOGICAL_NC_CONFIG=1")
	environment("of-its-own", 1, "NEURON_LOGICAL_NC_CONFIG=2")
	before := a.cdiBytes(first)

	mark := a.log.count()
	write("NEURON_LOGICAL_NC_CONFIG=2\n")
	a.waitLog(mark, "event=devices_found", "logical_nc_config=2")
	environment("later", 2, "NEURON_LOGICAL_NC_CONFIG=2")
	k.prepareOK(named(first)) // as the kubelet does after a restart
	if a.cdiBytes(first) != before {
		t.Error("the file of a claim that is prepared follows the host's file")
	}
	for i, bad := range []string{"NEURON_LOGICAL_NC_CONFIG=4\n", "NEURON_LOGICAL_NC_CONFIG=one\n", "garbage\n"} {
		mark = a.log.count()
		write(bad)
		a.waitLog(mark, "logical-nc-config", "write NEURON_LOGICAL_NC_CONFIG=1 or 2")
		environment(fmt.Sprintf("bad-%d", i), 3+i)
	}
	check(t, os.Remove(file))
	a.stop()
	a.start()
	k = a.register()
	environment("none", 7)
	contains(t, a.commandOK(closedPort(t), "devices"), "LNC 2\n")
}

// The API server hangs while more pods start than the connection has streams: pods that end are unprepared all the same,
// while the prepares that have a place still wait.
func TestUnpreparesPassHangingPrepares(t *testing.T) {
	t.Parallel()
	const pods = 40
	api := startAPIServer(t)
	a, k := running(t, api, "trn2.48xlarge")
	gone := named(api.addClaim(newClaim("gone", "req=15")))
	k.prepareOK(gone)
	api.setFaults(func(kind string, w http.ResponseWriter, r *http.Request) bool {
		if kind == "claim" {
			<-r.Context().Done()
		}
		return kind == "claim"
	})
	var waiting, refused atomic.Int64
	var ended sync.WaitGroup
	for n := range pods {
		c := named(api.addClaim(newClaim(fmt.Sprint("new-", n), fmt.Sprintf("req=%d", n%15))))
		waiting.Add(1)
		ended.Go(func() {
			_, err := k.callBytes(prepareV1, callLimit, c)
			waiting.Add(-1)
			if status.Code(err) == codes.Unavailable {
				refused.Add(1)
			}
		})
	}
	waitFor(t, "eight claims are read", func() bool { return api.seen("claim") > 8 })
	k.unprepareOK(gone)
	if waiting.Load() == 0 || waiting.Load()+refused.Load() != pods {
		t.Errorf("the unprepare came after the prepares: %d still wait, %d were refused", waiting.Load(), refused.Load())
	}
	a.kill()
	ended.Wait()
}
