// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// --- credentials that cannot be used ---

// kubeconfigCase is a kubeconfig with one fault.
type kubeconfigCase struct {
	name, address, cluster, user string
	words                        []string
}

// A fault of the kubeconfig, or of what it names, ends the start with exit code 1: the line names the place and what to do.
func TestKubeconfigIsRefused(t *testing.T) {
	t.Parallel()
	a := newAgent(t, "trn2.48xlarge")
	file := func(name, text string) string { return writeFile(t, filepath.Join(a.dir, name), text) }
	authority := "certificate-authority: " + file("ca.crt", string(trusted().pem))
	const address, token = "127.0.0.1:6443", "token: " + goodToken
	inline := base64.StdEncoding.EncodeToString([]byte("-----BEGIN CERTIFICATE-----\n" + strings.Repeat("A", 33000)))
	for _, c := range []kubeconfigCase{
		{"long authority", address, "certificate-authority: " + file("long-ca", strings.Repeat("A", 300000)), token,
			[]string{"certificate-authority " + a.dir + "/long-ca is longer than 262144 bytes; leave out what the agent does not need"}},
		{"long path", address, "certificate-authority: /" + strings.Repeat("d", 600), token,
			[]string{"a file name in the kubeconfig is longer than 511 bytes; move the file"}},
		{"long certificate inline", address, authority, "client-certificate-data: " + inline + "\nclient-key-data: QQ==",
			[]string{"client-certificate-data in the kubeconfig is longer than 32 KiB"}},
		{"token with a blank", address, authority, "token: two words",
			[]string{"token in the kubeconfig contains a character that tokens do not have; create a new token"}},
		{"long token", address, authority, "token: " + strings.Repeat("x", 4096),
			[]string{"token in the kubeconfig is longer than 4095 bytes; create a new token"}},
		{"token file with two lines", address, authority, "tokenFile: " + file("lines", "one\ntwo\n"),
			[]string{a.dir + "/lines contains a character that tokens do not have"}},
		{"long token file", address, authority, "tokenFile: " + file("long-token", strings.Repeat("x", 5000)),
			[]string{"token file " + a.dir + "/long-token is longer than "}},
		{"port", "127.0.0.1:66000", authority, token, []string{"server is not of the form https://host:port"}},
		{"long host", strings.Repeat("h.", 127) + "example:6443", authority, token,
			[]string{"the API server's host name is empty or longer than 253 characters"}},
		{"long server name", address, authority + "\n    tls-server-name: " + strings.Repeat("h.", 127) + "example", token,
			[]string{"tls-server-name is longer than 253 characters; correct it"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			contains(t, c.refused(t, a), c.words...)
		})
	}
}

func (c kubeconfigCase) refused(t *testing.T, a *agent) string {
	t.Helper()
	path := writeKubeconfig(t, a.dir, c.address, c.cluster, c.user)
	end := runOnce(t, a, func(args []string) []string { return append(args, "--kubeconfig", path) })
	if end.code != 1 {
		t.Errorf("exit code %d", end.code)
	}
	return end.stderr
}

// A file that is empty or missing may still be written: the agent starts, says what it waits for, and reads it then.
func TestAuthorityComesLate(t *testing.T) {
	t.Parallel()
	for name, words := range map[string]string{"empty": " is empty; create the file", "missing": " cannot be read: no such file or directory"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := startAPIServer(t)
			a := newAgent(t, "trn2.48xlarge")
			check(t, os.Mkdir(filepath.Join(a.dir, "pki"), 0o755))
			file := filepath.Join(a.dir, "pki", "ca.crt")
			if name == "empty" {
				writeFile(t, file, " \n")
			}
			a.args = append(a.args, "--kubeconfig",
				writeKubeconfig(t, a.dir, api.address, "certificate-authority: pki/ca.crt", "token: "+goodToken))
			a.start()
			a.register()
			a.waitLog(0, "event=api_connect_failed", "certificate-authority "+file+words, "correct its path in the kubeconfig")
			writeFile(t, file, string(trusted().pem))
			api.published()
		})
	}
}

func TestServiceAddressIsRefused(t *testing.T) {
	t.Parallel()
	a := newAgent(t, "trn2.48xlarge")
	for _, c := range []struct{ host, port, words string }{
		{"10.0.0.1", "0", "KUBERNETES_SERVICE_PORT is not a port from 1 to 65535: 0"},
		{"10.0.0.1", "https", "KUBERNETES_SERVICE_PORT is not a port from 1 to 65535: https"},
		{strings.Repeat("h", 254), "443", "the API server's host name is empty or longer than 253 characters"},
	} {
		a.env = []string{"KUBERNETES_SERVICE_HOST=" + c.host, "KUBERNETES_SERVICE_PORT=" + c.port}
		end := runOnce(t, a, nil)
		contains(t, end.stderr, c.words)
		if end.code != 1 {
			t.Errorf("exit code %d", end.code)
		}
	}
}

// Only TLS checks these identities: each attempt to connect logs what is wrong, before the agent sends a byte to the server.
func TestIdentityIsRefused(t *testing.T) {
	t.Parallel()
	listener := listenApart(t, "127.0.0.1")
	t.Cleanup(func() { listener.Close() })
	_, edKey, err := ed25519.GenerateKey(rand.Reader)
	check(t, err)
	client, other := trusted().client("agent"), trusted().client("other")
	ofEd25519 := trusted().sign(edKey, template("agent"))
	cert := func(c tls.Certificate) string { return string(certPEM(c.Certificate[0])) }
	key := func(c tls.Certificate) string { return string(keyPEM(c.PrivateKey.(crypto.Signer))) }
	ca, node := string(trusted().pem), newAgent(t, "trn2.48xlarge").node
	broken := string(certPEM([]byte{0x30, 0x03, 0x02, 0x01, 0x00}))
	for _, c := range []struct{ name, ca, cert, key, words string }{
		{"authority is a key", key(client), cert(client), key(client), "the certificate authority holds no PEM certificate"},
		{"authority unreadable", broken, cert(client), key(client), "the certificate authority's certificate cannot be read: "},
		{"certificate is a key", ca, key(client), key(client), "the client certificate is not a PEM certificate"},
		{"certificate unreadable", ca, broken, key(client), "the client certificate cannot be read: "},
		{"certificate of Ed25519", ca, cert(ofEd25519), string(keyPEM(edKey)), "which is Ed25519; RSA and EC keys are supported"},
		{"key is a certificate", ca, cert(client), cert(client), "the client key is not a PEM key (RSA or EC, no password)"},
		{"key of another", ca, cert(client), key(other), "the client key does not belong to the client certificate"},
		{"key of another kind", ca, cert(client), string(keyPEM(rsaKey())), "the client key does not belong to the client certificate"},
		{"chain too long", ca, strings.Repeat(cert(client), 60), key(client), "need more memory than the 72 KiB reserved for TLS"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := newAgentOn(t, scratch, node)
			for name, text := range map[string]string{"ca": c.ca, "crt": c.cert, "key": c.key} {
				check(t, os.WriteFile(filepath.Join(a.dir, name), []byte(text), 0o600))
			}
			a.args = append(a.args, "--kubeconfig", writeKubeconfig(t, a.dir, listener.Addr().String(),
				"certificate-authority: ca", "client-certificate: crt\nclient-key: key"))
			a.start()
			a.register()
			a.waitLog(0, "event=api_connect_failed", "TLS with "+listener.Addr().String(), c.words)
			getInfo(t, dialRegistration(t, a.registrationSocket()))
		})
	}
}

// File names of a kubeconfig are relative to its directory, and of a certificate chain each certificate is sent.
func TestClientChainBesideKubeconfig(t *testing.T) {
	t.Parallel()
	api := newAPIServer(t)
	api.tokens = nil
	api.tls = limited(tls.VersionTLS13, serving())
	api.tls.ClientAuth, api.tls.ClientCAs = tls.RequireAndVerifyClientCert, trusted().pool()
	middle := trusted().intermediate("conformance middle")
	api.up()
	publishes(t, api, func(dir string) string {
		client := middle.client("agent")
		writeFile(t, filepath.Join(dir, "ca.crt"), string(trusted().pem))
		writeFile(t, filepath.Join(dir, "agent.crt"), string(certPEM(client.Certificate[0]))+string(middle.pem))
		writeFile(t, filepath.Join(dir, "agent.key"), string(keyPEM(client.PrivateKey.(crypto.Signer))))
		return writeKubeconfig(t, dir, api.address, "certificate-authority: ca.crt", "client-certificate: agent.crt\nclient-key: agent.key")
	})
}
