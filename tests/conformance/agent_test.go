// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Longest waits. None of them is a bound that the agent is held to: a busy machine must not fail a test.
const (
	patience     = time.Minute     // for what comes at once on an idle machine
	longPatience = 3 * time.Minute // for what the agent does by a timer of its own, of 45 s at most
)

// agent is one node: its directories, and the process while it runs.
type agent struct {
	t    testing.TB
	dir  string // short: sockets below it have at most 107 bytes
	node string // simulated sysfs, proc and dev
	args []string
	env  []string
	by   []string // program and arguments that execute the binary in their own process; empty: none

	cmd    *exec.Cmd
	ended  chan struct{}
	wanted bool // its end was asked for
	log    lines
	good   *goodClient // of the cases about hostile peers, from the first one on
}

// lines collects the log of all processes of one agent.
type lines struct {
	mu   sync.Mutex
	text []string
	more chan struct{}
}

func (l *lines) add(s string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, s)
	if l.more != nil {
		close(l.more)
		l.more = nil
	}
}

func (l *lines) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.text)
}

// slice is a copy of some lines.
func (l *lines) slice(from, to int) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.text[from:to])
}

// countUntil counts the lines up to the first one, from the given one on, that holds the text.
func (l *lines) countUntil(from int, text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, line := range l.text[from:] {
		if strings.Contains(line, text) {
			return from + i + 1
		}
	}
	return len(l.text)
}

// find returns the first line from the given one on that holds all words, or a channel to wait on.
func (l *lines) find(from int, words ...string) (string, chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.text[from:] {
		if containsAll(line, words) {
			return line, nil
		}
	}
	if l.more == nil {
		l.more = make(chan struct{})
	}
	return "", l.more
}

// last is the number of the last line that holds the text, -1 if none does.
func (l *lines) last(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := len(l.text) - 1; i >= 0; i-- {
		if strings.Contains(l.text[i], text) {
			return i
		}
	}
	return -1
}

func containsAll(text string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

// simnode runs the node simulator.
func simnode(t testing.TB, args ...string) string {
	t.Helper()
	cmd := exec.Command("python3", append([]string{"../../tools/simnode/simnode.py"}, args...)...)
	cmd.Env = append(os.Environ(), "COLUMNS=10000") // lists on one line
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("simnode.py %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// newAgent makes the directories of a node with the given board. Nothing runs yet.
func newAgent(t testing.TB, board string, simnodeArgs ...string) *agent {
	t.Helper()
	return newAgentIn(t, scratch, board, simnodeArgs...)
}

func newAgentIn(t testing.TB, parent, board string, simnodeArgs ...string) *agent {
	t.Helper()
	a := newAgentOn(t, parent, "")
	a.node = filepath.Join(a.dir, "n")
	simnode(t, append([]string{"make", "--board", board, "--dir", a.node}, simnodeArgs...)...)
	return a
}

// newAgentOn is one whose simulated files exist; others may look at them too.
func newAgentOn(t testing.TB, parent, node string) *agent {
	t.Helper()
	dir, err := os.MkdirTemp(parent, "n")
	check(t, err)
	a := &agent{t: t, dir: dir, node: node}
	for _, d := range []string{"r", "p", "c"} {
		check(t, os.Mkdir(filepath.Join(dir, d), 0o755))
	}
	t.Cleanup(func() {
		a.kill()
		if t.Failed() {
			a.log.mu.Lock()
			t.Logf("log of the agent in %s:\n%s", dir, strings.Join(a.log.text, "\n"))
			a.log.mu.Unlock()
		}
		_ = os.RemoveAll(dir)
	})
	return a
}

func (a *agent) cdiDir() string             { return filepath.Join(a.dir, "c") }
func (a *agent) pluginDir() string          { return filepath.Join(a.dir, "p", driverName) }
func (a *agent) registrationSocket() string { return filepath.Join(a.dir, "r", driverName+"-reg.sock") }
func (a *agent) serviceSocket() string      { return filepath.Join(a.pluginDir(), "dra.sock") }

func (a *agent) neuronDir() string { return filepath.Join(a.dir, "neuron") }

func (a *agent) commandLine() []string {
	return append([]string{
		"--node-name", nodeName,
		"--cdi-root", a.cdiDir(),
		"--kubelet-registrar-directory-path", filepath.Join(a.dir, "r"),
		"--kubelet-plugins-directory-path", filepath.Join(a.dir, "p"),
		"--sysfs-root", filepath.Join(a.node, "sys"),
		"--proc-root", filepath.Join(a.node, "proc"),
		"--dev-root", filepath.Join(a.node, "dev"),
		"--neuron-config-directory-path", a.neuronDir(),
		"--healthcheck-port", "-1",
		"--metrics-port", "-1",
	}, a.args...)
}

// start runs the binary; the process must then live until stop or kill.
func (a *agent) start() {
	a.t.Helper()
	a.launch(append(append(slices.Clone(a.by), agentBinary), a.commandLine()...)...)
}

// launch runs a program that is an agent.
func (a *agent) launch(line ...string) {
	a.t.Helper()
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env = append([]string{"PATH=/nonexistent"}, a.env...)
	stderr, err := cmd.StderrPipe()
	check(a.t, err)
	check(a.t, cmd.Start())
	ended := make(chan struct{})
	a.cmd, a.ended, a.wanted = cmd, ended, false
	go func() {
		a.read(stderr)
		_ = cmd.Wait()
		if !a.wanted {
			a.t.Errorf("the agent ended by itself: %v", cmd.ProcessState)
		}
		close(ended)
	}()
}

func (a *agent) read(r io.Reader) {
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		a.log.add(s.Text())
	}
}

func (a *agent) pid() int { return a.cmd.Process.Pid }

func (a *agent) running() bool {
	if a.cmd == nil {
		return false
	}
	select {
	case <-a.ended:
		return false
	default:
		return true
	}
}

// kill ends the process as a crash would.
func (a *agent) kill() {
	if a.cmd == nil {
		return
	}
	a.wanted = true
	_ = a.cmd.Process.Kill()
	<-a.ended
}

// stop asks the process to end and returns its exit code.
func (a *agent) stop() int {
	a.t.Helper()
	a.wanted = true
	check(a.t, a.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case <-a.ended:
	case <-time.After(patience):
		a.t.Fatal("the agent does not stop")
	}
	return a.cmd.ProcessState.ExitCode()
}

// waitLog waits for a line with all words, from the given line on.
func (a *agent) waitLog(from int, words ...string) string {
	a.t.Helper()
	return a.waitLogFor(patience, from, words...)
}

func (a *agent) waitLogFor(limit time.Duration, from int, words ...string) string {
	a.t.Helper()
	timeout := time.After(limit)
	for {
		line, more := a.log.find(from, words...)
		if more == nil {
			return line
		}
		select {
		case <-more:
		case <-timeout:
			a.t.Fatalf("no log line with %q within %v", words, limit)
		}
	}
}

// waitFor asks until the condition holds.
func waitFor(t testing.TB, what string, condition func() bool) {
	t.Helper()
	waitForLong(t, patience, what, condition)
}

func waitForLong(t testing.TB, limit time.Duration, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !condition(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", limit, what)
		}
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func isSocket(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&os.ModeSocket != 0
}

// files lists a directory.
func files(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	check(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func writeFile(t testing.TB, path, text string) string {
	t.Helper()
	check(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}
