// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// What kube-apiserver announces.
const (
	serverFrame   = 262144
	serverWindow  = 262144
	serverStreams = 100
	dataMax       = 16384
)

var errOver = errors.New("the connection or the stream is over")

// conn is one HTTP/2 connection of the agent.
type conn struct {
	p    *Proxy
	tcp  *net.TCPConn
	tls  *tls.Conn
	link link

	writing sync.Mutex // one frame, or one block of headers, at a time
	framer  *http2.Framer
	encoder *hpack.Encoder
	block   bytes.Buffer

	mu      sync.Mutex
	changed *sync.Cond // windows, streams
	streams map[uint32]*stream
	last    uint32
	window  int64 // of the connection, for what we send
	initial int64 // of a new stream
	away    bool
	over    bool
}

type stream struct {
	id     uint32
	window int64
	header http.Header
	method string
	path   string
	body   []byte
	ctx    context.Context
	cancel context.CancelFunc
}

func newConn(p *Proxy, tcp *net.TCPConn, cert tls.Certificate) *conn {
	c := &conn{p: p, tcp: tcp, streams: map[uint32]*stream{}, window: 65535, initial: 65535}
	c.changed = sync.NewCond(&c.mu)
	c.link.init()
	c.link.set(p.link.get())
	c.tls = tls.Server(linked{tcp, &c.link}, &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2"}})
	c.framer = http2.NewFramer(c.tls, c.tls)
	c.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	c.framer.SetMaxReadFrameSize(serverFrame)
	c.encoder = hpack.NewEncoder(&c.block)
	return c
}

// reset ends the connection by RST.
func (c *conn) reset() {
	_ = c.tcp.SetLinger(0)
	c.close()
}

func (c *conn) close() {
	c.link.end()
	_ = c.tcp.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	for _, s := range c.streams {
		s.cancel()
	}
	c.changed.Broadcast()
}

func (c *conn) lastStream() uint32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// serve reads frames until the connection ends.
func (c *conn) serve() error {
	if c.link.get().reset {
		c.reset()
		return errors.New("reset at once")
	}
	if err := c.tls.Handshake(); err != nil {
		return err
	}
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(c.tls, preface); err != nil || string(preface) != http2.ClientPreface {
		return fmt.Errorf("no preface of HTTP/2: %q, %v", preface, err)
	}
	err := c.write(func() error {
		if err := c.framer.WriteSettings(
			http2.Setting{ID: http2.SettingMaxFrameSize, Val: serverFrame},
			http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: serverStreams},
			http2.Setting{ID: http2.SettingInitialWindowSize, Val: serverWindow}); err != nil {
			return err
		}
		return c.framer.WriteWindowUpdate(0, 1<<24)
	})
	for err == nil {
		var frame http2.Frame
		if frame, err = c.framer.ReadFrame(); err == nil {
			err = c.take(frame)
		}
	}
	return err
}

// write sends frames that belong together.
func (c *conn) write(frames func() error) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	return frames()
}

func (c *conn) take(frame http2.Frame) error {
	switch f := frame.(type) {
	case *http2.SettingsFrame:
		return c.takeSettings(f)
	case *http2.MetaHeadersFrame:
		c.takeHeaders(f)
	case *http2.DataFrame:
		return c.takeData(f)
	case *http2.WindowUpdateFrame:
		c.takeWindow(f)
	case *http2.PingFrame:
		if !f.IsAck() {
			return c.write(func() error { return c.framer.WritePing(true, f.Data) })
		}
	case *http2.RSTStreamFrame:
		c.drop(f.StreamID)
	}
	return nil
}

func (c *conn) takeSettings(f *http2.SettingsFrame) error {
	if f.IsAck() {
		return nil
	}
	c.mu.Lock()
	if size, ok := f.Value(http2.SettingInitialWindowSize); ok {
		for _, s := range c.streams {
			s.window += int64(size) - c.initial
		}
		c.initial = int64(size)
	}
	c.mu.Unlock()
	return c.write(func() error {
		if size, ok := f.Value(http2.SettingHeaderTableSize); ok {
			c.encoder.SetMaxDynamicTableSize(size)
		}
		return c.framer.WriteSettingsAck()
	})
}

func (c *conn) takeHeaders(f *http2.MetaHeadersFrame) {
	s := &stream{id: f.StreamID, method: f.PseudoValue("method"), path: f.PseudoValue("path"), header: http.Header{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	for _, field := range f.RegularFields() {
		s.header.Add(field.Name, field.Value)
	}
	c.mu.Lock()
	s.window = c.initial
	if c.away { // opened before the agent heard of GOAWAY
		c.mu.Unlock()
		s.cancel()
		return
	}
	c.streams[s.id], c.last = s, s.id
	c.mu.Unlock()
	if f.StreamEnded() {
		go c.p.handle(c, s)
	}
}

func (c *conn) takeData(f *http2.DataFrame) error {
	c.mu.Lock()
	s := c.streams[f.StreamID]
	c.mu.Unlock()
	size := uint32(f.Length)
	if s != nil {
		s.body = append(s.body, f.Data()...)
		if f.StreamEnded() {
			go c.p.handle(c, s)
		}
	}
	if size == 0 {
		return nil
	}
	return c.write(func() error {
		if s != nil && !f.StreamEnded() {
			if err := c.framer.WriteWindowUpdate(s.id, size); err != nil {
				return err
			}
		}
		return c.framer.WriteWindowUpdate(0, size)
	})
}

func (c *conn) takeWindow(f *http2.WindowUpdateFrame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.StreamID == 0 {
		c.window += int64(f.Increment)
	} else if s := c.streams[f.StreamID]; s != nil {
		s.window += int64(f.Increment)
	}
	c.changed.Broadcast()
}

// drop forgets a stream; whoever works on it hears by its context.
func (c *conn) drop(id uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.streams[id]; s != nil {
		s.cancel()
		delete(c.streams, id)
		c.changed.Broadcast()
	}
}

func (c *conn) goAway(last uint32) {
	c.mu.Lock()
	c.away = true
	c.mu.Unlock()
	_ = c.write(func() error { return c.framer.WriteGoAway(last, http2.ErrCodeNo, nil) })
}

func (c *conn) resetStream(s *stream, code http2.ErrCode) {
	_ = c.write(func() error { return c.framer.WriteRSTStream(s.id, code) })
	c.drop(s.id)
}

func (c *conn) sendHeaders(s *stream, status int, header http.Header, end bool) error {
	if s.ctx.Err() != nil {
		return errOver
	}
	return c.write(func() error {
		c.block.Reset()
		_ = c.encoder.WriteField(hpack.HeaderField{Name: ":status", Value: strconv.Itoa(status)})
		for name, values := range header {
			for _, value := range values {
				_ = c.encoder.WriteField(hpack.HeaderField{Name: strings.ToLower(name), Value: value})
			}
		}
		return c.framer.WriteHeaders(http2.HeadersFrameParam{
			StreamID: s.id, BlockFragment: c.block.Bytes(), EndHeaders: true, EndStream: end})
	})
}

// sendData sends a piece as the windows allow it.
func (c *conn) sendData(s *stream, data []byte, end bool) error {
	for len(data) > 0 {
		n, err := c.takeRoom(s, min(len(data), dataMax))
		if err != nil {
			return err
		}
		piece := data[:n]
		data = data[n:]
		if err := c.write(func() error { return c.framer.WriteData(s.id, end && len(data) == 0, piece) }); err != nil {
			return err
		}
		if end && len(data) == 0 {
			return nil
		}
	}
	if !end {
		return nil
	}
	return c.write(func() error { return c.framer.WriteData(s.id, true, nil) })
}

// takeRoom waits for room in both windows and takes up to so many bytes of it.
func (c *conn) takeRoom(s *stream, wanted int) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.over && s.ctx.Err() == nil {
		if n := min(int64(wanted), c.window, s.window); n > 0 {
			c.window -= n
			s.window -= n
			return int(n), nil
		}
		c.changed.Wait()
	}
	return 0, errOver
}

// handle answers one whole request.
func (p *Proxy) handle(c *conn, s *stream) {
	defer c.drop(s.id)
	x := &Exchange{Request: newRequest(s), c: c, s: s}
	x.number = p.count(x.Request)
	defer p.over(x.number)
	if rule := p.rule(x.Kind); rule != nil {
		rule.Act(x)
		return
	}
	x.Pass()
}

// after is a pause that ends early with the stream.
func (s *stream) after(d time.Duration) {
	select {
	case <-time.After(d):
	case <-s.ctx.Done():
	}
}
