// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

const (
	defaultWindow = 65535 // RFC 9113 section 6.9.2
	dataMost      = 16384 // section 4.2
)

// request is one request as a whole.
type request struct {
	method, path string
	query        url.Values
	body         []byte
}

// h2stream is what one request has not had yet.
type h2stream struct {
	request request
	window  int64
	unsent  []byte
	open    bool          // more may follow: a watch
	ended   chan struct{} // closed when the stream is over
}

// h2conn is the server's end of one connection: a loop that answers each request as soon as it is complete,
// head and body in one TLS record. net/http would wake the client twice.
type h2conn struct {
	api     *apiServer
	framer  *http2.Framer
	mu      sync.Mutex // all below
	out     *bufio.Writer
	encoder *hpack.Encoder
	head    bytes.Buffer
	window  int64 // of the connection
	initial int64 // of a new stream
	streams map[uint32]*h2stream
}

func serveConnection(api *apiServer, conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReaderSize(conn, 2*dataMost)
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(in, preface); err != nil || string(preface) != http2.ClientPreface {
		return
	}
	c := &h2conn{api: api, out: bufio.NewWriterSize(conn, 4*dataMost), window: defaultWindow,
		initial: defaultWindow, streams: map[uint32]*h2stream{}}
	c.encoder = hpack.NewEncoder(&c.head)
	c.framer = http2.NewFramer(c.out, in)
	c.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	err := c.framer.WriteSettings()
	for err == nil {
		c.mu.Lock()
		err = c.out.Flush()
		c.mu.Unlock()
		if err == nil {
			var frame http2.Frame
			if frame, err = c.framer.ReadFrame(); err == nil {
				err = c.take(frame)
			}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for id := range c.streams {
		c.forget(id)
	}
}

func (c *h2conn) forget(id uint32) {
	if s := c.streams[id]; s != nil {
		close(s.ended)
		delete(c.streams, id)
	}
}

func (c *h2conn) take(frame http2.Frame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := frame.Header().StreamID
	switch f := frame.(type) {
	case *http2.SettingsFrame:
		return c.settings(f)
	case *http2.PingFrame:
		if !f.IsAck() {
			return c.framer.WritePing(true, f.Data)
		}
	case *http2.WindowUpdateFrame:
		return c.widen(id, int64(f.Increment))
	case *http2.MetaHeadersFrame:
		return c.begin(f)
	case *http2.DataFrame:
		return c.data(f)
	case *http2.RSTStreamFrame:
		c.forget(id)
	}
	return nil
}

func (c *h2conn) settings(f *http2.SettingsFrame) error {
	if f.IsAck() {
		return nil
	}
	if v, ok := f.Value(http2.SettingInitialWindowSize); ok {
		for _, s := range c.streams {
			s.window += int64(v) - c.initial
		}
		c.initial = int64(v)
	}
	if v, ok := f.Value(http2.SettingHeaderTableSize); ok {
		c.encoder.SetMaxDynamicTableSizeLimit(v)
	}
	return c.framer.WriteSettingsAck()
}

func (c *h2conn) widen(id uint32, by int64) error {
	if id == 0 {
		c.window += by
	} else if s := c.streams[id]; s != nil {
		s.window += by
	}
	for waiting := range c.streams {
		if err := c.push(waiting); err != nil {
			return err
		}
	}
	return nil
}

func (c *h2conn) begin(f *http2.MetaHeadersFrame) error {
	target, err := url.Parse(f.PseudoValue("path"))
	if err != nil {
		return err
	}
	s := &h2stream{window: c.initial, ended: make(chan struct{}), request: request{
		method: f.PseudoValue("method"), path: target.Path, query: target.Query()}}
	c.streams[f.StreamID] = s
	if f.StreamEnded() {
		return c.complete(f.StreamID, s)
	}
	return nil
}

func (c *h2conn) data(f *http2.DataFrame) error {
	s, length := c.streams[f.StreamID], f.Header().Length
	if length > 0 {
		if err := c.framer.WriteWindowUpdate(0, length); err != nil {
			return err
		}
	}
	if s == nil {
		return nil
	}
	s.request.body = append(s.request.body, f.Data()...)
	if f.StreamEnded() {
		return c.complete(f.StreamID, s)
	}
	if length > 0 {
		return c.framer.WriteWindowUpdate(f.StreamID, length)
	}
	return nil
}

func (c *h2conn) complete(id uint32, s *h2stream) error {
	contentType := protobufType
	var code int
	if s.request.method == http.MethodGet && s.request.query.Get("watch") != "" {
		code, s.unsent = c.api.watch(&s.request, s.ended, func(event []byte) { c.event(id, event) })
		if s.open = code == http.StatusOK; s.open {
			contentType += ";stream=watch"
		}
	} else {
		code, s.unsent = c.api.answer(&s.request)
	}
	c.head.Reset()
	for _, field := range []hpack.HeaderField{{Name: ":status", Value: strconv.Itoa(code)},
		{Name: "content-type", Value: contentType}} {
		if err := c.encoder.WriteField(field); err != nil {
			return err
		}
	}
	if err := c.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: c.head.Bytes(),
		EndHeaders: true}); err != nil {
		return err
	}
	return c.push(id)
}

// push sends what the windows allow.
func (c *h2conn) push(id uint32) error {
	s := c.streams[id]
	for n := int64(1); len(s.unsent) > 0 && n > 0; {
		n = min(int64(len(s.unsent)), s.window, c.window, dataMost)
		if n <= 0 {
			return nil
		}
		last := int64(len(s.unsent)) == n && !s.open
		if err := c.framer.WriteData(id, last, s.unsent[:n]); err != nil {
			return err
		}
		s.unsent, s.window, c.window = s.unsent[n:], s.window-n, c.window-n
		if last {
			c.forget(id)
		}
	}
	return nil
}

// event sends one of a watch; a connection that is gone ends in its own loop.
func (c *h2conn) event(id uint32, frame []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.streams[id]; s != nil {
		s.unsent = append(s.unsent, frame...)
		_ = c.push(id)
		_ = c.out.Flush()
	}
}
