// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

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
	contains(t, k.prepareError(second), "CDI", a.cdiDir(), "rights")
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

func TestStoreUnusable(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a := newAgent(t, "trn2.48xlarge")
	store := filepath.Join(a.pluginDir(), "claims.store")
	check(t, os.MkdirAll(filepath.Join(store, "x"), 0o755))
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir))
	a.start()
	k := a.register()
	c := named(api.addClaim(newClaim("first", "req=0")))
	contains(t, k.prepareError(c), "claims.store")
	k.unprepareOK(c)
	a.noCDI()
	api.published() // devices are shown all the same
	check(t, os.RemoveAll(store))
	waitFor(t, "prepare once the store can be made", prepareWorks(k, c))
	k.unprepareOK(c)
	a.noCDI()
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
