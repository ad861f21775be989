// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/summerwind/h2spec/config"
	"github.com/summerwind/h2spec/generic"
	"github.com/summerwind/h2spec/hpack"
	"github.com/summerwind/h2spec/http2"
	"github.com/summerwind/h2spec/spec"
)

// h2spec on our servers: every case of its strict mode on each socket, as a library, so that its connections can
// be led to the unix sockets. It takes a mere close for the error that it wants; so every case runs a second
// time over a relay that keeps the close to itself, and what the agent says has to do.

var h2specTable = newTable("h2spec", "end", "cases", "passed", "skipped", "failed", "by the exact code")

// Cases that ask for the close of the connection, whatever was said before.
var h2specCloses = map[string]bool{"http2/3.5/2": true, "http2/5.4.1/1": true}

const (
	h2specCases = 146
)

// relay leads TCP connections to an address of another family, one test's at a time.
type relay struct {
	listener net.Listener
	hold     bool // the ends of the agent's connections are not passed on

	mu    sync.Mutex
	conns []net.Conn
}

func newRelay(t testing.TB, network, address string, hold bool) *relay {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	r := &relay{listener: listener, hold: hold}
	t.Cleanup(func() { listener.Close(); r.drop() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial(network, address)
			if err != nil {
				client.Close()
				continue
			}
			r.mu.Lock()
			r.conns = append(r.conns, client, server)
			r.mu.Unlock()
			go func() {
				// An agent that has closed may have said why: that is still to be read.
				if _, err := io.Copy(server, client); err == nil {
					server.Close()
				}
			}()
			go func() {
				_, _ = io.Copy(client, server)
				if !r.hold {
					client.Close()
				}
			}()
		}
	}()
	return r
}

// drop ends what is open: the tool leaves connections behind.
func (r *relay) drop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.conns {
		c.Close()
	}
	r.conns = nil
}

func h2specConfig(listener net.Listener) *config.Config {
	address := listener.Addr().(*net.TCPAddr)
	return &config.Config{Host: address.IP.String(), Port: address.Port, Path: "/", Timeout: 2 * time.Second,
		MaxHeaderLen: 4000, Strict: true}
}

// h2specRun runs one case as the tool does and tells its verdict.
func h2specRun(c *config.Config, tc *spec.TestCase) error {
	conn, err := spec.Dial(c)
	if err != nil {
		return err
	}
	defer conn.Close()
	return tc.Run(c, conn)
}

// eachCase calls for all cases of a group and those below it, in the tool's order.
func eachCase(group *spec.TestGroup, call func(id string, tc *spec.TestCase)) {
	for i, tc := range append(append([]*spec.TestCase{}, group.Tests...), group.StrictTests...) {
		call(fmt.Sprintf("%s/%d", group.ID(), i+1), tc)
	}
	for _, below := range group.Groups {
		eachCase(below, call)
	}
}

func h2specServer(t *testing.T, name, network, address string) {
	plain, exact := newRelay(t, network, address, false), newRelay(t, network, address, true)
	cases, passed, skipped, failed, said := 0, 0, 0, 0, 0
	for _, group := range []*spec.TestGroup{generic.Spec(), http2.Spec(), hpack.Spec()} {
		eachCase(group, func(id string, tc *spec.TestCase) {
			cases++
			switch err := h2specRun(h2specConfig(plain.listener), tc); {
			case err == nil:
				passed++
			case errors.Is(err, spec.ErrSkipped):
				skipped++
				t.Errorf("%s (%s): skipped", id, tc.Desc)
			default:
				failed++
				t.Errorf("%s (%s): %v", id, tc.Desc, err)
			}
			plain.drop()
			if h2specCloses[id] {
				said++
				return
			}
			if err := h2specRun(h2specConfig(exact.listener), tc); err != nil {
				t.Errorf("%s (%s), by the exact code: %v", id, tc.Desc, err)
			} else {
				said++
			}
			exact.drop()
		})
	}
	if cases != h2specCases {
		t.Errorf("%d cases, not %d", cases, h2specCases)
	}
	h2specTable.add("our server on "+name, cases, passed, skipped, failed, said)
}

func TestH2specServers(t *testing.T) {
	t.Parallel()
	a := withoutServer(t, "trn2.48xlarge", closedPort(t))
	a.args = append(a.args, "--healthcheck-port", "0")
	a.start()
	line := a.waitLog(0, "event=listening", "health service on TCP port")
	port := regexp.MustCompile(`TCP port (\d+)`).FindStringSubmatch(line)[1]
	waitFor(t, "the sockets", func() bool { return isSocket(a.registrationSocket()) && isSocket(a.serviceSocket()) })
	t.Run("on", func(t *testing.T) {
		for _, s := range []struct{ name, network, address string }{
			{"TCP health port", "tcp", net.JoinHostPort("127.0.0.1", port)},
			{"registration.sock", "unix", a.registrationSocket()},
			{"dra.sock", "unix", a.serviceSocket()},
		} {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				h2specServer(t, s.name, s.network, s.address)
			})
		}
	})
}
