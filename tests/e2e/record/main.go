// SPDX-License-Identifier: Apache-2.0

// Record stands in for the agent on a real node: it starts the agent with both of its peers' ways led through
// itself, and writes down what the peers say. tools/cluster/record.py gives it to a cluster as the agent.
//
//	record DIRECTORY AGENT ARGUMENT...
//
// What the agent says is passed on and never written: its token is in it. The kubelet's sockets are relayed because
// the agent sees the kubelet's directories covered by others, in a mount namespace of its own; the API server by a
// kubeconfig that names this process, which has the server's own certificate from beside the real kubeconfig.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"
)

const driver = "neuron.aws.com"

// recording is the file of all connections of one kind, one after the other.
type recording struct {
	mu    sync.Mutex
	path  string
	about string
	conns []*strings.Builder
}

// begin adds a connection; what it says is written with the number it got.
func (r *recording) begin() func(word, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := &strings.Builder{}
	r.conns = append(r.conns, b)
	return func(word, text string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		fmt.Fprintf(b, "%s %s\n", word, text)
		r.write()
	}
}

// write replaces the file: the process may be killed at any time.
func (r *recording) write() {
	text := "# " + strings.ReplaceAll(r.about, "\n", "\n# ") + "\n"
	for i, b := range r.conns {
		text += fmt.Sprintf("\nconnection %d\n", i+1) + b.String()
	}
	if err := os.WriteFile(r.path, []byte(text), 0o644); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "record:", err)
	os.Exit(1)
}

func must[T any](v T, err error) T {
	if err != nil {
		fail(err)
	}
	return v
}

// hexLines tells bytes in lines that can be read and compared.
func hexLines(tell func(word, text string), data []byte) {
	for len(data) > 0 {
		n := min(len(data), 48)
		tell("say", fmt.Sprintf("%x", data[:n]))
		data = data[n:]
	}
}

// relay passes bytes between agent and peer until either ends; `asked` sees the agent's, the peer's are told.
func relay(agent, peer net.Conn, tell func(word, text string), asked func([]byte)) {
	defer agent.Close()
	defer peer.Close()
	go func() {
		defer agent.Close()
		defer peer.Close()
		buffer := make([]byte, 65536)
		for {
			n, err := agent.Read(buffer)
			if asked != nil {
				asked(buffer[:n])
			}
			if _, failed := peer.Write(buffer[:n]); err != nil || failed != nil {
				return
			}
		}
	}()
	buffer := make([]byte, 65536)
	for {
		n, err := peer.Read(buffer)
		hexLines(tell, buffer[:n])
		if _, failed := agent.Write(buffer[:n]); err != nil || failed != nil {
			return
		}
	}
}

// socket serves at a path of the kubelet's what the agent serves at its own, as soon as it does.
func socket(public, private string, r *recording) {
	for {
		if _, err := os.Stat(private); err == nil {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	_ = os.Remove(public)
	listener := must(net.Listen("unix", public))
	for {
		peer, err := listener.Accept()
		if err != nil {
			return
		}
		agent, err := net.Dial("unix", private)
		if err != nil {
			peer.Close()
			continue
		}
		go relay(agent, peer, r.begin(), nil)
	}
}

// server takes the agent's connections in place of the API server.
func server(kubeconfig, own string, r *recording) {
	text := string(must(os.ReadFile(kubeconfig)))
	address := regexp.MustCompile(`server: https://(\S+)`).FindStringSubmatch(text)[1]
	keys := filepath.Join(filepath.Dir(kubeconfig), "pki")
	authorities := x509.NewCertPool()
	authorities.AppendCertsFromPEM(must(os.ReadFile(filepath.Join(keys, "ca.crt"))))
	identity := must(tls.LoadX509KeyPair(filepath.Join(keys, "apiserver.crt"), filepath.Join(keys, "apiserver.key")))
	listener := must(tls.Listen("tcp", "127.0.0.1:0",
		&tls.Config{Certificates: []tls.Certificate{identity}, NextProtos: []string{"h2"}}))
	text = strings.ReplaceAll(text, "https://"+address, "https://"+listener.Addr().String())
	if err := os.WriteFile(own, []byte(text), 0o600); err != nil {
		fail(err)
	}
	go func() {
		for {
			agent, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				if agent.(*tls.Conn).Handshake() != nil {
					agent.Close()
					return
				}
				peer, err := tls.Dial("tcp", address, &tls.Config{RootCAs: authorities, NextProtos: []string{"h2"}})
				if err != nil {
					agent.Close()
					return
				}
				tell := r.begin()
				relay(agent, peer, tell, newQuestions(tell).take)
			}()
		}
	}()
}

// option is the value of one of the agent's flags, which it may change.
func option(args []string, name string) *string {
	for i := range len(args) - 1 {
		if args[i] == name {
			return &args[i+1]
		}
	}
	fail(fmt.Errorf("the agent is started without %s", name))
	return nil
}

func main() {
	if len(os.Args) < 4 {
		fail(fmt.Errorf("usage: record DIRECTORY AGENT ARGUMENT..."))
	}
	out, args := os.Args[1], os.Args[2:]
	if err := os.MkdirAll(out, 0o755); err != nil {
		fail(err)
	}
	private := must(os.MkdirTemp("/tmp", "nr"))
	defer os.RemoveAll(private)
	registry := *option(args, "--kubelet-registrar-directory-path")
	plugins := *option(args, "--kubelet-plugins-directory-path")
	kubeconfig := option(args, "--kubeconfig")
	for _, dir := range []string{private + "/r", private + "/p", registry, filepath.Join(plugins, driver)} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			fail(err)
		}
	}
	file := func(name, about string) *recording { return &recording{path: filepath.Join(out, name), about: about} }
	server(*kubeconfig, private+"/kubeconfig", file("api.txt", aboutServer))
	*kubeconfig = private + "/kubeconfig"
	cover := `mount --bind "$0" "$1" && mount --bind "$2" "$3" && shift 3 && exec "$@"`
	command := exec.Command("unshare", append([]string{"--mount", "--propagation", "private", "sh", "-ec", cover,
		private + "/r", registry, private + "/p", plugins}, args...)...)
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := command.Start(); err != nil {
		fail(err)
	}
	go socket(filepath.Join(plugins, driver, "dra.sock"), private+"/p/"+driver+"/dra.sock", file("dra.txt", aboutKubelet))
	go socket(filepath.Join(registry, driver+"-reg.sock"), private+"/r/"+driver+"-reg.sock",
		file("registration.txt", aboutKubelet))
	ends := make(chan os.Signal, 1)
	signal.Notify(ends, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		_ = command.Process.Signal(<-ends)
	}()
	if err := command.Wait(); err != nil {
		fmt.Fprintln(os.Stderr, "record: the agent:", err)
	}
}
