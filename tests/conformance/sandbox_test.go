// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"os"
	"regexp"
	"testing"
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
