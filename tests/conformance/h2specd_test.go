// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/summerwind/h2spec/client"
	"github.com/summerwind/h2spec/config"
	"github.com/summerwind/h2spec/spec"
)

// h2specd on our client role: for each case an agent is started, whose first connection to the API server is the
// case's. As with h2spec, the close is kept from the tool.

// heldConn never shows its end, only that nothing comes.
type heldConn struct{ net.Conn }

func (c heldConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n == 0 && err != nil {
		return 0, &net.OpError{Op: "read", Err: silence{}}
	}
	return n, err
}

type silence struct{}

func (silence) Error() string   { return "nothing more came" }
func (silence) Timeout() bool   { return true }
func (silence) Temporary() bool { return true }

// tlsEOF makes the tool see a TLS peer's close as that of a bare connection.
type tlsEOF struct{ net.Conn }

func (c tlsEOF) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	return n, err
}

// nodesFor are as many nodes as cases run at a time.
func nodesFor(t *testing.T) chan *agent {
	t.Helper()
	nodes := make(chan *agent, 8)
	for range cap(nodes) {
		nodes <- newAgent(t, "trn1.2xlarge")
	}
	return nodes
}

// firstConnection starts an agent and takes its first connection to the API server. The caller ends both.
func firstConnection(t *testing.T, a *agent) net.Conn {
	t.Helper()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", limited(0, serving()))
	check(t, err)
	defer listener.Close()
	api := &apiServer{t: t, address: listener.Addr().String()}
	a.args = []string{"--kubeconfig", api.kubeconfig(a.dir)}
	a.start()
	conn, err := listener.Accept()
	check(t, err)
	check(t, conn.SetDeadline(time.Now().Add(patience)))
	check(t, conn.(*tls.Conn).Handshake())
	return conn
}

// h2specdRun lets one agent meet one case.
func h2specdRun(t *testing.T, a *agent, tc *spec.ClientTestCase, hold bool) error {
	base := firstConnection(t, a)
	defer a.kill()
	defer base.Close()
	wire := net.Conn(tlsEOF{base})
	if hold {
		wire = heldConn{base}
	}
	c := &config.Config{Host: "127.0.0.1", Port: 443, TLS: true, Timeout: h2specPatience, MaxHeaderLen: 4000}
	conn, err := spec.Accept(c, wire)
	check(t, err)
	return tc.Run(c, conn)
}

func eachClientCase(group *spec.ClientTestGroup, call func(id string, tc *spec.ClientTestCase)) {
	for i, tc := range group.Tests {
		call(fmt.Sprintf("%s/%d", group.ID(), i+1), tc)
	}
	for _, below := range group.Groups {
		eachClientCase(below, call)
	}
}

func TestH2specdClient(t *testing.T) {
	t.Parallel()
	nodes := nodesFor(t)
	total := &h2specTotal{}
	t.Run("case", func(t *testing.T) {
		eachClientCase(client.Spec(), func(id string, tc *spec.ClientTestCase) {
			t.Run(id, func(t *testing.T) {
				t.Parallel()
				a := <-nodes
				defer func() { nodes <- a }()
				total.judge(t, id, tc.Desc, func(hold bool) error { return h2specdRun(t, a, tc, hold) })
			})
		})
	})
	total.tell(t, "our client, to h2specd by TLS", h2specdCases)
}
