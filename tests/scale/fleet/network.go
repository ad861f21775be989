// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	serverLink = "scale-server"
	agentsLink = "scale-agents"
)

// network is the namespace of the agents. etcd, the API server and this program are in another one, so the
// counters of the link between the two are the agents' traffic and nothing else's.
type network struct {
	calls chan func()
}

// newNetwork makes the namespace on a thread of its own, which later starts every agent.
func newNetwork(c *children, s *settings) (*network, error) {
	n := &network{calls: make(chan func())}
	made := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: no other goroutine may get this namespace
		made <- n.make(c, s)
		for call := range n.calls {
			call()
		}
	}()
	return n, <-made
}

func (n *network) make(c *children, s *settings) error {
	log := s.path("logs", "ip.log")
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("no network namespace: %w", err)
	}
	// From inside: both ends are made here, and one is handed to the namespace of this process.
	for _, line := range []string{
		"link set lo up",
		"link add " + agentsLink + " type veth peer name " + serverLink,
		fmt.Sprintf("link set %s netns %d", serverLink, os.Getpid()),
		"address add " + s.AgentsIP + "/24 dev " + agentsLink,
		"link set " + agentsLink + " up",
	} {
		if err := n.ip(c, log, line); err != nil {
			return err
		}
	}
	// From the other side.
	done := make(chan error)
	go func() {
		for _, line := range []string{"link set lo up", "address add " + s.ServerIP + "/24 dev " + serverLink,
			"link set " + serverLink + " up"} {
			if err := n.ip(c, log, line); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	return <-done
}

func (n *network) ip(c *children, log, line string) error {
	return c.run(log, append([]string{"/usr/sbin/ip"}, strings.Fields(line)...)...)
}

// inside runs call on the thread that is in the agents' namespace.
func (n *network) inside(call func()) {
	done := make(chan struct{})
	n.calls <- func() { call(); close(done) }
	<-done
}

// traffic is what went over the link so far, headers of all layers included.
type traffic struct{ toServer, fromServer int64 }

func readTraffic() (t traffic) {
	text, err := os.ReadFile("/proc/self/net/dev")
	if err != nil {
		return t
	}
	for _, line := range strings.Split(string(text), "\n") {
		name, rest, found := strings.Cut(strings.TrimSpace(line), ":")
		if fields := strings.Fields(rest); found && name == serverLink && len(fields) > 8 {
			_, _ = fmt.Sscan(fields[0], &t.toServer)
			_, _ = fmt.Sscan(fields[8], &t.fromServer)
		}
	}
	return t
}
