// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	drahealth "k8s.io/kubelet/pkg/apis/dra-health/v1alpha1"
)

const (
	besideHang   = 100 * time.Millisecond // the bound of a call or a probe while a file hangs
	silentReason = "a file in sysfs does not answer"
	deviceMemory = "neuron_core6/stats/memory_usage/device_mem/total"
)

// hangTime is how long a file hangs: HANG=60s is the length that is promised.
func hangTime(t *testing.T) time.Duration {
	text := os.Getenv("HANG")
	if text == "" {
		return 12 * time.Second
	}
	d, err := time.ParseDuration(text)
	check(t, err)
	return d
}

// hang makes each read of these files wait until release is called: the kernel asks us for a permission that we do not give.
func hang(t *testing.T, files ...string) (release func()) {
	t.Helper()
	needMounts(t) // the same right
	fd, err := unix.FanotifyInit(unix.FAN_CLASS_CONTENT|unix.FAN_CLOEXEC, unix.O_RDONLY)
	check(t, err)
	for _, file := range files {
		check(t, unix.FanotifyMark(fd, unix.FAN_MARK_ADD, unix.FAN_ACCESS_PERM, unix.AT_FDCWD, file))
	}
	open := true
	release = func() {
		if open {
			open = false
			check(t, unix.Close(fd)) // what waits is allowed
		}
	}
	t.Cleanup(release)
	return release
}

func (a *agent) ofDevice(number int, file string) string {
	return filepath.Join(a.node, "sys/class/neuron_device", fmt.Sprint("neuron", number), file)
}

// hanging starts an agent that looks at its devices often, with all its ports.
func hanging(t *testing.T, args ...string) (*agent, *apiServer) {
	t.Helper()
	api := startAPIServer(t)
	a := newAgent(t, "trn2.48xlarge", "--driver-version", "2.30.2.0")
	a.args = append(append(a.args, "--kubeconfig", api.kubeconfig(a.dir), "--health-interval", healthInterval.String(),
		"--healthcheck-port", "0", "--metrics-port", "0"), args...)
	return a, api
}

// beside is what a kubelet and probes do while a file hangs.
type beside struct {
	t       *testing.T
	a       *agent
	api     *apiServer
	k       *kubelet
	health  *grpc.ClientConn
	rounds  int
	slowest map[string]time.Duration
}

func newBeside(t *testing.T, a *agent, api *apiServer, k *kubelet) *beside {
	t.Helper()
	waitFor(t, "the health port", func() bool { return a.healthAddress() != "" })
	conn, err := grpc.NewClient(a.healthAddress(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	check(t, err)
	t.Cleanup(func() { conn.Close() })
	b := &beside{t: t, a: a, api: api, k: k, health: conn, slowest: map[string]time.Duration{}}
	waitFor(t, "readiness", func() bool { return probe(a.metricsAddress(), "/readyz") == nil })
	b.round() // the first calls connect
	clear(b.slowest)
	return b
}

func (b *beside) timed(what string, f func()) {
	begin := time.Now()
	f()
	b.slowest[what] = max(b.slowest[what], time.Since(begin))
}

func (b *beside) probes() {
	b.timed("/healthz", func() { check(b.t, probe(b.a.metricsAddress(), "/healthz")) })
	b.timed("/readyz", func() { _, _ = page(b.t, b.a.metricsAddress(), "/readyz") }) // slices with a taint may be on their way
	b.timed("gRPC health", func() {
		if got := health(b.t, b.health, ""); got != "SERVING" {
			b.t.Error(got)
		}
	})
}

// round prepares and unprepares a claim of a device that is well, and probes.
func (b *beside) round() {
	b.t.Helper()
	b.rounds++
	claim := named(b.api.addClaim(newClaim(fmt.Sprint("beside-", b.rounds), fmt.Sprintf("req=%d", 8+b.rounds%8))))
	b.timed("prepare", func() { b.k.prepareOK(claim) })
	b.timed("prepare again", func() { b.k.prepareOK(claim) })
	b.timed("unprepare", func() { b.k.unprepareOK(claim) })
	b.probes()
}

func (b *beside) during(d time.Duration) {
	b.t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		b.round()
	}
}

func (b *beside) done() {
	b.t.Helper()
	b.t.Logf("%d rounds; slowest: %v", b.rounds, b.slowest)
	for what, d := range b.slowest {
		if d > besideHang {
			b.t.Errorf("%s took %v, more than %v", what, d, besideHang)
		}
	}
}

// A read of sysfs that hangs delays no call and no probe by more than 100 ms. Its device is unhealthy, the log names the file,
// and both end when the file is read. Not beside other tests: the machine is to be idle.
func TestHangingFile(t *testing.T) {
	for _, c := range []struct{ name, file string }{
		{"health", unhealthyComponents},
		{"error event", hwErrorEvent},
		{"metric", "stats/power/utilization"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a, api := hanging(t, "--device-metrics", "true")
			a.start()
			k := a.register()
			a.waitLog(0, "event=slice_published")
			reports := k.watchDevices(t, "v1")
			b := newBeside(t, a, api, k)
			release := hang(t, a.ofDevice(3, c.file))
			if c.file == hwErrorEvent { // is read again when the kernel has made an entry of the class anew
				entry := a.ofDevice(1, "")
				check(t, os.Symlink(must(os.Readlink(entry)), filepath.Join(a.node, "entry")))
				check(t, os.Rename(filepath.Join(a.node, "entry"), entry))
			}
			b.during(hangTime(t))
			a.waitLog(0, "event=sysfs_read_stalled", "neuron3/"+c.file, "does not answer")
			a.waitLog(0, "event=device_unhealthy", "neuron-device-3", silentReason)
			waitReport(t, reports, "neuron-device-3", drahealth.HealthStatus_UNHEALTHY, silentReason)
			waitFor(t, "the taint", func() bool { return hasTaint(api, 3) })
			for n := range 16 {
				if n != 3 && hasTaint(api, n) {
					t.Errorf("device %d has a taint", n)
				}
			}
			claim := named(api.addClaim(newClaim("silent", "req=3")))
			b.timed("prepare that fails", func() { contains(t, k.prepareError(claim), "neuron3/"+c.file, "does not answer") })
			release()
			a.waitLog(0, "event=sysfs_read_resumed", "neuron3/"+c.file)
			waitReport(t, reports, "neuron-device-3", drahealth.HealthStatus_HEALTHY, "")
			waitFor(t, "no taint", func() bool { return len(api.own()) == 1 && len(taintsOf(api, 3)) == 0 })
			k.prepareOK(claim)
			b.during(time.Second)
			b.done()
		})
	}
	t.Run("memory", hangingMemory)
	t.Run("EFA", hangingEFA)
	t.Run("from the start", hangingStart)
	t.Run("start after a boot", hangingAfterBoot)
	t.Run("more than readers", hangingAll)
	t.Run("error event last", hangingErrorLast)
}

// The file that a prepare looks at: the claim fails and says why, others do not wait for it.
func hangingMemory(t *testing.T) {
	t.Parallel()
	a, api := hanging(t)
	a.start()
	k := a.register()
	a.waitLog(0, "event=slice_published")
	b := newBeside(t, a, api, k)
	release := hang(t, a.ofDevice(3, deviceMemory))
	claim := named(api.addClaim(newClaim("silent", "req=3")))
	failed := make(chan string, 1)
	go func() { failed <- k.prepare(claim)[claim.Uid].Error }()
	b.during(hangTime(t))
	contains(t, <-failed, "neuron3/"+deviceMemory, "does not answer", "the claim is prepared once the file is read")
	a.waitLog(0, "event=device_unhealthy", "neuron-device-3", silentReason)
	b.timed("prepare that fails", func() { contains(t, k.prepareError(claim), "neuron3/"+deviceMemory) })
	release()
	a.waitLog(0, "event=device_recovered", "neuron-device-3")
	b.timed("prepare", func() { k.prepareOK(claim) })
	b.done()
}

func hangingEFA(t *testing.T) {
	t.Parallel()
	const device = "pci-0000-c9-00-0"
	a, api := hanging(t, "--efa", "true")
	a.start()
	k, efa := a.register(), a.registerEFA()
	a.waitLog(0, "event=slice_published", "driver="+efaDriver)
	b := newBeside(t, a, api, k)
	release := hang(t, a.portState("0000:c9:00.0"))
	b.during(hangTime(t))
	a.waitLog(0, "event=sysfs_read_stalled", "ports/1/state")
	a.waitLog(0, "event=device_unhealthy", device, silentReason)
	efaIs(t, api, device, true)
	efaIs(t, api, "pci-0000-b3-00-0", false)
	claim := named(api.addClaim(withEFA(newClaim("beside"), "efas=pci-0000-b3-00-0")))
	b.timed("prepare of EFA", func() { efa.prepareOK(claim) })
	release()
	efaIs(t, api, device, false)
	b.done()
}

// A file that hangs when the agent starts: it serves, and publishes what can be read.
func hangingStart(t *testing.T) {
	t.Parallel()
	a, api := hanging(t)
	release := hang(t, a.ofDevice(3, "core_count"), filepath.Join(a.node, "sys/module/neuron/version"))
	begin := time.Now()
	a.start()
	k := a.register()
	if took := time.Since(begin); took > 3*time.Second {
		t.Errorf("registered after %v", took)
	}
	a.waitLog(0, "event=sysfs_read_stalled", "module/neuron/version")
	a.waitLog(0, "event=sysfs_read_stalled", "neuron3/core_count")
	a.waitLog(0, "event=device_unhealthy", "neuron-device-3", silentReason)
	a.waitLog(0, "event=slice_published")
	b := newBeside(t, a, api, k)
	b.during(time.Second)
	release()
	a.waitLog(0, "event=device_recovered", "neuron-device-3")
	waitFor(t, "no taint", func() bool { return len(api.own()) == 1 && len(taintsOf(api, 3)) == 0 })
	b.done()
}

// A claim of the boot before is prepared again while the first look at the devices hangs: it counts as prepared in this boot, so a
// checkpoint of the kubelet that lists it is not passed over for a boot that has ended.
func hangingAfterBoot(t *testing.T) {
	t.Parallel()
	a, api := hanging(t)
	a.start()
	k := a.register()
	c := api.addClaim(newClaim("held", "req=9"))
	k.prepareOK(named(c))
	a.stop()
	const boot = "11111111-2222-3333-4444-555555555555"
	check(t, os.WriteFile(filepath.Join(a.node, "proc/sys/kernel/random/boot_id"), []byte(boot+"\n"), 0o644))
	check(t, os.Remove(a.cdiFile(c)))
	release := hang(t, filepath.Join(a.node, "sys/module/neuron/version"))
	a.start()
	k = a.register()
	k.prepareOK(named(c))
	contains(t, a.cdiBytes(c), `"neuron.aws.com/boot-id": "`+boot)
	release()
	a.waitLog(0, "event=slice_published")
	contains(t, a.cdiBytes(c), `"neuron.aws.com/boot-id": "`+boot)
}

// As many files as there are readers: nothing is known of any device, and new claims fail until one is read; all that needs
// no sysfs goes on.
func hangingAll(t *testing.T) {
	t.Parallel()
	a, api := hanging(t)
	a.start()
	k := a.register()
	a.waitLog(0, "event=slice_published")
	reports := k.watchDevices(t, "v1")
	b := newBeside(t, a, api, k)
	held := named(api.addClaim(newClaim("held", "req=9")))
	k.prepareOK(held)
	var files []string
	for n := range 16 {
		files = append(files, a.ofDevice(n, unhealthyComponents))
	}
	release := hang(t, files...)
	waitReport(t, reports, "neuron-device-9", drahealth.HealthStatus_UNKNOWN, "no file that can be read says whether the device is healthy, or a reset is under way")
	for range 20 {
		b.probes()
		b.timed("prepare again", func() { k.prepareOK(held) })
		claim := named(api.addClaim(newClaim(fmt.Sprint("new-", b.rounds), "req=12")))
		b.rounds++
		b.timed("prepare that fails", func() { contains(t, k.prepareError(claim), unhealthyComponents, "does not answer") })
	}
	b.timed("unprepare", func() { k.unprepareOK(held) })
	release()
	waitReport(t, reports, "neuron-device-0", drahealth.HealthStatus_HEALTHY, "")
	waitReport(t, reports, "neuron-device-9", drahealth.HealthStatus_HEALTHY, "")
	b.during(time.Second)
	b.done()
}

// Two readers hang, and the last one in a file that it reads besides the looks: each claim is answered all the same.
func hangingErrorLast(t *testing.T) {
	t.Parallel()
	a, api := hanging(t)
	a.start()
	k := a.register()
	a.waitLog(0, "event=slice_published")
	release := hang(t, a.ofDevice(1, unhealthyComponents), a.ofDevice(2, unhealthyComponents), a.ofDevice(5, hwErrorEvent))
	message := ""
	for n := 0; message == "" && n < 200; n++ {
		claim := named(api.addClaim(newClaim(fmt.Sprint("new-", n), fmt.Sprintf("req=%d", 8+n%8))))
		message = k.prepare(claim)[claim.Uid].Error
		if message == "" {
			k.unprepareOK(claim)
			time.Sleep(100 * time.Millisecond)
		}
	}
	contains(t, message, "does not answer")
	a.waitLog(0, "event=sysfs_read_stalled", "neuron5/"+hwErrorEvent)
	release()
	a.waitLog(0, "event=sysfs_read_resumed", "neuron5/"+hwErrorEvent)
	waitFor(t, "a prepare", func() bool {
		claim := named(api.addClaim(newClaim("after", "req=9")))
		return k.prepare(claim)[claim.Uid].Error == ""
	})
}

// readers lists the processes that read sysfs for the agent.
func (a *agent) readers(t testing.TB) (pids []int) {
	t.Helper()
	for _, text := range strings.Fields(string(must(os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", a.pid()))))) {
		pids = append(pids, must(strconv.Atoi(text)))
	}
	return pids
}

func statusOf(t testing.TB, pid int, field string) string {
	t.Helper()
	text := must(os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)))
	found := regexp.MustCompile(`(?m)^` + field + `:\s*(.*)$`).FindSubmatch(text)
	if found == nil {
		t.Fatalf("%s of %d:\n%s", field, pid, text)
	}
	return string(found[1])
}

// descriptors lists what a process has open, by what it leads to, without its standard ones.
func descriptors(t testing.TB, pid int) (links []string) {
	t.Helper()
	for _, fd := range files(t, fmt.Sprintf("/proc/%d/fd", pid)) {
		link, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", pid, fd))
		if err == nil && must(strconv.Atoi(fd)) > 2 {
			links = append(links, link)
		}
	}
	return links
}

// The processes that read have no right but that, and none outlives the agent.
func TestReaders(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a := newAgent(t, "trn2.48xlarge")
	a.by = []string{"setpriv", "--inh-caps=-all", "--bounding-set=-all"}
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir))
	a.start()
	a.waitLog(0, "event=slice_published")
	pids := a.readers(t)
	if len(pids) != limitOf("READERS") {
		t.Fatalf("readers %v", pids)
	}
	for _, pid := range append(slices.Clone(pids), a.pid()) {
		for field, want := range map[string]string{"Seccomp": "2", "NoNewPrivs": "1", "CapEff": "0000000000000000", "Threads": "1"} {
			if got := statusOf(t, pid, field); got != want {
				t.Errorf("%s: %s of %d: %s", statusOf(t, pid, "Name"), field, pid, got)
			}
		}
	}
	for _, pid := range pids {
		if name := statusOf(t, pid, "Name"); name != "neuron-dra-read" {
			t.Errorf("name %q", name)
		}
		sockets := 0
		for _, link := range descriptors(t, pid) {
			if strings.HasPrefix(link, "socket:") {
				sockets++
			} else if !strings.HasPrefix(link, filepath.Join(a.node, "sys")+"/") {
				t.Errorf("a reader has %s open", link)
			}
		}
		if sockets != 1 {
			t.Errorf("a reader has %d sockets", sockets)
		}
	}
	for _, link := range descriptors(t, a.pid()) {
		if strings.HasPrefix(link, filepath.Join(a.node, "sys")+"/") {
			t.Errorf("the agent has %s open", link)
		}
	}
	gone := func() {
		t.Helper()
		waitFor(t, "the end of the readers", func() bool {
			return !slices.ContainsFunc(pids, func(pid int) bool {
				state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
				return err == nil && !strings.Contains(string(state), ") Z ")
			})
		})
	}
	// A signal to the whole group ends the agent as one to itself does.
	for _, pid := range pids {
		check(t, syscall.Kill(pid, syscall.SIGTERM))
	}
	if code := a.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	gone()
	a.start()
	a.register()
	pids = a.readers(t)
	a.kill()
	gone()
	// One that dies takes the agent with it: nothing could make another.
	mark := a.log.count()
	a.start()
	a.register()
	pids = a.readers(t)
	a.wanted = true
	check(t, syscall.Kill(pids[1], syscall.SIGKILL))
	<-a.ended
	if code := a.cmd.ProcessState.ExitCode(); code != 1 {
		t.Errorf("exit code %d", code)
	}
	a.waitLog(mark, "a process that reads sysfs for the agent has ended")
	gone()
}

// An agent that is killed while a reader hangs leaves its sockets and its store to the next one.
func TestHangingReaderOutlivesNothing(t *testing.T) {
	t.Parallel()
	a, api := hanging(t)
	a.start()
	k := a.register()
	a.waitLog(0, "event=slice_published")
	claim := named(api.addClaim(newClaim("held", "req=9")))
	k.prepareOK(claim)
	release := hang(t, a.ofDevice(3, unhealthyComponents))
	a.waitLog(0, "event=sysfs_read_stalled")
	a.kill()
	mark := a.log.count()
	a.start()
	k = a.register()
	k.prepareOK(claim)
	a.waitLog(mark, "event=sysfs_read_stalled")
	if code := a.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	release()
}
