// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// hostile is the address of an API server that first does what a case says with every connection, and
// serves as it should from turnGood on. It records connections, bytes, and what the agent said.
type hostile struct {
	api  *apiServer // answers where the case does not, and serves when all is good
	does *abuseAPI
	tls  *tls.Config

	listener net.Listener
	serving  chan net.Conn // to the well-behaved server
	good     atomic.Bool
	taken    atomic.Int64 // bytes that went to the agent
	turns    atomic.Int64 // connections since it is hostile

	mu       sync.Mutex
	accepted []time.Time
	open     map[net.Conn]bool
	said     map[string]int // "GOAWAY …", "RST …" of the agent, in words of RFC 9113
	plain    []byte         // what came in where no TLS was
	requests int
	queries  int // to the name server
}

// newHostile listens, and serves well at first.
func newHostile(t testing.TB, does *abuseAPI) *hostile {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	api := newAPIServer(t)
	api.address = listener.Addr().String()
	h := &hostile{api: api, does: does, tls: api.tls, listener: listener, serving: make(chan net.Conn),
		open: map[net.Conn]bool{}, said: map[string]int{}}
	if does.tls != nil {
		h.tls = does.tls()
	}
	if does.names != nil {
		name := names.add(h)
		_, port, _ := net.SplitHostPort(api.address)
		api.address = net.JoinHostPort(name, port)
		api.tls = limited(0, trusted().server(ecKey(), name))
	}
	h.good.Store(true)
	api.serveOn(h)
	go h.accept()
	return h
}

// Accept, Close and Addr are the listener of the well-behaved server.
func (h *hostile) Accept() (net.Conn, error) {
	conn, ok := <-h.serving
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}

func (h *hostile) Close() error   { return h.listener.Close() }
func (h *hostile) Addr() net.Addr { return h.listener.Addr() }

func (h *hostile) accept() {
	defer close(h.serving)
	for {
		conn, err := h.listener.Accept()
		if err != nil {
			h.closeAll()
			return
		}
		_ = conn.(*net.TCPConn).SetWriteBuffer(16384) // what waits there was not taken
		counted := &countedConn{TCPConn: conn.(*net.TCPConn), h: h}
		h.mu.Lock()
		h.accepted = append(h.accepted, time.Now())
		h.open[counted] = true
		h.mu.Unlock()
		if h.good.Load() {
			h.serving <- counted
			continue
		}
		go h.abuse(counted, int(h.turns.Add(1))-1)
	}
}

// abuse gives one connection to the case.
func (h *hostile) abuse(conn *countedConn, turn int) {
	defer conn.Close()
	if h.does.conn != nil {
		h.does.conn(h, conn, turn)
		return
	}
	h.http2(conn, turn)
}

// turn changes between good and hostile; all connections end.
func (h *hostile) turn(good bool) {
	h.good.Store(good)
	h.closeAll()
}

func (h *hostile) closeAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for conn := range h.open {
		go conn.Close()
	}
}

func (h *hostile) hears(what string, code fmt.Stringer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.said[what+" "+code.String()]++
}

// heard tells which codes came, most often first.
func (h *hostile) heard() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var codes []string
	for code := range h.said {
		codes = append(codes, code)
	}
	slices.SortFunc(codes, func(a, b string) int {
		if n := h.said[b] - h.said[a]; n != 0 {
			return n
		}
		return strings.Compare(a, b)
	})
	return codes
}

// densest is the highest number of connections in any window of the given length.
func (h *hostile) densest(from time.Time, window time.Duration) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	most := 0
	for i, first := range h.accepted {
		n := 0
		for _, at := range h.accepted[i:] {
			if at.Sub(first) < window {
				n++
			}
		}
		if !first.Before(from) {
			most = max(most, n)
		}
	}
	return most
}

// countedConn counts what the agent takes.
type countedConn struct {
	*net.TCPConn
	h *hostile
}

func (c *countedConn) Write(b []byte) (int, error) {
	n, err := c.TCPConn.Write(b)
	c.h.taken.Add(int64(n))
	return n, err
}

func (c *countedConn) Close() error {
	c.h.mu.Lock()
	delete(c.h.open, c)
	c.h.mu.Unlock()
	return c.TCPConn.Close()
}

// listen records what comes in without TLS until the agent hangs up.
func (h *hostile) listen(conn net.Conn) {
	buffer := make([]byte, 4096)
	for {
		n, err := conn.Read(buffer)
		h.mu.Lock()
		h.plain = append(h.plain, buffer[:n]...)
		h.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// --- HTTP/2 ---

// apiPeer is the server's end of one HTTP/2 connection, which keeps no rule that the case breaks.
type apiPeer struct {
	h      *hostile
	turn   int // number of the connection
	conn   *tls.Conn
	framer *http2.Framer
	ended  chan struct{}

	writing sync.Mutex
	block   bytes.Buffer
	encoder *hpack.Encoder

	mu      sync.Mutex
	changed *sync.Cond
	window  int64 // what the agent takes on the connection
	initial int64
	streams map[uint32]*asked
	gone    bool
}

// asked is one request of the agent.
type asked struct {
	p      *apiPeer
	id     uint32
	kind   string
	r      *http.Request
	body   bytes.Buffer
	window int64
	cancel context.CancelFunc
	header http.Header // of the answer
	begun  bool
}

func (h *hostile) http2(conn net.Conn, turn int) {
	secure := tlsServer(conn, h)
	if secure == nil {
		return
	}
	defer secure.Close()
	p := &apiPeer{h: h, turn: turn, conn: secure, framer: http2.NewFramer(secure, secure), ended: make(chan struct{}),
		window: 65535, initial: 65535, streams: map[uint32]*asked{}}
	p.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	p.framer.AllowIllegalWrites = true
	p.encoder = hpack.NewEncoder(&p.block)
	p.changed = sync.NewCond(&p.mu)
	defer p.end()
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(secure, preface); err != nil || string(preface) != http2.ClientPreface {
		return
	}
	if h.does.first != nil {
		p.raw(h.does.first())
	} else {
		p.raw(frameOf(http2.FrameSettings, 0, 0, nil))
	}
	if h.does.open != nil {
		go h.does.open(p)
	}
	for {
		f, err := p.framer.ReadFrame()
		if err != nil && !errors.As(err, new(http2.StreamError)) {
			return
		}
		p.take(f)
	}
}

func (p *apiPeer) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone = true
	for _, e := range p.streams {
		e.cancel()
	}
	p.changed.Broadcast()
	close(p.ended)
}

func (p *apiPeer) take(f http2.Frame) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch f := f.(type) {
	case *http2.MetaHeadersFrame:
		p.begin(f)
	case *http2.DataFrame:
		if e := p.streams[f.StreamID]; e != nil {
			e.body.Write(f.Data())
			if f.StreamEnded() {
				go e.answer()
			}
		}
	case *http2.RSTStreamFrame:
		p.h.hears("RST", f.ErrCode)
		if e := p.streams[f.StreamID]; e != nil {
			e.cancel()
			delete(p.streams, f.StreamID)
		}
	case *http2.GoAwayFrame:
		p.h.hears("GOAWAY", f.ErrCode)
	case *http2.WindowUpdateFrame:
		if e := p.streams[f.StreamID]; e != nil {
			e.window += int64(f.Increment)
		} else if f.StreamID == 0 {
			p.window += int64(f.Increment)
		}
	case *http2.SettingsFrame:
		if v, ok := f.Value(http2.SettingInitialWindowSize); ok {
			p.initial = int64(v)
		}
		if !f.IsAck() {
			go p.raw(frameOf(http2.FrameSettings, http2.FlagSettingsAck, 0, nil))
		}
	case *http2.PingFrame:
		if !f.IsAck() {
			go p.raw(frameOf(http2.FramePing, http2.FlagPingAck, 0, f.Data[:]))
		}
	}
	p.changed.Broadcast()
}

func (p *apiPeer) begin(f *http2.MetaHeadersFrame) {
	ctx, cancel := context.WithCancel(context.Background())
	e := &asked{p: p, id: f.StreamID, window: p.initial, cancel: cancel, header: http.Header{}}
	u, _ := url.ParseRequestURI(f.PseudoValue("path"))
	e.r = (&http.Request{Method: f.PseudoValue("method"), URL: u, Host: f.PseudoValue("authority"),
		Proto: "HTTP/2.0", ProtoMajor: 2, Header: http.Header{}, RemoteAddr: p.conn.RemoteAddr().String()}).WithContext(ctx)
	for _, field := range f.RegularFields() {
		e.r.Header.Add(field.Name, field.Value)
	}
	e.kind = kindOf(e.r)
	p.streams[e.id] = e
	p.h.mu.Lock()
	p.h.requests++
	p.h.mu.Unlock()
	if f.StreamEnded() || p.h.does.early {
		go e.answer()
	}
}

// answer lets the case answer, or the server that knows how.
func (e *asked) answer() {
	defer func() {
		if recover() != nil { // http.ErrAbortHandler
			e.reset(http2.ErrCodeInternal)
		}
	}()
	does := e.p.h.does
	if does.answer != nil && does.affects(e.kind) {
		does.answer(e)
		return
	}
	e.serve()
}

// serve answers as an API server does.
func (e *asked) serve() {
	e.p.mu.Lock()
	e.r.Body = io.NopCloser(bytes.NewReader(e.body.Bytes()))
	e.p.mu.Unlock()
	e.p.h.api.ServeHTTP(e, e.r)
	if !e.begun {
		e.WriteHeader(http.StatusOK)
	}
	e.p.raw(frameOf(http2.FrameData, http2.FlagDataEndStream, e.id, nil))
}

func (e *asked) Header() http.Header { return e.header }

func (e *asked) WriteHeader(code int) {
	fields := []string{":status", fmt.Sprint(code)}
	for name, values := range e.header {
		for _, v := range values {
			fields = append(fields, strings.ToLower(name), v)
		}
	}
	e.begun = code >= 200
	e.head(0, fields...)
}

// Write keeps to the windows that the agent grants.
func (e *asked) Write(b []byte) (int, error) {
	if !e.begun {
		e.WriteHeader(http.StatusOK)
	}
	whole := len(b)
	for len(b) > 0 {
		n := e.grant(len(b))
		if n == 0 || !e.p.raw(frameOf(http2.FrameData, 0, e.id, b[:n])) {
			return whole - len(b), io.ErrClosedPipe
		}
		b = b[n:]
	}
	return whole, nil
}

func (e *asked) Flush() {}

// grant waits for room in the windows; 0: the request is over.
func (e *asked) grant(n int) int {
	p := e.p
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.window <= 0 || e.window <= 0 {
		if p.gone || p.streams[e.id] == nil {
			return 0
		}
		p.changed.Wait()
	}
	if p.gone || p.streams[e.id] == nil {
		return 0
	}
	n = min(n, 16384, int(p.window), int(e.window))
	p.window -= int64(n)
	e.window -= int64(n)
	return n
}

// head sends a header list in one frame.
func (e *asked) head(flags http2.Flags, fields ...string) bool {
	e.p.writing.Lock()
	block := e.p.encode(fields...)
	e.p.writing.Unlock()
	return e.p.raw(frameOf(http2.FrameHeaders, flags|http2.FlagHeadersEndHeaders, e.id, block))
}

func (e *asked) data(flags http2.Flags, text []byte) bool {
	return e.p.raw(frameOf(http2.FrameData, flags, e.id, text))
}

func (e *asked) reset(code http2.ErrCode) bool {
	return e.p.raw(frameOf(http2.FrameRSTStream, 0, e.id, u32(uint32(code))))
}

// encode makes a header block that leaves the agent's table as it is.
func (p *apiPeer) encode(fields ...string) []byte {
	p.block.Reset()
	for i := 0; i+1 < len(fields); i += 2 {
		_ = p.encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1], Sensitive: true})
	}
	return bytes.Clone(p.block.Bytes())
}

// raw sends frames as they are; false: the connection is gone.
func (p *apiPeer) raw(frames ...[]byte) bool {
	p.writing.Lock()
	defer p.writing.Unlock()
	_, err := p.conn.Write(slices.Concat(frames...))
	return err == nil
}

// flood sends the same frames until the agent takes no more.
func (p *apiPeer) flood(frames ...[]byte) {
	batch := slices.Concat(frames...)
	for len(batch) < 8192 {
		batch = append(batch, batch...)
	}
	for p.raw(batch) {
	}
}

// slowly sends frame by frame with a pause.
func (p *apiPeer) slowly(pause time.Duration, frames ...[]byte) {
	for i := 0; p.raw(frames[i%len(frames)]); i++ {
		select {
		case <-p.ended:
			return
		case <-time.After(pause):
		}
	}
}

func frameOf(kind http2.FrameType, flags http2.Flags, stream uint32, payload []byte) []byte {
	n := len(payload)
	return append(append([]byte{byte(n >> 16), byte(n >> 8), byte(n), byte(kind), byte(flags)}, u32(stream)...), payload...)
}

func u32(values ...uint32) []byte {
	var b []byte
	for _, v := range values {
		b = append(b, byte(v>>24), byte(v>>16), byte(v>>8), byte(v))
	}
	return b
}

// settings makes a SETTINGS frame of identifier and value, one after the other.
func settings(pairs ...uint32) []byte {
	var b []byte
	for i := 0; i+1 < len(pairs); i += 2 {
		b = append(append(b, byte(pairs[i]>>8), byte(pairs[i])), u32(pairs[i+1])...)
	}
	return frameOf(http2.FrameSettings, 0, 0, b)
}
