// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	grpchealth "google.golang.org/grpc/health/grpc_health_v1"
	dra "k8s.io/kubelet/pkg/apis/dra/v1"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

// What hostile peers hold without sending much: each has its time, and none of it keeps others out.

// wait is a connection that holds something until a timer of the agent ends it.
type wait struct {
	name, sent string
	begin      func(t *testing.T, at place) *peer
	answer     string
	least      time.Duration // that the agent waits, by cfg/limits_wire.h
	stays      bool          // the connection goes on
	path       string        // "": that of the place; else where health is served
}

// noWindow is a peer that gives its calls no window.
func noWindow(t *testing.T, at place) *peer {
	p := at.dial(t, true, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
	p.call(1)
	p.flush()
	return p
}

var fiveSeconds = []wait{
	{name: "silence", sent: "nothing", answer: "GOAWAY PROTOCOL_ERROR, end", least: 5 * time.Second,
		begin: func(t *testing.T, at place) *peer {
			p := at.connect(t)
			go p.read()
			return p
		}},
	{name: "half preface", sent: "23 bytes of the preface", answer: "GOAWAY PROTOCOL_ERROR, end", least: 5 * time.Second,
		begin: func(t *testing.T, at place) *peer {
			p := at.connect(t)
			_, err := io.WriteString(p.conn, http2.ClientPreface[:23])
			check(t, err)
			go p.read()
			return p
		}},
	{name: "open header block", sent: "HEADERS without END_HEADERS", answer: "GOAWAY ENHANCE_YOUR_CALM, end", least: 5 * time.Second,
		begin: func(t *testing.T, at place) *peer {
			p := at.dial(t, true)
			hasBlock(p)
			p.flush()
			return p
		}},
}

var longer = []wait{
	{name: "half message", sent: "1 byte of a message of 200", answer: "1 × RST_STREAM NO_ERROR, 1 × grpc-status 4",
		least: 10 * time.Second, stays: true,
		begin: func(t *testing.T, at place) *peer {
			p := at.dial(t, true)
			pieces(false, []byte{0, 0, 0, 0, 200, 1})(p)
			p.flush()
			return p
		}},
	{name: "no window for ever", sent: "a call with window 0", answer: "1 × 200, 1 × grpc-status 4", least: 30 * time.Second,
		begin: noWindow, stays: true},
	{name: "answers not read", sent: "20,000 calls", answer: "end",
		begin: func(t *testing.T, at place) *peer {
			p := at.dial(t, false)
			go func() {
				p.raw(http2.FrameWindowUpdate, 0, 0, windowUpdate(1<<30))
				for i := range 20000 {
					p.call(stream(i))
				}
				_ = p.flush() // until the connection ends
				p.mu.Lock()
				defer p.mu.Unlock()
				p.seen.ended = time.Now()
				close(p.events)
				p.events = make(chan struct{})
			}()
			return p
		}},
}

// As many at one time as a socket has places beside the good client's.
var streams = []wait{
	{name: "refused call that never ends", sent: "HEADERS of GET", answer: "1 × 405, 1 × RST_STREAM NO_ERROR",
		least: 10 * time.Second, stays: true,
		begin: func(t *testing.T, at place) *peer {
			p := at.dial(t, true)
			p.headers(1, false, p.block(":method", "GET", ":scheme", "http", ":path", "/", ":authority", "localhost"))
			p.flush()
			return p
		}},
	{name: "watch that is never read", sent: "a health watch with window 0", answer: "1 × 200, 1 × grpc-status 4",
		least: 30 * time.Second, begin: noWindow, path: watchPath},
}

// run waits for the timer.
func (w *wait) run(t *testing.T, at place) attackEnd {
	begin := time.Now()
	p := w.begin(t, at)
	defer p.conn.Close()
	p.until(attackLimit, func(*answers) bool { return p.answerLocked() == w.answer })
	answer, took := p.answer(), time.Since(begin)
	if answer != w.answer {
		t.Errorf("%s on %s: answer %q after %v, want %q", w.name, at.name, answer, took, w.answer)
	}
	if took < w.least-100*time.Millisecond {
		t.Errorf("%s on %s: ended after %v, want %v", w.name, at.name, took, w.least)
	}
	if w.stays {
		p.call(3)
		p.raw(http2.FrameWindowUpdate, 0, 3, windowUpdate(1000))
		p.flush()
		if !p.until(patience, hasStatus(0)) {
			t.Errorf("%s on %s: the next call of the connection: %s", w.name, at.name, p.answer())
		}
	}
	return attackEnd{answer: answer, taken: "what it sent", lasted: took}
}

func TestAbuseWaits(t *testing.T) {
	for name, waits := range map[string][]wait{"five seconds": fiveSeconds, "longer": longer, "streams": streams} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := victim(t)
			var all []attack
			for _, w := range waits {
				for _, at := range a.places() {
					if at.name == "TCP port" && w.least == 0 {
						continue // the kernel's buffers take the answers
					}
					if w.path != "" {
						if at.name == "registration.sock" {
							continue
						}
						at.path = w.path
					}
					all = append(all, attack{w.name, at.name, w.sent, func() attackEnd { return w.run(t, at) }})
				}
			}
			a.sufferAll(t, all...)
			for _, at := range a.places() {
				at.allPlaces(t)
			}
		})
	}
}

// A window of one byte at a time is as good as none: the call has its time, whatever moves.
func TestAbuseByteWindow(t *testing.T) {
	t.Parallel()
	a := victim(t)
	at := a.places()[0] // GetInfo: 150 bytes
	a.suffer(t, attack{"window dribble, answer", at.name, "a call with window 1, then 1 byte a second", func() attackEnd {
		begin := time.Now()
		p := at.dial(t, true, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1})
		defer p.conn.Close()
		p.call(1)
		p.flush()
		for !p.until(time.Second, hasStatus(4)) && time.Since(begin) < attackLimit {
			p.raw(http2.FrameWindowUpdate, 0, 1, windowUpdate(1))
			p.flush()
		}
		if took := time.Since(begin); took < 29*time.Second || took >= attackLimit {
			t.Errorf("%s after %v", p.answer(), took)
		}
		return attackEnd{answer: p.answer(), taken: fmt.Sprintf("%d DATA of 1 byte", p.seen.data), lasted: time.Since(begin)}
	}})
}

// --- another process ---

// holds are ways to hold a connection.
var holds = map[string]func(p *peer){
	"nothing sent":  func(*peer) {},
	"half prefaces": func(p *peer) { p.out.WriteString(http2.ClientPreface[:10]) },
	"prefaces":      func(p *peer) { begins(p) },
	"half requests": func(p *peer) { begins(p); pieces(false, []byte{0, 0, 0, 0, 9, 1})(p) },
	"half messages": func(p *peer) { begins(p); halfMessages(p) },
	"watches": func(p *peer) {
		begins(p)
		if p.at.path == checkPath {
			p.at.path = watchPath
		}
		for i := range 4 {
			p.call(stream(i))
		}
	},
	"calls, no window": func(p *peer) {
		begins(p, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
		p.call(1)
	},
}

func begins(p *peer, settings ...http2.Setting) {
	p.out.WriteString(http2.ClientPreface)
	check(p.t, p.fr.WriteSettings(settings...))
}

// halfMessages begins as many calls as there may be, each with a message that needs a buffer.
func halfMessages(p *peer) {
	for i := range 16 {
		p.headers(stream(i), false, p.request())
		_ = p.fr.WriteData(stream(i), false, []byte{0, 0, 0, 0x40, 0, 1})
	}
}

// attackers is how many connections another process opens at one time: more than there are places.
const attackers = 8

// holdPlaces is that process: whenever the agent ends one of its connections it makes another one, until it is killed.
// It says so when all have begun.
func holdPlaces(how string) {
	at := place{network: os.Getenv("ABUSE_NETWORK"), address: os.Getenv("ABUSE_ADDRESS"), path: os.Getenv("ABUSE_PATH")}
	var begun sync.WaitGroup
	begun.Add(attackers)
	for range attackers {
		go at.holdForEver(holds[how], begun.Done)
	}
	begun.Wait()
	fmt.Println("begun")
	select {}
}

func (at place) holdForEver(how func(p *peer), begun func()) {
	dialer := net.Dialer{}
	if at.network == "tcp" {
		dialer.LocalAddr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)} // another node
	}
	for first := true; ; {
		conn, err := dialer.Dial(at.network, at.address)
		if err != nil {
			time.Sleep(time.Millisecond)
			continue
		}
		p := at.speak(new(testing.T), conn)
		how(p)
		p.flush()
		if first {
			begun()
			first = false
		}
		_, _ = io.Copy(io.Discard, conn)
		conn.Close()
	}
}

// another starts the other process, and waits until it holds what it can.
func (at place) another(t *testing.T, how string) (kill func()) {
	t.Helper()
	cmd := exec.Command(must(os.Executable()))
	cmd.Env = append(os.Environ(), helperEnv+"="+helperHolds, "ABUSE_HOLD="+how, "ABUSE_NETWORK="+at.network, "ABUSE_ADDRESS="+at.address, "ABUSE_PATH="+at.path)
	stdout, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	kill = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	if line, _ := bufio.NewReader(stdout).ReadString('\n'); line != "begun\n" {
		kill()
		t.Fatalf("the other process says %q", line)
	}
	return kill
}

// leaving is a connection whose end the agent sees before the call that ends it returns: who has two places gives up
// one of them.
type leaving struct{ net.Conn }

func (leaving) Close() error { return nil } // grpc-go does that when it likes

func (c leaving) leave() {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
		_ = c.SetReadDeadline(time.Now().Add(patience))
		_, _ = io.Copy(io.Discard, c.Conn) // until the agent has closed
	}
	_ = c.Conn.Close()
}

// newcomer connects as the kubelet does, calls once, and leaves.
func (a *agent) newcomer(t *testing.T, at place) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var mu sync.Mutex
	var raw []leaving
	defer func() {
		mu.Lock()
		defer mu.Unlock()
		for _, c := range raw {
			c.leave()
		}
	}()
	//nolint:staticcheck // what the kubelet calls
	conn, err := grpc.DialContext(ctx, "passthrough:///"+at.address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithBlock(), grpc.WithAuthority("localhost"), grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			c, err := (&net.Dialer{}).DialContext(ctx, at.network, address)
			if err != nil {
				return nil, err
			}
			mu.Lock()
			defer mu.Unlock()
			raw = append(raw, leaving{c})
			return leaving{c}, nil
		}))
	if err != nil {
		return err
	}
	defer conn.Close()
	switch at.name {
	case "registration.sock":
		_, err = registration.NewRegistrationClient(conn).GetInfo(ctx, &registration.InfoRequest{})
	case "dra.sock": // a message that needs a buffer
		c := &dra.Claim{Namespace: "default", Name: longest("claim-", 253), Uid: string(uid("newcomer"))}
		_, err = dra.NewDRAPluginClient(conn).NodeUnprepareResources(ctx, &dra.NodeUnprepareResourcesRequest{Claims: []*dra.Claim{c, c}})
	default:
		_, err = grpchealth.NewHealthClient(conn).Check(ctx, &grpchealth.HealthCheckRequest{})
	}
	return err
}

// Another process connects as fast as it can and holds what it gets: connections that are there are kept, and
// the kubelet's next one gets in.
func TestAbuseConnections(t *testing.T) {
	for how := range holds {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			a := victim(t)
			for _, at := range a.places() {
				kill := at.another(t, how)
				defer kill()
				a.suffer(t, attack{"connection flood, " + how, at.name, fmt.Sprintf("%d connections at a time, again and again", attackers), func() attackEnd {
					begin, came := time.Now(), 0
					var worst time.Duration
					for ; time.Since(begin) < time.Second; came++ {
						dialled := time.Now()
						if err := a.newcomer(t, at); err != nil {
							t.Errorf("%s on %s: newcomer %d: %v", how, at.name, came, err)
						}
						worst = max(worst, time.Since(dialled))
					}
					return attackEnd{answer: fmt.Sprintf("%d newcomers served", came), taken: "worst " + rounded(worst).String(), lasted: time.Since(begin)}
				}})
				kill()
				check(t, a.newcomer(t, at)) // stands in the queue behind what the process left
				at.allPlaces(t)
			}
		})
	}
}

// Everything at one time, on every socket.
func TestAbuseTogether(t *testing.T) {
	t.Parallel()
	a := victim(t)
	var all []attack
	for _, at := range a.places() {
		for i := range 2 { // and the good client: three of four places
			all = append(all, attack{fmt.Sprint("all floods, one after the other, ", i+1), at.name, "as above", func() attackEnd {
				begin, n := time.Now(), 0
				for k := range floods {
					f := floods[(k+i*len(floods)/2)%len(floods)]
					n += f.run(t, at, false).frames
				}
				return attackEnd{answer: fmt.Sprintf("%d connections ended", len(floods)), taken: fmt.Sprintf("%d frames sent", n), lasted: time.Since(begin)}
			}})
		}
	}
	a.sufferAll(t, all...)
	for _, at := range a.places() {
		at.allPlaces(t)
	}
}
