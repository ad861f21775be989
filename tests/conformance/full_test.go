// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	dra "k8s.io/kubelet/pkg/apis/dra/v1"
)

// fill takes all that is left of a small file system.
func fill(t testing.TB, dir string) (path string) {
	t.Helper()
	path = filepath.Join(dir, "filler")
	f, err := os.Create(path)
	check(t, err)
	defer f.Close()
	for {
		if _, err := f.Write(make([]byte, 4096)); err != nil {
			return path
		}
	}
}

func prepareWorks(k *kubelet, c *dra.Claim) func() bool {
	return func() bool { return k.prepare(c)[c.Uid].Error == "" }
}

func TestCDIDirectoryFull(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a := newAgent(t, "trn2.48xlarge")
	mountTmpfs(t, a.cdiDir(), "size=64k")
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir))
	a.start()
	k := a.register()
	c := named(api.addClaim(newClaim("first", "req=0")))
	second := named(api.addClaim(newClaim("second", "req=1")))
	k.prepareOK(c)
	filler := fill(t, a.cdiDir())
	text := k.prepareError(second)
	contains(t, text, "CDI", a.cdiDir(), "space")
	if n := len(files(t, a.cdiDir())); n != 2 {
		t.Errorf("left behind: %v", files(t, a.cdiDir()))
	}
	k.prepareOK(c) // what is prepared stays so
	k.unprepareOK(c, second)
	fill(t, a.cdiDir())
	k.prepareError(second)
	check(t, os.Remove(filler))
	waitFor(t, "prepare once there is space", prepareWorks(k, second))
	k.unprepareOK(second)
	a.noCDI()
}

func TestCDIDirectoryReadOnly(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a := newAgent(t, "trn2.48xlarge")
	mountTmpfs(t, a.cdiDir(), "size=64k")
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir))
	a.start()
	k := a.register()
	c := named(api.addClaim(newClaim("first", "req=0")))
	second := named(api.addClaim(newClaim("second", "req=1")))
	k.prepareOK(c)
	remount(t, a.cdiDir(), syscall.MS_RDONLY, "size=64k")
	contains(t, k.prepareError(second), "CDI", a.cdiDir(), "read-only file system", "mount that file system writable")
	k.unprepareOK(c, second)
	remount(t, a.cdiDir(), 0, "size=64k")
	waitFor(t, "prepare once it can be written", prepareWorks(k, second))
	k.unprepareOK(c, second)
	a.noCDI()
}

func TestStoreFull(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a := newAgent(t, "trn2.48xlarge")
	mountTmpfs(t, a.pluginDir(), "size=512k")
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir))
	a.start()
	k := a.register()
	c := named(api.addClaim(newClaim("first", "req=0")))
	text := k.prepareError(c)
	contains(t, text, "claims.store", "space")
	a.noCDI()
	k.unprepareOK(c)
	a.waitLog(0, "event=store_failed")
	remount(t, a.pluginDir(), 0, "size=16m")
	waitFor(t, "prepare once there is space", prepareWorks(k, c))
	fill(t, a.pluginDir())
	second := named(api.addClaim(newClaim("second", "req=1")))
	k.prepareOK(second) // the places of all claims exist already
	k.unprepareOK(c, second)
	a.noCDI()
}

// unusable is what can lie where the store was. The agent starts with that; nobody may be root against mode bits then.
var unusable = []struct {
	name  string
	spoil func(t *testing.T, a *agent, store string)
	mend  func(t *testing.T, a *agent, store string)
}{
	{"mode 000", func(t *testing.T, _ *agent, store string) { check(t, os.Chmod(store, 0)) },
		func(t *testing.T, _ *agent, store string) { check(t, os.Chmod(store, 0o600)) }},
	{"directory", func(t *testing.T, _ *agent, store string) {
		check(t, os.Rename(store, store+".kept"))
		check(t, os.MkdirAll(filepath.Join(store, "x"), 0o755))
	}, putBack},
	{"FIFO", func(t *testing.T, _ *agent, store string) {
		check(t, os.Rename(store, store+".kept"))
		check(t, syscall.Mkfifo(store, 0o600))
	}, putBack},
	{"symbolic link", func(t *testing.T, _ *agent, store string) {
		check(t, os.Rename(store, store+".kept"))
		check(t, os.Symlink(store+".kept", store))
	}, putBack},
	{"nothing, on a full disk", func(t *testing.T, a *agent, store string) {
		check(t, os.Remove(store))
		fill(t, a.pluginDir())
	}, func(t *testing.T, a *agent, _ string) { check(t, os.Remove(filepath.Join(a.pluginDir(), "filler"))) }},
}

func putBack(t *testing.T, _ *agent, store string) {
	check(t, os.RemoveAll(store))
	check(t, os.Rename(store+".kept", store))
}

// One line says what is wrong, nothing is granted, and what is held can be unprepared for good.
func TestStoreUnusable(t *testing.T) {
	t.Parallel()
	for _, one := range unusable {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			api := startAPIServer(t)
			a := newAgent(t, "trn2.48xlarge")
			mountTmpfs(t, a.pluginDir(), "size=16m")
			a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir))
			a.by = []string{"setpriv", "--bounding-set", "-dac_override,-dac_read_search"}
			a.start()
			k := a.register()
			left := named(api.addClaim(newClaim("left", "req=0")))
			stays := named(api.addClaim(newClaim("stays", "req=1")))
			k.prepareOK(left)
			k.prepareOK(stays)
			a.kill()
			store := filepath.Join(a.pluginDir(), "claims.store")
			one.spoil(t, a, store)
			mark := a.log.count()
			a.start()
			k = a.register()
			rival := named(api.addClaim(newClaim("rival", "req=1")))
			fresh := named(api.addClaim(newClaim("fresh", "req=2")))
			contains(t, k.prepareError(fresh), "claims.store")
			contains(t, k.prepareError(rival), "claims.store")
			k.unprepareOK(left)
			a.waitLog(mark, "event=slice_") // devices are shown all the same
			if said := count(a.log.slice(mark, a.log.count()), "event=store_failed"); said != 1 {
				t.Errorf("%d lines about the store", said)
			}
			one.mend(t, a, store)
			waitFor(t, "prepare once the store can be used", prepareWorks(k, fresh))
			contains(t, k.prepareError(rival), "already held")
			k.prepareOK(stays)
			k.prepareOK(named(api.addClaim(newClaim("next", "req=0"))))
		})
	}
}

// A store that can be read and not written: what is held is repeated, what is unprepared stays so over restarts, and new
// claims are prepared as soon as it takes writes.
func TestStoreReadOnly(t *testing.T) {
	t.Parallel()
	needMounts(t)
	api := startAPIServer(t)
	a, k := running(t, api, "trn2.48xlarge")
	left, stays := named(api.addClaim(newClaim("left", "req=0"))), named(api.addClaim(newClaim("stays", "req=1")))
	k.prepareOK(left)
	k.prepareOK(stays)
	restart := func() {
		a.kill()
		a.start()
		k = a.register()
	}
	a.kill()
	store := filepath.Join(a.pluginDir(), "claims.store")
	check(t, syscall.Mount(store, store, "", syscall.MS_BIND, ""))
	t.Cleanup(func() { _ = syscall.Unmount(store, syscall.MNT_DETACH) })
	check(t, syscall.Mount("", store, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	restart()
	k.prepareOK(stays)
	fresh := named(api.addClaim(newClaim("fresh", "req=2")))
	contains(t, k.prepareError(fresh), "claims.store", "read-only")
	k.unprepareOK(left)
	restart()
	k.prepareOK(stays)
	contains(t, k.prepareError(fresh), "claims.store", "read-only")
	check(t, syscall.Unmount(store, syscall.MNT_DETACH))
	waitFor(t, "prepare once it can be written", prepareWorks(k, fresh))
	next := named(api.addClaim(newClaim("next", "req=0")))
	k.prepareOK(next)
	restart()
	for _, c := range []*dra.Claim{stays, fresh, next} {
		k.prepareOK(c)
	}
	k.unprepareOK(stays, fresh, next)
	a.noCDI()
}

// unreadyFor waits until /readyz is 503 with exactly one reason, which has these texts.
func (a *agent) unreadyFor(address string, texts ...string) {
	a.t.Helper()
	var status int
	var text string
	waitFor(a.t, "an agent that is not ready for one reason", func() bool {
		status, text = page(a.t, address, "/readyz")
		return status == http.StatusServiceUnavailable && strings.Count(text, "\n") == 1
	})
	contains(a.t, text, texts...)
}

func (a *agent) readySoon(address string) {
	a.t.Helper()
	waitForLong(a.t, time.Minute, "readiness", func() bool { status, _ := page(a.t, address, "/readyz"); return status == http.StatusOK })
}

// Ready means that a prepare works: a CDI root on a read-only file system is reported before the first claim, by /readyz, the log and
// the command check, and readiness comes back by itself within a minute.
func TestReadyNeedsCDIRoot(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a := newAgent(t, "trn2.48xlarge")
	mountTmpfs(t, a.cdiDir(), "size=64k")
	remount(t, a.cdiDir(), syscall.MS_RDONLY, "size=64k")
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir), "--metrics-port", "0")
	a.start()
	k := a.register()
	address := a.metricsAddress()
	a.unreadyFor(address, "CDI files cannot be written to "+a.cdiDir(), "mount that file system writable")
	a.waitLog(0, "event=cdi_file_failed", "read-only file system", "remedy=")
	got := a.command(address, "check")
	if got.code != 1 {
		t.Errorf("check: %+v", got)
	}
	contains(t, got.stdout, "CDI files cannot be written to "+a.cdiDir())
	remount(t, a.cdiDir(), 0, "size=64k")
	a.readySoon(address)
	if left := files(t, a.cdiDir()); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	c := named(api.addClaim(newClaim("first", "req=0")))
	k.prepareOK(c)
	k.unprepareOK(c)
	a.noCDI()
}

// The same for the claim store.
func TestReadyNeedsStore(t *testing.T) {
	t.Parallel()
	needMounts(t)
	api := startAPIServer(t)
	a := newAgent(t, "trn2.48xlarge")
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir), "--metrics-port", "0")
	a.start()
	a.register()
	a.readySoon(a.metricsAddress())
	a.kill()
	store := filepath.Join(a.pluginDir(), "claims.store")
	check(t, syscall.Mount(store, store, "", syscall.MS_BIND, ""))
	t.Cleanup(func() { _ = syscall.Unmount(store, syscall.MNT_DETACH) })
	check(t, syscall.Mount("", store, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	mark := a.log.count()
	a.start()
	k := a.register()
	address := a.metricsAddressAfter(mark)
	a.unreadyFor(address, "claims.store cannot be written", "read-only file system", "mount that file system writable")
	check(t, syscall.Unmount(store, syscall.MNT_DETACH))
	a.readySoon(address)
	k.prepareOK(named(api.addClaim(newClaim("first", "req=0"))))
}

func count(lines []string, text string) (n int) {
	for _, line := range lines {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// Directories of the kubelet that appear late are waited for; the registrar's is never made.
func TestRegistrarDirectoryComesLate(t *testing.T) {
	t.Parallel()
	a := withoutServer(t, "trn2.48xlarge", closedPort(t))
	check(t, os.Remove(filepath.Join(a.dir, "r")))
	a.start()
	a.waitLog(0, "event=socket_open_failed", filepath.Join(a.dir, "r"))
	if exists(filepath.Join(a.dir, "r")) {
		t.Error("the agent made the kubelet's directory")
	}
	check(t, os.Mkdir(filepath.Join(a.dir, "r"), 0o755))
	a.register()
}
