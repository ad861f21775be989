// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1" // #nosec: some certificates are signed with it, and must be refused
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"io"
	"math/big"
	"strconv"
	"strings"
	"sync"
	"time"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func certPEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// crafted is a certificate to be made, field by field: x509.CreateCertificate refuses to make much of what strangers
// serve.
type crafted struct {
	version    int // as encoded: 2 is v3
	serial     []byte
	sigalg     sigalg
	inner      *sigalg // within the signed part, if it differs
	issuer     []byte  // a whole Name; nil: the signer's
	from, to   asn1.RawValue
	subject    []byte
	key        crypto.Signer
	spki       []byte // nil: of key
	unique     bool
	extensions []pkix.Extension
	mangle     func(tbs []byte) []byte // what becomes of the signed part before it is signed; nil: nothing
	badSign    bool                    // one bit of the signature is wrong
	trailing   []byte                  // after the certificate
}

type sigalg struct {
	oid    asn1.ObjectIdentifier
	params []byte // nil: absent
	hash   crypto.Hash
	pss    bool
}

var (
	derNull   = []byte{5, 0}
	oidRSA    = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1}
	rsaSHA256 = sigalg{oid: under(oidRSA, 11), params: derNull, hash: crypto.SHA256}
	rsaSHA384 = sigalg{oid: under(oidRSA, 12), params: derNull, hash: crypto.SHA384}
	rsaSHA512 = sigalg{oid: under(oidRSA, 13), params: derNull, hash: crypto.SHA512}
	rsaSHA1   = sigalg{oid: under(oidRSA, 5), params: derNull, hash: crypto.SHA1}
	ecSHA256  = sigalg{oid: asn1.ObjectIdentifier{1, 2, 840, 10045, 4, 3, 2}, hash: crypto.SHA256}
	ecSHA384  = sigalg{oid: asn1.ObjectIdentifier{1, 2, 840, 10045, 4, 3, 3}, hash: crypto.SHA384}
	ecSHA512  = sigalg{oid: asn1.ObjectIdentifier{1, 2, 840, 10045, 4, 3, 4}, hash: crypto.SHA512}
	ecSHA1    = sigalg{oid: asn1.ObjectIdentifier{1, 2, 840, 10045, 4, 1}, hash: crypto.SHA1}
	edPure    = sigalg{oid: asn1.ObjectIdentifier{1, 3, 101, 112}}
)

func under(oid asn1.ObjectIdentifier, arcs ...int) asn1.ObjectIdentifier {
	return append(append(asn1.ObjectIdentifier{}, oid...), arcs...)
}

// pss is RSASSA-PSS with its parameters as RFC 4055 has them; salt and MGF's hash may be odd.
func pss(hash, mgfHash, salt int) sigalg {
	params := seq(pssParts(hash, mgfHash, salt)...)
	h := map[int]crypto.Hash{256: crypto.SHA256, 384: crypto.SHA384, 512: crypto.SHA512}[hash]
	return sigalg{oid: under(oidRSA, 10), params: params, hash: h, pss: true}
}

func pssParts(hash, mgfHash, salt int) [][]byte {
	oid := func(bits int) []byte {
		arc := map[int]int{256: 1, 384: 2, 512: 3}[bits]
		return seq(der(asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, arc}), derNull)
	}
	return [][]byte{tlv(0xa0, oid(hash)), tlv(0xa1, seq(der(under(oidRSA, 8)), oid(mgfHash))), tlv(0xa2, der(salt))}
}

// --- DER ---

func der(v any) []byte { return must(asn1.Marshal(v)) }

func tlv(tag byte, parts ...[]byte) []byte {
	var content []byte
	for _, p := range parts {
		content = append(content, p...)
	}
	n := len(content)
	head := []byte{tag, byte(n)}
	if n > 0xffff {
		head = []byte{tag, 0x83, byte(n >> 16), byte(n >> 8), byte(n)}
	} else if n > 0xff {
		head = []byte{tag, 0x82, byte(n >> 8), byte(n)}
	} else if n > 0x7f {
		head = []byte{tag, 0x81, byte(n)}
	}
	return append(head, content...)
}

func seq(parts ...[]byte) []byte { return tlv(0x30, parts...) }

func dn(cn string) []byte { return dnOf(0x0c, []byte(cn)) }

// dnOf is a Name of one common name, as a string of the given type.
func dnOf(tag byte, value []byte) []byte {
	return seq(tlv(0x31, seq(der(asn1.ObjectIdentifier{2, 5, 4, 3}), tlv(tag, value))))
}

func ext(arc int, critical bool, value []byte) pkix.Extension {
	return pkix.Extension{Id: asn1.ObjectIdentifier{2, 5, 29, arc}, Critical: critical, Value: value}
}

func utc(t time.Time) asn1.RawValue { return rawTime(asn1.TagUTCTime, t.UTC().Format("060102150405Z")) }
func general(t time.Time) asn1.RawValue {
	return rawTime(asn1.TagGeneralizedTime, t.UTC().Format("20060102150405Z"))
}
func rawTime(tag int, text string) asn1.RawValue {
	return asn1.RawValue{Tag: tag, Bytes: []byte(text)}
}

// --- extensions ---

func keyUsage(bits ...int) pkix.Extension {
	s := asn1.BitString{Bytes: make([]byte, 2)}
	for _, b := range bits {
		s.Bytes[b/8] |= 0x80 >> (b % 8)
		s.BitLength = max(s.BitLength, b+1)
	}
	s.Bytes = s.Bytes[:(s.BitLength+7)/8]
	return ext(15, true, der(s))
}

func usages(oids ...asn1.ObjectIdentifier) pkix.Extension {
	var list [][]byte
	for _, o := range oids {
		list = append(list, der(o))
	}
	return ext(37, false, seq(list...))
}

var (
	oidPurpose  = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 3}
	serverAuth  = under(oidPurpose, 1)
	clientAuth  = under(oidPurpose, 2)
	codeSigning = under(oidPurpose, 3)
	anyUsage    = asn1.ObjectIdentifier{2, 5, 29, 37, 0}
	odd         = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 99999, 7}
)

func ca() pkix.Extension { return ext(19, true, seq(tlv(1, []byte{0xff}))) }
func caLen(n int) pkix.Extension {
	return ext(19, true, seq(tlv(1, []byte{0xff}), der(n)))
}
func skid(id string) pkix.Extension { return ext(14, false, tlv(4, []byte(id))) }
func akid(id string) pkix.Extension { return ext(35, false, seq(tlv(0x80, []byte(id)))) }

// san takes "dns:", "ip:" (in octets), "uri:", "email:" and "dir:" names.
func san(names ...string) pkix.Extension {
	var list [][]byte
	for _, n := range names {
		list = append(list, generalName(n))
	}
	return ext(17, false, seq(list...))
}

func generalName(name string) []byte {
	kinds := []struct {
		prefix string
		tag    byte
	}{{"dns:", 0x82}, {"ip:", 0x87}, {"uri:", 0x86}, {"email:", 0x81}, {"other:", 0xa0}, {"rid:", 0x88}}
	for _, k := range kinds {
		if len(name) >= len(k.prefix) && name[:len(k.prefix)] == k.prefix {
			return tlv(k.tag, []byte(name[len(k.prefix):]))
		}
	}
	return tlv(0xa4, dn(name[len("dir:"):]))
}

type subtrees []string

func constraints(critical bool, permitted, excluded subtrees) pkix.Extension {
	list := func(tag byte, names subtrees) []byte {
		if names == nil {
			return nil
		}
		var all [][]byte
		for _, n := range names {
			all = append(all, seq(generalName(n)))
		}
		return tlv(tag, all...)
	}
	return ext(30, critical, seq(list(0xa0, permitted), list(0xa1, excluded)))
}

// --- keys ---

var (
	keyMu   sync.Mutex
	keyPool = map[string]crypto.Signer{}
)

// key makes each named key once. The kind is what stands before a slash: "p256/root". Of the slow kinds there is one.
func key(name string) crypto.Signer {
	keyMu.Lock()
	defer keyMu.Unlock()
	if kind, _, _ := strings.Cut(name, "/"); kind == "rsa3072" || kind == "rsa4096" {
		name = kind
	}
	if k, ok := keyPool[name]; ok {
		return k
	}
	kind, _, _ := strings.Cut(name, "/")
	curves := map[string]elliptic.Curve{"p224": elliptic.P224(), "p256": elliptic.P256(), "p384": elliptic.P384(), "p521": elliptic.P521()}
	bits := map[string]int{"rsa1024": 1024, "rsa2048": 2048, "rsa3072": 3072, "rsa4096": 4096}
	var k crypto.Signer
	switch {
	case curves[kind] != nil:
		k = must(ecdsa.GenerateKey(curves[kind], rand.Reader))
	case bits[kind] != 0:
		k = must(rsa.GenerateKey(rand.Reader, bits[kind]))
	case kind == "exponent":
		k = exponentKey(must(strconv.ParseInt(strings.TrimPrefix(name, "exponent/"), 10, 64)))
	default:
		_, private, err := ed25519.GenerateKey(rand.Reader)
		k = must(private, err)
	}
	keyPool[name] = k
	return k
}

// exponent is an RSA key of 2048 bits with any public exponent, also one that crypto/rsa does not sign with.
type exponent struct {
	public  *rsa.PublicKey
	private *big.Int
}

func (k exponent) Public() crypto.PublicKey { return k.public }

// Sign is RSASSA-PKCS1-v1_5 with SHA-256 (RFC 8017 §8.2.1).
func (k exponent) Sign(_ io.Reader, digest []byte, _ crypto.SignerOpts) ([]byte, error) {
	info := seq(seq(der(asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 1}), derNull), tlv(4, digest))
	size := k.public.Size()
	block := append(append([]byte{0, 1}, bytes.Repeat([]byte{0xff}, size-3-len(info))...), 0)
	m := new(big.Int).SetBytes(append(block, info...))
	return m.Exp(m, k.private, k.public.N).FillBytes(make([]byte, size)), nil
}

func exponentKey(e int64) exponent {
	for {
		p, q := must(rand.Prime(rand.Reader, 1024)), must(rand.Prime(rand.Reader, 1024))
		n, one := new(big.Int).Mul(p, q), big.NewInt(1)
		phi := new(big.Int).Mul(p.Sub(p, one), q.Sub(q, one))
		d := new(big.Int).ModInverse(big.NewInt(e), phi)
		if d != nil && n.BitLen() == 2048 {
			return exponent{public: &rsa.PublicKey{N: n, E: int(e)}, private: d}
		}
	}
}

func natural(key crypto.Signer) sigalg {
	switch k := key.(type) {
	case *rsa.PrivateKey, exponent:
		return rsaSHA256
	case *ecdsa.PrivateKey:
		return map[int]sigalg{224: ecSHA256, 256: ecSHA256, 384: ecSHA384, 521: ecSHA512}[k.Curve.Params().BitSize]
	}
	return edPure
}

// --- making ---

func (a sigalg) der() []byte {
	return seq(der(a.oid), a.params)
}

func (a sigalg) sign(key crypto.Signer, tbs []byte) []byte {
	var digest []byte
	switch a.hash {
	case crypto.SHA1:
		sum := sha1.Sum(tbs) // #nosec
		digest = sum[:]
	case crypto.SHA256:
		sum := sha256.Sum256(tbs)
		digest = sum[:]
	case crypto.SHA384:
		sum := sha512.Sum384(tbs)
		digest = sum[:]
	case crypto.SHA512:
		sum := sha512.Sum512(tbs)
		digest = sum[:]
	default:
		return must(key.Sign(rand.Reader, tbs, crypto.Hash(0)))
	}
	if a.pss {
		return must(key.Sign(rand.Reader, digest, &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash, Hash: a.hash}))
	}
	return must(key.Sign(rand.Reader, digest, a.hash))
}

var nextSerial int64 = 1000

// by signs the certificate with the key of an authority of this name.
func (c crafted) by(issuer []byte, signer crypto.Signer) []byte {
	if c.serial == nil {
		nextSerial++
		c.serial = der(big.NewInt(nextSerial))
	}
	if c.issuer == nil {
		c.issuer = issuer
	}
	if c.spki == nil {
		c.spki = must(x509.MarshalPKIXPublicKey(c.key.Public()))
	}
	if c.sigalg.oid == nil {
		c.sigalg = natural(signer)
	}
	inner := c.sigalg
	if c.inner != nil {
		inner = *c.inner
	}
	parts := [][]byte{}
	if c.version != 0 {
		parts = append(parts, tlv(0xa0, der(c.version)))
	}
	parts = append(parts, c.serial, inner.der(), c.issuer, seq(der(c.from), der(c.to)), c.subject, c.spki)
	if c.unique {
		parts = append(parts, tlv(0x81, []byte{0, 1, 2}), tlv(0x82, []byte{0, 3}))
	}
	if len(c.extensions) > 0 {
		parts = append(parts, tlv(0xa3, der(c.extensions)))
	}
	tbs := seq(parts...)
	if c.mangle != nil {
		tbs = c.mangle(tbs)
	}
	signature := c.sigalg.sign(signer, tbs)
	if c.badSign {
		signature[len(signature)-1] ^= 1
	}
	bits := asn1.BitString{Bytes: signature, BitLength: 8 * len(signature)}
	return append(seq(tbs, c.sigalg.der(), der(bits)), c.trailing...)
}

type change func(*crafted)

func craft(cn string, key crypto.Signer, extensions []pkix.Extension, changes []change) crafted {
	now := time.Now()
	c := crafted{version: 2, subject: dn(cn), key: key, extensions: extensions,
		from: utc(now.Add(-time.Hour)), to: utc(now.Add(24 * time.Hour))}
	for _, f := range changes {
		f(&c)
	}
	return c
}

// Changes of a certificate from the usual one.
func with(e ...pkix.Extension) change {
	return func(c *crafted) {
		for _, one := range e {
			replaced := false
			for i := range c.extensions {
				if c.extensions[i].Id.Equal(one.Id) {
					c.extensions[i], replaced = one, true
				}
			}
			if !replaced {
				c.extensions = append(c.extensions, one)
			}
		}
	}
}
func also(e ...pkix.Extension) change {
	return func(c *crafted) { c.extensions = append(c.extensions, e...) }
}
func without(arc int) change {
	return func(c *crafted) {
		var kept []pkix.Extension
		for _, e := range c.extensions {
			if !e.Id.Equal(asn1.ObjectIdentifier{2, 5, 29, arc}) {
				kept = append(kept, e)
			}
		}
		c.extensions = kept
	}
}
func signed(a sigalg) change { return func(c *crafted) { c.sigalg = a } }
func during(from, to time.Duration) change {
	return func(c *crafted) { c.from, c.to = utc(time.Now().Add(from)), utc(time.Now().Add(to)) }
}

var (
	expired = during(-48*time.Hour, -24*time.Hour)
	future  = during(24*time.Hour, 48*time.Hour)
)

// rsaSPKI is the key "rsa2048/odd" with other parameters of its algorithm.
func rsaSPKI(params []byte) []byte {
	public := key("rsa2048/odd").Public().(*rsa.PublicKey)
	return seq(seq(der(under(oidRSA, 1)), params), tlv(3, []byte{0}, seq(der(public.N), der(public.E))))
}
