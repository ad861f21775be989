// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"crypto"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Whatever Go's server does to every answer that may bear it, from the first request on.
func TestInteropServerGo(t *testing.T) {
	t.Parallel()
	p := newTally(t, "Go net/http "+runtime.Version()[2:], "API server")
	every := func(f func(w http.ResponseWriter)) hook {
		return func(_ string, w http.ResponseWriter, _ *http.Request) bool {
			f(w)
			return false
		}
	}
	header := func(name, value string) hook {
		return every(func(w http.ResponseWriter) { w.Header().Set(name, value) })
	}
	cases := map[string]hook{
		"early hints": every(func(w http.ResponseWriter) {
			w.Header().Set("Link", "</style.css>; rel=preload")
			w.WriteHeader(103)
			w.WriteHeader(103)
		}),
		"trailers": header(http.TrailerPrefix+"X-After", "done"),
		"CONTINUATION": every(func(w http.ResponseWriter) {
			for i := range 30 {
				w.Header().Add("Warning", fmt.Sprintf(`299 - "%d %s"`, i, strings.Repeat("w", 1000)))
			}
		}),
		"GOAWAY before the answer": oncePerKind(func(w http.ResponseWriter) { w.Header().Set("Connection", "close") }),
		"aborts":                   oncePerKind(func(http.ResponseWriter) { panic(http.ErrAbortHandler) }),
		"aborts later": oncePerKind(func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", protobufType)
			_, _ = w.Write([]byte("k8s\x00"))
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}),
	}
	for name, f := range cases {
		p.run(name, func(t *testing.T) {
			api := startAPIServer(t)
			api.setFaults(f)
			servedInTheEnd(t, api, api.kubeconfig)
		})
	}
	p.run("slow bodies", func(t *testing.T) {
		api := startAPIServer(t)
		api.setPieces(func() int { time.Sleep(time.Millisecond); return 40 })
		servedInTheEnd(t, api, api.kubeconfig)
	})
	p.run("few streams", func(t *testing.T) {
		api := newAPIServer(t)
		api.http2 = &http.HTTP2Config{MaxConcurrentStreams: 3} // two watches, and one for all else
		api.up()
		servedInTheEnd(t, api, api.kubeconfig)
	})
	p.run("table of one octet, small windows", func(t *testing.T) {
		api := newAPIServer(t)
		api.http2 = &http.HTTP2Config{MaxDecoderHeaderTableSize: 1, MaxEncoderHeaderTableSize: 1,
			MaxReceiveBufferPerStream: 1024}
		api.up()
		servedInTheEnd(t, api, api.kubeconfig)
	})
}

// oncePerKind does something to the answer of the first request of each kind.
func oncePerKind(f func(w http.ResponseWriter)) hook {
	var mu sync.Mutex
	met := map[string]bool{}
	return func(kind string, w http.ResponseWriter, _ *http.Request) bool {
		mu.Lock()
		first := !met[kind]
		met[kind] = true
		mu.Unlock()
		if first {
			f(w)
		}
		return false
	}
}

// servedInTheEnd sees that all that an agent does with its API server is done, whatever that takes.
func servedInTheEnd(t *testing.T, api *apiServer, kubeconfig func(dir string) string) (*agent, *kubelet) {
	t.Helper()
	a := newAgent(t, "trn2.48xlarge")
	a.args = append(append(a.args, "--kubeconfig", kubeconfig(a.dir)), api.tlsFlags()...)
	a.start()
	k := a.register()
	waitForLong(t, longPatience, "one slice", func() bool { return len(api.own()) == 1 })
	c := named(api.addClaim(newClaim("served", "req=0")))
	waitForLong(t, longPatience, "prepare", prepareWorks(k, c))
	k.unprepareOK(c)
	waitForLong(t, longPatience, "a watch", api.watching)
	api.repaired()
	a.noCDI()
	return a, k
}

// program is a server of somebody else's.
type program struct {
	t    *testing.T
	name string
	args []string
	cmd  *exec.Cmd
}

// up starts it and waits for its port.
func (p *program) up(address string) {
	p.t.Helper()
	p.cmd = exec.Command(p.name, p.args...)
	log, err := os.Create(filepath.Join(p.t.TempDir(), "log"))
	check(p.t, err)
	defer log.Close()
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	check(p.t, p.cmd.Start())
	cmd := p.cmd
	p.t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
		if p.t.Failed() {
			text, _ := os.ReadFile(log.Name())
			p.t.Logf("%s says:\n%.3000s", p.name, text)
		}
	})
	waitFor(p.t, p.name+" on "+address, func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
}

// debian is a program of a Debian package; sbin is not in everybody's PATH.
func debian(t testing.TB, name string) (path, version string) {
	t.Helper()
	path = "/usr/sbin/" + name
	words := strings.Fields(string(must(exec.Command(path, "--version").Output())))
	return path, strings.TrimPrefix(words[len(words)-1], "nghttp2/")
}

// keyFiles writes what a server of somebody else's reads.
func keyFiles(t *testing.T) (key, cert string) {
	t.Helper()
	dir := t.TempDir()
	pair := serving()
	return writeFile(t, filepath.Join(dir, "key"), string(keyPEM(pair.PrivateKey.(crypto.Signer)))),
		writeFile(t, filepath.Join(dir, "crt"), string(certPEM(pair.Certificate[0])))
}

// A proxy with an HTTP/2 stack and TLS of its own between the agent and the API server.
func TestInteropServerNghttpx(t *testing.T) {
	t.Parallel()
	nghttpx, version := debian(t, "nghttpx")
	p := newTally(t, "nghttpx "+version, "API server's proxy")
	start := func(t *testing.T, options ...string) (*apiServer, *program) {
		api := newAPIServer(t)
		api.address = closedPort(t)
		key, cert := keyFiles(t)
		front := strings.Replace(api.address, ":", ",", 1)
		x := &program{t: t, name: nghttpx, args: append([]string{"--frontend=" + front,
			"--backend=127.0.0.1," + api.upPlain() + ";;proto=h2", "--workers=1", "--conf=/dev/null",
			"--accesslog-file=/dev/null"}, append(options, key, cert)...)}
		x.up(api.address)
		return api, x
	}
	for name, options := range map[string][]string{
		"as it is":         nil,
		"TLS 1.2":          {"--tls-max-proto-version=TLSv1.2", "--tls-min-proto-version=TLSv1.2"},
		"TLS 1.3 P-384":    {"--tls-min-proto-version=TLSv1.3", "--ecdh-curves=P-384"},
		"table size 0":     {"--frontend-http2-decoder-dynamic-table-size=0", "--frontend-http2-encoder-dynamic-table-size=0"},
		"small windows":    {"--frontend-http2-window-size=1023", "--frontend-http2-connection-window-size=65535"},
		"few streams":      {"--frontend-http2-max-concurrent-streams=3"},
		"padding, headers": {"--padding=255", "--add-response-header=x-long: " + strings.Repeat("y", 3000)},
	} {
		p.run(name, func(t *testing.T) {
			api, _ := start(t, options...)
			api.tls12 = name == "TLS 1.2"
			servedInTheEnd(t, api, api.kubeconfig)
		})
	}
	p.run("restart", func(t *testing.T) {
		api, x := start(t)
		a, k := servedInTheEnd(t, api, api.kubeconfig)
		mark := a.log.count()
		check(t, syscall.Kill(x.cmd.Process.Pid, syscall.SIGQUIT)) // GOAWAY, and the end when all is done
		time.Sleep(200 * time.Millisecond)
		check(t, syscall.Kill(-x.cmd.Process.Pid, syscall.SIGKILL))
		_ = x.cmd.Wait()
		x.up(api.address)
		a.waitLogFor(longPatience, mark, "event=api_connected")
		c := named(api.addClaim(newClaim("after", "req=1")))
		waitForLong(t, longPatience, "prepare", prepareWorks(k, c))
		waitForLong(t, longPatience, "a watch", api.watching)
		api.repaired()
	})
	p.run("nobody behind it", func(t *testing.T) {
		api, _ := start(t)
		behind := api.server
		a, k := servedInTheEnd(t, api, api.kubeconfig)
		mark := a.log.count()
		check(t, behind.Close())
		// What was under way is reset, the rest is answered by a page of HTML.
		a.waitLogFor(longPatience, mark, "event=api_request_failed", "http=502", "Bad Gateway")
		c := named(api.addClaim(newClaim("away", "req=1")))
		waitForLong(t, longPatience, "the proxy's answer in the claim's error", func() bool {
			return strings.Contains(k.prepareError(c), "claim default/away cannot be read from the API server: HTTP 502")
		})
	})
}

// A server of files gives what files can give; where that is no API, the agent says so in words, goes on
// at its own pace, and serves the kubelet.
func TestInteropServerNghttpd(t *testing.T) {
	t.Parallel()
	nghttpd, version := debian(t, "nghttpd")
	p := newTally(t, "nghttpd "+version, "API server")
	types := writeFile(t, filepath.Join(t.TempDir(), "types"), protobufType+" internal io\n")
	api := newAPIServer(t)
	node := "api/v1/nodes/" + nodeName
	groupFile := "apis/" + groupName
	layout := map[string]string{node: string(envelope("v1", "Node", api.node)),
		groupFile: string(envelope("v1", "APIGroup", group(groupName, "v1")))}
	list := []string{"event=resource_api_not_served", "resource.k8s.io"} // Node and group were read
	for name, c := range map[string]struct {
		files   map[string]string
		options []string
		words   []string
	}{
		"Node and group":     {layout, nil, list},
		"trailers":           {layout, []string{"--trailer=x-after: done"}, list},
		"table size 0":       {layout, []string{"--header-table-size=0", "--encoder-header-table-size=0"}, list},
		"padding, no length": {layout, []string{"--padding=200", "--no-content-length"}, list},
		"windows of 1 KiB":   {layout, []string{"--window-bits=10", "--connection-window-bits=10"}, list},
		"no files":           {nil, nil, []string{`doing="read Node"`, "http=404"}},
		"a folder": {map[string]string{node: layout[node], groupFile + "/v1/x": ""}, nil,
			[]string{"doing=", "http=301"}},
		"a page": {map[string]string{node: layout[node], groupFile: "<html>hello</html>"}, nil, list},
	} {
		p.run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range c.files {
				check(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755))
				writeFile(t, filepath.Join(dir, file), text)
			}
			address := closedPort(t)
			_, port, _ := net.SplitHostPort(address)
			key, cert := keyFiles(t)
			d := &program{t: t, name: nghttpd, args: append(append([]string{"-a", "127.0.0.1", "-d", dir,
				"--mime-types-file=" + types}, c.options...), port, key, cert)}
			d.up(address)
			a := withoutServer(t, "trn2.48xlarge", address)
			a.start()
			k := a.register()
			a.waitLog(0, c.words...)
			if c.files != nil && a.log.last(`doing="read Node"`) >= 0 {
				t.Error("the Node was not read")
			}
			k.unprepareOK(named(newClaim("x")))
			k.prepareError(named(newClaim("x")))
			getInfo(t, dialRegistration(t, a.registrationSocket()))
		})
	}
}
