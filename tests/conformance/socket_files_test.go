// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// --- what is in the directories of the sockets, and who may connect ---

// A file that is no socket is not removed: the start names it, and what to do.
func TestFileInPlaceOfSocket(t *testing.T) {
	t.Parallel()
	for _, service := range []bool{true, false} {
		a := withoutServer(t, "trn2.48xlarge", closedPort(t))
		path := a.registrationSocket()
		if service {
			path = a.serviceSocket()
		}
		check(t, os.MkdirAll(filepath.Dir(path), 0o755))
		writeFile(t, path, "not a socket")
		words := []string{path, "a file of this name exists and is not a socket: remove it"}
		if service { // without it the agent is of no use
			refusedStart(t, a, nil, words...)
		} else {
			a.start()
			a.waitLog(0, append(words, "event=socket_")...)
		}
		if text := must(os.ReadFile(path)); string(text) != "not a socket" {
			t.Errorf("%s holds %q", path, text)
		}
		if !service {
			check(t, os.Remove(path))
			a.register()
		}
	}
}

// deadSocket leaves a socket that nobody serves.
func deadSocket(t *testing.T, path string) string {
	t.Helper()
	listener := must(net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"}))
	listener.SetUnlinkOnClose(false)
	check(t, listener.Close())
	return path
}

// Sockets of pods of this driver that are gone are removed; those of other drivers, and those that are served, stay.
func TestStaleSocketsAreRemoved(t *testing.T) {
	t.Parallel()
	a := withoutServer(t, "trn2.48xlarge", closedPort(t))
	check(t, os.MkdirAll(a.pluginDir(), 0o755))
	const pod = "-0c61de2f-8a1f-4a2e-9d0a-7a9c3f1f2b3c"
	stale := []string{
		deadSocket(t, filepath.Join(a.dir, "r", driverName+pod+"-reg.sock")),
		deadSocket(t, filepath.Join(a.pluginDir(), "dra"+pod+".sock")),
	}
	kept := []string{
		deadSocket(t, filepath.Join(a.dir, "r", driverName+"-other-reg.sock")),
		deadSocket(t, filepath.Join(a.dir, "r", "efa.example-reg.sock")),
		filepath.Join(a.pluginDir(), "dra-1c61de2f-8a1f-4a2e-9d0a-7a9c3f1f2b3c.sock"),
	}
	served := must(net.Listen("unix", kept[2]))
	defer served.Close()
	a.start()
	for _, path := range stale {
		a.waitLog(0, "event=stale_socket_removed", path)
		if exists(path) {
			t.Errorf("%s is there", path)
		}
	}
	a.register()
	for _, path := range kept {
		if !exists(path) {
			t.Errorf("%s is gone", path)
		}
	}
}

// Where the rights of the files let another user connect, the agent hangs up and says who came.
func TestOtherUserIsDenied(t *testing.T) {
	t.Parallel()
	needMounts(t) // becomes another user
	const nobody = 65534
	a := withoutServer(t, "trn2.48xlarge", closedPort(t))
	a.start()
	a.register()
	for name, path := range map[string]string{"registration socket": a.registrationSocket(), "service socket": a.serviceSocket()} {
		check(t, os.Chmod(path, 0o666))
		for _, dir := range []string{filepath.Dir(path), filepath.Dir(filepath.Dir(path)), a.dir} {
			check(t, os.Chmod(dir, 0o755))
		}
		client := exec.Command("/usr/bin/python3", "-c",
			"import socket, sys\ns = socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\nsys.exit(len(s.recv(1)))", path)
		client.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		if out, err := client.CombinedOutput(); err != nil && !strings.Contains(string(out), "ConnectionResetError") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		a.waitLog(0, "event=peer_denied", "connection from user id 65534 closed: only root and the agent's own user may use the "+name)
	}
	getInfo(t, dialRegistration(t, a.registrationSocket()))
}

// A directory that is the whole file system widens what the sandbox allows, which the log says.
func TestWideSandbox(t *testing.T) {
	t.Parallel()
	a := newAgent(t, "trn2.48xlarge")
	a.env = []string{"KUBERNETES_SERVICE_HOST=127.0.0.1", "KUBERNETES_SERVICE_PORT=1"}
	const below = "/device-plugins-of-conformance" // the rule is for the directory above: this one may come later
	a.args = append(a.args, "--kubelet-device-plugins-directory-path", below)
	a.start()
	a.waitLog(0, "event=sandbox_wide", "the rule for "+below+" lets the agent read everything: the directory that it is for is /")
	a.register()
}

// --- commands whose kernel refuses something ---

func TestCommandLacksKernel(t *testing.T) {
	t.Parallel()
	needMounts(t)
	a := newAgent(t, "trn2.48xlarge")
	for _, c := range []struct {
		inject, words string
		command       []string
	}{
		{"memfd_create:error=EMFILE", "bundle - cannot make the anonymous file that it needs: too many open files in this process; give a directory", []string{"bundle", "-"}},
		{"memfd_create:error=EINVAL", "bundle - cannot make the anonymous file that it needs: ", []string{"bundle", "-"}},
	} {
		end := runLine(t, []string{"PATH=/nonexistent"}, append(append(injecting(c.inject), agentBinary), append(c.command, a.commandLine()...)...)...)
		contains(t, end.stderr, c.words)
		if end.code == 0 {
			t.Errorf("%v: exit code 0", c.command)
		}
	}
}
