// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"
)

// The kernel's own words about the process: which restrictions are in force (proc_pid_status(5)).
func TestSandbox(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, flag, privileges, seccomp string
	}{
		{"on by default", "--log-level=info", "1", "2"},
		{"switched off", "--sandbox=false", "0", "0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			api := startAPIServer(t)
			a := newAgent(t, "trn2.48xlarge")
			a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir), c.flag)
			a.start()
			a.waitLog(0, "event=slice_published")
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", a.pid()))
			if err != nil {
				t.Fatal(err)
			}
			for field, want := range map[string]string{"NoNewPrivs": c.privileges, "Seccomp": c.seccomp} {
				got := regexp.MustCompile(`(?m)^` + field + `:\s*(\d+)$`).FindSubmatch(text)
				if got == nil || string(got[1]) != want {
					t.Errorf("%s: %q, not %s", field, got, want)
				}
			}
			if line, missing := a.log.find(0, "event=sandbox "); (missing == nil) != (c.seccomp == "2") {
				t.Errorf("the log has %q", line)
			}
		})
	}
}

// What the agent may write or read can be removed and made again: the rules are not those of one inode.
func TestSandboxedFoldersMadeAgain(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, k := running(t, api, "trn2.48xlarge")
	sys := filepath.Join(a.node, "sys")
	for n, remake := range []func(){
		func() {},
		func() {
			check(t, os.RemoveAll(a.cdiDir()))
			check(t, os.Mkdir(a.cdiDir(), 0o755))
		},
		func() {
			check(t, os.Rename(sys, sys+".old"))
			check(t, os.CopyFS(sys, os.DirFS(sys+".old")))
		},
		func() { check(t, os.RemoveAll(a.cdiDir())) },
	} {
		remake()
		claim := api.addClaim(newClaim(fmt.Sprint("again-", n), fmt.Sprintf("req=%d", n)))
		// A device that is another directory now has to be found first.
		for end := time.Now().Add(patience); k.prepare(named(claim))[string(claim.UID)].Error != ""; {
			if time.Now().After(end) {
				t.Fatalf("step %d: %s", n, k.prepareError(named(claim)))
			}
			time.Sleep(100 * time.Millisecond)
		}
		if a.cdiBytes(claim) == "" {
			t.Errorf("step %d: no CDI file", n)
		}
	}
}
