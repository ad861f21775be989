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
	"case", "peer of", "sent", "answer", "taken until the end", "time to the end", "memory growth", "CPU with the good client's calls",
	"good client p50 before/during (max)")

const (
	growthOfServers = 0    // KiB: connections of peers use static tables alone
	growthOfClient  = 1024 // KiB: the bound for what an API server may make of us
	firstTouches    = 1024 // KiB: the static tables that an attack may reach, in all rounds together

	attackRounds = 4 // a measurement is repeated before it counts as a failure
)

// attack is one case.
type attack struct {
	name   string // of the case
	peerOf string // what is attacked: a socket, a port, the API client
	sent   string // in words
	growth int    // KiB that the agent may grow by
	run    func() attackEnd
}

// attackEnd is what an attacker saw.
type attackEnd struct {
	answer string        // code of GOAWAY or RST_STREAM, status of HTTP or gRPC
	taken  string        // what the agent took until it ended it
	frames int           // the same of a flood
	lasted time.Duration // until it ended, or was given up
}

// suffer carries out the attack beside a good client and adds a row to the table. The first round touches the
// static tables that the attack reaches; memory that grows in the rounds after it would grow for ever. The good
// client's calls must succeed in every round; a median that is too high is measured again, because the machine
// may have been busy.
func (a *agent) suffer(t *testing.T, c attack) {
	t.Helper()
	a.sufferAll(t, c)
}

// sufferAll does the same with several attacks at one time, which share what they cost.
func (a *agent) sufferAll(t *testing.T, all ...attack) {
	t.Helper()
	client := a.goodClient(t)
	ends := make([]attackEnd, len(all))
	var growth, touched int
	var cpu time.Duration
	var before, during latencies
	var complaint string
	for round := range attackRounds {
		before = client.work(func() { time.Sleep(150 * time.Millisecond) })
		memory, used := a.privateKiB(t), a.cpuTime(t)
		during = client.work(func() {
			var done sync.WaitGroup
			for i, c := range all {
				done.Add(1)
				go func() {
					defer done.Done()
					ends[i] = c.run()
				}()
			}
			done.Wait()
		})
		cpu, growth = a.cpuTime(t)-used, a.privateKiB(t)-memory
		if !a.running() {
			t.Fatalf("%s: the agent ended", all[0].name)
		}
		touched += max(growth, 0)
		complaint = ""
		if touched > firstTouches {
			t.Fatalf("%s: memory grew by %d KiB in %d rounds", all[0].name, touched, round+1)
		}
		if growth > all[0].growth {
			complaint = fmt.Sprintf("memory grew by %d KiB in round %d", growth, round+1)
		} else if during.p50() > 4*before.p50()+10*time.Millisecond {
			complaint = fmt.Sprintf("the good client's median was %v before, %v during the attack", before.p50(), during.p50())
		}
		if complaint == "" {
			break
		}
	}
	if complaint != "" {
		t.Errorf("%s: %s", all[0].name, complaint)
	}
	for i, c := range all {
		abuseTable.add(c.name, c.peerOf, c.sent, ends[i].answer, ends[i].taken, rounded(ends[i].lasted),
			fmt.Sprintf("%d KiB (%d first)", max(growth, 0), touched), rounded(cpu),
			fmt.Sprintf("%v / %v (%v)", rounded(before.p50()), rounded(during.p50()), rounded(during.max())))
	}
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
	line, _ := a.log.find(0, "event=listening", "health service on TCP port")
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

type latencies []time.Duration

func (l latencies) p50() time.Duration { return l[len(l)/2] }
func (l latencies) max() time.Duration { return l[len(l)-1] }

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

// round is one call on each connection, within the kubelet's own time for GetInfo.
func (c *goodClient) round() (took latencies) {
	for i, call := range c.calls {
		ctx, cancel := context.WithTimeout(context.Background(), getInfoLimit)
		begin := time.Now()
		err := call(ctx)
		took = append(took, time.Since(begin))
		cancel()
		if err != nil {
			c.t.Errorf("call %d of a client that behaves: %v", i, err)
		}
	}
	return took
}

// work calls and calls while f runs, and once after it at least.
func (c *goodClient) work(f func()) (all latencies) {
	over := make(chan struct{})
	var done sync.WaitGroup
	done.Add(1)
	go func() {
		defer done.Done()
		for running := true; running; {
			select {
			case <-over:
				running = false
			case <-time.After(2 * time.Millisecond):
			}
			all = append(all, c.round()...)
		}
	}()
	func() {
		defer close(over) // also when f ends the test
		f()
	}()
	done.Wait()
	slices.Sort(all)
	return all
}
