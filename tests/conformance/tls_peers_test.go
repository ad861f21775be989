// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"io"
	"math/big"
	"net"
	"testing"
)

// --- the certificates of servers ---

// vouched signs a server's certificate for 127.0.0.1 over any public key, with an algorithm of its own if one is given.
func (a *authority) vouched(public crypto.PublicKey, with x509.SignatureAlgorithm) []byte {
	c := template("server")
	c.IPAddresses = []net.IP{net.ParseIP("127.0.0.1")}
	c.SignatureAlgorithm = with
	return must(x509.CreateCertificate(rand.Reader, c, a.cert, public, a.key))
}

// newAuthorityOf is an authority with this key, under the name of all others.
func newAuthorityOf(key crypto.Signer) *authority {
	c := template("conformance CA")
	c.IsCA, c.BasicConstraintsValid, c.KeyUsage = true, true, x509.KeyUsageCertSign
	der := must(x509.CreateCertificate(rand.Reader, c, c, key.Public(), key))
	return &authority{key: key, cert: must(x509.ParseCertificate(der)), pem: certPEM(der)}
}

// Each signature algorithm that certificates of clusters have.
func TestSignatureAlgorithms(t *testing.T) {
	t.Parallel()
	ofRSA, ofEC := newAuthorityOf(rsaKey()), newAuthorityOf(must(ecdsa.GenerateKey(elliptic.P384(), rand.Reader)))
	for algorithm, ca := range map[x509.SignatureAlgorithm]*authority{
		x509.SHA384WithRSA: ofRSA, x509.SHA512WithRSA: ofRSA, x509.SHA256WithRSAPSS: ofRSA, x509.SHA512WithRSAPSS: ofRSA,
		x509.ECDSAWithSHA384: ofEC, x509.ECDSAWithSHA512: ofEC,
	} {
		t.Run(algorithm.String(), func(t *testing.T) {
			t.Parallel()
			key := ecKey()
			api := newAPIServer(t)
			api.tls = limited(tls.VersionTLS13, tls.Certificate{Certificate: [][]byte{ca.vouched(key.Public(), algorithm)}, PrivateKey: key})
			api.up()
			publishes(t, api, func(dir string) string { return api.kubeconfigWith(dir, ca, "token: "+goodToken) })
		})
	}
}

// spoiled changes the byte at this offset of a piece of the certificate.
func spoiled(der, piece []byte, offset int) []byte {
	der = bytes.Clone(der)
	der[bytes.Index(der, piece)+offset] ^= 0x01
	return der
}

// Certificates that make a server untrusted for what they are, whoever signed them.
func TestServerCertificateIsRefused(t *testing.T) {
	t.Parallel()
	ca, key, node := trusted(), ecKey(), newAgent(t, "trn2.48xlarge").node
	edPublic, _, err := ed25519.GenerateKey(rand.Reader)
	check(t, err)
	point := must(key.Public().(*ecdsa.PublicKey).Bytes())
	good := ca.vouched(key.Public(), 0)
	signature := must(x509.ParseCertificate(good)).Signature
	weak := &rsa.PublicKey{N: new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 512), big.NewInt(569)), E: 65537}
	large := &rsa.PublicKey{N: new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 8192), big.NewInt(569)), E: 65537}
	otherKind := newAuthorityOf(rsaKey()) // of the same name
	for _, c := range []struct {
		name  string
		chain [][]byte
		words string
	}{
		{"no certificate that can be read", [][]byte{spoiled(good, good, 0)}, "cannot be read"},
		{"unreadable issuer", [][]byte{good, spoiled(good, good, 0)}, "cannot be read"},
		{"Ed25519", [][]byte{ca.vouched(edPublic, 0)}, "Ed25519"},
		{"RSA of 512 bits", [][]byte{ca.vouched(weak, 0)}, "1024"},
		{"RSA of 8192 bits", [][]byte{ca.vouched(large, 0)}, "key"},
		{"point that is not on the curve", [][]byte{spoiled(good, point, len(point)-1)}, "key"},
		{"SHA-1", [][]byte{ca.vouched(key.Public(), x509.ECDSAWithSHA1)}, "SHA-1"},
		{"signature of another kind of key", [][]byte{otherKind.vouched(key.Public(), 0)}, "not signed by the given certificate authority"},
		{"signature that is no pair of numbers", [][]byte{spoiled(good, signature, 0)}, "not signed by the given certificate authority"},
		{"signature changed", [][]byte{spoiled(good, signature, len(signature)-1)}, "not signed by the given certificate authority"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := newListenTLS(t, limited(tls.VersionTLS13, tls.Certificate{Certificate: c.chain, PrivateKey: key}))
			a := withServerAt(newAgentOn(t, scratch, node), l.listener.Addr().String())
			a.start()
			a.register()
			a.waitLog(0, "event=api_connect_failed", l.listener.Addr().String(), "the server's certificate cannot be trusted: ", c.words)
			l.mu.Lock()
			defer l.mu.Unlock()
			if len(l.said) > 0 {
				t.Errorf("the client said %q", l.said)
			}
		})
	}
}

// --- servers that answer a ClientHello octet by octet ---

const (
	tls12Suite = 0xc02b // ECDHE-ECDSA-AES128-GCM-SHA256
	tls13Suite = 0x1301 // AES-128-GCM-SHA256
)

// extension of a ServerHello.
type extension struct {
	kind  uint16
	value string
}

// serverHello makes the record of a ServerHello that answers the session of a ClientHello.
func serverHello(random []byte, session []byte, version, suite uint16, extensions ...extension) []byte {
	var list []byte
	for _, e := range extensions {
		list = binary.BigEndian.AppendUint16(list, e.kind)
		list = binary.BigEndian.AppendUint16(list, uint16(len(e.value)))
		list = append(list, e.value...)
	}
	body := binary.BigEndian.AppendUint16(nil, version)
	body = append(append(body, random...), byte(len(session)))
	body = binary.BigEndian.AppendUint16(append(body, session...), suite)
	body = binary.BigEndian.AppendUint16(append(body, 0), uint16(len(list)))
	return handshakeRecord(2, append(body, list...))
}

func handshakeRecord(kind byte, body []byte) []byte {
	message := append([]byte{kind, 0, byte(len(body) >> 8), byte(len(body))}, body...)
	return append(append([]byte{22, 3, 3}, byte(len(message)>>8), byte(len(message))), message...)
}

// sessionOf reads a ClientHello and returns its session identifier.
func sessionOf(conn net.Conn) []byte {
	header := make([]byte, 5)
	if _, err := io.ReadFull(conn, header); err != nil {
		return nil
	}
	hello := make([]byte, binary.BigEndian.Uint16(header[3:]))
	if _, err := io.ReadFull(conn, hello); err != nil || len(hello) < 39 {
		return nil
	}
	return hello[39:min(len(hello), 39+int(hello[38]))]
}

// answersHello serves raw octets to each ClientHello, and then waits until the client goes.
func answersHello(t *testing.T, answer func(session []byte) []byte) string {
	t.Helper()
	listener := listenApart(t, "127.0.0.1")
	t.Cleanup(func() { listener.Close() })
	serveEach(listener, func(conn net.Conn) {
		_, _ = conn.Write(answer(sessionOf(conn)))
		_, _ = io.Copy(io.Discard, conn)
	})
	return listener.Addr().String()
}

// When a handshake fails, the agent logs the reason: the server's reply to the ClientHello is no message that TLS 1.2 or 1.3
// allows there, or it is an alert.
func TestAnswersToHello(t *testing.T) {
	t.Parallel()
	const mixes = "the server's answer mixes versions of TLS or has a value that was not offered"
	const tooOld = "for a server that speaks only TLS 1.2 set --tls-min-version=1.2"
	const ours = "the server does not accept our client certificate: "
	node := newAgent(t, "trn2.48xlarge").node
	random, retry := make([]byte, 32), sha256.Sum256([]byte("HelloRetryRequest"))
	tls13 := extension{43, "\x03\x04"}
	hello := func(version, suite uint16, extensions ...extension) func([]byte) []byte {
		return func(session []byte) []byte { return serverHello(random, session, version, suite, extensions...) }
	}
	raw := func(octets string) func([]byte) []byte { return func([]byte) []byte { return []byte(octets) } }
	alert := func(code byte) func([]byte) []byte { return raw("\x15\x03\x03\x00\x02\x02" + string([]byte{code})) }
	twice := func(session []byte) []byte {
		one := serverHello(retry[:], session, 0x303, tls13Suite, tls13, extension{51, "\x00\x17"})
		return append(one, one...)
	}
	for _, c := range []struct {
		name   string
		answer func(session []byte) []byte
		words  string
	}{
		{"TLS 1.2", hello(0x303, tls12Suite), tooOld},
		{"TLS 1.4", hello(0x304, tls13Suite, tls13), mixes},
		{"suite of TLS 1.3 in TLS 1.2", hello(0x303, tls13Suite), mixes},
		{"key share in TLS 1.2", hello(0x303, tls12Suite, extension{51, "\x00\x1d\x00\x00"}), mixes},
		{"cookie in TLS 1.2", hello(0x303, tls12Suite, extension{44, "\x00\x01c"}), mixes},
		{"key shared before in TLS 1.2", hello(0x303, tls12Suite, extension{41, "\x00\x00"}), mixes},
		{"TLS 1.3 names 1.2", hello(0x303, tls13Suite, extension{43, "\x03\x03"}), mixes},
		{"version of one octet", hello(0x303, tls13Suite, extension{43, "\x03"}), mixes},
		{"version twice", hello(0x303, tls13Suite, tls13, tls13), mixes},
		{"session cut", raw(string(handshakeRecord(2, append([]byte{3, 3}, append(random, 32)...)))), mixes},
		{"header cut", raw(string(handshakeRecord(2, []byte{3}))), mixes},
		{"other message first", raw(string(handshakeRecord(11, []byte{0, 0, 0}))), mixes},
		{"hello of 60 KB", raw("\x16\x03\x03\x40\x00\x02\x00\xea\x60" + string(make([]byte, 16380))), mixes},
		{"retry twice", twice, mixes},
		{"no key share", hello(0x303, tls13Suite, tls13), "event=api_connect_failed"},
		{"key share cut", hello(0x303, tls13Suite, tls13, extension{51, "\x00\x1d\x00\x20x"}), "TLS failed with mbedTLS code 0x"},
		{"alert handshake_failure", alert(40), tooOld},
		{"alert protocol_version", alert(70), tooOld},
		{"alert bad_certificate", alert(42), ours + "it cannot be read or verified"},
		{"alert unsupported_certificate", alert(43), ours + "its type is not supported"},
		{"alert certificate_revoked", alert(44), ours + "it is revoked"},
		{"alert certificate_expired", alert(45), ours + "it has expired"},
		{"alert access_denied", alert(49), ours + "access denied"},
		{"alert unrecognized_name", alert(112), "the server does not serve this name"},
		{"alert certificate_required", alert(116), "the server requires a client certificate, and none is configured"},
		{"alert no_application_protocol", alert(120), "the server does not offer HTTP/2 by ALPN (h2)"},
		{"alert internal_error", alert(80), "the server ended TLS with alert 80"},
		{"alert of no standard", alert(201), "the server ended TLS with alert 201"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			address := answersHello(t, c.answer)
			a := withServerAt(newAgentOn(t, scratch, node), address)
			a.start()
			a.register()
			a.waitLog(0, "event=api_connect_failed", "TLS with "+address+": ", c.words)
			getInfo(t, dialRegistration(t, a.registrationSocket()))
		})
	}
}

// A record that arrives damaged after the handshake ends the connection by that name; the next one serves again.
func TestDamagedRecord(t *testing.T) {
	t.Parallel()
	for name, record := range map[string]string{
		"wrong keys":      "\x17\x03\x03\x00\x20" + string(make([]byte, 32)),
		"longer than any": "\x17\x03\x03\xff\xff" + string(make([]byte, 64)),
		"no record":       "HTTP/1.1 400 Bad Request\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			listener := listenApart(t, "127.0.0.1")
			t.Cleanup(func() { listener.Close() })
			serveEach(listener, func(conn net.Conn) {
				if tls.Server(conn, limited(tls.VersionTLS13, serving())).Handshake() == nil {
					_, _ = io.WriteString(conn, record)
					_, _ = io.Copy(io.Discard, conn)
				}
			})
			a := withoutServer(t, "trn2.48xlarge", listener.Addr().String())
			a.start()
			a.register()
			a.waitLog(0, "event=api_connection_lost", "a TLS record arrived damaged")
		})
	}
}
