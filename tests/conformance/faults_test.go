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
	"sync"
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

// faultNode is a node that lives through many faults. The claim `witness` was prepared before all of them. With two drivers
// each claim has devices of both, and each call is made to both at once.
type faultNode struct {
	t       *testing.T
	api     *apiServer
	a       *agent
	k       []*kubelet // of each driver
	witness *resource.ResourceClaim
	answers [][]byte    // to its prepare, of each driver
	closed  atomic.Bool // the API server refuses every GET of a claim: only the disk can answer
	trials  int
	orphans map[string]bool // temporary files of killed processes: they stay for a minute
	silent  bool            // the last call of `call` got no answer from a driver
}

func newFaultNode(t *testing.T, efa bool) *faultNode {
	n := &faultNode{t: t, api: startAPIServer(t), k: make([]*kubelet, 1), orphans: map[string]bool{}}
	if efa {
		n.k = make([]*kubelet, 2)
		n.a, n.k[0], n.k[1] = runningEFA(t, n.api, "trn2.48xlarge")
	} else {
		n.a, n.k[0] = running(t, n.api, "trn2.48xlarge")
	}
	n.api.setFaults(func(kind string, w http.ResponseWriter, r *http.Request) bool {
		if kind == "claim" && n.closed.Load() {
			n.api.fail(w, 403, "Forbidden", "closed for the test")
			return true
		}
		return false
	})
	n.witness = n.claim("witness", 0)
	for _, k := range n.k {
		answer := must(k.callBytes(prepareV1, callLimit, named(n.witness)))
		if failed(answer) {
			t.Fatalf("prepare: %q", answer)
		}
		n.answers = append(n.answers, answer)
	}
	return n
}

// claim makes one with a device of each driver.
func (n *faultNode) claim(name string, device int) *resource.ResourceClaim {
	c := newClaim(name, fmt.Sprint("req=", device))
	if len(n.k) > 1 {
		c = withEFA(c, []string{"efa=pci-0000-b3-00-0", "efa=pci-0000-b4-00-0"}[device])
	}
	return n.api.addClaim(c)
}

// claims makes two claims to the same devices, which never both may hold them.
func (n *faultNode) claims() (claim, rival *resource.ResourceClaim) {
	n.trials++
	return n.claim(fmt.Sprint("claim-", n.trials), 1), n.claim(fmt.Sprint("rival-", n.trials), 1)
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
	n.k[0] = n.a.register()
	if len(n.k) > 1 {
		n.k[1] = n.a.registerEFA()
	}
}

// asDisk makes a prepare that the API server has no part in.
func (n *faultNode) asDisk(k *kubelet, c *resource.ResourceClaim) []byte {
	n.t.Helper()
	n.closed.Store(true)
	defer n.closed.Store(false)
	return must(k.callBytes(prepareV1, callLimit, named(c)))
}

// inspect restarts and holds what the disk says against the answers, then releases both claims. `done` says of each driver
// whether its call of the method was answered well.
func (n *faultNode) inspect(r *result, trial string, claim, rival *resource.ResourceClaim, method string, done []bool) {
	n.t.Helper()
	n.restart()
	for i, k := range n.k {
		answer := n.asDisk(k, n.witness)
		there := !failed(n.asDisk(k, claim))
		if !bytes.Equal(answer, n.answers[i]) || method == prepareV1 && done[i] && !there {
			r.lost++
			n.t.Errorf("%s: driver %d: a claim is lost: witness %q, claim held %v", trial, i, answer, there)
		}
		if method == unprepareV1 && done[i] && there {
			r.back++
			n.t.Errorf("%s: driver %d: the claim is back", trial, i)
		}
		reply, err := k.callBytes(prepareV1, callLimit, named(rival))
		check(n.t, err)
		if there && !failed(reply) {
			r.twice++
			n.t.Errorf("%s: driver %d: its device was granted twice", trial, i)
		}
		if !there && failed(reply) {
			n.t.Errorf("%s: driver %d: its device cannot be granted: %q", trial, i, reply)
		}
	}
	n.unprepare(claim, rival)
	left := slices.DeleteFunc(files(n.t, n.a.cdiDir()), func(name string) bool {
		// A file that a kill left, or that could not be unlinked, goes with the first tidying when it is a minute old. The
		// kill of the restart above may come in the midst of a call that got no answer.
		killed := strings.Contains(trial, "SIGKILL") || n.silent
		if strings.HasSuffix(name, ".tmp") && (killed || strings.Contains(trial, "inject=unlink:")) {
			n.orphans[name] = true
		}
		return n.orphans[name]
	})
	if len(left) != len(n.k) {
		n.t.Errorf("%s: left in the CDI directory: %v", trial, left)
	}
	n.api.removeClaim(claim)
	n.api.removeClaim(rival)
}

func (n *faultNode) prepare(c *resource.ResourceClaim) {
	n.t.Helper()
	for _, k := range n.k {
		k.prepareOK(named(c))
	}
}

func (n *faultNode) unprepare(claims ...*resource.ResourceClaim) {
	n.t.Helper()
	for _, c := range claims {
		for _, k := range n.k {
			k.unprepareOK(named(c))
		}
	}
}

// call makes one call of the kubelet to each driver at once, counts the answers, and says which were good.
func (n *faultNode) call(r *result, method string, limit time.Duration, c *resource.ResourceClaim) (ok []bool) {
	var group sync.WaitGroup
	replies, errs := make([][]byte, len(n.k)), make([]error, len(n.k))
	for i, k := range n.k {
		group.Go(func() { replies[i], errs[i] = k.callBytes(method, limit, named(c)) })
	}
	group.Wait()
	n.silent = slices.ContainsFunc(errs, func(err error) bool { return err != nil })
	for i := range n.k {
		good := errs[i] == nil && !failed(replies[i])
		ok = append(ok, good)
		switch {
		case errs[i] != nil:
			r.silent++
		case good:
			r.ok++
		default:
			r.refused++
		}
	}
	return ok
}

// Each system call of one prepare and of one unprepare fails with EIO once, with EIO or ENOSPC from then on, or is the last
// one of the process. Then the process is killed, and the next one knows every claim that was answered and none that was
// unprepared.
// With both drivers the same holds of each, whatever became of the other's call.
func TestEverySystemCallFails(t *testing.T) {
	t.Parallel()
	for _, drivers := range []string{"", ", both drivers at once"} {
		for operation, method := range map[string]string{"prepare": prepareV1, "unprepare": unprepareV1} {
			t.Run(operation+drivers, func(t *testing.T) {
				t.Parallel()
				everyCallFails(t, newFaultNode(t, drivers != ""), operation+drivers, method)
			})
		}
	}
}

func everyCallFails(t *testing.T, n *faultNode, operation, method string) {
	begin := func() (claim, rival *resource.ResourceClaim) {
		claim, rival = n.claims()
		if method == unprepareV1 {
			n.prepare(claim)
		}
		return claim, rival
	}
	claim, _ := begin()
	calls := callNames(n.a.traced(t, func(string) {
		if ok := n.call(&result{}, method, callLimit, claim); slices.Contains(ok, false) {
			t.Fatalf("%s: %v", operation, ok)
		}
		time.Sleep(50 * time.Millisecond) // its line in the log comes last
	}))
	n.unprepare(claim)
	results := results{}
	for _, p := range points(calls) {
		r := results.at(p)
		for _, fault := range faults {
			claim, rival := begin()
			r.trials++
			var ok []bool
			n.a.wanted = true // the fault may end it
			n.a.straced(t, []string{"-o", os.DevNull, "-e", p.inject(fault)}, func() { ok = n.call(r, method, faultLimit, claim) })
			n.inspect(r, operation+": "+p.inject(fault), claim, rival, method, ok)
		}
	}
	for name, r := range results {
		r.add(operation, name)
	}
}

// repairNode is a node whose agent is started, over and over, on stores whose headers are zeroed.
type repairNode struct{ *faultNode }

// spoil kills the process and zeroes what a start looks at first; what earlier trials kept aside goes.
func (n *repairNode) spoil() {
	n.a.wanted = true
	n.a.kill()
	for _, dir := range []string{n.a.pluginDir(), n.a.efaPluginDir()}[:len(n.k)] {
		for _, name := range files(n.t, dir) {
			if strings.HasPrefix(name, "claims.store.damaged") {
				check(n.t, os.Remove(filepath.Join(dir, name)))
			}
		}
		zeroHeader(n.t, filepath.Join(dir, "claims.store"))
	}
}

// zeroHeader takes from a store what a start looks at first.
func zeroHeader(t *testing.T, store string) {
	t.Helper()
	f, err := os.OpenFile(store, os.O_WRONLY, 0)
	check(t, err)
	_, err = f.WriteAt(make([]byte, 8192), 0)
	check(t, err)
	check(t, f.Close())
}

// started starts the process under strace and waits until all stores are open, or the process has ended, or it is clear
// that neither comes.
func (n *repairNode) started(args ...string) (opened bool) {
	n.a.by = append([]string{"/usr/bin/strace", "-D"}, args...)
	mark := n.a.log.count()
	n.a.start()
	n.a.wanted = true // the fault may end it
	for end := time.Now().Add(faultLimit); n.a.running() && time.Now().Before(end); time.Sleep(time.Millisecond) {
		lines := strings.Join(n.a.log.slice(mark, n.a.log.count()), "\n")
		if strings.Count(lines, "event=store_opened") == len(n.k) {
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
	n.prepare(claim)
	n.spoil()
	switch opened := n.started("-o", "/dev/null", "-e", p.inject(f)); {
	case opened:
		r.ok++
	case n.a.running():
		r.refused++
	default:
		r.silent++
	}
	n.inspect(r, "start: "+p.inject(f), claim, rival, prepareV1, []bool{true, true})
}

// The same for a start that finds the header of its store, or of both stores, zeroed and makes the store again. Its points,
// 2,000 when all are taken, are shared by several nodes: a trial is mostly waiting.
func TestEverySystemCallOfARepairFails(t *testing.T) {
	t.Parallel()
	nodes := 1
	if allPoints {
		nodes = 16
	}
	for _, efa := range []bool{false, true} {
		if efa && !allPoints {
			continue // minutes more, for a code that both stores share
		}
		operation := map[bool]string{false: "start with repair", true: "start with repair of both stores"}[efa]
		t.Run(operation, func(t *testing.T) {
			t.Parallel()
			chosen := points((&repairNode{newFaultNode(t, efa)}).calls())
			all := make([]results, nodes)
			t.Cleanup(func() {
				for name, r := range joined(all) {
					r.add(operation, name)
				}
			})
			for i := range nodes {
				t.Run(fmt.Sprint("node ", i), func(t *testing.T) {
					t.Parallel()
					n, mine := &repairNode{newFaultNode(t, efa)}, results{}
					for k := i; k < len(chosen); k += nodes {
						r := mine.at(chosen[k])
						for _, f := range faults {
							n.trial(r, chosen[k], f)
						}
					}
					all[i] = mine
				})
			}
		})
	}
}
