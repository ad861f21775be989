// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	resource "k8s.io/api/resource/v1"
	dra "k8s.io/kubelet/pkg/apis/dra/v1"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

const (
	patience  = 30 * time.Second
	callLimit = 45 * time.Second // the kubelet's
	dialEvery = 100 * time.Microsecond
)

// side is one of the two that are measured: its directories, its process, the kubelet's connection to it.
type side struct {
	name, binary, node string
	dir, cdi           string
	args               []string
	api                *apiServer

	cmd     *exec.Cmd
	ended   chan struct{}
	stderr  *os.File
	conn    *grpc.ClientConn
	service dra.DRAPluginClient
}

func newSide(name, binary string, api *apiServer, p places, more ...string) (*side, error) {
	s := &side{name: name, binary: binary, node: name + ".example.internal", api: api,
		dir: filepath.Join(p.state, name), cdi: filepath.Join(p.cdi, "cdi-"+name)}
	for _, dir := range []string{s.cdi, filepath.Join(s.dir, "r"), filepath.Join(s.dir, "p")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
	}
	kubeconfig, err := api.kubeconfig(s.dir)
	if err != nil {
		return nil, err
	}
	s.args = append([]string{
		"--node-name", s.node,
		"--kubeconfig", kubeconfig,
		"--cdi-root", s.cdi,
		"--kubelet-registrar-directory-path", filepath.Join(s.dir, "r"),
		"--kubelet-plugins-directory-path", filepath.Join(s.dir, "p"),
		"--sysfs-root", filepath.Join(p.node, "sys"),
		"--dev-root", filepath.Join(p.node, "dev"),
	}, more...)
	s.stderr, err = os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	return s, err
}

// start runs the binary and returns the time from exec to the answer of the registration socket.
func (s *side) start() (time.Duration, error) {
	s.cmd = exec.Command(s.binary, s.args...)
	s.cmd.Env = []string{"PATH=/nonexistent"}
	s.cmd.Stderr = s.stderr
	begun := time.Now()
	if err := s.cmd.Start(); err != nil {
		return 0, err
	}
	ended := make(chan struct{})
	s.ended = ended
	go func(cmd *exec.Cmd) { _ = cmd.Wait(); close(ended) }(s.cmd)
	info, took, err := s.register(begun)
	if err != nil {
		return 0, fmt.Errorf("%s: %w (%s)", s.name, err, s.stderr.Name())
	}
	s.conn, err = grpc.NewClient("unix:"+info.Endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return 0, err
	}
	s.service = dra.NewDRAPluginClient(s.conn)
	return took, nil
}

// register does what the kubelet does with a new socket.
func (s *side) register(begun time.Time) (*registration.PluginInfo, time.Duration, error) {
	raw, err := s.dial(begun)
	if err != nil {
		return nil, 0, err
	}
	conn, err := grpc.NewClient("passthrough:registration",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return raw, nil }))
	if err != nil {
		return nil, 0, err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	client := registration.NewRegistrationClient(conn)
	info, err := client.GetInfo(ctx, &registration.InfoRequest{})
	took := time.Since(begun)
	if err != nil {
		return nil, 0, err
	}
	_, err = client.NotifyRegistrationStatus(ctx, &registration.RegistrationStatus{PluginRegistered: true})
	return info, took, err
}

// dial connects as soon as somebody listens.
func (s *side) dial(begun time.Time) (net.Conn, error) {
	path := filepath.Join(s.dir, "r", driverName+"-reg.sock")
	for {
		conn, err := net.Dial("unix", path)
		if err == nil {
			return conn, nil
		}
		select {
		case <-s.ended:
			return nil, fmt.Errorf("ended: %v", s.cmd.ProcessState)
		default:
		}
		if time.Since(begun) > patience {
			return nil, err
		}
		time.Sleep(dialEvery)
	}
}

func (s *side) waitPublished() (*resource.ResourceSlice, error) {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if slice := s.api.published(s.node); slice != nil {
			return slice, nil
		}
	}
	return nil, fmt.Errorf("%s publishes no slice (%s)", s.name, s.stderr.Name())
}

func (s *side) stop() error {
	if s.cmd == nil {
		return nil
	}
	if s.conn != nil {
		s.conn.Close()
		s.conn = nil
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	defer func() { s.cmd = nil }()
	select {
	case <-s.ended:
		return nil
	case <-time.After(patience):
		_ = s.cmd.Process.Kill()
		<-s.ended
		return fmt.Errorf("%s does not stop", s.name)
	}
}

// prepare returns the devices of the claims; a refused claim is an error.
func (s *side) prepare(claims ...*dra.Claim) (devices []*dra.Device, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	reply, err := s.service.NodePrepareResources(ctx, &dra.NodePrepareResourcesRequest{Claims: claims})
	if err != nil {
		return nil, fmt.Errorf("%s: prepare %s: %w", s.name, claims[0].Name, err)
	}
	for _, c := range claims {
		entry := reply.Claims[c.Uid]
		if entry == nil {
			return nil, fmt.Errorf("%s: prepare %s: no entry in the reply", s.name, c.Name)
		}
		if entry.Error != "" {
			return nil, fmt.Errorf("%s: prepare %s: %w", s.name, c.Name, errors.New(entry.Error))
		}
		devices = append(devices, entry.Devices...)
	}
	return devices, nil
}

func (s *side) unprepare(claims ...*dra.Claim) error {
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	reply, err := s.service.NodeUnprepareResources(ctx, &dra.NodeUnprepareResourcesRequest{Claims: claims})
	if err != nil {
		return fmt.Errorf("%s: unprepare %s: %w", s.name, claims[0].Name, err)
	}
	for _, c := range claims {
		if entry := reply.Claims[c.Uid]; entry == nil || entry.Error != "" {
			return fmt.Errorf("%s: unprepare %s: %v", s.name, c.Name, entry)
		}
	}
	return nil
}

// --- what the kernel says of the processes ---

// pids are the process and those that it started.
func (s *side) pids() ([]int, error) {
	pid := s.cmd.Process.Pid
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return nil, err
	}
	pids := []int{pid}
	for _, field := range strings.Fields(string(text)) {
		child, err := strconv.Atoi(field)
		if err != nil {
			return nil, err
		}
		pids = append(pids, child)
	}
	return pids, nil
}

// cpu is the time that all threads, past ones included, spent on a processor.
func (s *side) cpu() (all time.Duration) {
	const schedulerClock = 2 // CPUCLOCK_SCHED of the kernel's posix-timers.h
	pids, err := s.pids()
	if err != nil {
		panic(err) // the process runs and is ours
	}
	for _, pid := range pids {
		var t unix.Timespec
		if err := unix.ClockGettime(int32(^pid<<3|schedulerClock), &t); err != nil {
			panic(err)
		}
		all += time.Duration(t.Nano())
	}
	return all
}

// proc is the sum of what the pattern finds in this file of each process.
func (s *side) proc(file, pattern string) (sum int64, err error) {
	pids, err := s.pids()
	if err != nil {
		return 0, err
	}
	for _, pid := range pids {
		path := fmt.Sprintf("/proc/%d/%s", pid, file)
		text, err := os.ReadFile(path)
		if err != nil {
			return 0, err
		}
		found := regexp.MustCompile(pattern).FindSubmatch(text)
		if found == nil {
			return 0, fmt.Errorf("%s: no %s", path, pattern)
		}
		number, err := strconv.ParseInt(string(found[1]), 10, 64)
		if err != nil {
			return 0, err
		}
		sum += number
	}
	return sum, nil
}

// footprint is memory in KiB and the number of threads, of all processes.
type footprint struct{ rss, pss, anonymous, threads int64 }

func (s *side) footprint() (f footprint, err error) {
	for _, v := range []struct {
		to            *int64
		file, pattern string
	}{
		{&f.rss, "smaps_rollup", `(?m)^Rss:\s+(\d+) kB`},
		{&f.pss, "smaps_rollup", `(?m)^Pss:\s+(\d+) kB`},
		{&f.anonymous, "smaps_rollup", `(?m)^Anonymous:\s+(\d+) kB`},
		{&f.threads, "status", `(?m)^Threads:\s+(\d+)`},
	} {
		if *v.to, err = s.proc(v.file, v.pattern); err != nil {
			return f, err
		}
	}
	return f, nil
}
