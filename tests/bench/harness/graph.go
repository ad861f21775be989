// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Prepares of the two runs under callgrind: what differs between the runs is the cost of the prepares that one has
// more than the other. Each claim stays prepared.
const (
	graphFew  = 40
	graphMany = 200
	graphRows = 10
)

// cost is what a function takes, in instructions outside the kernel.
type cost struct {
	function, file string
	self           float64 // its own
	all            float64 // with what it calls
}

// graph writes the costs of a new prepare: of the functions of the agent, and of its system calls.
func graph(o *options, w io.Writer) error {
	p, remove, err := makePlaces(o.dir)
	defer remove()
	if err != nil {
		return err
	}
	out, err := exec.Command("/usr/bin/python3", o.simnode, "make", "--board", "trn2.48xlarge", "--dir", p.node).
		CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", o.simnode, err, out)
	}
	few, err := graphed(o, p, "few", graphFew)
	if err != nil {
		return err
	}
	many, err := graphed(o, p, "many", graphMany)
	if err != nil {
		return err
	}
	const more = graphMany - graphFew
	var costs []cost
	var total float64
	for name, c := range many {
		c.self, c.all = (c.self-few[name].self)/more, (c.all-few[name].all)/more
		total += c.self
		costs = append(costs, c)
	}
	writeCosts(w, costs, total)
	return traced(o, p, w)
}

// graphSide is an agent that has its node for itself; by names a program that runs it.
func graphSide(o *options, p places, name string, by ...string) (*side, *apiServer, error) {
	api, err := startAPIServer()
	if err != nil {
		return nil, nil, err
	}
	s, err := newSide(name, o.agent, api, p, "--proc-root", "/proc", "--healthcheck-port", "-1", "--metrics-port", "-1")
	if err == nil && len(by) > 0 {
		s.args = append(append(slices.Clone(by[1:]), s.binary), s.args...)
		s.binary = by[0]
	}
	return s, api, err
}

// prepareMany starts the agent and prepares so many claims; `ready` is called before the last half of them.
func (s *side) prepareMany(count int, ready func() error) error {
	if _, err := s.start(); err != nil {
		return err
	}
	if _, err := s.waitPublished(); err != nil {
		return errors.Join(err, s.stop())
	}
	for n := range count {
		if n == count/2 && ready != nil {
			if err := ready(); err != nil {
				return errors.Join(err, s.stop())
			}
		}
		c := heldClaim(s.node, n)
		s.api.addClaim(c)
		if _, err := s.prepare(named(c)); err != nil {
			return errors.Join(err, s.stop())
		}
	}
	return nil
}

// graphed is what each function takes from start to end with so many prepares.
func graphed(o *options, p places, name string, count int) (map[string]cost, error) {
	file := filepath.Join(p.state, "callgrind-"+name)
	s, api, err := graphSide(o, p, "graph-"+name, "valgrind", "-q", "--tool=callgrind", "--callgrind-out-file="+file+".%p")
	if err != nil {
		return nil, err
	}
	defer api.listener.Close()
	s.args = append(s.args, "--sandbox=false") // valgrind's own system calls would be refused
	if err := s.prepareMany(count, nil); err != nil {
		return nil, err
	}
	pid := s.cmd.Process.Pid
	if err := s.stop(); err != nil {
		return nil, err
	}
	return readCallgrind(fmt.Sprintf("%s.%d", file, pid))
}

var callgrindName = regexp.MustCompile(`^(fn|cfn|fl|fi|fe|cfi|cfl)=\((\d+)\)(?: (.*))?$`)

// callgrind reads a file of the format "callgrind" with line positions: lines of costs follow the function that they
// belong to, and the cost of a call follows its "calls=".
type callgrind struct {
	names    [2]map[string]string // of functions and of files, by number
	function string
	file     string
	called   bool // the next cost is that of a call
	costs    map[string]cost
}

func readCallgrind(path string) (map[string]cost, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	c := callgrind{costs: map[string]cost{}, names: [2]map[string]string{{}, {}}}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if err := c.line(lines.Text()); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", path, lines.Text(), err)
		}
	}
	if len(c.costs) == 0 {
		return nil, fmt.Errorf("%s has no costs", path)
	}
	return c.costs, lines.Err()
}

func (c *callgrind) line(text string) error {
	if found := callgrindName.FindStringSubmatch(text); found != nil {
		c.named(found[1], found[2], found[3])
		return nil
	}
	if strings.HasPrefix(text, "calls=") {
		c.called = true
		return nil
	}
	if text == "" || !strings.ContainsRune("0123456789+-*", rune(text[0])) || c.function == "" {
		return nil
	}
	words := strings.Fields(text)
	if len(words) < 2 {
		return nil // a position without a cost
	}
	value, err := strconv.ParseFloat(words[1], 64)
	if err != nil {
		return err
	}
	k := c.costs[c.function]
	k.all += value
	if !c.called {
		k.self += value
	}
	c.called = false
	k.function = c.function
	k.file = cmp.Or(k.file, c.file)
	c.costs[c.function] = k
	return nil
}

func (c *callgrind) named(kind, number, name string) {
	of := 1
	if strings.HasSuffix(kind, "fn") {
		of = 0
	}
	if name != "" {
		c.names[of][number] = name
	}
	switch kind {
	case "fn":
		c.function = c.names[0][number]
	case "fl":
		c.file = c.names[1][number]
	}
}

func shortFile(path string) string {
	if i := strings.LastIndex(path, "src/"); i >= 0 {
		return path[i:]
	}
	return filepath.Base(path)
}

func writeCosts(w io.Writer, costs []cost, total float64) {
	fmt.Fprintf(w, "`make bench-graph`: a new prepare of one device takes the agent %s instructions outside the kernel "+
		"(callgrind, %d prepares more in one of two runs).\n\n", number(total, ""), graphMany-graphFew)
	fmt.Fprintf(w, "| function | of | its own instructions | share |\n|---|---|---|---|\n")
	slices.SortFunc(costs, func(a, b cost) int { return cmp.Compare(b.self, a.self) })
	for _, c := range costs[:min(graphRows, len(costs))] {
		fmt.Fprintf(w, "| `%s` | %s | %s | %.1f %% |\n", c.function, shortFile(c.file), number(c.self, ""), 100*c.self/total)
	}
	fmt.Fprintf(w, "\n| function, with all that it calls | of | instructions | share |\n|---|---|---|---|\n")
	slices.SortFunc(costs, func(a, b cost) int { return cmp.Compare(b.all, a.all) })
	rows := 0
	for _, c := range costs {
		if ours := strings.HasPrefix(shortFile(c.file), "src/"); ours && rows < 2*graphRows {
			fmt.Fprintf(w, "| `%s` | %s | %s | %.1f %% |\n", c.function, shortFile(c.file), number(c.all, ""), 100*c.all/total)
			rows++
		}
	}
	fmt.Fprintln(w)
}

// traced adds the time of the agent's system calls, by strace: of each, on the wall.
func traced(o *options, p places, w io.Writer) error {
	s, api, err := graphSide(o, p, "traced")
	if err != nil {
		return err
	}
	defer api.listener.Close()
	file := filepath.Join(p.state, "strace")
	var trace *exec.Cmd
	err = s.prepareMany(graphMany, func() error {
		trace = exec.Command("strace", "-c", "-w", "-o", file, "-p", strconv.Itoa(s.cmd.Process.Pid))
		stderr, err := trace.StderrPipe()
		if err == nil {
			err = trace.Start()
		}
		if err == nil {
			_, err = bufio.NewReader(stderr).ReadString('\n') // it is attached
		}
		return err
	})
	if err != nil {
		return err
	}
	_ = trace.Process.Signal(os.Interrupt)
	_ = trace.Wait()
	if err := s.stop(); err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return writeTraced(w, string(text))
}

func writeTraced(w io.Writer, text string) error {
	const calls = graphMany - graphMany/2
	fmt.Fprintf(w, "| system call of a new prepare | number | time of all | |\n|---|---|---|---|\n")
	rows := 0
	for _, line := range strings.Split(text, "\n") {
		words := strings.Fields(line)
		if len(words) < 5 || words[len(words)-1] == "total" {
			continue
		}
		seconds, err := strconv.ParseFloat(words[1], 64)
		count, err2 := strconv.ParseFloat(words[3], 64)
		if err != nil || err2 != nil || rows == graphRows {
			continue
		}
		note := ""
		if words[len(words)-1] == "poll" {
			note = "waiting: for the kubelet, the API server and the reader"
		}
		fmt.Fprintf(w, "| `%s` | %.1f | %.1f us | %s |\n", words[len(words)-1], count/calls, seconds*1e6/calls, note)
		rows++
	}
	if rows == 0 {
		return errors.New("strace counted nothing")
	}
	fmt.Fprintln(w)
	return nil
}
