// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"hash/fnv"
	"math/rand/v2"
	"testing"
)

const (
	mangledChains = 3000
	// Go's verifier leaves a server's key that it does not know to crypto/tls, which then refuses it.
	unknownKey = "a key that is not supported"
)

// recipe is a source of chance that takes one decision from each byte, and from a sum of them once they have ended. A fuzzer
// that changes one byte changes one decision, and a signature is always made of the certificate that results.
type recipe struct {
	bytes []byte
	rest  *rand.PCG
}

func recipeOf(bytes []byte) *recipe {
	sum := fnv.New64a()
	_, _ = sum.Write(bytes)
	return &recipe{bytes, rand.NewPCG(sum.Sum64(), 0)}
}

func (r *recipe) Uint64() uint64 {
	if len(r.bytes) == 0 {
		return r.rest.Uint64()
	}
	// rand takes a choice of n from the high bits.
	v := uint64(r.bytes[0])<<56 | uint64(r.bytes[0])<<24
	r.bytes = r.bytes[1:]
	return v
}

// world of few certificates with keys that sign quickly.
func (r *recipe) world() *world {
	w := &world{Rand: rand.New(r), kinds: []string{"p256", "p256", "p384"}, mangled: true}
	w.make(roots+1, 1)
	return w
}

// Chains of certificates whose structure was changed before they were signed, so that no signature tells.
func TestMangledChains(t *testing.T) {
	seed, chains := number(t, "X509_SEED", 1), number(t, "X509_CHAINS", mangledChains)
	all := judgeWorlds(t, chains, func(n uint64) *world {
		w := &world{Rand: rand.New(rand.NewPCG(seed, n)), number: n, kinds: []string{"p256", "rsa2048"}, mangled: true}
		w.make(authorities, leaves)
		return w
	}, mappings, manyPossible, unknownKey)
	if all.accepted == 0 || all.accepted == all.chains {
		t.Errorf("%d of %d chains are accepted", all.accepted, all.chains)
	}
}

// FuzzRecipes makes a chain of each input: make x509-fuzz. Without -fuzz only the inputs below run.
func FuzzRecipes(f *testing.F) {
	for n := range 64 {
		f.Add([]byte{byte(n), byte(n * 7), byte(n * 31), byte(n * 101)})
	}
	f.Add([]byte{})
	program, stdin, err := runJudge() // one for all inputs of a worker
	if err != nil {
		f.Fatal(err)
	}
	defer stdin.Close()
	f.Fuzz(func(t *testing.T, bytes []byte) {
		var all tally
		program.judge(t, recipeOf(bytes).world().chain(0), &all, mappings, manyPossible, unknownKey)
	})
}
