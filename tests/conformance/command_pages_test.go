// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"archive/tar"
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"sigs.k8s.io/yaml"
)

// pageServer answers requests in the place of an agent, and counts them by path.
type pageServer struct {
	address string
	answer  func(path string, n int, w io.Writer) // n: how many requests for this path came before

	mu    sync.Mutex
	asked map[string]int
}

func startPages(t *testing.T, answer func(path string, n int, w io.Writer)) *pageServer {
	listener := listenApart(t, "127.0.0.1")
	t.Cleanup(func() { listener.Close() })
	s := &pageServer{address: listener.Addr().String(), answer: answer, asked: map[string]int{}}
	serveEach(listener, s.serve)
	return s
}

func (s *pageServer) serve(c net.Conn) {
	r := bufio.NewReader(c)
	request, _ := r.ReadString('\n')
	for line := request; line != "\r\n" && line != ""; {
		line, _ = r.ReadString('\n')
	}
	words := strings.Fields(request)
	if len(words) != 3 || words[2] != "HTTP/1.1" {
		return
	}
	s.mu.Lock()
	n := s.asked[words[1]]
	s.asked[words[1]]++
	s.mu.Unlock()
	s.answer(words[1], n, c)
}

func (s *pageServer) count(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[path]
}

// chunks writes a response in chunks; without `whole`, the last one is missing.
func chunks(w io.Writer, code string, whole bool, body ...string) {
	fmt.Fprintf(w, "HTTP/1.1 %s\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n", code)
	for _, b := range body {
		fmt.Fprintf(w, "%04x\r\n%s\r\n", len(b), b)
	}
	if whole {
		fmt.Fprint(w, "0\r\n\r\n")
	}
}

// failsOnce checks that a command printed nothing but one line of error.
func failsOnce(t *testing.T, got outcome, texts ...string) {
	t.Helper()
	if got.code != 1 || got.stdout != "" || strings.Count(got.stderr, "\n") != 1 {
		t.Errorf("%+v", got)
	}
	contains(t, got.stderr, texts...)
	if strings.Contains(got.stderr, "no agent") {
		t.Errorf("an agent responds: %s", got.stderr)
	}
}

// A page that ends before its last chunk is asked for again; what is printed is a whole page, or nothing.
func TestCutPage(t *testing.T) {
	t.Parallel()
	const whole = "apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\n"
	for cuts, ok := range map[int]bool{3: true, 4: false} {
		s := startPages(t, func(path string, n int, w io.Writer) {
			if n < cuts {
				chunks(w, "200 OK", false, whole[:30])
				return
			}
			chunks(w, "200 OK", true, whole[:30], whole[30:])
		})
		a := newAgent(t, "trn2.48xlarge")
		got := a.command(s.address, "slices")
		if ok && (got.code != 0 || got.stderr != "" || got.stdout != whole) {
			t.Errorf("%d cuts: %+v", cuts, got)
		}
		if !ok {
			failsOnce(t, got, "ends a page early: /slicesz; try again")
		}
		if n := s.count("/slicesz"); n != 4 {
			t.Errorf("%d requests", n)
		}
		dir := t.TempDir()
		_, lines := a.bundle(s.address, dir)
		text, _ := os.ReadFile(filepath.Join(dir, "metrics.txt"))
		if ok && (lines["metrics.txt"] != "wrote" || string(text) != whole) {
			t.Errorf("%d cuts: %q, %q", cuts, lines["metrics.txt"], text)
		}
		if !ok {
			contains(t, lines["metrics.txt"], "missing ", "ends a page early")
		}
	}
}

// An agent that cannot serve its slices now is not an agent that is not there: nothing is forecast. A connection that is refused,
// and an agent of a release without the page, are answered by a forecast.
func TestBusyAgent(t *testing.T) {
	t.Parallel()
	a := newAgent(t, "trn2.48xlarge")
	for code, reason := range map[string]string{"503 Service Unavailable": "too many scrapes at one time; try again",
		"500 Internal Server Error": "no"} {
		s := startPages(t, func(_ string, _ int, w io.Writer) { chunks(w, code, true, reason+"\nmore\n") })
		for _, form := range []string{"yaml", "json"} {
			got := a.command(s.address, "slices", "-o", form)
			failsOnce(t, got, "status "+code[:3]+": "+reason+"\n")
		}
	}
	s := startPages(t, func(_ string, _ int, w io.Writer) { chunks(w, "404 Not Found", true, "no such page\n") })
	for _, address := range []string{s.address, closedPort(t)} {
		got := a.command(address, "slices")
		contains(t, got.stdout, "kind: ResourceSlice")
		contains(t, got.stderr, "what an agent with these settings would publish here: ")
		if got.code != 0 {
			t.Errorf("%+v", got)
		}
	}
	s = startPages(t, func(_ string, _ int, w io.Writer) { fmt.Fprint(w, "SSH-2.0-x\r\n\r\n") })
	if got := a.command(s.address, "slices"); got.code != 1 || got.stdout != "" || strings.Contains(got.stderr, "would publish") ||
		!strings.Contains(got.stderr, "another program has this port; find it by ss -ltnp") {
		t.Errorf("another program: %+v", got)
	}
}

// onFile runs a command with this file as standard output (1) or standard error (2).
func (a *agent) onFile(address string, fd int, path string, words ...string) outcome {
	a.t.Helper()
	_, port, err := net.SplitHostPort(address)
	check(a.t, err)
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	check(a.t, err)
	defer file.Close()
	cmd := exec.Command(agentBinary, append(append(words, a.commandLine()...), "--metrics-port", port)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if fd == 1 {
		cmd.Stdout = file
	} else {
		cmd.Stderr = file
	}
	_ = cmd.Run()
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// A failed write is reported as a failed write; a note that cannot be written to standard error does not fail the command.
func TestFailedWrites(t *testing.T) {
	t.Parallel()
	s := startPages(t, func(_ string, _ int, w io.Writer) { chunks(w, "200 OK", true, "kind: ResourceSlice\n") })
	a := newAgent(t, "trn2.48xlarge")
	for _, address := range []string{s.address, closedPort(t)} {
		got := a.onFile(address, 1, "/dev/full", "slices", "-o", "json")
		contains(t, got.stderr, "standard output cannot be written: no space left on device\n")
		if got.code != 1 || address == s.address && strings.Contains(got.stderr, "no agent") {
			t.Errorf("%+v", got)
		}
	}
	if got := a.onFile(closedPort(t), 2, "/dev/full", "slices"); got.code != 0 || !strings.Contains(got.stdout, "kind: ResourceSlice") {
		t.Errorf("slices without stderr: %+v", got)
	}
	got := a.onFile(closedPort(t), 2, "/dev/full", "bundle", "-")
	names := 0
	for r := tar.NewReader(strings.NewReader(got.stdout)); ; names++ {
		if _, err := r.Next(); err != nil {
			break
		}
	}
	if got.code != 1 || names < 4 || len(got.stdout)%512 != 0 {
		t.Errorf("bundle without stderr: exit code %d, %d files", got.code, names)
	}
}

// A reader that takes its time is not a slow agent.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	line := strings.Repeat("é", 500) + "\n"
	whole := strings.Repeat(line, 64)
	s := startPages(t, func(_ string, _ int, w io.Writer) { // a chunk ends inside a character
		chunks(w, "200 OK", true, whole[:333], whole[333:20000], whole[20000:40001], whole[40001:])
	})
	a := newAgent(t, "trn2.48xlarge")
	_, port, err := net.SplitHostPort(s.address)
	check(t, err)
	r, w, err := os.Pipe()
	check(t, err)
	defer r.Close()
	_, err = unix.FcntlInt(w.Fd(), unix.F_SETPIPE_SZ, 4096)
	check(t, err)
	cmd := exec.Command(agentBinary, append(append([]string{"slices"}, a.commandLine()...), "--metrics-port", port)...)
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = w, &stderr
	check(t, cmd.Start())
	w.Close()
	time.Sleep(6 * time.Second)
	text, err := io.ReadAll(r)
	check(t, err)
	if err := cmd.Wait(); err != nil || string(text) != whole {
		t.Errorf("%v, %d bytes: %s", err, len(text), stderr.String())
	}
}

// A reason that is as long as a page stays valid text in a document, whatever its bytes.
func TestCheckLongReason(t *testing.T) {
	t.Parallel()
	a := newAgent(t, "trn2.48xlarge")
	for _, char := range []string{"\x01", "\xc2\x9b", "\xff", "a"} {
		long := strings.Repeat(char, 16000)
		s := startPages(t, func(path string, _ int, w io.Writer) {
			code := map[string]string{"/readyz": "503 Service Unavailable"}[path]
			if code == "" {
				code = "200 OK"
			}
			chunks(w, code, true, long, "\ntrouble: ", long)
		})
		for _, form := range []string{"json", "yaml"} {
			got := a.command(s.address, "check", "-o", form)
			var c checked
			err := json.Unmarshal([]byte(got.stdout), &c)
			if form == "yaml" {
				err = yaml.Unmarshal([]byte(got.stdout), &c)
			}
			if err != nil || got.code != 1 || c.Ready || len(c.Reasons) != 2 || len(c.Reasons[0]) < 1000 {
				t.Errorf("%q as %s: %v, exit code %d, %d reasons, %s", char, form, err, got.code, len(c.Reasons), got.stderr)
			}
		}
	}
}

// A page without an end takes neither memory nor disk beyond a limit; the other files of the bundle are there.
func TestBundleEndlessPage(t *testing.T) {
	t.Parallel()
	endless := strings.Repeat("x", 1<<15)
	s := startPages(t, func(path string, _ int, w io.Writer) {
		if path != "/metrics" {
			chunks(w, "200 OK", true, "ok\n")
			return
		}
		chunks(w, "200 OK", false)
		for err := error(nil); err == nil; {
			_, err = fmt.Fprintf(w, "%x\r\n%s\r\n", len(endless), endless)
		}
	})
	a := newAgent(t, "trn2.48xlarge")
	got := a.command(s.address, "bundle", "-")
	contains(t, got.stderr, "missing neuron-dra-agent/metrics.txt: the agent at port ", " sends a page that is too long: /metrics")
	if got.code != 1 || len(got.stdout) > 1<<20 {
		t.Errorf("exit code %d, %d bytes", got.code, len(got.stdout))
	}
	_, lines := a.bundle(s.address, t.TempDir())
	contains(t, lines["metrics.txt"], "missing ", "too long")
	if lines["readyz.txt"] != "wrote" {
		t.Errorf("%v", lines)
	}
}

// A file that another program makes in the directory of a bundle meanwhile stays as it is.
func TestBundleLeavesOthersFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	foreign := filepath.Join(dir, "devices.txt")
	s := startPages(t, func(path string, n int, w io.Writer) {
		if path == "/readyz" && n == 0 { // `check` asks for it before devices.txt is written
			_ = os.WriteFile(foreign, []byte("foreign"), 0o600)
		}
		chunks(w, "200 OK", true, "ok\n")
	})
	got, lines := newAgent(t, "trn2.48xlarge").bundle(s.address, dir)
	contains(t, lines["devices.txt"], "missing exists already")
	if text, err := os.ReadFile(foreign); err != nil || string(text) != "foreign" || got.code != 1 {
		t.Errorf("%v, %q, %+v", err, text, got)
	}
}

// Without room for an anonymous file, bundle - says what works instead.
func TestBundleWithoutAnonymousFile(t *testing.T) {
	t.Parallel()
	a := newAgent(t, "trn2.48xlarge")
	cmd := exec.Command("sh", append([]string{"-c", `ulimit -n 3; exec "$0" bundle - "$@"`, agentBinary}, a.commandLine()...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	_ = cmd.Run()
	failsOnce(t, outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}, "too many open files in this process; give a directory")
}

// terminal is a new terminal: its master, and the path of its other side.
func terminal(t testing.TB) (*os.File, string) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	check(t, err)
	t.Cleanup(func() { master.Close() })
	fd := int(master.Fd())
	check(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	check(t, err)
	return master, fmt.Sprintf("/dev/pts/%d", number)
}

// shownOn is what a command writes to a terminal.
func (a *agent) shownOn(address string, words ...string) string {
	a.t.Helper()
	master, path := terminal(a.t)
	text := make(chan string)
	keep, err := os.OpenFile(path, os.O_RDWR|unix.O_NOCTTY, 0) // so that the master reads on until its end below
	check(a.t, err)
	go func() {
		all, _ := io.ReadAll(master) // ends with EIO when nobody has the other side open
		text <- string(all)
	}()
	a.onFile(address, 1, path, words...)
	keep.Close()
	return <-text
}

// On a terminal, `devices` colours its own table; no other text gets a byte through that the terminal obeys.
func TestColourOnTerminal(t *testing.T) {
	t.Parallel()
	s := startPages(t, func(_ string, _ int, w io.Writer) {
		chunks(w, "503 Service Unavailable", true, "a\x1b[1;3\x07mb\x1b[1;31mc\x1b[0md\n")
	})
	a := newAgent(t, "trn2.48xlarge")
	simnode(t, "remove", "--dir", a.node, "neuron5")
	contains(t, a.shownOn(s.address, "devices"), "\x1b[1;31mgone", "\x1b[0m")
	text := a.shownOn(s.address, "check")
	contains(t, text, `a\x1b[1;3\x07mb\x1b[1;31mc\x1b[0md`)
	if strings.ContainsAny(text, "\x1b\x07") {
		t.Errorf("check: %q", text)
	}
	if text := a.shownOn(s.address, "devices", "-o", "yaml"); strings.Contains(text, "\x1b") {
		t.Errorf("a document with colours: %q", text)
	}
}

// -w ends when nobody reads its output any more, though nothing changes that it would write.
func TestWatchEndsWithReader(t *testing.T) {
	t.Parallel()
	a := newAgent(t, "trn2.48xlarge")
	r, w, err := os.Pipe()
	check(t, err)
	cmd := exec.Command(agentBinary, append([]string{"devices", "-w"}, a.commandLine()...)...)
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = w, &stderr
	check(t, cmd.Start())
	w.Close()
	_, err = bufio.NewReader(r).ReadString('\n')
	check(t, err)
	time.Sleep(time.Second) // the whole output is in the pipe
	check(t, r.Close())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil || stderr.String() != "" {
			t.Errorf("ended by %v: %s", err, stderr.String())
		}
	case <-time.After(patience):
		t.Error("still watching")
		check(t, cmd.Process.Kill())
		<-ended
	}
}

// A command that watches nothing refuses to.
func TestWatchRefused(t *testing.T) {
	t.Parallel()
	a := newAgent(t, "trn2.48xlarge")
	for _, what := range []string{"slices", "check", "reservations"} {
		got := a.command(closedPort(t), what, "--watch")
		if got.code != 2 || got.stdout != "" || got.stderr != "neuron-dra-agent: --watch has no effect with "+what+
			"; see "+what+" --help\n" {
			t.Errorf("%+v", got)
		}
	}
}

// With standard descriptors closed, no file that a command opens gets their text.
func TestClosedDescriptors(t *testing.T) {
	t.Parallel()
	a := newAgent(t, "trn2.48xlarge")
	closed := func(redirections string, words ...string) (int, string) {
		cmd := exec.Command("sh", append([]string{"-c", `exec "$0" "$@" ` + redirections, agentBinary}, append(words, a.commandLine()...)...)...)
		out, _ := cmd.Output()
		return cmd.ProcessState.ExitCode(), string(out)
	}
	dir := filepath.Join(t.TempDir(), "bundle")
	closed("<&- >&- 2>&-", "bundle", dir)
	entries := must(os.ReadDir(dir))
	for _, e := range entries {
		text := string(must(os.ReadFile(filepath.Join(dir, e.Name()))))
		if strings.Contains(text, "wrote ") || strings.Contains(text, "missing ") {
			t.Errorf("%s: %s", e.Name(), text)
		}
	}
	if len(entries) < 4 {
		t.Errorf("%d files", len(entries))
	}
	for _, words := range [][]string{{"slices"}, {"slices", "-o", "json"}} {
		if code, out := closed("2>&-", words...); code != 0 || !strings.Contains(out, "ResourceSlice") || strings.Contains(out, "would publish") {
			t.Errorf("%v: exit code %d, %d bytes", words, code, len(out))
		}
	}
}
