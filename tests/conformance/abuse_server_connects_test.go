// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// Connections that say nothing cost the stranger a packet. However many there are, and however fast they come, the probes
// of both ports are answered in their second.

// connects is one way to connect. The process of besieged runs it until its standard input ends.
type connects struct {
	name string
	n    int
	run  func(c *connects, dial func() net.Conn)
}

// opened are connections that are kept until the other side ends them.
func hold(conn net.Conn) {
	if conn != nil {
		_, _ = io.Copy(io.Discard, conn)
		conn.Close()
	}
}

// atOnce opens n connections; again: each once more whenever it was closed.
func atOnce(again bool) func(c *connects, dial func() net.Conn) {
	return func(c *connects, dial func() net.Conn) {
		for range c.n {
			go func() {
				for first := true; first || again; first = false {
					hold(dial())
				}
			}()
		}
	}
}

// eachSecond opens n connections a second.
func eachSecond(c *connects, dial func() net.Conn) {
	for tick := time.NewTicker(time.Second / time.Duration(c.n)); ; <-tick.C {
		go func() { hold(dial()) }()
	}
}

// endedEachSecond opens as many and closes each at once.
func endedEachSecond(c *connects, dial func() net.Conn) {
	for tick := time.NewTicker(time.Second / time.Duration(c.n)); ; <-tick.C {
		if conn := dial(); conn != nil {
			conn.Close()
		}
	}
}

var allConnects = []connects{
	{"1,000 silent", 1000, atOnce(false)},
	{"4,000 silent", 4000, atOnce(false)},
	{"200 a second", 200, eachSecond},
	{"500 a second", 500, eachSecond},
	{"500 a second, closed at once", 500, endedEachSecond},
	{"1,000 that reconnect", 1000, atOnce(true)},
}

// connect is what the process does.
func connect(which, address, from string) {
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, 19)
	c := &allConnects[must(strconv.Atoi(which))]
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: 10 * time.Second}
	var opened atomic.Int64
	go c.run(c, func() net.Conn {
		conn, err := dialer.Dial("tcp", address)
		if err != nil {
			time.Sleep(10 * time.Millisecond)
			return nil
		}
		opened.Add(1)
		return conn
	})
	_, _ = io.Copy(io.Discard, os.Stdin)
	fmt.Println(opened.Load())
}

// tolls are the answers to probes, one each second to both ports from both addresses.
type tolls struct {
	mu      sync.Mutex
	n, late int // answered; not answered by the control
	longest time.Duration
	lost    []error
}

func (s *tolls) count(took time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.lost = append(s.lost, err)
		return
	}
	s.n++
	s.longest = max(s.longest, took)
}

// probed asks both ports at once, each second, on connections of their own from both addresses.
func (a *agent) probed(t *testing.T, seconds int) *tolls {
	t.Helper()
	s := &tolls{}
	for range seconds {
		next := time.After(time.Second)
		var round sync.WaitGroup
		for _, from := range []string{"127.0.0.1", "127.0.0.2"} {
			round.Go(func() {
				begin := time.Now()
				err := probeFrom(from, a.metricsAddress(), "/healthz")
				s.count(time.Since(begin), err)
			})
			round.Go(func() {
				begin := time.Now()
				err := a.places()[2].probeFrom(t, from)
				s.count(time.Since(begin), err)
			})
		}
		round.Go(func() {
			if probe(control(), "/") != nil {
				s.mu.Lock()
				s.late++
				s.mu.Unlock()
			}
		})
		round.Wait()
		<-next
	}
	return s
}

func TestAbuseConnects(t *testing.T) {
	t.Parallel()
	a := victim(t)
	for _, port := range []string{a.healthAddress(), a.metricsAddress()} {
		at := "TCP port"
		if port == a.metricsAddress() {
			at = "metrics port"
		}
		for i, c := range allConnects {
			for _, from := range []string{"127.0.0.1", "127.0.0.2"} {
				name := fmt.Sprintf("connects, %s", c.name)
				a.suffer(t, attack{name, at, "nothing, from " + from, func() attackEnd {
					var s *tolls
					var share float64
					opened := ""
					// A round in which the control lost a probe too says nothing of the agent, and is repeated.
					for round, late := 0, 1; round < attackRounds && late > 0; round++ {
						stop := besiegedBy(t, "ABUSE_CONNECTS", i, 0, port, from)
						used, begin := a.cpuTime(t), time.Now()
						s = a.probed(t, 4)
						share = float64(a.cpuTime(t)-used) / float64(time.Since(begin)) * 100
						opened = stop()
						late = min(s.late, len(s.lost))
					}
					if len(s.lost) > 0 || s.longest > probeLimit {
						t.Errorf("%s at the %s, from %s: %d probes lost, %d answered, the last after %v: %v", name, at, from,
							len(s.lost), s.n, s.longest, s.lost)
					}
					return attackEnd{answer: fmt.Sprintf("%d probes answered within %v", s.n, rounded(s.longest)),
						taken: fmt.Sprintf("%s connections, %.0f %% of a core", strings.TrimSpace(opened), share), lasted: 4 * time.Second}
				}})
			}
		}
	}
}
