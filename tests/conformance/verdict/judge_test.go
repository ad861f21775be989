// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"bufio"
	"bytes"
	"crypto/x509"
	"encoding/binary"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

const verdictsProgram = "../../../build/interop/verdicts"

// chain is what a server sends to a client that trusts some authorities; all of it is DER.
type chain struct {
	name    string
	anchors [][]byte
	sent    [][]byte  // the server's own first
	host    string    // empty: the name does not matter
	at      time.Time // for Go; zero: now
}

// judgeProgram is the agent's verifier as a program without a network: tests/interop/verdicts.c.
type judgeProgram struct {
	cmd *exec.Cmd
	in  *bufio.Writer
	out *bufio.Reader
}

func startJudge(t *testing.T) *judgeProgram {
	t.Helper()
	p, stdin, err := runJudge()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		if err := p.cmd.Wait(); err != nil {
			t.Errorf("verdicts: %v", err)
		}
	})
	return p
}

func runJudge() (*judgeProgram, io.Closer, error) {
	cmd := exec.Command(verdictsProgram)
	cmd.Stderr = os.Stderr
	stdin := must(cmd.StdinPipe())
	p := &judgeProgram{cmd: cmd, in: bufio.NewWriter(stdin), out: bufio.NewReader(must(cmd.StdoutPipe()))}
	return p, stdin, cmd.Start()
}

// says is the agent's verdict: empty, or why the server is not trusted.
func (p *judgeProgram) says(c *chain) (string, error) {
	put := func(b []byte) {
		_ = binary.Write(p.in, binary.BigEndian, uint32(len(b)))
		_, _ = p.in.Write(b)
	}
	put(bytes.Join(c.anchors, nil))
	put([]byte(c.host))
	_ = binary.Write(p.in, binary.BigEndian, uint32(len(c.sent)))
	for _, raw := range c.sent {
		put(raw)
	}
	if err := p.in.Flush(); err != nil {
		return "", err
	}
	line, err := p.out.ReadString('\n')
	if err == io.EOF {
		return "", fmt.Errorf("%s: the program ended", c.name)
	}
	return strings.TrimPrefix(strings.TrimSuffix(line, "\n"), "ok"), err
}

// judge notes both verdicts on a chain.
func (p *judgeProgram) judge(t *testing.T, c *chain, all *tally, known ...string) {
	t.Helper()
	reason, err := p.says(c)
	if err != nil {
		t.Error(err)
		return
	}
	all.note(t, c, reason, goJudges(c), known...)
}

// goJudges is the verdict of crypto/x509, as goSays in verdict_test.go.
func goJudges(c *chain) error {
	roots, middles := x509.NewCertPool(), x509.NewCertPool()
	for _, raw := range c.anchors {
		if cert, err := x509.ParseCertificate(raw); err == nil {
			roots.AddCert(cert)
		}
	}
	var own *x509.Certificate
	for _, raw := range c.sent {
		cert, err := x509.ParseCertificate(raw)
		if err != nil {
			return err
		}
		if own == nil {
			own = cert
		} else {
			middles.AddCert(cert)
		}
	}
	_, err := own.Verify(x509.VerifyOptions{Roots: roots, Intermediates: middles, DNSName: c.host, CurrentTime: c.at})
	return err
}

// tally counts verdicts. The mutex is for both of the workers.
type tally struct {
	mu                       sync.Mutex
	chains, accepted, failed int
	stricter                 map[string]int // accepted by Go alone, by the reason of the agent
	reasons                  map[string]int
}

// note holds a verdict to Go's: what Go refuses is refused; what Go accepts is refused for a reason of `known` alone.
func (n *tally) note(t *testing.T, c *chain, reason string, want error, known ...string) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stricter == nil {
		n.stricter, n.reasons = map[string]int{}, map[string]int{}
	}
	n.chains++
	if reason == "" {
		n.accepted++
	} else {
		n.reasons[strings.SplitN(reason, ";", 2)[0]]++
	}
	if (reason == "") == (want == nil) {
		return
	}
	for _, words := range known {
		// The reason is that of the first chain; another one may be refused for its mappings.
		if reason != "" && (strings.Contains(reason, words) || words == mappings && c.maps()) {
			n.stricter[words]++
			return
		}
	}
	n.failed++
	if n.failed > 5 {
		return
	}
	t.Errorf("%s: the agent says %q, Go says %v; host %q\n%s", c.name, reason, want, c.host, c.pem())
}

// maps says whether a certificate maps policies, or ends what anyPolicy is good for.
func (c *chain) maps() bool {
	for _, raw := range append(append([][]byte{}, c.sent...), c.anchors...) {
		cert, err := x509.ParseCertificate(raw)
		if err != nil {
			continue
		}
		for _, e := range cert.Extensions {
			if e.Id.Equal(ext(33, false, nil).Id) || e.Id.Equal(ext(54, false, nil).Id) {
				return true
			}
		}
	}
	return false
}

// pem is the whole case for a report, authorities behind what was sent.
func (c *chain) pem() string {
	var all strings.Builder
	for i, raw := range append(append([][]byte{}, c.sent...), c.anchors...) {
		if i == len(c.sent) {
			all.WriteString("authorities:\n")
		}
		_ = pem.Encode(&all, &pem.Block{Type: "CERTIFICATE", Bytes: raw})
	}
	return all.String()
}
