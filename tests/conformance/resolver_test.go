// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"crypto/tls"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// --- the name of the API server, and the files that tell its address ---

// withNames lets the agent alone see these texts as /etc/hosts and /etc/resolv.conf.
func (a *agent) withNames(hosts, servers string) {
	a.t.Helper()
	needMounts(a.t)
	script := "/bin/mount --bind " + writeFile(a.t, filepath.Join(a.dir, "hosts"), hosts) + " /etc/hosts && " +
		"/bin/mount --bind " + writeFile(a.t, filepath.Join(a.dir, "resolv.conf"), servers) + ` /etc/resolv.conf && exec "$@"`
	a.by = []string{"/usr/bin/unshare", "--mount", "--propagation", "private", "/bin/sh", "-c", script, "sh"}
}

// namedServer is an API server with a certificate for this name, and an agent that knows it by the name alone.
func namedServer(t *testing.T, name string) (*apiServer, *agent) {
	t.Helper()
	api := newAPIServer(t)
	api.tls = limited(tls.VersionTLS13, trusted().server(ecKey(), name))
	api.up()
	a := newAgent(t, "trn2.48xlarge")
	_, port, err := net.SplitHostPort(api.address)
	check(t, err)
	a.args = append(a.args, "--kubeconfig", writeKubeconfig(t, a.dir, name+":"+port,
		"certificate-authority: "+writeFile(t, filepath.Join(a.dir, "ca.crt"), string(trusted().pem)), "token: "+goodToken))
	return api, a
}

// The file of hosts is read as the C library reads it: comments, other names and lines without an address do not matter.
func TestHostsFile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, host, hosts string }{
		{"among others", "localhost.example", "# of this node\n\nno-address localhost.example\n127.0.0.9 localhost.example.org localhost.exampl\n127.0.0.1\tother  LOCALHOST.Example # ours\n"},
		{"localhost without a line", "localhost", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			api, a := namedServer(t, c.host)
			a.withNames(c.hosts, "")
			a.start()
			a.register()
			api.published()
		})
	}
}

// Without a file of hosts the name localhost has its address all the same.
func TestNoHostsFile(t *testing.T) {
	t.Parallel()
	needMounts(t)
	api, a := namedServer(t, "localhost")
	a.by = []string{"/usr/bin/strace", "-D", "-o", os.DevNull, "-P", "/etc/hosts", "-e", "inject=openat,?open:error=ENOENT"}
	a.start()
	a.register()
	api.published()
}

// A name without an address is named with what to do, and the kubelet is served meanwhile.
func TestNameWithoutAddress(t *testing.T) {
	t.Parallel()
	const none = "no name server gave an address; use an IP address in the kubeconfig's server"
	for _, c := range []struct{ name, host, servers, words string }{
		{"no label", strings.Repeat("x", 64) + ".example", "", "not a host name; correct the kubeconfig's server"},
		{"name server without a route", "localhost.example", "options ndots:5\nnameserver no-address\nnameserver 255.255.255.255\n", none},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := withoutServer(t, "trn2.48xlarge", c.host+":6443")
			a.withNames("", c.servers)
			a.start()
			a.register()
			a.waitLog(0, "event=api_connect_failed", "resolve "+c.host, c.words)
			getInfo(t, dialRegistration(t, a.registrationSocket()))
		})
	}
}

// A query for which there is no descriptor is an attempt that failed.
func TestNoSocketForQuery(t *testing.T) {
	t.Parallel()
	a := withoutServer(t, "trn2.48xlarge", "localhost.example:6443")
	a.withNames("", "nameserver 255.255.255.255\n")
	a.start()
	a.register()
	mark := a.log.count()
	a.straced(t, []string{"-o", os.DevNull, "-e", "inject=socket:error=EMFILE"}, func() {
		a.waitLog(mark, "event=api_connect_failed", "resolve localhost.example", "no socket for a DNS query could be opened")
	})
}
