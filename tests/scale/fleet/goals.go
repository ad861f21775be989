// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
)

// goal is one aim of a fleet beside what was measured. A judged one is a count: when it is missed, the run fails.
// Times and memory are of a machine that does other things too: they are printed.
type goal struct {
	Name     string  `json:"name"`
	Limit    float64 `json:"limit"`
	Measured float64 `json:"measured"`
	Met      bool    `json:"met"`
	Judged   bool    `json:"judged"`
}

const (
	mostInstallRequests = 5    // an agent
	mostAgainRequests   = 3    // an agent, after the API server was away
	mostRefused         = 2.0  // percent of the requests
	mostEvents          = 0.1  // an agent, when a fleet starts
	mostGrowth          = 1.2  // of the cost of an agent, in a cluster that is full of what concerns none
	mostShare           = 10.0 // percent of the fleet that one second hears from
	mostInstallSeconds  = 35
	mostWatchSeconds    = 20
	mostDeletedSeconds  = 12
	mostInstallCPU      = 10  // ms of the API server, an agent
	mostRestCPU         = 2   // ms a minute, an agent
	mostPSS             = 420 // KiB, an agent
)

func percent(part, of float64) float64 {
	if of == 0 {
		return 0
	}
	return 100 * part / of
}

// goals are what the phases of this run came to.
func (r *result) goals() (all []goal) {
	add := func(judged bool, name string, limit, measured float64) {
		all = append(all, goal{name, limit, measured, measured <= limit, judged})
	}
	count := func(name string, limit, measured float64) { add(true, name, limit, measured) }
	figure := func(name string, limit, measured float64) { add(false, name, limit, measured) }
	agents := float64(r.Agents)
	count("agents that ended by themselves", 0, float64(len(r.Died)))
	var first *phase
	for _, p := range r.Phases {
		if p.Right != nil {
			count(p.Name+": nodes that are not right", 0, float64(p.Right.Missing))
		}
		each := float64(p.answered()) / agents
		switch {
		case p.Name == "install" || p.Name == "install again":
			count(p.Name+": requests an agent, without refused ones", mostInstallRequests, each)
			count(p.Name+": % refused by flow control", mostRefused, percent(float64(p.Refused), float64(p.Sum)))
			count(p.Name+": Events an agent", mostEvents, float64(p.Events)/agents)
			figure(p.Name+": s until all slices are right", mostInstallSeconds, p.Right.Last)
			figure(p.Name+": ms of the API server an agent", mostInstallCPU, p.ServerCPU/agents)
			figure(p.Name+": KiB PSS of the first process, shared pages divided among N agents", mostPSS, float64(p.PSSAlone)/agents)
			if first != nil {
				count(p.Name+": requests, times those of the first", mostGrowth, float64(p.answered())/float64(max(1, first.answered())))
				count(p.Name+": bytes from the API server, times those of the first", mostGrowth,
					float64(p.BytesFrom)/float64(max(1, first.BytesFrom)))
			}
			first = p
		case p.Name == "rest":
			figure("rest: ms a minute an agent", mostRestCPU, p.AgentsCPU/agents*60/p.Seconds)
		case p.Name == "slices deleted":
			figure("slices deleted: s until all are back", mostDeletedSeconds, p.Right.Last)
			figure("slices deleted: % of the fleet in one second", mostShare, 100*p.MaxShare)
		case strings.HasPrefix(p.Name, "outage"):
			count(p.Name+": requests an agent, without refused ones", mostAgainRequests, each)
			count(p.Name+": % refused by flow control", mostRefused, percent(float64(p.Refused), float64(p.Sum)))
			count(p.Name+": slices rewritten", 0, p.More["rewritten"])
			figure(p.Name+": s until all watches are back", mostWatchSeconds, p.Right.Last)
			figure(p.Name+": % of the fleet in one second", mostShare, 100*p.MaxShare)
		case p.Name == "rolling":
			count("rolling: slices rewritten", 0, p.More["rewritten"])
		case p.Name == "storm":
			count("storm: calls answered with an error, but for a late API server", 0, p.More["calls_refused"])
			count("storm: calls that nobody answered, but for killed agents", 0, p.More["calls_unanswered"])
		}
	}
	return all
}

// judge prints the goals and returns those that fail the run.
func (r *result) judge() (missed []string) {
	r.Goals = r.goals()
	for _, g := range r.Goals {
		verdict := "met"
		if !g.Met {
			verdict = "MISSED"
			if !g.Judged {
				verdict = "missed (printed only)"
			}
		}
		fmt.Printf("  %-74s at most %-6.4g measured %-8.4g %s\n", g.Name, g.Limit, g.Measured, verdict)
		if !g.Met && g.Judged {
			missed = append(missed, fmt.Sprintf("%s: %.4g, at most %.4g", g.Name, g.Measured, g.Limit))
		}
	}
	return missed
}
