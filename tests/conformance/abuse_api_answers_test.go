// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	resource "k8s.io/api/resource/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// --- answers that HTTP/2 allows, and no API server gives ---

// with answers by a status, header fields and a body, whatever was asked.
func with(status int, body string, fields ...string) hook {
	return func(_ string, w http.ResponseWriter, _ *http.Request) bool {
		for i := 0; i+1 < len(fields); i += 2 {
			w.Header().Add(fields[i], fields[i+1])
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
		return true
	}
}

// endless answers by the same text for ever, at full speed or with pauses.
func endless(status int, kind, start, text string, pause time.Duration) hook {
	return func(_ string, w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		piece := []byte(text)
		for pause == 0 && len(piece) < 16384 {
			piece = append(piece, piece...)
		}
		_, err := w.Write([]byte(start))
		for err == nil {
			select {
			case <-r.Context().Done():
				return true
			case <-time.After(pause):
			}
			_, err = w.Write(piece)
		}
		return true
	}
}

// only lets a hook answer some kinds of requests.
func only(f hook, kinds ...string) hook {
	does := &abuseAPI{kinds: kinds}
	return func(kind string, w http.ResponseWriter, r *http.Request) bool {
		return does.affects(kind) && f(kind, w, r)
	}
}

// spied is a server that should never hear of the agent: another one, to which it is sent.
type spied struct {
	address string
	mu      sync.Mutex
	met     int
	said    []byte
}

func newSpied(t testing.TB) *spied {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	t.Cleanup(func() { listener.Close() })
	s := &spied{address: listener.Addr().String()}
	serveEach(listener, s.hear)
	return s
}

func (s *spied) hear(conn net.Conn) {
	s.mu.Lock()
	s.met++
	s.mu.Unlock()
	buffer := make([]byte, 4096)
	n, _ := conn.Read(buffer)
	s.mu.Lock()
	s.said = append(s.said, buffer[:n]...)
	s.mu.Unlock()
}

func zipped(text []byte) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(text)
	_ = w.Close()
	return b.String()
}

const kubeEnvelope = "k8s\x00"

// watchFrame is a frame of a watch whose length says more than comes.
func watchFrame(length uint32, body string) string { return string(u32(length)) + body }

func TestAbuseAPIAnswers(t *testing.T) {
	const refused, lists, watches = "event=api_request_failed", "list", "watch"
	slice := &resource.ResourceSliceList{ListMeta: meta.ListMeta{ResourceVersion: "5"}}
	whole := string(envelope("resource.k8s.io/v1", "ResourceSliceList", slice))
	bookmark := &resource.ResourceSlice{ObjectMeta: meta.ObjectMeta{ResourceVersion: "5"}}
	anEvent := string(frame("BOOKMARK", envelope("resource.k8s.io/v1", "ResourceSlice", bookmark)))
	json := `{"kind":"ResourceSliceList","apiVersion":"resource.k8s.io/v1","metadata":{"resourceVersion":"5"},"items":[]}`
	list := func(f hook) hook { return only(f, lists) }
	watch := func(f hook) hook { return only(f, watches, "node watch") }
	spy := newSpied(t)

	cases := []abuseAPI{
		{name: "list: JSON", faults: list(with(200, json, "Content-Type", "application/json")), words: refused},
		{name: "list: JSON that is called protobuf", faults: list(with(200, json, "Content-Type", protobufType)), words: refused},
		{name: "list: no content-type", faults: list(with(200, whole)), words: refused},
		{name: "list: gzip", faults: list(with(200, zipped([]byte(whole)), "Content-Type", protobufType, "Content-Encoding", "gzip")), words: refused},
		{name: "list: gzip that is none", faults: list(with(200, kubeEnvelope+"\x00", "Content-Type", protobufType, "Content-Encoding", "gzip")), words: refused},
		{name: "list: empty", faults: list(with(200, "", "Content-Type", protobufType)), words: refused},
		{name: "list: envelope alone", faults: list(with(200, kubeEnvelope, "Content-Type", protobufType)), words: "no resourceVersion"},
		{name: "list: no resourceVersion", faults: list(with(200, string(envelope("resource.k8s.io/v1", "ResourceSliceList", &resource.ResourceSliceList{})), "Content-Type", protobufType)), words: "no resourceVersion"},
		{name: "list: truncated", faults: list(with(200, whole[:len(whole)/2], "Content-Type", protobufType)), words: refused},
		{name: "list: group that never ends", faults: list(endless(200, protobufType, kubeEnvelope, "\x0b", 0)), words: refused},
		{name: "list: field of 2 GiB", faults: list(endless(200, protobufType, kubeEnvelope+"\x12\xff\xff\xff\xff\x07", "\x00", 0)), words: refused},
		{name: "list: field of 2^64", faults: list(with(200, kubeEnvelope+"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "Content-Type", protobufType)), words: refused},
		{name: "list: unknown fields for ever", faults: list(endless(200, protobufType, kubeEnvelope, "\x7a\x01x", 0)), words: refused},
		{name: "list: empty slices for ever", faults: list(endless(200, protobufType, kubeEnvelope+"\x12\xff\xff\xff\xff\x07", "\x12\x00", 0)), words: refused},
		{name: "list: text for ever", faults: list(endless(200, "text/html", "", "<p>welcome</p>\n", 0)), words: refused},
		{name: "list: a byte a second", faults: list(endless(200, protobufType, kubeEnvelope, "\x12", time.Second)), words: refused},
		{name: "error: text for ever", faults: endless(500, "text/plain", "", "no\n", 0), words: refused},
		{name: "error: Status for ever", faults: endless(500, protobufType, kubeEnvelope+"\x12\xff\xff\xff\xff\x07", "\x1a\x01x", 0), words: refused},
		{name: "error: a byte a second", faults: endless(500, "text/plain", "", "x", time.Second), words: refused},
		{name: "claim: text for ever", faults: only(endless(200, "text/plain", "", "no\n", 0), "claim"), words: "event=claim_failed"},
		{name: "claim: protobuf for ever", faults: only(endless(200, protobufType, kubeEnvelope, "\x7a\x01x", 0), "claim"), words: "event=claim_failed"},
		{name: "watch: frame of 2 GiB", faults: watch(with(200, watchFrame(1<<31, "x"), "Content-Type", protobufType+";stream=watch")), words: "watch"},
		{name: "watch: frame of 4 GiB", faults: watch(with(200, watchFrame(1<<32-1, "x"), "Content-Type", protobufType+";stream=watch")), words: "watch"},
		{name: "watch: frame of 16 MiB and more", faults: watch(endless(200, protobufType+";stream=watch", watchFrame(1<<24+1, ""), "\x00", 0)), words: "watch"},
		{name: "watch: frame of 16 MiB", faults: watch(endless(200, protobufType+";stream=watch", watchFrame(1<<24, ""), "\x00", 0)), words: "watch"},
		{name: "watch: empty frames for ever", faults: watch(endless(200, protobufType+";stream=watch", "", watchFrame(0, ""), 0)), words: "event=slice_published"},
		{name: "watch: bookmarks for ever", faults: watch(endless(200, protobufType+";stream=watch", "", anEvent, 0)), words: "event=slice_published"},
		{name: "watch: a byte a second", faults: watch(endless(200, protobufType+";stream=watch", watchFrame(1000, ""), "\x0a", time.Second)), words: "event=slice_published"},
		{name: "watch: text for ever", faults: watch(endless(200, "text/plain", "", "no\n", 0)), words: "watch"},
		{name: "watch: truncated, for ever anew", faults: watch(with(200, watchFrame(1000, "\x0a\x05"), "Content-Type", protobufType+";stream=watch")), words: "watch"},
		{name: "watch: garbage, for ever anew", faults: watch(with(200, watchFrame(6, "\xff\xff\xff\xff\xff\xff"), "Content-Type", protobufType+";stream=watch")), words: "watch"},
		{name: "watch: ends at once, for ever anew", faults: watch(with(200, "", "Content-Type", protobufType+";stream=watch")), words: "event=slice_published"},
		{name: "watch: 410 for ever", faults: watch(with(410, "gone", "Content-Type", "text/plain")), words: "event=slice_published"},
		{name: "write: answered by garbage", faults: only(with(201, kubeEnvelope+"\xff\xff", "Content-Type", protobufType), "create", "update"), words: "doing=\"write slice\""},
		{name: "list: trailers of nonsense", answer: func(e *asked) {
			e.p.raw(onStream(e.id, okHead, data(0, whole), frameOf(http2.FrameHeaders, 5, 0, []byte(fieldOf("grpc-status", "99")+fieldOf("content-length", "7")+fieldOf("x", "\x01\xff")))))
		}, kinds: []string{lists}, words: "event=slice_published"},
	}
	for _, status := range []int{400, 401, 403, 404, 405, 406, 407, 408, 409, 410, 415, 418, 421, 426, 429, 431, 451, 500, 501, 502, 503, 504, 505, 511, 599, 600, 204, 205, 206, 300, 304} {
		words := refused
		if status == 401 { // said of the connection, mostly of a request too
			words = "answered 401 Unauthorized"
		}
		cases = append(cases, abuseAPI{name: fmt.Sprintf("status %d for everything", status), faults: with(status, ""), words: words})
	}
	for _, status := range []int{301, 302, 303, 307, 308} {
		for kind, target := range map[string]string{"TLS": "https://" + spy.address, "plain text": "http://" + spy.address, "itself": ""} {
			cases = append(cases, abuseAPI{name: fmt.Sprintf("redirect %d to %s", status, kind),
				faults: with(status, "<a>moved</a>", "Location", target+"/api/v1/nodes/"+nodeName, "Content-Type", "text/html"), words: fmt.Sprintf("http=%d", status)})
		}
	}
	for i, after := range []string{"-1", "0", "1", "7", "2147483648", "4294967296", "18446744073709551616",
		strings.Repeat("9", 400), "1e9", "0x10", "Fri, 31 Dec 1999 23:59:59 GMT", "Fri, 31 Dec 9999 23:59:59 GMT", "soon", ""} {
		status := []int{429, 503}[i%2]
		cases = append(cases, abuseAPI{name: fmt.Sprintf("status %d, Retry-After %.24q", status, after),
			faults: with(status, "not now", "Retry-After", after, "Content-Type", "text/plain"), words: "event=api_request_failed"})
	}
	runAbuseAPI(t, cases)
	spy.mu.Lock()
	defer spy.mu.Unlock()
	if spy.met > 0 || len(spy.said) > 0 {
		t.Errorf("the target of redirects got %d connections and heard %q", spy.met, spy.said)
	}
}
