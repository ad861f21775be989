// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// versions of TLS that a server may be limited to; 0 is no limit.
var tlsVersions = map[string]uint16{"TLS 1.2": tls.VersionTLS12, "TLS 1.3": tls.VersionTLS13}

func limited(version uint16, certificate tls.Certificate) *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{"h2"},
		MinVersion: version, MaxVersion: version}
}

// tlsFlags are the flags by which an agent connects to the server.
func (api *apiServer) tlsFlags() []string {
	if api.tls12 || api.tls != nil && api.tls.MaxVersion == tls.VersionTLS12 {
		return []string{"--tls-min-version=1.2"}
	}
	return nil
}

// published starts an agent against the server and waits for its slice.
func publishes(t *testing.T, api *apiServer, kubeconfig func(dir string) string) *agent {
	t.Helper()
	a := newAgent(t, "trn2.48xlarge")
	a.args = append(a.args, "--kubeconfig", kubeconfig(a.dir))
	a.args = append(a.args, api.tlsFlags()...)
	a.start()
	k := a.register()
	api.published()
	c := named(api.addClaim(newClaim("over-tls", "req=0")))
	k.prepareOK(c)
	k.unprepareOK(c)
	return a
}

func TestTLSVersionsAndKeys(t *testing.T) {
	t.Parallel()
	for name, version := range tlsVersions {
		for kind, key := range map[string]tls.Certificate{"EC": serving(), "RSA": trusted().server(rsaKey(), "127.0.0.1")} {
			t.Run(name+" "+kind, func(t *testing.T) {
				t.Parallel()
				api := newAPIServer(t)
				api.tls = limited(version, key)
				api.up()
				publishes(t, api, api.kubeconfig)
				for _, r := range api.log("node watch", "list", "create", "watch", "claim") {
					if r.header.Get("Authorization") != "Bearer "+goodToken {
						t.Errorf("%s with authorization %q", r.kind, r.header.Get("Authorization"))
					}
				}
			})
		}
	}
}

// A server that speaks TLS 1.2 alone is refused with the flag that allows it, which the server then serves by.
func TestTLSMinVersion(t *testing.T) {
	t.Parallel()
	api := newAPIServer(t)
	api.tls = limited(tls.VersionTLS12, serving())
	api.up()
	a := newAgent(t, "trn2.48xlarge")
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir))
	a.start()
	a.waitLog(0, "event=api_connect_failed", "for a server that speaks only TLS 1.2 set --tls-min-version=1.2")
	a.stop()
	publishes(t, api, api.kubeconfig)
}

func TestServerNames(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, san, host, extra string }{
		{"DNS name", "localhost", "localhost", ""},
		{"tls-server-name", "kube.example", "127.0.0.1", "\n    tls-server-name: kube.example"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			api := newAPIServer(t)
			api.tls = limited(0, trusted().server(ecKey(), c.san))
			api.up()
			publishes(t, api, func(dir string) string {
				_, port, _ := net.SplitHostPort(api.address)
				ca := writeFile(t, filepath.Join(dir, "ca.crt"), string(trusted().pem))
				return writeKubeconfig(t, dir, c.host+":"+port, "certificate-authority: "+ca+c.extra, "token: "+goodToken)
			})
		})
	}
}

func TestClientCertificate(t *testing.T) {
	t.Parallel()
	inline := func(b []byte) string { return base64.StdEncoding.EncodeToString(b) }
	for _, form := range []string{"files", "inline"} {
		for name, version := range tlsVersions {
			t.Run(form+" "+name, func(t *testing.T) {
				t.Parallel()
				api := newAPIServer(t)
				api.tokens = nil
				api.tls = limited(version, serving())
				api.tls.ClientAuth, api.tls.ClientCAs = tls.RequireAndVerifyClientCert, trusted().pool()
				api.up()
				publishes(t, api, func(dir string) string {
					cert, key := pemFiles(t, dir, trusted().client("agent"))
					user := "client-certificate: " + cert + "\nclient-key: " + key
					ca := writeFile(t, filepath.Join(dir, "ca.crt"), string(trusted().pem))
					authority := "certificate-authority: " + ca
					if form == "inline" {
						user = "client-certificate-data: " + inline(must(os.ReadFile(cert))) +
							"\nclient-key-data: " + inline(must(os.ReadFile(key)))
						authority = "certificate-authority-data: " + inline(trusted().pem)
					}
					return writeKubeconfig(t, dir, api.address, authority, user)
				})
			})
		}
	}
}

// A server that does not take our certificate gets no request; GetInfo goes on. The cause is named though
// a reset follows the server's alert.
func TestClientCertificateRefused(t *testing.T) {
	t.Parallel()
	for name, version := range tlsVersions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := newAPIServer(t)
			api.tls = limited(version, serving())
			api.tls.ClientAuth, api.tls.ClientCAs = tls.RequireAndVerifyClientCert, trusted().pool()
			api.up()
			a := newAgent(t, "trn2.48xlarge")
			cert, key := pemFiles(t, a.dir, foreign().client("agent"))
			a.args = append(a.args, "--kubeconfig", api.kubeconfigWith(a.dir, trusted(), "client-certificate: "+cert+"\nclient-key: "+key))
			a.args = append(a.args, api.tlsFlags()...)
			a.start()
			a.register()
			// With TLS 1.3 the client is through before the server looks at its certificate.
			a.waitLog(0, "event=api_", "does not accept our client certificate: ")
			getInfo(t, dialRegistration(t, a.registrationSocket()))
			if api.seen("node watch", "list") != 0 {
				t.Error("a request went out")
			}
		})
	}
}

// A CA that is none is named with its file: at start, where nothing else can be done, and before anybody
// is connected to.
func TestUnreadableCA(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a := newAgent(t, "trn2.48xlarge")
	file := writeFile(t, filepath.Join(a.dir, "ca"), "no certificate\n")
	words := "certificate-authority " + file + " is not PEM"
	a.args = append(a.args, "--kubeconfig",
		writeKubeconfig(t, a.dir, api.address, "certificate-authority: "+file, "token: "+goodToken))
	refused := runOnce(t, a, nil)
	contains(t, refused.stderr, words)
	if refused.code != 1 {
		t.Errorf("exit code %d", refused.code)
	}
	writeFile(t, file, string(trusted().pem))
	a.start()
	k := a.register()
	api.published()
	writeFile(t, file, "no certificate\n")
	mark := a.log.count()
	api.down()
	a.waitLog(mark, "event=api_connect_failed", words)
	k.unprepareOK(named(newClaim("x")))
	writeFile(t, file, string(trusted().pem))
	api.up()
	waitForLong(t, longPatience, "a watch", api.watching)
}

// listenTLS takes connections with a certificate that must not be trusted, and counts what the client
// then still says.
type listenTLS struct {
	listener net.Listener
	mu       sync.Mutex
	shaken   int // handshakes that completed
	tried    int
	said     []byte
}

func newListenTLS(t *testing.T, config *tls.Config) *listenTLS {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	t.Cleanup(func() { listener.Close() })
	l := &listenTLS{listener: listener}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go l.serve(tls.Server(conn, config))
		}
	}()
	return l
}

func (l *listenTLS) serve(conn *tls.Conn) {
	defer conn.Close()
	err := conn.Handshake()
	buffer := make([]byte, 4096)
	n := 0
	if err == nil {
		n, _ = conn.Read(buffer)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tried++
	if err == nil {
		l.shaken++
	}
	l.said = append(l.said, buffer[:n]...)
}

func (l *listenTLS) attempts() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tried
}

// After a failed verification the server gets not one byte of HTTP, and the log says why.
func TestUntrustedServers(t *testing.T) {
	t.Parallel()
	http1 := func(version uint16) *tls.Config {
		c := limited(version, serving())
		c.NextProtos = []string{"http/1.1"}
		return c
	}
	noALPN := func(version uint16) *tls.Config {
		c := limited(version, serving())
		c.NextProtos = nil
		return c
	}
	cases := map[string]struct {
		config func(version uint16) *tls.Config
		words  string
	}{
		"other CA":   {func(v uint16) *tls.Config { return limited(v, foreign().server(ecKey(), "127.0.0.1")) }, "not signed by the given certificate authority"},
		"other IP":   {func(v uint16) *tls.Config { return limited(v, trusted().server(ecKey(), "127.0.0.2")) }, "127.0.0.1"},
		"other name": {func(v uint16) *tls.Config { return limited(v, trusted().server(ecKey(), "127.0.0.1.example")) }, "127.0.0.1"},
		"expired":    {func(v uint16) *tls.Config { return limited(v, trusted().expired("127.0.0.1")) }, "expired"},
		"client's":   {func(v uint16) *tls.Config { return limited(v, trusted().client("127.0.0.1")) }, "certificate"},
		"HTTP/1.1":   {http1, "HTTP/2"},
		"no ALPN":    {noALPN, "HTTP/2"},
	}
	for name, c := range cases {
		for versionName, version := range tlsVersions {
			t.Run(name+" "+versionName, func(t *testing.T) {
				t.Parallel()
				l := newListenTLS(t, c.config(version))
				a := withoutServer(t, "trn2.48xlarge", l.listener.Addr().String())
				a.args = append(a.args, "--tls-min-version=1.2")
				a.start()
				k := a.register()
				line := a.waitLog(0, "event=api_connect_failed", c.words)
				if !strings.Contains(line, l.listener.Addr().String()) {
					t.Errorf("the line does not name the server: %s", line)
				}
				waitFor(t, "a second attempt", func() bool { return l.attempts() >= 2 })
				l.mu.Lock()
				if len(l.said) > 0 {
					t.Errorf("the client said %q", l.said)
				}
				l.mu.Unlock()
				k.unprepareOK(named(newClaim("x")))
			})
		}
	}
}

// Something else than TLS on the port, and ports that hang up.
func TestNoTLSServer(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"plain HTTP": "HTTP/1.1 400 Bad Request\r\n\r\n", "closes": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			check(t, err)
			defer listener.Close()
			go func() {
				for {
					conn, err := listener.Accept()
					if err != nil {
						return
					}
					fmt.Fprint(conn, text)
					conn.Close()
				}
			}()
			a := withoutServer(t, "trn2.48xlarge", listener.Addr().String())
			a.start()
			a.register()
			a.waitLog(0, "event=api_connect_failed", listener.Addr().String())
			getInfo(t, dialRegistration(t, a.registrationSocket()))
		})
	}
}

// The service account of a pod, at the path that is the same in every pod.
func TestInCluster(t *testing.T) {
	run, err := filepath.EvalSymlinks("/var/run")
	check(t, err)
	mountTmpfs(t, run, "size=1m")
	dir := run + "/secrets/kubernetes.io/serviceaccount"
	check(t, os.MkdirAll(dir, 0o755))
	api := startAPIServer(t)
	host, port, err := net.SplitHostPort(api.address)
	check(t, err)
	a := newAgent(t, "trn2.48xlarge")
	a.env = []string{"KUBERNETES_SERVICE_HOST=" + host, "KUBERNETES_SERVICE_PORT=" + port}

	// Without a service account the kubelet is served, and the files are looked for.
	a.start()
	a.register()
	a.waitLog(0, "event=api_connect_failed", "/var/run/secrets/kubernetes.io/serviceaccount")
	// A bundle, as clusters have during the rotation of their CA.
	writeFile(t, dir+"/ca.crt", string(foreign().pem)+string(trusted().pem))
	writeFile(t, dir+"/token", goodToken+"\n")
	writeFile(t, dir+"/namespace", "kube-system")
	api.published()
	for _, r := range api.log("node watch", "list", "create") {
		if r.header.Get("Authorization") != "Bearer "+goodToken {
			t.Errorf("%s with authorization %q", r.kind, r.header.Get("Authorization"))
		}
	}
}
