// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// stall keeps the agent from running, as a used-up CPU quota or a disk does, until what is done has been done and
// all of the agent's short time limits are over.
func (a *agent) stall(t *testing.T, meanwhile func()) {
	t.Helper()
	check(t, a.cmd.Process.Signal(syscall.SIGSTOP))
	meanwhile()
	time.Sleep(time.Duration(limitOf("H2_PREFACE_MS"))*time.Millisecond + time.Second)
	check(t, a.cmd.Process.Signal(syscall.SIGCONT))
}

// What came in time counts as in time, however late the agent reads it.
func TestAbuseStall(t *testing.T) {
	t.Parallel()
	a := victim(t)
	var waiting, late []*peer
	for _, at := range a.places() {
		p := at.connect(t)
		go p.read()
		if !p.until(patience, func(s *answers) bool { return s.counts["SETTINGS"] > 0 }) {
			t.Fatalf("%s: no SETTINGS", at.name)
		}
		waiting = append(waiting, p)
	}
	a.stall(t, func() {
		for _, p := range waiting {
			_, err := io.WriteString(p.conn, http2.ClientPreface)
			check(t, err)
			check(t, p.fr.WriteSettings())
			p.call(1)
			p.flush()
		}
		for _, at := range a.places() { // the kernel accepts, the agent does when it can
			late = append(late, at.connect(t))
		}
	})
	for _, p := range waiting {
		if !p.until(patience, hasStatus(0)) {
			t.Errorf("%s: a peer whose preface came in time: %s", p.at.name, p.answer())
		}
	}
	for _, p := range late { // their time starts when they are accepted
		go p.read()
		time.Sleep(100 * time.Millisecond)
		_, err := io.WriteString(p.conn, http2.ClientPreface)
		check(t, err)
		check(t, p.fr.WriteSettings())
		p.call(1)
		p.flush()
		if !p.until(patience, hasStatus(0)) {
			t.Errorf("%s: a peer that connected meanwhile: %s", p.at.name, p.answer())
		}
	}
}

// A kubelet that comes while the agent is busy elsewhere is not refused: Go dials without waiting, and gets EAGAIN
// from a full queue.
func TestAbuseShortConnections(t *testing.T) {
	t.Parallel()
	a := victim(t)
	a.stall(t, func() {
		for _, at := range a.places()[:2] {
			for i := range 100 {
				conn, err := net.Dial(at.network, at.address)
				if err != nil {
					t.Errorf("%s: connection %d: %v", at.name, i, err)
					break
				}
				conn.Close()
			}
		}
	})
	for _, at := range a.places() {
		check(t, a.newcomer(t, at))
	}
}
