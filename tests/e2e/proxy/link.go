// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"net"
	"sync"
	"time"
)

// linkState is what a path does to bytes.
type linkState struct {
	silent bool
	reset  bool
	delay  time.Duration // before each piece to the agent
	piece  int           // bytes of a piece; 0: no bound
}

// link is the state of one path, and whoever waits for a better one.
type link struct {
	mu      sync.Mutex
	changed *sync.Cond
	state   linkState
	over    bool
}

func (l *link) init() { l.changed = sync.NewCond(&l.mu) }

func (l *link) set(state linkState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state = state
	l.changed.Broadcast()
}

func (l *link) get() linkState {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state
}

// end lets everybody go who waits.
func (l *link) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	l.changed.Broadcast()
}

// wait returns when the path is not silent.
func (l *link) wait() linkState {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.state.silent && !l.over {
		l.changed.Wait()
	}
	return l.state
}

// linked is a TCP connection over such a path, below TLS.
type linked struct {
	*net.TCPConn
	link *link
}

func (c linked) Read(b []byte) (int, error) {
	n, err := c.TCPConn.Read(b)
	c.link.wait() // what arrives while the path is silent stays unread
	return n, err
}

func (c linked) Write(b []byte) (int, error) {
	written := 0
	for written < len(b) {
		state := c.link.wait()
		time.Sleep(state.delay)
		end := len(b)
		if state.piece > 0 {
			end = min(end, written+state.piece)
		}
		n, err := c.TCPConn.Write(b[written:end])
		written += n
		if err != nil {
			return written, err
		}
	}
	return written, nil
}
