// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestIPv6(t *testing.T) {
	t.Parallel()
	api := newAPIServer(t)
	api.address = "[::1]:0"
	api.tls = limited(0, trusted().server(ecKey(), "::1"))
	api.up()
	publishes(t, api, api.kubeconfig)
}

// volume is a directory whose files change as those of a pod's projected volume do: all at once, by
// another target of the link that they are read through.
type volume struct {
	t   *testing.T
	dir string
	n   int
}

func newVolume(t *testing.T, dir string) *volume {
	t.Helper()
	check(t, os.Mkdir(dir, 0o755))
	for _, name := range []string{"token", "ca.crt"} {
		check(t, os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)))
	}
	return &volume{t: t, dir: dir}
}

func (v *volume) set(token string, ca *authority) {
	v.t.Helper()
	v.n++
	name := "..data_" + string(rune('a'+v.n))
	check(v.t, os.Mkdir(filepath.Join(v.dir, name), 0o755))
	writeFile(v.t, filepath.Join(v.dir, name, "token"), token+"\n")
	writeFile(v.t, filepath.Join(v.dir, name, "ca.crt"), string(ca.pem))
	check(v.t, os.Symlink(name, filepath.Join(v.dir, "..data_tmp")))
	check(v.t, os.Rename(filepath.Join(v.dir, "..data_tmp"), filepath.Join(v.dir, "..data")))
}

func (v *volume) kubeconfig(address string) func(dir string) string {
	return func(dir string) string {
		return writeKubeconfig(v.t, dir, address, "certificate-authority: "+filepath.Join(v.dir, "ca.crt"),
			"tokenFile: "+filepath.Join(v.dir, "token"))
	}
}

// hangUp ends every connection, and serves new ones.
func (s *apiServer) hangUp() {
	s.down()
	s.up()
}

func (s *apiServer) accept(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens = map[string]bool{token: true}
}

// A token that is replaced between two looks at it fails no claim: the refused GET is repeated.
func TestTokenRotation(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	v := newVolume(t, filepath.Join(t.TempDir(), "v"))
	v.set("one", trusted())
	api.accept("one")
	a := newAgent(t, "trn2.48xlarge")
	a.args = append(a.args, "--kubeconfig", v.kubeconfig(api.address)(a.dir))
	a.start()
	k := a.register()
	api.published()
	for _, token := range []string{"two", "three"} {
		waitFor(t, "a watch", api.watching)
		mark := a.log.count()
		v.set(token, trusted())
		api.accept(token)
		writes := api.seen("create", "update", "delete")
		c := named(api.addClaim(newClaim("claim-"+token, "req=0")))
		k.prepareOK(c)
		k.unprepareOK(c)
		a.waitLog(mark, "event=api_connection_lost", "repeated with the new token")
		waitFor(t, "a watch with the new token", func() bool {
			watches := api.log("watch")
			return watches[len(watches)-1].header.Get("Authorization") == "Bearer "+token
		})
		if api.seen("create", "update", "delete") != writes {
			t.Error("a slice was written")
		}
	}
}

// A server with a certificate of another authority is met as soon as the file names that one.
func TestCARotation(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	v := newVolume(t, filepath.Join(t.TempDir(), "v"))
	v.set(goodToken, trusted())
	a := publishes(t, api, v.kubeconfig(api.address))
	mark := a.log.count()
	api.down()
	api.tls = limited(0, foreign().server(ecKey(), "127.0.0.1"))
	api.up()
	a.waitLogFor(longPatience, mark, "event=api_connect_failed", "not signed by the given certificate authority")
	mark = a.log.count()
	v.set(goodToken, foreign())
	a.waitLogFor(longPatience, mark, "event=api_connected")
	waitFor(t, "a watch", api.watching)
}

// What is missing at the start, cannot be read or is empty does not end the agent: the kubelet is served, /readyz and
// one log line name the file, and the agent connects once it is there. The same when it vanishes later.
func TestMissingFiles(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"kubeconfig", "ca.crt", "token"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := startAPIServer(t)
			v := newVolume(t, filepath.Join(t.TempDir(), "v"))
			v.set(goodToken, trusted())
			a := newAgent(t, "trn2.48xlarge")
			config := v.kubeconfig(api.address)(a.dir)
			a.args = append(a.args, "--kubeconfig", config, "--metrics-port", "0")
			file := filepath.Join(v.dir, name)
			if name == "kubeconfig" {
				file = config
			}
			away := file + ".away"
			check(t, os.Rename(file, away))
			a.start()
			k := a.register()
			address := a.metricsAddress()
			lacks := func(mark int, words string) {
				t.Helper()
				line := a.waitLogFor(longPatience, mark, "event=api_connect_failed", file, words)
				checkErrorText(t, line)
				status, reasons := page(t, address, "/readyz")
				if status != http.StatusServiceUnavailable {
					t.Errorf("/readyz: %d %q", status, reasons)
				}
				contains(t, reasons, "the API server cannot be asked", file, words)
				k.unprepareOK(named(newClaim("never-prepared", "req=0")))
			}
			lacks(0, "no such file or directory")
			mark := a.log.count()
			writeFile(t, file, "")
			lacks(mark, "is empty")
			check(t, os.Remove(file))
			check(t, os.Mkdir(file, 0o700))
			lacks(mark, "is a directory")
			check(t, os.Remove(file))
			check(t, os.Rename(away, file))
			a.waitLogFor(longPatience, mark, "event=api_connected")
			api.published()
			check(t, os.Rename(file, away))
			mark = a.log.count()
			api.hangUp()
			checkErrorText(t, a.waitLogFor(longPatience, mark, "event=api_connect_failed", file, "no such file or directory"))
			k.unprepareOK(named(newClaim("never-prepared", "req=0")))
			check(t, os.Rename(away, file))
			a.waitLogFor(longPatience, mark, "event=api_connected")
		})
	}
}

// path is a way to the server that can lose every byte without a word to either side.
type path struct {
	listener net.Listener
	server   string
	dead     sync.Map // connections that carry nothing any more
	mu       sync.Mutex
	conns    []net.Conn
}

func newPath(t *testing.T, server string) *path {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	p := &path{listener: listener, server: server}
	t.Cleanup(func() {
		listener.Close()
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, c := range p.conns {
			c.Close()
		}
	})
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", p.server)
			if err != nil {
				client.Close()
				continue
			}
			p.mu.Lock()
			p.conns = append(p.conns, client, server)
			p.mu.Unlock()
			go p.carry(client, server)
			go p.carry(server, client)
		}
	}()
	return p
}

func (p *path) carry(from, to net.Conn) {
	buffer := make([]byte, 65536)
	for {
		n, err := from.Read(buffer)
		_, dead := p.dead.Load(from)
		if dead {
			_, _ = io.Copy(io.Discard, from)
			return
		}
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			to.Close()
			return
		}
	}
}

// lose makes every connection of now a hole.
func (p *path) lose() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		p.dead.Store(c, true)
	}
}

// A path that carries nothing any more is found by PING and left, and known claims are served all the while.
func TestBlackholedPath(t *testing.T) {
	t.Parallel()
	api := newAPIServer(t)
	api.tls = limited(0, trusted().server(ecKey(), "localhost"))
	api.up()
	p := newPath(t, api.address)
	a := newAgent(t, "trn2.48xlarge")
	ca := writeFile(t, filepath.Join(a.dir, "ca.crt"), string(trusted().pem))
	_, port, err := net.SplitHostPort(p.listener.Addr().String())
	check(t, err)
	a.args = append(a.args, "--kubeconfig", writeKubeconfig(t, a.dir, "localhost:"+port,
		"certificate-authority: "+ca, "token: "+goodToken))
	a.start()
	k := a.register()
	api.published()
	known := named(api.addClaim(newClaim("known", "req=0")))
	k.prepareOK(known)
	mark := a.log.count()
	p.lose()
	k.prepareOK(known)
	a.waitLogFor(longPatience, mark, "event=api_connection_lost", "did not answer a PING")
	k.prepareOK(known)
	a.waitLogFor(longPatience, mark, "event=api_connected")
	k.prepareOK(named(api.addClaim(newClaim("after", "req=1"))))
}

// GOAWAY comes before the answer to the POST: there is one slice, and the watch is on another connection.
func TestGoawayDuringPost(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	api.setFaults(func(kind string, w http.ResponseWriter, _ *http.Request) bool {
		if kind == "create" {
			w.Header().Set("Connection", "close")
		}
		return false
	})
	a, _ := running(t, api, "trn2.48xlarge")
	a.waitLog(0, "event=api_connection_drained")
	waitFor(t, "a watch on another connection", func() bool {
		watches, creates := api.log("watch"), api.log("create")
		return len(watches) > 0 && watches[len(watches)-1].remote != creates[0].remote
	})
	if n := api.seen("create"); n != 1 || len(api.own()) != 1 {
		t.Errorf("%d POSTs, %d slices", n, len(api.own()))
	}
}

// A slice that was stored, though the answer said nothing or otherwise, is found before another is made.
func TestAmbiguousPost(t *testing.T) {
	t.Parallel()
	faults := map[string]func(api *apiServer, w http.ResponseWriter){
		"504":    func(api *apiServer, w http.ResponseWriter) { api.fail(w, 504, "Timeout", "request did not complete") },
		"reset":  func(*apiServer, http.ResponseWriter) { panic(http.ErrAbortHandler) },
		"closed": func(api *apiServer, _ http.ResponseWriter) { api.hangUp() },
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := startAPIServer(t)
			var once sync.Once
			api.setFaults(func(kind string, w http.ResponseWriter, r *http.Request) (took bool) {
				if kind != "create" {
					return false
				}
				once.Do(func() {
					took = true
					slice, err := sliceFrom("v1", api.lastBody())
					if err != nil {
						t.Error(err)
						return
					}
					api.store(slice)
				})
				if took {
					fault(api, w)
				}
				return took
			})
			a := newAgent(t, "trn2.48xlarge")
			a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir))
			a.start()
			a.register()
			a.waitLog(0, "event=slice_verified")
			if n := api.seen("create"); n != 1 || len(api.own()) != 1 {
				t.Errorf("%d POSTs, %d slices", n, len(api.own()))
			}
		})
	}
}

// A server that was just started forbids all until it has read its roles: the agent asks again within seconds, and
// troubles nobody with an Event.
func TestRolesUnread(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, _ := running(t, api, "trn2.48xlarge")
	api.published()
	waitFor(t, "a watch", api.watching)
	mark, writes := a.log.count(), api.seen("create", "update", "delete")
	api.down()
	api.setFaults(func(_ string, w http.ResponseWriter, _ *http.Request) bool {
		api.fail(w, 403, meta.StatusReasonForbidden, "not allowed: no roles are known yet")
		return true
	})
	api.up()
	a.waitLogFor(longPatience, mark, "event=api_request_failed", "watch Node", "http=403", "the agent retries")
	a.waitLogFor(longPatience, mark, "event=api_request_failed", "list slices", "http=403", "the agent retries")
	time.Sleep(3 * time.Second)
	nodes, lists := api.seen("node watch"), api.seen("list")
	api.setFaults(nil)
	begin := time.Now()
	waitForLong(t, longPatience, "watches of the Node and of the slices", func() bool {
		return api.seen("node watch") > nodes && api.seen("list") > lists && api.watching()
	})
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("watches are back after %s", took)
	}
	if n := api.seen("node", "event"); n > 0 {
		t.Errorf("%d reads of the Node or Events", n)
	}
	if api.seen("create", "update", "delete") != writes {
		t.Error("a slice was written")
	}
}
