// SPDX-License-Identifier: Apache-2.0

// Package proxy stands between one agent and a real API server. It ends the agent's TLS and HTTP/2 itself, frame by
// frame, so that every fault of a path and of a server can be produced exactly; what no rule spoils is forwarded with
// the agent's own credentials, and every request is counted.
package proxy

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// Rule spoils requests. Of the rules that match the newest acts, instead of forwarding.
type Rule struct {
	Kinds []string // as KindOf names them; none: every request
	Times int      // how often it acts; 0: until Clear
	Act   func(x *Exchange)
}

func (r *Rule) matches(kind string) bool {
	for _, one := range r.Kinds {
		if one == kind {
			return true
		}
	}
	return len(r.Kinds) == 0
}

// Proxy is one server of the agent's.
type Proxy struct {
	target    string // of the real API server: https://host:port
	transport *http.Transport
	link      link

	mu        sync.Mutex
	listeners map[string]net.Listener
	cert      tls.Certificate
	token     string // instead of the agent's own, when not empty
	rules     []*Rule
	left      map[*Rule]int
	conns     map[*conn]bool
	requests  []Request
	connects  []time.Time
}

// New makes a proxy that nobody can connect to yet.
func New(target string, authority *x509.CertPool, cert tls.Certificate) *Proxy {
	p := &Proxy{
		target: target, cert: cert,
		listeners: map[string]net.Listener{}, left: map[*Rule]int{}, conns: map[*conn]bool{},
		transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: authority}, ForceAttemptHTTP2: true, DisableCompression: true,
		},
	}
	p.link.init()
	return p
}

// Listen accepts connections on an address; port 0 is any free one. It returns the address.
func (p *Proxy) Listen(address string) (string, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return "", err
	}
	p.mu.Lock()
	p.listeners[listener.Addr().String()] = listener
	p.mu.Unlock()
	go p.accept(listener)
	return listener.Addr().String(), nil
}

func (p *Proxy) accept(listener net.Listener) {
	for {
		raw, err := listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		p.connects = append(p.connects, time.Now())
		cert := p.cert
		p.mu.Unlock()
		c := newConn(p, raw.(*net.TCPConn), cert)
		p.mu.Lock()
		p.conns[c] = true
		p.mu.Unlock()
		go func() {
			err := c.serve()
			if os.Getenv("PROXY_DEBUG") != "" {
				fmt.Fprintf(os.Stderr, "proxy %s: connection over: %v\n", listener.Addr(), err)
			}
			c.close()
			p.mu.Lock()
			delete(p.conns, c)
			p.mu.Unlock()
		}()
	}
}

// Refuse closes the listening sockets and resets all connections: a server that is not there.
func (p *Proxy) Refuse() {
	p.mu.Lock()
	for address, listener := range p.listeners {
		_ = listener.Close()
		delete(p.listeners, address)
	}
	p.mu.Unlock()
	p.ResetAll()
}

// ResetAll ends every connection by a TCP reset.
func (p *Proxy) ResetAll() {
	for _, c := range p.open() {
		c.reset()
	}
}

// GoAwayAll asks the agent to move: no stream after those that are open.
func (p *Proxy) GoAwayAll() {
	for _, c := range p.open() {
		c.goAway(c.lastStream())
	}
}

// Close ends everything.
func (p *Proxy) Close() {
	p.link.set(linkState{})
	p.Refuse()
	p.transport.CloseIdleConnections()
}

func (p *Proxy) open() []*conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []*conn
	for c := range p.conns {
		all = append(all, c)
	}
	return all
}

// Silence keeps connections open without a byte in either direction: those that are open now, and new ones too if asked.
func (p *Proxy) Silence(newOnes bool) {
	for _, c := range p.open() {
		c.link.set(linkState{silent: true})
	}
	if newOnes {
		p.link.set(linkState{silent: true})
	}
}

// Slow delays every piece that goes to the agent, of at most so many bytes; 0 bytes: as they come.
func (p *Proxy) Slow(delay time.Duration, bytes int) {
	state := linkState{delay: delay, piece: bytes}
	p.link.set(state)
	for _, c := range p.open() {
		c.link.set(state)
	}
}

// ResetNew resets each new connection at once.
func (p *Proxy) ResetNew() { p.link.set(linkState{reset: true}) }

// Heal takes away what Silence, Slow and ResetNew did.
func (p *Proxy) Heal() {
	p.link.set(linkState{})
	for _, c := range p.open() {
		c.link.set(linkState{})
	}
}

// Present shows another certificate to new connections.
func (p *Proxy) Present(cert tls.Certificate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cert = cert
}

// Impersonate forwards with another token than the agent's; empty: with its own.
func (p *Proxy) Impersonate(token string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.token = token
}

// Add switches a rule on.
func (p *Proxy) Add(rule Rule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = append([]*Rule{&rule}, p.rules...)
	p.left[&rule] = rule.Times
}

// Clear switches all rules off.
func (p *Proxy) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = nil
}

// Pending counts the rules with a number of times that did not act that often yet.
func (p *Proxy) Pending() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	count := 0
	for _, rule := range p.rules {
		if rule.Times > 0 && p.left[rule] > 0 {
			count++
		}
	}
	return count
}

// rule is the one that acts on a request, or nil.
func (p *Proxy) rule(kind string) *Rule {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, rule := range p.rules {
		if rule.matches(kind) && (rule.Times == 0 || p.left[rule] > 0) {
			p.left[rule]--
			return rule
		}
	}
	return nil
}

// Requests are those that came so far, oldest first.
func (p *Proxy) Requests() []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Request(nil), p.requests...)
}

// Connects are the times of all connections.
func (p *Proxy) Connects() []time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]time.Time(nil), p.connects...)
}

func (p *Proxy) count(r Request) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests = append(p.requests, r)
	return len(p.requests) - 1
}

func (p *Proxy) over(number int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests[number].Over = time.Now()
}

func (p *Proxy) answered(number, status int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests[number].Status = status
}
