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
	"sync"
	"syscall"
	"testing"
	"time"

	dra "k8s.io/kubelet/pkg/apis/dra/v1"
)

var systemCallTable = newTable("system calls", "of what", "number, least of several", "of them for files and log", "all of them")

// transfers of a call of the kubelet depend on how the peers cut what they send: each arrival is one poll and one read. No
// file is read by read(2) then.
var transfers = []string{"poll", "read", "sendto"}

var tracedCall = regexp.MustCompile(`^(\w+)\(`)

// straced runs strace with these arguments on the agent, and on other processes, while f runs.
func (a *agent) straced(t *testing.T, arguments []string, f func(), others ...int) {
	t.Helper()
	straced(t, append([]int{a.pid()}, others...), arguments, f)
}

func straced(t *testing.T, pids []int, arguments []string, f func()) {
	t.Helper()
	for _, pid := range pids {
		arguments = append(arguments, "-p", fmt.Sprint(pid))
	}
	cmd := exec.Command("strace", arguments...)
	stderr, err := cmd.StderrPipe()
	check(t, err)
	check(t, cmd.Start())
	lines := bufio.NewReader(stderr)
	for range pids {
		if line, _ := lines.ReadString('\n'); !strings.Contains(line, "attached") {
			t.Fatalf("strace: %s", line)
		}
	}
	f()
	_ = cmd.Process.Signal(syscall.SIGINT) // it has ended by itself if the agent did
	_ = cmd.Wait()
}

// traced lists the system calls of the agent while f runs, as strace writes them into the file that f is given.
func (a *agent) traced(t *testing.T, f func(file string)) (lines []string) {
	t.Helper()
	file := filepath.Join(a.dir, "trace")
	a.straced(t, []string{"-o", file}, func() { f(file) })
	return slices.Collect(strings.Lines(string(must(os.ReadFile(file)))))
}

// tracedAll lists also those of the processes that read sysfs for the agent.
func (a *agent) tracedAll(t *testing.T, f func(lines func() []string)) []string {
	t.Helper()
	file := filepath.Join(a.dir, "trace")
	lines := func() (lines []string) {
		for line := range strings.Lines(string(must(os.ReadFile(file)))) {
			_, line, _ = strings.Cut(line, " ") // the process
			lines = append(lines, strings.TrimLeft(line, " "))
		}
		return lines
	}
	a.straced(t, []string{"-o", file}, func() { f(lines) }, a.readers(t)...)
	return lines()
}

// slowed makes one kind of system call slow while f runs.
func (a *agent) slowed(t *testing.T, call string, delay time.Duration, f func()) {
	t.Helper()
	a.straced(t, []string{"-o", os.DevNull, "-e", "trace=" + call,
		"-e", fmt.Sprintf("inject=%s:delay_enter=%d", call, delay.Microseconds())}, f)
}

func callNames(lines []string) (names []string) {
	for _, line := range lines {
		if name := tracedCall.FindStringSubmatch(line); name != nil {
			names = append(names, strings.Replace(name[1], "restart_syscall", "poll", 1))
		}
	}
	return names
}

// callsOf lists the system calls of one call of the kubelet.
func (a *agent) callsOf(t *testing.T, f func()) []string {
	t.Helper()
	calls := callNames(a.traced(t, func(string) {
		f()
		time.Sleep(50 * time.Millisecond) // its line in the log comes last
	}))
	last := len(calls) - 1
	for last > 0 && calls[last] != "write" { // the line in the log; then the kubelet's library tests the path by a PING
		last--
	}
	calls = calls[:last+1]
	if calls[0] != "poll" { // the one that waited before strace came is not in every list
		calls = slices.Insert(calls, 0, "poll")
	}
	return calls
}

func countCalls(name string, all []string, transfers ...string) (own []string) {
	for _, call := range all {
		if !slices.Contains(transfers, call) {
			own = append(own, call)
		}
	}
	systemCallTable.add(name, fmt.Sprint(len(all)), fmt.Sprint(len(own)), strings.Join(all, " "))
	return own
}

// shortest is without what happened to fall together: timers of the agent and acknowledgements are in other lists.
func shortest(lists [][]string) []string {
	return slices.MinFunc(lists, func(a, b []string) int { return len(a) - len(b) })
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
		count            int
		own              string
	}{
		// the first write asks a reader what memory the device's cores use; two look at its directory in sysfs and its node
		{"new prepare of one device", fresh, func() { k.prepareOK(claim) }, released, 17 + 3,
			"write newfstatat newfstatat openat fcntl pwrite64 renameat2 close newfstatat pwrite64 fdatasync write"},
		{"prepare again", held, func() { k.prepareOK(claim) }, released, 14, "newfstatat pread64 newfstatat newfstatat openat pread64 close write"},
		{"unprepare", held, func() { k.unprepareOK(claim) }, func() {}, 9, "renameat2 newfstatat pwrite64 fdatasync unlink write"},
		{"prepare again without the API server", sync.OnceFunc(func() {
			held()
			api.down()
			a.waitLog(0, "event=api_connection_lost")
		}), func() { k.prepareOK(claim) }, func() {}, 11, "newfstatat pread64 newfstatat newfstatat openat pread64 close write"},
	} {
		var lists [][]string
		for range 8 {
			c.before()
			lists = append(lists, a.callsOf(t, c.f))
			c.after()
		}
		all := shortest(lists)
		own := countCalls(c.name, all, transfers...)
		if got := strings.Join(own, " "); got != c.own || len(all) != c.count {
			t.Errorf("%s: %d system calls, not %d: %s\nfor files and log: %s\nwant %s", c.name, len(all), c.count,
				strings.Join(all, " "), got, c.own)
		}
	}
}

// What a node costs on which nothing happens, in the five seconds from one look at its sixteen devices to the next. A look
// of the process that looks takes eleven calls (the question and the answer, the class directory, the directory of the
// device nodes, logical_nc_config), ten for the device that each look reads again in turn, and one for each health file of
// each device that can change its health: with module 2.30 the list of components and the state of its reset, with an older
// one that state and three counters. In the device's turn its other health files are read or, where the module does not have
// them, looked for. The files of a simulated node are no kernel's and are opened each time; those of the device in its turn
// are also tested, whether they can stay open. The agent itself takes eight calls for the look (the question, the answer, the
// look for a device plugin); how often it wakes depends on its timers too, and on the server's bookmarks, which come once a
// minute, as those of a real one. The memory of one device without a claim costs thirty more in each ten seconds (eight
// files, and the question): another process reads it.
func TestSystemCallsIdle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, of string
		look     int // system calls of one look
		kernel   bool
		module   string
		flags    []string
	}{
		{"files of the kernel", "five seconds without any call, 16 devices, module 2.30", 21 + 16*2 + 3, true, "2.30.2.0", nil},
		{"files of an older module", "the same, module 2.27", 21 + 16*4 + 1, true, "2.27.4.0", nil},
		{"other files", "module 2.30, health files that can be replaced", 21 + 16*6 + 3*3 + 5, false, "2.30.2.0", nil},
		{"device metrics", "the same with --device-metrics", 21 + 16*6 + 3*3 + 5 + 86*3, false, "2.30.2.0",
			[]string{"--device-metrics", "true"}},
		{"metrics of neuron-monitor", "the same with --neuron-monitor-metrics", 21 + 16*6 + 3*3 + 5 + 40*3, false, "2.30.2.0",
			[]string{"--neuron-monitor-metrics", "true"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := newAgent(t, "trn2.48xlarge", "--driver-version", c.module)
			if c.kernel {
				a.healthOfKernel(t)
			}
			a.args = append(a.args, c.flags...)
			look, agent := idleSystemCalls(t, a)
			countCalls(c.of, append(slices.Clone(look), agent...), "poll", "sendto")
			if len(look) != c.look {
				t.Errorf("a look at the devices takes %d system calls, not %d: %s", len(look), c.look, strings.Join(look, " "))
			}
			own := slices.DeleteFunc(slices.Clone(agent), func(call string) bool { return call == "poll" || call == "fcntl" })
			if len(own) != 8 {
				t.Errorf("the agent takes %d system calls for a look, not 8: %s", len(own), strings.Join(own, " "))
			}
			if woken := len(agent) - len(own); woken > 16 {
				t.Errorf("the agent waits and looks for another agent with %d system calls: %s", woken, strings.Join(agent, " "))
			}
		})
	}
}

// healthOfKernel makes the files of health those of the kernel: the loopback's, which say the same.
func (a *agent) healthOfKernel(t *testing.T) {
	t.Helper()
	const network = "/sys/class/net/lo/"
	for _, of := range [][2]string{
		{unhealthyComponents, "ifalias"}, // empty
		{"reset", "carrier"},             // 1
		{"stats/hardware/sram_ecc_uncorrected", "statistics/collisions"}, // 0
		{"stats/hardware/mem_ecc_uncorrected", "statistics/collisions"},
		{"stats/hardware/mem_ecc_repairable_uncorrected", "statistics/collisions"},
		{hwErrorEvent, "statistics/collisions"},
	} {
		for _, file := range must(filepath.Glob(filepath.Join(a.node, "sys/class/neuron_device/neuron*", of[0]))) {
			check(t, os.Remove(file))
			check(t, os.Symlink(network+of[1], file))
		}
	}
}

// idleSystemCalls lists the system calls of one look at the devices, and those of the agent from one look to the next; of
// several, the fewest each.
func idleSystemCalls(t *testing.T, a *agent) (look, agent []string) {
	t.Helper()
	const intervals = 7 // every second one has the look at memory, and the first ones look at each device node
	api := newAPIServer(t)
	api.bookmarks = time.Minute
	api.up()
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir))
	a.start()
	a.register()
	api.published()
	check(t, os.Mkdir(filepath.Join(a.dir, "device-plugins"), 0o750))
	file := filepath.Join(a.dir, "trace")
	begins := regexp.MustCompile(`^(\d+) +open.*class/neuron_device"`) // a look
	a.straced(t, []string{"-o", file}, func() {
		waitForLong(t, longPatience, "looks at the devices", func() bool {
			n := 0
			for line := range strings.Lines(string(must(os.ReadFile(file)))) {
				if begins.MatchString(line) {
					n++
				}
			}
			return n > intervals
		})
	}, a.readers(t)...)
	var looks, agents [][]string
	prober := ""
	for line := range strings.Lines(string(must(os.ReadFile(file)))) {
		process, call, _ := strings.Cut(line, " ")
		if begins.MatchString(line) {
			looks, prober = append(looks, nil), process
		}
		if strings.Contains(call, `/device-plugins"`) {
			agents = append(agents, nil)
		}
		calls := callNames([]string{strings.TrimLeft(call, " ")})
		if last := len(agents) - 1; last >= 0 && process == fmt.Sprint(a.pid()) {
			agents[last] = append(agents[last], calls...)
		}
		if last := len(looks) - 1; process == prober {
			looks[last] = append(looks[last], calls...)
		}
	}
	return shortest(looks[:intervals]), shortest(agents[:intervals-1]) // the last ones may not be over
}
