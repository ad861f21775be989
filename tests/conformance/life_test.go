// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	resource "k8s.io/api/resource/v1"
	dra "k8s.io/kubelet/pkg/apis/dra/v1"
)

// Registration goes first, running calls end, slices stay, exit code 0.
func TestStopWithRunningCall(t *testing.T) {
	t.Parallel()
	for _, answered := range []bool{true, false} {
		t.Run(fmt.Sprintf("answered %v", answered), func(t *testing.T) {
			t.Parallel()
			api := startAPIServer(t)
			a, k := running(t, api, "trn2.48xlarge")
			c := named(api.addClaim(newClaim("late", "req=0")))
			release := make(chan struct{})
			api.setFaults(func(kind string, w http.ResponseWriter, r *http.Request) bool {
				if kind == "claim" {
					select {
					case <-release:
					case <-r.Context().Done():
					}
				}
				return false
			})
			result := make(chan error, 1)
			go func() { _, err := k.callBytes(prepareV1, callLimit, c); result <- err }()
			waitFor(t, "claim read", func() bool { return api.seen("claim") > 0 })
			a.wanted = true
			check(t, a.cmd.Process.Signal(syscall.SIGTERM))
			waitFor(t, "registration socket gone", func() bool { return !exists(a.registrationSocket()) })
			if !a.running() {
				t.Error("the process ended before its running call")
			}
			select {
			case err := <-result:
				t.Errorf("the call ended early: %v", err)
			default:
			}
			if answered {
				close(release)
			}
			if err := <-result; err != nil && (answered || status.Code(err) != codes.Unavailable) {
				t.Errorf("running call: %v", err)
			}
			<-a.ended
			if code := a.cmd.ProcessState.ExitCode(); code != 0 {
				t.Errorf("exit code %d", code)
			}
			if exists(a.serviceSocket()) {
				t.Error("the service socket is left")
			}
			if len(api.own()) != 1 || api.seen("delete") != 0 {
				t.Error("the slice did not stay")
			}
		})
	}
}

func TestStopIdle(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, _ := running(t, api, "trn2.48xlarge")
	if code := a.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	a.waitLog(0, "event=stop_requested")
	a.waitLog(0, "event=stopped")
	if exists(a.registrationSocket()) || exists(a.serviceSocket()) || len(api.own()) != 1 {
		t.Error("sockets left, or slice gone")
	}
	away := withoutServer(t, "trn2.48xlarge", hangingServer(t))
	away.start()
	away.waitLog(0, "event=started")
	time.Sleep(1200 * time.Millisecond) // a handshake hangs now
	if code := away.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// An orderly restart changes nothing for claims and slices.
func TestRestartKeepsClaims(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, k := running(t, api, "trn2.48xlarge")
	c := named(api.addClaim(newClaim("kept", "req=0")))
	first := must(k.callBytes(prepareV1, callLimit, c))
	if code := a.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	api.down()
	a.start()
	k = a.register()
	if again := must(k.callBytes(prepareV1, callLimit, c)); string(again) != string(first) {
		t.Error("another reply")
	}
	k.unprepareOK(c)
	a.noCDI()
}

func health(t *testing.T, conn *grpc.ClientConn, service string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: service})
	if err != nil {
		return status.Code(err).String()
	}
	return r.Status.String()
}

func TestHealthService(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a := newAgent(t, "trn2.48xlarge")
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir), "--healthcheck-port", "0")
	a.start()
	line := a.waitLog(0, "event=socket_opened", "health service on TCP port")
	port := regexp.MustCompile(`TCP port (\d+)`).FindStringSubmatch(line)[1]
	for _, host := range []string{"127.0.0.1", "::1"} {
		address := net.JoinHostPort(host, port)
		if conn, err := net.Dial("tcp", address); err != nil {
			if host == "::1" {
				continue // no IPv6 here
			}
			t.Fatal(err)
		} else {
			conn.Close()
		}
		conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()))
		check(t, err)
		defer conn.Close()
		for service, want := range map[string]string{"liveness": "SERVING", "": "SERVING", "other": "NotFound"} {
			if got := health(t, conn, service); got != want {
				t.Errorf("%q: %s, want %s", service, got, want)
			}
		}
		if host == "127.0.0.1" {
			if got := health(t, conn, "readiness"); got != "NOT_SERVING" {
				t.Errorf("readiness before registration: %s", got)
			}
			a.register()
			a.waitLog(0, "event=slice_published")
		}
		if got := health(t, conn, "readiness"); got != "SERVING" {
			t.Errorf("readiness: %s", got)
		}
	}
}

// A port in use is said and tried again; the kubelet's side does not suffer.
func TestHealthPortInUse(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", ":0")
	check(t, err)
	port := strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
	a := withoutServer(t, "trn2.48xlarge", closedPort(t))
	a.args = append(a.args, "--healthcheck-port", port)
	a.start()
	a.register()
	a.waitLog(0, "event=socket_open_failed", port, "--healthcheck-port")
	listener.Close()
	a.waitLog(0, "event=socket_opened", "TCP port "+port)
}

func TestNoDevices(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a := newAgent(t, "trn2.48xlarge")
	simnode(t, "garbage", "--dir", a.node, "no-module")
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir))
	a.start()
	k := a.register()
	slice := api.published()
	if len(slice.Spec.Devices) != 0 || slice.Spec.Pool.ResourceSliceCount != 1 {
		t.Errorf("slice %+v", slice.Spec)
	}
	a.waitLog(0, "event=device_issue_found", "remedy=")
	contains(t, k.prepareError(named(api.addClaim(newClaim("c", "req=0")))), "neuron-device-0 is gone: the kernel module no longer shows it")
	a.kill()
	a.start()
	a.register()
	a.waitLog(0, "event=slice_verified")
	if n := api.seen("create", "update", "delete"); n != 1 {
		t.Errorf("%d writes", n)
	}
}

// A device that was taken out of a simulated node can be put back.
func TestDeviceComesBack(t *testing.T) {
	t.Parallel()
	a := newAgent(t, "trn2.48xlarge")
	simnode(t, "remove", "--dir", a.node, "neuron5")
	simnode(t, "add", "--dir", a.node, "neuron5")
	if got := a.command(closedPort(t), "devices", "--no-headers"); got.code != 0 || !strings.Contains(got.stdout, "neuron-device-5 ") {
		t.Errorf("%+v", got)
	}
}

// Whatever sysfs says, the agent stays up, publishes a slice that the server takes, and says what is odd.
func TestGarbageInSysfs(t *testing.T) {
	t.Parallel()
	help := simnode(t, "--help")
	variants := regexp.MustCompile(`spoil the tree: (.*)`).FindStringSubmatch(help)
	if variants == nil {
		t.Fatalf("simnode.py names no garbage:\n%s", help)
	}
	silent := map[string]bool{"boot-id-absent": true, "connected-absent": true}
	for _, variant := range strings.Split(variants[1], ", ") {
		t.Run(variant, func(t *testing.T) {
			t.Parallel()
			api := startAPIServer(t)
			a := newAgent(t, "trn2.48xlarge")
			simnode(t, "garbage", "--dir", a.node, variant)
			a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir))
			a.start()
			k := a.register()
			slice := api.published()
			for _, d := range slice.Spec.Devices {
				for name, v := range d.Attributes {
					if v.StringValue != nil && (len(*v.StringValue) > 64 || *v.StringValue == "") {
						t.Errorf("%s %s: %q", d.Name, name, *v.StringValue)
					}
				}
			}
			if variant != "no-module" && len(slice.Spec.Devices) < 15 {
				t.Errorf("%d devices", len(slice.Spec.Devices))
			}
			if !silent[variant] {
				a.waitLog(0, "event=device_issue_found", "remedy=")
			}
			if line, more := a.log.find(0, "\x1b"); more == nil {
				t.Errorf("control characters in the log: %q", line)
			}
			if variant == "no-module" {
				return
			}
			c := named(api.addClaim(newClaim("c", "req=5")))
			k.prepareOK(c)
			k.unprepareOK(c)
		})
	}
}

func TestUnknownBoard(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a := newAgent(t, "trn2.48xlarge")
	simnode(t, "garbage", "--dir", a.node, "product-unknown")
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir))
	a.start()
	a.register()
	slice := api.published()
	if len(slice.Spec.Devices) != 16 {
		t.Fatalf("%d devices", len(slice.Spec.Devices))
	}
	for _, name := range []string{"deviceId", "instanceType", "neuronDriverVersion", "draDriverVersion", "resourceType", "coreCount"} {
		if _, there := slice.Spec.Devices[7].Attributes[resource.QualifiedName(name)]; !there {
			t.Errorf("no %s", name)
		}
	}
	for name := range slice.Spec.Devices[7].Attributes {
		if strings.HasPrefix(string(name), "topology") || strings.HasPrefix(string(name), "contiguous") || strings.Contains(string(name), "/") {
			t.Errorf("%s is a guess on an unknown board", name)
		}
	}
	a.waitLog(0, "event=device_issue_found", "xyz9.96xlarge", "remedy=")
}

// ml. is the prefix of SageMaker for the same boards.
func TestPrefixedInstanceType(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a := newAgent(t, "trn2.48xlarge")
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir), "--instance-type", "ml.trn2.48xlarge")
	a.start()
	a.register()
	if v := api.published().Spec.Devices[5].Attributes["topology_x"].IntValue; v == nil || *v != 1 {
		t.Errorf("topology_x %v", v)
	}
}

// The bounds of the agent at rest: one thread in each process, no heap, at most 1 MiB for the agent and 1.3 MiB with its
// readers.
func TestMemoryAtRest(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, k := running(t, api, "trn2.48xlarge")
	for i := range 16 {
		c := named(api.addClaim(configure(newClaim(fmt.Sprint("c", i), fmt.Sprintf("req=%d", i)), "FromClaim", lnc(1))))
		k.prepareOK(c)
	}
	waitFor(t, "watch", api.watching)
	time.Sleep(500 * time.Millisecond)
	proc := filepath.Join("/proc", strconv.Itoa(a.pid()))
	tasks, err := os.ReadDir(filepath.Join(proc, "task"))
	check(t, err)
	if len(tasks) != 1 {
		t.Errorf("%d threads", len(tasks))
	}
	all := 0
	for _, pid := range append([]int{a.pid()}, a.readers(t)...) {
		rollup := must(os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid)))
		found := regexp.MustCompile(`(?m)^Pss:\s+(\d+) kB`).FindSubmatch(rollup)
		if found == nil {
			t.Fatalf("no Pss in\n%s", rollup)
		}
		own := must(strconv.Atoi(string(found[1])))
		all += own
		if pid == a.pid() && own > 1024 {
			t.Errorf("PSS of the agent is %d KiB, at most 1024 (1 MiB) are allowed", own)
		}
		t.Logf("PSS with 16 claims prepared, %s: %s KiB", statusOf(t, pid, "Name"), found[1])
	}
	if all > 1331 {
		t.Errorf("PSS of all processes is %d KiB, at most 1331 (1.3 MiB) are allowed", all)
	}
	maps, err := os.ReadFile(filepath.Join(proc, "maps"))
	check(t, err)
	if strings.Contains(string(maps), "[heap]") {
		t.Error("the process has a heap")
	}
}

// What the TLS handshake alone uses does not stay resident: the agent gives the pages back, which hold only zeros by then.
func TestHandshakeMemoryGivenBack(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, _ := running(t, api, "trn2.48xlarge")
	waitFor(t, "watch", api.watching)
	given := 0
	for _, line := range a.traced(t, func(string) {
		api.down()
		a.waitLog(0, "event=api_connection_lost")
		api.up()
		waitForLong(t, longPatience, "the watch", api.watching)
	}) {
		if strings.Contains(line, "madvise(") {
			given++
			if !strings.HasSuffix(strings.TrimSpace(line), ", MADV_DONTNEED) = 0") {
				t.Errorf("the sandbox or the kernel refuses to take memory back: %s", line)
			}
		}
	}
	if given < 8 {
		t.Errorf("%d pages given back after the handshake, expected 8 or more", given)
	}
}

// The API server away for a while: prepared claims live on, publishing resumes.
func TestAPIServerComesAndGoes(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, k := running(t, api, "trn2.48xlarge")
	c := named(api.addClaim(newClaim("c", "req=0")))
	k.prepareOK(c)
	for range 3 {
		mark := a.log.count()
		api.down()
		a.waitLog(mark, "event=api_connection_lost")
		k.prepareOK(c)
		api.remove(api.published().Name) // unseen by any watch
		mark = a.log.count()
		api.up()
		a.waitLogFor(longPatience, mark, "event=slice_published")
	}
	k.unprepareOK(c)
	a.noCDI()
}

// A turn of the agent may be slow, on a slow disk or when a CPU quota is used up: here each answer takes 150 ms. Peers that
// never stop calling have twice the places of the socket, so that each connects again and again. All the same a newcomer
// gets in, each of them is answered meanwhile, and no call is lost: a peer that gave way is heard before it does so again.
func TestSlowTurnsKeepNobodyOut(t *testing.T) {
	t.Parallel()
	const peers, delay = 8, 150 * time.Millisecond
	a := withoutServer(t, "trn2.48xlarge", closedPort(t))
	a.start()
	a.register()
	var (
		end, failed atomic.Bool
		during      [peers]atomic.Int64 // calls that were answered
		lost        [peers]error
		ended       sync.WaitGroup
	)
	call := func(conn *grpc.ClientConn, name string) error {
		ctx, cancel := context.WithTimeout(context.Background(), callLimit)
		defer cancel()
		c := &dra.Claim{Namespace: "default", Name: "unknown", Uid: string(uid(name))}
		reply, err := dra.NewDRAPluginClient(conn).NodeUnprepareResources(ctx,
			&dra.NodeUnprepareResourcesRequest{Claims: []*dra.Claim{c}})
		if err == nil && (reply.Claims[c.Uid] == nil || reply.Claims[c.Uid].Error != "") {
			err = fmt.Errorf("claim %s: %v", c.Uid, reply)
		}
		return err
	}
	a.slowed(t, "sendto", delay, func() {
		for i := range peers {
			conn := dialService(t, a.serviceSocket())
			ended.Go(func() {
				for !end.Load() {
					lost[i] = call(conn, fmt.Sprint("unknown-", i, "-", during[i].Load()))
					if lost[i] != nil {
						failed.Store(true)
						return
					}
					during[i].Add(1)
				}
			})
		}
		waitFor(t, "two answers to each peer", func() bool {
			for i := range during {
				if during[i].Load() < 2 && !failed.Load() {
					return false
				}
			}
			return true
		})
		if err := call(dialService(t, a.serviceSocket()), "newcomer"); err != nil {
			t.Errorf("the newcomer: %v", err)
		}
		end.Store(true)
		ended.Wait()
	})
	for i, err := range lost {
		if err != nil {
			t.Errorf("peer %d, call %d: %v", i, during[i].Load()+1, err)
		}
	}
}
