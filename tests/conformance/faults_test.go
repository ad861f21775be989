// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	resource "k8s.io/api/resource/v1"
)

var faultTable = newTable("each system call fails, then the process is killed", "operation", "system call", "points",
	"trials", "answered OK", "an error", "no answer", "claims lost", "granted twice", "back after unprepare")

// fault is what strace does to one call, or to it and every later one of its name. A kill comes before the call is made.
type fault struct{ what, from string }

var faults = []fault{{"error=EIO", ""}, {"error=EIO", "+"}, {"error=ENOSPC", "+"}, {"signal=SIGKILL", ""}}

// point is the n-th call of its name, from 1 on.
type point struct {
	name string
	n    int
}

// Of a call that an operation makes more often, about as many are chosen: the first, the last and some between.
// FAULT_POINTS=all, as `make faults` sets it, takes every one, and in a start also those that concern no file.
const pointsOfOneName = 4

var allPoints = os.Getenv("FAULT_POINTS") == "all"

var fileCalls = []string{"openat", "close", "fcntl", "newfstatat", "pread64", "pwrite64", "fdatasync", "fsync", "renameat2",
	"linkat", "unlink", "mkdir", "getdents64", "write"}

// points names every call of a trace that is to fail.
func points(calls []string) (chosen []point) {
	count := map[string]int{}
	for _, name := range calls {
		count[name]++
	}
	for name, n := range count {
		step := 1
		if !allPoints && n > pointsOfOneName {
			step = (n - 1) / (pointsOfOneName - 1)
		}
		for i := 1; i <= n; i += step {
			chosen = append(chosen, point{name, i})
		}
		if last := (point{name, n}); !slices.Contains(chosen, last) {
			chosen = append(chosen, last)
		}
	}
	slices.SortFunc(chosen, func(a, b point) int { return cmp.Or(strings.Compare(a.name, b.name), a.n-b.n) })
	return chosen
}

func (p point) inject(f fault) string {
	return fmt.Sprintf("inject=%s:%s:when=%d%s", p.name, f.what, p.n, f.from)
}

// faultNode is a node that lives through many faults. The claim `witness` was prepared before all of them.
type faultNode struct {
	t       *testing.T
	api     *apiServer
	a       *agent
	k       *kubelet
	witness *resource.ResourceClaim
	answer  []byte
	closed  atomic.Bool // the API server refuses every GET of a claim: only the disk can answer
	trials  int
}

func newFaultNode(t *testing.T) *faultNode {
	n := &faultNode{t: t, api: startAPIServer(t)}
	n.a, n.k = running(t, n.api, "trn2.48xlarge")
	n.api.setFaults(func(kind string, w http.ResponseWriter, r *http.Request) bool {
		if kind == "claim" && n.closed.Load() {
			n.api.fail(w, 403, "Forbidden", "closed for the test")
			return true
		}
		return false
	})
	n.witness = n.api.addClaim(newClaim("witness", "req=0"))
	n.answer = must(n.k.callBytes(prepareV1, callLimit, named(n.witness)))
	if failed(n.answer) {
		t.Fatalf("prepare: %q", n.answer)
	}
	return n
}

// claims makes two claims to one device, which never both may hold it.
func (n *faultNode) claims() (claim, rival *resource.ResourceClaim) {
	n.trials++
	claim = n.api.addClaim(newClaim(fmt.Sprint("claim-", n.trials), "req=1"))
	rival = n.api.addClaim(newClaim(fmt.Sprint("rival-", n.trials), "req=1"))
	return claim, rival
}

// faultLimit is how long an answer is waited for that may never come.
const faultLimit = 3 * time.Second

// result is what became of the trials of one system call.
type result struct{ points, trials, ok, refused, silent, lost, twice, back int }

// results are by the name of the system call.
type results map[string]*result

// at counts one more point of a system call, and returns the result to which it belongs.
func (all results) at(p point) *result {
	if all[p.name] == nil {
		all[p.name] = &result{}
	}
	all[p.name].points++
	return all[p.name]
}

// joined sums the results of several nodes.
func joined(parts []results) results {
	sum := results{}
	for _, part := range parts {
		for name, r := range part {
			s := sum[name]
			if s == nil {
				s = &result{}
				sum[name] = s
			}
			s.points += r.points
			s.trials += r.trials
			s.ok += r.ok
			s.refused += r.refused
			s.silent += r.silent
			s.lost += r.lost
			s.twice += r.twice
			s.back += r.back
		}
	}
	return sum
}

func (r *result) add(operation, name string) {
	faultTable.add(operation, name, r.points, r.trials, r.ok, r.refused, r.silent, r.lost, r.twice, r.back)
}

// restart kills the process and starts the next one, which then knows what the disk knows.
func (n *faultNode) restart() {
	n.a.wanted = true
	n.a.kill()
	n.a.by = nil
	n.a.start()
	n.k = n.a.register()
}

// held says whether the agent answers for a claim without the API server.
func (n *faultNode) held(c *resource.ResourceClaim) bool {
	n.t.Helper()
	n.closed.Store(true)
	defer n.closed.Store(false)
	reply, err := n.k.callBytes(prepareV1, callLimit, named(c))
	check(n.t, err)
	return !failed(reply)
}

// inspect restarts and holds what the disk says against the answer, then releases both claims.
func (n *faultNode) inspect(r *result, trial string, claim, rival *resource.ResourceClaim, prepared, unprepared bool) {
	n.t.Helper()
	n.restart()
	n.closed.Store(true)
	answer, err := n.k.callBytes(prepareV1, callLimit, named(n.witness))
	n.closed.Store(false)
	check(n.t, err)
	there := n.held(claim)
	if !bytes.Equal(answer, n.answer) || prepared && !there {
		r.lost++
		n.t.Errorf("%s: a claim is lost: witness %q, claim held %v", trial, answer, there)
	}
	if unprepared && there {
		r.back++
		n.t.Errorf("%s: the claim is back", trial)
	}
	reply, err := n.k.callBytes(prepareV1, callLimit, named(rival))
	check(n.t, err)
	if there && !failed(reply) {
		r.twice++
		n.t.Errorf("%s: its device was granted twice", trial)
	}
	if !there && failed(reply) {
		n.t.Errorf("%s: its device cannot be granted: %q", trial, reply)
	}
	n.k.unprepareOK(named(claim), named(rival))
	if left := files(n.t, n.a.cdiDir()); len(left) != 1 {
		n.t.Errorf("%s: left in the CDI directory: %v", trial, left)
	}
	n.api.removeClaim(claim)
	n.api.removeClaim(rival)
}

// call makes one call of the kubelet and counts its answer.
func (n *faultNode) call(r *result, method string, c *resource.ResourceClaim) (ok bool) {
	reply, err := n.k.callBytes(method, faultLimit, named(c))
	switch {
	case err != nil:
		r.silent++
	case failed(reply):
		r.refused++
	default:
		r.ok++
		return true
	}
	return false
}

// Each system call of one prepare and of one unprepare fails with EIO once, with EIO or ENOSPC from then on, or is the last
// one of the process. Then the process is killed, and the next one knows every claim that was answered and none that was
// unprepared.
func TestEverySystemCallFails(t *testing.T) {
	t.Parallel()
	for _, operation := range []string{"prepare", "unprepare"} {
		t.Run(operation, func(t *testing.T) {
			t.Parallel()
			n := newFaultNode(t)
			method := map[string]string{"prepare": prepareV1, "unprepare": unprepareV1}[operation]
			begin := func() (claim, rival *resource.ResourceClaim) {
				claim, rival = n.claims()
				if operation == "unprepare" {
					n.k.prepareOK(named(claim))
				}
				return claim, rival
			}
			claim, _ := begin()
			calls := callNames(n.a.traced(t, func(string) {
				if reply, err := n.k.callBytes(method, callLimit, named(claim)); err != nil || failed(reply) {
					t.Fatalf("%s: %v %q", operation, err, reply)
				}
				time.Sleep(50 * time.Millisecond) // its line in the log comes last
			}))
			n.k.unprepareOK(named(claim))
			results := results{}
			for _, p := range points(calls) {
				r := results.at(p)
				for _, fault := range faults {
					claim, rival := begin()
					r.trials++
					var ok bool
					n.a.wanted = true // the fault may end it
					n.a.straced(t, []string{"-o", os.DevNull, "-e", p.inject(fault)}, func() { ok = n.call(r, method, claim) })
					trial := operation + ": " + p.inject(fault)
					n.inspect(r, trial, claim, rival, ok && method == prepareV1, ok && method == unprepareV1)
				}
			}
			for name, r := range results {
				r.add(operation, name)
			}
		})
	}
}

// repairNode is a node whose agent is started, over and over, on a store whose header is zeroed.
type repairNode struct{ *faultNode }

// spoil kills the process and zeroes what a start looks at first; what earlier trials kept aside goes.
func (n *repairNode) spoil() {
	n.a.wanted = true
	n.a.kill()
	for _, name := range files(n.t, n.a.pluginDir()) {
		if strings.HasPrefix(name, "claims.store.damaged") {
			check(n.t, os.Remove(filepath.Join(n.a.pluginDir(), name)))
		}
	}
	f, err := os.OpenFile(filepath.Join(n.a.pluginDir(), "claims.store"), os.O_WRONLY, 0)
	check(n.t, err)
	_, err = f.WriteAt(make([]byte, 8192), 0)
	check(n.t, err)
	check(n.t, f.Close())
}

// started starts the process under strace and waits until the store is open, or the process has ended, or it is clear
// that neither comes.
func (n *repairNode) started(args ...string) (opened bool) {
	n.a.by = append([]string{"/usr/bin/strace", "-D"}, args...)
	mark := n.a.log.count()
	n.a.start()
	n.a.wanted = true // the fault may end it
	for end := time.Now().Add(faultLimit); n.a.running() && time.Now().Before(end); time.Sleep(time.Millisecond) {
		if _, more := n.a.log.find(mark, "event=store_opened"); more == nil {
			return true
		}
		if _, more := n.a.log.find(mark, "event=store_failed"); more == nil {
			return false
		}
	}
	return false
}

// calls names every system call of a start with repair.
func (n *repairNode) calls() []string {
	trace := filepath.Join(n.a.dir, "start")
	n.spoil()
	if !n.started("-o", trace) {
		n.t.Fatal("the store was not opened under strace")
	}
	n.a.kill()
	calls := callNames(slices.Collect(strings.Lines(string(must(os.ReadFile(trace))))))
	n.restart()
	return slices.DeleteFunc(calls, func(name string) bool {
		return name == "execve" || name == "exit_group" || !allPoints && !slices.Contains(fileCalls, name)
	})
}

// trial lets one start fail at one point in one way.
func (n *repairNode) trial(r *result, p point, f fault) {
	claim, rival := n.claims()
	r.trials++
	n.k.prepareOK(named(claim))
	n.spoil()
	switch opened := n.started("-o", "/dev/null", "-e", p.inject(f)); {
	case opened:
		r.ok++
	case n.a.running():
		r.refused++
	default:
		r.silent++
	}
	n.inspect(r, "start: "+p.inject(f), claim, rival, true, false)
}

// The same for a start that finds the header of its store zeroed and makes the store again. Its points, 2,000 when all are
// taken, are shared by several nodes: a trial is mostly waiting.
func TestEverySystemCallOfARepairFails(t *testing.T) {
	t.Parallel()
	nodes := 1
	if allPoints {
		nodes = 16
	}
	chosen := points((&repairNode{newFaultNode(t)}).calls())
	all := make([]results, nodes)
	t.Cleanup(func() {
		for name, r := range joined(all) {
			r.add("start with repair", name)
		}
	})
	for i := range nodes {
		t.Run(fmt.Sprint("node ", i), func(t *testing.T) {
			t.Parallel()
			n, mine := &repairNode{newFaultNode(t)}, results{}
			for k := i; k < len(chosen); k += nodes {
				r := mine.at(chosen[k])
				for _, f := range faults {
					n.trial(r, chosen[k], f)
				}
			}
			all[i] = mine
		})
	}
}
