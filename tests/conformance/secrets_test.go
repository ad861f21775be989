// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// Neither a core file nor a process of the agent's user sees its memory, sandbox or not.
func TestNoCoreFile(t *testing.T) {
	t.Parallel()
	const nobody = 65534
	needMounts(t) // becomes another user
	for _, sandbox := range []string{"true", "false"} {
		a := withoutServer(t, "trn2.48xlarge", closedPort(t))
		a.args = append(a.args, "--sandbox="+sandbox)
		check(t, filepath.WalkDir(a.dir, func(path string, _ os.DirEntry, _ error) error {
			return os.Lchown(path, nobody, nobody)
		}))
		a.by = []string{"setpriv", fmt.Sprint("--reuid=", nobody), fmt.Sprint("--regid=", nobody), "--clear-groups"}
		a.start()
		a.waitLog(0, "event=started")
		limits := string(must(os.ReadFile(fmt.Sprintf("/proc/%d/limits", a.pid()))))
		if !regexp.MustCompile(`(?m)^Max core file size +0 +0 `).MatchString(limits) {
			t.Errorf("sandbox %s: limits\n%s", sandbox, limits)
		}
		// The kernel gives these files of a process that is not dumpable to root (proc(5)).
		owner := must(os.Stat(fmt.Sprintf("/proc/%d/mem", a.pid()))).Sys().(*syscall.Stat_t).Uid
		if owner != 0 {
			t.Errorf("sandbox %s: /proc/PID/mem belongs to user %d", sandbox, owner)
		}
		reader := exec.Command("cat", fmt.Sprintf("/proc/%d/maps", a.pid()))
		reader.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		if out, err := reader.CombinedOutput(); err == nil || !strings.Contains(string(out), "Permission denied") {
			t.Errorf("sandbox %s: another process of the user reads: %s", sandbox, out)
		}
	}
}

// inMemory counts how often the bytes are in the memory that the process can write.
func (a *agent) inMemory(secret []byte) (found int) {
	a.t.Helper()
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", a.pid()))
	check(a.t, err)
	defer memory.Close()
	for _, m := range mappingsOf(a.t, a.pid()) {
		if !strings.HasPrefix(m.rights, "rw") {
			continue
		}
		bytesOf := make([]byte, m.to-m.from)
		if _, err := io.ReadFull(io.NewSectionReader(memory, int64(m.from), int64(m.to-m.from)), bytesOf); err != nil {
			a.t.Fatalf("%+v: %v", m, err)
		}
		found += bytes.Count(bytesOf, secret)
	}
	return found
}

// No octet of a token that was replaced stays in the process: the old one ends in what the new ones lack.
func TestOldTokenIsWiped(t *testing.T) {
	t.Parallel()
	needMounts(t) // reads the agent's memory
	api := startAPIServer(t)
	v := newVolume(t, filepath.Join(t.TempDir(), "v"))
	long := func(n int) string { return fmt.Sprintf("%s-end-of-token-%d", strings.Repeat("x", 900-200*n), n) }
	v.set(long(0), trusted())
	api.accept(long(0))
	a := newAgent(t, "trn2.48xlarge")
	a.args = append(a.args, "--kubeconfig", v.kubeconfig(api.address)(a.dir))
	a.start()
	k := a.register()
	api.published()
	for n := 1; n < 4; n++ {
		waitFor(t, "a watch", api.watching)
		old := []byte(fmt.Sprintf("end-of-token-%d", n-1))
		if a.inMemory(old) == 0 {
			t.Fatalf("token %d is not found while it is in use", n-1)
		}
		v.set(long(n), trusted())
		api.accept(long(n))
		k.prepareOK(named(api.addClaim(newClaim(fmt.Sprint("claim-", n), fmt.Sprintf("req=%d", n)))))
		waitFor(t, "a watch with the new token", func() bool {
			watches := api.log("watch")
			return strings.HasSuffix(watches[len(watches)-1].header.Get("Authorization"), fmt.Sprint("token-", n))
		})
		if found := a.inMemory(old); found != 0 {
			t.Errorf("token %d is in the memory %d times after it was replaced", n-1, found)
		}
	}
}
