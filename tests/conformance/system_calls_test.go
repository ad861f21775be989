// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	dra "k8s.io/kubelet/pkg/apis/dra/v1"
)

var systemCallTable = newTable("system calls of one call of the kubelet", "call", "of one device, least of 8", "of them for files and log", "all of them")

// transfers depend on how the peers cut what they send: each arrival is one poll and one read.
var transfers = []string{"poll", "recvfrom", "sendto"}

var tracedCall = regexp.MustCompile(`^(\w+)\(`)

// traced lists the system calls of the agent while f runs.
func (a *agent) traced(t *testing.T, f func()) (calls []string) {
	t.Helper()
	file := filepath.Join(a.dir, "trace")
	cmd := exec.Command("strace", "-o", file, "-p", fmt.Sprint(a.pid()))
	stderr, err := cmd.StderrPipe()
	check(t, err)
	check(t, cmd.Start())
	if line, _ := bufio.NewReader(stderr).ReadString('\n'); !strings.Contains(line, "attached") {
		t.Fatalf("strace: %s", line)
	}
	f()
	check(t, cmd.Process.Signal(syscall.SIGINT))
	_ = cmd.Wait()
	for line := range strings.Lines(string(must(os.ReadFile(file)))) {
		if name := tracedCall.FindStringSubmatch(line); name != nil {
			calls = append(calls, strings.Replace(name[1], "restart_syscall", "poll", 1))
		}
	}
	last := len(calls) - 1
	for last > 0 && calls[last] != "write" { // the line in the log; then the kubelet's library tests the path by a PING
		last--
	}
	calls = calls[:last+1]
	return calls
}

// leastOf takes the shortest list of several calls: timers of the agent and acknowledgements are in the others.
func (a *agent) leastOf(t *testing.T, name string, before, f, after func()) (all, own []string) {
	t.Helper()
	for range 8 {
		before()
		calls := a.traced(t, func() {
			f()
			time.Sleep(50 * time.Millisecond) // its line in the log comes last
		})
		after()
		if all == nil || len(calls) < len(all) {
			all = calls
		}
	}
	for _, call := range all {
		if !slices.Contains(transfers, call) {
			own = append(own, call)
		}
	}
	systemCallTable.add(name, fmt.Sprint(len(all)), fmt.Sprint(len(own)), strings.Join(all, " "))
	return all, own
}

// What a call costs on an idle node, counted in system calls: no file is looked at twice, nothing is read that was just
// written, and each arrival is read at once.
func TestSystemCalls(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, k := running(t, api, "trn2.48xlarge")
	var claim *dra.Claim
	n := 0
	fresh := func() {
		n++
		claim = named(api.addClaim(newClaim(fmt.Sprint("counted-", n), fmt.Sprintf("req=%d", n%16))))
	}
	held := func() {
		fresh()
		k.prepareOK(claim)
	}
	released := func() { k.unprepareOK(claim) }
	for _, c := range []struct {
		name             string
		before, f, after func()
		most             int
		own              string
	}{
		// two of them look at the device: its directory in sysfs and its node
		{"new prepare of one device", fresh, func() { k.prepareOK(claim) }, released, 16,
			"stat stat openat write close renameat2 stat pwrite64 fdatasync write"},
		{"prepare again", held, func() { k.prepareOK(claim) }, released, 11, "stat pread64 stat stat openat pread64 close write"},
		{"unprepare", held, func() { k.unprepareOK(claim) }, func() {}, 8, "stat pwrite64 unlink fdatasync write"},
	} {
		all, own := a.leastOf(t, c.name, c.before, c.f, c.after)
		if got := strings.Join(own, " "); got != c.own || len(all) > c.most {
			t.Errorf("%s: %d system calls, at most %d are right: %s\nfor files and log: %s\nwant %s", c.name, len(all), c.most,
				strings.Join(all, " "), got, c.own)
		}
	}
}
