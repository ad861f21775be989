// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	events "k8s.io/api/events/v1"
	resource "k8s.io/api/resource/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

const (
	protobufType = "application/vnd.kubernetes.protobuf"
	groupName    = "resource.k8s.io"
	groupPath    = "/apis/" + groupName
	goodToken    = "token-of-the-agent"
)

// request is what the server saw of one request.
type request struct {
	kind, version       string // version: of resource.k8s.io, empty elsewhere
	method, path, query string
	header              http.Header
	remote              string
	body                []byte
}

// hook may answer a request instead of the server; it says whether it did.
type hook func(kind string, w http.ResponseWriter, r *http.Request) bool

// apiServer serves what the agent reads and writes, in protobuf over HTTP/2, with faults on demand.
type apiServer struct {
	t       testing.TB
	address string
	tls     *tls.Config
	tls12   bool              // what stands in front of it speaks TLS 1.2 alone
	http2   *http.HTTP2Config // nil: Go's own
	server  *http.Server

	bookmarks time.Duration // between those of a watch in which nothing happens

	mu       sync.Mutex
	version  int      // last resourceVersion
	served   []string // versions of resource.k8s.io
	node     *core.Node
	slices   map[string]*resource.ResourceSlice
	claims   map[string]*resource.ResourceClaim
	events   []event
	changed  chan struct{}
	requests []request
	faults   hook
	tokens   map[string]bool // accepted ones; empty: no check
	pieces   func() int      // sizes in which answers go out; nil: whole
	drop     func(*resource.ResourceSlice)
	wrong    []string // rules that the client broke
	names    int
	watches  int                      // open now
	told     map[string]*events.Event // by path
}

type event struct {
	version int
	kind    string
	slice   *resource.ResourceSlice
}

type marshaler interface{ Marshal() ([]byte, error) }

func newAPIServer(t testing.TB) *apiServer {
	t.Helper()
	s := &apiServer{
		t: t, version: 100, served: []string{"v1"}, changed: make(chan struct{}),
		slices: map[string]*resource.ResourceSlice{}, claims: map[string]*resource.ResourceClaim{},
		tokens: map[string]bool{goodToken: true},
		told:   map[string]*events.Event{},
		node:   &core.Node{ObjectMeta: meta.ObjectMeta{Name: nodeName, UID: nodeUID, ResourceVersion: "100", Labels: map[string]string{}}},
		tls:    &tls.Config{Certificates: []tls.Certificate{serving()}, NextProtos: []string{"h2"}},

		bookmarks: time.Second,
	}
	for i := 1; i <= 3; i++ {
		s.node.Labels[fmt.Sprintf("topology.k8s.aws/network-node-layer-%d", i)] = fmt.Sprintf("nn-%d", i)
	}
	s.node.Labels["topology.k8s.aws/capacity-block-id"] = "cb-1"
	s.address = "127.0.0.1:0"
	t.Cleanup(func() {
		s.down()
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, w := range s.wrong {
			t.Errorf("API client: %s", w)
		}
	})
	return s
}

// startAPIServer makes a server and lets it serve.
func startAPIServer(t testing.TB) *apiServer {
	t.Helper()
	s := newAPIServer(t)
	s.up()
	return s
}

// up listens; after down, on the same address.
func (s *apiServer) up() {
	s.t.Helper()
	var listener net.Listener
	if host, anyPort := strings.CutSuffix(s.address, ":0"); anyPort {
		listener = listenApart(s.t, host)
		s.address = listener.Addr().String()
	} else {
		waitFor(s.t, "listen on "+s.address, func() (ok bool) {
			var err error
			listener, err = net.Listen("tcp", s.address)
			return err == nil
		})
	}
	s.serveOn(listener)
}

// lastPort is of those that the kernel does not hand out by itself: one that is left for a while, or for good, is
// nobody else's then.
var lastPort atomic.Int32

// listenApart listens on a port that was not used before.
func listenApart(t testing.TB, host string) net.Listener {
	t.Helper()
	const lowest, many = 12000, 20000
	lastPort.CompareAndSwap(0, int32(os.Getpid()*97%many))
	for range many {
		port := lowest + int(lastPort.Add(1))%many
		if listener, err := net.Listen("tcp", fmt.Sprintf("%s:%d", host, port)); err == nil {
			return listener
		}
	}
	t.Fatal("no port is free")
	return nil
}

// serveEach gives each connection to a function of its own goroutine, and closes it afterwards, until the listener is closed.
func serveEach(listener net.Listener, serve func(net.Conn)) {
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				serve(c)
			}()
		}
	}()
}

func (s *apiServer) serveOn(listener net.Listener) {
	s.server = &http.Server{Handler: s, TLSConfig: s.tls, HTTP2: s.http2, ErrorLog: log.New(io.Discard, "", 0)}
	go func(server *http.Server) { _ = server.ServeTLS(listener, "", "") }(s.server)
}

// down closes the listener and all connections at once.
func (s *apiServer) down() {
	if s.server != nil {
		_ = s.server.Close()
		s.server = nil
	}
}

// kubeconfig writes one with the good token.
func (s *apiServer) kubeconfig(dir string) string {
	s.t.Helper()
	return s.kubeconfigWith(dir, trusted(), "token: "+goodToken)
}

func (s *apiServer) kubeconfigWith(dir string, ca *authority, user string) string {
	s.t.Helper()
	file := writeFile(s.t, filepath.Join(dir, "ca.crt"), string(ca.pem))
	return writeKubeconfig(s.t, dir, s.address, "certificate-authority: "+file, user)
}

func writeKubeconfig(t testing.TB, dir, address, ca, user string) string {
	t.Helper()
	return writeFile(t, filepath.Join(dir, "kubeconfig"), `apiVersion: v1
kind: Config
clusters:
- name: local
  cluster:
    server: https://`+address+`
    `+ca+`
contexts:
- name: local
  context:
    cluster: local
    user: agent
current-context: local
users:
- name: agent
  user:
    `+strings.ReplaceAll(user, "\n", "\n    ")+"\n")
}

func (s *apiServer) setFaults(f hook) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = f
}

func (s *apiServer) setPieces(f func() int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pieces = f
}

// seen counts the requests of the given kinds so far.
func (s *apiServer) seen(kinds ...string) int { return len(s.log(kinds...)) }

func (s *apiServer) log(kinds ...string) []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []request
	for _, r := range s.requests {
		for _, k := range kinds {
			if r.kind == k {
				found = append(found, r)
			}
		}
	}
	return found
}

// lastBody is the body of the write that is under way.
func (s *apiServer) lastBody() []byte {
	writes := s.log("create", "update")
	return writes[len(writes)-1].body
}

// watching says whether a watch is open.
func (s *apiServer) watching() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.watches > 0
}

// versionOf splits a path below the group into version and rest.
func versionOf(r *http.Request) (version, rest string) {
	below, ok := strings.CutPrefix(r.URL.Path, groupPath+"/")
	if ok {
		version, rest, _ = strings.Cut(below, "/")
	}
	return version, rest
}

// kindOf names the request, empty for what no agent asks.
func kindOf(r *http.Request) string {
	version, path := versionOf(r)
	switch {
	case r.Method == "GET" && r.URL.Path == "/api/v1/nodes/"+nodeName:
		return "node"
	case r.Method == "GET" && r.URL.Path == "/api/v1/nodes" && r.URL.Query().Get("watch") == "true":
		return "node watch"
	case r.Method == "GET" && r.URL.Path == groupPath:
		return "group"
	case strings.HasPrefix(r.URL.Path, eventsPath):
		return eventKindOf(r)
	case version != "v1" && version != "v1beta2" && version != "v1beta1":
		return ""
	case r.Method == "GET" && path == "resourceslices" && r.URL.Query().Get("watch") == "true":
		return "watch"
	case r.Method == "GET" && path == "resourceslices":
		return "list"
	case r.Method == "POST" && path == "resourceslices":
		return "create"
	case r.Method == "PUT" && strings.HasPrefix(path, "resourceslices/"):
		return "update"
	case r.Method == "DELETE" && strings.HasPrefix(path, "resourceslices/"):
		return "delete"
	case r.Method == "GET" && path == "resourceclaims":
		return "claims"
	case r.Method == "GET" && strings.HasPrefix(path, "namespaces/"):
		return "claim"
	case r.Method == "PATCH" && strings.HasSuffix(path, "/status"):
		return "status"
	}
	return ""
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	kind := kindOf(r)
	version, _ := versionOf(r)
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.requests = append(s.requests, request{kind, version, r.Method, r.URL.Path, r.URL.RawQuery, r.Header, r.RemoteAddr, body})
	faults := s.faults
	served := version == "" || slices.Contains(s.served, version)
	allowed := len(s.tokens) == 0 || s.tokens[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	s.mu.Unlock()
	s.holdToRules(kind, r, body)
	if faults != nil && faults(kind, w, r) {
		return
	}
	if !allowed {
		w.Header().Set("Connection", "close") // what the real one does: GOAWAY
		s.fail(w, 401, meta.StatusReasonUnauthorized, "Unauthorized")
		return
	}
	if !served {
		http.NotFound(w, r) // what the real one does, word for word
		return
	}
	s.serve(kind, w, r, body)
}

func (s *apiServer) serve(kind string, w http.ResponseWriter, r *http.Request, body []byte) {
	switch kind {
	case "node":
		s.serveNode(w, r)
	case "node watch":
		s.serveNodeWatch(w, r)
	case "group":
		s.serveGroup(w, r)
	case "list":
		s.serveList(w, r)
	case "watch":
		s.serveWatch(w, r)
	case "create", "update":
		s.serveWrite(w, r, body, kind == "update")
	case "delete":
		s.serveDelete(w, r, body)
	case "claim":
		s.serveClaim(w, r)
	case "claims":
		s.serveClaims(w, r)
	case "event", "series":
		s.serveEvent(kind, w, r, body)
	case "status":
		s.serveStatus(w, r, body)
	default:
		http.NotFound(w, r)
	}
}

// holdToRules notes what a well-behaved client never does.
func (s *apiServer) holdToRules(kind string, r *http.Request, body []byte) {
	var wrong []string
	add := func(format string, args ...any) {
		wrong = append(wrong, fmt.Sprintf("%s %s: ", r.Method, r.URL)+fmt.Sprintf(format, args...))
	}
	if kind == "" {
		add("not a request of the agent")
	}
	if r.ProtoMajor != 2 {
		add("HTTP/%d", r.ProtoMajor)
	}
	if !strings.HasPrefix(r.Header.Get("Accept"), protobufType) {
		add("Accept %q", r.Header.Get("Accept"))
	}
	if r.Header.Get("Accept-Encoding") != "" {
		add("Accept-Encoding %q", r.Header.Get("Accept-Encoding"))
	}
	if !strings.HasPrefix(r.Header.Get("User-Agent"), "neuron-dra-agent/") {
		add("User-Agent %q", r.Header.Get("User-Agent"))
	}
	if r.Host != s.address && !strings.HasPrefix(r.Host, "localhost") {
		add(":authority %q", r.Host)
	}
	if len(body) > 0 && r.Header.Get("Content-Type") != bodyType(kind) {
		add("Content-Type %q", r.Header.Get("Content-Type"))
	}
	driver, node, _ := strings.Cut(r.URL.Query().Get("fieldSelector"), ",")
	ours := driver == "spec.driver="+driverName || driver == "spec.driver="+efaDriver // that one with --efa alone
	if (kind == "list" || kind == "watch") && (!ours || node != "spec.nodeName="+nodeName) {
		add("field selector %q", r.URL.Query().Get("fieldSelector"))
	}
	if kind == "node watch" && (r.URL.Query().Get("fieldSelector") != "metadata.name="+nodeName || r.URL.Query().Get("timeoutSeconds") == "") {
		add("field selector %q", r.URL.Query().Get("fieldSelector"))
	}
	if kind == "watch" && (r.URL.Query().Get("resourceVersion") == "" || r.URL.Query().Get("timeoutSeconds") == "") {
		add("a watch needs resourceVersion and timeoutSeconds")
	}
	s.mu.Lock()
	s.wrong = append(s.wrong, wrong...)
	s.mu.Unlock()
}

// --- answers ---

func envelope(apiVersion, kind string, object marshaler) []byte {
	u := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: apiVersion, Kind: kind}, Raw: must(object.Marshal())}
	return append([]byte("k8s\x00"), must(u.Marshal())...)
}

// open takes an object out of its envelope.
func open(body []byte, kind string, object interface{ Unmarshal([]byte) error }) error {
	var u runtime.Unknown
	if len(body) < 4 || string(body[:4]) != "k8s\x00" {
		return fmt.Errorf("no protobuf envelope")
	}
	if err := u.Unmarshal(body[4:]); err != nil {
		return err
	}
	if u.Kind != kind {
		return fmt.Errorf("kind %s instead of %s", u.Kind, kind)
	}
	return object.Unmarshal(u.Raw)
}

func (s *apiServer) reply(w http.ResponseWriter, code int, body []byte) {
	w.Header().Set("Content-Type", protobufType)
	w.WriteHeader(code)
	s.write(w, body)
}

func (s *apiServer) write(w http.ResponseWriter, body []byte) {
	s.mu.Lock()
	pieces := s.pieces
	s.mu.Unlock()
	for len(body) > 0 {
		n := len(body)
		if pieces != nil {
			n = min(n, pieces())
		}
		if _, err := w.Write(body[:n]); err != nil {
			return
		}
		w.(http.Flusher).Flush()
		body = body[n:]
	}
}

func (s *apiServer) fail(w http.ResponseWriter, code int, reason meta.StatusReason, message string) {
	status := &meta.Status{Status: "Failure", Message: message, Reason: reason, Code: int32(code)}
	s.reply(w, code, envelope("v1", "Status", status))
}

func (s *apiServer) serveNode(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	node := s.node.DeepCopy()
	s.mu.Unlock()
	s.reply(w, 200, envelope("v1", "Node", node))
}

// serve chooses the versions that are served from now on.
func (s *apiServer) serveOnly(versions ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.served = versions
}

// group is the answer to the question for the versions of the group, the preferred one first.
func group(name string, versions ...string) *meta.APIGroup {
	g := &meta.APIGroup{Name: name}
	for _, v := range versions {
		g.Versions = append(g.Versions, meta.GroupVersionForDiscovery{GroupVersion: name + "/" + v, Version: v})
	}
	if len(g.Versions) > 0 {
		g.PreferredVersion = g.Versions[0]
	}
	return g
}

func (s *apiServer) serveGroup(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	served := s.served
	s.mu.Unlock()
	if len(served) == 0 {
		http.NotFound(w, r)
		return
	}
	s.reply(w, 200, envelope("v1", "APIGroup", group(groupName, served...)))
}

func (s *apiServer) serveClaim(w http.ResponseWriter, r *http.Request) {
	version, rest := versionOf(r)
	parts := strings.Split(rest, "/")
	s.mu.Lock()
	var claim *resource.ResourceClaim
	if len(parts) == 4 && parts[2] == "resourceclaims" {
		claim = s.claims[parts[1]+"/"+parts[3]].DeepCopy()
	}
	s.mu.Unlock()
	if claim == nil {
		s.fail(w, 404, meta.StatusReasonNotFound, "resourceclaims.resource.k8s.io not found")
		return
	}
	s.reply(w, 200, envelope(groupName+"/"+version, "ResourceClaim", claimIn(version, claim)))
}

// serveClaims lists the claims of all namespaces, one page at a time; the token is the place of the next one.
func (s *apiServer) serveClaims(w http.ResponseWriter, r *http.Request) {
	version, _ := versionOf(r)
	limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
	from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	list := &resource.ResourceClaimList{}
	s.mu.Lock()
	list.ResourceVersion = strconv.Itoa(s.version)
	names := slices.Sorted(maps.Keys(s.claims))
	for i := from; i < len(names) && i < from+limit; i++ {
		list.Items = append(list.Items, *s.claims[names[i]].DeepCopy())
	}
	s.mu.Unlock()
	if err != nil {
		s.fail(w, 400, meta.StatusReasonBadRequest, "limit")
		return
	}
	if from+limit < len(names) {
		list.Continue = strconv.Itoa(from + limit)
	}
	s.reply(w, 200, envelope(groupName+"/"+version, "ResourceClaimList", claimListIn(version, list)))
}

func selected(r *http.Request, slice *resource.ResourceSlice) bool {
	selector := r.URL.Query().Get("fieldSelector")
	node := ""
	if slice.Spec.NodeName != nil {
		node = *slice.Spec.NodeName
	}
	return selector == "spec.driver="+slice.Spec.Driver+",spec.nodeName="+node
}

func (s *apiServer) serveList(w http.ResponseWriter, r *http.Request) {
	list := &resource.ResourceSliceList{}
	s.mu.Lock()
	list.ResourceVersion = strconv.Itoa(s.version)
	for _, slice := range s.slices {
		if selected(r, slice) {
			list.Items = append(list.Items, *slice.DeepCopy())
		}
	}
	s.mu.Unlock()
	version, _ := versionOf(r)
	s.reply(w, 200, envelope(groupName+"/"+version, "ResourceSliceList", listIn(version, list)))
}

func frame(kind string, object []byte) []byte {
	e := meta.WatchEvent{Type: kind, Object: runtime.RawExtension{Raw: object}}
	body := must(e.Marshal())
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

func (s *apiServer) serveWatch(w http.ResponseWriter, r *http.Request) {
	version, _ := versionOf(r)
	from, err := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	if err != nil {
		s.fail(w, 400, meta.StatusReasonBadRequest, "resourceVersion")
		return
	}
	w.Header().Set("Content-Type", protobufType+";stream=watch")
	w.WriteHeader(200)
	w.(http.Flusher).Flush()
	s.countWatch(1)
	defer s.countWatch(-1)
	sent := 0
	for {
		s.mu.Lock()
		events, changed := s.events[sent:], s.changed
		s.mu.Unlock()
		sent += len(events)
		for _, e := range events {
			if e.version > from && selected(r, e.slice) {
				s.write(w, frame(e.kind, envelope(groupName+"/"+version, "ResourceSlice", sliceIn(version, e.slice))))
			}
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		case <-time.After(s.bookmarks):
			bookmark := &resource.ResourceSlice{}
			s.mu.Lock()
			bookmark.ResourceVersion = strconv.Itoa(s.version)
			s.mu.Unlock()
			s.write(w, frame("BOOKMARK", envelope(groupName+"/"+version, "ResourceSlice", sliceIn(version, bookmark))))
		}
	}
}

func (s *apiServer) countWatch(n int) {
	s.mu.Lock()
	s.watches += n
	s.mu.Unlock()
}

func (s *apiServer) serveDelete(w http.ResponseWriter, r *http.Request, body []byte) {
	options := &meta.DeleteOptions{}
	if len(body) > 0 {
		if err := open(body, "DeleteOptions", options); err != nil {
			s.fail(w, 400, meta.StatusReasonBadRequest, err.Error())
			return
		}
	}
	name := filepath.Base(r.URL.Path)
	s.mu.Lock()
	slice := s.slices[name]
	conflict := slice != nil && options.Preconditions != nil &&
		(options.Preconditions.UID != nil && *options.Preconditions.UID != slice.UID ||
			options.Preconditions.ResourceVersion != nil && *options.Preconditions.ResourceVersion != slice.ResourceVersion)
	s.mu.Unlock()
	switch {
	case slice == nil:
		s.fail(w, 404, meta.StatusReasonNotFound, "not found")
	case conflict:
		s.fail(w, 409, meta.StatusReasonConflict, "precondition failed")
	default:
		s.remove(name)
		s.reply(w, 200, envelope("v1", "Status", &meta.Status{Status: "Success", Code: 200}))
	}
}

func (s *apiServer) serveWrite(w http.ResponseWriter, r *http.Request, body []byte, update bool) {
	version, _ := versionOf(r)
	slice, err := sliceFrom(version, body)
	if err != nil {
		s.fail(w, 400, meta.StatusReasonBadRequest, err.Error())
		return
	}
	if update {
		name := filepath.Base(r.URL.Path)
		s.mu.Lock()
		old := s.slices[name]
		s.mu.Unlock()
		if old == nil {
			s.fail(w, 404, meta.StatusReasonNotFound, "not found")
			return
		}
		if slice.Name != name || slice.UID != old.UID || slice.ResourceVersion != old.ResourceVersion {
			s.fail(w, 409, meta.StatusReasonConflict, "the object has been modified")
			return
		}
	}
	s.mu.Lock()
	drop := s.drop
	s.mu.Unlock()
	if drop != nil {
		drop(slice)
	}
	code := 201
	if update {
		code = 200
	}
	s.reply(w, code, envelope(groupName+"/"+version, "ResourceSlice", sliceIn(version, s.store(slice))))
}

// --- state ---

// put changes the stored slices and tells the watches.
func (s *apiServer) store(slice *resource.ResourceSlice) *resource.ResourceSlice {
	s.mu.Lock()
	defer s.mu.Unlock()
	slice = slice.DeepCopy()
	s.version++
	kind := "MODIFIED"
	if slice.Name == "" {
		s.names++
		slice.Name = fmt.Sprintf("%.58s%05d", slice.GenerateName, s.names)
	}
	if s.slices[slice.Name] == nil {
		kind = "ADDED"
		slice.UID = uid(fmt.Sprintf("%s %d", slice.Name, s.version))
		slice.CreationTimestamp = meta.Now()
		slice.Generation = 1
	}
	slice.ResourceVersion = strconv.Itoa(s.version)
	s.slices[slice.Name] = slice
	s.announce(event{s.version, kind, slice.DeepCopy()})
	return slice.DeepCopy()
}

func (s *apiServer) remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	slice := s.slices[name].DeepCopy()
	delete(s.slices, name)
	s.version++
	slice.ResourceVersion = strconv.Itoa(s.version)
	s.announce(event{s.version, "DELETED", slice})
}

func (s *apiServer) announce(e event) {
	s.events = append(s.events, e)
	close(s.changed)
	s.changed = make(chan struct{})
}

// own returns the slices of the agent's driver and node.
func (s *apiServer) own() []*resource.ResourceSlice {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []*resource.ResourceSlice
	for _, slice := range s.slices {
		if slice.Spec.Driver == driverName && slice.Spec.NodeName != nil && *slice.Spec.NodeName == nodeName {
			found = append(found, slice.DeepCopy())
		}
	}
	return found
}

// published waits until there is exactly one slice of the agent.
func (s *apiServer) published() *resource.ResourceSlice {
	s.t.Helper()
	var found []*resource.ResourceSlice
	waitFor(s.t, "one slice", func() bool { found = s.own(); return len(found) == 1 })
	return found[0]
}

func (s *apiServer) addClaim(c *resource.ResourceClaim) *resource.ResourceClaim {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.claims[c.Namespace+"/"+c.Name] = c
	return c
}

func (s *apiServer) removeClaim(c *resource.ResourceClaim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.claims, c.Namespace+"/"+c.Name)
}
