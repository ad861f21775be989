// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// What is wrong and by which code it is told (RFC 9113, RFC 7541), octet for octet: cases that h2spec does not have,
// or has with several codes to choose from. The engine's unit tests have many more; these go through the sockets.

// wrong is what a peer sends after preface and SETTINGS, and what it hears first of GOAWAY, RST_STREAM and close.
type wrong struct {
	name, send, want string
}

// raw is one frame of any type, flags and length.
func raw(kind http2.FrameType, flags http2.Flags, stream uint32, payload string) string {
	return rawOf(len(payload), kind, flags, stream, payload)
}

// rawOf says another length than the payload has.
func rawOf(length int, kind http2.FrameType, flags http2.Flags, stream uint32, payload string) string {
	head := []byte{byte(length >> 16), byte(length >> 8), byte(length), byte(kind), byte(flags),
		byte(stream >> 24), byte(stream >> 16), byte(stream >> 8), byte(stream)}
	return string(head) + payload
}

// field is a literal field without indexing, in plain octets.
func field(name, value string) string {
	return fmt.Sprintf("\x00%c%s%c%s", len(name), name, len(value), value)
}

const (
	endStream  = http2.FlagDataEndStream
	endHeaders = http2.FlagHeadersEndHeaders
	whole      = endStream | endHeaders
	window     = "\x7f\xff\xff\xff"
)

// wrongAlways are wrong on any connection, whoever speaks. Stream 1 is open or idle, stream 2 is idle for ever.
var wrongAlways = []wrong{
	{"frame over the limit", rawOf(16385, http2.FrameData, 0, 1, ""), "GOAWAY FRAME_SIZE_ERROR"},
	{"DATA on stream 0", raw(http2.FrameData, 0, 0, "x"), "GOAWAY PROTOCOL_ERROR"},
	{"HEADERS on stream 0", raw(http2.FrameHeaders, whole, 0, "\x88"), "GOAWAY PROTOCOL_ERROR"},
	{"HEADERS on an even stream", raw(http2.FrameHeaders, whole, 2, "\x88"), "GOAWAY PROTOCOL_ERROR"},
	{"DATA on an even stream", raw(http2.FrameData, 0, 2, "x"), "GOAWAY PROTOCOL_ERROR"},
	{"CONTINUATION of nothing", raw(http2.FrameContinuation, endHeaders, 1, ""), "GOAWAY PROTOCOL_ERROR"},
	{"PRIORITY on stream 0", raw(http2.FramePriority, 0, 0, "\x00\x00\x00\x01\x00"), "GOAWAY PROTOCOL_ERROR"},
	{"RST_STREAM on an idle stream", raw(http2.FrameRSTStream, 0, 2, "\x00\x00\x00\x08"), "GOAWAY PROTOCOL_ERROR"},
	{"RST_STREAM of 3 octets", raw(http2.FrameRSTStream, 0, 1, "\x00\x00\x08"), "GOAWAY FRAME_SIZE_ERROR"},
	{"SETTINGS of 5 octets", raw(http2.FrameSettings, 0, 0, "\x00\x03\x00\x00\x00"), "GOAWAY FRAME_SIZE_ERROR"},
	{"SETTINGS of 33 entries", raw(http2.FrameSettings, 0, 0, strings.Repeat("\x00\x09\x00\x00\x00\x00", 33)),
		"GOAWAY ENHANCE_YOUR_CALM"},
	{"SETTINGS of 199 octets", raw(http2.FrameSettings, 0, 0, strings.Repeat("\x00", 199)), "GOAWAY FRAME_SIZE_ERROR"},
	{"SETTINGS of 33 entries on a stream", raw(http2.FrameSettings, 0, 1, strings.Repeat("\x00\x09\x00\x00\x00\x00", 33)),
		"GOAWAY PROTOCOL_ERROR"},
	{"acknowledgement with 33 entries", raw(http2.FrameSettings, http2.FlagSettingsAck, 0,
		strings.Repeat("\x00\x09\x00\x00\x00\x00", 33)), "GOAWAY FRAME_SIZE_ERROR"},
	{"acknowledgement with a payload", raw(http2.FrameSettings, http2.FlagSettingsAck, 0, "x"), "GOAWAY FRAME_SIZE_ERROR"},
	{"ENABLE_PUSH 2", raw(http2.FrameSettings, 0, 0, "\x00\x02\x00\x00\x00\x02"), "GOAWAY PROTOCOL_ERROR"},
	{"INITIAL_WINDOW_SIZE 2^31", raw(http2.FrameSettings, 0, 0, "\x00\x04\x80\x00\x00\x00"), "GOAWAY FLOW_CONTROL_ERROR"},
	{"MAX_FRAME_SIZE 16383", raw(http2.FrameSettings, 0, 0, "\x00\x05\x00\x00\x3f\xff"), "GOAWAY PROTOCOL_ERROR"},
	{"PUSH_PROMISE", raw(http2.FramePushPromise, endHeaders, 1, "\x00\x00\x00\x02\x88"), "GOAWAY PROTOCOL_ERROR"},
	{"PING of 7 octets", raw(http2.FramePing, 0, 0, "1234567"), "GOAWAY FRAME_SIZE_ERROR"},
	{"GOAWAY of 7 octets", raw(http2.FrameGoAway, 0, 0, "1234567"), "GOAWAY FRAME_SIZE_ERROR"},
	{"GOAWAY on a stream", raw(http2.FrameGoAway, 0, 1, "12345678"), "GOAWAY PROTOCOL_ERROR"},
	{"WINDOW_UPDATE of 0", raw(http2.FrameWindowUpdate, 0, 0, "\x00\x00\x00\x00"), "GOAWAY PROTOCOL_ERROR"},
	{"windows over 2^31-1", raw(http2.FrameWindowUpdate, 0, 0, window), "GOAWAY FLOW_CONTROL_ERROR"},
	{"WINDOW_UPDATE on an idle stream", raw(http2.FrameWindowUpdate, 0, 2, "\x00\x00\x00\x01"), "GOAWAY PROTOCOL_ERROR"},
	{"padding as long as the frame", raw(http2.FrameHeaders, whole|http2.FlagHeadersPadded, 1, "\x02\x88"),
		"GOAWAY PROTOCOL_ERROR"},
	{"PING within a header block", raw(http2.FrameHeaders, 0, 1, "") + raw(http2.FramePing, 0, 0, "12345678"),
		"GOAWAY PROTOCOL_ERROR"},
	{"HPACK: index 0", raw(http2.FrameHeaders, whole, 1, "\x80"), "GOAWAY COMPRESSION_ERROR"},
	{"HPACK: index of no entry", raw(http2.FrameHeaders, whole, 1, "\xff\x40"), "GOAWAY COMPRESSION_ERROR"},
	{"HPACK: integer without end", raw(http2.FrameHeaders, whole, 1, "\xff"+strings.Repeat("\xff", 12)),
		"GOAWAY COMPRESSION_ERROR"},
	{"HPACK: table over its limit", raw(http2.FrameHeaders, whole, 1, "\x3f\xe2\x1f"), "GOAWAY COMPRESSION_ERROR"},
	{"HPACK: size update behind a field", raw(http2.FrameHeaders, whole, 1, "\x88\x20"), "GOAWAY COMPRESSION_ERROR"},
	{"HPACK: Huffman EOS", raw(http2.FrameHeaders, whole, 1, "\x00\x01x\x84\xff\xff\xff\xff"), "GOAWAY COMPRESSION_ERROR"},
	{"HPACK: ends within a field", raw(http2.FrameHeaders, whole, 1, "\x00\x05ab"), "GOAWAY COMPRESSION_ERROR"},
	{"HPACK: list over 64 KiB", raw(http2.FrameHeaders, 0, 1, "") +
		raw(http2.FrameContinuation, 0, 1, strings.Repeat("\x90", 2000)), "GOAWAY ENHANCE_YOUR_CALM"},
	{"nine CONTINUATIONs", raw(http2.FrameHeaders, 0, 1, "") +
		strings.Repeat(raw(http2.FrameContinuation, 0, 1, "\x00\x01x\x01y"), 9), "GOAWAY ENHANCE_YOUR_CALM"},
}

const get = "\x82\x86\x84\x01\x01a" // GET http / of a

// wrongRequests are wrong for a server, on a connection without streams.
var wrongRequests = []wrong{
	{"DATA on an idle stream", raw(http2.FrameData, 0, 1, "x"), "GOAWAY PROTOCOL_ERROR"},
	{"a smaller stream number", raw(http2.FrameHeaders, endHeaders, 5, "\x83\x86\x84") +
		raw(http2.FrameHeaders, whole, 3, get), "GOAWAY PROTOCOL_ERROR"},
	{"HEADERS after END_STREAM of both", raw(http2.FrameHeaders, whole, 1, get) +
		raw(http2.FrameHeaders, whole, 1, get), "GOAWAY STREAM_CLOSED"},
	{"PRIORITY of 4 octets", raw(http2.FrameHeaders, endHeaders, 1, "\x83\x86\x84") +
		raw(http2.FramePriority, 0, 1, "\x00\x00\x00\x00"), "RST_STREAM 1 FRAME_SIZE_ERROR"},
	{"WINDOW_UPDATE of 0 on a stream", raw(http2.FrameHeaders, endHeaders, 1, "\x83\x86\x84") +
		raw(http2.FrameWindowUpdate, 0, 1, "\x00\x00\x00\x00"), "RST_STREAM 1 PROTOCOL_ERROR"},
	{"stream window over 2^31-1", raw(http2.FrameHeaders, endHeaders, 1, "\x83\x86\x84") +
		raw(http2.FrameWindowUpdate, 0, 1, window), "RST_STREAM 1 FLOW_CONTROL_ERROR"},
	{"DATA after RST_STREAM", raw(http2.FrameHeaders, endHeaders, 1, "\x83\x86\x84") +
		raw(http2.FrameRSTStream, 0, 1, "\x00\x00\x00\x08") + raw(http2.FrameData, 0, 1, "x"), "RST_STREAM 1 STREAM_CLOSED"},
	{"depends on itself", raw(http2.FrameHeaders, whole|http2.FlagHeadersPriority, 1, "\x00\x00\x00\x01\x00"+get),
		"RST_STREAM 1 PROTOCOL_ERROR"},
	{"no :path", raw(http2.FrameHeaders, whole, 1, "\x82\x86"), "RST_STREAM 1 PROTOCOL_ERROR"},
	{":path twice", raw(http2.FrameHeaders, whole, 1, get+"\x84"), "RST_STREAM 1 PROTOCOL_ERROR"},
	{":status in a request", raw(http2.FrameHeaders, whole, 1, get+"\x88"), "RST_STREAM 1 PROTOCOL_ERROR"},
	{"upper case", raw(http2.FrameHeaders, whole, 1, get+field("X-a", "b")), "RST_STREAM 1 PROTOCOL_ERROR"},
	{"LF in a value", raw(http2.FrameHeaders, whole, 1, get+field("a", "b\nc")), "RST_STREAM 1 PROTOCOL_ERROR"},
	{"connection: close", raw(http2.FrameHeaders, whole, 1, get+field("connection", "close")),
		"RST_STREAM 1 PROTOCOL_ERROR"},
	{"te: gzip", raw(http2.FrameHeaders, whole, 1, get+field("te", "gzip")), "RST_STREAM 1 PROTOCOL_ERROR"},
	{"more than content-length", raw(http2.FrameHeaders, endHeaders, 1, "\x83\x86\x84"+field("content-length", "1")) +
		raw(http2.FrameData, endStream, 1, "xy"), "RST_STREAM 1 PROTOCOL_ERROR"},
	{"trailers without END_STREAM", raw(http2.FrameHeaders, endHeaders, 1, "\x83\x86\x84") +
		raw(http2.FrameHeaders, endHeaders, 1, field("a", "b")), "RST_STREAM 1 PROTOCOL_ERROR"},
	{"list over 16 KiB",
		raw(http2.FrameHeaders, whole, 1, get+strings.Repeat("\x90", 350)), "RST_STREAM 1 ENHANCE_YOUR_CALM"},
}

// wrongAnswers are wrong for a client that has asked on stream 1.
var wrongAnswers = []wrong{
	{"ENABLE_PUSH 1", raw(http2.FrameSettings, 0, 0, "\x00\x02\x00\x00\x00\x01"), "GOAWAY PROTOCOL_ERROR"},
	{"a stream of the server's", raw(http2.FrameHeaders, whole, 101, "\x88"), "GOAWAY PROTOCOL_ERROR"},
	{"DATA before the header list", raw(http2.FrameData, 0, 1, "x"), "RST_STREAM 1 PROTOCOL_ERROR"},
	{"no :status", raw(http2.FrameHeaders, whole, 1, field("a", "b")), "RST_STREAM 1 PROTOCOL_ERROR"},
	{":status of two digits", raw(http2.FrameHeaders, whole, 1, field(":status", "20")), "RST_STREAM 1 PROTOCOL_ERROR"},
	{":status 101", raw(http2.FrameHeaders, endHeaders, 1, field(":status", "101")), "RST_STREAM 1 PROTOCOL_ERROR"},
	{":path in a response", raw(http2.FrameHeaders, whole, 1, "\x88\x84"), "RST_STREAM 1 PROTOCOL_ERROR"},
	{"upper case", raw(http2.FrameHeaders, whole, 1, "\x88"+field("X-a", "b")), "RST_STREAM 1 PROTOCOL_ERROR"},
	{"103 that ends the stream",
		raw(http2.FrameHeaders, whole, 1, field(":status", "103")), "RST_STREAM 1 PROTOCOL_ERROR"},
	{"nine times 103", strings.Repeat(raw(http2.FrameHeaders, endHeaders, 1, field(":status", "103")), 9),
		"RST_STREAM 1 ENHANCE_YOUR_CALM"},
	{"less than content-length", raw(http2.FrameHeaders, endHeaders, 1, "\x88"+field("content-length", "9")) +
		raw(http2.FrameData, endStream, 1, "xy"), "RST_STREAM 1 PROTOCOL_ERROR"},
	{"DATA after END_STREAM", raw(http2.FrameHeaders, whole, 1, "\x88") + raw(http2.FrameData, 0, 1, "x"),
		"GOAWAY STREAM_CLOSED"},
	{"WINDOW_UPDATE of 0 on a stream", raw(http2.FrameWindowUpdate, 0, 1, "\x00\x00\x00\x00"),
		"RST_STREAM 1 PROTOCOL_ERROR"},
	{"stream window over 2^31-1", raw(http2.FrameWindowUpdate, 0, 1, window), "RST_STREAM 1 FLOW_CONTROL_ERROR"},
}

// told reads up to the first verdict. A connection that ends by GOAWAY has to be closed then; one on which a stream was
// ended has to answer a PING.
func told(t *testing.T, conn net.Conn, framer *http2.Framer) string {
	t.Helper()
	verdict := "nothing"
	for {
		f, err := framer.ReadFrame()
		if err != nil {
			if strings.HasPrefix(verdict, "RST_STREAM") || verdict == "nothing" {
				return verdict + ", then " + err.Error()
			}
			return verdict
		}
		switch f := f.(type) {
		case *http2.GoAwayFrame:
			if verdict != "nothing" {
				return verdict + ", then GOAWAY " + f.ErrCode.String()
			}
			verdict = "GOAWAY " + f.ErrCode.String()
		case *http2.RSTStreamFrame:
			if verdict == "nothing" {
				verdict = fmt.Sprintf("RST_STREAM %d %v", f.StreamID, f.ErrCode)
				check(t, http2.NewFramer(conn, nil).WritePing(false, [8]byte{'s', 't', 'a', 'y'}))
			}
		case *http2.PingFrame:
			if strings.HasPrefix(verdict, "RST_STREAM") && f.IsAck() && bytes.HasPrefix(f.Data[:], []byte("stay")) {
				return verdict
			}
		}
	}
}

func TestWrongFramesToServers(t *testing.T) {
	t.Parallel()
	a := withoutServer(t, "trn1.2xlarge", closedPort(t))
	a.args = append(a.args, "--healthcheck-port", "0")
	a.start()
	a.waitLog(0, "event=socket_opened", "health service on TCP port") // after the other two
	for _, at := range a.places() {
		for _, w := range append(append([]wrong{}, wrongAlways...), wrongRequests...) {
			t.Run(at.name+"/"+w.name, func(t *testing.T) {
				conn, err := net.Dial(at.network, at.address)
				check(t, err)
				defer conn.Close()
				check(t, conn.SetDeadline(time.Now().Add(patience)))
				_, err = io.WriteString(conn, http2.ClientPreface+raw(http2.FrameSettings, 0, 0, "")+w.send)
				check(t, err)
				if got := told(t, conn, http2.NewFramer(io.Discard, conn)); got != w.want {
					t.Errorf("%s, want %s", got, w.want)
				}
			})
		}
	}
}

func TestWrongFramesToClient(t *testing.T) {
	t.Parallel()
	nodes := nodesFor(t)
	for _, w := range append(append([]wrong{}, wrongAlways...), wrongAnswers...) {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			a := <-nodes
			defer func() { nodes <- a }()
			defer a.kill()
			conn := firstConnection(t, a)
			defer conn.Close()
			framer := http2.NewFramer(io.Discard, conn)
			_, err := io.ReadFull(conn, make([]byte, len(http2.ClientPreface)))
			check(t, err)
			_, err = io.WriteString(conn, raw(http2.FrameSettings, 0, 0, ""))
			check(t, err)
			for asked := false; !asked; {
				f, err := framer.ReadFrame()
				check(t, err)
				asked = f.Header().Type == http2.FrameHeaders
			}
			_, err = io.WriteString(conn, w.send)
			check(t, err)
			if got := told(t, conn, framer); got != w.want {
				t.Errorf("%s, want %s", got, w.want)
			}
		})
	}
}
