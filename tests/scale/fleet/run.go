// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	resource "k8s.io/api/resource/v1"
)

const (
	pollEvery = 200 * time.Millisecond
	// After each phase: requests that end in it are of that phase. The audit log is read less than 0.3 s behind the API server.
	settle = 2 * time.Second
	// A phase goes on for so long after all is right: Events, and lists of claims, come late.
	late = 5 * time.Second
	// The shorter time without an API server.
	shortOutage = 5 * time.Second
)

// run is one fleet against one control plane.
type run struct {
	s       *settings
	control *control
	fleet   *fleet
	audit   *auditLog
	slices  *slicesWatch
	result  *result
	claims  []*resource.ResourceClaim // of the storm: one for each node
	old     map[string]stored         // slices before the phase, where it must not rewrite them

	serverBase time.Duration // processor time of the API server that is not the phase's
}

// result is the summary of a run.
type result struct {
	Program  string `json:"program"`
	Agents   int    `json:"agents"`
	Kubelet  string `json:"kubelet"`
	OwnLevel bool   `json:"own_level"`
	// What else differs from a run by default; Selected are the phases, where not all were asked for.
	KernelFiles bool     `json:"kernel_files,omitempty"`
	Long        bool     `json:"long,omitempty"`
	Selected    string   `json:"selected_phases,omitempty"`
	Commit      string   `json:"commit"`
	Kubernetes  string   `json:"kubernetes"`
	Date        string   `json:"date"`
	Cores       int      `json:"cores"`
	Load        string   `json:"load_average_before"`
	Died        []string `json:"died"`
	Damaged     int      `json:"audit_lines_damaged,omitempty"` // an API server was killed while it wrote them
	Phases      []*phase `json:"phases"`
	Goals       []goal   `json:"goals"` // null: the run did not come to its end
	Foreign     [2]int   `json:"foreign_claims_and_slices"`
}

// write writes a summary with one phase a line.
func (r *result) write(path string) error {
	head := *r
	head.Phases = nil
	text, err := json.MarshalIndent(head, "", " ")
	if err != nil {
		return err
	}
	var lines []string
	for _, p := range r.Phases {
		line, err := json.Marshal(p)
		if err != nil {
			return err
		}
		lines = append(lines, "  "+string(line))
	}
	whole := strings.Replace(string(text), `"phases": null`, "\"phases\": [\n"+strings.Join(lines, ",\n")+"\n ]", 1)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(whole+"\n"), 0o644)
}

func runAll(config string) error {
	s, err := readSettings(config)
	if err != nil {
		return err
	}
	if err := os.Remove(s.Output); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	r := &run{s: s, result: newResult(s)}
	if err := r.prepare(); err != nil {
		return err
	}
	if err := r.phases(); err != nil {
		return err
	}
	r.result.Died = r.fleet.deaths()
	r.result.Damaged = r.audit.damagedLines()
	missed := r.result.judge()
	if err := r.result.write(s.Output); err != nil {
		return err
	}
	if len(missed) > 0 {
		return fmt.Errorf("missed: %s", strings.Join(missed, "; "))
	}
	return nil
}

func newResult(s *settings) *result {
	load, _ := os.ReadFile("/proc/loadavg")
	before, _, _ := strings.Cut(string(load), " ")
	return &result{Program: s.Program, Agents: s.Agents, Kubelet: s.Kubelet, OwnLevel: s.OwnLevel, KernelFiles: s.KernelFiles, Long: s.Long,
		Selected: s.Phases, Commit: s.Commit, Kubernetes: s.Kubernetes,
		Date: time.Now().UTC().Format(time.DateOnly), Cores: runtime.NumCPU(), Load: before,
		Foreign: [2]int{s.ForeignClaims, s.ForeignSlices}}
}

// prepare brings up everything but the agents.
func (r *run) prepare() error {
	c := newChildren()
	network, err := newNetwork(c, r.s)
	if err != nil {
		return err
	}
	if r.control, err = startControl(c, r.s); err != nil {
		return err
	}
	if err := r.control.makeNodes(); err != nil {
		return err
	}
	if r.fleet, err = newFleet(c, network, r.s, r.control.kubeconfig); err != nil {
		return err
	}
	r.audit = followAudit(r.s.Audit)
	r.audit.noNode = r.s.Program != "agent"
	r.slices = watchSlices(context.Background(), r.control.client)
	time.Sleep(settle)
	return nil
}

// step is a phase, and what is done before and after it without being measured.
type step struct {
	before func() error
	do     func(p *phase) error
	after  func(p *phase) error
}

func (r *run) phases() error {
	s := r.s
	names := s.phaseNames()
	for number, one := range []step{
		{nil, r.install, nil},
		{nil, r.rest, nil},
		{nil, r.slicesDeleted, nil},
		{r.noteSlices, func(p *phase) error { return r.outage(p, shortOutage) }, r.countRewritten},
		{r.noteSlices, func(p *phase) error { return r.outage(p, s.longOutage()) }, r.countRewritten},
		{r.noteSlices, r.rolling, r.countRewritten},
		{nil, r.label, nil},
		{r.makeClaims, r.storm, nil},
		{r.fillAgain, r.install, nil},
	} {
		name := names[number]
		if !s.wants(name) {
			continue
		}
		if one.before != nil {
			if err := one.before(); err != nil {
				return fmt.Errorf("before %s: %w", name, err)
			}
			r.audit.take() // what the agents asked for meanwhile belongs to no phase
		}
		if err := r.measure(name, one); err != nil {
			return err
		}
	}
	return nil
}

// until polls done until it holds for all nodes or patience ends.
func (r *run) until(done func() map[int]time.Duration) []time.Duration {
	for end := time.Now().Add(r.s.patience()); ; time.Sleep(pollEvery) {
		found := done()
		if len(found) >= r.s.Agents || time.Now().After(end) {
			took := make([]time.Duration, 0, len(found))
			for _, d := range found {
				took = append(took, d)
			}
			return took
		}
	}
}

// wholeSince are the nodes whose slices became whole after a time, and how long after it.
func (r *run) wholeSince(from time.Time) map[int]time.Duration {
	found := map[int]time.Duration{}
	for number, p := range r.slices.copies() {
		if p.whole.After(from) {
			found[number] = p.whole.Sub(from)
		}
	}
	return found
}

// watching are the nodes whose watches began after their time, and how long after `zero`.
func (r *run) watching(from func(number int) time.Time, zero func(number int) time.Time) map[int]time.Duration {
	found := map[int]time.Duration{}
	for number, at := range r.audit.watchesSince(from) {
		found[number] = max(0, at.Sub(zero(number)))
	}
	return found
}

func same(t time.Time) func(int) time.Time { return func(int) time.Time { return t } }

// --- the phases ---

func (r *run) install(p *phase) error {
	begun := time.Now()
	if err := r.fleet.startAll(); err != nil {
		return err
	}
	p.More["spawning_s"] = seconds(time.Since(begun))
	p.Right = newSpread(r.until(func() map[int]time.Duration { return r.wholeSince(begun) }), r.s.Agents)
	watches := newSpread(r.until(func() map[int]time.Duration { return r.watching(same(begun), same(begun)) }), r.s.Agents)
	p.More["watches_p50_s"], p.More["watches_last_s"] = watches.P50, watches.Last
	p.More["watches_missing"] = float64(watches.Missing)
	time.Sleep(late)
	p.PSS, p.PSSAlone = r.fleet.pss()
	return nil
}

func (r *run) rest(p *phase) error {
	time.Sleep(time.Duration(r.s.RestSeconds) * time.Second)
	p.PSS, p.PSSAlone = r.fleet.pss()
	return nil
}

func (r *run) slicesDeleted(p *phase) error {
	begun := time.Now()
	if err := r.control.deleteSlices(); err != nil {
		return err
	}
	p.More["deleting_s"] = seconds(time.Since(begun))
	p.Right = newSpread(r.until(func() map[int]time.Duration { return r.wholeSince(begun) }), r.s.Agents)
	time.Sleep(late)
	return nil
}

func (r *run) outage(p *phase, length time.Duration) error {
	begun := time.Now() // as the seconds of per_second
	r.control.killAPIServer()
	killed := time.Now()
	time.Sleep(length)
	started := time.Now()
	ready, err := r.control.startAPIServer()
	if err != nil {
		return err
	}
	p.More["apiserver_start_s"] = seconds(ready.Sub(started))
	p.More["ready_at_s"] = seconds(ready.Sub(begun))
	starting := cpuOf(r.control.apiserver.pid)
	r.serverBase = starting
	p.More["apiserver_start_cpu_ms"] = milliseconds(starting)
	p.Right = newSpread(r.until(func() map[int]time.Duration { return r.watching(same(killed), same(ready)) }), r.s.Agents)
	time.Sleep(late)
	return nil
}

func (r *run) noteSlices() (err error) {
	r.old, err = r.control.listSlices()
	return err
}

// countRewritten asks the API server: the watch of this program may not be open again after an outage.
func (r *run) countRewritten(p *phase) error {
	now, err := r.control.listSlices()
	if err != nil {
		return err
	}
	p.More["rewritten"] = float64(rewritten(r.old, now))
	return nil
}

// rewritten counts the slices that are not the same objects in the same version.
func rewritten(old, now map[string]stored) (count int) {
	for name, s := range old {
		if now[name] != s {
			count++
		}
	}
	return count
}

// rolling replaces a tenth of the agents at a time. Of this program a new process starts beside the old one, as with
// maxSurge 1; the old one is ended once the new one's watches are there.
func (r *run) rolling(p *phase) error {
	agents, batch := r.fleet.agents, max(1, (r.s.Agents+9)/10)
	began := map[int]time.Time{}
	for first := 0; first < len(agents); first += batch {
		some := agents[first:min(first+batch, len(agents))]
		olds := make([]*process, len(some))
		for i, a := range some {
			if r.s.Program != "agent" {
				if err := r.fleet.end(a, syscall.SIGTERM); err != nil {
					return err
				}
			}
			began[a.number] = time.Now()
			var err error
			if olds[i], err = r.fleet.start(a); err != nil {
				return err
			}
		}
		r.untilBatch(some)
		if err := each(len(olds), len(olds), func(i int) error { return r.fleet.endProcess(olds[i], syscall.SIGTERM) }); err != nil {
			return err
		}
	}
	p.Right = newSpread(r.until(func() map[int]time.Duration { return r.watching(r.fleet.begun, r.fleet.begun) }), r.s.Agents)
	time.Sleep(late)
	return nil
}

func (r *run) untilBatch(some []*agent) {
	for end := time.Now().Add(r.s.patience()); time.Now().Before(end); time.Sleep(pollEvery) {
		found, all := r.watching(r.fleet.begun, r.fleet.begun), true
		for _, a := range some {
			_, there := found[a.number]
			all = all && there
		}
		if all {
			return
		}
	}
}

func (r *run) label(p *phase) error {
	begun := time.Now()
	value := "nn-2"
	patched, err := r.control.relabel(value)
	if err != nil {
		return err
	}
	p.More["labelling_s"] = seconds(time.Since(begun))
	p.More["right_from_patch"] = 1 // older summaries count from the first patch of all
	p.Right = newSpread(r.until(func() map[int]time.Duration {
		found := map[int]time.Duration{}
		for number, one := range r.slices.copies() {
			if one.label == value {
				found[number] = max(0, one.labelled.Sub(patched[number]))
			}
		}
		return found
	}), r.s.Agents)
	time.Sleep(late)
	return nil
}

// fillAgain fills the cluster with what concerns no agent, and makes each node new.
func (r *run) fillAgain() error {
	if err := r.control.fillForeign(); err != nil {
		return err
	}
	if err := r.fleet.endAll(syscall.SIGTERM); err != nil {
		return err
	}
	if err := r.control.deleteSlices(); err != nil {
		return err
	}
	for end := time.Now().Add(r.s.patience()); time.Now().Before(end); time.Sleep(pollEvery) {
		left := 0
		for _, p := range r.slices.copies() {
			left += len(p.slices)
		}
		if left == 0 {
			break
		}
	}
	time.Sleep(settle)
	return r.fleet.makeDirectories()
}
