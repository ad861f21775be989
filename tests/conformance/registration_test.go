// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"fmt"
	"net"
	"os"
	"reflect"
	"slices"
	"sort"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	dra "k8s.io/kubelet/pkg/apis/dra/v1"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

// hangingServer accepts connections and never says a word.
func hangingServer(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { conn.Close() })
		}
	}()
	return listener.Addr().String()
}

func closedPort(t testing.TB) string {
	t.Helper()
	listener := listenApart(t, "127.0.0.1")
	defer listener.Close()
	return listener.Addr().String()
}

// withoutServer is an agent whose API server is not the test's affair.
func withoutServer(t testing.TB, board, address string) *agent {
	t.Helper()
	return withServerAt(newAgent(t, board), address)
}

func withServerAt(a *agent, address string) *agent {
	api := &apiServer{t: a.t, address: address}
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir))
	return a
}

func TestGetInfoWithoutAPIServer(t *testing.T) {
	t.Parallel()
	for name, address := range map[string]string{"away": closedPort(t), "hanging": hangingServer(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := withoutServer(t, "trn2.48xlarge", address)
			a.start()
			// Through the start of the connection attempts: who waits for one of them waits seconds each time.
			var times []time.Duration
			for end := time.Now().Add(3 * time.Second); time.Now().Before(end) || len(times) < 30; time.Sleep(20 * time.Millisecond) {
				conn := dialRegistration(t, a.registrationSocket())
				begin := time.Now()
				info := getInfo(t, conn)
				times = append(times, time.Since(begin))
				conn.Close()
				want := &registration.PluginInfo{Type: "DRAPlugin", Name: driverName, Endpoint: a.serviceSocket(),
					SupportedVersions: []string{"v1.DRAPlugin", "v1beta1.DRAPlugin", "v1.DRAResourceHealth", "v1alpha1.DRAResourceHealth"}}
				if info.Type != want.Type || info.Name != want.Name || info.Endpoint != want.Endpoint ||
					!reflect.DeepEqual(info.SupportedVersions, want.SupportedVersions) {
					t.Fatalf("PluginInfo %v, want %v", info, want)
				}
			}
			if slices.Sort(times); times[len(times)/2] >= getInfoLimit {
				t.Errorf("half of the calls took %v and more", times[len(times)/2])
			}
			if !isSocket(a.serviceSocket()) {
				t.Error("no service socket")
			}
		})
	}
}

// Calls on both sockets that the kubelet and probes make beside the main ones.
func TestOtherCalls(t *testing.T) {
	t.Parallel()
	a := withoutServer(t, "trn2.48xlarge", closedPort(t))
	a.start()
	conn := dialRegistration(t, a.registrationSocket())
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	var reply []byte
	for _, method := range []string{"/v1alpha1.DRAResourceHealth/NodeWatchResources", "/v1.DRAResourceHealth/NodeWatchResources", "/a/b"} {
		err := conn.Invoke(ctx, method, &registration.InfoRequest{}, &registration.InfoRequest{})
		if status.Code(err) != codes.Unimplemented {
			t.Errorf("%s: %v", method, err)
		}
	}
	k := &kubelet{t: t, conn: dialService(t, a.serviceSocket())}
	if got := k.prepare(); len(got) != 0 {
		t.Errorf("an empty request has the answer %v", got)
	}
	k.unprepareOK(&dra.Claim{Namespace: "default", Name: "never-seen", Uid: string(uid("never"))})
	reply, err := k.callBytes(prepareV1, callLimit)
	if err != nil || len(reply) != 0 {
		t.Errorf("empty request: %x, %v", reply, err)
	}
}

// A refusal is said with its reason; when nothing better comes, the socket is made anew after 30 s.
func TestRegistrationSocketIsRenewed(t *testing.T) {
	t.Parallel()
	a := withoutServer(t, "trn2.48xlarge", closedPort(t))
	a.start()
	conn := dialRegistration(t, a.registrationSocket())
	getInfo(t, conn)
	notify(t, conn, false, "no such luck")
	a.waitLog(0, "event=registration_refused", "no such luck")
	before := identity(a.registrationSocket())
	a.waitLogFor(longPatience, 0, "event=registration_socket_replaced", "no such luck")
	waitFor(t, "a new socket", func() bool {
		return isSocket(a.registrationSocket()) && identity(a.registrationSocket()) != before
	})
	k := a.register()
	a.waitLog(0, "event=registered")
	k.unprepareOK(&dra.Claim{Namespace: "default", Name: "x", Uid: string(uid("x"))})
}

// identity tells a file from one that was made later under the same name; inode numbers are used again.
func identity(path string) string {
	info, err := os.Lstat(path)
	if err != nil {
		return ""
	}
	stat := info.Sys().(*syscall.Stat_t)
	return fmt.Sprint(stat.Ino, stat.Ctim.Sec, stat.Ctim.Nsec)
}

// Both sockets come back when somebody removes them.
func TestRemovedSocketsComeBack(t *testing.T) {
	t.Parallel()
	a := withoutServer(t, "trn2.48xlarge", closedPort(t))
	a.start()
	a.register()
	for _, path := range []string{a.registrationSocket(), a.serviceSocket()} {
		check(t, os.Remove(path))
		waitForLong(t, longPatience, "socket again: "+path, func() bool { return isSocket(path) })
	}
	a.register()
}

// A kubelet that starts again registers on the same socket while its old connections may still be there.
func TestRegisterAgain(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, k := running(t, api, "trn2.48xlarge")
	c := api.addClaim(newClaim("again", "req=1"))
	k.prepareOK(named(c))
	for range 6 {
		k = a.register()
		k.prepareOK(named(c))
	}
	k.unprepareOK(named(c))
	a.noCDI()
}

// Left over sockets of a killed process do not hinder the next.
func TestStaleSockets(t *testing.T) {
	t.Parallel()
	a := withoutServer(t, "trn2.48xlarge", closedPort(t))
	for range 3 {
		a.start()
		a.register()
		a.kill()
		if !exists(a.registrationSocket()) || !exists(a.serviceSocket()) {
			t.Fatal("a kill leaves the files")
		}
		before := identity(a.registrationSocket())
		a.start()
		waitFor(t, "a new socket", func() bool { n := identity(a.registrationSocket()); return n != "" && n != before })
		a.register()
		a.kill()
	}
}

// Measured, not judged here: other work may run on this machine.
func TestStartTime(t *testing.T) {
	a := withoutServer(t, "trn2.48xlarge", closedPort(t))
	var times []time.Duration
	for range 20 {
		_ = os.Remove(a.registrationSocket())
		begin := time.Now()
		a.start()
		for !exists(a.registrationSocket()) {
			if time.Since(begin) > patience {
				t.Fatal("no registration socket")
			}
		}
		times = append(times, time.Since(begin))
		a.kill()
	}
	sort.Slice(times, func(i, j int) bool { return times[i] < times[j] })
	t.Logf("exec to registration socket: least %v, median %v, most %v", times[0], times[10], times[19])
}
