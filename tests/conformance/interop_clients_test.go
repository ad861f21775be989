// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// What `make interop-programs` builds.
const interopDir = "../../build/interop/"

var interopTable = newTable("interop", "peer", "its role", "cases passed")

// clientCases are what each client does; the names are those that it prints.
var clientCases = []string{
	// the agent: registration and service socket, health port
	"GetInfo", "Notify", "prepare", "prepare refused", "health", "health stream", "resource health stream", "sockets",
	"cancel", "deadline of the client", "deadline of the server", "largest message", "4 MiB", "100 calls",
	"compressed", "metadata", "same sockets", "restart", "restart under calls",
	// the engine behind it, with methods that the agent does not have
	"status text", "stream", "4 MiB reply", "100 streams", "watch", "GOAWAY",
}

// moduleVersion is the release that a go.mod names.
func moduleVersion(t testing.TB, file, module string) string {
	t.Helper()
	found := regexp.MustCompile(module + ` v(\S+)`).FindStringSubmatch(string(must(os.ReadFile(file))))
	if found == nil {
		t.Fatalf("%s names no %s", file, module)
	}
	return found[1]
}

func firstWord(t testing.TB, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		t.Fatalf("%s: %v: run tools/build/deps.sh all", name, err)
	}
	return strings.Fields(string(out))[0]
}

// Each client in its own language, with its own library, does all that the kubelet does and more.
func TestInteropClients(t *testing.T) {
	t.Parallel()
	const interop, library = "../interop/", "google.golang.org/grpc"
	now := moduleVersion(t, interop+"grpcgo/go.mod", library)
	if current := moduleVersion(t, "go.mod", library); now != current {
		t.Errorf("tests/interop/grpcgo speaks grpc-go %s: the kubelet of these tests %s", now, current)
	}
	node := exec.Command("node", interop+"grpcjs/client.js")
	node.Env = append(os.Environ(), "NODE_PATH="+must(filepath.Abs(interopDir+"grpcjs/node_modules")))
	python := "/usr/bin/python3"
	core := firstWord(t, python, "-c", "import grpc; print(grpc.__version__)")
	script := firstWord(t, "node", "-p", `require("`+must(filepath.Abs(interopDir))+`/grpcjs/node_modules/@grpc/grpc-js/package.json").version`)
	for name, cmd := range map[string]*exec.Cmd{
		"grpc-go " + now: exec.Command(interopDir + "grpcgo"),
		"grpc-go " + moduleVersion(t, interop+"grpcgo2023/go.mod", library):           exec.Command(interopDir + "grpcgo2023"),
		"grpc C-core " + core + " (Python)":                                           exec.Command(python, interop+"ccore/client.py"),
		"grpc-js " + script + " (node " + firstWord(t, "node", "--version")[1:] + ")": node,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			newClientRun(t).run(name, cmd)
		})
	}
}

// clientRun is one client, its agent and its engine.
type clientRun struct {
	t       *testing.T
	api     *apiServer
	agent   *agent
	engine  string // its socket
	fetched int    // GETs of the slow claim that the client was told of
	sockets []string
	mu      sync.Mutex
	slow    int // GETs of it so far
}

func newClientRun(t *testing.T) *clientRun {
	t.Helper()
	r := &clientRun{t: t, api: startAPIServer(t), agent: newAgent(t, "trn2.48xlarge")}
	r.api.setFaults(func(kind string, _ http.ResponseWriter, q *http.Request) bool {
		if kind != "claim" || !strings.HasSuffix(q.URL.Path, "/slow") {
			return false
		}
		r.mu.Lock()
		r.slow++
		r.mu.Unlock()
		<-q.Context().Done()
		return true
	})
	r.agent.args = append(r.agent.args, "--kubeconfig", r.api.kubeconfig(r.agent.dir), "--healthcheck-port", "0")
	r.agent.start()
	r.agent.register()
	r.api.published()
	r.engine = startEngine(t, r.agent.dir)
	return r
}

// startEngine runs src/wire's gRPC server under sanitizers; whatever it says is a failure.
func startEngine(t *testing.T, dir string) (socket string) {
	t.Helper()
	socket = filepath.Join(dir, "e")
	cmd := exec.Command(interopDir+"engine", socket)
	stdin, err := cmd.StdinPipe()
	check(t, err)
	var said strings.Builder
	cmd.Stderr = &said
	check(t, cmd.Start())
	t.Cleanup(func() {
		stdin.Close()
		timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
		defer timer.Stop()
		if err := cmd.Wait(); err != nil || said.Len() > 0 {
			t.Errorf("engine: %v\n%s", err, said.String())
		}
	})
	waitFor(t, "the engine", func() bool { return isSocket(socket) })
	return socket
}

// settings is what the client is told.
func (r *clientRun) settings() string {
	type claim struct{ Namespace, Name, UID string }
	entry := func(name string) claim {
		c := newClaim(name, "req=0")
		if name != "absent" {
			r.api.addClaim(c)
		}
		return claim{c.Namespace, c.Name, string(c.UID)}
	}
	limits := string(must(os.ReadFile("../../cfg/limits_wire.h")))
	var most int
	_, err := fmt.Sscanf(regexp.MustCompile(`GRPC_MESSAGE_BYTES_MAX \d+`).FindString(limits), "GRPC_MESSAGE_BYTES_MAX %d", &most)
	check(r.t, err)
	text := must(json.Marshal(map[string]any{
		"Registration": r.agent.registrationSocket(), "Service": r.agent.serviceSocket(), "Engine": r.engine,
		"Health": "127.0.0.1:" + r.agent.healthPort(), "Driver": driverName, "MessageMax": most,
		"Good": entry("good"), "Absent": entry("absent"), "Slow": entry("slow"),
	}))
	return writeFile(r.t, filepath.Join(r.agent.dir, "settings"), string(text))
}

// healthPort is the port that the agent said last.
func (a *agent) healthPort() string {
	a.t.Helper()
	line := a.waitLog(max(0, a.log.last("health service on TCP port")), "event=socket_opened", "health service on TCP port")
	return regexp.MustCompile(`TCP port (\d+)`).FindStringSubmatch(line)[1]
}

// run starts the client, answers what it asks, and counts what it says.
func (r *clientRun) run(name string, cmd *exec.Cmd) {
	r.t.Helper()
	cmd.Args = append(cmd.Args, r.settings())
	stdin, err := cmd.StdinPipe()
	check(r.t, err)
	stdout, err := cmd.StdoutPipe()
	check(r.t, err)
	var said strings.Builder
	cmd.Stderr = &said
	check(r.t, cmd.Start())
	timer := time.AfterFunc(5*longPatience, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	results := map[string]string{}
	for s := bufio.NewScanner(stdout); s.Scan(); {
		r.hear(s.Text(), stdin, results)
	}
	if err := cmd.Wait(); err != nil {
		r.t.Errorf("%v\n%s", err, said.String())
	}
	passed := 0
	for _, c := range clientCases {
		if results[c] == "passed" {
			passed++
		} else {
			r.t.Errorf("%s: %s", c, results[c])
		}
	}
	if len(results) != len(clientCases) {
		r.t.Errorf("%d cases, not %d: %v", len(results), len(clientCases), results)
	}
	// Nothing of all this was a failed connection for the agent.
	if n := r.agent.log.last("event=connection_failed"); n >= 0 {
		r.t.Errorf("a connection failed: %s", r.agent.waitLog(n))
	}
	interopTable.add(name, "client", fmt.Sprintf("%d of %d", passed, len(clientCases)))
}

// hear takes a line: "passed CASE", "failed CASE: why", "ask WHAT".
func (r *clientRun) hear(line string, stdin io.Writer, results map[string]string) {
	verb, rest, _ := strings.Cut(line, " ")
	switch verb {
	case "ask":
		fmt.Fprintln(stdin, r.answer(rest))
	case "passed":
		results[rest] = verb
	case "failed":
		name, why, _ := strings.Cut(rest, ": ")
		results[name] = why
	default:
		r.t.Errorf("the client says %q", line)
	}
}

func (r *clientRun) answer(what string) string {
	switch what {
	case "fetching":
		r.fetched++
		for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
			r.mu.Lock()
			slow := r.slow
			r.mu.Unlock()
			if slow >= r.fetched {
				return "yes"
			}
		}
		return "the claim was not asked for"
	case "sockets":
		r.sockets = r.agent.sockets()
		return "yes"
	case "same sockets":
		now := r.agent.sockets()
		for _, s := range r.sockets {
			if !slices.Contains(now, s) {
				return fmt.Sprintf("the agent had %v, now %v", r.sockets, now)
			}
		}
		return "yes"
	case "restart":
		r.agent.stop()
		r.agent.start()
		r.agent.register()
		return "yes"
	}
	return "no such question"
}

// sockets are the connections and listeners that the process has; each has a number of its own.
func (a *agent) sockets() (found []string) {
	a.t.Helper()
	dir := fmt.Sprintf("/proc/%d/fd/", a.pid())
	for _, fd := range files(a.t, dir) {
		if target, err := os.Readlink(dir + fd); err == nil && strings.HasPrefix(target, "socket:") {
			found = append(found, target)
		}
	}
	return found
}
