// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// --- name servers that tell nothing of use ---

const (
	nameServer     = "127.53.53.53" // of these tests alone; the agent asks at port 53
	queriesAtMost  = 120            // datagrams while it is hostile: some attempts of twelve
	floodDatagrams = 2000
)

// nameServers answers for all cases: a name says which.
type nameServers struct {
	conn  *net.UDPConn
	mu    sync.Mutex
	cases map[string]*hostile
}

var names = nameServers{cases: map[string]*hostile{}}

// serveNames is the only name server that agents know of until the test ends.
func serveNames(t *testing.T) {
	t.Helper()
	needMounts(t)
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.ParseIP(nameServer), Port: 53})
	check(t, err)
	path, err := filepath.EvalSymlinks("/etc/resolv.conf")
	check(t, err)
	file := writeFile(t, filepath.Join(scratch, "resolv.conf"), "nameserver "+nameServer+"\n")
	check(t, os.Chmod(file, 0o644))
	check(t, syscall.Mount(file, path, "", syscall.MS_BIND, ""))
	t.Cleanup(func() {
		_ = syscall.Unmount(path, syscall.MNT_DETACH)
		conn.Close()
	})
	names.conn = conn
	go names.serve()
}

// add gives a case a name of its own, below localhost as the server wants it.
func (n *nameServers) add(h *hostile) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	name := fmt.Sprintf("localhost.case-%d.example.", len(n.cases))
	n.cases[name] = h
	return strings.TrimSuffix(name, ".")
}

func (n *nameServers) serve() {
	buffer := make([]byte, 512)
	for {
		length, from, err := n.conn.ReadFromUDP(buffer)
		if err != nil {
			return
		}
		var query dnsmessage.Message
		if query.Unpack(buffer[:length]) != nil || len(query.Questions) != 1 {
			continue
		}
		n.mu.Lock()
		h := n.cases[query.Questions[0].Name.String()]
		n.mu.Unlock()
		if h == nil {
			continue
		}
		does := h.does.names
		if h.good.Load() {
			does = addressed(127, 0, 0, 1)
		} else {
			h.mu.Lock()
			h.queries++
			h.mu.Unlock()
		}
		for _, answer := range does(query) {
			_, _ = n.conn.WriteToUDP(answer, from)
		}
	}
}

// nameAnswer makes the datagrams that answer a query.
type nameAnswer func(query dnsmessage.Message) [][]byte

// answering changes a well-formed empty answer.
func answering(change func(m *dnsmessage.Message)) nameAnswer {
	return func(query dnsmessage.Message) [][]byte {
		m := query
		m.Response, m.RecursionAvailable = true, true
		change(&m)
		return [][]byte{must(m.Pack())}
	}
}

// verbatim sends octets behind the identifier of the query.
func verbatim(times int, octets string) nameAnswer {
	return func(query dnsmessage.Message) [][]byte {
		var all [][]byte
		for range times {
			all = append(all, append([]byte{byte(query.ID >> 8), byte(query.ID)}, octets...))
		}
		return all
	}
}

func addressed(a ...byte) nameAnswer {
	return answering(func(m *dnsmessage.Message) {
		if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
			m.Answers = append(m.Answers, record(q.Name.String(), &dnsmessage.AResource{A: [4]byte(a)}))
		}
	})
}

func record(name string, body dnsmessage.ResourceBody) dnsmessage.Resource {
	return dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: dnsmessage.MustNewName(name),
		Class: dnsmessage.ClassINET, TTL: 1}, Body: body}
}

// alias is a chain of names: each is another name of the one before.
func alias(chain ...string) nameAnswer {
	return answering(func(m *dnsmessage.Message) {
		from := m.Questions[0].Name.String()
		for _, to := range chain {
			if to == "" {
				to = m.Questions[0].Name.String()
			}
			m.Answers = append(m.Answers, record(from, &dnsmessage.CNAMEResource{CNAME: dnsmessage.MustNewName(to)}))
			from = to
		}
	})
}

func TestAbuseAPINames(t *testing.T) {
	t.Parallel()
	serveNames(t)
	code := func(code dnsmessage.RCode) nameAnswer {
		return answering(func(m *dnsmessage.Message) { m.RCode = code })
	}
	other := answering(func(m *dnsmessage.Message) {
		m.Questions[0].Name = dnsmessage.MustNewName("elsewhere.example.")
		m.Answers = append(m.Answers, record("elsewhere.example.", &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}}))
	})
	foreign := answering(func(m *dnsmessage.Message) {
		m.Answers = append(m.Answers, record("elsewhere.example.", &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}}))
	})
	const flags = "\x81\x80"
	const failed = "event=api_connect_failed"
	cases := []abuseAPI{
		{name: "names: unknown", names: code(dnsmessage.RCodeNameError)},
		{name: "names: server failure", names: code(dnsmessage.RCodeServerFailure)},
		{name: "names: refused", names: code(dnsmessage.RCodeRefused)},
		{name: "names: code 15", names: code(15)},
		{name: "names: no address", names: code(dnsmessage.RCodeSuccess)},
		{name: "names: silence", names: func(dnsmessage.Message) [][]byte { return nil }},
		{name: "names: truncated", names: answering(func(m *dnsmessage.Message) { m.Truncated = true })},
		{name: "names: no response but a query", names: func(q dnsmessage.Message) [][]byte { return [][]byte{must(q.Pack())} }},
		{name: "names: another identifier", names: answering(func(m *dnsmessage.Message) { m.ID += 7 })},
		{name: "names: another question", names: other},
		{name: "names: another name's address", names: foreign, words: failed},
		{name: "names: alias of itself", names: alias("")},
		{name: "names: aliases in a ring", names: alias("a.example.", "b.example.", "")},
		{name: "names: forty aliases", names: alias(strings.Split(strings.Repeat("a.example. b.example. ", 20)+"c.example.", " ")...)},
		{name: "names: pointer to itself", names: verbatim(1, flags+"\x00\x01\x00\x01\x00\x00\x00\x00\xc0\x0c\x00\x01\x00\x01\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x01\x00\x04\x7f\x00\x00\x01")},
		{name: "names: pointers in a ring", names: verbatim(1, flags+"\x00\x01\x00\x01\x00\x00\x00\x00\xc0\x0e\xc0\x0c\x00\x01\x00\x01")},
		{name: "names: counts of 65535", names: verbatim(1, flags+"\xff\xff\xff\xff\xff\xff\xff\xff")},
		{name: "names: header cut", names: verbatim(1, "\x81")},
		{name: "names: empty datagrams", names: func(dnsmessage.Message) [][]byte { return [][]byte{{}, {}} }},
		{name: "names: 60 KB of zeros", names: verbatim(1, strings.Repeat("\x00", 60000))},
		{name: "names: flood", names: verbatim(floodDatagrams, strings.Repeat("\xff", 500))},
		{name: "names: address 0.0.0.0 of nobody", names: addressed(0, 0, 0, 0), words: failed},
		{name: "names: broadcast", names: addressed(255, 255, 255, 255), words: failed},
		{name: "names: multicast", names: addressed(224, 0, 0, 1), words: failed},
	}
	for i := range cases {
		if cases[i].words == "" {
			cases[i].words = "resolve localhost"
		}
		cases[i].conn = func(_ *hostile, conn *countedConn, _ int) {} // whoever comes all the same
	}
	playAllAbuseAPI(t, cases)
}
