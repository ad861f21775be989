// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bufio"
	"crypto"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// tally counts the cases with one peer; they end up as its row of the table.
type tally struct {
	t             *testing.T
	mu            sync.Mutex
	passed, total int
}

func newTally(t *testing.T, peer, role string) *tally {
	p := &tally{t: t}
	t.Cleanup(func() { interopTable.add(peer, role, fmt.Sprintf("%d of %d", p.passed, p.total)) })
	return p
}

func (p *tally) run(name string, f func(t *testing.T)) {
	p.t.Run(name, func(t *testing.T) {
		t.Parallel()
		t.Cleanup(func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.total++
			if !t.Failed() {
				p.passed++
			}
		})
		f(t)
	})
}

// chain is a root and what a server with a certificate of its intermediate authority shows.
type chain struct {
	root   *authority
	server tls.Certificate
}

func newChain(key func() crypto.Signer) *chain {
	authorityOf := func(name string, parent *authority) *authority {
		c, a := template(name), &authority{key: key()}
		c.IsCA, c.BasicConstraintsValid, c.KeyUsage = true, true, x509.KeyUsageCertSign
		if parent == nil {
			parent = &authority{key: a.key, cert: c}
		}
		der := must(x509.CreateCertificate(rand.Reader, c, parent.cert, a.key.Public(), parent.key))
		a.cert, a.pem = must(x509.ParseCertificate(der)), certPEM(der)
		return a
	}
	root := authorityOf("root", nil)
	middle := authorityOf("intermediate", root)
	server := middle.server(key(), "127.0.0.1")
	server.Certificate = append(server.Certificate, middle.cert.Raw)
	return &chain{root, server}
}

var chains = map[string]func() *chain{
	"ECDSA": sync.OnceValue(func() *chain { return newChain(ecKey) }),
	"RSA":   sync.OnceValue(func() *chain { return newChain(rsaKey) }),
}

// tlsCases runs one with each version, chain and choice of groups. With P-384 alone a server of TLS 1.3
// cannot use the key share that it is sent first, and asks for another.
func tlsCases(p *tally, one func(t *testing.T, version string, c *chain, narrow, retry bool)) {
	for version := range tlsVersions {
		for kind, c := range chains {
			for _, narrow := range []bool{false, true} {
				name := fmt.Sprintf("%s %s", version, kind)
				if narrow {
					name += " P-384"
				}
				p.run(name, func(t *testing.T) { one(t, version, c(), narrow, narrow && version == "TLS 1.3") })
			}
		}
	}
}

func (s *apiServer) trusting(root *authority) func(dir string) string {
	return func(dir string) string { return s.kubeconfigWith(dir, root, "token: "+goodToken) }
}

// repaired sees that the watch still tells: a removed slice comes back.
func (s *apiServer) repaired() {
	s.t.Helper()
	gone := s.published().Name
	s.remove(gone)
	waitForLong(s.t, longPatience, "repair by the watch", func() bool {
		own := s.own()
		return len(own) == 1 && own[0].Name != gone
	})
}

func TestInteropTLSGo(t *testing.T) {
	t.Parallel()
	p := newTally(t, "Go crypto/tls "+runtime.Version()[2:], "TLS server")
	tlsCases(p, func(t *testing.T, version string, c *chain, narrow, retry bool) {
		api := newAPIServer(t)
		api.tls = limited(tlsVersions[version], c.server)
		if narrow {
			api.tls.CurvePreferences = []tls.CurveID{tls.CurveP384}
		}
		seen := make(chan tls.ConnectionState, 16)
		api.tls.VerifyConnection = func(s tls.ConnectionState) error {
			seen <- s
			return nil
		}
		api.up()
		publishes(t, api, api.trusting(c.root))
		waitFor(t, "a watch", api.watching)
		// Tickets are sent, and ignored: the next connection begins from nothing.
		api.hangUp()
		waitForLong(t, longPatience, "a watch again", api.watching)
		api.repaired()
		for range 2 {
			if s := <-seen; s.HelloRetryRequest != retry || s.DidResume {
				t.Errorf("HelloRetryRequest %v, resumed %v", s.HelloRetryRequest, s.DidResume)
			}
		}
	})
}

// upPlain listens without TLS for who terminates it, and says where.
func (s *apiServer) upPlain() string {
	s.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(s.t, err)
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	s.server = &http.Server{Handler: s, Protocols: protocols}
	go func(server *http.Server) { _ = server.Serve(listener) }(s.server)
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	return port
}

// terminator is OpenSSL's TLS in front of the API server.
type terminator struct {
	t     *testing.T
	stdin io.Writer
	said  lines
}

func newTerminator(t *testing.T, api *apiServer, c *chain, version, groups string) *terminator {
	t.Helper()
	api.tls12 = version == "TLS 1.2"
	dir := t.TempDir()
	var pems []byte
	for _, der := range c.server.Certificate {
		pems = append(pems, certPEM(der)...)
	}
	cert := writeFile(t, filepath.Join(dir, "crt"), string(pems))
	key := writeFile(t, filepath.Join(dir, "key"), string(keyPEM(c.server.PrivateKey.(crypto.Signer))))
	cmd := exec.Command(interopDir+"terminator", cert, key, strings.TrimPrefix(version, "TLS "), groups, api.upPlain())
	stdin, err := cmd.StdinPipe()
	check(t, err)
	stdout, err := cmd.StdoutPipe()
	check(t, err)
	cmd.Stderr = os.Stderr
	check(t, cmd.Start())
	m := &terminator{t: t, stdin: stdin}
	over := make(chan struct{})
	go func() {
		for s := bufio.NewScanner(stdout); s.Scan(); {
			m.said.add(s.Text())
		}
		close(over)
	}()
	t.Cleanup(func() {
		stdin.Close()
		<-over
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("terminator: %q", m.said.text)
		}
	})
	api.address = "127.0.0.1:" + strings.Fields(m.wait(0, "listening"))[1]
	return m
}

func (m *terminator) wait(from int, words ...string) (line string) {
	m.t.Helper()
	waitForLong(m.t, longPatience, fmt.Sprintf("%q of the terminator", words), func() bool {
		found, more := m.said.find(from, words...)
		line = found
		return more == nil
	})
	return line
}

// do has every connection do something, and waits until that is done.
func (m *terminator) do(what string) {
	m.t.Helper()
	mark := m.said.count()
	fmt.Fprintln(m.stdin, what)
	if line := m.wait(mark, "did"); line != "did it" {
		m.t.Fatalf("OpenSSL did no %s", what)
	}
}

func TestInteropTLSOpenSSL(t *testing.T) {
	t.Parallel()
	words := strings.Fields(string(must(exec.Command("openssl", "version").Output())))
	p := newTally(t, words[0]+" "+words[1], "TLS server")
	tlsCases(p, func(t *testing.T, version string, c *chain, narrow, retry bool) {
		api, groups, hellos := newAPIServer(t), "X25519:P-256:P-384", "hellos 1"
		if narrow {
			groups = "P-384"
		}
		if retry {
			hellos = "hellos 2"
		}
		m := newTerminator(t, api, c, version, groups)
		publishes(t, api, api.trusting(c.root))
		api.repaired()
		m.wait(0, "connection", strings.Replace(version, "TLS ", "TLSv", 1), hellos)
	})
	start := func(t *testing.T, version string) (*apiServer, *terminator, *agent) {
		api := newAPIServer(t)
		m := newTerminator(t, api, chains["ECDSA"](), version, "X25519")
		a := publishes(t, api, api.trusting(chains["ECDSA"]().root))
		waitFor(t, "a watch", api.watching)
		return api, m, a
	}
	p.run("KeyUpdate", func(t *testing.T) {
		api, m, a := start(t, "TLS 1.3")
		mark, said := a.log.count(), m.said.count()
		// What is under way then is not lost: the GET of a claim is repeated.
		var once sync.Once
		api.setFaults(func(kind string, _ http.ResponseWriter, r *http.Request) (took bool) {
			if kind == "claim" {
				once.Do(func() {
					took = true
					m.do("update")
					<-r.Context().Done()
				})
			}
			return took
		})
		k := &kubelet{t: t, conn: dialService(t, a.serviceSocket())}
		k.prepareOK(named(api.addClaim(newClaim("meanwhile", "req=3"))))
		line := a.waitLog(mark, "event=api_connection_lost", "KeyUpdate")
		m.wait(said, "alert", "unexpected")
		m.wait(said, "connection", "resumed 0")
		a.waitLogFor(longPatience, mark, "event=api_connected")
		waitForLong(t, longPatience, "a watch again", api.watching)
		api.repaired()
		if n := a.log.last("event=api_connection_lost"); a.waitLog(n) != line {
			t.Errorf("said twice: %s", a.waitLog(n))
		}
	})
	p.run("tickets", func(t *testing.T) {
		api, m, a := start(t, "TLS 1.3")
		mark, said := a.log.count(), m.said.count()
		for range 3 {
			m.do("ticket")
		}
		api.repaired()
		if n := a.log.last("event=api_connection_lost"); n >= mark {
			t.Errorf("a ticket ended the connection: %s", a.waitLog(n))
		}
		m.do("update")
		m.wait(said, "connection", "resumed 0")
		api.repaired()
	})
	p.run("renegotiation", func(t *testing.T) {
		api, m, _ := start(t, "TLS 1.2")
		m.do("renegotiate")
		api.repaired()
	})
}
