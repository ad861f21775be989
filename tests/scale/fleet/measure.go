// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"time"
)

// spread says how long it took until a node was right, over all nodes, in seconds.
type spread struct {
	P50     float64 `json:"p50"`
	P99     float64 `json:"p99"`
	Last    float64 `json:"last"`
	Nodes   int     `json:"nodes"`
	Missing int     `json:"missing"` // nodes that were not right when patience ended
}

// phase is what one phase of a run took and cost.
type phase struct {
	Name    string             `json:"name"`
	Seconds float64            `json:"seconds"`
	Right   *spread            `json:"right,omitempty"`
	More    map[string]float64 `json:"more,omitempty"`

	Requests  map[string]int `json:"requests"` // "verb resource code": how many
	Sum       int            `json:"sum"`
	Refused   int            `json:"refused"`           // 429
	Denied    int            `json:"denied"`            // 403: the API server has not read its roles yet
	Earlier   int            `json:"earlier,omitempty"` // received before the phase began, and answered after the one before
	Events    int            `json:"events"`
	PerSecond []int          `json:"per_second"`
	NodesPer  []int          `json:"nodes_per_second"` // how many different nodes they name
	// The largest part of the fleet that the API server heard from in one second, and the most requests in one.
	MaxShare  float64 `json:"max_share"`
	MaxSecond int     `json:"max_second"`

	BytesTo   int64 `json:"bytes_to_server"`
	BytesFrom int64 `json:"bytes_from_server"`

	ServerCPU float64 `json:"apiserver_cpu_ms"` // since it was ready, where it was killed
	EtcdCPU   float64 `json:"etcd_cpu_ms"`
	AgentsCPU float64 `json:"agents_cpu_ms"`
	ServerRSS int64   `json:"apiserver_rss_kib"`
	PSS       int64   `json:"pss_kib,omitempty"`       // of all agents, with all their processes
	PSSAlone  int64   `json:"pss_alone_kib,omitempty"` // without the readers of sysfs

	Created    int     `json:"slices_created"`
	Updated    int     `json:"slices_updated"`
	Deleted    int     `json:"slices_deleted"`
	LongestGap float64 `json:"longest_gap_s"`
}

func seconds(d time.Duration) float64 {
	return float64(d.Round(time.Millisecond)) / float64(time.Second)
}
func milliseconds(d time.Duration) float64 {
	return float64(d.Round(10*time.Microsecond)) / float64(time.Millisecond)
}

// newSpread takes the seconds of the nodes that are right.
func newSpread(took []time.Duration, nodes int) *spread {
	s := &spread{Nodes: nodes, Missing: nodes - len(took)}
	if len(took) == 0 {
		return s
	}
	slices.Sort(took)
	at := func(part float64) float64 { return seconds(max(0, took[int(part*float64(len(took)-1))])) }
	s.P50, s.P99, s.Last = at(0.5), at(0.99), at(1)
	return s
}

// snapshot is what is counted up from the beginning of the run.
type snapshot struct {
	at                   time.Time
	server, etcd, agents time.Duration
	traffic              traffic
}

func (r *run) snapshot() snapshot {
	return snapshot{at: time.Now(), server: cpuOf(r.control.apiserver.pid), etcd: cpuOf(r.control.etcd.pid),
		agents: r.fleet.cpu(), traffic: readTraffic()}
}

// measure runs one phase between two snapshots.
func (r *run) measure(name string, one step) error {
	p := &phase{Name: name, More: map[string]float64{}}
	r.slices.reset()
	before := r.snapshot()
	r.serverBase = before.server
	if err := one.do(p); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	after := r.snapshot()
	p.Seconds = seconds(after.at.Sub(before.at))
	p.ServerCPU = milliseconds(after.server - r.serverBase)
	p.EtcdCPU = milliseconds(after.etcd - before.etcd)
	p.AgentsCPU = milliseconds(after.agents - before.agents)
	p.BytesTo = after.traffic.toServer - before.traffic.toServer
	p.BytesFrom = after.traffic.fromServer - before.traffic.fromServer
	p.ServerRSS = kibibytes([]int{r.control.apiserver.pid}, "status", "VmRSS")
	var gap time.Duration
	p.Created, p.Updated, p.Deleted, gap = r.slices.counts()
	p.LongestGap = seconds(gap)
	if one.after != nil {
		if err := one.after(p); err != nil {
			return fmt.Errorf("after %s: %w", name, err)
		}
	}
	time.Sleep(settle)
	p.count(r.audit.take(), before.at, r.s.Agents)
	r.result.Phases = append(r.result.Phases, p)
	p.print(r.s.Agents)
	return r.result.write(r.s.Output)
}

// count sorts the requests of the phase.
func (p *phase) count(requests []request, from time.Time, agents int) {
	p.Requests = map[string]int{}
	nodes := map[int]map[int]bool{}
	for _, q := range requests {
		p.Requests[fmt.Sprintf("%s %s %d", q.verb, q.resource, q.code)]++
		p.Sum++
		switch q.code {
		case 429:
			p.Refused++
		case 403:
			p.Denied++
		}
		if q.resource == "events" {
			p.Events++
		}
		if q.at.Before(from) {
			p.Earlier++
			continue
		}
		second := int(q.at.Sub(from) / time.Second)
		for len(p.PerSecond) <= second {
			p.PerSecond = append(p.PerSecond, 0)
		}
		p.PerSecond[second]++
		p.MaxSecond = max(p.MaxSecond, p.PerSecond[second])
		if q.node < 0 {
			continue
		}
		if nodes[second] == nil {
			nodes[second] = map[int]bool{}
		}
		nodes[second][q.node] = true
	}
	for second := range p.PerSecond {
		p.NodesPer = append(p.NodesPer, len(nodes[second]))
		p.MaxShare = max(p.MaxShare, float64(len(nodes[second]))/float64(agents))
	}
}

// answered are the requests that the API server was ready for: neither refused by flow control nor for want of roles.
func (p *phase) answered() int { return p.Sum - p.Refused - p.Denied }

func (p *phase) print(agents int) {
	right := "-"
	if p.Right != nil {
		right = fmt.Sprintf("%.1f/%.1f/%.1f s (%d missing)", p.Right.P50, p.Right.P99, p.Right.Last, p.Right.Missing)
	}
	n := float64(agents)
	fmt.Printf("%-16s %6.1f s  right %s  requests %.2f an agent (429: %d, 403: %d, Events %d)  %.1f/%.1f KiB to/from  "+
		"CPU ms an agent: server %.1f agents %.2f  max share %.0f %%  slices +%d ~%d -%d  gap %.1f s %v\n",
		p.Name, p.Seconds, right, float64(p.Sum)/n, p.Refused, p.Denied, p.Events, float64(p.BytesTo)/n/1024, float64(p.BytesFrom)/n/1024,
		p.ServerCPU/n, p.AgentsCPU/n, 100*p.MaxShare, p.Created, p.Updated, p.Deleted, p.LongestGap, p.More)
}
