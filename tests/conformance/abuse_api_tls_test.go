// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"crypto/tls"
	"io"
	"net"
	"testing"
	"time"
)

// --- servers that are not the one that the agent may trust, or are none at all ---

func (a *authority) notYetValid(name string) tls.Certificate {
	c := template("server")
	c.NotBefore, c.NotAfter = time.Now().Add(24*time.Hour), time.Now().Add(48*time.Hour)
	c.IPAddresses = []net.IP{net.ParseIP(name)}
	return a.sign(ecKey(), c)
}

// presenting is TLS with this certificate and these protocols.
func presenting(certificate func() tls.Certificate, protocols ...string) func() *tls.Config {
	return func() *tls.Config {
		return &tls.Config{Certificates: []tls.Certificate{certificate()}, NextProtos: protocols}
	}
}

// writes is a server that knows no TLS: it says something, and listens.
func writes(text string) func(h *hostile, conn *countedConn, turn int) {
	return func(h *hostile, conn *countedConn, _ int) {
		_, _ = io.WriteString(conn, text)
		h.listen(conn)
	}
}

// pours writes the same for ever at full speed.
func pours(text []byte) func(h *hostile, conn *countedConn, turn int) {
	for len(text) < 32768 {
		text = append(text, text...)
	}
	return func(h *hostile, conn *countedConn, _ int) {
		go h.listen(conn)
		for {
			if _, err := conn.Write(text); err != nil {
				return
			}
		}
	}
}

// slowConn writes one byte after the other.
type slowConn struct {
	net.Conn
	pause time.Duration
}

func (c slowConn) Write(b []byte) (int, error) {
	for i := range b {
		if _, err := c.Conn.Write(b[i : i+1]); err != nil {
			return i, err
		}
		time.Sleep(c.pause)
	}
	return len(b), nil
}

// shortConn ends after a number of bytes.
type shortConn struct {
	*countedConn
	left  int
	abort bool
}

func (c *shortConn) Write(b []byte) (int, error) {
	if len(b) < c.left {
		c.left -= len(b)
		return c.countedConn.Write(b)
	}
	_, _ = c.countedConn.Write(b[:c.left])
	if c.abort {
		_ = c.SetLinger(0)
	}
	c.countedConn.Close()
	return 0, net.ErrClosed
}

// ends is a server whose connections end after these numbers of bytes, one number for each.
func ends(abort bool, after ...int) func(h *hostile, conn *countedConn, turn int) {
	return func(h *hostile, conn *countedConn, turn int) {
		h.http2(&shortConn{countedConn: conn, left: after[turn%len(after)], abort: abort}, turn)
	}
}

func resetAtOnce(_ *hostile, conn *countedConn, _ int) { _ = conn.SetLinger(0) }

func TestAbuseAPIBeforeHTTP(t *testing.T) {
	server := func(a func() *authority, name string) func() tls.Certificate {
		return func() tls.Certificate { return a().server(ecKey(), name) }
	}
	cases := []abuseAPI{
		{name: "certificate of another CA", tls: presenting(server(foreign, "127.0.0.1"), "h2"), words: "not signed by the given certificate authority"},
		{name: "certificate for another address", tls: presenting(server(trusted, "127.0.0.2"), "h2"), words: "127.0.0.1"},
		{name: "certificate for a name", tls: presenting(server(trusted, "127.0.0.1.example"), "h2"), words: "127.0.0.1"},
		{name: "certificate for any name", tls: presenting(server(trusted, "*"), "h2"), words: "127.0.0.1"},
		{name: "certificate expired", tls: presenting(func() tls.Certificate { return trusted().expired("127.0.0.1") }, "h2"), words: "expired"},
		{name: "certificate not yet valid", tls: presenting(func() tls.Certificate { return trusted().notYetValid("127.0.0.1") }, "h2"), words: "not valid yet"},
		{name: "certificate of a client", tls: presenting(func() tls.Certificate { return trusted().client("127.0.0.1") }, "h2"), words: "certificate"},
		{name: "no ALPN", tls: presenting(serving), words: "HTTP/2"},
		{name: "ALPN http/1.1", tls: presenting(serving, "http/1.1"), words: "HTTP/2"},
		{name: "HTTP/1 text", conn: writes("HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"), words: "event=api_connect_failed"},
		{name: "HTTP/2 without TLS", conn: writes("\x00\x00\x00\x04\x00\x00\x00\x00\x00"), words: "event=api_connect_failed"},
		{name: "TLS alert at once", conn: writes("\x15\x03\x03\x00\x02\x02\x28"), words: "event=api_connect_failed"},
		{name: "TLS close_notify at once", conn: writes("\x15\x03\x03\x00\x02\x01\x00"), words: "event=api_connect_failed"},
		{name: "TLS record of 64 KiB", conn: writes("\x16\x03\x03\xff\xff\x02\x00\xff\xff"), words: "event=api_connect_failed"},
		{name: "silence instead of TLS", conn: writes(""), words: "no complete handshake"},
		{name: "zeros for ever instead of TLS", conn: pours([]byte{0}), words: "event=api_connect_failed"},
		{name: "TLS warnings for ever", conn: pours([]byte("\x15\x03\x03\x00\x02\x01\x5a")), words: "event=api_connect_failed"},
		{name: "TLS change_cipher_spec for ever", conn: pours([]byte("\x14\x03\x03\x00\x01\x01")), words: "event=api_connect_failed"},
		{name: "TLS empty records for ever", conn: pours([]byte("\x16\x03\x03\x00\x00")), words: "event=api_connect_failed"},
		{name: "TLS handshake message of 16 MiB", conn: pours(append([]byte("\x16\x03\x03\x40\x00\x02\xff\xff\xff"), make([]byte, 16380)...)), words: "event=api_connect_failed"},
		{name: "TLS one byte a second", conn: func(h *hostile, conn *countedConn, turn int) {
			h.http2(slowConn{conn, time.Second}, turn)
		}, words: "no complete handshake"},
		{name: "closes at once", conn: func(*hostile, *countedConn, int) {}, words: "event=api_connect_failed"},
		{name: "resets at once", conn: resetAtOnce, words: "event=api_connect_failed"},
		{name: "closes after 1 to 127 bytes", conn: ends(false, 1, 5, 6, 11, 64, 127), words: "event=api_connect_failed"},
		{name: "resets after 1 to 127 bytes", conn: ends(true, 1, 5, 6, 11, 64, 127), words: "event=api_connect_failed"},
		{name: "closes inside the certificate", conn: ends(false, 128, 140, 200, 300, 400, 500), words: "event=api_connect_failed"},
		{name: "resets inside the certificate", conn: ends(true, 128, 140, 200, 300, 400, 500), words: "event=api_connect_failed"},
		{name: "closes after 1 KiB and more", conn: ends(false, 900, 1000, 1100, 1200, 1400, 1600), words: "event=api_connection_lost"},
		{name: "resets after 1 KiB and more", conn: ends(true, 900, 1000, 1100, 1200, 1400, 1600), words: "event=api_connection_lost"},
		{name: "closes inside an answer", conn: ends(false, 1300, 1500, 1700, 1900, 2100, 2300), words: "event=api_connection_lost"},
		{name: "resets inside an answer", conn: ends(true, 1300, 1500, 1700, 1900, 2100, 2300), words: "event=api_connection_lost"},
	}
	for i := range cases {
		cases[i].secret = cases[i].conn == nil
	}
	runAbuseAPI(t, cases)
}

// tlsServer shakes hands as the case's server; nil when that fails.
func tlsServer(conn net.Conn, h *hostile) *tls.Conn {
	secure := tls.Server(conn, h.tls)
	if secure.Handshake() != nil {
		return nil
	}
	return secure
}

// abort ends the connection of a peer with a TCP reset.
func abort(p *apiPeer) {
	if conn, ok := p.conn.NetConn().(*countedConn); ok {
		_ = conn.SetLinger(0)
	}
	p.conn.NetConn().Close()
}
