// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"crypto/tls"
	"net"
	"net/http"
	"time"

	"e2e/proxy"

	"golang.org/x/net/http2"
)

func heal(w *world)   { w.proxy.Heal() }
func noHarm(*world)   {}
func listen(w *world) { w.listen(w.address) }

// first spoils the next request of some kinds.
func first(act func(x *proxy.Exchange), kinds ...string) func(w *world) {
	return func(w *world) { w.proxy.Add(proxy.Rule{Kinds: kinds, Times: 1, Act: act}) }
}

// every spoils all requests of some kinds, and ends the connection so that everything is asked anew.
func every(act func(x *proxy.Exchange), kinds ...string) func(w *world) {
	return func(w *world) {
		w.proxy.Add(proxy.Rule{Kinds: kinds, Act: act})
		w.proxy.ResetAll()
	}
}

func clearRules(w *world) { w.proxy.Clear() }

// spoilt is an error in the test unless every fault of a number of times happened.
func spoilt(w *world) {
	if left := w.proxy.Pending(); left != 0 {
		w.t.Errorf("%d faults did not come about", left)
	}
}

// present shows another certificate from the next connection on, and ends those that are open.
func present(cert func(w *world) tls.Certificate) func(w *world) {
	return func(w *world) {
		w.proxy.Present(cert(w))
		w.proxy.ResetAll()
	}
}

func rightCertificate(w *world) tls.Certificate { return clusterAuthority().server(w.address) }

// byName lets the agent find its API server by a name.
func byName(w *world) {
	w.hosts = w.write("hosts", w.address+" api.test.internal\n")
	w.proxy.Present(clusterAuthority().server("api.test.internal"))
	w.listen(w.address)
	w.kubeconfig("api.test.internal")
	w.makeNode(w.nodeLabels())
}

// overIPv6 serves at loopback's only IPv6 address, at a free port.
func overIPv6(w *world) {
	w.proxy.Present(clusterAuthority().server("::1"))
	address, err := w.proxy.Listen("[::1]:0")
	if err != nil {
		w.t.Fatal(err)
	}
	w.kubeconfigAt(address)
	w.makeNode(w.nodeLabels())
}

// moveAddress gives the name another address; the old one answers nothing any more, and resets nothing.
func moveAddress(w *world) {
	other := net.ParseIP(w.address).To4()
	other[1] += 50
	w.listen(other.String())
	w.proxy.Silence(false)
	overwrite(w.t, w.hosts, other.String()+" api.test.internal\n")
}

// rotateAuthority moves the server to another authority; the agent's file follows later.
func rotateAuthority(w *world) {
	authority := newAuthority("the next test CA")
	w.proxy.Present(authority.server(w.address))
	w.proxy.ResetAll()
	time.AfterFunc(3*time.Second, func() { w.write("ca.crt", string(clusterAuthority().pem)+string(authority.pem)) })
}

// rotateToken lets the server refuse the token that the agent has; the file follows later.
func rotateToken(w *world) {
	fresh := mintToken(w.t, agentNamespace, agentAccount)
	w.proxy.Add(proxy.Rule{Act: func(x *proxy.Exchange) {
		if x.Header.Get("Authorization") == "Bearer "+fresh {
			x.Pass()
			return
		}
		x.GoAwayAfter()
		x.Fail(http.StatusUnauthorized, "Unauthorized", "Unauthorized")
	}})
	w.proxy.ResetAll()
	time.AfterFunc(3*time.Second, func() { w.write("token", fresh) })
}

// pathFaults are those of the way to the API server, of the server's end of it, and of who the two say they are.
var pathFaults = []fault{
	{item: 5, name: "refused", says: disconnected, what: "nobody listens for 8 s",
		on: func(w *world) { w.proxy.Refuse() }, hold: 8 * time.Second, off: listen},
	{item: 5, name: "reset at connect", says: disconnected, what: "each new connection is reset for 8 s",
		on: func(w *world) { w.proxy.ResetNew(); w.proxy.ResetAll() }, hold: 8 * time.Second, off: heal},
	{item: 5, name: "blackhole", what: "the open connection falls silent without RST; new ones work",
		on: func(w *world) { w.proxy.Silence(false) }},
	{item: 5, name: "blackhole of all", what: "old and new connections are silent for 30 s",
		on: func(w *world) { w.proxy.Silence(true) }, hold: 30 * time.Second, off: heal},
	{item: 5, name: "latency", what: "400 ms before each piece for 10 s", hold: 10 * time.Second, off: heal,
		on: func(w *world) { w.proxy.Slow(400*time.Millisecond, 0) }},
	{item: 5, name: "one byte a second", what: "old and new connections, for 15 s",
		on: func(w *world) { w.proxy.Slow(time.Second, 1) }, hold: 15 * time.Second, off: heal},
	{item: 5, name: "GOAWAY during the watch", what: "GOAWAY that counts the watch among the streams still served",
		on: func(w *world) { w.proxy.GoAwayAll() }},
	{item: 5, name: "GOAWAY before POST", what: "GOAWAY that leaves the POST out; the server never saw it",
		on: first((*proxy.Exchange).GoAway, "create"), after: spoilt},
	{item: 5, name: "GOAWAY after POST", what: "the slice is stored, GOAWAY, the answer is lost", after: spoilt,
		on: first(func(x *proxy.Exchange) { x.Forward(); x.GoAwayAfter(); x.Wait(time.Second); x.Cut() }, "create")},
	{item: 5, name: "reset after POST", what: "the slice is stored, the connection is reset instead of an answer",
		on: first(func(x *proxy.Exchange) { x.Forward(); x.Cut() }, "create"), after: spoilt},
	{item: 5, name: "POST without answer", what: "the slice is stored, the answer never comes", after: spoilt,
		on: first(func(x *proxy.Exchange) { x.Forward(); x.Hang() }, "create")},
	{item: 5, name: "REFUSED_STREAM", what: "RST_STREAM REFUSED_STREAM for the POST",
		on: first(func(x *proxy.Exchange) { x.Reset(http2.ErrCodeRefusedStream) }, "create"), after: spoilt},
	{item: 5, name: "watch aborted", what: "RST_STREAM INTERNAL_ERROR for list and watch, three times",
		on: func(w *world) {
			w.proxy.Add(proxy.Rule{Kinds: []string{"list", "watch"}, Times: 3,
				Act: func(x *proxy.Exchange) { x.Reset(http2.ErrCodeInternal) }})
			w.proxy.ResetAll()
		}, after: spoilt},
	{item: 5, name: "address moved", what: "the server's name resolves elsewhere, the old address is silent",
		before: byName, on: moveAddress},
	{item: 5, name: "IPv6", what: "server at [::1]; its connection is reset",
		before: overIPv6, on: func(w *world) { w.proxy.ResetAll() }},
	{item: 5, name: "CA rotated", what: "certificate of a new authority; ca.crt follows after 3 s", on: rotateAuthority},
	{item: 5, name: "wrong name", says: disconnected, what: "certificate of the right authority for another address, for 8 s",
		on:   present(func(*world) tls.Certificate { return clusterAuthority().server("127.9.9.9", "elsewhere.internal") }),
		hold: 8 * time.Second, off: present(rightCertificate)},
	{item: 5, name: "token rotated", what: "401 for the old token; the file follows after 3 s", on: rotateToken},
}
