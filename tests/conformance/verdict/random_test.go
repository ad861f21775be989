// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"crypto"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// How much a run of random chains makes, unless X509_CHAINS says another number. X509_SEED is the seed, 1 by default.
const (
	randomChains   = 20000
	chainsPerWorld = 100 // of one set of certificates: a signature costs more than a verdict
	authorities    = 9
	roots          = 3 // of these
	leaves         = 12
)

// world is a set of certificates, made by one seed: authorities of few names and keys, so that many of them fit many others,
// and servers' certificates.
type world struct {
	*rand.Rand
	number      uint64
	mangled     bool     // the structure of some certificates is changed before they are signed
	kinds       []string // of the authorities' keys
	authorities [][]byte
	leaves      [][]byte
}

func pick[T any](w *world, items ...T) T { return items[w.IntN(len(items))] }

func (w *world) oneIn(n int) bool { return w.IntN(n) == 0 }

type identity struct {
	cn  string
	key crypto.Signer
}

func newWorld(seed, number uint64) *world {
	w := &world{Rand: rand.New(rand.NewPCG(seed, number)), number: number,
		kinds: []string{"rsa2048", "rsa2048", "rsa2048", "rsa2048", "p256", "p256", "p384", "p521", "rsa3072"}}
	w.make(authorities, leaves)
	return w
}

// make signs so many certificates of authorities and of servers.
func (w *world) make(authorities, leaves int) {
	ids := make([]identity, authorities)
	for i := range ids {
		ids[i] = identity{string(rune('A' + w.IntN(6))), key(fmt.Sprint(pick(w, w.kinds...), "/", w.IntN(3)))}
		if i > 0 && w.oneIn(5) {
			ids[i] = ids[w.IntN(i)] // certified twice
		}
	}
	for i, id := range ids {
		issuer := ids[w.IntN(len(ids))]
		if i < roots {
			issuer = id
		} else if !w.oneIn(4) {
			issuer = ids[w.IntN(i)] // no circle
		}
		extensions, changes := w.authority(id, issuer)
		w.authorities = append(w.authorities, w.sign(craft(id.cn, id.key, extensions, changes), issuer))
	}
	for range leaves {
		issuer := ids[w.IntN(len(ids))]
		extensions, changes := w.server(issuer)
		leaf := craft("server", key(pick(w, "p256/leaf", "rsa2048/leaf", "p384/leaf")), extensions, changes)
		w.leaves = append(w.leaves, w.sign(leaf, issuer))
	}
}

func (w *world) sign(c crafted, issuer identity) []byte {
	signer := issuer.key
	if w.oneIn(25) {
		signer = key("p256/wrong")
	}
	c.badSign = w.oneIn(40)
	if w.mangled && w.oneIn(12) {
		c.mangle = w.mangle
	}
	if natural(signer).oid.Equal(rsaSHA256.oid) && w.oneIn(3) {
		c.sigalg = pick(w, rsaSHA384, rsaSHA512, rsaSHA1, pss(256, 256, 32), pss(384, 384, 48), pss(256, 384, 32), pss(256, 256, 20))
	}
	return c.by(dn(issuer.cn), signer)
}

// keyID is what identifiers of the authority's key say: usually the same in its own and in what it issued.
func (w *world) keyID(id identity) string {
	if w.oneIn(6) {
		return pick(w, "x", "y")
	}
	return id.cn
}

func (w *world) often(n int, e pkix.Extension) []pkix.Extension {
	if w.oneIn(n) {
		return nil
	}
	return []pkix.Extension{e}
}

func (w *world) seldom(n int, e pkix.Extension) []pkix.Extension {
	if !w.oneIn(n) {
		return nil
	}
	return []pkix.Extension{e}
}

func (w *world) authority(id, issuer identity) (all []pkix.Extension, changes []change) {
	add := func(e []pkix.Extension) { all = append(all, e...) }
	basic := ca()
	switch w.IntN(16) {
	case 0, 1, 2:
		basic = caLen(w.IntN(3))
	case 3:
		basic = ext(19, true, seq())
	}
	add(w.often(20, basic))
	if w.oneIn(3) {
		add([]pkix.Extension{pick(w, keyUsage(5), keyUsage(5, 6), keyUsage(5), keyUsage(0))})
	}
	add(w.seldom(6, pick(w, usages(serverAuth), usages(clientAuth), usages(anyUsage), usages(odd, serverAuth), usages(odd))))
	add(w.often(4, skid(w.keyID(id))))
	add(w.often(4, akid(w.keyID(issuer))))
	if w.oneIn(6) {
		add([]pkix.Extension{constraints(!w.oneIn(4), w.subtrees(), pick(w, w.subtrees(), nil, nil))})
	}
	add(w.policies())
	add(w.seldom(40, ext(99, true, der(1))))
	return all, w.common()
}

func (w *world) common() (changes []change) {
	switch w.IntN(50) {
	case 0:
		changes = append(changes, expired)
	case 1:
		changes = append(changes, future)
	case 2:
		changes = append(changes, func(c *crafted) { c.version, c.extensions = 0, nil })
	}
	return changes
}

func (w *world) policies() (all []pkix.Extension) {
	p, q, anyPolicy := under(odd, 1), under(odd, 2), asn1.ObjectIdentifier{2, 5, 29, 32, 0}
	if w.oneIn(4) {
		var list [][]byte
		for _, o := range []asn1.ObjectIdentifier{p, q, anyPolicy} {
			if w.oneIn(2) {
				list = append(list, seq(der(o)))
			}
		}
		if list != nil {
			all = append(all, ext(32, w.oneIn(2), seq(list...)))
		}
	}
	all = append(all, w.seldom(12, ext(36, true, seq(tlv(0x80, []byte{byte(w.IntN(3))}))))...)
	all = append(all, w.seldom(40, ext(54, true, der(w.IntN(3))))...)
	return append(all, w.seldom(50, ext(33, w.oneIn(2), seq(seq(der(p), der(pick(w, p, q, anyPolicy))))))...)
}

func (w *world) subtrees() (all subtrees) {
	for range 1 + w.IntN(2) {
		all = append(all, pick(w, "dns:test", "dns:.test", "dns:api.test", "dns:else.test", "dns:wild.test", "dns:",
			"ip:\x7f\x00\x00\x00\xff\x00\x00\x00", "ip:\x0a\x00\x00\x00\xff\x00\x00\x00",
			"ip:"+strings.Repeat("\x00", 15)+"\x01"+strings.Repeat("\xff", 16),
			"email:test", "email:a@b.test", "email:.b.test", "uri:.test", "uri:api.test", "dir:server"))
	}
	return all
}

func (w *world) server(issuer identity) (all []pkix.Extension, changes []change) {
	var names []string
	for range w.IntN(4) {
		names = append(names, pick(w, "dns:API.test", "dns:*.wild.test", "dns:else.test", "dns:*.test", "dns:a*.test",
			"dns:*", "dns:under_score.test", "dns:api.test.", "dns:xn--e1afmkfd.test", "ip:\x7f\x00\x00\x01", "ip:\x0a\x01\x02\x03",
			"ip:"+strings.Repeat("\x00", 15)+"\x01", "email:a@b.test", "uri:https://api.test/x", "uri:spiffe://else.test/x",
			"uri:https://10.1.2.3/", "dir:server", "other:\x06\x01\x2a"))
	}
	if w.oneIn(20) {
		names = append(names, pick(w, "ip:\x7f\x00", "email:b", "dns:", "dns:\xff", "uri:%zz"))
	}
	if !w.oneIn(10) {
		names = append(names, "dns:api.test")
	}
	if names != nil {
		all = append(all, san(names...))
	}
	all = append(all, w.seldom(4, pick(w, usages(serverAuth), usages(serverAuth, clientAuth), usages(clientAuth), usages(anyUsage)))...)
	all = append(all, w.often(3, akid(w.keyID(issuer)))...)
	all = append(all, w.seldom(3, pick(w, keyUsage(0), keyUsage(5), keyUsage(0, 2)))...)
	all = append(all, w.seldom(10, pick(w, ca(), ext(19, true, seq())))...)
	all = append(all, w.policies()...)
	all = append(all, w.seldom(40, ext(99, w.oneIn(2), der(1)))...)
	return all, w.common()
}

// chain chooses what a server sends and what its client trusts.
func (w *world) chain(n int) *chain {
	leaf := w.leaves[w.IntN(len(w.leaves))]
	c := &chain{name: fmt.Sprintf("world %d, chain %d", w.number, n), sent: [][]byte{leaf}}
	c.host = "api.test"
	if w.oneIn(3) {
		c.host = pick(w, "API.TEST", "api.test.", "x.wild.test", "a.b.wild.test", "else.test", "under_score.test",
			"xn--e1afmkfd.test", "127.0.0.1", "10.1.2.3", "::1", "[::1]", "127.0.0.1.", "-x.test", "api..test")
	}
	for i, at := range w.Perm(len(w.authorities)) {
		switch {
		case at < roots && !w.oneIn(3), w.oneIn(12):
			c.anchors = append(c.anchors, w.authorities[at])
		case i < 8 && !w.oneIn(4):
			c.sent = append(c.sent, w.authorities[at])
		}
	}
	if w.oneIn(40) || len(c.anchors) == 0 {
		c.anchors = append(c.anchors, leaf)
	}
	return c
}

func number(t *testing.T, variable string, otherwise uint64) uint64 {
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// Chains that chance makes, each signed: none is accepted that Go refuses, and none refused that Go accepts but for a reason
// that is listed. A seed makes the same structures each time; keys and signatures are new.
func TestRandomChains(t *testing.T) {
	seed, chains := number(t, "X509_SEED", 1), number(t, "X509_CHAINS", randomChains)
	all := judgeWorlds(t, chains, func(n uint64) *world { return newWorld(seed, n) }, mappings, manyPossible)
	if share := all.accepted * 100 / max(all.chains, 1); share < 3 || share > 80 {
		t.Errorf("%d %% of the chains are accepted: chance makes too much alike", share)
	}
}

// judgeWorlds judges chains of as many worlds as they need, and shows the figures.
func judgeWorlds(t *testing.T, chains uint64, made func(n uint64) *world, known ...string) *tally {
	started := time.Now()
	var all tally
	var workers sync.WaitGroup
	worlds := make(chan *world, 2)
	for range runtime.NumCPU() {
		program := startJudge(t)
		workers.Go(func() {
			for w := range worlds {
				for n := range chainsPerWorld {
					program.judge(t, w.chain(n), &all, known...)
				}
			}
		})
	}
	for n := range chains / chainsPerWorld {
		worlds <- made(n)
	}
	close(worlds)
	workers.Wait()
	t.Logf("%d chains in %v, %d accepted, refused by Go and accepted: 0 unless it failed; accepted by Go alone: %v",
		all.chains, time.Since(started).Round(time.Second), all.accepted, all.stricter)
	if testing.Verbose() {
		for reason, n := range all.reasons {
			t.Logf("%7d %s", n, reason)
		}
	}
	return &all
}
