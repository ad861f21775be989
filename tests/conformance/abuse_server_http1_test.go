// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Hostile peers of the metrics port, which speaks HTTP/1.1.

// pageAttack is one connection to the port.
type pageAttack struct {
	name, sent string
	first      string        // sent at once
	again      string        // sent over and over
	pause      time.Duration // between two of them
	reads      bool
	answer     string        // in which the first line of the answer ends; "": there is none, or none is read
	least      time.Duration // that the agent waits
}

const scrapeRequest = "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"

var pageAttacks = []pageAttack{
	{name: "slowloris", sent: "a header byte by byte, one a second", first: "GET /metrics HTTP/1.1\r\nHost: a\r\nX: ", again: "x",
		pause: time.Second, reads: true, answer: "408 Request Timeout", least: 10 * time.Second},
	{name: "silence", sent: "nothing", reads: true, least: 10 * time.Second},
	{name: "endless header", sent: "field lines for ever", first: "GET /metrics HTTP/1.1\r\nHost: a\r\n", again: "X: " + strings.Repeat("x", 60) + "\r\n",
		reads: true, answer: "431 Request Header Fields Too Large"},
	{name: "endless field", sent: "one field line for ever", first: "GET /metrics HTTP/1.1\r\nHost: a\r\nX: ", again: strings.Repeat("x", 64),
		reads: true, answer: "431 Request Header Fields Too Large"},
	{name: "huge request line", sent: "a target for ever", first: "GET /", again: strings.Repeat("a", 64), reads: true, answer: "414 URI Too Long"},
	{name: "empty lines", sent: "CRLF for ever", again: "\r\n", reads: true, answer: "400 Bad Request"},
	{name: "endless body", sent: "a body of 1 GiB", first: "POST /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 1073741824\r\n\r\n",
		again: strings.Repeat("b", 1024), reads: true, answer: "405 Method Not Allowed"},
	{name: "chunked body", sent: "chunks for ever", first: "GET /metrics HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
		again: "1\r\nx\r\n", reads: true, answer: "413 Content Too Large"},
	{name: "smuggling", sent: "two lengths", first: "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nContent-Length: 5\r\n\r\n", reads: true, answer: "400 Bad Request"},
	{name: "no host", sent: "a Host that is none", first: "GET /metrics HTTP/1.1\r\nHost: a^b\r\n\r\n", reads: true, answer: "400 Bad Request"},
	{name: "no port", sent: "a Host with letters for a port", first: "GET /metrics HTTP/1.1\r\nHost: localhost:abc\r\n\r\n", reads: true,
		answer: "400 Bad Request"},
	{name: "no authority", sent: "an absolute target with an empty host", first: "GET http:///metrics HTTP/1.1\r\nHost: a\r\n\r\n", reads: true,
		answer: "400 Bad Request"},
	{name: "garbage", sent: "bytes of a TLS handshake", first: "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", reads: true, answer: "400 Bad Request"},
	{name: "answer not read", sent: "requests for /metrics, for ever", again: strings.Repeat(scrapeRequest, 20), least: 10 * time.Second},
}

// run sends until the agent ends the connection.
func (c *pageAttack) run(t *testing.T, address string) attackEnd {
	t.Helper()
	begin := time.Now()
	conn, err := net.Dial("tcp", address)
	check(t, err)
	defer conn.Close()
	if !c.reads {
		check(t, conn.(*net.TCPConn).SetReadBuffer(2048))
	}
	check(t, conn.SetDeadline(time.Now().Add(attackLimit)))
	var sent atomic.Int64
	over := make(chan struct{})
	go func() {
		defer close(over)
		n, err := io.WriteString(conn, c.first)
		sent.Add(int64(n))
		for err == nil && c.again != "" {
			n, err = io.WriteString(conn, c.again)
			sent.Add(int64(n))
			time.Sleep(c.pause)
		}
	}()
	answer := ""
	if c.reads {
		r := bufio.NewReader(conn)
		line, _ := r.ReadString('\n')
		answer = strings.TrimSpace(strings.TrimPrefix(line, "HTTP/1.1 "))
		_, err = io.Copy(io.Discard, r)
	} else {
		<-over
	}
	took := time.Since(begin)
	if answer != c.answer {
		t.Errorf("%s: answer %q after %v, want %q", c.name, answer, took, c.answer)
	}
	if took < c.least-100*time.Millisecond || took > attackLimit-time.Second {
		t.Errorf("%s: ended after %v (%v), want %v", c.name, took, err, c.least)
	}
	if answer == "" {
		answer = "end"
	}
	return attackEnd{answer: answer, taken: fmt.Sprintf("%d bytes sent", sent.Load()), lasted: took}
}

func TestAbusePages(t *testing.T) {
	for _, c := range pageAttacks {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := victim(t)
			address := a.metricsAddress()
			a.suffer(t, attack{c.name, "metrics port", c.sent, func() attackEnd { return c.run(t, address) }})
			for range 8 { // no place is lost: each keeps its connection, and is answered
				client := http.Client{Timeout: patience, Transport: &http.Transport{}}
				r, err := client.Get("http://" + address + "/healthz")
				check(t, err)
				_, _ = io.Copy(io.Discard, r.Body)
				r.Body.Close()
			}
			scrape(t, address)
		})
	}
}

// More connections than places, most of which never finish their request: scrapes come through, and the
// kubelet's sockets notice nothing.
func TestAbusePageConnections(t *testing.T) {
	t.Parallel()
	a := victim(t)
	address := a.metricsAddress()
	a.suffer(t, attack{"connection flood", "metrics port", "16 connections at a time, half a request each, again and again", func() attackEnd {
		var over atomic.Bool
		var opened atomic.Int64
		for range 16 {
			go func() {
				for !over.Load() {
					conn, err := net.Dial("tcp", address)
					if err != nil {
						continue
					}
					opened.Add(1)
					_, _ = io.WriteString(conn, "GET /metrics HTTP/1.1\r\n")
					_ = conn.SetReadDeadline(time.Now().Add(attackLimit))
					_, _ = io.Copy(io.Discard, conn)
					conn.Close()
				}
			}()
		}
		time.Sleep(time.Second)
		begin := time.Now()
		client := http.Client{Timeout: longPatience, Transport: &http.Transport{DisableKeepAlives: true}}
		r, err := client.Get("http://" + address + "/metrics")
		took := time.Since(begin)
		over.Store(true)
		if err != nil {
			t.Errorf("a scrape: %v", err)
			return attackEnd{}
		}
		_, _ = io.Copy(io.Discard, r.Body)
		r.Body.Close()
		return attackEnd{answer: "a scrape: " + r.Status, taken: fmt.Sprintf("%d connections", opened.Load()), lasted: took}
	}})
}
