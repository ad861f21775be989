// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	dra "k8s.io/kubelet/pkg/apis/dra/v1"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

const (
	lookFirst = 20 * time.Millisecond // of the stand-in kubelet at its registration directory, then doubled
	lookLast  = time.Second
	stopLimit = 30 * time.Second
	callLimit = 45 * time.Second // the kubelet's
)

// agent is one node with the driver's process on it.
type agent struct {
	number int
	dir    string

	mu      sync.Mutex
	process *process
	begun   time.Time
	round   int // starts so far: the UID of the agent's pod
	wanted  bool
}

// fleet is all agents of the run.
type fleet struct {
	s          *settings
	children   *children
	network    *network
	kubeconfig string
	agents     []*agent

	mu      sync.Mutex
	pastCPU time.Duration // of processes that have ended
	died    []string      // processes that ended without being asked to
}

func newFleet(c *children, n *network, s *settings, kubeconfig string) (*fleet, error) {
	f := &fleet{s: s, children: c, network: n, kubeconfig: kubeconfig}
	for number := range s.Agents {
		f.agents = append(f.agents, &agent{number: number, dir: s.path("n", fmt.Sprint(number))})
	}
	return f, f.makeDirectories()
}

// makeDirectories empties the folders of each node: no store, no CDI file, no socket.
func (f *fleet) makeDirectories() error {
	for _, a := range f.agents {
		if err := os.RemoveAll(a.dir); err != nil {
			return err
		}
		for _, name := range []string{"r", "p", "cdi"} {
			if err := os.MkdirAll(filepath.Join(a.dir, name), 0o755); err != nil {
				return err
			}
		}
		if f.s.Kubelet == "absent" {
			continue
		}
		if err := writeCheckpoint(filepath.Join(a.dir, "dra_manager_state")); err != nil {
			return err
		}
	}
	return nil
}

func (f *fleet) commandLine(a *agent) []string {
	// Agents on real nodes do not compete with the API server for processors.
	argv := []string{"/usr/bin/nice", "-n", "10", f.s.Binary}
	more := []string{"--proc-root", filepath.Join(f.s.Tree, "proc"), "--pod-uid", a.podUID(),
		"--healthcheck-port", "0", "--metrics-port", "0"}
	if f.s.Program == "agent" {
		argv = append(argv, "run")
	} else {
		more = nil
	}
	argv = append(argv, "--node-name", nodeName(a.number), "--kubeconfig", f.kubeconfig,
		"--cdi-root", filepath.Join(a.dir, "cdi"),
		"--kubelet-registrar-directory-path", filepath.Join(a.dir, "r"),
		"--kubelet-plugins-directory-path", filepath.Join(a.dir, "p"),
		"--sysfs-root", filepath.Join(f.s.Tree, "sys"), "--dev-root", filepath.Join(f.s.Tree, "dev"))
	return append(argv, more...)
}

func (a *agent) podUID() string { return fmt.Sprint(a.round) }

// sockets of the running process: registration and service.
func (f *fleet) sockets(a *agent) (string, string) {
	suffix := ""
	if f.s.Program == "agent" {
		suffix = "-" + a.podUID()
	}
	return filepath.Join(a.dir, "r", driverName+suffix+"-reg.sock"),
		filepath.Join(a.dir, "p", driverName, "dra"+suffix+".sock")
}

// start starts one more process on the node. The one that ran before, if it still does, is returned.
func (f *fleet) start(a *agent) (*process, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	old := a.process
	a.round++
	var err error
	f.network.inside(func() {
		a.process, err = f.children.start(nodeName(a.number), filepath.Join(a.dir, "log"), f.commandLine(a),
			[]string{"PATH=/nonexistent"})
	})
	if err != nil {
		return nil, err
	}
	a.begun, a.wanted = time.Now(), true
	go f.follow(a, a.process)
	if f.s.Kubelet == "registers" {
		socket, _ := f.sockets(a)
		go register(a.process, socket)
	}
	return old, nil
}

// follow waits for the end of a process.
func (f *fleet) follow(a *agent, p *process) {
	<-p.ended
	defer close(p.counted)
	a.mu.Lock()
	unasked := a.process == p && a.wanted
	a.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pastCPU += p.used
	if unasked {
		f.died = append(f.died, fmt.Sprintf("%s: status %#x, log %s", p.name, uint32(p.status), filepath.Join(a.dir, "log")))
	}
}

func (f *fleet) startAll() error {
	for _, a := range f.agents {
		if _, err := f.start(a); err != nil {
			return err
		}
	}
	return nil
}

// end ends the node's process by a signal, and waits.
func (f *fleet) end(a *agent, signal syscall.Signal) error {
	a.mu.Lock()
	p := a.process
	a.wanted = false
	a.mu.Unlock()
	return f.endProcess(p, signal)
}

func (f *fleet) endProcess(p *process, signal syscall.Signal) error {
	if p == nil {
		return nil
	}
	// It does not wait for its readers of sysfs, so the kernel does not add their time to its own.
	var readers time.Duration
	for _, pid := range family(p.pid)[1:] {
		readers += cpuOf(pid)
	}
	f.mu.Lock()
	f.pastCPU += readers
	f.mu.Unlock()
	p.kill(signal)
	select {
	case <-p.counted:
		return nil
	case <-time.After(stopLimit):
		p.kill(syscall.SIGKILL)
		<-p.counted
		return fmt.Errorf("%s does not end within %s of signal %d", p.name, stopLimit, signal)
	}
}

func (f *fleet) endAll(signal syscall.Signal) error {
	return each(len(f.agents), len(f.agents), func(number int) error { return f.end(f.agents[number], signal) })
}

// begun is when the node's process was started last.
func (f *fleet) begun(number int) time.Time {
	a := f.agents[number]
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.begun
}

// cpu is the processor time of all agents so far, those that have ended included.
func (f *fleet) cpu() time.Duration {
	f.mu.Lock()
	sum := f.pastCPU
	f.mu.Unlock()
	for _, p := range f.running() {
		for _, pid := range family(p.pid) {
			sum += cpuOf(pid)
		}
	}
	return sum
}

// pss is the memory in KiB of all agents with their readers of sysfs, and without these.
func (f *fleet) pss() (all, alone int64) {
	for _, p := range f.running() {
		pids := family(p.pid)
		own := kibibytes(pids[:1], "smaps_rollup", "Pss")
		all += own + kibibytes(pids[1:], "smaps_rollup", "Pss")
		alone += own
	}
	return all, alone
}

func (f *fleet) running() (all []*process) {
	for _, a := range f.agents {
		a.mu.Lock()
		if a.process != nil && a.process.alive() {
			all = append(all, a.process)
		}
		a.mu.Unlock()
	}
	return all
}

func (f *fleet) deaths() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string{}, f.died...)
}

// register does what the kubelet does with a new registration socket, as soon as somebody listens.
func register(p *process, socket string) {
	for wait := lookFirst; p.alive(); wait = min(2*wait, lookLast) {
		raw, err := net.Dial("unix", socket)
		if err == nil && registered(raw) == nil {
			return
		}
		time.Sleep(wait)
	}
}

func registered(raw net.Conn) error {
	conn, err := grpc.NewClient("passthrough:registration", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return raw, nil }))
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	client := registration.NewRegistrationClient(conn)
	if _, err := client.GetInfo(ctx, &registration.InfoRequest{}); err != nil {
		return err
	}
	_, err = client.NotifyRegistrationStatus(ctx, &registration.RegistrationStatus{PluginRegistered: true})
	return err
}

// dial connects to the service socket as the kubelet does.
func dial(socket string) (*grpc.ClientConn, dra.DRAPluginClient, error) {
	conn, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, nil, err
	}
	return conn, dra.NewDRAPluginClient(conn), nil
}
