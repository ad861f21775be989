// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// process is one program that this run started.
type process struct {
	pid   int
	name  string
	ended chan struct{}
	// Of an agent: closed when its processor time is in that of the fleet.
	counted chan struct{}
	// When it has ended: how, and its processor time with that of the children it waited for.
	status syscall.WaitStatus
	used   time.Duration
}

func (p *process) alive() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

func (p *process) kill(signal syscall.Signal) {
	if p.alive() {
		_ = syscall.Kill(p.pid, signal)
	}
}

// children starts programs and reaps them: one blocked thread for all, where os/exec has one for each.
type children struct {
	mu     sync.Mutex
	living map[int]*process
}

func newChildren() *children {
	c := &children{living: map[int]*process{}}
	go c.reap()
	return c
}

// start runs a program with its output appended to the log, in the network namespace of the calling thread.
func (c *children) start(name, log string, argv, env []string) (*process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	c.mu.Lock() // the reaper waits until the process is known
	defer c.mu.Unlock()
	pid, err := syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{Env: env,
		Files: []uintptr{null.Fd(), out.Fd(), out.Fd()}, Sys: &syscall.SysProcAttr{Setsid: true}})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", argv[0], err)
	}
	p := &process{pid: pid, name: name, ended: make(chan struct{}), counted: make(chan struct{})}
	c.living[pid] = p
	return p, nil
}

func (c *children) reap() {
	for {
		var status syscall.WaitStatus
		var usage syscall.Rusage
		pid, err := syscall.Wait4(-1, &status, 0, &usage)
		if err == syscall.ECHILD {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		if err != nil {
			continue
		}
		c.mu.Lock()
		if p := c.living[pid]; p != nil && (status.Exited() || status.Signaled()) {
			p.status = status
			p.used = time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
			delete(c.living, pid)
			close(p.ended)
		}
		c.mu.Unlock()
	}
}

// run runs a program to its end.
func (c *children) run(log string, argv ...string) error {
	p, err := c.start(argv[0], log, argv, os.Environ())
	if err != nil {
		return err
	}
	<-p.ended
	if p.status.ExitStatus() != 0 {
		text, _ := os.ReadFile(log)
		return fmt.Errorf("%s ended with %d: %s", strings.Join(argv, " "), p.status.ExitStatus(), tail(text))
	}
	return nil
}

func tail(text []byte) string {
	text = bytes.TrimSpace(text)
	return string(text[max(0, len(text)-2000):])
}

// --- what the kernel says of a process ---

// family is the process and those that it started itself.
func family(pid int) []int {
	pids := []int{pid}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return pids
	}
	for _, field := range strings.Fields(string(text)) {
		if child, err := strconv.Atoi(field); err == nil {
			pids = append(pids, child)
		}
	}
	return pids
}

// cpuOf is the processor time of one process, all threads, to the nanosecond; 0 when it is gone.
func cpuOf(pid int) time.Duration {
	const schedulerClock = 2 // CPUCLOCK_SCHED of the kernel's posix-timers.h
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|schedulerClock), &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// kibibytes is the sum of one line of a file of /proc over some processes.
func kibibytes(pids []int, file, key string) (sum int64) {
	for _, pid := range pids {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
		if err != nil {
			continue
		}
		for _, line := range strings.Split(string(text), "\n") {
			if rest, found := strings.CutPrefix(line, key+":"); found {
				number, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
				sum += number
			}
		}
	}
	return sum
}
