// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/http2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

const (
	Protobuf = "application/vnd.kubernetes.protobuf"
	prefix   = "k8s\x00"
)

// Request is what the agent sent, and the status that it got; 0: none.
type Request struct {
	At           time.Time
	Kind         string
	Method, Path string
	Query        url.Values
	Header       http.Header
	Body         []byte
	Status       int
	Over         time.Time // zero: still under way
}

func newRequest(s *stream) Request {
	target, err := url.Parse(s.path)
	if err != nil {
		target = &url.URL{Path: s.path}
	}
	r := Request{At: time.Now(), Method: s.method, Path: target.Path, Query: target.Query(), Header: s.header, Body: s.body}
	r.Kind = KindOf(r.Method, r.Path, r.Query.Get("watch") == "true")
	return r
}

// Version of resource.k8s.io in the path, empty elsewhere.
func (r *Request) Version() string {
	rest, ok := strings.CutPrefix(r.Path, "/apis/resource.k8s.io/")
	if !ok {
		return ""
	}
	version, _, _ := strings.Cut(rest, "/")
	return version
}

// KindOf names a request by what it is for; what no agent asks is "other".
func KindOf(method, path string, watch bool) string {
	has := func(part string) bool { return strings.Contains(path, part) }
	switch {
	case has("/nodes") && watch:
		return "node watch"
	case has("/nodes"):
		return "node"
	case path == "/apis/resource.k8s.io":
		return "group"
	case has("/resourceslices") && watch:
		return "watch"
	case has("/resourceslices"):
		kinds := map[string]string{"GET": "list", "POST": "create", "PUT": "update", "DELETE": "delete"}
		return kinds[method]
	case has("/resourceclaims/") && strings.HasSuffix(path, "/status"):
		return "claim status"
	case has("/resourceclaims/"):
		return "claim"
	case strings.HasSuffix(path, "/resourceclaims") && method == "GET":
		return "claims"
	case has("/events"):
		return "event"
	}
	return "other"
}

// Exchange is one request under way. A rule answers it, or does something to it and passes it on.
type Exchange struct {
	Request
	c      *conn
	s      *stream
	number int

	forwarding context.Context // of the request to the API server, if it is not the stream's
}

// send asks the real API server.
func (x *Exchange) send() (*http.Response, error) {
	ctx := x.s.ctx
	if x.forwarding != nil {
		ctx = x.forwarding
	}
	request, err := http.NewRequestWithContext(ctx, x.Method, x.c.p.target+x.Path, bytes.NewReader(x.Body))
	if err != nil {
		return nil, err
	}
	request.URL.RawQuery = x.Query.Encode()
	request.Header = x.Header.Clone()
	x.c.p.mu.Lock()
	if token := x.c.p.token; token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	x.c.p.mu.Unlock()
	return x.c.p.transport.RoundTrip(request)
}

// Forward lets the real API server do the request; the answer is not sent on.
func (x *Exchange) Forward() (status int, header http.Header, body []byte) {
	reply, err := x.send()
	if err != nil {
		return http.StatusBadGateway, http.Header{}, []byte(err.Error())
	}
	defer reply.Body.Close()
	body, err = io.ReadAll(reply.Body)
	if err != nil {
		return http.StatusBadGateway, http.Header{}, []byte(err.Error())
	}
	return reply.StatusCode, reply.Header, body
}

// Pass forwards the request and sends the answer on as it comes.
func (x *Exchange) Pass() { x.stream(nil) }

// PassFor passes a watch on and ends it in good order after a while.
func (x *Exchange) PassFor(d time.Duration) {
	ctx, cancel := context.WithTimeout(x.s.ctx, d)
	defer cancel()
	x.forwarding = ctx
	x.stream(nil)
}

// EditEvents passes a watch on with changed objects; of nil the event is swallowed.
func (x *Exchange) EditEvents(change Change) { x.stream(change) }

// Change makes another object of an event's, in its envelope.
type Change func(kind string, object []byte) []byte

func (x *Exchange) stream(change Change) {
	reply, err := x.send()
	if err != nil {
		x.Answer(http.StatusBadGateway, nil, []byte(err.Error()))
		return
	}
	defer reply.Body.Close()
	reply.Header.Del("Content-Length")
	x.c.p.answered(x.number, reply.StatusCode)
	if x.c.sendHeaders(x.s, reply.StatusCode, reply.Header, false) != nil {
		return
	}
	next := func() ([]byte, error) { return piece(reply.Body) }
	if change != nil {
		next = func() ([]byte, error) { return event(reply.Body, change) }
	}
	for {
		data, err := next()
		if x.c.sendData(x.s, data, err != nil) != nil || err != nil {
			return
		}
	}
}

func piece(r io.Reader) ([]byte, error) {
	buffer := make([]byte, dataMax)
	n, err := r.Read(buffer)
	return buffer[:n], err
}

// event is the next frame of a watch, length included; nothing if it is swallowed.
func event(r io.Reader, change Change) ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, err
	}
	body := make([]byte, binary.BigEndian.Uint32(length[:]))
	if _, err := io.ReadFull(r, body); err != nil {
		return nil, err
	}
	var e metav1.WatchEvent
	if err := e.Unmarshal(body); err != nil {
		return nil, err
	}
	if e.Object.Raw = change(e.Type, e.Object.Raw); e.Object.Raw == nil {
		return nil, nil
	}
	return frame(&e), nil
}

// frame is an event as it stands in a watch.
func frame(e *metav1.WatchEvent) []byte {
	body, err := e.Marshal()
	if err != nil {
		panic(err)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

// Answer replies instead of the API server.
func (x *Exchange) Answer(status int, header http.Header, body []byte) {
	x.c.p.answered(x.number, status)
	header = header.Clone()
	header.Del("Content-Length")
	if x.c.sendHeaders(x.s, status, header, len(body) == 0) == nil && len(body) > 0 {
		_ = x.c.sendData(x.s, body, true)
	}
}

// Text replies with a line of text.
func (x *Exchange) Text(status int, text string, header http.Header) {
	header = header.Clone()
	if header == nil {
		header = http.Header{}
	}
	header.Set("Content-Type", "text/plain; charset=utf-8")
	x.Answer(status, header, []byte(text))
}

// Fail replies with a Status.
func (x *Exchange) Fail(code int, reason metav1.StatusReason, message string) {
	x.Answer(code, http.Header{"Content-Type": {Protobuf}}, Failure(code, reason, message))
}

// Failure is a Status of failure in its envelope.
func Failure(code int, reason metav1.StatusReason, message string) []byte {
	return Seal("v1", "Status", &metav1.Status{Status: "Failure", Message: message, Reason: reason, Code: int32(code)})
}

// ErrorEvent begins a watch that says just this, and ends it.
func (x *Exchange) ErrorEvent(code int, reason metav1.StatusReason, message string) {
	e := metav1.WatchEvent{Type: "ERROR", Object: runtime.RawExtension{Raw: Failure(code, reason, message)}}
	x.Answer(200, http.Header{"Content-Type": {Protobuf + ";stream=watch"}}, frame(&e))
}

// Reset ends the stream with a code of HTTP/2.
func (x *Exchange) Reset(code http2.ErrCode) { x.c.resetStream(x.s, code) }

// GoAway refuses this stream and all later ones, as a server does that shuts down: the request was not looked at.
func (x *Exchange) GoAway() {
	x.c.goAway(x.s.id - 1)
	x.c.drop(x.s.id)
	time.Sleep(time.Second)
	x.c.close()
}

// GoAwayAfter asks for a new connection, but counts this stream among those that are still served.
func (x *Exchange) GoAwayAfter() { x.c.goAway(x.s.id) }

// Cut resets the connection.
func (x *Exchange) Cut() { x.c.reset() }

// Hang leaves the request unanswered until the agent gives it up.
func (x *Exchange) Hang() { <-x.s.ctx.Done() }

// Wait pauses before what comes next.
func (x *Exchange) Wait(d time.Duration) { x.s.after(d) }

type message interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

// Seal puts an object into the envelope of Kubernetes' protobuf form.
func Seal(apiVersion, kind string, object message) []byte {
	raw, err := object.Marshal()
	if err != nil {
		panic(err)
	}
	u := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: apiVersion, Kind: kind}, Raw: raw}
	body, err := u.Marshal()
	if err != nil {
		panic(err)
	}
	return append([]byte(prefix), body...)
}

// Edit takes an object out of its envelope, changes it and puts it back. Another body stays as it is.
func Edit[T any, P interface {
	*T
	message
}](body []byte, change func(P)) []byte {
	var u runtime.Unknown
	object := P(new(T))
	rest, ok := bytes.CutPrefix(body, []byte(prefix))
	if !ok || u.Unmarshal(rest) != nil || object.Unmarshal(u.Raw) != nil {
		return body
	}
	change(object)
	return Seal(u.APIVersion, u.Kind, object)
}
