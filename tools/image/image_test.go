// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/spdx/tools-golang/json"
)

const most = 600 * 1000 // bytes of the archive

// made is the real binary with details that no build has.
func made(t *testing.T) *product {
	t.Helper()
	p := &product{binary: os.Getenv("AGENT"), build: "v1", revision: "0123", created: time.Unix(1700000000, 0).UTC(), musl: "1.2.3", libgcc: "12.2.0",
		muslFile: filepath.Join(t.TempDir(), "libc.a"), libgccFile: filepath.Join(t.TempDir(), "libgcc.a")}
	for _, path := range []string{p.muslFile, p.libgccFile} {
		if err := os.WriteFile(path, []byte(filepath.Base(path)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if p.binary == "" {
		t.Fatal("AGENT names no agent: run `make image-test`")
	}
	if err := p.read(filepath.Join("..", ".."), "x86_64"); err != nil {
		t.Fatal(err)
	}
	return p
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestTwiceTheSameBytes(t *testing.T) {
	folders := []string{t.TempDir(), filepath.Join(t.TempDir(), "with", "a", "longer", "name")}
	for _, folder := range folders {
		if err := made(t).write(folder); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{name + ".tar", name + ".spdx.json"} {
		first, second := read(t, filepath.Join(folders[0], file)), read(t, filepath.Join(folders[1], file))
		if !bytes.Equal(first, second) {
			t.Errorf("%s differs from one folder to the other", file)
		}
		if len(first) > most {
			t.Errorf("%s has %d bytes, more than %d", file, len(first), most)
		}
	}
}

// unpack puts the archive's files into a folder, as an OCI layout.
func unpack(t *testing.T, archive string) string {
	t.Helper()
	folder := t.TempDir()
	for r := tar.NewReader(bytes.NewReader(read(t, archive))); ; {
		header, err := r.Next()
		if err == io.EOF {
			return folder
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(folder, header.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestContents(t *testing.T) {
	p, folder := made(t), t.TempDir()
	if err := p.write(folder); err != nil {
		t.Fatal(err)
	}
	index, err := layout.ImageIndexFromPath(unpack(t, filepath.Join(folder, name+".tar")))
	if err != nil {
		t.Fatal(err)
	}
	list, err := index.IndexManifest()
	if err != nil || len(list.Manifests) != 1 || list.Manifests[0].Annotations["io.containerd.image.name"] != p.reference() {
		t.Fatalf("not one image with the name %s: %+v, %v", p.reference(), list, err)
	}
	image, err := index.Image(list.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	for label, want := range map[string]string{"version": p.version, "revision": "0123", "created": "2023-11-14T22:13:20Z",
		"licenses": licences, "title": name} {
		if got := config.Config.Labels["org.opencontainers.image."+label]; got != want {
			t.Errorf("label %s is %q, want %q", label, got, want)
		}
	}
	if config.Architecture != "amd64" || config.OS != "linux" || config.Config.User != "0:0" {
		t.Errorf("for %s/%s as user %s", config.OS, config.Architecture, config.Config.User)
	}
	layers, err := image.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers, %v", len(layers), err)
	}
	content, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for r := tar.NewReader(content); ; {
		header, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, strings.TrimSpace(header.Name+" "+header.Linkname))
		if data, _ := io.ReadAll(r); header.Typeflag == tar.TypeReg && !bytes.Equal(data, read(t, p.binary)) {
			t.Errorf("%s is not the binary", header.Name)
		}
	}
	if want := []string{"bin/", "bin/" + name, "bin/" + otherName + " " + name}; !reflect.DeepEqual(found, want) {
		t.Errorf("the layer holds %q, want %q", found, want)
	}
}

// TestSBOM reads what the image is made of, with the versions of tools/build/pins.
func TestSBOM(t *testing.T) {
	p, folder := made(t), t.TempDir()
	if err := p.write(folder); err != nil {
		t.Fatal(err)
	}
	document, err := json.Read(bytes.NewReader(read(t, filepath.Join(folder, name+".spdx.json"))))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, one := range document.Packages {
		found[one.PackageName] = one.PackageVersion
		if len(one.PackageChecksums) != 1 {
			t.Errorf("%s has %d checksums, want 1", one.PackageName, len(one.PackageChecksums))
		}
	}
	for _, library := range []string{"mbedtls", "nanopb"} {
		pin := strings.ToUpper(library) + `_ACCEPT="` + found[library] + ":"
		if found[library] == "" || !strings.Contains(p.pins, pin) {
			t.Errorf("%s is of version %q, and tools/build/pins has no %s", library, found[library], pin)
		}
	}
	if found[name] != p.version || found["musl"] != "1.2.3" || found["libgcc"] != "12.2.0" || len(found) != 5 {
		t.Errorf("it lists %v", found)
	}
}

// TestLibraryThatIsNotThere: no SBOM without the version or the checksum of a library.
func TestLibraryThatIsNotThere(t *testing.T) {
	for what, spoil := range map[string]func(*product){
		"the version of musl":   func(p *product) { p.musl = "" },
		"the archive of musl":   func(p *product) { p.muslFile += ".none" },
		"the version of libgcc": func(p *product) { p.libgcc = "" },
		"the archive of libgcc": func(p *product) { p.libgccFile += ".none" },
	} {
		p := made(t)
		spoil(p)
		if _, err := p.document(); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("the SBOM without %s: %v", what, err)
		}
	}
}

// TestOnlyPinned: what was built with another release of a library does not become an image.
func TestOnlyPinned(t *testing.T) {
	p := made(t)
	p.build = "v1+mbedtls-3.6.6"
	if err := p.read(filepath.Join("..", ".."), "x86_64"); err == nil || !strings.Contains(err.Error(), p.build) {
		t.Errorf("an unpinned build is taken: %v", err)
	}
}
