// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	tableBegin = "<!-- table: written by make scale UPDATE=1 -->"
	tableEnd   = "<!-- table: end -->"
)

// report writes the table of all summaries in a directory, and their plots.
func report(directory, readme, plots string) error {
	results, err := readResults(directory)
	if err != nil {
		return err
	}
	if plots != "" {
		if err := plotAll(results, plots); err != nil {
			return err
		}
	}
	table := makeTable(results)
	if readme == "" {
		fmt.Print(table)
		return nil
	}
	text, err := os.ReadFile(readme)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(text), tableBegin)
	_, after, closed := strings.Cut(rest, tableEnd)
	if !found || !closed {
		return fmt.Errorf("%s lacks the line %q or %q", readme, tableBegin, tableEnd)
	}
	return os.WriteFile(readme, []byte(before+tableBegin+"\n\n"+table+"\n"+tableEnd+after), 0o644)
}

func readResults(directory string) ([]*result, error) {
	paths, err := filepath.Glob(filepath.Join(directory, "*.json"))
	if err != nil {
		return nil, err
	}
	var all []*result
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		one := &result{}
		if err := json.Unmarshal(text, one); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if one.Goals == nil {
			return nil, fmt.Errorf("%s is of a run that did not come to its end (%d phases): run it again, or delete the file",
				path, len(one.Phases))
		}
		all = append(all, one)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s holds no summary: make scale writes one", directory)
	}
	slices.SortFunc(all, func(a, b *result) int {
		return cmp.Or(cmp.Compare(a.Program, b.Program), cmp.Compare(a.around(), b.around()), cmp.Compare(a.Agents, b.Agents))
	})
	return all, nil
}

// around is what a run had beside the control plane and the agents.
func (r *result) around() string {
	text := "kubelet " + r.Kubelet
	if r.OwnLevel {
		text += ", priority level of its own"
	}
	if r.KernelFiles {
		text += ", health files of the kernel"
	}
	if r.Long {
		text += ", other lengths and sizes"
	}
	if r.Selected != "" {
		text += ", phases " + r.Selected
	}
	return text
}

// phaseOf finds a phase of the run by its kind; of two outages the short and the long one.
func (r *result) phaseOf(kind string) *phase {
	for _, p := range r.Phases {
		name := p.Name
		switch {
		case name == outageName(shortOutage):
			name = "short outage"
		case strings.HasPrefix(name, "outage"):
			name = "long outage"
		}
		if name == kind {
			return p
		}
	}
	return nil
}

// row is one line of the table: what it says of a phase of a run.
type row struct {
	phase, title, goal string
	value              func(p *phase, agents float64) string
}

func number(value float64) string {
	switch {
	case value == 0:
		return "0"
	case value >= 1000:
		return thousands(int64(value + 0.5))
	case value >= 100:
		return fmt.Sprintf("%.0f", value)
	case value >= 10:
		return fmt.Sprintf("%.1f", value)
	default:
		return fmt.Sprintf("%.2f", value)
	}
}

func thousands(value int64) string {
	digits := strconv.FormatInt(value, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func spreadText(p *phase, _ float64) string {
	if p.Right == nil {
		return "–"
	}
	text := fmt.Sprintf("%s / %s / %s", number(p.Right.P50), number(p.Right.P99), number(p.Right.Last))
	if p.Right.Missing > 0 {
		text += fmt.Sprintf(", %d never", p.Right.Missing)
	}
	return text
}

func requestsText(p *phase, agents float64) string {
	return number(float64(p.answered())/agents) + " / " + number(float64(p.Sum)/agents)
}
func refusedText(p *phase, _ float64) string {
	return number(percent(float64(p.Refused), float64(p.Sum)))
}
func bytesText(p *phase, agents float64) string {
	return number(float64(p.BytesTo)/agents/1024) + " / " + number(float64(p.BytesFrom)/agents/1024)
}
func cpuText(p *phase, agents float64) string {
	return number(p.ServerCPU/agents) + " / " + number(p.AgentsCPU/agents)
}
func shareText(p *phase, _ float64) string { return number(100 * p.MaxShare) }
func gapText(p *phase, _ float64) string   { return number(p.LongestGap) }

// more is a figure of the phase that not every summary has.
func more(key string) func(*phase, float64) string {
	return moreOf(func(p *phase, _ float64) string { return number(p.More[key]) }, key)
}

// moreOf is a text from such figures: a summary that lacks one says nothing of it.
func moreOf(text func(*phase, float64) string, keys ...string) func(*phase, float64) string {
	return func(p *phase, agents float64) string {
		for _, key := range keys {
			if _, found := p.More[key]; !found {
				return "–"
			}
		}
		return text(p, agents)
	}
}

const (
	rightTitle    = "s until right, p50 / p99 / last"
	requestsTitle = "requests an agent, without / with refused ones"
	refusedTitle  = "refused (429), %"
	bytesTitle    = "KiB to / from the API server, an agent"
	cpuTitle      = "ms of processor: API server / agent, an agent"
	shareTitle    = "most of the fleet in one second, %"
	gapTitle      = "longest time without a slice, s"
)

func installRows(kind string) []row {
	return []row{
		{kind, rightTitle, "last ≤ 35", spreadText},
		{kind, "s to start the processes", "", more("spawning_s")},
		{kind, requestsTitle, "≤ 5", requestsText},
		{kind, refusedTitle, "≤ 2", refusedText},
		{kind, "Events an agent", "≤ 0.1", func(p *phase, agents float64) string { return number(float64(p.Events) / agents) }},
		{kind, bytesTitle, "", bytesText},
		{kind, cpuTitle, "API server ≤ 10", cpuText},
		{kind, shareTitle, "", shareText},
		{kind, "KiB of memory an agent, without / with its readers (PSS: what agents share is divided among them)", "≤ 420", func(p *phase, agents float64) string {
			return number(float64(p.PSSAlone)/agents) + " / " + number(float64(p.PSS)/agents)
		}},
		{kind, "MiB of memory of the API server (RSS)", "", func(p *phase, _ float64) string { return number(float64(p.ServerRSS) / 1024) }},
	}
}

func outageRows(kind string) []row {
	return []row{
		{kind, "s from the API server's start to its first ready answer", "", more("apiserver_start_s")},
		{kind, "ms of processor of the API server's start, an agent", "", moreOf(func(p *phase, agents float64) string {
			return number(p.More["apiserver_start_cpu_ms"] / agents)
		}, "apiserver_start_cpu_ms")},
		{kind, "s from ready API server to watches, p50 / p99 / last", "last ≤ 20", spreadText},
		{kind, requestsTitle, "≤ 3", requestsText},
		{kind, refusedTitle, "≤ 2", refusedText},
		{kind, bytesTitle, "", bytesText},
		{kind, cpuTitle, "", cpuText},
		{kind, shareTitle, "≤ 10", shareText},
		{kind, "slices rewritten", "0", more("rewritten")},
	}
}

func rows() []row {
	perMinute := func(value func(p *phase) float64) func(*phase, float64) string {
		return func(p *phase, agents float64) string { return number(value(p) / agents * 60 / p.Seconds) }
	}
	all := installRows("install")
	all = append(all,
		row{"rest", "ms of processor a minute, an agent", "≤ 2", perMinute(func(p *phase) float64 { return p.AgentsCPU })},
		row{"rest", "ms of the API server a minute, an agent", "", perMinute(func(p *phase) float64 { return p.ServerCPU })},
		row{"rest", "requests a minute, an agent", "", perMinute(func(p *phase) float64 { return float64(p.Sum) })},
		row{"slices deleted", rightTitle, "last ≤ 12", spreadText},
		row{"slices deleted", requestsTitle, "", requestsText},
		row{"slices deleted", refusedTitle, "", refusedText},
		row{"slices deleted", cpuTitle, "", cpuText},
		row{"slices deleted", shareTitle, "≤ 10", shareText},
		row{"slices deleted", gapTitle, "", gapText})
	all = append(all, outageRows("short outage")...)
	all = append(all, outageRows("long outage")...)
	all = append(all,
		row{"rolling", "s from start to watches, p50 / p99 / last", "", spreadText},
		row{"rolling", requestsTitle, "", requestsText},
		row{"rolling", cpuTitle, "", cpuText},
		row{"rolling", "slices rewritten", "0", more("rewritten")},
		row{"rolling", gapTitle, "", gapText},
		row{"label", "s from the patch of a Node to its slices, p50 / p99 / last", "", moreOf(spreadText, "right_from_patch")},
		row{"label", requestsTitle, "", requestsText},
		row{"label", cpuTitle, "", cpuText},
		row{"storm", "claims prepared a second, without those that are late", "", moreOf(func(p *phase, _ float64) string {
			return number(p.More["prepares_in_time"] / p.More["storm_s"])
		}, "prepares_in_time", "storm_s")},
		row{"storm", "prepare, ms, p50 / p99", "", moreOf(func(p *phase, _ float64) string {
			return number(p.More["prepare_p50_ms"]) + " / " + number(p.More["prepare_p99_ms"])
		}, "prepare_p50_ms", "prepare_p99_ms")},
		row{"storm", "calls answered with an error, of which too late for the API server", "0", func(p *phase, _ float64) string {
			return thousands(int64(p.More["calls_refused"]+p.More["calls_late"])) + ", " + thousands(int64(p.More["calls_late"]))
		}},
		row{"storm", "calls that nobody answered: of killed agents, of others", "others 0", moreOf(func(p *phase, _ float64) string {
			return thousands(int64(p.More["calls_while_killed"])) + ", " + thousands(int64(p.More["calls_unanswered"]))
		}, "calls_unanswered")},
		row{"storm", "s from kill -9 to the next prepared claim, p50 / p99 / last", "", spreadText},
		row{"storm", requestsTitle, "", requestsText},
		row{"storm", cpuTitle, "", cpuText})
	return append(all, installRows("install again")...)
}

var phaseTitles = map[string]string{"install": "first installation", "install again": "first installation in a full cluster",
	"rest": "rest", "slices deleted": "all slices deleted", "short outage": "API server killed, short", "long outage": "API server killed, long",
	"rolling": "rolling restart, 10 % at a time", "label": "a label of every node changed", "storm": "storm of claims, 10 % killed"}

// makeTable has a column for each run.
func makeTable(results []*result) string {
	var out strings.Builder
	header, line := "| phase | figure | goal |", "|---|---|---|"
	for _, r := range results {
		name := "agents"
		if r.Program != "agent" {
			name = "of the Go reference"
		}
		header += fmt.Sprintf(" %s %s, %s |", thousands(int64(r.Agents)), name, r.around())
		line += "---|"
	}
	fmt.Fprintln(&out, header+"\n"+line)
	last := ""
	for _, one := range rows() {
		title := phaseTitles[one.phase]
		if one.phase == last {
			title = ""
		}
		last = one.phase
		fmt.Fprintf(&out, "| %s | %s | %s |", title, one.title, one.goal)
		for _, r := range results {
			text := "–"
			if p := r.phaseOf(one.phase); p != nil {
				text = one.value(p, float64(r.Agents))
			}
			fmt.Fprintf(&out, " %s |", text)
		}
		fmt.Fprintln(&out)
	}
	writeGrowth(&out, results)
	fmt.Fprintln(&out, "\nThe runs:")
	fmt.Fprintln(&out)
	for _, r := range results {
		var outages []string
		for _, p := range r.Phases {
			if length, found := strings.CutPrefix(p.Name, "outage "); found {
				outages = append(outages, length)
			}
		}
		fmt.Fprintf(&out, "- %s of %s, %s: %s, commit %s, Kubernetes %s, %d cores, load average %s before", thousands(int64(r.Agents)),
			r.Program, r.around(), r.Date, r.Commit, r.Kubernetes, r.Cores, r.Load)
		if len(outages) > 0 {
			fmt.Fprintf(&out, "; outages of %s", strings.Join(outages, " and "))
		}
		if r.phaseOf("install again") != nil {
			fmt.Fprintf(&out, "; %s foreign claims and %s foreign slices", thousands(int64(r.Foreign[0])), thousands(int64(r.Foreign[1])))
		}
		fmt.Fprintln(&out, ".")
	}
	return out.String()
}

// growthBase is the number of agents that the goal of growth starts from.
const growthBase = 200

// writeGrowth compares what an agent costs in the largest run with that of growthBase, or the smallest, of the same kind.
func writeGrowth(out *strings.Builder, results []*result) {
	kinds := map[string][]*result{}
	var order []string
	for _, r := range results { // sorted by number of agents
		kind := r.Program + ", " + r.around()
		if kinds[kind] == nil {
			order = append(order, kind)
		}
		kinds[kind] = append(kinds[kind], r)
	}
	for _, kind := range order {
		small, large := baseOf(kinds[kind]), kinds[kind][len(kinds[kind])-1]
		if small == large {
			continue
		}
		fmt.Fprintf(out, "\nCost of one of %s (%s) beside one of %s, goal ≤ 1.2; requests with the refused ones:", thousands(int64(large.Agents)), kind,
			thousands(int64(small.Agents)))
		end := ""
		for _, name := range []string{"install", "short outage", "install again"} {
			a, b := small.phaseOf(name), large.phaseOf(name)
			if a == nil || b == nil {
				continue
			}
			times := func(value func(p *phase) float64) float64 {
				return value(b) / float64(large.Agents) / max(1e-9, value(a)/float64(small.Agents))
			}
			fmt.Fprintf(out, "%s %s %.2f × requests, %.2f × bytes, %.2f × processor time of the API server", end, phaseTitles[name],
				times(func(p *phase) float64 { return float64(p.Sum) }),
				times(func(p *phase) float64 { return float64(p.BytesTo + p.BytesFrom) }),
				times(func(p *phase) float64 { return p.ServerCPU }))
			end = ";"
		}
		fmt.Fprintln(out, ".")
	}
}

func baseOf(runs []*result) *result {
	for _, r := range runs {
		if r.Agents == growthBase {
			return r
		}
	}
	return runs[0]
}
