// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io"
	"os"
	"sort"
	"testing"
	"time"
)

// The situations of situations_test.go as a file, with Go's verdicts, which the unit tests read without Go:
// tests/unit/test_x509_vectors.c. `make x509-vectors` records it; tests/gates/test_vectors.py compares the digest of the
// sources that it was made from.
const vectorsFile = "../../vectors/x509/situations.zip"

// vectorSources make the situations and decide about them.
var vectorSources = []string{"craft_test.go", "openssl_test.go", "situations_test.go", "verdict_test.go"}

// vector is a situation with its verdict.
type vector struct {
	situation
	trusted bool
}

func vectors(t *testing.T) []vector {
	t.Helper()
	var all []vector
	for _, s := range situations(t) {
		_, differs := differences[s.name]
		all = append(all, vector{s, goSays(&s) == nil && !differs})
	}
	sort.Slice(all, func(i, k int) bool { return all[i].name < all[k].name })
	return all
}

// encodeVectors writes numbers of four octets, the high one first: the time in seconds and the number of situations; of each
// name, host, words, bundle, whether it is trusted, and the certificates sent. A text has its length before it.
func encodeVectors(all []vector, at time.Time) []byte {
	var out bytes.Buffer
	number := func(n int64) { _ = binary.Write(&out, binary.BigEndian, uint32(n)) }
	put := func(b []byte) {
		number(int64(len(b)))
		out.Write(b)
	}
	number(at.Unix())
	number(int64(len(all)))
	for _, v := range all {
		put([]byte(v.name))
		put([]byte(v.host))
		put([]byte(v.words))
		put(v.bundle)
		trusted := int64(0)
		if v.trusted {
			trusted = 1
		}
		number(trusted)
		number(int64(len(v.sent)))
		for _, der := range v.sent {
			put(der)
		}
	}
	return out.Bytes()
}

func sourcesSum() string {
	sum := sha256.New()
	for _, name := range vectorSources {
		sum.Write(must(os.ReadFile(name)))
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// decodeVectors is the opposite of encodeVectors, without keys.
func decodeVectors(b []byte) []vector {
	number := func() int {
		n := binary.BigEndian.Uint32(b)
		b = b[4:]
		return int(n)
	}
	take := func() []byte {
		n := number()
		part := b[:n]
		b = b[n:]
		return part
	}
	_ = number()
	all := make([]vector, number())
	for i := range all {
		v := &all[i]
		v.name, v.host, v.words, v.bundle = string(take()), string(take()), string(take()), take()
		v.trusted = number() == 1
		v.sent = make([][]byte, number())
		for k := range v.sent {
			v.sent[k] = take()
		}
	}
	return all
}

func readEntry(t *testing.T, archive *zip.ReadCloser, name string) []byte {
	t.Helper()
	file, err := archive.Open(name)
	if err != nil {
		t.Fatalf("%s: %v: make x509-vectors", vectorsFile, err)
	}
	defer file.Close()
	return must(io.ReadAll(file))
}

// The recorded file has the situations of today with the verdicts of today's Go. With X509_VECTORS=record it is written.
func TestVectors(t *testing.T) {
	now := vectors(t)
	if os.Getenv("X509_VECTORS") == "record" {
		writeVectors(t, now)
	}
	archive, err := zip.OpenReader(vectorsFile)
	if err != nil {
		t.Fatalf("%v: make x509-vectors", err)
	}
	defer archive.Close()
	if sum := string(readEntry(t, archive, "sources")); sum != sourcesSum() {
		t.Errorf("recorded from other sources (%.8s): make x509-vectors", sum)
	}
	recorded := decodeVectors(readEntry(t, archive, "situations"))
	if len(recorded) != len(now) {
		t.Fatalf("%d situations recorded, %d there are: make x509-vectors", len(recorded), len(now))
	}
	for i, v := range recorded {
		w := now[i]
		if v.name != w.name || v.host != w.host || v.words != w.words || v.trusted != w.trusted || len(v.sent) != len(w.sent) {
			t.Errorf("%q is recorded as %q, trusted %v: make x509-vectors", w.name, v.name, v.trusted)
		}
	}
}

func writeVectors(t *testing.T, all []vector) {
	t.Helper()
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	for name, content := range map[string][]byte{"situations": encodeVectors(all, time.Now()), "sources": []byte(sourcesSum())} {
		if _, err := must(archive.Create(name)).Write(content); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(vectorsFile, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}
