// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	provenance "github.com/in-toto/attestation/go/predicates/provenance/v1"
	intoto "github.com/in-toto/attestation/go/v1"
	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	spdx "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdxlib"
	"google.golang.org/protobuf/encoding/protojson"
)

const payloadType = "application/vnd.in-toto+json"

// blocks are the commands of release.md by heading.
func blocks(t *testing.T, heading string) string {
	t.Helper()
	text := string(must(os.ReadFile(root + "/cfg/deploy/release.md")))
	found := regexp.MustCompile("(?s)\n#+ " + regexp.QuoteMeta(heading) + "\n[^#]*?\n```sh\n(.*?)```\n").FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("release.md has no commands below %q", heading)
	}
	return found[1]
}

// typeBlock types the commands of release.md in a folder, with the helm of the tests; each line has to succeed.
func typeBlock(t *testing.T, folder, heading string) (string, error) {
	t.Helper()
	env := []string{"PATH=" + filepath.Dir(os.Getenv("HELM")) + ":" + os.Getenv("PATH")}
	return run(folder, env, "bash", "-e", "-o", "pipefail", "-c", blocks(t, heading))
}

// statementOf reads the statement by the library of its form, strictly.
func statementOf(t *testing.T, folder string) (*intoto.Statement, *provenance.Provenance) {
	t.Helper()
	read, from := &intoto.Statement{}, &provenance.Provenance{}
	err := protojson.Unmarshal(must(os.ReadFile(filepath.Join(folder, page(".intoto.json")))), read)
	if err = errors.Join(err, read.Validate()); err != nil {
		t.Fatal(err)
	}
	err = protojson.Unmarshal(must(protojson.Marshal(read.Predicate)), from)
	if err = errors.Join(err, from.Validate()); err != nil {
		t.Fatal(err)
	}
	return read, from
}

// TestStatement: the form is that of in-toto and SLSA, and it names each file that was there before it.
func TestStatement(t *testing.T) {
	folder := release(t)
	read, from := statementOf(t, folder)
	if read.Type != intoto.StatementTypeUri || read.PredicateType != "https://slsa.dev/provenance/v1" {
		t.Errorf("it is %s of %s", read.Type, read.PredicateType)
	}
	want, named := map[string]string{}, map[string]string{}
	for file, data := range files(t, folder) {
		want[file] = sum(data)
	}
	for _, later := range []string{"SHA256SUMS", page(".intoto.json"), page(".intoto.pae")} {
		delete(want, later)
	}
	for _, subject := range read.Subject {
		if digest := subject.Digest["sha256"]; strings.HasPrefix(subject.Name, "pkg:oci/") {
			if subject.Name != "pkg:oci/"+name+"?tag="+version || digest != imageIndex(t, folder).Hex {
				t.Errorf("the image is %s with %s", subject.Name, digest)
			}
		} else {
			named[subject.Name] = digest
		}
	}
	if !maps.Equal(named, want) || len(read.Subject) != len(want)+1 {
		t.Errorf("it names %v, there are %v", named, want)
	}
	var sources []string
	for _, one := range from.BuildDefinition.ResolvedDependencies {
		sources = append(sources, one.Uri)
	}
	all := strings.Join(sources, "\n")
	if strings.ContainsAny(all, " +") || os.Getenv("RELEASE") == "" && !strings.Contains(all, "musl-dev@1%3A1.2.3-1%2Bb1?arch=arm64") {
		t.Errorf("versions are not written as URIs have them: %v", sources)
	}
	for _, one := range []string{"mbedtls-3", "nanopb", "pkg:deb/debian/musl-dev@", "?arch=arm64", "pkg:generic/go@1", "pkg:golang/helm.sh/helm/v3@v3"} {
		if !strings.Contains(all, one) {
			t.Errorf("it has no source %s: %v", one, sources)
		}
	}
	if revision := from.BuildDefinition.ExternalParameters.AsMap()["revision"]; from.BuildDefinition.ResolvedDependencies[0].Digest["gitCommit"] != revision {
		t.Errorf("the commit is %v and %v", revision, from.BuildDefinition.ResolvedDependencies[0])
	}
}

// TestSums types what release.md says for who has downloaded the files, and again with a file that is damaged.
func TestSums(t *testing.T) {
	folder, heading := t.TempDir(), "Check what you downloaded"
	if err := os.CopyFS(folder, os.DirFS(release(t))); err != nil {
		t.Fatal(err)
	}
	out, err := typeBlock(t, folder, heading)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{page(".tgz") + ": OK\n", page("-linux-arm64") + ": OK\n", "mbedtls-3", "version: " + version + "\n",
		imageIndex(t, folder).String()} {
		if !strings.Contains(out, want) {
			t.Errorf("it says nothing of %q:\n%s", want, out)
		}
	}
	damaged := filepath.Join(folder, page("-linux-arm64"))
	if err := os.WriteFile(damaged, []byte("other"), 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := typeBlock(t, folder, heading); err == nil || !strings.Contains(out, page("-linux-arm64")+": FAILED") {
		t.Errorf("a damaged file is taken: %v\n%s", err, out)
	}
	// Others are not looked for: not every reader takes all files.
	if err := os.Remove(damaged); err != nil {
		t.Fatal(err)
	}
	if out, err := typeBlock(t, folder, heading); err != nil {
		t.Errorf("without one file: %v\n%s", err, out)
	}
}

// verifier checks signatures with a public key.
type verifier struct{ key ed25519.PublicKey }

func (v verifier) Verify(_ context.Context, data, signature []byte) error {
	if !ed25519.Verify(v.key, data, signature) {
		return errors.New("another signature")
	}
	return nil
}
func (v verifier) KeyID() (string, error)   { return "", nil }
func (v verifier) Public() crypto.PublicKey { return v.key }

// TestSignature: the encoding is that of DSSE's library, which accepts what the commands of release.md sign.
func TestSignature(t *testing.T) {
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS(release(t))); err != nil {
		t.Fatal(err)
	}
	payload := must(os.ReadFile(filepath.Join(folder, page(".intoto.json"))))
	if got := must(os.ReadFile(filepath.Join(folder, page(".intoto.pae")))); !bytes.Equal(got, dsse.PAE(payloadType, payload)) {
		t.Errorf("the encoding is\n%q", got)
	}
	keys := "openssl genpkey -algorithm ed25519 -out release.key && openssl pkey -in release.key -pubout -out release.pub"
	if _, err := run(folder, nil, "sh", "-c", keys); err != nil {
		t.Fatal(err)
	}
	if _, err := typeBlock(t, folder, "Sign with openssl"); err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(must(os.ReadFile(filepath.Join(folder, "release.pub"))))
	check := must(dsse.NewEnvelopeVerifier(verifier{must(x509.ParsePKIXPublicKey(block.Bytes)).(ed25519.PublicKey)}))
	path := filepath.Join(folder, page(".intoto.dsse"))
	var envelope dsse.Envelope
	if err := json.Unmarshal(must(os.ReadFile(path)), &envelope); err != nil {
		t.Fatal(err)
	}
	if _, signed, err := check.VerifyAndDecode(context.Background(), &envelope); err != nil || !bytes.Equal(signed, payload) {
		t.Errorf("DSSE's library: %v", err)
	}
	if out, err := typeBlock(t, folder, "Check with openssl"); err != nil || !strings.Contains(out, page(".tgz")+": OK") {
		t.Errorf("%v\n%s", err, out)
	}
	// A statement that was changed after it was signed.
	envelope.Payload = strings.Replace(envelope.Payload, envelope.Payload[:4], "ewoK", 1)
	if err := os.WriteFile(path, must(json.Marshal(envelope)), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := typeBlock(t, folder, "Check with openssl"); err == nil {
		t.Errorf("a changed statement is taken:\n%s", out)
	}
}

// opened is an OCI archive as a layout.
func opened(t *testing.T, archive string) v1.ImageIndex {
	t.Helper()
	folder := t.TempDir()
	if _, err := run(folder, nil, "tar", "-xf", must(filepath.Abs(archive))); err != nil {
		t.Fatal(err)
	}
	return must(layout.ImageIndexFromPath(folder))
}

// imageIndex is the digest of the index of both images.
func imageIndex(t *testing.T, folder string) v1.Hash {
	t.Helper()
	top := must(opened(t, filepath.Join(folder, page(".oci.tar"))).IndexManifest())
	if len(top.Manifests) != 1 || top.Manifests[0].Annotations["io.containerd.image.name"] != "localhost/"+name+":"+version {
		t.Fatalf("not one index with the image's name: %+v", top)
	}
	return top.Manifests[0].Digest
}

// TestImages: the archive of both has the image of each machine's own archive, and that the machine's program.
func TestImages(t *testing.T) {
	folder := release(t)
	both := must(opened(t, filepath.Join(folder, page(".oci.tar"))).ImageIndex(imageIndex(t, folder)))
	if err := validate.Index(both); err != nil {
		t.Fatal(err)
	}
	manifest := must(both.IndexManifest())
	if len(manifest.Manifests) != len(machines) {
		t.Fatalf("%d images", len(manifest.Manifests))
	}
	for i, machine := range machines {
		one := manifest.Manifests[i]
		if one.Platform == nil || one.Platform.String() != "linux/"+machine {
			t.Errorf("image %d is for %v", i, one.Platform)
		}
		own := must(opened(t, filepath.Join(folder, page("-linux-"+machine+".oci.tar"))).IndexManifest())
		if len(own.Manifests) != 1 || own.Manifests[0].Digest != one.Digest {
			t.Errorf("the archive of %s has %v, that of both %s", machine, own.Manifests, one.Digest)
		}
		image := must(both.Image(one.Digest))
		if config := must(image.ConfigFile()); config.Architecture != machine || config.Config.Labels["org.opencontainers.image.version"] != version {
			t.Errorf("%s: it is for %s, with %v", machine, config.Architecture, config.Config.Labels)
		}
		layer := filepath.Join(t.TempDir(), "layer")
		content := must(must(image.Layers())[0].Uncompressed())
		var data bytes.Buffer
		if _, err := data.ReadFrom(content); err != nil || os.WriteFile(layer, data.Bytes(), 0o644) != nil {
			t.Fatal(err)
		}
		program, err := run(".", nil, "tar", "-xOf", layer, "bin/"+name)
		if err != nil || program != string(must(os.ReadFile(filepath.Join(folder, page("-linux-"+machine))))) {
			t.Errorf("%s: its program is not that of the page: %v", machine, err)
		}
	}
}

// TestSBOMs: each is valid, and is that of the machine's program.
func TestSBOMs(t *testing.T) {
	folder := release(t)
	for _, machine := range machines {
		document, err := spdx.Read(bytes.NewReader(must(os.ReadFile(filepath.Join(folder, page("-linux-"+machine+".spdx.json"))))))
		if err = errors.Join(err, spdxlib.ValidateDocument(document)); err != nil {
			t.Fatal(err)
		}
		own, want := document.Packages[0], sum(must(os.ReadFile(filepath.Join(folder, page("-linux-"+machine)))))
		if own.PackageName != name || own.PackageVersion != version || len(own.PackageChecksums) != 1 || own.PackageChecksums[0].Value != want {
			t.Errorf("%s: it is of %s %s with %v, the program has %s", machine, own.PackageName, own.PackageVersion, own.PackageChecksums, want)
		}
		if len(document.Packages) != 5 {
			t.Errorf("%s: %d packages", machine, len(document.Packages))
		}
	}
}
