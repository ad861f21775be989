// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"sync"
	"testing"
	"time"
)

// authority signs certificates.
type authority struct {
	key  crypto.Signer
	cert *x509.Certificate
	pem  []byte
}

var (
	serial   = big.NewInt(1)
	serialMu sync.Mutex

	trusted = sync.OnceValue(func() *authority { return newAuthority("conformance CA") })
	foreign = sync.OnceValue(func() *authority { return newAuthority("conformance CA") })
	serving = sync.OnceValue(func() tls.Certificate { return trusted().server(ecKey(), "127.0.0.1") })
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func ecKey() crypto.Signer  { return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)) }
func rsaKey() crypto.Signer { return must(rsa.GenerateKey(rand.Reader, 2048)) }

func template(name string) *x509.Certificate {
	serialMu.Lock()
	defer serialMu.Unlock()
	serial.Add(serial, big.NewInt(1))
	return &x509.Certificate{
		SerialNumber: new(big.Int).Set(serial),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(24 * time.Hour),
		KeyUsage:     x509.KeyUsageDigitalSignature,
	}
}

func newAuthority(name string) *authority {
	key := ecKey()
	c := template(name)
	c.IsCA, c.BasicConstraintsValid, c.KeyUsage = true, true, x509.KeyUsageCertSign
	der := must(x509.CreateCertificate(rand.Reader, c, c, key.Public(), key))
	return &authority{key: key, cert: must(x509.ParseCertificate(der)), pem: certPEM(der)}
}

// intermediate is an authority that this one vouches for.
func (a *authority) intermediate(name string) *authority {
	c := template(name)
	c.IsCA, c.BasicConstraintsValid, c.KeyUsage = true, true, x509.KeyUsageCertSign
	return a.authorityOf(ecKey(), c)
}

// authorityOf signs an authority with this key.
func (a *authority) authorityOf(key crypto.Signer, c *x509.Certificate) *authority {
	der := a.sign(key, c).Certificate[0]
	return &authority{key: key, cert: must(x509.ParseCertificate(der)), pem: certPEM(der)}
}

func certPEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func keyPEM(key crypto.Signer) []byte {
	der := must(x509.MarshalPKCS8PrivateKey(key))
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

func (a *authority) sign(key crypto.Signer, c *x509.Certificate) tls.Certificate {
	der := must(x509.CreateCertificate(rand.Reader, c, a.cert, key.Public(), a.key))
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// server makes a certificate for one IP address or DNS name.
func (a *authority) server(key crypto.Signer, name string) tls.Certificate {
	c := template("server")
	c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	if ip := net.ParseIP(name); ip != nil {
		c.IPAddresses = []net.IP{ip}
	} else {
		c.DNSNames = []string{name}
	}
	return a.sign(key, c)
}

func (a *authority) expired(name string) tls.Certificate {
	c := template("server")
	c.NotBefore, c.NotAfter = time.Now().Add(-48*time.Hour), time.Now().Add(-24*time.Hour)
	c.IPAddresses = []net.IP{net.ParseIP(name)}
	return a.sign(ecKey(), c)
}

func (a *authority) client(user string) tls.Certificate {
	c := template(user)
	c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.sign(ecKey(), c)
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// pemFiles writes certificate and key beside each other.
func pemFiles(t testing.TB, dir string, c tls.Certificate) (cert, key string) {
	t.Helper()
	cert = writeFile(t, dir+"/client.crt", string(certPEM(c.Certificate[0])))
	key = writeFile(t, dir+"/client.key", string(keyPEM(c.PrivateKey.(crypto.Signer))))
	return cert, key
}
