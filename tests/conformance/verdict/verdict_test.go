// SPDX-License-Identifier: Apache-2.0

// Package verdict compares the agent's verdicts on servers' certificates with those of Go's crypto/x509, in real
// handshakes with the agent's TLS client. It owns the table of situations and the list of differences.
package verdict

import (
	"bufio"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const handshakeProgram = "../../../build/interop/handshake"

// situation is a server, and a client that trusts a bundle.
type situation struct {
	name   string
	bundle []byte   // PEM
	sent   [][]byte // DER, the server's own first
	key    crypto.Signer
	host   string
	words  string // part of the agent's reason, where one was worth a row
}

// differences are the situations in which Go accepts and the agent refuses, and why.
var differences = map[string]string{
	"key/leaf ed25519":                   "mbedTLS has no Ed25519",
	"key/root ed25519":                   "mbedTLS has no Ed25519",
	"policy/required, mapped on the way": "mappings of policies are not followed",
	"time/with an offset":                "RFC 5280 §4.1.2.5 forbids it",
	"names/uri with a user":              "a URI with a user is not a name that a server certificate has",
}

// goSays is the verdict of client-go on the same bytes: its pool, then what crypto/tls asks of crypto/x509.
func goSays(s *situation) error {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(s.bundle) {
		return errors.New("no certificate in the bundle")
	}
	var certs []*x509.Certificate
	for _, raw := range s.sent {
		cert, err := x509.ParseCertificate(raw)
		if err != nil {
			return err
		}
		certs = append(certs, cert)
	}
	options := x509.VerifyOptions{Roots: roots, DNSName: s.host, Intermediates: x509.NewCertPool()}
	for _, cert := range certs[1:] {
		options.Intermediates.AddCert(cert)
	}
	_, err := certs[0].Verify(options)
	return err
}

// client is the agent's TLS client as a program: tests/interop/handshake.c.
type client struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startClient(t *testing.T) *client {
	t.Helper()
	cmd := exec.Command(handshakeProgram)
	cmd.Stderr = os.Stderr
	c := &client{cmd: cmd, in: must(cmd.StdinPipe())}
	c.out = bufio.NewReader(must(cmd.StdoutPipe()))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("handshake: %v", err)
		}
	})
	return c
}

// says is the agent's verdict, by a handshake with a server that sends just these bytes.
func (c *client) says(t *testing.T, s *situation, version uint16, bundle string) (status, reason string) {
	t.Helper()
	config := &tls.Config{
		Certificates: []tls.Certificate{{Certificate: s.sent, PrivateKey: s.key}},
		MinVersion:   version, MaxVersion: version, NextProtos: []string{"h2"},
	}
	listener := must(net.Listen("tcp", "127.0.0.1:0"))
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err := listener.Accept()
		if err == nil {
			_ = tls.Server(conn, config).Handshake()
			_, _ = io.Copy(io.Discard, conn)
			conn.Close()
		}
	}()
	fmt.Fprintf(c.in, "%d\t%s\t%s\n", listener.Addr().(*net.TCPAddr).Port, bundle, s.host)
	line, err := c.out.ReadString('\n')
	if err != nil {
		t.Fatalf("%s: the client ended: %v", s.name, err)
	}
	listener.Close()
	<-done
	status, reason, _ = strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
	return status, reason
}

// The agent's verdict on servers is that of Go's crypto/x509, by which all other components decide. Each difference is
// listed above; in each of them the agent refuses.
func TestVerdictsAreThoseOfGo(t *testing.T) {
	all := situations(t)
	if len(all) < 250 || len(differences) > 5 {
		t.Fatalf("%d situations, %d differences", len(all), len(differences))
	}
	c := startClient(t)
	folder := t.TempDir()
	seen := map[string]bool{}
	accepted := 0
	for i := range all {
		s := &all[i]
		if seen[s.name] {
			t.Fatalf("%s stands there twice", s.name)
		}
		seen[s.name] = true
		bundle := filepath.Join(folder, fmt.Sprintf("bundle%d.pem", i))
		if err := os.WriteFile(bundle, s.bundle, 0o600); err != nil {
			t.Fatal(err)
		}
		want := goSays(s)
		version := uint16(tls.VersionTLS13)
		if i%2 == 1 {
			version = tls.VersionTLS12
		}
		status, reason := c.says(t, s, version, bundle)
		if status == "ok" {
			accepted++
		}
		judge(t, s, want, status, reason)
	}
	for name := range differences {
		if !seen[name] {
			t.Errorf("no situation is called %q", name)
		}
	}
	t.Logf("%d situations: %d accepted, %d refused, %d of these accepted by Go", len(all), accepted, len(all)-accepted, len(differences))
}

func judge(t *testing.T, s *situation, want error, status, reason string) {
	t.Helper()
	_, differs := differences[s.name]
	switch {
	case status == "ok" && want != nil:
		t.Errorf("%s: accepted; Go says: %v", s.name, want)
	case status == "ok" && differs:
		t.Errorf("%s: no longer differs", s.name)
	case status != "ok" && want == nil && !differs:
		t.Errorf("%s: Go accepts; the agent says: %s, %s", s.name, status, reason)
	case status != "ok" && want != nil && differs:
		t.Errorf("%s: Go refuses it too: %v", s.name, want)
	case status != "ok" && status != "peer-untrusted" && status != "peer-malformed" && status != "peer-unsupported":
		t.Errorf("%s: refused as %s, %s; Go says: %v", s.name, status, reason, want)
	case !strings.Contains(reason, s.words):
		t.Errorf("%s: says %q, not %q", s.name, reason, s.words)
	}
	if testing.Verbose() && status != "ok" {
		t.Logf("%s: %s | Go: %v", s.name, reason, want)
	}
}
