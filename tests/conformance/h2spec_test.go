// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"errors"
	"fmt"
	"io"
	"net"
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
// be led to the unix sockets. It takes a mere close for the error that it wants; so the relay keeps the close to
// itself, and what the agent says has to do.

var h2specTable = newTable("h2spec", "end", "cases", "passed", "skipped", "failed", "by code alone")

// Cases that no exact code can end: those that ask for the close of the connection whatever was said before, and
// one of h2specd whose HEADERS frame has its stream number's bytes in the wrong order: that of no stream.
var h2specMereClose = map[string]bool{
	"http2/3.5/2": true, "http2/5.4.1/1": true, "client/5.4.1/1": true, "client/4.3/1": true,
}

const (
	h2specCases  = 146
	h2specdCases = 57
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

// h2specPatience is waited in full by the cases that look for what does not come.
const h2specPatience = 15 * time.Second

func h2specConfig(listener net.Listener) *config.Config {
	address := listener.Addr().(*net.TCPAddr)
	return &config.Config{Host: address.IP.String(), Port: address.Port, Path: "/", Timeout: h2specPatience,
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

// h2specTotal is what became of the cases of one end.
type h2specTotal struct {
	mu                                     sync.Mutex
	cases, passed, skipped, failed, byCode int
}

// judge runs a case with the close held back, unless the close is what it asks for. A case that fails so is told
// apart from one that fails in any way.
func (n *h2specTotal) judge(t *testing.T, id, what string, run func(hold bool) error) {
	t.Helper()
	byCode := !h2specMereClose[id]
	exact := run(byCode)
	err := exact
	if byCode && exact != nil {
		err = run(false)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cases++
	switch {
	case exact == nil:
		n.passed++
	case err == nil:
		n.passed++
		t.Errorf("%s (%s) passes by a mere close: %v", id, what, exact)
	case errors.Is(err, spec.ErrSkipped):
		n.skipped++
		t.Errorf("%s (%s): skipped", id, what)
	default:
		n.failed++
		t.Errorf("%s (%s): %v", id, what, err)
	}
	if byCode && exact == nil {
		n.byCode++
	}
}

func (n *h2specTotal) tell(t *testing.T, end string, cases int) {
	t.Helper()
	if n.cases != cases {
		t.Errorf("%d cases, not %d", n.cases, cases)
	}
	h2specTable.add(end, n.cases, n.passed, n.skipped, n.failed, n.byCode)
}

func h2specServer(t *testing.T, name, network, address string) {
	relays := map[bool]*relay{false: newRelay(t, network, address, false), true: newRelay(t, network, address, true)}
	total := &h2specTotal{}
	for _, group := range []*spec.TestGroup{generic.Spec(), http2.Spec(), hpack.Spec()} {
		eachCase(group, func(id string, tc *spec.TestCase) {
			total.judge(t, id, tc.Desc, func(hold bool) error {
				defer relays[hold].drop()
				return h2specRun(h2specConfig(relays[hold].listener), tc)
			})
		})
	}
	total.tell(t, "our server on "+name, h2specCases)
}

func TestH2specServers(t *testing.T) {
	t.Parallel()
	a := withoutServer(t, "trn2.48xlarge", closedPort(t))
	a.args = append(a.args, "--healthcheck-port", "0")
	a.start()
	a.waitLog(0, "event=socket_opened", "health service on TCP port") // after the other two
	t.Run("on", func(t *testing.T) {
		for _, at := range a.places() {
			t.Run(at.name, func(t *testing.T) {
				t.Parallel()
				h2specServer(t, at.name, at.network, at.address)
			})
		}
	})
}
