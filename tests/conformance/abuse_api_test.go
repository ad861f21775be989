// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	dra "k8s.io/kubelet/pkg/apis/dra/v1"
)

// What a hostile API server may reach.
const (
	abuseAPIHold     = 21 * time.Second // how long it is hostile: longer than the window below
	connectWindow    = 20 * time.Second
	connectsInWindow = 20 // one a second
	recoverWithin    = 60 * time.Second
	growsAtMost      = 1024 // KiB
	linesAtMost      = 60   // of the log meanwhile
	abuseAPIStarts   = 6    // agents that start at a time: that takes a processor
)

// How many cases are played side by side: they wait much more than they compute. Those whose latencies were too
// high are played again, fewer at a time, because the machine may have been busy.
var abuseAPIAtOnce = []int{100, 12, 3}

var abuseAPITable = newTable("abuse of the API client", "case", "answer", "connections/20 s", "requests", "bytes taken",
	"growth KiB", "CPU %", "GetInfo p50/max", "recovered after")

// abuseAPI is one way in which an API server can be hostile. What it leaves out is done well.
type abuseAPI struct {
	name   string
	tls    func() *tls.Config                            // instead of a certificate that is in order
	conn   func(h *hostile, conn *countedConn, turn int) // instead of TLS and HTTP/2
	first  func() []byte                                 // frames, instead of empty SETTINGS
	open   func(p *apiPeer)                              // beside the answers
	answer func(e *asked)                                // to requests of the kinds below, all if there are none
	kinds  []string
	early  bool       // answer before the request is complete
	faults hook       // the same in terms of net/http
	names  nameAnswer // of the name server; nil: the server is known by its address

	says   string // what the agent tells a peer: "GOAWAY …" or "RST …"
	words  string // of one line of the log
	secret bool   // the token must not come
	served bool   // slices are published all the same
}

func (does *abuseAPI) affects(kind string) bool {
	return len(does.kinds) == 0 || slices.Contains(does.kinds, kind)
}

var (
	abuseAPIPlaces = make(chan bool, abuseAPIAtOnce[0])
	abuseAPIStart  = make(chan bool, abuseAPIStarts)
)

// abuseNode is the simulated node that all agents of these cases look at.
var abuseNode struct {
	once sync.Once
	dir  string
}

// runAbuseAPI plays all cases side by side.
func runAbuseAPI(t *testing.T, cases []abuseAPI) {
	t.Parallel()
	playAllAbuseAPI(t, cases)
}

func playAllAbuseAPI(t *testing.T, cases []abuseAPI) {
	t.Helper()
	abuseNode.once.Do(func() {
		abuseNode.dir = filepath.Join(scratch, "abused")
		simnode(t, "make", "--board", "trn2.48xlarge", "--dir", abuseNode.dir)
	})
	for round, places := range abuseAPIAtOnce {
		var all sync.WaitGroup
		var mu sync.Mutex
		var again []abuseAPI
		here := make(chan bool, places)
		for _, c := range cases {
			here <- true
			abuseAPIPlaces <- true
			all.Go(func() {
				defer func() { <-abuseAPIPlaces; <-here }()
				t.Run(c.name, func(t *testing.T) {
					complaint := playAbuseAPI(t, c)
					if complaint == "" {
						return
					}
					if round == len(abuseAPIAtOnce)-1 {
						t.Error(complaint)
					}
					mu.Lock()
					defer mu.Unlock()
					again = append(again, c)
				})
			})
		}
		all.Wait()
		cases = again
	}
}

// playAbuseAPI plays one case. What the machine may have a part in comes back as a complaint.
func playAbuseAPI(t *testing.T, does abuseAPI) (complaint string) {
	t.Helper()
	h := newHostile(t, &does)
	a, k := h.startAgent(t)
	old := named(h.api.addClaim(newClaim("old", "req=0")))
	fresh := named(h.api.addClaim(newClaim("fresh", "req=1")))
	k.prepareOK(old)

	mark, from, memory, cpu := a.log.count(), time.Now(), a.privateKiB(t), a.cpuTime(t)
	mapped := a.mappedKiB(t)
	h.taken.Store(0)
	h.turn(false)
	h.api.setFaults(does.faults)
	a.waitLog(mark, "event=api_connection_lost")
	before := a.log.slice(mark, a.log.countUntil(mark, "event=api_connection_lost")-1) // an answer may come before the end
	mark = a.log.countUntil(mark, "event=api_connection_lost")
	h.forget() // there is something to write, and no watch told so before
	late := make(chan string, 1)
	go func() { late <- prepareWithin(k, fresh) }()
	times := askMeanwhile(t, a, func() { k.prepareOK(old) })
	growth, cpu := a.privateKiB(t)-memory, a.cpuTime(t)-cpu
	if text := <-late; text != "" {
		t.Error(text)
	}
	if !strings.Contains(strings.Join(append(before, a.log.slice(mark, a.log.count())...), "\n"), does.words) {
		a.waitLogFor(longPatience, mark, does.words) // a request is timed from its connection: late on a busy machine
	}
	end := a.log.count()

	if does.served && len(h.api.own()) != 1 {
		t.Errorf("%d slices are published", len(h.api.own()))
	}
	h.api.setFaults(nil)
	h.forget()
	back := time.Now()
	h.turn(true)
	waitForLong(t, longPatience, "the slice is published again", func() bool { return len(h.api.own()) == 1 })
	recovered := time.Since(back)
	if recovered > recoverWithin {
		complaint = fmt.Sprintf("it took %v until the slice was published again; ", recovered)
	}
	k.prepareOK(fresh)
	h.judge(a, append(before, a.log.slice(mark, end)...))
	if mapped = a.mappedKiB(t) - mapped; growth > growsAtMost || mapped != 0 {
		t.Errorf("the agent grew by %d KiB, and mapped %d KiB more", growth, mapped)
	}
	dense := h.densest(from, connectWindow)
	if dense > connectsInWindow {
		t.Errorf("%d connections in %v", dense, connectWindow)
	}
	slices.Sort(times)
	if p50, p95 := times[len(times)/2], times[len(times)*95/100]; p50 >= medianAtMost || p95 >= getInfoLimit {
		complaint += fmt.Sprintf("GetInfo took %v in the middle, and %v at the worst but some", p50, p95)
		t.Log(complaint)
	}
	abuseAPITable.add(does.name, h.answered(a, mark), dense, h.requests, h.taken.Load(), growth,
		fmt.Sprintf("%.1f", 100*cpu.Seconds()/abuseAPIHold.Seconds()),
		fmt.Sprintf("%.1f/%.0f ms", 1000*times[len(times)/2].Seconds(), 1000*times[len(times)-1].Seconds()),
		fmt.Sprintf("%.1f s", recovered.Seconds()))
	return complaint
}

// forget loses the agent's slices.
func (h *hostile) forget() {
	for _, slice := range h.api.own() {
		h.api.remove(slice.Name)
	}
}

// startAgent starts one that the server serves well.
func (h *hostile) startAgent(t *testing.T) (*agent, *kubelet) {
	t.Helper()
	abuseAPIStart <- true
	defer func() { <-abuseAPIStart }()
	a := newAgentOn(t, scratch, abuseNode.dir)
	a.args = append(a.args, "--kubeconfig", h.api.kubeconfig(a.dir))
	a.start()
	k := a.register()
	h.api.published()
	return a, k
}

// judge holds what was said by the agent while the server was hostile against what the case asks for.
func (h *hostile) judge(a *agent, said []string) {
	t, does := a.t, h.does
	t.Helper()
	if does.says != "" && !slices.Contains(h.heard(), does.says) {
		t.Errorf("the agent did not say %s but %q", does.says, h.heard())
	}
	text := strings.Join(said, "\n")
	if !strings.Contains(text, does.words) {
		t.Errorf("no line of the log has %q", does.words)
	}
	if lines := strings.Count(text, "event=api_"); lines > linesAtMost {
		t.Errorf("%d lines of log", lines)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if bytes.Contains(h.plain, []byte(goodToken)) {
		t.Error("the token came in without TLS")
	}
	if h.queries > queriesAtMost {
		t.Errorf("%d questions to the name server", h.queries)
	}
	if does.secret && h.requests > 0 {
		t.Errorf("%d requests came to a server that must not be trusted", h.requests)
	}
}

// answered is the agent's answer in a few words: codes to the peer, and what the log said first.
func (h *hostile) answered(a *agent, mark int) string {
	words := append([]string(nil), h.heard()...)
	line, _ := a.log.find(mark, h.does.words)
	for _, key := range []string{"event", "text", "doing", "http", "message"} {
		if found := regexp.MustCompile(key + `=("[^"]*"|\S+)`).FindStringSubmatch(line); found != nil {
			words = append(words, strings.ReplaceAll(strings.Trim(found[1], `"`), h.api.address, "server"))
		}
	}
	return strings.Join(words, ", ")
}

// prepareWithin prepares a claim while the server is hostile; what is wrong with the answer comes back.
func prepareWithin(k *kubelet, c *dra.Claim) string {
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	reply, err := dra.NewDRAPluginClient(k.conn).NodePrepareResources(ctx,
		&dra.NodePrepareResourcesRequest{Claims: []*dra.Claim{c}})
	if err != nil {
		return fmt.Sprintf("prepare of a new claim: %v", err)
	}
	r := reply.Claims[c.Uid]
	if r.Error == "" && len(r.Devices) == 0 {
		return "prepare of a new claim: neither devices nor an error"
	}
	if len(r.Error) > 1024 || strings.ContainsFunc(r.Error, func(c rune) bool { return c < ' ' || c == 0x7f }) {
		return fmt.Sprintf("prepare of a new claim: error %q", r.Error)
	}
	return ""
}

// askMeanwhile asks GetInfo all the time, does something in the middle of it, and returns how long each took.
func askMeanwhile(t *testing.T, a *agent, middle func()) []time.Duration {
	t.Helper()
	conn := dialRegistration(t, a.registrationSocket())
	var times []time.Duration
	for from, done := time.Now(), false; time.Since(from) < abuseAPIHold; time.Sleep(250 * time.Millisecond) {
		if !done && time.Since(from) > abuseAPIHold/2 {
			done = true
			middle()
		}
		times = append(times, timeGetInfo(t, conn))
	}
	return times
}

// timeGetInfo makes one call, which must succeed; how fast that has to be is judged over many.
func timeGetInfo(t *testing.T, conn *grpc.ClientConn) time.Duration {
	t.Helper()
	from := time.Now()
	getInfo(t, conn)
	return time.Since(from)
}
