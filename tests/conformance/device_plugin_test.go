// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
)

const pluginReason = "a Neuron device plugin runs on this node and allocates the same devices: let only one of the two run here; its socket is "

// devicePlugins is the kubelet's directory for device plugins. What is above it is not above the agent's own directories, so
// that no other rule of the sandbox lets the agent read it.
func (a *agent) devicePlugins() string { return filepath.Join(a.dir+"k", "device-plugins") }

// withDevicePlugins is an agent that looks there, often; the kubelet's own socket is there already. Without a kubeconfig it is
// restricted as in a pod, whose files have not come yet.
func withDevicePlugins(t *testing.T, simnodeArgs ...string) *agent {
	t.Helper()
	a := newAgent(t, "trn2.48xlarge", simnodeArgs...)
	check(t, os.MkdirAll(a.devicePlugins(), 0o750))
	t.Cleanup(func() { _ = os.RemoveAll(a.dir + "k") })
	a.args = append(a.args, "--metrics-port", "0", "--health-interval", healthInterval.String(),
		"--kubelet-device-plugins-directory-path", a.devicePlugins())
	a.env = []string{"KUBERNETES_SERVICE_HOST=127.0.0.1", "KUBERNETES_SERVICE_PORT=1"}
	a.listenAs("kubelet.sock")
	return a
}

// listenAs makes a socket as a plugin of that name has it. Nobody accepts. Closed, it leaves its file behind.
func (a *agent) listenAs(name string) *net.UnixListener {
	a.t.Helper()
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(a.devicePlugins(), name), Net: "unix"})
	check(a.t, err)
	listener.SetUnlinkOnClose(false)
	a.t.Cleanup(func() { listener.Close() })
	return listener
}

// waitPlugin waits until the pages and the metric name this socket, or none.
func (a *agent) waitPlugin(address, name string) {
	a.t.Helper()
	reason, metric := pluginReason+filepath.Join(a.devicePlugins(), name)+"\n", "neuron_dra_device_plugin 1"
	if name == "" {
		metric = "neuron_dra_device_plugin 0"
	}
	waitFor(a.t, "readiness with the device plugin "+name, func() bool {
		status, text := page(a.t, address, "/readyz")
		told := strings.Contains(text, "device plugin")
		return told == (name != "") && (!told || status == http.StatusServiceUnavailable && strings.Contains(text, reason))
	})
	hasLine(a.t, scrape(a.t, address), metric)
}

// A device plugin comes and goes beside an agent that works: log, Event, metric, readiness, and the command check.
func TestDevicePlugin(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a := withDevicePlugins(t)
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir))
	a.start()
	address := a.metricsAddress()
	k := a.register()
	a.waitLog(0, "event=slice_published")
	ready := func(what string) {
		waitFor(t, what, func() bool { status, _ := page(t, address, "/readyz"); return status == http.StatusOK })
	}
	ready("ready without a plugin")
	if api.event("NeuronDevicePluginFound") != nil || a.log.last("device_plugin") >= 0 {
		t.Error("a plugin was found before there was one")
	}

	plugin := a.listenAs("neuron.sock")
	a.waitPlugin(address, "neuron.sock")
	a.waitLog(0, "level=warn", "event=device_plugin_found", "directory="+a.devicePlugins(), "socket=neuron.sock", "remedy=")
	waitFor(t, "the Event", func() bool { return api.event("NeuronDevicePluginFound") != nil })
	if e := api.event("NeuronDevicePluginFound"); e.Regarding.Kind != "Node" || e.Type != "Warning" || !strings.Contains(e.Note, "socket=neuron.sock") {
		t.Errorf("the Event is %+v", e)
	}
	got := a.command(address, "check")
	if got.code != 1 || got.stdout != pluginReason+filepath.Join(a.devicePlugins(), "neuron.sock")+"\n" {
		t.Errorf("check: %+v", got)
	}
	// what the kubelet asks for is done all the same
	claim := named(api.addClaim(newClaim("beside", "req=3")))
	k.prepareOK(claim)
	k.unprepareOK(claim)

	// killed: its file stays
	check(t, plugin.Close())
	ready("ready after the plugin was killed")
	a.waitPlugin(address, "")
	a.waitLog(0, "level=info", "event=device_plugin_gone")
	waitFor(t, "the other Event", func() bool { return api.event("NeuronDevicePluginGone") != nil })
	if !isSocket(filepath.Join(a.devicePlugins(), "neuron.sock")) {
		t.Error("the agent removed a socket that is not its own")
	}
	// another one beside what the first one left
	other := a.listenAs("aws.amazon.com_neuroncore.sock")
	a.waitPlugin(address, "aws.amazon.com_neuroncore.sock")
	// ended: the file goes
	other.SetUnlinkOnClose(true)
	check(t, other.Close())
	ready("ready after the plugin ended")
	// The page may tell before the line has come through the pipe of the log.
	lines := func() int {
		return strings.Count(strings.Join(a.log.slice(0, a.log.count()), "\n"), "event=device_plugin_")
	}
	waitFor(t, "the last line about the plugin", func() bool { return lines() >= 4 })
	if n := lines(); n != 4 {
		t.Errorf("%d lines about the plugin, want 4", n)
	}

	// check finds it without an agent too
	a.kill()
	a.listenAs("neuron-late.sock")
	contains(t, a.command(address, "check").stdout, "no agent responds", pluginReason+filepath.Join(a.devicePlugins(), "neuron-late.sock"))
	// and so does an agent that starts
	from := a.log.count()
	a.start()
	a.waitLog(from, "event=device_plugin_found", "socket=neuron-late.sock")
}

// In a pod the sandbox lets the agent read few directories; this one may be removed and made again.
func TestDevicePluginSandboxed(t *testing.T) {
	t.Parallel()
	a := withDevicePlugins(t)
	a.start()
	address := a.metricsAddress()
	a.waitPlugin(address, "")
	for range 3 {
		a.listenAs("neuron.sock")
		a.waitPlugin(address, "neuron.sock")
		check(t, os.RemoveAll(a.devicePlugins()))
		a.waitPlugin(address, "")
		check(t, os.Mkdir(a.devicePlugins(), 0o750))
	}
	if line, missing := a.log.find(0, "event=device_plugin_search_failed"); missing == nil {
		t.Error(line)
	}
	if line, missing := a.log.find(0, "event=sandbox_wide"); missing == nil {
		t.Error(line)
	}
}

// A directory that cannot be read is told once, and says nothing against the plugin that was found before.
func TestDevicePluginDirectoryUnreadable(t *testing.T) {
	t.Parallel()
	a := withDevicePlugins(t)
	a.listenAs("neuron.sock")
	a.start()
	address := a.metricsAddress()
	a.waitPlugin(address, "neuron.sock")
	check(t, os.Rename(a.devicePlugins(), a.devicePlugins()+".away"))
	check(t, os.Symlink("device-plugins", a.devicePlugins())) // to itself
	a.waitLog(0, "event=device_plugin_search_failed", a.devicePlugins()+": ", "remedy=")
	time.Sleep(5 * healthInterval)
	a.waitPlugin(address, "neuron.sock")
	check(t, os.Remove(a.devicePlugins()))
	a.waitPlugin(address, "")
	check(t, os.Rename(a.devicePlugins()+".away", a.devicePlugins()))
	a.waitPlugin(address, "neuron.sock")
	if n := strings.Count(strings.Join(a.log.slice(0, a.log.count()), "\n"), "event=device_plugin_search_failed"); n != 1 {
		t.Errorf("%d lines about the directory", n)
	}
}

// counted counts the connections of a server, and what they sent.
type counted struct {
	net.Listener
	mu          sync.Mutex
	connections int
}

func (c *counted) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.connections++
	}
	return conn, err
}

func (c *counted) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.connections
}

// A plugin that serves gRPC, as all do, answers the kubelet while the agent looks at it: one connection each time, closed
// without a byte.
func TestDevicePluginServes(t *testing.T) {
	t.Parallel()
	a := withDevicePlugins(t)
	silent := a.listenAs("neuron-silent.sock")
	a.start()
	address := a.metricsAddress()
	a.waitPlugin(address, "neuron-silent.sock")
	for range 3 {
		conn, err := silent.AcceptUnix()
		check(t, err)
		check(t, conn.SetReadDeadline(time.Now().Add(patience)))
		if n, err := conn.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
			t.Errorf("the agent sent %d bytes, %v", n, err)
		}
		check(t, conn.Close())
	}
	check(t, silent.Close())
	a.waitPlugin(address, "")

	listener := &counted{Listener: a.listenAs("neuron.sock")}
	server := grpc.NewServer()
	go func() { _ = server.Serve(listener) }()
	defer server.Stop()
	waitFor(t, "some looks", func() bool { return listener.count() >= 5 })
	a.waitPlugin(address, "neuron.sock")
	conn := dialService(t, filepath.Join(a.devicePlugins(), "neuron.sock"))
	err := conn.Invoke(t.Context(), "/v1beta1.DevicePlugin/GetDevicePluginOptions", []byte{}, &[]byte{}, grpc.ForceCodec(bytesCodec{}))
	if err == nil || !strings.Contains(err.Error(), "unknown service") {
		t.Errorf("the plugin answers %v", err)
	}
}

// A node without a plugin pays four system calls a look: the directory is opened, read to its end and closed.
func TestDevicePluginSystemCalls(t *testing.T) {
	t.Parallel()
	a := withDevicePlugins(t)
	a.start()
	a.waitPlugin(a.metricsAddress(), "")
	lines := a.traced(t, func(string) { time.Sleep(5 * healthInterval) })
	at := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, a.devicePlugins()) })
	if at < 0 || at+4 > len(lines) {
		t.Fatalf("no look in %q", lines)
	}
	if got := strings.Join(callNames(lines[at:at+4]), " "); got != "openat getdents64 getdents64 close" {
		t.Errorf("a look is %s", got)
	}
	countCalls("look for a device plugin", callNames(lines[at:at+4]))
}
