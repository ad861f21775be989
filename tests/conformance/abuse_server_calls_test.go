// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// One odd call costs that call; the connection goes on.

// oddCall is a call on stream 1 and the answer that it gets.
type oddCall struct {
	name, sent string
	path       string // "": that of the place; else on dra.sock alone
	send       func(p *peer)
	answer     string
}

// message is a gRPC message with its prefix.
func message(body []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body))), body...)
}

func oneMessage(body []byte) func(p *peer) {
	return func(p *peer) {
		p.headers(1, false, p.request())
		for rest := message(body); ; {
			piece := rest[:min(len(rest), 16384)]
			rest = rest[len(piece):]
			check(p.t, p.fr.WriteData(1, len(rest) == 0, piece))
			if len(rest) == 0 {
				return
			}
		}
	}
}

// pieces sends the pieces as DATA frames of their own.
func pieces(end bool, pieces ...[]byte) func(p *peer) {
	return func(p *peer) {
		p.headers(1, false, p.request())
		for i, piece := range pieces {
			check(p.t, p.fr.WriteData(1, end && i == len(pieces)-1, piece))
		}
	}
}

// compressed sends a message that is marked as compressed, by the encoding that the request names.
func compressed(encoding string) func(p *peer) {
	return func(p *peer) {
		p.headers(1, false, p.request("grpc-encoding", encoding))
		check(p.t, p.fr.WriteData(1, true, []byte{1, 0, 0, 0, 0}))
	}
}

// longestList sends a header list that is as long as the agent's SETTINGS allow, with one field as long as that leaves.
func longestList(octet string) func(p *peer) {
	return func(p *peer) {
		p.flush()
		p.until(patience, func(s *answers) bool { return s.list > 0 })
		fields := []string{":method", "POST", ":scheme", "http", ":path", p.at.path, ":authority", "localhost",
			"content-type", "application/grpc", "te", "trailers", "x-long", ""}
		p.mu.Lock()
		left := p.seen.list - 32*len(fields)/2
		p.mu.Unlock()
		for _, word := range fields {
			left -= len(word)
		}
		if left < 1000 {
			p.t.Errorf("%s leaves %d bytes for a field", p.at.name, left)
			return
		}
		fields[len(fields)-1] = strings.Repeat(octet, left)
		p.headers(1, false, p.block(fields...))
		check(p.t, p.fr.WriteData(1, true, message(nil)))
	}
}

func bytewise(all []byte) (pieces [][]byte) {
	for i := range all {
		pieces = append(pieces, all[i:i+1])
	}
	return pieces
}

// nested is a claim with as many unknown messages in each other.
func nested(depth int) []byte {
	var body []byte
	for range depth {
		body = append(binary.AppendUvarint([]byte{0x7a}, uint64(len(body))), body...)
	}
	return append(binary.AppendUvarint([]byte{0x0a}, uint64(len(body))), body...)
}

func distinctClaims(n int) (body []byte) {
	for i := range n {
		claim := append([]byte{0x12, 4}, fmt.Sprintf("u%03d", i)...)
		body = append(append(body, 0x0a, byte(len(claim))), claim...)
	}
	return body
}

const watchPath = "/grpc.health.v1.Health/Watch"

const ended, stopped = "1 × grpc-status %d", "1 × RST_STREAM NO_ERROR, 1 × grpc-status %d"

var oddCalls = []oddCall{
	{"stream window overflow", "WINDOW_UPDATE beyond 2³¹−1 on a stream", "", func(p *peer) {
		p.headers(1, false, p.request())
		p.raw(http2.FrameWindowUpdate, 0, 1, windowUpdate(1<<31-1))
	}, "1 × RST_STREAM FLOW_CONTROL_ERROR"},
	{"huge length prefix", "a prefix that announces 4 GiB", "", pieces(false, []byte{0, 255, 255, 255, 255}), fmt.Sprintf(stopped, 8)},
	{"length over the limit", "a prefix that announces 24 KiB and 1 byte", "", pieces(false, []byte{0, 0, 0, 0x60, 1}), fmt.Sprintf(stopped, 8)},
	{"split prefix", "the prefix in 5 DATA frames", "", pieces(true, bytewise(message(nil))...), "1 × 200, " + fmt.Sprintf(ended, 0)},
	{"data dribble", "a message of 200 bytes, each in a frame", "",
		pieces(true, bytewise(message(append([]byte{0x7a, 0xc5, 1}, make([]byte, 197)...)))...), "1 × 200, " + fmt.Sprintf(ended, 0)},
	{"trailing bytes", "a message and one byte more", "", pieces(true, append(message(nil), 0)), fmt.Sprintf(ended, 13)},
	{"second message", "two messages", "", pieces(true, message(nil), message(nil)), fmt.Sprintf(ended, 13)},
	{"early end", "END_STREAM inside the message", "", pieces(true, []byte{0, 0, 0, 0, 9, 1}), fmt.Sprintf(ended, 13)},
	{"early end, prefix", "END_STREAM inside the prefix", "", pieces(true, []byte{0, 0}), fmt.Sprintf(ended, 13)},
	{"early end, headers", "END_STREAM without a message", "", func(p *peer) { p.headers(1, true, p.request()) }, fmt.Sprintf(ended, 13)},
	{"compressed, no encoding", "the compressed flag without grpc-encoding", "", pieces(true, []byte{1, 0, 0, 0, 0}), fmt.Sprintf(ended, 13)},
	{"compressed, identity", "the compressed flag with grpc-encoding: identity", "", compressed("identity"), fmt.Sprintf(ended, 13)},
	{"compressed, gzip", "the compressed flag with grpc-encoding: gzip", "", compressed("gzip"), fmt.Sprintf(ended, 12)},
	{"bad flag", "a flag of 255", "", pieces(true, []byte{255, 0, 0, 0, 0}), fmt.Sprintf(ended, 13)},
	{"longest list, one field", "a header list of the announced size, most of it one field", "", longestList("&"), "1 × 200, " + fmt.Sprintf(ended, 0)},
	{"longest list, Huffman", "the same with a field that the Huffman code shortens", "", longestList("a"), "1 × 200, " + fmt.Sprintf(ended, 0)},
	// refused by their header lists, and answered at once although they go on
	{"CONNECT that stays open", "HEADERS of CONNECT", "", func(p *peer) {
		p.headers(1, false, p.block(":method", "CONNECT", ":authority", "other:443"))
	}, "1 × 405"},
	{"upload of no gRPC", "HEADERS with another content-type, 64 KiB of DATA", "", func(p *peer) {
		p.headers(1, false, p.block(":method", "POST", ":scheme", "http", ":path", p.at.path, ":authority", "localhost",
			"content-type", "text/plain"))
		for i := range 4 {
			p.flush()
			p.until(patience, func(s *answers) bool { return s.counts["WINDOW_UPDATE"] >= i })
			check(p.t, p.fr.WriteData(1, false, make([]byte, 16384)))
		}
	}, "1 × 415"},
	{"unknown stream", "HEADERS of a method that is not served, a message", "", func(p *peer) {
		p.headers(1, false, p.block(":method", "POST", ":scheme", "http", ":path", "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
			":authority", "localhost", "content-type", "application/grpc", "te", "trailers"))
		check(p.t, p.fr.WriteData(1, false, message([]byte{0x3a, 0})))
	}, fmt.Sprintf(ended, 12)},
	{"more watches than places", "6 health watches", watchPath, func(p *peer) {
		for i := range 6 {
			p.headers(stream(10+i), false, p.request())
			check(p.t, p.fr.WriteData(stream(10+i), true, make([]byte, 5)))
		}
	}, "2 × grpc-status 8, 4 × 200"},
	{"window 0 for all streams", "SETTINGS with window 0, 16 calls, then an open window", checkPath, func(p *peer) {
		check(p.t, p.fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}))
		for i := range 16 {
			p.call(stream(i))
		}
		p.flush()
		p.until(patience, hasStatus(8))
		check(p.t, p.fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 65535}))
	}, "12 × grpc-status 8, 16 × 200, 4 × grpc-status 0"},
	// CVE-2024-7254, CVE-2025-4565, CVE-2022-3171
	{"nested groups", "12,000 groups in each other", prepareV1, oneMessage(bytes.Repeat([]byte{0x7b}, 12000)), fmt.Sprintf(ended, 3)},
	{"nested messages", "unknown messages, 7,000 deep", prepareV1, oneMessage(nested(7000)), "1 × 200, " + fmt.Sprintf(ended, 0)},
	{"empty claims", "12,000 claims without a byte", prepareV1, oneMessage(bytes.Repeat([]byte{0x0a, 0}, 12000)), "1 × 200, " + fmt.Sprintf(ended, 0)},
	{"many claims", "2,000 claims", prepareV1, oneMessage(distinctClaims(2000)), fmt.Sprintf(ended, 8)},
	{"endless varint", "a varint of 20,000 bytes", prepareV1, oneMessage(bytes.Repeat([]byte{0x80}, 20000)), fmt.Sprintf(ended, 3)},
	{"length beyond the end", "a claim of 2 GiB in 6 bytes", prepareV1, oneMessage([]byte{0x0a, 0xff, 0xff, 0xff, 0xff, 0x07}), fmt.Sprintf(ended, 3)},
	{"length beyond 64 bits", "a claim of 2⁶⁴−1 bytes", prepareV1,
		oneMessage(append([]byte{0x0a}, bytes.Repeat([]byte{0xff}, 9)...)), fmt.Sprintf(ended, 3)},
}

// run makes the call and, after it, an ordinary one on the same connection.
func (c *oddCall) run(t *testing.T, at place) attackEnd {
	t.Helper()
	p := at.dial(t, true)
	defer p.conn.Close()
	begin := time.Now()
	c.send(p)
	p.flush()
	p.until(patience, func(*answers) bool { return p.answerLocked() == c.answer })
	answer, took := p.answer(), time.Since(begin)
	if answer != c.answer {
		t.Errorf("%s on %s: answer %q, want %q", c.name, at.name, answer, c.answer)
	}
	p.seen.resets, p.seen.statuses = nil, nil
	p.call(3)
	p.flush()
	if !p.until(patience, hasStatus(0)) && c.path == "" {
		t.Errorf("%s on %s: the next call of the connection: %s", c.name, at.name, p.answer())
	}
	return attackEnd{answer: answer, taken: "the call", lasted: took}
}

func TestAbuseCalls(t *testing.T) {
	t.Parallel()
	a := victim(t)
	for _, c := range oddCalls {
		for _, at := range a.places() {
			if c.path != "" {
				if at.name != "dra.sock" {
					continue
				}
				at.path = c.path
			}
			a.suffer(t, attack{c.name, at.name, c.sent, func() attackEnd { return c.run(t, at) }})
		}
	}
	for _, at := range a.places() {
		at.allPlaces(t)
	}
}
