// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// kind is what is counted of the processes of a side.
type kind int

const (
	switches     kind = iota // context switches, of its own will or not, by /proc
	flushes                  // fsync and fdatasync, by the kernel's tracepoints
	instructions             // outside the kernel, by the processor
	kinds
)

var kindNames = [kinds]string{"context switches", "flushes", "instructions"}

// counts are those of one kind each; those that this machine does not give stay 0.
type counts [kinds]int64

// counters reads them from the threads that a side had when they were opened, and from those that these start.
type counters struct {
	side    *side
	events  [kinds][]int
	missing [kinds]error // why there is none
}

// openCounters never fails: what cannot be counted has its reason.
func openCounters(s *side) *counters {
	c := &counters{side: s}
	var threads []int
	pids, err := s.pids()
	for _, pid := range pids {
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
		for _, task := range tasks {
			thread, _ := strconv.Atoi(filepath.Base(task))
			threads = append(threads, thread)
		}
	}
	if err != nil || len(threads) == 0 {
		err = errors.Join(errors.New("no threads"), err)
		c.missing = [kinds]error{err, err, err}
		return c
	}
	for _, call := range []string{"fsync", "fdatasync"} {
		id, err := tracepoint("sys_enter_" + call)
		if err != nil {
			c.missing[flushes] = err
			break
		}
		c.open(flushes, threads, unix.PerfEventAttr{Type: unix.PERF_TYPE_TRACEPOINT, Config: id})
	}
	c.open(instructions, threads, unix.PerfEventAttr{Type: unix.PERF_TYPE_HARDWARE,
		Config: unix.PERF_COUNT_HW_INSTRUCTIONS, Bits: unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv})
	return c
}

func tracepoint(name string) (uint64, error) {
	for _, root := range []string{"/sys/kernel/tracing", "/sys/kernel/debug/tracing"} {
		text, err := os.ReadFile(filepath.Join(root, "events/syscalls", name, "id"))
		if err == nil {
			return strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
		}
	}
	return 0, fmt.Errorf("the kernel's tracepoint %s cannot be read", name)
}

func (c *counters) open(k kind, threads []int, attr unix.PerfEventAttr) {
	attr.Size = uint32(unsafe.Sizeof(attr))
	attr.Bits |= unix.PerfBitInherit
	for _, thread := range threads {
		if c.missing[k] != nil {
			return
		}
		fd, err := unix.PerfEventOpen(&attr, thread, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if err != nil {
			c.missing[k] = fmt.Errorf("perf_event_open: %w", err)
			return
		}
		c.events[k] = append(c.events[k], fd)
	}
}

func (c *counters) close() {
	for _, events := range c.events {
		for _, fd := range events {
			_ = unix.Close(fd)
		}
	}
}

var switchLines = regexp.MustCompile(`(?m)^(?:non)?voluntary_ctxt_switches:\s+(\d+)$`)

// read adds up what was counted so far.
func (c *counters) read() (sum counts, err error) {
	pids, err := c.side.pids()
	if err != nil {
		return sum, err
	}
	for _, pid := range pids {
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
		for _, task := range tasks {
			text, _ := os.ReadFile(task) // a thread may have ended
			for _, found := range switchLines.FindAllSubmatch(text, -1) {
				n, _ := strconv.ParseInt(string(found[1]), 10, 64)
				sum[switches] += n
			}
		}
	}
	for k, events := range c.events {
		for _, fd := range events {
			var value [8]byte
			if c.missing[k] != nil {
				continue
			}
			if _, err := unix.Read(fd, value[:]); err != nil {
				return sum, fmt.Errorf("%s: %w", kindNames[k], err)
			}
			sum[k] += int64(binary.NativeEndian.Uint64(value[:]))
		}
	}
	return sum, nil
}
