// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// openssl makes certificates as the manuals of clusters tell it to: a configuration for each.
type openssl struct {
	t      *testing.T
	folder string
}

func (o openssl) run(args ...string) {
	o.t.Helper()
	cmd := exec.Command("openssl", args...)
	cmd.Dir = o.folder
	if out, err := cmd.CombinedOutput(); err != nil {
		o.t.Fatalf("openssl %v: %v\n%s", args, err, out)
	}
}

func (o openssl) write(name, text string) string {
	path := filepath.Join(o.folder, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		o.t.Fatal(err)
	}
	return path
}

func (o openssl) read(name string) []byte {
	return must(os.ReadFile(filepath.Join(o.folder, name)))
}

func (o openssl) authority(name, extensions string) {
	o.write(name+".cnf", "[req]\ndistinguished_name=dn\nx509_extensions=e\n[dn]\n[e]\n"+extensions+"\n")
	o.run("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", name+".key", "-out", name+".pem",
		"-subj", "/O=made by openssl/CN="+name, "-days", "30", "-config", name+".cnf")
}

func (o openssl) server(name, ca, extensions string) {
	o.write(name+".ext", extensions+"\n")
	o.run("req", "-new", "-key", "server.key", "-subj", "/CN=kube-apiserver", "-out", name+".csr", "-config", ca+".cnf")
	o.run("x509", "-req", "-in", name+".csr", "-CA", ca+".pem", "-CAkey", ca+".key", "-CAcreateserial", "-days", "30", "-extfile",
		name+".ext", "-out", name+".pem")
}

const usualAuthority = "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\nsubjectKeyIdentifier=hash"

func fromOpenSSL(t *testing.T) []situation {
	o := openssl{t, t.TempDir()}
	o.run("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", "server.key")
	block, _ := pem.Decode(o.read("server.key"))
	serverKey := must(x509.ParsePKCS8PrivateKey(block.Bytes)).(crypto.Signer)
	var all []situation
	add := func(name, ca, leaf string) {
		block, _ := pem.Decode(o.read(leaf + ".pem"))
		all = append(all, situation{name: "openssl/" + name, bundle: o.read(ca + ".pem"), sent: [][]byte{block.Bytes}, key: serverKey, host: "api.test"})
	}
	o.authority("ca", usualAuthority)
	good := "subjectAltName=DNS:api.test,IP:127.0.0.1"
	for i, e := range []string{
		"authorityKeyIdentifier=keyid,issuer:always\nbasicConstraints=CA:FALSE\nkeyUsage=keyEncipherment,dataEncipherment\nextendedKeyUsage=serverAuth,clientAuth",
		"basicConstraints=CA:FALSE\nkeyUsage=nonRepudiation,digitalSignature,keyEncipherment", "keyUsage=keyAgreement", "keyUsage=critical,encipherOnly,keyAgreement",
		"extendedKeyUsage=critical,serverAuth", "extendedKeyUsage=critical,clientAuth", "extendedKeyUsage=anyExtendedKeyUsage", "nsCertType=server",
		"nsComment=critical,generated", "certificatePolicies=1.2.3.4", "authorityInfoAccess=OCSP;URI:http://ocsp.test/", "crlDistributionPoints=URI:http://crl.test/x",
		"tlsfeature=status_request", "1.2.3.4=critical,ASN1:UTF8String:x", "1.2.3.4=ASN1:UTF8String:x", "noCheck=ignored", "inhibitAnyPolicy=2",
		"policyConstraints=requireExplicitPolicy:3", "issuerAltName=DNS:x.test",
	} {
		leaf := fmt.Sprintf("leaf%d", i)
		o.server(leaf, "ca", good+"\n"+e)
		add(fmt.Sprintf("server %d", i), "ca", leaf)
	}
	for i, names := range []string{"DNS:*.test", "DNS:other.test", "IP:127.0.0.1", "DNS:api.test,email:a@b.test,URI:spiffe://x/y,RID:1.2.3", "email:api.test",
		"DNS:api.test,otherName:1.2.3;UTF8:x", "DNS:api.test,dirName:dn\n[dn]\nCN=x"} {
		leaf := fmt.Sprintf("names%d", i)
		o.server(leaf, "ca", "subjectAltName="+names)
		add("names "+names, "ca", leaf)
	}
	o.server("plain", "ca", good)
	for i, e := range []string{
		"basicConstraints=CA:TRUE", "basicConstraints=CA:FALSE", "basicConstraints=critical,CA:TRUE,pathlen:0", "keyUsage=keyCertSign", "",
		usualAuthority + "\nextendedKeyUsage=clientAuth", usualAuthority + "\nextendedKeyUsage=serverAuth",
		usualAuthority + "\nnameConstraints=critical,permitted;DNS:test,permitted;IP:127.0.0.0/255.0.0.0",
		usualAuthority + "\nnameConstraints=critical,permitted;DNS:.cluster.local", usualAuthority + "\nnameConstraints=excluded;DNS:test",
		usualAuthority + "\nnameConstraints=permitted;IP:10.0.0.0/255.0.0.0", usualAuthority + "\nnameConstraints=permitted;email:.test",
		usualAuthority + "\nnameConstraints=critical,permitted;dirName:dn\n[dn]\nO=made by openssl",
	} {
		ca, leaf := fmt.Sprintf("ca%d", i), fmt.Sprintf("under%d", i)
		o.authority(ca, e)
		o.server(leaf, ca, good)
		add(fmt.Sprintf("authority %d", i), ca, leaf)
	}
	add("another authority", "ca0", "plain")
	return all
}
