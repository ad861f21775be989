// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	resource "k8s.io/api/resource/v1"
	dra "k8s.io/kubelet/pkg/apis/dra/v1"
)

const (
	heldMost   = 256 // the agent's table of claims, CLAIMS_MAX in cfg/limits.h
	heldSome   = 100
	settleTime = 3 * time.Second
	warmUp     = 20 // claims before the first figure
	claimsAGo  = 50 // between two collections of this program's own garbage
	sideCount  = 2
)

type operation int

const (
	prepareNew operation = iota
	prepareAgain
	unprepareOne
	operations
)

// series is what one side did in all calls of one kind.
type series struct {
	times   []time.Duration
	cpu     time.Duration
	counted counts
}

func (s *series) percentile(p int) time.Duration { return quantile(s.times, float64(p)/100) }

// load is the calls of both sides with a number of other claims held.
type load struct {
	name    string
	bound   bool // the wanted ratios are those of this load
	claims  int  // of a call
	devices int  // of a claim
	series  [sideCount][operations]series
	missing [kinds]error // why something was not counted
}

func newLoad(name string) *load { return &load{name: name, claims: 1, devices: 1} }

// bench is one run.
type bench struct {
	options *options
	sides   [sideCount]*side
	starts  [sideCount]series
	rest    map[int][sideCount]footprint // by claims held
	loads   []*load
	held    *heldCost
	floors  *floors
	paced   []pacedRow
	wire    []figure
	claims  int // made so far

	unlimited   error       // why the processor could not be limited
	interrupted atomic.Bool // by a signal: everything is put away before the end
}

var errInterrupted = errors.New("interrupted")

func run(o *options) (*result, error) {
	debug.SetGCPercent(-1) // collected between the calls that are timed
	debug.SetMemoryLimit(2 << 30)
	p, remove, err := makePlaces(o.dir)
	defer remove()
	if err != nil {
		return nil, err
	}
	out, err := exec.Command("/usr/bin/python3", o.simnode, "make", "--board", "trn2.48xlarge", "--dir", p.node).
		CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", o.simnode, err, out)
	}
	api, err := startAPIServer()
	if err != nil {
		return nil, err
	}
	defer api.listener.Close()
	b := &bench{options: o, rest: map[int][sideCount]footprint{}}
	b.sides[0], err = newSide("agent", o.agent, api, p, "--proc-root", "/proc",
		"--healthcheck-port", "-1", "--metrics-port", "-1")
	if err != nil {
		return nil, err
	}
	if b.sides[1], err = newSide("other", o.reference, api, p); err != nil {
		return nil, err
	}
	defer func() {
		for _, s := range b.sides {
			_ = s.stop()
		}
	}()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() { <-signals; b.interrupted.Store(true) }()
	waitForIdle(o.patience)
	before := loadAverage()
	if err := b.measure(); err != nil {
		return nil, err
	}
	return b.result(p, before)
}

func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	words := strings.Fields(string(text))
	if err != nil || len(words) < 3 {
		return "unknown"
	}
	return strings.Join(words[:3], " ")
}

func (b *bench) measure() error {
	steps := []func() error{b.measureStarts, b.compare, b.warm, b.restart,
		func() error { return b.measureRest(0) },
		func() error { return b.measureCalls(newLoad(heldName(0)), true) },
		b.measureShapes,
		b.measureOpen,
		b.measureSome,
		func() error { return hold(b.sides[:], heldMost) },
		func() error { return b.measureRest(heldMost) },
		b.releaseOne,
		func() error { return b.measureCalls(newLoad(heldName(heldMost)), true) },
		b.releaseAll,
		b.measureHeld,
		b.measureFloor,
		b.measureWire,
		b.measureLimited,
	}
	for _, step := range steps {
		if b.interrupted.Load() {
			return errInterrupted
		}
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// eachSide does something with both, in an order that changes.
func (b *bench) eachSide(do func(i int, s *side) error) error {
	first := rand.IntN(sideCount)
	for n := range sideCount {
		i := (first + n) % sideCount
		if err := do(i, b.sides[i]); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) measureStarts() error {
	for range b.options.starts {
		err := b.eachSide(func(i int, s *side) error {
			took, err := s.start()
			if err != nil {
				return err
			}
			b.starts[i].times = append(b.starts[i].times, took)
			if _, err := s.waitPublished(); err != nil {
				return err
			}
			return s.stop()
		})
		if err != nil {
			return err
		}
	}
	return b.restart()
}

// restart gives figures of rest a fresh process.
func (b *bench) restart() error {
	return b.eachSide(func(_ int, s *side) error {
		if err := s.stop(); err != nil {
			return err
		}
		_, err := s.start()
		return err
	})
}

func (b *bench) compare() error {
	var slices [sideCount]*resource.ResourceSlice
	for i, s := range b.sides {
		slice, err := s.waitPublished()
		if err != nil {
			return err
		}
		slices[i] = slice
	}
	if err := compareSlices(slices); err != nil {
		return err
	}
	return compareAnswers(b.sides)
}

func (b *bench) warm() error { return b.calls(newLoad(""), warmUp) }

func (b *bench) measureRest(held int) error {
	time.Sleep(settleTime)
	var rest [sideCount]footprint
	for i, s := range b.sides {
		f, err := s.footprint()
		if err != nil {
			return err
		}
		rest[i] = f
	}
	b.rest[held] = rest
	return nil
}

// hold prepares claims that stay.
func hold(sides []*side, count int) error {
	for n := range count {
		for _, s := range sides {
			c := heldClaim(s.node, n)
			s.api.addClaim(c)
			if _, err := s.prepare(named(c)); err != nil {
				return err
			}
		}
	}
	return nil
}

// releaseOne makes room for the claim that is measured: with it, as many are held as the agent can hold.
func (b *bench) releaseOne() error { return release(b.sides[:], heldMost-1, heldMost) }

func (b *bench) releaseAll() error { return release(b.sides[:], 0, heldMost-1) }

func release(sides []*side, from, to int) error {
	for n := from; n < to; n++ {
		for _, s := range sides {
			if err := s.unprepare(named(heldClaim(s.node, n))); err != nil {
				return err
			}
		}
	}
	return nil
}

func heldName(held int) string { return fmt.Sprintf("%d claims held", held) }

func (b *bench) measureCalls(l *load, bound bool) error {
	l.bound = bound
	b.loads = append(b.loads, l)
	warm := *l
	if err := b.calls(&warm, warmUp); err != nil {
		return err
	}
	return b.calls(l, b.options.claims)
}

// measureShapes: calls that prepare more than one device.
func (b *bench) measureShapes() error {
	wide, many := newLoad("a claim of 16 devices"), newLoad("8 claims a call")
	wide.devices, many.claims = devicesCount, 8
	return errors.Join(b.measureCalls(wide, false), b.measureCalls(many, false))
}

func (b *bench) measureSome() error {
	if err := hold(b.sides[:], heldSome); err != nil {
		return err
	}
	return errors.Join(b.measureCalls(newLoad(heldName(heldSome)), false), release(b.sides[:], 0, heldSome))
}

// measureLimited gives each side the processor time that AWS's chart gives its driver. It does nothing where
// there is no such limit to be had.
func (b *bench) measureLimited() error {
	for _, s := range b.sides {
		limit, err := newCPULimit()
		if err == nil {
			defer limit.remove()
			defer func() { _ = s.stop() }() // before that
			err = limit.hold(s.cmd.Process.Pid)
		}
		if err != nil {
			b.unlimited = err
			return nil
		}
	}
	l := newLoad(limitName)
	b.loads = append(b.loads, l)
	if err := b.calls(l, b.options.limited); err != nil {
		return err
	}
	return b.measurePaced(pacedName, pacedRate, b.options.limited)
}

func (b *bench) calls(l *load, count int) error {
	var counting [sideCount]*counters
	for i, s := range b.sides {
		counting[i] = openCounters(s)
		defer counting[i].close()
		l.missing = counting[i].missing
	}
	for n := range count {
		if b.interrupted.Load() {
			return errInterrupted
		}
		if n%claimsAGo == 0 {
			runtime.GC()
		}
		if err := b.oneCall(l, counting); err != nil {
			return err
		}
	}
	return nil
}

// usage is what a side has used until now.
type usage struct {
	cpu     time.Duration
	counted counts
}

func (c *counters) usage() (u usage, err error) {
	u.cpu = c.side.cpu()
	u.counted, err = c.read()
	return u, err
}

func (s *series) add(took time.Duration) { s.times = append(s.times, took) }

func (s *series) use(before, after usage) {
	s.cpu += after.cpu - before.cpu
	for k := range s.counted {
		s.counted[k] += after.counted[k] - before.counted[k]
	}
}

// oneCall prepares claims on both sides, prepares them again, and unprepares them, each call in turn. What a
// side does after its answer counts as its own until its next call begins.
func (b *bench) oneCall(l *load, counting [sideCount]*counters) (err error) {
	var claims [sideCount][]*dra.Claim
	for range l.claims {
		for i, s := range b.sides {
			c := wideClaim(s.node, b.claims, l.devices)
			s.api.addClaim(c)
			defer s.api.dropClaim(c)
			claims[i] = append(claims[i], named(c))
		}
		b.claims++
	}
	var used [sideCount]usage
	for i := range b.sides {
		if used[i], err = counting[i].usage(); err != nil {
			return err
		}
	}
	for op := range operations {
		err := b.eachSide(func(i int, s *side) error {
			begun := time.Now()
			err := s.call(op, claims[i])
			l.series[i][op].add(time.Since(begun))
			return err
		})
		if err != nil {
			return err
		}
		for i := range b.sides {
			before := used[i]
			if used[i], err = counting[i].usage(); err != nil {
				return err
			}
			l.series[i][op].use(before, used[i])
		}
	}
	return nil
}

func (s *side) call(op operation, claims []*dra.Claim) error {
	if op == unprepareOne {
		return s.unprepare(claims...)
	}
	_, err := s.prepare(claims...)
	return err
}
