// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	resource "k8s.io/api/resource/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	dra "k8s.io/kubelet/pkg/apis/dra/v1"
)

const (
	soakTurn  = 20 * time.Second // churn, then rest: what a turn counts is a rate
	soakCycle = 3                // turns from one restart of the API server to the next
	soakWarm  = soakCycle        // turns before the first sample
	soakHeld  = 8                // claims that are held at each sample
	soakSwap  = 20               // claims that come and go in a turn
)

// soakSample is what the agent has at the end of a turn, with no call under way, and what it asked in that turn.
type soakSample map[string]float64

// soakGrowth is how much more the last quarter may have than the first: a share of it, and an amount.
var soakGrowth = map[string]struct{ share, amount float64 }{
	"PSS, KiB":              {0.02, 16}, // clean pages of the program come and go
	"anonymous memory, KiB": {0, 16},    // pages of static tables that something touches for the first time; there is no heap
	"file descriptors":      {0, 0.5},
	"CDI files":             {0, 0},
	"store, octets":         {0, 0},
	"store on disk, octets": {0, 0},
	"other files of ours":   {0, 0},
	"requests":              {0.1, 2}, // a renewed watch falls into one quarter or another
	"log lines":             {0.1, 4},
}

func mean(samples []soakSample, name string) (sum float64) {
	for _, s := range samples {
		sum += s[name]
	}
	return sum / float64(len(samples))
}

// soakQuarters are the first and the last quarter, each of whole cycles.
func soakQuarters(samples []soakSample) (first, last []soakSample) {
	n := len(samples) / 4 / soakCycle * soakCycle
	return samples[:n], samples[len(samples)-n:]
}

// grown names what the last quarter has too much of.
func grown(samples []soakSample) (names []string) {
	first, last := soakQuarters(samples)
	for _, name := range slices.Sorted(maps.Keys(soakGrowth)) {
		before, allowed := mean(first, name), soakGrowth[name]
		if mean(last, name) > before*(1+allowed.share)+allowed.amount {
			names = append(names, name)
		}
	}
	return names
}

// What TestSoak compares finds each quantity that grows slowly, and nothing where all stay.
func TestGrowthIsFound(t *testing.T) {
	t.Parallel()
	samples := func(growing string) (all []soakSample) {
		for turn := range 60 {
			s := soakSample{}
			for name := range soakGrowth {
				s[name] = 1000 + float64(turn%soakCycle) // a restart has its own share
			}
			if growing != "" {
				s[growing] += 10 * float64(turn)
			}
			all = append(all, s)
		}
		return all
	}
	equalStrings(t, "growth of a steady node", grown(samples("")))
	for name := range soakGrowth {
		equalStrings(t, "growth of "+name, grown(samples(name)), name)
	}
}

// soak is one node that lives for a long time.
type soak struct {
	t       *testing.T
	api     *apiServer
	a       *agent
	k       *kubelet
	turn    int
	held    []*dra.Claim
	objects map[string]*resource.ResourceClaim
	lines   int // of the log that were forgotten in this turn
	took    soakSample
}

// Hours of a node's life: claims, restarts of the API server, devices that fall ill and recover, labels that change. The agent
// has no more of anything at the end than at the beginning, and asks no more. `make soak` sets the length.
//
// Slices change faster here than the agent writes them (SLICE_REPAIRS_FREE in cfg/limits.h): after some turns it lives at its own
// limit, and a turn takes as long as that limit makes it.
func TestSoak(t *testing.T) {
	hours, err := strconv.ParseFloat(os.Getenv("SOAK_HOURS"), 64)
	if err != nil || hours <= 0 {
		t.Fatalf("SOAK_HOURS %q is no length: make soak HOURS=2", os.Getenv("SOAK_HOURS"))
	}
	over := time.Now().Add(time.Duration(hours * float64(time.Hour)))
	s := &soak{t: t, api: newAPIServer(t), objects: map[string]*resource.ResourceClaim{}, took: soakSample{}}
	s.api.bookmarks = time.Minute // as a real one
	s.api.up()
	s.a, s.k = running(t, s.api, "trn2.48xlarge", "--driver-version", "2.30.2.0")
	var samples []soakSample
	// A busy machine makes turns longer, and their number less; four quarters of a cycle each there must be.
	for ; len(samples) < 4*soakCycle || time.Now().Before(over); s.turn++ {
		end := time.Now().Add(soakTurn)
		s.step("claims", s.claims)
		if s.turn%soakCycle == 0 {
			s.step("restart of the API server", s.restartServer)
		}
		s.step("flip of health", s.flipHealth)
		s.step("change of a label", s.changeLabel)
		time.Sleep(time.Until(end))
		sample := s.sample()
		if s.turn >= soakWarm {
			samples = append(samples, sample)
		}
	}
	s.report(samples)
	for _, name := range grown(samples) {
		t.Errorf("grown: %s", name)
	}
	for _, c := range s.held {
		s.k.unprepareOK(c)
	}
	s.a.noCDI()
}

// step says in the samples how long a part of the turn took until the agent had done its part.
func (s *soak) step(name string, do func()) {
	begun := time.Now()
	do()
	s.took["seconds: "+name] = time.Since(begun).Seconds()
	s.t.Logf("turn %d: %s: %.1f s", s.turn, name, time.Since(begun).Seconds())
}

// add puts a claim for one of the first twelve devices at the API server; the others fall ill.
func (s *soak) add(name string, device int) *dra.Claim {
	c := s.api.addClaim(newClaim(name, fmt.Sprintf("req=%d", device)))
	s.objects[name] = c
	return named(c)
}

func (s *soak) drop(c *dra.Claim) {
	s.k.unprepareOK(c)
	s.api.removeClaim(s.objects[c.Name])
	delete(s.objects, c.Name)
}

func (s *soak) claims() {
	for n := range soakSwap {
		c := s.add(fmt.Sprintf("soak-%d-%d", s.turn, n), soakHeld+n%4)
		s.k.prepareOK(c)
		s.k.prepareOK(c)
		s.drop(c)
	}
	if len(s.held) == soakHeld { // the oldest pod ends, another one gets its device
		s.drop(s.held[0])
		s.held = s.held[1:]
	}
	for len(s.held) < soakHeld {
		device := len(s.held)
		if s.turn > 0 {
			device = (s.turn - 1) % soakHeld
		}
		c := s.add(fmt.Sprintf("held-%d-%d", s.turn, device), device)
		s.k.prepareOK(c)
		s.held = append(s.held, c)
	}
}

func (s *soak) restartServer() {
	s.api.down()
	s.a.waitLog(0, "event=api_connection_lost")
	s.k.prepareOK(s.held[0])
	s.forgetLog()
	s.api.up()
	waitForLong(s.t, longPatience, "the watch", s.api.watching)
}

// flipHealth lets one of the last four devices fall ill and recover.
func (s *soak) flipHealth() {
	number := 12 + s.turn%4
	file := fmt.Sprintf("neuron%d/%s", number, unhealthyComponents)
	simnode(s.t, "set", "--dir", s.a.node, file, "hbm\n")
	waitForLong(s.t, longPatience, "the taint", func() bool {
		return len(s.api.own()) == 1 && len(taintsOf(s.api, number)) == 1
	})
	simnode(s.t, "set", "--dir", s.a.node, file, "\n")
}

func (s *soak) changeLabel() {
	layer := fmt.Sprintf("nn-%d", s.turn)
	s.api.changeNode(func(m *meta.ObjectMeta) { m.Labels["topology.k8s.aws/network-node-layer-3"] = layer })
	waitForLong(s.t, longPatience, "the new label", func() bool {
		own := s.api.own()
		if len(own) != 1 {
			return false
		}
		value := own[0].Spec.Devices[0].Attributes["networkNodeLayer3"].StringValue
		return value != nil && *value == layer
	})
}

// forgetLog: this program is not to grow either.
func (s *soak) forgetLog() {
	l := &s.a.log
	l.mu.Lock()
	defer l.mu.Unlock()
	s.lines += len(l.text)
	l.text = nil
}

func (s *soak) sample() soakSample {
	requests := map[string]float64{}
	s.api.mu.Lock()
	for _, r := range s.api.requests {
		requests["requests: "+r.kind]++
		requests["requests"]++
	}
	s.api.requests = nil
	s.api.mu.Unlock()
	s.forgetLog()
	sample := soakSample{"turn": float64(s.turn), "log lines": float64(s.lines),
		"CDI files":           float64(len(files(s.t, s.a.cdiDir()))),
		"other files of ours": float64(len(files(s.t, s.a.pluginDir())) + len(files(s.t, filepath.Join(s.a.dir, "r"))))}
	maps.Copy(sample, requests)
	maps.Copy(sample, s.took)
	s.lines, s.took = 0, soakSample{}
	store := must(os.Stat(filepath.Join(s.a.pluginDir(), "claims.store")))
	sample["store, octets"], sample["store on disk, octets"] = float64(store.Size()), float64(onDisk(store))
	for _, pid := range append([]int{s.a.pid()}, s.a.readers(s.t)...) {
		rollup := must(os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid)))
		sample["PSS, KiB"] += kibOf(s.t, rollup, "Pss")
		sample["anonymous memory, KiB"] += kibOf(s.t, rollup, "Anonymous")
		sample["file descriptors"] += float64(len(files(s.t, fmt.Sprintf("/proc/%d/fd", pid))))
	}
	return sample
}

func onDisk(file os.FileInfo) int64 { return file.Sys().(*syscall.Stat_t).Blocks * 512 }

func kibOf(t testing.TB, rollup []byte, field string) float64 {
	t.Helper()
	found := regexp.MustCompile(`(?m)^` + field + `:\s+(\d+) kB`).FindSubmatch(rollup)
	if found == nil {
		t.Fatalf("no %s in\n%s", field, rollup)
	}
	return must(strconv.ParseFloat(string(found[1]), 64))
}

var soakTable = newTable("soak", "a turn of twenty seconds", "first quarter", "last quarter")

// report writes the samples into the file SOAK_OUT, if it is named, and the quarters into the table.
func (s *soak) report(samples []soakSample) {
	if out := os.Getenv("SOAK_OUT"); out != "" {
		check(s.t, os.WriteFile(out, must(json.MarshalIndent(samples, "", " ")), 0o644))
	}
	first, last := soakQuarters(samples)
	names := map[string]bool{}
	for _, sample := range samples {
		for name := range sample {
			names[name] = true
		}
	}
	delete(names, "turn")
	for _, name := range slices.Sorted(maps.Keys(names)) {
		soakTable.add(name, fmt.Sprintf("%.1f", mean(first, name)), fmt.Sprintf("%.1f", mean(last, name)))
	}
	soakTable.add("turns compared", len(first), len(last))
}
