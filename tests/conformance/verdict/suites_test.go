// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// The public suites, compared with Go: their own expectations are those of RFC 5280 with revocation lists and DSA, which neither
// Go nor the agent knows.

// What Go accepts and the agent refuses, by words of its reason.
const (
	mappings     = "certificate policies it does not have" // mappings are not followed, nor skips of inhibitAnyPolicy
	moreSent     = "among the first 32 certificates"       // those of X509_SENT_MAX
	manyPossible = "more possible issuers than are tried"  // those of X509_CANDIDATES_MAX; Go tries 100
)

// goFile is a file of Go's own sources: the toolchain's, which has them, or a release that a go.mod asked for.
func goFile(t *testing.T, path string) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), path)
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// run judges all chains of a suite.
func run(t *testing.T, suite string, chains []*chain, least int, known ...string) {
	t.Helper()
	var all tally
	var workers sync.WaitGroup
	queue := make(chan *chain, len(chains))
	for _, c := range chains {
		queue <- c
	}
	close(queue)
	for range runtime.NumCPU() {
		program := startJudge(t)
		workers.Go(func() {
			for c := range queue {
				program.judge(t, c, &all, known...)
			}
		})
	}
	workers.Wait()
	if all.chains < least {
		t.Errorf("%s: %d chains, at least %d are expected", suite, all.chains, least)
	}
	for _, words := range known {
		if all.stricter[words] == 0 {
			t.Errorf("%s: the difference %q is gone: take it off the list", suite, words)
		}
	}
	t.Logf("%s: %d chains, %d accepted by both, accepted by Go alone: %v", suite, all.chains, all.accepted, all.stricter)
}

// NIST's PKITS, in the sources of Go. Its certificates name no server, so no name is asked for.
func TestPKITS(t *testing.T) {
	folder := goFile(t, "src/crypto/x509/testdata/nist-pkits")
	if _, err := os.Stat(folder); err != nil {
		t.Skipf("NOT TESTED: this toolchain of Go comes without its own test data: %v", err)
	}
	var vectors []struct {
		Name     string
		CertPath []string
	}
	readJSON(t, filepath.Join(folder, "vectors.json"), &vectors)
	var chains []*chain
	for _, v := range vectors {
		c := &chain{name: v.Name}
		for i, name := range v.CertPath {
			raw, err := os.ReadFile(filepath.Join(folder, "certs", name))
			if err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				c.anchors = [][]byte{raw}
			} else {
				c.sent = append([][]byte{raw}, c.sent...) // the vectors begin with the authority
			}
		}
		chains = append(chains, c)
	}
	run(t, "PKITS", chains, 200, mappings)
}

// Netflix's BetterTLS, as Go's own test gets it: the module makes the certificates.
func TestBetterTLS(t *testing.T) {
	const (
		module = "github.com/Netflix/bettertls@v0.0.0-20250909192348-e1e99e353074"
		sum    = "h1:6edB5YkmH3zL98Z+6azXv8pI81UlKpr3ORpeEHopXLs="
	)
	var fetched struct{ Dir, Sum string }
	out, err := exec.Command("go", "mod", "download", "-json", module).Output()
	if err == nil {
		err = json.Unmarshal(out, &fetched)
	}
	if err != nil || fetched.Sum != sum {
		t.Fatalf("%s: %v, checksum %s\n%s", module, err, fetched.Sum, out)
	}
	file := filepath.Join(t.TempDir(), "tests.json")
	export := exec.Command("go", "run", "./test-suites/cmd/bettertls", "export-tests", "--out", file)
	export.Dir = fetched.Dir
	if out, err := export.CombinedOutput(); err != nil {
		t.Fatalf("export-tests: %v\n%s", err, out)
	}
	var suites struct {
		Root   []byte `json:"trustRoot"`
		Suites map[string]struct {
			TestCases []struct {
				ID           uint32   `json:"id"`
				Certificates [][]byte `json:"certificates"`
				Hostname     string   `json:"hostname"`
			} `json:"testCases"`
		} `json:"suites"`
	}
	readJSON(t, file, &suites)
	var chains []*chain
	for _, suite := range []string{"pathbuilding", "nameconstraints"} {
		for _, test := range suites.Suites[suite].TestCases {
			chains = append(chains, &chain{name: suite, anchors: [][]byte{suites.Root}, sent: test.Certificates, host: test.Hostname})
		}
	}
	run(t, "BetterTLS", chains, 3000, moreSent)
}

// x509-limbo is on no registry that a build may ask: X509_LIMBO names its limbo.json.
func TestLimbo(t *testing.T) {
	path := os.Getenv("X509_LIMBO")
	if path == "" {
		t.Skip("NOT TESTED: X509_LIMBO names no limbo.json")
	}
	type peer struct {
		Kind  string `json:"kind"`
		Value string `json:"value"`
	}
	var suite struct {
		Cases []struct {
			ID       string     `json:"id"`
			Kind     string     `json:"validation_kind"`
			Trusted  []string   `json:"trusted_certs"`
			Peer     string     `json:"peer_certificate"`
			Between  []string   `json:"untrusted_intermediates"`
			Time     *time.Time `json:"validation_time"`
			PeerName *peer      `json:"expected_peer_name"`
		} `json:"testcases"`
	}
	readJSON(t, path, &suite)
	der := func(text string) []byte {
		if block, _ := pem.Decode([]byte(text)); block != nil {
			return block.Bytes
		}
		return must(base64.StdEncoding.DecodeString(text))
	}
	var chains []*chain
	for _, test := range suite.Cases {
		// The agent has the machine's time.
		if test.Kind != "SERVER" || test.Time != nil || test.PeerName == nil || !slices.Contains([]string{"DNS", "IP"}, test.PeerName.Kind) {
			continue
		}
		c := &chain{name: test.ID, host: test.PeerName.Value, sent: [][]byte{der(test.Peer)}}
		for _, text := range test.Trusted {
			c.anchors = append(c.anchors, der(text))
		}
		for _, text := range test.Between {
			c.sent = append(c.sent, der(text))
		}
		chains = append(chains, c)
	}
	run(t, "x509-limbo", chains, 100)
}
