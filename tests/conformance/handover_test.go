// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	dra "k8s.io/kubelet/pkg/apis/dra/v1"
)

// Within this the store changes hands: a look of the owner every 1.7 s, and a try of the next one each quarter of a second.
const handoverLimit = 2500 * time.Millisecond

// surge is another agent of the same node, as a rolling update starts it, with a pod UID of its own; its devices may be
// others than those of the first, so that each would write other slices.
func (a *agent) surge(name, board string) *agent {
	a.t.Helper()
	b := newAgent(a.t, board)
	b.dir = a.dir
	b.args = append(slices.Clone(a.args), "--pod-uid", string(uid(name)))
	b.env = a.env
	return b
}

// registerPod does what the kubelet does with the socket of an agent that has a pod UID.
func (a *agent) registerPod(name string) *kubelet {
	a.t.Helper()
	conn := dialRegistration(a.t, filepath.Join(a.dir, "r", driverName+"-"+string(uid(name))+"-reg.sock"))
	info := getInfo(a.t, conn)
	service := dialService(a.t, info.Endpoint)
	notify(a.t, conn, true, "")
	conn.Close()
	return &kubelet{t: a.t, conn: service}
}

// A rolling update: the kubelet calls the agent that registered last, and never gets an error; one agent at a time
// writes slices; when the new one is killed, the old one is back.
func TestRollingUpdate(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, old := running(t, api, "trn2.48xlarge")
	b := a.surge("two", "trn1.32xlarge")
	held := named(api.addClaim(newClaim("held", "req=0")))
	old.prepareOK(held)
	b.start()
	b.waitLog(0, "event=store_awaited")
	time.Sleep(handoverLimit)
	if a.log.last("store_handed_over") >= 0 {
		t.Fatal("handed over to an agent that the kubelet does not know")
	}
	writes := func() int { return api.seen("create", "update", "delete") }
	n := 0
	churn := func(k *kubelet) (longest time.Duration) {
		for end := time.Now().Add(2 * handoverLimit); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			n++
			c := named(api.addClaim(newClaim(fmt.Sprint("churn-", n), fmt.Sprintf("req=%d", 1+n%15))))
			began := time.Now()
			k.prepareOK(c)
			longest = max(longest, time.Since(began))
			k.unprepareOK(c)
		}
		return longest
	}
	before := writes()
	next := b.registerPod("two")
	if longest := churn(next); longest > handoverLimit {
		t.Errorf("a call took %v while the store changed hands", longest)
	}
	b.waitLog(0, "event=slice_published")
	if a.log.last("store_handed_over") < 0 || b.log.last("event=store_opened") < 0 {
		t.Error("the second agent did not get the store")
	}
	next.prepareOK(held) // it holds what the first one prepared
	if got := writes() - before; got != 1 {
		t.Errorf("%d writes of slices in a handover, not 1", got)
	}
	time.Sleep(20 * time.Second)
	if got := writes() - before; got != 1 {
		t.Errorf("%d writes of slices in 20 s after the handover", got-1)
	}
	mark := a.log.count()
	b.kill()
	if longest := churn(old); longest > handoverLimit {
		t.Errorf("a call took %v when the store came back", longest)
	}
	a.waitLog(mark, "event=slice_published")
	old.unprepareOK(held)
	a.noCDI()
	for _, x := range []*agent{a, b} {
		if x.log.last("event=claim_failed") >= 0 || x.log.last("level=error") >= 0 {
			t.Error("an error in the log of a normal update")
		}
	}
}

// Two agents without a pod UID have the same sockets: the second one takes them and is killed, which leaves its files. The first
// one serves again, with all that is held.
func TestSameSockets(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, old := running(t, api, "trn2.48xlarge")
	held := named(api.addClaim(newClaim("held", "req=0")))
	old.prepareOK(held)
	b := newAgent(t, "trn2.48xlarge")
	b.dir, b.args, b.env = a.dir, slices.Clone(a.args), a.env
	b.start()
	b.waitLog(0, "event=socket_opened", a.registrationSocket()) // until then the file is that of the first agent
	next := b.register()
	waitFor(t, "prepare by the second agent", prepareWorks(next, held))
	mark := a.log.count()
	b.kill()
	a.waitLogFor(15*time.Second, mark, "event=socket_opened", a.serviceSocket())
	a.waitLogFor(15*time.Second, mark, "event=socket_opened", a.registrationSocket())
	again := a.register()
	waitFor(t, "prepare by the first agent", prepareWorks(again, held))
	again.unprepareOK(held)
	a.noCDI()
}

// The release before this one locks the lock file as a whole, and ends only when the next agent is ready.
func TestUpdateFromOlderRelease(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a := newAgent(t, "trn2.48xlarge")
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir), "--metrics-port", "0", "--metrics-bind-address", "127.0.0.1")
	check(t, os.MkdirAll(a.pluginDir(), 0o750))
	lockPath := filepath.Join(a.pluginDir(), "claims.store.lock")
	older := must(os.OpenFile(lockPath, os.O_RDWR|os.O_CREATE, 0o600))
	whole := unix.Flock_t{Type: unix.F_WRLCK}
	check(t, unix.FcntlFlock(older.Fd(), unix.F_OFD_SETLK, &whole))
	a.start()
	k := a.register()
	address := a.metricsAddress()
	waitFor(t, "ready beside an older release", func() bool {
		status, _ := page(t, address, "/readyz")
		return status == http.StatusOK
	})
	if api.seen("create", "update") != 0 {
		t.Error("it wrote slices that belong to the older release")
	}
	result := make(chan []*dra.Device, 1)
	c := named(api.addClaim(newClaim("waits", "req=3")))
	go func() { result <- k.prepareOK(c) }()
	select {
	case <-result:
		t.Error("prepared without the store")
	case <-time.After(time.Second):
	}
	check(t, older.Close())
	if devices := <-result; len(devices) != 1 {
		t.Errorf("devices %v", devices)
	}
	a.waitLog(0, "event=slice_published")
	// Downgrade: the older one gets the lock when this one has ended, not before.
	older = must(os.OpenFile(lockPath, os.O_RDWR, 0))
	if err := unix.FcntlFlock(older.Fd(), unix.F_OFD_SETLK, &whole); err != unix.EAGAIN {
		t.Errorf("the whole lock file was locked beside the owner: %v", err)
	}
	a.kill()
	check(t, unix.FcntlFlock(older.Fd(), unix.F_OFD_SETLK, &whole))
	check(t, older.Close())
}

// The plugin directory goes while the agent runs: its socket is made again, and what is held is not given twice.
func TestPluginDirectoryRemoved(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, k := running(t, api, "trn2.48xlarge")
	held := named(api.addClaim(newClaim("held", "req=0")))
	k.prepareOK(held)
	check(t, os.RemoveAll(a.pluginDir()))
	waitForLong(t, 15*time.Second, "service socket", func() bool { return isSocket(a.serviceSocket()) })
	if mode := must(os.Stat(a.serviceSocket())).Mode().Perm(); mode != 0o600 {
		t.Errorf("the service socket has mode %o", mode)
	}
	again := &kubelet{t: t, conn: dialService(t, a.serviceSocket())}
	if text := again.prepareError(named(api.addClaim(newClaim("twice", "req=0")))); !strings.Contains(text, "already held") {
		t.Errorf("device 0 was given twice: %q", text)
	}
}

// The owner of the store hangs: the next agent grants nothing and is not ready, its error names the way out, and it serves as
// soon as the owner goes on.
func TestOwnerHangs(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, old := running(t, api, "trn2.48xlarge")
	held, c := named(api.addClaim(newClaim("held", "req=0"))), named(api.addClaim(newClaim("new", "req=1")))
	old.prepareOK(held)
	check(t, a.cmd.Process.Signal(syscall.SIGSTOP))
	b := a.surge("two", "trn2.48xlarge")
	b.args = append(b.args, "--metrics-port", "0", "--metrics-bind-address", "127.0.0.1")
	b.start()
	next := b.registerPod("two")
	for _, text := range []string{next.prepareError(c), next.prepareError(held)} {
		contains(t, text, "another agent uses this store", "end the other agent of this node")
	}
	status, reasons := page(t, b.metricsAddress(), "/readyz")
	if status != 503 {
		t.Errorf("/readyz: %d", status)
	}
	contains(t, reasons, "another agent uses this store")
	check(t, a.cmd.Process.Signal(syscall.SIGCONT))
	waitFor(t, "prepare once the owner goes on", prepareWorks(next, c))
	next.prepareOK(held)
	waitFor(t, "readiness", func() bool { status, _ := page(t, b.metricsAddress(), "/readyz"); return status == 200 })
}

// stopsIn has the agent stopped at its next GET of a claim.
func (a *agent) stopsIn(api *apiServer) {
	var stopped atomic.Bool
	api.setFaults(func(kind string, _ http.ResponseWriter, _ *http.Request) bool {
		if kind == "claim" && stopped.CompareAndSwap(false, true) {
			check(a.t, a.cmd.Process.Signal(syscall.SIGSTOP))
		}
		return false
	})
}

// The agent is stopped in a prepare, and the kubelet calls again, the same agent or the next one. That goes on, or is killed:
// the claim is prepared once, and all of it is known to who serves then.
func TestStoppedInAPrepare(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"goes on", "goes on beside another", "is killed beside another"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			api := startAPIServer(t)
			a, k := running(t, api, "trn2.48xlarge")
			held, c := named(api.addClaim(newClaim("held", "req=0"))), named(api.addClaim(newClaim("new", "req=1")))
			k.prepareOK(held)
			a.stopsIn(api)
			if _, err := k.callBytes(prepareV1, faultLimit, c); err == nil {
				t.Error("a stopped process answered")
			}
			if end != "goes on" {
				b := a.surge("two", "trn2.48xlarge")
				b.node = a.node
				b.start()
				k = b.registerPod("two")
				contains(t, k.prepareError(c), "another agent uses this store")
			}
			if end == "is killed beside another" {
				a.kill()
			} else {
				check(t, a.cmd.Process.Signal(syscall.SIGCONT))
			}
			waitFor(t, "prepare", prepareWorks(k, c))
			k.prepareOK(held)
			if n := len(files(t, a.cdiDir())); n != 2 {
				t.Errorf("CDI files: %v", files(t, a.cdiDir()))
			}
			contains(t, k.prepareError(named(api.addClaim(newClaim("rival", "req=1")))), "already held by claim")
			k.unprepareOK(c, held)
			a.noCDI()
		})
	}
}

// A clean-up takes the lock file while another agent comes: no device is given twice, and the newer one serves.
func TestLockFileRemoved(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, old := running(t, api, "trn2.48xlarge")
	held := named(api.addClaim(newClaim("held", "req=0")))
	old.prepareOK(held)
	check(t, os.Remove(filepath.Join(a.pluginDir(), "claims.store.lock")))
	b := a.surge("two", "trn2.48xlarge")
	b.node = a.node
	b.start()
	next := b.registerPod("two")
	rival := named(api.addClaim(newClaim("rival", "req=0")))
	for end := time.Now().Add(handoverLimit); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if reply, err := next.callBytes(prepareV1, callLimit, rival); err == nil && !failed(reply) {
			t.Fatal("device 0 was given twice")
		}
	}
	waitForLong(t, longPatience, "prepare by the next one", prepareWorks(next, named(api.addClaim(newClaim("new", "req=1")))))
	contains(t, next.prepareError(rival), "already held by claim")
	next.prepareOK(held)
}
