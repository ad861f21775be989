// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A summary that was written after a phase, and never ended with its goals, is no result.
func TestReportRefusesAnAbortedRun(t *testing.T) {
	directory := t.TempDir()
	whole := &result{Program: "agent", Agents: 200, Kubelet: "registers", Phases: []*phase{{Name: "rest"}}, Goals: []goal{}}
	if err := whole.write(filepath.Join(directory, "whole.json")); err != nil {
		t.Fatal(err)
	}
	if _, err := readResults(directory); err != nil {
		t.Fatalf("a whole run is refused: %v", err)
	}
	whole.Goals = nil
	if err := whole.write(filepath.Join(directory, "aborted.json")); err != nil {
		t.Fatal(err)
	}
	if _, err := readResults(directory); err == nil || !strings.Contains(err.Error(), "aborted.json") {
		t.Fatalf("an aborted run is not refused by its name: %v", err)
	}
}

// Runs that differ in more than the number of agents are neither one kind in the table, nor one line of a plot.
func TestKindsOfRuns(t *testing.T) {
	kinds := map[string]bool{}
	for name, change := range map[string]func(r *result){"default": func(*result) {}, "level": func(r *result) { r.OwnLevel = true },
		"kernel": func(r *result) { r.KernelFiles = true }, "long": func(r *result) { r.Long = true },
		"selected":        func(r *result) { r.Selected = "install" },
		"level, selected": func(r *result) { r.OwnLevel, r.Selected = true, "install" }, "kubelet": func(r *result) { r.Kubelet = "absent" },
		"reference": func(r *result) { r.Program = "reference" }} {
		r := &result{Program: "agent", Agents: 200, Kubelet: "registers"}
		change(r)
		kinds[r.Program+r.around()] = true
		if byDefault(r) != (name == "default") || ownLevel(r) != strings.HasPrefix(name, "level") {
			t.Errorf("%s: drawn by default %v, as own level %v", name, byDefault(r), ownLevel(r))
		}
	}
	if len(kinds) != 8 {
		t.Errorf("%d kinds, not 8: %v", len(kinds), kinds)
	}
}

func TestGrowthStartsAt200(t *testing.T) {
	run := func(agents int) *result {
		return &result{Program: "agent", Agents: agents, Kubelet: "registers", Phases: []*phase{{Name: "install", Sum: agents}}}
	}
	for _, one := range []struct {
		runs []*result
		want string
	}{
		{[]*result{run(100), run(200), run(2000)}, "one of 2,000 (agent, kubelet registers) beside one of 200,"},
		{[]*result{run(100), run(500)}, "one of 500 (agent, kubelet registers) beside one of 100,"},
		{[]*result{run(200)}, ""},
	} {
		var out strings.Builder
		writeGrowth(&out, one.runs)
		if !strings.Contains(out.String(), one.want) || one.want == "" && out.Len() > 0 {
			t.Errorf("%q lacks %q", out.String(), one.want)
		}
	}
}

// A phase is found by its name, also where the run has one outage alone.
func TestOutages(t *testing.T) {
	r := &result{Phases: []*phase{{Name: "outage 30 s"}}}
	if r.phaseOf("short outage") != nil || r.phaseOf("long outage") == nil {
		t.Error("an outage of 30 s alone is not the long one")
	}
	s := &settings{OutageSeconds: 30, Phases: "install,outage"}
	if !s.wants("outage 5 s") || !s.wants("outage 30 s") || !s.wants("install") || s.wants("install again") {
		t.Error("the phases install,outage are not those three")
	}
	if err := s.knowPhases(); err != nil {
		t.Error(err)
	}
	s.Phases = "instal"
	if s.knowPhases() == nil {
		t.Error("an unknown phase is not refused")
	}
}

// auditLine is one line of the audit log, of a GET of a Node.
func auditLine(t *testing.T, stage string, received time.Time) []byte {
	t.Helper()
	text, err := json.Marshal(map[string]any{"stage": stage, "auditID": received.String(), "verb": "get",
		"requestURI": "/api/v1/nodes/" + nodeName(7), "requestReceivedTimestamp": received.UTC().Format("2006-01-02T15:04:05.000000Z"),
		"responseStatus": map[string]any{"code": 200}})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A request that is answered after its phase is counted once, in the phase that the answer is in.
func TestEachRequestCountsOnce(t *testing.T) {
	a, begun := &auditLog{watching: map[string]bool{}}, time.Now().Truncate(time.Second)
	a.add(auditLine(t, "ResponseComplete", begun.Add(time.Second)))
	first := &phase{}
	first.count(a.take(), begun, 10)
	a.add(auditLine(t, "ResponseComplete", begun.Add(2*time.Second))) // received in the first phase
	a.add(auditLine(t, "ResponseComplete", begun.Add(30*time.Second)))
	a.add([]byte("{half a li\n"))
	second := &phase{}
	second.count(a.take(), begun.Add(29*time.Second), 10)
	if first.Sum != 1 || first.Earlier != 0 || second.Sum != 2 || second.Earlier != 1 || !slices.Equal(second.NodesPer, []int{0, 1}) {
		t.Errorf("first %+v, second %+v", first, second)
	}
	if a.damagedLines() != 1 || len(a.take()) != 0 {
		t.Errorf("%d damaged lines, not one", a.damagedLines())
	}
}

// Only an agent that was killed and is not back may leave a call unanswered.
func TestUnansweredCalls(t *testing.T) {
	nobody, in := status.Error(codes.Unavailable, "no listener"), newTally(time.Now().Add(time.Hour))
	in.add(1, 0, true, nobody) // before the kill
	in.kills(1)
	in.add(1, 0, true, nobody)
	in.hasKilled(1)
	early := time.Now().Add(-time.Second)
	in.sawBack(1, early) // was called before the kill
	in.add(1, 0, false, nobody)
	in.add(2, 0, true, nobody) // of another node
	in.add(1, time.Millisecond, true, nil)
	in.sawBack(1, time.Now())
	in.add(1, 0, true, nobody) // is back
	if in.broken != 2 || in.unanswered != 3 || len(in.back) != 1 || in.inTime != 1 {
		t.Errorf("of the killed %d, others %d, back %v, in time %d", in.broken, in.unanswered, in.back, in.inTime)
	}
	in.end = time.Now().Add(-time.Second)
	in.add(2, time.Second, true, nil)
	p := &phase{More: map[string]float64{}}
	in.report(p, 1)
	if p.More["prepares"] != 2 || p.More["prepares_in_time"] != 1 || p.More["calls_unanswered"] != 3 {
		t.Errorf("%v", p.More)
	}
}

// A summary of an older release of this program lacks figures: the table says nothing of them.
func TestFiguresThatASummaryLacks(t *testing.T) {
	p := &phase{Name: "outage 5 s", More: map[string]float64{"apiserver_start_cpu_ms": 500}}
	if text := more("apiserver_start_s")(p, 200); text != "–" {
		t.Errorf("a figure that is missing is %q", text)
	}
	table := makeTable([]*result{{Program: "agent", Agents: 200, Kubelet: "registers", Phases: []*phase{p}, Goals: []goal{}}})
	for _, want := range []string{"| ms of processor of the API server's start, an agent |  | 2.50 |", "| 200 agents, kubelet registers |"} {
		if !strings.Contains(table, want) {
			t.Errorf("%q lacks %q", table, want)
		}
	}
}

func TestRewritten(t *testing.T) {
	old := map[string]stored{"a": {uid: "1", version: "5", generation: 1}, "b": {uid: "2", version: "6"}, "c": {uid: "3", version: "7"}}
	now := map[string]stored{"a": old["a"], "b": {uid: "2", version: "9"}}
	if count := rewritten(old, now); count != 2 {
		t.Errorf("%d rewritten, not the changed one and the missing one", count)
	}
}
