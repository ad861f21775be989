// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// The paths of the API server that the tests write to.
const (
	slicesPath = "/apis/resource.k8s.io/v1/resourceslices"
	claimsPath = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
	nodesPath  = "/api/v1/nodes"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// authority signs the certificates of servers.
type authority struct {
	key  crypto.Signer
	cert *x509.Certificate
	pem  []byte
}

// clusterAuthority is the one that the cluster's own API server is signed by.
var clusterAuthority = sync.OnceValue(func() *authority {
	folder := filepath.Join(kube.Run, "pki")
	text := must(os.ReadFile(filepath.Join(folder, "ca.crt")))
	block, _ := pem.Decode(text)
	secret, _ := pem.Decode(must(os.ReadFile(filepath.Join(folder, "ca.key"))))
	key := must(x509.ParsePKCS8PrivateKey(secret.Bytes))
	return &authority{key: key.(crypto.Signer), cert: must(x509.ParseCertificate(block.Bytes)), pem: text}
})

func newAuthority(name string) *authority {
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	c := certificate(name)
	c.IsCA, c.BasicConstraintsValid, c.KeyUsage = true, true, x509.KeyUsageCertSign
	der := must(x509.CreateCertificate(rand.Reader, c, c, key.Public(), key))
	return &authority{key: key, cert: must(x509.ParseCertificate(der)),
		pem: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

func certificate(name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: must(rand.Int(rand.Reader, big.NewInt(1<<62))), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature,
	}
}

// server is a certificate for addresses and names.
func (a *authority) server(names ...string) tls.Certificate {
	c := certificate("kube-apiserver")
	c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			c.IPAddresses = append(c.IPAddresses, ip)
		} else {
			c.DNSNames = append(c.DNSNames, name)
		}
	}
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	der := must(x509.CreateCertificate(rand.Reader, c, a.cert, key.Public(), a.key))
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// admin is the cluster's administrator, straight at the API server.
var admin = sync.OnceValue(func() *http.Client {
	base := filepath.Join(kube.Run, "pki", "admin")
	cert := must(tls.LoadX509KeyPair(base+".crt", base+".key"))
	return &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{
		RootCAs: clusterAuthority().pool(), Certificates: []tls.Certificate{cert}}}}
})

// object is any one in JSON.
type object = map[string]any

// ask does one request as administrator; into may be nil.
func ask(method, path string, body, into any) error {
	var data []byte
	if body != nil {
		data = must(json.Marshal(body))
	}
	request := must(http.NewRequest(method, kube.Server+path, bytes.NewReader(data)))
	request.Header.Set("Content-Type", "application/json")
	if method == "PATCH" {
		request.Header.Set("Content-Type", "application/merge-patch+json")
	}
	reply, err := admin().Do(request)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		return err
	}
	if reply.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %d %s", method, path, reply.StatusCode, text)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(text, into)
}

func mustAsk(t testing.TB, method, path string, body, into any) {
	t.Helper()
	if err := ask(method, path, body, into); err != nil {
		t.Fatal(err)
	}
}

// mintToken asks for a token of a service account.
func mintToken(t testing.TB, namespace, account string) string {
	t.Helper()
	return mintTokenFor(t, namespace, account, object{})
}

// mintTokenFor asks for one that is bound to an object.
func mintTokenFor(t testing.TB, namespace, account string, spec object) string {
	t.Helper()
	var reply struct{ Status struct{ Token string } }
	mustAsk(t, "POST", "/api/v1/namespaces/"+namespace+"/serviceaccounts/"+account+"/token",
		object{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}, &reply)
	return reply.Status.Token
}

// stored follows all slices of the API server.
type stored struct {
	mu      sync.Mutex
	changed chan struct{}
	slices  map[string]slice
	history []change
}

// change is one event of the watch.
type change struct {
	at    time.Time
	kind  string
	slice slice
}

// follow keeps a copy of what is stored, from the first test that asks for it on.
var follow = sync.OnceValue(func() *stored {
	s := &stored{changed: make(chan struct{}), slices: map[string]slice{}}
	ready := make(chan struct{})
	go func() {
		for {
			if version, err := s.list(); err == nil {
				if ready != nil {
					close(ready)
					ready = nil
				}
				s.watch(version)
			}
			time.Sleep(100 * time.Millisecond)
		}
	}()
	<-ready
	return s
})

// followedPath is of the newest version that the cluster serves: not every row of the matrix has v1.
func followedPath() string { return "/apis/resource.k8s.io/" + kube.Seen[0] + "/resourceslices" }

func (s *stored) list() (string, error) {
	var list struct {
		Metadata struct{ ResourceVersion string }
		Items    []slice
	}
	if err := ask("GET", followedPath(), nil, &list); err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slices = map[string]slice{}
	for _, item := range list.Items {
		s.slices[item.Metadata.Name] = item
	}
	s.announce()
	return list.Metadata.ResourceVersion, nil
}

func (s *stored) watch(version string) {
	request := must(http.NewRequestWithContext(context.Background(), "GET",
		kube.Server+followedPath()+"?watch=true&resourceVersion="+version, nil))
	reply, err := admin().Do(request)
	if err != nil {
		return
	}
	defer reply.Body.Close()
	for events := json.NewDecoder(reply.Body); ; {
		var event struct {
			Type   string
			Object slice
		}
		if events.Decode(&event) != nil || event.Type == "ERROR" {
			return
		}
		s.mu.Lock()
		s.history = append(s.history, change{time.Now(), event.Type, event.Object})
		if event.Type == "DELETED" {
			delete(s.slices, event.Object.Metadata.Name)
		} else {
			s.slices[event.Object.Metadata.Name] = event.Object
		}
		s.announce()
		s.mu.Unlock()
	}
}

func (s *stored) announce() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// of are the slices of a node and a driver.
func (s *stored) of(node, driver string) []slice {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []slice
	for _, one := range s.slices {
		if one.Spec.NodeName == node && one.Spec.Driver == driver {
			found = append(found, one)
		}
	}
	return found
}

// absences are the times for which a node was without any slice of the driver since a time.
func (s *stored) absences(node string, from time.Time) []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []time.Duration
	var gone time.Time
	for _, one := range s.history {
		if one.at.Before(from) || one.slice.Spec.NodeName != node || one.slice.Spec.Driver != driver {
			continue
		}
		if one.kind == "DELETED" {
			gone = one.at
		} else if !gone.IsZero() {
			found = append(found, one.at.Sub(gone))
			gone = time.Time{}
		}
	}
	return found
}

// wait repeats check at each change, and now and then, until it succeeds; the time it took.
func (s *stored) wait(t testing.TB, what string, within time.Duration, check func() error) time.Duration {
	t.Helper()
	begin := time.Now()
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		err := check()
		took := time.Since(begin)
		if err == nil {
			return took
		}
		if took > within {
			t.Fatalf("%s: not within %s: %v", what, within, err)
		}
		select {
		case <-changed:
		case <-time.After(50 * time.Millisecond):
		}
	}
}
