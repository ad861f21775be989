// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	core "k8s.io/api/core/v1"
	resource "k8s.io/api/resource/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

const (
	protobufType = "application/vnd.kubernetes.protobuf"
	slicesPath   = "/apis/resource.k8s.io/v1/resourceslices"
	nodesPath    = "/api/v1/nodes/"
	everyClaim   = "/apis/resource.k8s.io/v1/resourceclaims"
)

// apiServer answers what both sides ask for, in protobuf over TLS and HTTP/2. Claims are encoded when they
// are added, and an answer leaves in one piece: the time that is measured is that of the two sides.
type apiServer struct {
	address  string
	ca       []byte
	listener net.Listener

	mu      sync.Mutex
	version int
	slices  map[string]*resource.ResourceSlice
	claims  map[string][]byte // by path
	events  []sliceEvent
	changed chan struct{}
}

type sliceEvent struct {
	version int
	kind    string
	slice   *resource.ResourceSlice
}

func startAPIServer() (*apiServer, error) {
	certificate, ca, err := certificates()
	if err != nil {
		return nil, err
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate},
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2"}})
	if err != nil {
		return nil, err
	}
	s := &apiServer{address: listener.Addr().String(), ca: ca, version: 100, changed: make(chan struct{}),
		slices: map[string]*resource.ResourceSlice{}, claims: map[string][]byte{}, listener: listener}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // closed
			}
			go serveConnection(s, conn)
		}
	}()
	return s, nil
}

func certificates() (server tls.Certificate, ca []byte, err error) {
	template := x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "bench"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return server, nil, err
	}
	caDER, err := x509.CreateCertificate(rand.Reader, &template, &template, caKey.Public(), caKey)
	if err != nil {
		return server, nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return server, nil, err
	}
	leaf := template
	leaf.SerialNumber, leaf.Subject = big.NewInt(2), pkix.Name{CommonName: "server"}
	leaf.IsCA, leaf.KeyUsage = false, x509.KeyUsageDigitalSignature
	leaf.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	leaf.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	der, err := x509.CreateCertificate(rand.Reader, &leaf, &template, key.Public(), caKey)
	server = tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	return server, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: caDER}), err
}

func (s *apiServer) kubeconfig(dir string) (string, error) {
	ca, path := filepath.Join(dir, "ca.crt"), filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(ca, s.ca, 0o600); err != nil {
		return "", err
	}
	text := `apiVersion: v1
kind: Config
clusters:
- name: local
  cluster:
    server: https://` + s.address + `
    certificate-authority: ` + ca + `
contexts:
- name: local
  context:
    cluster: local
    user: agent
current-context: local
users:
- name: agent
  user:
    token: bench
`
	return path, os.WriteFile(path, []byte(text), 0o600)
}

func nodeUID(name string) types.UID { return uid("node " + name) }

func nodeObject(name string) *core.Node {
	labels := map[string]string{}
	for i := 1; i <= 3; i++ {
		labels[fmt.Sprintf("topology.k8s.aws/network-node-layer-%d", i)] = fmt.Sprintf("nn-%d", i)
	}
	return &core.Node{ObjectMeta: meta.ObjectMeta{Name: name, UID: nodeUID(name), Labels: labels}}
}

// answer is the whole answer to anything but a watch.
func (s *apiServer) answer(r *request) (code int, body []byte) {
	switch {
	case r.method == http.MethodGet && r.path == everyClaim:
		return s.listClaims()
	case r.method == http.MethodGet && strings.HasPrefix(r.path, claimsPrefix):
		return s.claim(r.path)
	case r.method == http.MethodGet && strings.HasPrefix(r.path, nodesPath):
		return node(strings.TrimPrefix(r.path, nodesPath))
	case r.method == http.MethodGet && r.path == slicesPath:
		return s.list(r)
	case strings.HasPrefix(r.path, slicesPath):
		return s.write(r)
	}
	return failure(http.StatusNotFound, meta.StatusReasonNotFound, "not served here")
}

// --- answers ---

type marshaler interface{ Marshal() ([]byte, error) }

func envelope(apiVersion, kind string, object marshaler) []byte {
	raw, err := object.Marshal()
	if err != nil {
		panic(err) // objects of this program
	}
	u := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: apiVersion, Kind: kind}, Raw: raw}
	body, err := u.Marshal()
	if err != nil {
		panic(err)
	}
	return append([]byte("k8s\x00"), body...)
}

func failure(code int, reason meta.StatusReason, message string) (int, []byte) {
	return code, envelope("v1", "Status",
		&meta.Status{Status: "Failure", Message: message, Reason: reason, Code: int32(code)})
}

func (s *apiServer) claim(path string) (int, []byte) {
	s.mu.Lock()
	body := s.claims[path]
	s.mu.Unlock()
	if body == nil {
		return failure(http.StatusNotFound, meta.StatusReasonNotFound, "no such claim")
	}
	return http.StatusOK, body
}

// listClaims is what the agent asks for to learn the API version and to find the claims of its node.
func (s *apiServer) listClaims() (int, []byte) {
	list := &resource.ResourceClaimList{}
	s.mu.Lock()
	defer s.mu.Unlock()
	list.ResourceVersion = strconv.Itoa(s.version)
	for _, body := range s.claims {
		claim := resource.ResourceClaim{}
		if err := readEnvelope(body, &claim); err != nil {
			panic(err) // encoded by addClaim
		}
		list.Items = append(list.Items, claim)
	}
	return http.StatusOK, envelope("resource.k8s.io/v1", "ResourceClaimList", list)
}

func node(name string) (int, []byte) {
	return http.StatusOK, envelope("v1", "Node", nodeObject(name))
}

func selected(r *request, slice *resource.ResourceSlice) bool {
	return strings.Contains(r.query.Get("fieldSelector"), "spec.nodeName="+*slice.Spec.NodeName)
}

func (s *apiServer) list(r *request) (int, []byte) {
	list := &resource.ResourceSliceList{}
	s.mu.Lock()
	defer s.mu.Unlock()
	list.ResourceVersion = strconv.Itoa(s.version)
	for _, slice := range s.slices {
		if selected(r, slice) {
			list.Items = append(list.Items, *slice.DeepCopy())
		}
	}
	return http.StatusOK, envelope("resource.k8s.io/v1", "ResourceSliceList", list)
}

// watch begins one, or says why not; events that follow go to send.
func (s *apiServer) watch(r *request, ended <-chan struct{}, send func([]byte)) (int, []byte) {
	from, err := strconv.Atoi(r.query.Get("resourceVersion"))
	if r.query.Get("sendInitialEvents") != "" || err != nil {
		// What servers without streamed lists say; the client lists instead.
		return failure(http.StatusUnprocessableEntity, meta.StatusReasonInvalid, "sendInitialEvents is forbidden here")
	}
	go func() {
		for sent := 0; ; {
			s.mu.Lock()
			events, changed := s.events[sent:], s.changed
			s.mu.Unlock()
			sent += len(events)
			for _, e := range events {
				if e.version > from && selected(r, e.slice) {
					send(watchFrame(e.kind, envelope("resource.k8s.io/v1", "ResourceSlice", e.slice)))
				}
			}
			select {
			case <-changed:
			case <-ended:
				return
			}
		}
	}()
	return http.StatusOK, nil
}

func watchFrame(kind string, object []byte) []byte {
	e := meta.WatchEvent{Type: kind, Object: runtime.RawExtension{Raw: object}}
	body, err := e.Marshal()
	if err != nil {
		panic(err)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

func (s *apiServer) write(r *request) (int, []byte) {
	if r.method == http.MethodDelete {
		s.remove(strings.TrimPrefix(r.path, slicesPath+"/"))
		return http.StatusOK, envelope("v1", "Status", &meta.Status{Status: "Success", Code: http.StatusOK})
	}
	slice := &resource.ResourceSlice{}
	if err := readEnvelope(r.body, slice); err != nil {
		return failure(http.StatusBadRequest, meta.StatusReasonBadRequest, err.Error())
	}
	if r.method == http.MethodPost {
		return http.StatusCreated, envelope("resource.k8s.io/v1", "ResourceSlice", s.store("ADDED", slice))
	}
	return http.StatusOK, envelope("resource.k8s.io/v1", "ResourceSlice", s.store("MODIFIED", slice))
}

func readEnvelope(body []byte, object interface{ Unmarshal([]byte) error }) error {
	var u runtime.Unknown
	if len(body) < 4 || string(body[:4]) != "k8s\x00" {
		return fmt.Errorf("no protobuf envelope")
	}
	if err := u.Unmarshal(body[4:]); err != nil {
		return err
	}
	return object.Unmarshal(u.Raw)
}

// --- state ---

func (s *apiServer) announce(kind string, slice *resource.ResourceSlice) {
	s.events = append(s.events, sliceEvent{s.version, kind, slice})
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *apiServer) store(kind string, slice *resource.ResourceSlice) *resource.ResourceSlice {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	if slice.Name == "" {
		slice.Name = fmt.Sprintf("%s%d", slice.GenerateName, s.version)
		slice.UID = uid("slice " + slice.Name)
		slice.CreationTimestamp = meta.Now()
	}
	slice.ResourceVersion = strconv.Itoa(s.version)
	s.slices[slice.Name] = slice
	s.announce(kind, slice.DeepCopy())
	return slice.DeepCopy()
}

func (s *apiServer) remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	slice := s.slices[name]
	if slice == nil {
		return
	}
	delete(s.slices, name)
	s.version++
	slice = slice.DeepCopy()
	slice.ResourceVersion = strconv.Itoa(s.version)
	s.announce("DELETED", slice)
}

// published returns the one slice of a node.
func (s *apiServer) published(node string) *resource.ResourceSlice {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, slice := range s.slices {
		if slice.Spec.NodeName != nil && *slice.Spec.NodeName == node {
			return slice.DeepCopy()
		}
	}
	return nil
}

func (s *apiServer) addClaim(c *resource.ResourceClaim) {
	body := envelope("resource.k8s.io/v1", "ResourceClaim", c)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.claims[claimsPrefix+c.Namespace+"/resourceclaims/"+c.Name] = body
}

func (s *apiServer) dropClaim(c *resource.ResourceClaim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.claims, claimsPrefix+c.Namespace+"/resourceclaims/"+c.Name)
}
