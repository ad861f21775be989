// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// The CPU limit of the chart that ships AWS's driver, 20m: so many microseconds of each period.
const (
	limitName   = "CPU limit 20m"
	limitQuota  = "2000"
	limitPeriod = "100000"
)

// cpuLimit is a cgroup with that limit, of either version.
type cpuLimit struct{ dir string }

func write(dir, file, text string) error {
	return os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644)
}

// newCPULimit fails where this user may make no cgroup, or no controller for the processor is there.
func newCPULimit() (*cpuLimit, error) {
	const root, legacy = "/sys/fs/cgroup", "/sys/fs/cgroup/cpu"
	controllers, err := os.ReadFile(filepath.Join(root, "cgroup.controllers"))
	if err == nil && strings.Contains(string(controllers), "cpu") {
		_ = write(root, "cgroup.subtree_control", "+cpu")
		l, err := makeCPULimit(root)
		if err != nil {
			return nil, err
		}
		return l.or(write(l.dir, "cpu.max", limitQuota+" "+limitPeriod))
	}
	l, err := makeCPULimit(legacy)
	if err != nil {
		return nil, err
	}
	if l, err = l.or(write(l.dir, "cpu.cfs_period_us", limitPeriod)); err != nil {
		return nil, err
	}
	return l.or(write(l.dir, "cpu.cfs_quota_us", limitQuota))
}

func makeCPULimit(root string) (*cpuLimit, error) {
	dir, err := os.MkdirTemp(root, "nb")
	return &cpuLimit{dir}, err
}

func (l *cpuLimit) or(err error) (*cpuLimit, error) {
	if err != nil {
		l.remove()
		return nil, err
	}
	return l, nil
}

func (l *cpuLimit) hold(pid int) error { return write(l.dir, "cgroup.procs", strconv.Itoa(pid)) }

// remove works once its processes have ended.
func (l *cpuLimit) remove() { _ = os.Remove(l.dir) }
