// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http2"
	dra "k8s.io/kubelet/pkg/apis/dra/v1"
)

// Anybody reaches the TCP ports. Whatever strangers do there in whatever number, each probe of the kubelet is answered
// within the second that it has, and prepares go on.

const (
	probeLimit = time.Second // timeoutSeconds of a probe, as Kubernetes has it by default
	siege      = 2 * time.Second
)

// stranger is what one connection does until it ends.
type stranger struct {
	name, sent string
	health     bool // on the gRPC port
	run        func(conn net.Conn)
}

// asks sends without an end, and always more than is answered.
func asks(conn net.Conn) {
	for {
		if _, err := io.WriteString(conn, strings.Repeat(scrapeRequest, 20)); err != nil {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

var strangers = []stranger{
	{name: "never read", sent: "requests for /metrics, answers not read", run: func(conn net.Conn) {
		_ = conn.(*net.TCPConn).SetReadBuffer(2048)
		asks(conn)
	}},
	{name: "stream", sent: "requests for /metrics, answers read", run: func(conn net.Conn) {
		go asks(conn)
		_, _ = io.Copy(io.Discard, conn)
	}},
	{name: "half requests", sent: "a request line", run: func(conn net.Conn) {
		_, _ = io.WriteString(conn, "GET /healthz HTTP/1.1\r\n")
		_, _ = io.Copy(io.Discard, conn)
	}},
	{name: "calls", sent: "gRPC health checks", health: true, run: func(conn net.Conn) {
		p := place{path: checkPath}.speak(new(testing.T), conn)
		begins(p)
		go p.read()
		for i := 0; !p.over(); i++ {
			p.raw(http2.FrameWindowUpdate, 0, 0, windowUpdate(7))
			p.call(stream(i))
			p.flush()
			p.until(probeLimit, func(s *answers) bool { return len(s.statuses) > 2*i })
		}
	}},
}

// besiege keeps connections to an address until its standard input ends: who is turned away comes again. It is a process
// of its own, and leaves the processor to those who are measured, as another machine would.
func besiege(which, connections, address, from string) {
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, 19)
	s := strangers[must(strconv.Atoi(which))]
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	var opened atomic.Int64
	for range must(strconv.Atoi(connections)) {
		go func() {
			for {
				conn, err := dialer.Dial("tcp", address)
				if err != nil {
					time.Sleep(time.Millisecond)
					continue
				}
				opened.Add(1)
				s.run(conn)
				conn.Close()
			}
		}()
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	fmt.Println(opened.Load())
}

// besieged starts that process. What stop returns is how often it connected.
func besieged(t *testing.T, which, n int, address, from string) (stop func() string) {
	t.Helper()
	return besiegedBy(t, "ABUSE_STRANGER", which, n, address, from)
}

// besiegedBy does the same with the row of another table, named by its variable.
func besiegedBy(t *testing.T, table string, which, n int, address, from string) (stop func() string) {
	t.Helper()
	cmd := exec.Command(must(os.Executable()))
	cmd.Env = append(os.Environ(), helperEnv+"="+helperBesieges, fmt.Sprint(table, "=", which), fmt.Sprint("ABUSE_CONNECTIONS=", n),
		"ABUSE_ADDRESS="+address, "ABUSE_FROM="+from)
	var out strings.Builder
	cmd.Stdout = &out
	stdin, err := cmd.StdinPipe()
	check(t, err)
	check(t, cmd.Start())
	return func() string {
		stdin.Close()
		_ = cmd.Wait()
		return strings.TrimSpace(out.String())
	}
}

// probe asks a page as the kubelet does: on a connection of its own.
func probe(address, path string) error { return probeFrom("127.0.0.1", address, path) }

// probeFrom is a probe from an address.
func probeFrom(from, address, path string) error {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	client := http.Client{Timeout: probeLimit, Transport: &http.Transport{DisableKeepAlives: true, DialContext: dialer.DialContext}}
	r, err := client.Get("http://" + address + path)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err == nil && (r.StatusCode != http.StatusOK || string(text) != "ok\n") {
		err = fmt.Errorf("%s: %q", r.Status, text)
	}
	return err
}

// probe is a check of gRPC health on a connection of its own.
func (at place) probe(t *testing.T) error { return at.probeFrom(t, "127.0.0.1") }

// probeFrom is such a check from an address.
func (at place) probeFrom(t *testing.T, from string) error {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: probeLimit}
	end := time.Now().Add(probeLimit)
	conn, err := dialer.Dial("tcp", at.address)
	if err != nil {
		return err
	}
	defer conn.Close()
	p := at.speak(t, conn)
	begins(p)
	go p.read()
	p.call(1)
	p.flush()
	if !p.until(time.Until(end), hasStatus(0)) {
		return fmt.Errorf("%s: %q", at.name, p.answer())
	}
	return nil
}

// control is a server that nobody attacks. A probe that it does not answer in time was lost by the machine.
var control = sync.OnceValue(func() string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") }))
	return server.Listener.Addr().String()
})

// probes counts the answers to all kinds of probes, in turn, while time is left; the probes that got none in time; and
// those that the control did not answer either.
func (a *agent) probes(t *testing.T, grpcToo bool) (answered int, lost []error, late int) {
	port := a.places()[2]
	for begin := time.Now(); time.Since(begin) < siege; {
		errs := []error{probe(a.metricsAddress(), "/healthz"), probe(a.metricsAddress(), "/readyz")}
		if grpcToo {
			errs = append(errs, port.probe(t))
		}
		for _, err := range errs {
			if err != nil {
				lost = append(lost, err)
			} else {
				answered++
			}
		}
		if probe(control(), "/") != nil {
			late++
		}
	}
	return answered, lost, late
}

func TestAbuseStrangers(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a := newAgent(t, "trn2.48xlarge")
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir), "--healthcheck-port", "0", "--metrics-port", "0")
	a.start()
	k := a.register()
	a.waitLog(0, "event=slice_published")
	claim := named(api.addClaim(newClaim("besieged", "req=0")))
	k.prepareOK(claim)
	k.unprepareOK(claim)
	for _, n := range []int{4, 8, 64} {
		for i, s := range strangers {
			for _, from := range []string{"127.0.0.1", "127.0.0.2"} {
				if s.health && from == "127.0.0.1" {
					continue // only another address is distinguished from the kubelet's
				}
				a.beside(t, i, n, from, k, claim)
			}
		}
	}
}

// beside attacks from an address, beside probes and prepares.
func (a *agent) beside(t *testing.T, which, n int, from string, k *kubelet, claim *dra.Claim) {
	t.Helper()
	s := strangers[which]
	name := fmt.Sprintf("%d strangers, %s", n, s.name)
	address, at := a.metricsAddress(), "metrics port"
	if s.health {
		address, at = a.healthAddress(), "TCP port"
	}
	a.suffer(t, attack{name, at, s.sent + ", from " + from, func() attackEnd {
		var answered, prepared int
		connections := ""
		var lost []error
		// A round in which the control lost a probe too says nothing of the agent, and is repeated.
		for round, late := 0, 1; round < attackRounds && late > 0; round++ {
			stop := besieged(t, which, n, address, from)
			var over atomic.Bool
			var calls sync.WaitGroup
			calls.Go(func() {
				for prepared = 0; !over.Load(); prepared++ {
					k.prepareOK(claim)
					k.unprepareOK(claim)
				}
			})
			answered, lost, late = a.probes(t, s.health)
			over.Store(true)
			calls.Wait()
			connections = stop()
			late = min(late, len(lost))
		}
		if len(lost) > 0 {
			t.Errorf("%s, from %s: %d probes lost, %d answered: %v", name, from, len(lost), answered, lost[0])
		}
		return attackEnd{answer: fmt.Sprintf("%d probes answered, %d lost", answered, len(lost)),
			taken: fmt.Sprintf("%s connections, beside %d prepares", connections, prepared), lasted: siege, asked: siege}
	}})
}
