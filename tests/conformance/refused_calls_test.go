// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
)

// --- a kernel that refuses one kind of system call ---

// injecting is a command line that runs a program with system calls that strace makes fail; the program keeps its process ID.
func injecting(inject ...string) []string {
	line := []string{"/usr/bin/strace", "-D", "-o", os.DevNull}
	for _, i := range inject {
		line = append(line, "-e", "inject="+i)
	}
	return line
}

// refusedStart runs an agent that must end at start, by a program of `by` if there is one.
func refusedStart(t *testing.T, a *agent, by []string, words ...string) {
	t.Helper()
	end := runLine(t, append([]string{"PATH=/nonexistent"}, a.env...), append(append(by, agentBinary), a.commandLine()...)...)
	contains(t, end.stderr, words...)
	if end.code != 1 {
		t.Errorf("exit code %d", end.code)
	}
}

// A start without what the agent cannot do without ends with exit code 1 and one line that names the remedy.
func TestStartIsRefused(t *testing.T) {
	t.Parallel()
	lowLimit := []string{"/usr/bin/prlimit", "--nofile=64:64", "/usr/bin/setpriv", "--bounding-set=-sys_resource"}
	for _, c := range []struct {
		name  string
		by    []string
		words []string
	}{
		{"random numbers", injecting("getrandom:error=EIO"), []string{"the kernel provides no random numbers", "getrandom(2)"}},
		{"core files", injecting("prlimit64:error=EPERM"), []string{"core files cannot be ruled out", "setrlimit or prctl is blocked here"}},
		{"limit too low", lowLimit, []string{"the limit of open files is too low", "ulimit -n"}},
		{"signals", injecting("signalfd4:error=EMFILE"), []string{"signals cannot be received", "signalfd(2)"}},
		{"channel to a reader", injecting("socketpair:error=EMFILE"),
			[]string{"the processes that read sysfs cannot be started", "too many open files"}},
		{"process of a reader", injecting("clone,?fork,?vfork:error=EAGAIN"),
			[]string{"the processes that read sysfs cannot be started", "podPidsLimit"}},
		{"socket", injecting("bind:error=EACCES"), []string{"service socket", "cannot be opened: permission denied", "check owner and permissions of its directory"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			needMounts(t) // changes limits
			refusedStart(t, withoutServer(t, "trn2.48xlarge", closedPort(t)), c.by, c.words...)
		})
	}
}

// A soft limit that is too low is raised as far as the hard limit allows.
func TestLowLimitOfFilesIsRaised(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a := newAgent(t, "trn2.48xlarge")
	a.by = []string{"/usr/bin/prlimit", "--nofile=64:"}
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir))
	a.start()
	a.register()
	api.published()
	limits := string(must(os.ReadFile(fmt.Sprintf("/proc/%d/limits", a.pid()))))
	for line := range strings.Lines(limits) {
		if strings.HasPrefix(line, "Max open files") && strings.Fields(line)[3] == "64" {
			t.Errorf("the limit stays: %s", line)
		}
	}
}

// A broken assumption about the kernel ends the agent at once with one line that can be reported.
func TestFailedAssertion(t *testing.T) {
	t.Parallel()
	needMounts(t)
	a := withoutServer(t, "trn2.48xlarge", closedPort(t))
	a.args = append(a.args, "--metrics-port", "0")
	refusedStart(t, a, injecting("getsockname:error=ENOBUFS"), "level=error event=assertion_failed at=src/host/sockets.c:",
		`condition="failed == 0" remedy="report this line; the next start continues from the claim store"`)
}

// A connection that cannot be accepted waits: the log names the limits once, and the kubelet is served as soon as it can be.
func TestAcceptFails(t *testing.T) {
	t.Parallel()
	needMounts(t)
	a := withoutServer(t, "trn2.48xlarge", closedPort(t))
	a.start()
	a.register()
	mark := a.log.count()
	var conn net.Conn
	a.straced(t, []string{"-o", os.DevNull, "-e", "inject=accept4:error=EMFILE"}, func() {
		conn = must(net.Dial("unix", a.registrationSocket()))
		a.waitLog(mark, "event=accept_failed", "registration socket", "too many open files",
			"check this node's limits of open files and memory; the agent retries until it works")
	})
	defer conn.Close()
	getInfo(t, dialRegistration(t, a.registrationSocket()))
	text := strings.Join(a.log.slice(mark, a.log.count()), "\n")
	if n := strings.Count(text, "event=accept_failed"); n != 1 {
		t.Errorf("%d lines for one trouble", n)
	}
}

// The lack of descriptors or random numbers ends an attempt to connect, and the next one succeeds.
func TestConnectIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ inject, words string }{
		"socket":         {"socket:error=EMFILE", "too many open files"},
		"random numbers": {"getrandom:error=EIO", "TLS failed with mbedTLS code 0x"},
		"state of it":    {"getsockopt:error=ENOBUFS", "out of network buffers"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			needMounts(t)
			api := startAPIServer(t)
			api.down()
			a := newAgent(t, "trn2.48xlarge")
			a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir))
			a.start()
			k := a.register()
			mark := a.log.count()
			a.straced(t, []string{"-o", os.DevNull, "-e", "inject=" + c.inject}, func() {
				api.up()
				a.waitLog(mark, "event=api_connect_failed", c.words)
			})
			api.published()
			k.prepareOK(named(api.addClaim(newClaim("after", "req=0"))))
		})
	}
}

// A socket that takes nothing for a while, in every third call: the agent waits until it can write, to either side.
func TestSocketsTakeNothingForAWhile(t *testing.T) {
	t.Parallel()
	needMounts(t)
	api := startAPIServer(t)
	a := newAgent(t, "trn2.48xlarge")
	a.by = injecting("sendto:error=EAGAIN:when=1+3")
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir))
	a.start()
	k := a.register()
	api.published()
	c := named(api.addClaim(newClaim("patient", "req=0")))
	k.prepareOK(c)
	k.unprepareOK(c)
}

// --- readers of sysfs that lack memory or descriptors ---

func TestProbeLacksResources(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ inject, words string }{
		"directory": {"getdents64:error=ENOMEM", "out of memory"},
		"open":      {"openat,?open:error=ENFILE", "too many open files"},
		"state":     {"newfstatat,?stat,?lstat:error=ENOMEM", "out of memory"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			needMounts(t)
			api := startAPIServer(t)
			a, k := running(t, api, "trn2.48xlarge")
			before := len(api.own())
			mark := a.log.count()
			straced(t, a.readers(t), []string{"-o", os.DevNull, "-e", "inject=" + c.inject}, func() {
				a.waitLog(mark, "event=probe_failed", "the devices found last are kept", c.words)
			})
			if len(api.own()) != before {
				t.Error("the devices are no longer published")
			}
			k.prepareOK(named(api.addClaim(newClaim("after", "req=0"))))
		})
	}
}
