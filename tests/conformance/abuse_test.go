// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"fmt"
	"net"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	grpchealth "google.golang.org/grpc/health/grpc_health_v1"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

// The harness of the cases about hostile peers: what an attack costs the agent (memory, CPU) and what it
// costs a peer that behaves, side by side with the answer that the attacker got.

var abuseTable = newTable("abuse: what hostile peers are answered, and what they cost",
	"case", "peer of", "sent", "answer", "taken until the end", "time to the end", "memory growth (touched first)", "CPU with the good client's calls",
	"good client p50 before/during (max)")

const (
	firstTouches   = 1024 // KiB: the static tables that an attack may reach, in all rounds together
	medianAtMost   = 200 * time.Millisecond
	cpuOfAttack    = time.Second            // what one attack may cost, and
	cpuOfGoodCalls = 500 * time.Microsecond // each call of the good client: both about a hundred times what they do cost

	attackRounds = 4 // a measurement that the machine has a part in is repeated before it counts as a failure
	restAtMost   = 30 * time.Second
)

// attack is one case.
type attack struct {
	name   string // of the case
	peerOf string // what is attacked: a socket, a port, the API client
	sent   string // in words
	run    func() attackEnd
}

// attackEnd is what an attacker saw.
type attackEnd struct {
	answer string        // code of GOAWAY or RST_STREAM, status of HTTP or gRPC
	taken  string        // what the agent took until it ended it
	frames int           // the same of a flood
	lasted time.Duration // until it ended, or was given up
	asked  time.Duration // of this, how long it asked without a pause for what deserves an answer
}

// suffer carries out the attack beside a good client and adds a row to the table. The agent may never map memory:
// then it cannot grow, whatever pages of its static tables an attack is the first to touch. The good client's calls
// must succeed, on each socket with a median as of a server that is not attacked.
func (a *agent) suffer(t *testing.T, c attack) {
	t.Helper()
	a.sufferAll(t, c)
}

// sufferAll does the same with several attacks at one time, which share what they cost.
func (a *agent) sufferAll(t *testing.T, all ...attack) {
	t.Helper()
	client := a.goodClient(t)
	ends := make([]attackEnd, len(all))
	mapped, touched := a.mappedKiB(t), a.privateKiB(t)
	var cpu time.Duration
	var before, during latencies
	complaint := "not measured"
	for round := 0; round < attackRounds && complaint != ""; round++ {
		if round > 0 {
			client.rest()
		}
		before = client.work(func() { time.Sleep(150 * time.Millisecond) })
		used := a.cpuTime(t)
		during = client.work(func() { attackAtOnce(all, ends) })
		cpu = a.cpuTime(t) - used
		complaint = during.complaint()
		if limit := cpuLimit(ends) + cpuOfGoodCalls*time.Duration(during.calls()); cpu > limit {
			complaint = fmt.Sprintf("it took %v of CPU time, at most %v is right", rounded(cpu), rounded(limit))
		}
	}
	if !a.running() {
		t.Fatalf("%s: the agent ended", all[0].name)
	}
	if complaint != "" {
		t.Errorf("%s: %s, in the last of %d rounds", all[0].name, complaint, attackRounds)
	}
	mapped, touched = a.mappedKiB(t)-mapped, a.privateKiB(t)-touched
	if mapped != 0 || touched > firstTouches {
		t.Errorf("%s: memory grew by %d KiB, %d KiB were touched first", all[0].name, mapped, touched)
	}
	for i, c := range all {
		abuseTable.add(c.name, c.peerOf, c.sent, ends[i].answer, ends[i].taken, rounded(ends[i].lasted),
			fmt.Sprintf("%d KiB (%d)", mapped, max(touched, 0)), rounded(cpu),
			fmt.Sprintf("%v / %v (%v)", rounded(before.p50()), rounded(during.p50()), rounded(during.max())))
	}
}

// cpuLimit is what attacks may cost. One that asks without a pause may keep the agent busy as long as it asks: how many
// answers that gives is a matter of the machine, and what is judged there is that others are answered meanwhile.
func cpuLimit(ends []attackEnd) (limit time.Duration) {
	for _, end := range ends {
		limit += cpuOfAttack + end.asked
	}
	return limit
}

// rest lets the machine come to rest, within limits.
func (c *goodClient) rest() {
	for end := time.Now().Add(restAtMost); time.Now().Before(end); {
		time.Sleep(time.Second)
		if c.work(func() { time.Sleep(150 * time.Millisecond) }).p50() < medianAtMost/10 {
			return
		}
	}
}

// attackAtOnce waits for the end of all.
func attackAtOnce(all []attack, ends []attackEnd) {
	var done sync.WaitGroup
	for i, c := range all {
		done.Go(func() { ends[i] = c.run() })
	}
	done.Wait()
}

// rounded keeps three digits or so.
func rounded(d time.Duration) time.Duration {
	for _, unit := range []time.Duration{time.Second, time.Millisecond} {
		if d >= unit {
			return d.Round(unit / 100)
		}
	}
	return d.Round(10 * time.Microsecond)
}

// mappedKiB is the address space (proc(5), statm). What an agent never maps it never uses.
func (a *agent) mappedKiB(t testing.TB) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", a.pid()))
	check(t, err)
	pages, err := strconv.Atoi(strings.Fields(string(text))[0])
	check(t, err)
	return pages * os.Getpagesize() / 1024
}

// privateKiB is the memory that the agent has written to, swapped or not. The program's text is not in it:
// which of its pages are in memory is the kernel's affair.
func (a *agent) privateKiB(t testing.TB) (kib int) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", a.pid()))
	check(t, err)
	for _, m := range regexp.MustCompile(`(?m)^(?:Private_Dirty|Swap): +(\d+) kB$`).FindAllSubmatch(text, -1) {
		n, err := strconv.Atoi(string(m[1]))
		check(t, err)
		kib += n
	}
	if kib == 0 {
		t.Fatalf("no memory in %q", text)
	}
	return kib
}

// cpuTime is what the agent has spent on a processor (proc(5), schedstat).
func (a *agent) cpuTime(t testing.TB) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", a.pid()))
	check(t, err)
	ns, err := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
	check(t, err)
	return time.Duration(ns)
}

// healthAddress is the port that the agent took, "" when health is switched off.
func (a *agent) healthAddress() string {
	line, _ := a.log.find(0, "event=socket_opened", "health service on TCP port")
	if line == "" {
		return ""
	}
	return net.JoinHostPort("127.0.0.1", regexp.MustCompile(`TCP port (\d+)`).FindStringSubmatch(line)[1])
}

// --- the good client ---

// goodClient is a peer that behaves, with a connection to each socket that is there: the kubelet's GetInfo, and
// health.
type goodClient struct {
	t     testing.TB
	calls []func(context.Context) error
}

// latencies are those of the calls of each connection.
type latencies [][]time.Duration

// p50 is the median of the connection that has the highest one.
func (l latencies) p50() (most time.Duration) {
	for _, one := range l {
		slices.Sort(one)
		most = max(most, one[len(one)/2])
	}
	return most
}

func (l latencies) max() (most time.Duration) {
	for _, one := range l {
		most = max(most, slices.Max(one))
	}
	return most
}

func (l latencies) calls() (n int) {
	for _, one := range l {
		n += len(one)
	}
	return n
}

// complaint says what a client that behaves may complain of; "": nothing. A machine that is busy elsewhere may be
// the cause.
func (l latencies) complaint() string {
	if p50, most := l.p50(), l.max(); p50 >= medianAtMost || most >= getInfoLimit {
		return fmt.Sprintf("the good client's median was %v, its longest call %v", rounded(p50), rounded(most))
	}
	return ""
}

func (a *agent) goodClient(t testing.TB) *goodClient {
	t.Helper()
	if a.good != nil {
		a.good.t = t
		return a.good
	}
	c := &goodClient{t: t}
	a.good = c
	info := registration.NewRegistrationClient(dialRegistration(a.t, a.registrationSocket()))
	c.calls = append(c.calls, func(ctx context.Context) error {
		_, err := info.GetInfo(ctx, &registration.InfoRequest{})
		return err
	})
	targets := []string{"unix:" + a.serviceSocket()}
	if address := a.healthAddress(); address != "" {
		targets = append(targets, address)
	}
	for _, target := range targets {
		conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
		check(t, err)
		a.t.Cleanup(func() { conn.Close() })
		client := grpchealth.NewHealthClient(conn)
		c.calls = append(c.calls, func(ctx context.Context) error {
			_, err := client.Check(ctx, &grpchealth.HealthCheckRequest{})
			return err
		})
	}
	c.round() // connects
	return c
}

// round is one call on each connection. The kubelet gives GetInfo a second; how long a call took is judged later, a
// call that fails has failed.
func (c *goodClient) round() []time.Duration {
	took := make([]time.Duration, len(c.calls))
	for i, call := range c.calls {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		begin := time.Now()
		if err := call(ctx); err != nil {
			c.t.Errorf("call %d of a client that behaves: %v", i, err)
		}
		took[i] = time.Since(begin)
		cancel()
	}
	return took
}

// work calls and calls while f runs, and once after it at least.
func (c *goodClient) work(f func()) latencies {
	all := make(latencies, len(c.calls))
	over := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		for running := true; running; {
			select {
			case <-over:
				running = false
			case <-time.After(20 * time.Millisecond): // as many as the port takes from strangers
			}
			for i, took := range c.round() {
				all[i] = append(all[i], took)
			}
		}
	})
	func() {
		defer close(over) // also when f ends the test
		f()
	}()
	done.Wait()
	return all
}
