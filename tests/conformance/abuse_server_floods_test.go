// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"encoding/binary"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// raw writes a frame as it is.
func (p *peer) raw(kind http2.FrameType, flags http2.Flags, stream uint32, payload []byte) {
	check(p.t, p.fr.WriteRawFrame(kind, flags, stream, payload))
}

// stream is the number of the i-th stream of a client.
func stream(i int) uint32 { return uint32(2*i + 1) }

// literal is a header field that is not indexed, by RFC 7541 §6.2.2, for names and values under 127 bytes.
func literal(name, value string) []byte {
	b := append([]byte{0, byte(len(name))}, name...)
	return append(append(b, byte(len(value))), value...)
}

// longLiteral is a field with a value of n bytes; indexed: it enters the dynamic table.
func longLiteral(indexed bool, name string, n int) []byte {
	b := append([]byte{0, byte(len(name))}, name...)
	if indexed {
		b[0] = 0x40
	}
	b = append(b, 0x7f)
	for rest := n - 127; ; rest >>= 7 {
		if rest < 128 {
			b = append(b, byte(rest))
			break
		}
		b = append(b, byte(rest)|0x80)
	}
	return append(b, bytes.Repeat([]byte("v"), n)...)
}

// opened begins a call without its message.
func opened(p *peer) { p.headers(1, false, p.request()) }

// hasBlock begins a header block that goes on.
func hasBlock(p *peer) {
	check(p.t, p.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: p.request()}))
}

func windowUpdate(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }

// Frames that are cheap for the peer cost it credit; without any left the connection ends and says why.
var floods = []flood{
	// CVE-2019-9512
	{name: "PING flood", sent: "PING for ever, answers read",
		frame: func(p *peer, i int) { check(p.t, p.fr.WritePing(false, [8]byte{byte(i)})) }},
	{name: "PING flood, answers", sent: "PING ACK that nobody asked for",
		frame: func(p *peer, i int) { check(p.t, p.fr.WritePing(true, [8]byte{byte(i)})) }},
	// CVE-2019-9515
	{name: "SETTINGS flood", sent: "empty SETTINGS for ever",
		frame: func(p *peer, i int) { check(p.t, p.fr.WriteSettings()) }},
	{name: "SETTINGS flood, full", sent: "SETTINGS of 32 entries, window 0 and back",
		begin: opened,
		frame: func(p *peer, i int) {
			all := make([]http2.Setting, 32)
			for n := range all {
				all[n] = http2.Setting{ID: http2.SettingInitialWindowSize, Val: uint32(n % 2 * 65535)}
			}
			check(p.t, p.fr.WriteSettings(all...))
		}},
	{name: "SETTINGS flood, answers", sent: "SETTINGS ACK for ever",
		frame: func(p *peer, i int) { check(p.t, p.fr.WriteSettingsAck()) }},
	// CVE-2020-11080
	{name: "huge SETTINGS", sent: "one SETTINGS of 2,730 entries", most: 8,
		frame: func(p *peer, i int) { p.raw(http2.FrameSettings, 0, 0, make([]byte, 2730*6)) }},
	// CVE-2023-44487, CVE-2023-39325
	{name: "Rapid Reset", sent: "HEADERS and RST_STREAM, for ever",
		frame: func(p *peer, i int) {
			p.headers(stream(i), false, p.request())
			check(p.t, p.fr.WriteRSTStream(stream(i), http2.ErrCodeCancel))
		}},
	{name: "watch and cancel", sent: "a health watch and RST_STREAM, for ever",
		frame: func(p *peer, i int) {
			at := p.at.path
			if at == checkPath {
				p.at.path = watchPath
			}
			p.headers(stream(i), false, p.request()) // not whole where nothing is watched: a call would have an answer
			check(p.t, p.fr.WriteData(stream(i), p.at.path == watchPath, make([]byte, 5)))
			check(p.t, p.fr.WriteRSTStream(stream(i), http2.ErrCodeCancel))
			p.at.path = at
		}},
	{name: "streams over the limit", sent: "HEADERS for ever, no message", most: limitOf("H2_CREDIT_MAX") + h2Ahead + limitOf("H2_SERVER_STREAMS"),
		frame: func(p *peer, i int) { p.headers(stream(i), false, p.request()) }},
	// CVE-2025-8671: what makes us send RST_STREAM costs as much as what the peer resets
	{name: "MadeYouReset, increment 0", sent: "HEADERS, WINDOW_UPDATE of 0",
		frame: func(p *peer, i int) {
			p.headers(stream(i), false, p.request())
			p.raw(http2.FrameWindowUpdate, 0, stream(i), windowUpdate(0))
		}},
	{name: "MadeYouReset, window", sent: "HEADERS, WINDOW_UPDATE beyond 2³¹−1",
		frame: func(p *peer, i int) {
			p.headers(stream(i), false, p.request())
			p.raw(http2.FrameWindowUpdate, 0, stream(i), windowUpdate(1<<31-1))
		}},
	{name: "MadeYouReset, PRIORITY length", sent: "HEADERS, PRIORITY of 4 bytes",
		frame: func(p *peer, i int) {
			p.headers(stream(i), false, p.request())
			p.raw(http2.FramePriority, 0, stream(i), make([]byte, 4))
		}},
	{name: "MadeYouReset, own dependency", sent: "HEADERS, PRIORITY on itself",
		frame: func(p *peer, i int) {
			p.headers(stream(i), false, p.request())
			p.raw(http2.FramePriority, 0, stream(i), append(windowUpdate(stream(i)), 0))
		}},
	{name: "MadeYouReset, content-length", sent: "HEADERS, DATA of another length than content-length",
		frame: func(p *peer, i int) {
			p.headers(stream(i), false, p.request("content-length", "4"))
			check(p.t, p.fr.WriteData(stream(i), true, make([]byte, 5)))
		}},
	{name: "MadeYouReset, second HEADERS", sent: "HEADERS twice without END_STREAM",
		frame: func(p *peer, i int) {
			p.headers(stream(i), false, p.request())
			p.headers(stream(i), false, p.block("x", "y"))
		}},
	{name: "MadeYouReset, malformed list", sent: "HEADERS with an upper-case name",
		frame: func(p *peer, i int) { p.headers(stream(i), true, append(p.request(), literal("Name", "x")...)) }},
	// CVE-2019-9514
	{name: "reset flood", sent: "RST_STREAM of a stream that is gone", begin: func(p *peer) { p.call(1) },
		frame: func(p *peer, i int) { check(p.t, p.fr.WriteRSTStream(1, http2.ErrCodeCancel)) }},
	{name: "reset flood, no lists", sent: "HEADERS without pseudo-header fields",
		frame: func(p *peer, i int) { p.headers(stream(i), true, nil) }},
	{name: "late HEADERS", sent: "HEADERS on a stream that was reset",
		begin: func(p *peer) { opened(p); check(p.t, p.fr.WriteRSTStream(1, http2.ErrCodeCancel)) },
		frame: func(p *peer, i int) { p.headers(1, true, p.request()) }},
	{name: "late DATA", sent: "DATA of 1 byte after a message that was refused for its size",
		begin: func(p *peer) { opened(p); check(p.t, p.fr.WriteData(1, false, []byte{0, 255, 255, 255, 255})) },
		frame: func(p *peer, i int) { check(p.t, p.fr.WriteData(1, false, []byte{0})) }},
	// CVE-2019-9518
	{name: "empty DATA", sent: "DATA of 0 bytes without END_STREAM", begin: opened,
		frame: func(p *peer, i int) { check(p.t, p.fr.WriteData(1, false, nil)) }},
	{name: "DATA of padding", sent: "DATA of 255 bytes of padding", begin: opened,
		frame: func(p *peer, i int) {
			p.raw(http2.FrameData, http2.FlagDataPadded, 1, append([]byte{255}, make([]byte, 255)...))
		}},
	{name: "empty CONTINUATION", sent: "CONTINUATION of 0 bytes without END_HEADERS", begin: hasBlock, most: 24,
		frame: func(p *peer, i int) { check(p.t, p.fr.WriteContinuation(1, false, nil)) }},
	// CVE-2023-45288 and its family
	{name: "CONTINUATION flood", sent: "CONTINUATION of one small field", begin: hasBlock, most: 24,
		frame: func(p *peer, i int) { check(p.t, p.fr.WriteContinuation(1, false, literal("name", "value"))) }},
	{name: "CONTINUATION flood, long", sent: "CONTINUATION of 16 KiB of fields", begin: hasBlock, most: 16,
		frame: func(p *peer, i int) {
			check(p.t, p.fr.WriteContinuation(1, false, bytes.Repeat(longLiteral(false, "name", 4000), 4)))
		}},
	{name: "CONTINUATION flood, Huffman", sent: "CONTINUATION of 16 KiB of Huffman-coded fields", begin: hasBlock, most: 16,
		frame: func(p *peer, i int) {
			coded := hpack.AppendHuffmanString(nil, string(bytes.Repeat([]byte("0"), 150)))
			field := append([]byte{0, 1, 'n', 0x80 | byte(len(coded))}, coded...)
			check(p.t, p.fr.WriteContinuation(1, false, bytes.Repeat(field, 16000/len(field))))
		}},
	{name: "endless field", sent: "one header field over many CONTINUATIONs", begin: hasBlock, most: 16,
		frame: func(p *peer, i int) {
			fragment := bytes.Repeat([]byte("v"), 1000)
			if i == 0 {
				fragment = append([]byte{0, 1, 'n', 0x7f, 0x80, 0x80, 0x20}, fragment...)
			}
			check(p.t, p.fr.WriteContinuation(1, false, fragment))
		}},
	// CVE-2019-9516
	{name: "0-length names", sent: "HEADERS with fields without name and value",
		frame: func(p *peer, i int) { p.headers(stream(i), true, append(p.request(), make([]byte, 3*100)...)) }},
	{name: "0-length names, many", sent: "HEADERS with 5,000 of them", most: 8,
		frame: func(p *peer, i int) { p.headers(stream(i), true, append(p.request(), make([]byte, 3*5000)...)) }},
	// CVE-2016-6581
	{name: "HPACK bomb", sent: "a field of 3.9 KiB, then 16,000 references to it", most: 8,
		begin: func(p *peer) { p.headers(1, true, append(p.request(), longLiteral(true, "name", 3900)...)) },
		frame: func(p *peer, i int) { p.headers(stream(i+1), true, bytes.Repeat([]byte{0xbe}, 16000)) }},
	{name: "HPACK bomb, in pieces", sent: "requests with 15 references to a field of 3.9 KiB",
		frame: func(p *peer, i int) {
			block := append(p.request(), longLiteral(true, "name", 3900)...)
			p.headers(stream(i), true, append(block, bytes.Repeat([]byte{0xbe}, 15)...))
		}},
	// CVE-2022-41723, CVE-2023-33953
	{name: "HPACK, huge integers", sent: "an index of 2⁶³", most: 8, answer: "GOAWAY COMPRESSION_ERROR, end",
		frame: func(p *peer, i int) { p.headers(1, true, append(bytes.Repeat([]byte{0xff}, 10), 0)) }},
	{name: "HPACK, endless integer", sent: "an index of 16,000 bytes", most: 8, answer: "GOAWAY COMPRESSION_ERROR, end",
		frame: func(p *peer, i int) { p.headers(1, true, append([]byte{0xff}, bytes.Repeat([]byte{0x80}, 16000)...)) }},
	{name: "HPACK, sizes", sent: "a block of table size updates", most: 8, answer: "GOAWAY COMPRESSION_ERROR, end",
		frame: func(p *peer, i int) { p.headers(1, true, bytes.Repeat([]byte{0x20, 0x3f, 0xe1, 0x1f}, 4000)) }},
	{name: "HPACK, table thrash", sent: "requests that evict the table with each field, malformed at the end",
		frame: func(p *peer, i int) {
			block := append(p.request(), bytes.Repeat(longLiteral(true, "name", 1300), 12)...)
			p.headers(stream(i), true, append(block, literal("Name", "x")...))
		}},
	{name: "HPACK, small entries", sent: "requests with 450 fields that enter the table, malformed at the end",
		frame: func(p *peer, i int) {
			block := append(p.request(), bytes.Repeat([]byte{0x40, 1, 'n', 1, 'v'}, 450)...)
			p.headers(stream(i), true, append(block, literal("Name", "x")...))
		}},
	// CVE-2019-9513
	{name: "priority shuffle", sent: "PRIORITY of idle streams, for ever",
		frame: func(p *peer, i int) {
			check(p.t, p.fr.WritePriority(stream(i%1000), http2.PriorityParam{StreamDep: uint32(i%7 + 2000), Weight: uint8(i)}))
		}},
	// CVE-2019-9511
	{name: "window dribble", sent: "WINDOW_UPDATE of 1, for ever",
		frame: func(p *peer, i int) { p.raw(http2.FrameWindowUpdate, 0, 0, windowUpdate(1)) }},
	{name: "window dribble, closed stream", sent: "WINDOW_UPDATE of a stream that is gone", begin: func(p *peer) { p.call(1) },
		frame: func(p *peer, i int) { p.raw(http2.FrameWindowUpdate, 0, 1, windowUpdate(1)) }},
	{name: "unknown frames", sent: "frames of a type that does not exist",
		frame: func(p *peer, i int) { p.raw(99, 0xff, uint32(i), make([]byte, i%32)) }},
	{name: "GOAWAY flood", sent: "GOAWAY with 16 KiB of debug data",
		frame: func(p *peer, i int) { p.raw(http2.FrameGoAway, 0, 0, make([]byte, 16384)) }},
	// RFC 9113 §6.9.1
	{name: "connection window overflow", sent: "WINDOW_UPDATE beyond 2³¹−1", most: 8, answer: "GOAWAY FLOW_CONTROL_ERROR, end",
		frame: func(p *peer, i int) { p.raw(http2.FrameWindowUpdate, 0, 0, windowUpdate(1<<31-1)) }},
	{name: "window overflow by SETTINGS", sent: "WINDOW_UPDATE to 2³¹−1, then a larger initial window", most: 8,
		answer: "GOAWAY FLOW_CONTROL_ERROR, end",
		begin:  func(p *peer) { opened(p); p.raw(http2.FrameWindowUpdate, 0, 1, windowUpdate(1<<31-1-65535)) },
		frame: func(p *peer, i int) {
			check(p.t, p.fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 65536}))
		}},
	{name: "oversized frame", sent: "DATA of 16,385 bytes", most: 8, begin: opened, answer: "GOAWAY FRAME_SIZE_ERROR, end",
		frame: func(p *peer, i int) { p.raw(http2.FrameData, 0, 1, make([]byte, 16385)) }},
	{name: "pushed streams", sent: "PUSH_PROMISE", most: 8, begin: opened, answer: "GOAWAY PROTOCOL_ERROR, end",
		frame: func(p *peer, i int) { p.raw(http2.FramePushPromise, 4, 1, append(windowUpdate(2), p.request()...)) }},
}

func TestAbuseFloods(t *testing.T) {
	// Several agents, each attacked by one flood after the other.
	const agents = 4
	for n := range agents {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			a := victim(t)
			for i := n; i < len(floods); i += agents {
				t.Run(floods[i].name, func(t *testing.T) { floods[i].overAll(t, a) })
			}
		})
	}
}
