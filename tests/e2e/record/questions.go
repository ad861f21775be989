// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

const aboutKubelet = `What a real kubelet says on a socket of the agent, recorded by make record.
say HEX: its octets, in order.`

const aboutServer = `What a real API server says to the agent within TLS, recorded by make record.
say HEX: its octets, in order. ask STREAM METHOD PATH: the agent opened a stream just before what follows;
reset STREAM: it ended one.`

// questions reads the agent's frames for the order in which it asks. It keeps methods and paths, no other field.
type questions struct {
	tell   func(word, text string)
	feed   *io.PipeWriter
	framer *http2.Framer
}

func newQuestions(tell func(word, text string)) *questions {
	r, w := io.Pipe()
	q := &questions{tell: tell, feed: w, framer: http2.NewFramer(io.Discard, r)}
	started := make(chan struct{})
	go func() {
		preface := make([]byte, len(http2.ClientPreface))
		close(started)
		if _, err := io.ReadFull(r, preface); err == nil && bytes.Equal(preface, []byte(http2.ClientPreface)) {
			q.read()
		}
		_, _ = io.Copy(io.Discard, r)
	}()
	<-started
	return q
}

func (q *questions) take(data []byte) { _, _ = q.feed.Write(data) }

func (q *questions) read() {
	var method, path string
	decoder := hpack.NewDecoder(4096, func(f hpack.HeaderField) {
		switch f.Name {
		case ":method":
			method = f.Value
		case ":path":
			path = f.Value
		}
	})
	for {
		f, err := q.framer.ReadFrame()
		if err != nil {
			return
		}
		switch f := f.(type) {
		case *http2.HeadersFrame:
			if _, err := decoder.Write(f.HeaderBlockFragment()); err != nil {
				return
			}
			q.tell("ask", fmt.Sprintf("%d %s %s", f.StreamID, method, path))
		case *http2.RSTStreamFrame:
			q.tell("reset", fmt.Sprint(f.StreamID))
		}
	}
}
