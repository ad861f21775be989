// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"golang.org/x/sys/unix"
)

// Hostile peers of our own sockets speak by frames, because no library would send what they send.

const (
	attackLimit = 2 * time.Minute // longest wait for what the agent ends by a timer, of 30 s at most

	// what a peer may have sent ahead when its end is on the way: pieces of a burst, and the refilled credit
	h2Ahead = 64
)

// limitOf is a number of cfg.
func limitOf(name string) int {
	for _, file := range []string{"limits.h", "limits_read.h", "limits_wire.h"} {
		text := string(must(os.ReadFile("../../cfg/" + file)))
		if found := regexp.MustCompile(`(?m)^#define ` + name + ` (\d+)u?$`).FindStringSubmatch(text); found != nil {
			return must(strconv.Atoi(found[1]))
		}
	}
	panic("cfg has no " + name)
}

// place is a socket that peers reach.
type place struct {
	name    string
	network string
	address string
	path    string // of a method that it serves
	limit   string // of cfg/limits.h: how many connections there may be
}

const checkPath = "/grpc.health.v1.Health/Check"

// places are the sockets of an agent that speak HTTP/2.
func (a *agent) places() []place {
	a.t.Helper()
	return []place{
		{"registration.sock", "unix", a.registrationSocket(), "/pluginregistration.Registration/GetInfo", "REGISTRATION_LINKS"},
		{"dra.sock", "unix", a.serviceSocket(), checkPath, "SERVICE_LINKS"},
		{"TCP port", "tcp", a.healthAddress(), checkPath, "GRPC_HEALTH_LINKS"},
	}
}

// peer is one connection by frames. What the agent answers is collected while the peer does what it likes.
type peer struct {
	t    testing.TB
	conn net.Conn
	out  *bytes.Buffer // frames that are not yet sent
	fr   *http2.Framer // writes into out
	enc  *hpack.Encoder
	head bytes.Buffer // of enc
	at   place

	mu     sync.Mutex
	seen   answers
	events chan struct{} // closed at each change and made anew
}

// answers is what the agent said so far.
type answers struct {
	goaway   *http2.GoAwayFrame
	resets   []string       // codes in order
	statuses []string       // :status, or grpc-status of trailers
	counts   map[string]int // frames by type, "ACK" behind those of PING and SETTINGS
	data     int            // bytes of DATA
	list     int            // header list that SETTINGS allow
	ended    time.Time      // zero: the connection is open
	err      error
}

// dial connects, sends preface and SETTINGS, and reads if it may.
func (at place) dial(t testing.TB, reads bool, settings ...http2.Setting) *peer {
	t.Helper()
	p := at.connect(t)
	_, err := io.WriteString(p.conn, http2.ClientPreface)
	check(t, err)
	check(t, p.fr.WriteSettings(settings...))
	p.flush()
	if reads {
		go p.read()
	}
	return p
}

// connect says nothing.
func (at place) connect(t testing.TB) *peer {
	t.Helper()
	conn, err := net.Dial(at.network, at.address)
	check(t, err)
	t.Cleanup(func() { conn.Close() })
	return at.speak(t, conn)
}

func (at place) speak(t testing.TB, conn net.Conn) *peer {
	p := &peer{t: t, conn: conn, out: &bytes.Buffer{}, at: at, events: make(chan struct{})}
	p.seen.counts = map[string]int{}
	p.fr = http2.NewFramer(p.out, conn)
	p.fr.AllowIllegalWrites = true
	p.fr.AllowIllegalReads = true
	p.enc = hpack.NewEncoder(&p.head)
	return p
}

// flush sends what was written; false: the connection is over.
func (p *peer) flush() bool {
	_ = p.conn.SetWriteDeadline(time.Now().Add(attackLimit))
	_, err := p.conn.Write(p.out.Bytes())
	p.out.Reset()
	return err == nil
}

// settle lets the agent read what was sent, and us what it answered. Only a unix socket tells when that is done.
func (p *peer) settle() {
	unixConn, exact := p.conn.(*net.UnixConn)
	if !exact {
		time.Sleep(time.Millisecond)
		return
	}
	control := must(unixConn.SyscallConn())
	for end := time.Now().Add(patience); !p.over() && time.Now().Before(end); time.Sleep(100 * time.Microsecond) {
		sent, said := 0, 0
		err := control.Control(func(fd uintptr) {
			sent, _ = unix.IoctlGetInt(int(fd), unix.TIOCOUTQ)
			said, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ)
		})
		if err != nil || sent+said == 0 {
			return
		}
	}
}

// read takes what the agent says until the connection ends.
func (p *peer) read() {
	var status string
	decoder := hpack.NewDecoder(4096, func(f hpack.HeaderField) {
		if f.Name == ":status" || f.Name == "grpc-status" {
			status = strings.TrimPrefix(f.Name+" "+f.Value, ":status ")
		}
	})
	for {
		f, err := p.fr.ReadFrame()
		p.mu.Lock()
		if err != nil {
			p.seen.ended, p.seen.err = time.Now(), err
		} else {
			name := f.Header().Type.String()
			if f.Header().Flags.Has(http2.FlagPingAck) && (name == "PING" || name == "SETTINGS") {
				name += " ACK"
			}
			p.seen.counts[name]++
			switch f := f.(type) {
			case *http2.GoAwayFrame:
				p.seen.goaway = f
			case *http2.RSTStreamFrame:
				p.seen.resets = append(p.seen.resets, f.ErrCode.String())
			case *http2.SettingsFrame:
				if n, found := f.Value(http2.SettingMaxHeaderListSize); found {
					p.seen.list = int(n)
				}
			case *http2.DataFrame:
				p.seen.data += int(f.Length)
			case *http2.HeadersFrame:
				_, _ = decoder.Write(f.HeaderBlockFragment())
				p.seen.statuses = append(p.seen.statuses, status)
			}
		}
		close(p.events)
		p.events = make(chan struct{})
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// until waits for a state of the answers; false: it did not come in time, or cannot come any more.
func (p *peer) until(limit time.Duration, condition func(*answers) bool) bool {
	timeout := time.After(limit)
	for {
		p.mu.Lock()
		met, over, events := condition(&p.seen), !p.seen.ended.IsZero(), p.events
		p.mu.Unlock()
		if met || over {
			return met
		}
		select {
		case <-events:
		case <-timeout:
			return false
		}
	}
}

func hasEnded(s *answers) bool { return !s.ended.IsZero() }

// hasStatus is met by the status of a call.
func hasStatus(n int) func(*answers) bool {
	want := fmt.Sprint("grpc-status ", n)
	return func(s *answers) bool { return slices.Contains(s.statuses, want) }
}

// over says whether the agent has said its last word.
func (p *peer) over() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen.goaway != nil || !p.seen.ended.IsZero()
}

// answer is what the peer got, in words: the code that ended the connection and each code or status that came
// before it, with how many.
func (p *peer) answer() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.answerLocked()
}

func (p *peer) answerLocked() string {
	counts := map[string]int{}
	for _, code := range p.seen.resets {
		counts["RST_STREAM "+code]++
	}
	for _, status := range p.seen.statuses {
		counts[status]++
	}
	var words []string
	for what, n := range counts {
		words = append(words, fmt.Sprintf("%d × %s", n, what))
	}
	slices.Sort(words)
	if p.seen.goaway != nil {
		words = append(words, "GOAWAY "+p.seen.goaway.ErrCode.String())
	}
	if hasEnded(&p.seen) {
		words = append(words, "end")
	}
	return strings.Join(words, ", ")
}

// block encodes a header list.
func (p *peer) block(fields ...string) []byte {
	p.head.Reset()
	for i := 0; i < len(fields); i += 2 {
		// Never indexed: what a case adds by hand is all that is in the table.
		check(p.t, p.enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1], Sensitive: true}))
	}
	return bytes.Clone(p.head.Bytes())
}

// request is the header list of a call of the place's method.
func (p *peer) request(more ...string) []byte {
	return p.block(append([]string{":method", "POST", ":scheme", "http", ":path", p.at.path,
		":authority", "localhost", "content-type", "application/grpc", "te", "trailers"}, more...)...)
}

// headers begins a call.
func (p *peer) headers(stream uint32, end bool, block []byte) {
	check(p.t, p.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block,
		EndStream: end, EndHeaders: true}))
}

// call asks for the place's method, whole.
func (p *peer) call(stream uint32) {
	p.headers(stream, false, p.request())
	check(p.t, p.fr.WriteData(stream, true, make([]byte, 5)))
}

// --- floods ---

// flood is one kind of frames, sent until the agent ends the connection.
type flood struct {
	name   string
	sent   string
	begin  func(p *peer)        // before the flood
	frame  func(p *peer, i int) // the i-th one
	most   int                  // frames that the agent may take; 0: its credit and h2Ahead
	answer string               // in which the answer ends; "": ENHANCE_YOUR_CALM
}

const floodLimit = 100000 // frames after which a flood is given up

// run floods one connection. Paced: more is sent when the agent has read what was.
func (f *flood) run(t *testing.T, at place, paced bool) attackEnd {
	t.Helper()
	p := at.dial(t, true)
	defer p.conn.Close()
	if f.begin != nil {
		f.begin(p)
		p.flush()
	}
	begin := time.Now()
	burst := 512
	if paced && f.most > 0 {
		burst = 1
	} else if paced {
		burst = 8
	}
	n := 0
	for ; n < floodLimit && !p.over(); n++ {
		f.frame(p, n)
		if n%burst != burst-1 {
			continue
		}
		if !p.flush() {
			break
		}
		if paced {
			p.settle()
		}
	}
	if !p.until(patience, hasEnded) {
		t.Errorf("%s: the connection goes on after %d frames: %s", f.name, n, p.answer())
	}
	want := "GOAWAY ENHANCE_YOUR_CALM, end"
	if f.answer != "" {
		want = f.answer
	}
	// The kernel of a TCP peer that goes on sending at full speed may lose our last words.
	if (paced || at.network == "unix") && !strings.HasSuffix(p.answer(), want) {
		t.Errorf("%s on %s: answer %q (%v), want %q", f.name, at.name, p.answer(), p.seen.err, want)
	}
	return attackEnd{frames: n, answer: p.answer(), taken: fmt.Sprintf("%d frames", n), lasted: p.seen.ended.Sub(begin)}
}

// victim is an agent that runs as on a node: published, registered, every port open.
func victim(t *testing.T) *agent {
	t.Helper()
	api := startAPIServer(t)
	a := newAgent(t, "trn2.48xlarge")
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir), "--healthcheck-port", "0", "--metrics-port", "0")
	a.start()
	a.register()
	a.waitLog(0, "event=slice_published")
	return a
}

// overAll floods each socket of an agent, and makes sure that no place is lost.
func (f *flood) overAll(t *testing.T, a *agent) {
	for _, at := range a.places() {
		paced := f.run(t, at, true)
		most := limitOf("H2_CREDIT_MAX") + h2Ahead
		if f.most > 0 {
			most = f.most
		}
		exact := at.network == "unix" // one engine serves all: of TCP the number is shown
		for n := 0; exact && n < attackRounds && paced.frames > most; n++ {
			paced = f.run(t, at, true) // what it said may have been read, and not yet understood
		}
		if exact && paced.frames > most {
			t.Errorf("%s on %s: %d frames before the end, want at most %d", f.name, at.name, paced.frames, most)
		}
		a.suffer(t, attack{f.name, at.name, f.sent, func() attackEnd {
			end := f.run(t, at, false)
			paced.lasted = end.lasted
			return paced
		}})
		at.allPlaces(t)
	}
}

// allPlaces opens as many connections as there are slots; each of them is served.
func (at place) allPlaces(t *testing.T) {
	t.Helper()
	links := limitOf(at.limit) - 1 // the good client has one of them
	var peers []*peer
	for range links {
		peers = append(peers, at.dial(t, true))
	}
	for _, p := range peers {
		p.call(1)
		p.flush()
	}
	for i, p := range peers {
		if !p.until(patience, hasStatus(0)) {
			t.Errorf("connection %d of %d to %s: %s", i+1, links, at.name, p.answer())
		}
		p.conn.Close()
	}
}
