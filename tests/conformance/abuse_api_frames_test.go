// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// --- frames that RFC 9113 does not allow, or allows in any number ---

// once sends frames when the connection is open.
func once(frames ...[]byte) func(p *apiPeer) {
	return func(p *apiPeer) { p.raw(frames...) }
}

// forEver sends them at full speed until the agent takes no more.
func forEver(frames ...[]byte) func(p *apiPeer) {
	return func(p *apiPeer) { p.flood(frames...) }
}

// replies sends frames on the stream of each request; their stream is 0 until then.
func replies(frames ...[]byte) func(e *asked) {
	return func(e *asked) { e.p.raw(onStream(e.id, frames...)) }
}

// repliesForEver does so until the agent takes no more.
func repliesForEver(head []byte, frames ...[]byte) func(e *asked) {
	return func(e *asked) {
		if e.p.raw(onStream(e.id, head)) {
			e.p.flood(onStream(e.id, frames...))
		}
	}
}

// onStream puts the stream into frames that have none.
func onStream(stream uint32, frames ...[]byte) []byte {
	var all []byte
	for _, f := range frames {
		f = bytes.Clone(f)
		copy(f[5:9], u32(stream))
		all = append(all, f...)
	}
	return all
}

// fieldOf is a header field that is not indexed; it may have any octets.
func fieldOf(name, value string) string {
	return "\x10" + hpackText(name) + hpackText(value)
}

func hpackText(s string) string { return hpackNumber(len(s)) + s }

// hpackNumber has a prefix of seven bits, the eighth is 0.
func hpackNumber(n int) string {
	if n < 127 {
		return string([]byte{byte(n)})
	}
	b := []byte{127}
	for n -= 127; n >= 128; n /= 128 {
		b = append(b, byte(n%128)|128)
	}
	return string(append(b, byte(n)))
}

const status200 = "\x88"

// list is a HEADERS frame with this block.
func list(flags http2.Flags, block string) []byte {
	return frameOf(http2.FrameHeaders, flags|http2.FlagHeadersEndHeaders, 0, []byte(block))
}

// bigList is a block in HEADERS and CONTINUATION frames.
func bigList(block string) []byte {
	const piece = 16384
	kind, all := http2.FrameHeaders, []byte(nil)
	for len(block) > piece {
		all = append(all, frameOf(kind, 0, 0, []byte(block[:piece]))...)
		kind, block = http2.FrameContinuation, block[piece:]
	}
	return append(all, frameOf(kind, http2.FlagHeadersEndHeaders, 0, []byte(block))...)
}

// repliesBlock answers each request with a block over as many frames as it takes.
func repliesBlock(block string) func(e *asked) {
	return func(e *asked) {
		all := bigList(block)
		for at := 0; at < len(all); {
			copy(all[at+5:at+9], u32(e.id))
			at += 9 + int(all[at])<<16 + int(all[at+1])<<8 + int(all[at+2])
		}
		e.p.raw(all)
	}
}

var (
	emptySettings = frameOf(http2.FrameSettings, 0, 0, nil)
	okHead        = list(0, status200+fieldOf("content-type", protobufType))
	aPing         = frameOf(http2.FramePing, 0, 0, make([]byte, 8))
)

func data(flags http2.Flags, text string) []byte {
	return frameOf(http2.FrameData, flags, 0, []byte(text))
}

func TestAbuseAPIConnection(t *testing.T) {
	first := func(frames ...[]byte) func() []byte {
		return func() []byte { return bytes.Join(frames, nil) }
	}
	many := func(n int) []byte { return settings(make([]uint32, 2*n)...) }
	goaway := func(last uint32, code http2.ErrCode) []byte {
		return frameOf(http2.FrameGoAway, 0, 0, u32(last, uint32(code)))
	}
	const lost = "event=api_connection_lost"
	calm, protocol := "GOAWAY "+http2.ErrCodeEnhanceYourCalm.String(), "GOAWAY "+http2.ErrCodeProtocol.String()
	size, flow := "GOAWAY "+http2.ErrCodeFrameSize.String(), "GOAWAY "+http2.ErrCodeFlowControl.String()
	runAbuseAPI(t, []abuseAPI{
		{name: "silence after TLS", conn: func(h *hostile, conn *countedConn, turn int) {
			h.silent(conn)
		}, words: lost, says: ""},
		{name: "HTTP/1 text inside TLS", first: first([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")), says: protocol, words: lost},
		{name: "first frame is PING", first: first(aPing), says: protocol, words: lost},
		{name: "first frame is SETTINGS with ACK", first: first(frameOf(http2.FrameSettings, 1, 0, nil)), says: protocol, words: lost},
		{name: "SETTINGS of 5 bytes", first: first(frameOf(http2.FrameSettings, 0, 0, make([]byte, 5))), says: size, words: lost},
		{name: "SETTINGS with ACK and payload", open: once(frameOf(http2.FrameSettings, 1, 0, make([]byte, 6))), says: size, words: lost},
		{name: "SETTINGS on a stream", first: first(frameOf(http2.FrameSettings, 0, 1, nil)), says: protocol, words: lost},
		{name: "SETTINGS of 33 entries", first: first(many(33)), says: calm, words: lost},
		{name: "SETTINGS: window of 2^31", first: first(settings(4, 1<<31)), says: flow, words: lost},
		{name: "SETTINGS: frames of 1 byte", first: first(settings(5, 1)), says: protocol, words: lost},
		{name: "SETTINGS: frames of 2^24", first: first(settings(5, 1<<24)), says: protocol, words: lost},
		{name: "SETTINGS: push", first: first(settings(2, 1)), says: protocol, words: lost},
		{name: "SETTINGS: unknown, all largest", first: first(settings(0, 1<<32-1, 7, 1<<32-1, 65535, 1<<32-1, 1, 1<<32-1, 3, 1<<32-1, 6, 0)),
			answer: func(e *asked) { e.reset(http2.ErrCodeInternal) }, words: "event=api_request_failed"},
		{name: "SETTINGS without end", open: forEver(emptySettings), says: calm, words: lost},
		{name: "SETTINGS of 32 entries without end", open: forEver(many(32)), says: calm, words: lost},
		{name: "SETTINGS with ACK without end", open: forEver(frameOf(http2.FrameSettings, 1, 0, nil)), says: calm, words: lost},
		{name: "SETTINGS: windows up and down without end", open: forEver(settings(4, 0), settings(4, 1<<31-1)), says: calm, words: lost},
		{name: "PING without end", open: forEver(aPing), says: calm, words: lost},
		{name: "PING with ACK without end", open: forEver(frameOf(http2.FramePing, 1, 0, make([]byte, 8))), says: calm, words: lost},
		{name: "PING of 7 bytes", open: once(frameOf(http2.FramePing, 0, 0, make([]byte, 7))), says: size, words: lost},
		{name: "PING on a stream", open: once(frameOf(http2.FramePing, 0, 1, make([]byte, 8))), says: protocol, words: lost},
		{name: "PRIORITY without end", open: forEver(frameOf(http2.FramePriority, 0, 1, make([]byte, 5))), says: calm, words: lost},
		{name: "PRIORITY on the connection", open: once(frameOf(http2.FramePriority, 0, 0, make([]byte, 5))), says: protocol, words: lost},
		{name: "unknown frames without end", open: forEver(frameOf(0xee, 0xff, 0, make([]byte, 16384))), says: calm, words: lost},
		{name: "unknown empty frames without end", open: forEver(frameOf(0x0b, 0, 1<<31-1, nil)), says: calm, words: lost},
		{name: "WINDOW_UPDATE without end", open: forEver(frameOf(http2.FrameWindowUpdate, 0, 0, u32(1))), says: calm, words: lost},
		{name: "WINDOW_UPDATE of 0", open: once(frameOf(http2.FrameWindowUpdate, 0, 0, u32(0))), says: protocol, words: lost},
		{name: "WINDOW_UPDATE over 2^31", open: once(frameOf(http2.FrameWindowUpdate, 0, 0, u32(1<<31-1))), says: flow, words: lost},
		{name: "WINDOW_UPDATE of an idle stream", open: once(frameOf(http2.FrameWindowUpdate, 0, 999, u32(1))), says: protocol, words: lost},
		{name: "WINDOW_UPDATE of 3 bytes", open: once(frameOf(http2.FrameWindowUpdate, 0, 0, make([]byte, 3))), says: size, words: lost},
		{name: "RST_STREAM of an idle stream", open: once(frameOf(http2.FrameRSTStream, 0, 999, u32(8))), says: protocol, words: lost},
		{name: "RST_STREAM of the connection", open: once(frameOf(http2.FrameRSTStream, 0, 0, u32(8))), says: protocol, words: lost},
		{name: "DATA of the connection", open: once(data(0, "x")), says: protocol, words: lost},
		{name: "DATA of an idle stream", open: once(onStream(999, data(0, "x"))), says: protocol, words: lost},
		{name: "HEADERS of an idle stream", open: once(onStream(999, okHead)), says: protocol, words: lost},
		{name: "HEADERS of a stream of even number", open: once(onStream(2, okHead)), says: protocol, words: lost},
		{name: "CONTINUATION alone", open: once(frameOf(http2.FrameContinuation, 4, 1, []byte(status200))), says: protocol, words: lost},
		{name: "PUSH_PROMISE", answer: func(e *asked) {
			e.p.raw(frameOf(http2.FramePushPromise, 4, e.id, append(u32(2), 0x82, 0x84, 0x87)))
		}, says: protocol, words: lost},
		{name: "frame of 16385 bytes", open: once(frameOf(0xee, 0, 0, make([]byte, 16385))), says: size, words: lost},
		{name: "frame of 2^24-1 bytes", open: once([]byte("\xff\xff\xff\x00\x00\x00\x00\x00\x01")), says: size, words: lost},
		{name: "GOAWAY at once", open: once(goaway(0, 0)), words: "event=api_connection_drained"},
		{name: "GOAWAY for each request", answer: func(e *asked) { e.p.raw(goaway(0, 0)) }, words: "event=api_connection_drained"},
		{name: "GOAWAY for each request, and then an answer", answer: func(e *asked) {
			e.p.raw(goaway(e.id, 0), onStream(e.id, list(1, fieldOf(":status", "503"))))
		}, words: "event=api_connection_drained"},
		{name: "GOAWAY of the largest stream, and then silence", open: once(goaway(1<<31-1, 0)), answer: func(*asked) {}, words: "event=api_connection_drained"},
		{name: "GOAWAY of the largest stream, and then for ever", open: forEver(goaway(1<<31-1, 0)), words: "too many frames that carry nothing"},
		{name: "GOAWAY with an error", open: once(goaway(0, http2.ErrCodeInternal)), words: "event=api_connection_drained"},
		{name: "GOAWAY of 7 bytes", open: once(frameOf(http2.FrameGoAway, 0, 0, make([]byte, 7))), says: size, words: lost},
		{name: "GOAWAY before each answer", answer: func(e *asked) {
			e.p.raw(goaway(e.id, 0))
			e.serve()
		}, words: "event=api_connection_drained", served: true},
		{name: "GOAWAY of the largest stream before each answer", answer: func(e *asked) {
			e.p.raw(goaway(1<<31-1, 0))
			e.serve()
		}, words: "event=api_connection_drained", served: true},
		{name: "MAX_CONCURRENT_STREAMS 0", first: first(settings(3, 0)), words: "event=api_request_failed"},
		{name: "MAX_CONCURRENT_STREAMS 1", first: first(settings(3, 1)), words: "raise --http2-max-streams-per-connection", served: true},
		{name: "MAX_CONCURRENT_STREAMS 2", first: first(settings(3, 2)), words: "raise --http2-max-streams-per-connection", served: true},
		{name: "windows of 0", first: first(settings(4, 0)), words: "event=api_request_failed"},
		{name: "windows of 1 byte", first: first(settings(4, 1)), words: "event=api_request_failed", answer: func(e *asked) {},
			open: func(p *apiPeer) {
				p.slowly(200*time.Millisecond, frameOf(http2.FrameWindowUpdate, 0, 1, u32(1)), frameOf(http2.FrameWindowUpdate, 0, 3, u32(1)))
			}},
	})
}

// silent completes TLS and never says a word of HTTP.
func (h *hostile) silent(conn *countedConn) {
	secure := tlsServer(conn, h)
	if secure != nil {
		_, _ = secure.Read(make([]byte, 1))
		<-time.After(abuseAPIHold)
	}
}

func TestAbuseAPIStreams(t *testing.T) {
	const lost, refused = "event=api_connection_lost", "event=api_request_failed"
	rst := func(code http2.ErrCode) string { return "RST " + code.String() }
	goaway := func(code http2.ErrCode) string { return "GOAWAY " + code.String() }
	calm, protocol := http2.ErrCodeEnhanceYourCalm, http2.ErrCodeProtocol
	compression, flow := goaway(http2.ErrCodeCompression), http2.ErrCodeFlowControl
	end := http2.FlagDataEndStream
	field := fieldOf("x-many", strings.Repeat("y", 90))
	cases := []abuseAPI{
		{name: "CONTINUATION without end", answer: repliesForEver(frameOf(http2.FrameHeaders, 0, 0, []byte(status200)),
			frameOf(http2.FrameContinuation, 0, 0, []byte(field))), says: goaway(calm), words: lost},
		{name: "CONTINUATION without end, empty", answer: repliesForEver(frameOf(http2.FrameHeaders, 0, 0, nil),
			frameOf(http2.FrameContinuation, 0, 0, nil)), says: goaway(calm), words: lost},
		{name: "CONTINUATION, one a second", answer: func(e *asked) {
			if e.id > 1 {
				return // nothing may come in between
			}
			e.p.raw(onStream(e.id, frameOf(http2.FrameHeaders, 0, 0, []byte(status200))))
			e.p.slowly(time.Second, onStream(e.id, frameOf(http2.FrameContinuation, 0, 0, []byte(field))))
		}, says: goaway(calm), words: lost},
		{name: "HEADERS, and something else inside", answer: replies(frameOf(http2.FrameHeaders, 0, 0, []byte(status200)), data(0, "")), says: goaway(protocol), words: lost},
		{name: "header list of 40 KiB", answer: repliesBlock(status200 + strings.Repeat(field, 320)), says: rst(calm), words: refused},
		{name: "header list of 80 KiB", answer: repliesBlock(status200 + strings.Repeat(field, 640)), says: goaway(calm), words: lost},
		{name: "header field of 9 KiB", answer: repliesBlock(status200 + fieldOf("x", strings.Repeat("y", 9000))), says: goaway(calm), words: lost},
		{name: "header fields without octets", answer: repliesBlock(status200 + strings.Repeat(fieldOf("", ""), 100)), says: rst(protocol), words: refused},
		{name: "HPACK: a table entry 16,000 times", answer: repliesBlock(status200 + "\x40" + hpackText("x-bomb") + hpackText(strings.Repeat("y", 3900)) + strings.Repeat("\xbe", 16000)), says: goaway(calm), words: lost},
		{name: "HPACK: index 0", answer: repliesBlock("\x80"), says: compression, words: lost},
		{name: "HPACK: index outside of the table", answer: repliesBlock("\xff\x80\x01"), says: compression, words: lost},
		{name: "HPACK: number without end", answer: repliesBlock("\xff" + strings.Repeat("\xff", 40)), says: compression, words: lost},
		{name: "HPACK: text of 2^32 bytes", answer: repliesBlock("\x10\x01x\x7f\xff\xff\xff\xff\x0f"), says: compression, words: lost},
		{name: "HPACK: table of 2^31", answer: repliesBlock("\x3f\xe1\xff\xff\xff\x07" + status200), says: compression, words: lost},
		{name: "HPACK: table size three times", answer: repliesBlock("\x20\x20\x20" + status200), says: compression, words: lost},
		{name: "HPACK: wrong padding of Huffman code", answer: repliesBlock("\x10\x81\x00\x81\x00"), says: compression, words: lost},
		{name: "HPACK: ends inside a field", answer: repliesBlock(status200 + "\x10\x05ab"), says: compression, words: lost},
		{name: "header in upper case", answer: replies(list(0, status200+fieldOf("Content-Type", protobufType))), says: rst(protocol), words: refused},
		{name: "header with CR LF", answer: replies(list(0, status200+fieldOf("x", "a\r\nb: c"))), says: rst(protocol), words: refused},
		{name: "header connection", answer: replies(list(0, status200+fieldOf("connection", "close"))), says: rst(protocol), words: refused},
		{name: "header transfer-encoding", answer: replies(list(0, status200+fieldOf("transfer-encoding", "chunked"))), says: rst(protocol), words: refused},
		{name: ":status is missing", answer: replies(list(0, fieldOf("content-type", protobufType))), says: rst(protocol), words: refused},
		{name: ":status twice", answer: replies(list(0, status200+status200)), says: rst(protocol), words: refused},
		{name: ":status behind a header", answer: replies(list(0, fieldOf("a", "b")+status200)), says: rst(protocol), words: refused},
		{name: ":method in an answer", answer: replies(list(0, "\x82"+status200)), says: rst(protocol), words: refused},
		{name: ":status 101", answer: replies(list(0, fieldOf(":status", "101"))), says: rst(protocol), words: refused},
		{name: ":status 103 without end", answer: repliesForEver(list(0, fieldOf(":status", "103")), list(0, fieldOf(":status", "103"))), says: rst(calm), words: "event=api_connection_lost"},
		{name: ":status 103 with END_STREAM", answer: replies(list(1, fieldOf(":status", "103"))), says: rst(protocol), words: refused},
		{name: ":status 999", answer: replies(list(1, fieldOf(":status", "999"))), words: refused},
		{name: "HEADERS that depend on themselves", answer: func(e *asked) {
			e.p.raw(frameOf(http2.FrameHeaders, 0x24, e.id, append(append(u32(e.id), 0), status200...)))
		}, says: rst(protocol), words: refused},
		{name: "HEADERS with too much padding", answer: replies(frameOf(http2.FrameHeaders, 0x0c, 0, []byte("\xff"+status200))), says: goaway(protocol), words: lost},
		{name: "DATA with too much padding", answer: replies(okHead, frameOf(http2.FrameData, 8, 0, []byte("\xffx"))), says: goaway(protocol), words: lost},
		{name: "DATA before HEADERS", answer: replies(data(0, "k8s\x00")), says: rst(protocol), words: refused},
		{name: "DATA without octets, without end", answer: repliesForEver(okHead, data(0, "")), says: goaway(calm), words: lost},
		{name: "DATA of padding, without end", answer: repliesForEver(okHead, frameOf(http2.FrameData, 8, 0, append([]byte{255}, make([]byte, 255)...))), says: goaway(calm), words: lost},
		{name: "DATA beyond the window", answer: func(e *asked) {
			e.p.raw(onStream(e.id, okHead))
			e.p.raw(bytes.Repeat(onStream(e.id, data(0, strings.Repeat("\x00", 16384))), 8))
		}, words: refused},
		{name: "second answer", answer: replies(okHead, data(end, ""), okHead, data(end, "")), says: goaway(http2.ErrCodeStreamClosed), words: lost},
		{name: "DATA after the end", answer: replies(okHead, data(end, ""), data(0, "more")), says: goaway(http2.ErrCodeStreamClosed), words: lost},
		{name: "trailers that do not end it", answer: replies(okHead, data(0, ""), list(0, fieldOf("x", "y"))), says: rst(protocol), words: refused},
		{name: "trailers with :status", answer: replies(okHead, data(0, ""), list(1, status200)), says: rst(protocol), words: refused},
		{name: "trailers of 40 KiB", answer: func(e *asked) {
			e.p.raw(onStream(e.id, okHead))
			repliesBlock(strings.Repeat(field, 320))(e)
		}, words: refused},
		{name: "content-length too small", answer: replies(list(0, status200+fieldOf("content-length", "3")), data(end, "k8s\x00")), says: rst(protocol), words: refused},
		{name: "content-length too large", answer: replies(list(0, status200+fieldOf("content-length", "5")), data(end, "k8s\x00")), says: rst(protocol), words: refused},
		{name: "content-length of two values", answer: replies(list(0, status200+fieldOf("content-length", "5")+fieldOf("content-length", "6"))), says: rst(protocol), words: refused},
		{name: "content-length -1", answer: replies(list(0, status200+fieldOf("content-length", "-1"))), says: rst(protocol), words: refused},
		{name: "content-length 2^64", answer: replies(list(0, status200+fieldOf("content-length", "18446744073709551616"))), says: rst(protocol), words: refused},
		{name: "WINDOW_UPDATE of 0 for a stream", answer: replies(frameOf(http2.FrameWindowUpdate, 0, 0, u32(0))), says: rst(protocol), words: refused},
		{name: "WINDOW_UPDATE over 2^31 for a stream", answer: replies(frameOf(http2.FrameWindowUpdate, 0, 0, u32(1<<31-1))), says: rst(flow), words: refused},
		{name: "WINDOW_UPDATE for a stream without end", answer: repliesForEver(okHead, frameOf(http2.FrameWindowUpdate, 0, 0, u32(1))), says: goaway(calm), words: lost},
		{name: "RST_STREAM without end", answer: repliesForEver(frameOf(http2.FrameRSTStream, 0, 0, u32(8)), frameOf(http2.FrameRSTStream, 0, 0, u32(8))), says: goaway(calm), words: lost},
		{name: "RST_STREAM with every code", answer: func(e *asked) {
			e.reset(http2.ErrCode((uint32(e.p.turn) + e.id/2) % 16))
		}, words: refused},
		{name: "RST_STREAM with code 2^32-1", answer: func(e *asked) { e.reset(1<<32 - 1) }, words: refused},
		{name: "REFUSED_STREAM for ever", answer: func(e *asked) { e.reset(http2.ErrCodeRefusedStream) }, words: refused},
		{name: "silence", answer: func(*asked) {}, words: refused},
		{name: "silence after the header", answer: replies(okHead), words: refused},
		{name: "reset inside the header", answer: func(e *asked) {
			e.p.raw(onStream(e.id, frameOf(http2.FrameHeaders, 0, 0, []byte(status200))))
			abort(e.p)
		}, words: lost},
		{name: "reset inside the body", answer: func(e *asked) {
			e.p.raw(onStream(e.id, okHead, data(0, "k8s\x00")))
			abort(e.p)
		}, words: lost},
		{name: "answer before the request is complete", early: true, kinds: []string{"create", "update", "event", "series"},
			answer: replies(list(1, fieldOf(":status", "500"))), words: refused},
	}
	for _, code := range []string{"", "000", "099", "99", "1000", "abc", "-200", "2e2", " 200", "200 "} {
		cases = append(cases, abuseAPI{name: fmt.Sprintf(":status %q", code),
			answer: replies(list(0, fieldOf(":status", code))), says: rst(protocol), words: refused})
	}
	runAbuseAPI(t, cases)
}
