// SPDX-License-Identifier: Apache-2.0

// Package release looks at the files of a release page with libraries made by others, and types the commands of
// cfg/deploy/release.md that need no registry. RELEASE names the folder that `make release` wrote; without it the files are
// made here, of this machine's agent for both machines.
package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const (
	root   = "../.."
	name   = "neuron-dra-agent"
	commit = "0123456789abcdef0123456789abcdef01234567"
	change = "What the release changes.\n"
)

var machines = []string{"amd64", "arm64"}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func sum(data []byte) string {
	digest := sha256.Sum256(data)
	return hex.EncodeToString(digest[:])
}

// version is the agent's.
var version = string(regexp.MustCompile(`AGENT_VERSION "([^"]+)"`).FindSubmatch(must(os.ReadFile(root + "/cfg/identity.h")))[1])

// page is the name of a file of the page.
func page(ending string) string { return name + "-" + version + ending }

// run executes a program; what it says, or an error with that.
func run(dir string, env []string, program string, args ...string) (string, error) {
	command := exec.Command(program, args...)
	command.Dir, command.Env = dir, append(os.Environ(), env...)
	out, err := command.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", filepath.Base(program), err, out)
	}
	return string(out), err
}

// parts are the inputs of a release: folders by machine, a package, and a changelog.
type parts struct{ folder, deb, changelog string }

// scratch is for what several tests use: parts are made once.
var scratch = must(os.MkdirTemp("", "release-test"))

func TestMain(m *testing.M) {
	result := m.Run()
	_ = os.RemoveAll(scratch)
	os.Exit(result)
}

func makeParts(t *testing.T) parts {
	t.Helper()
	agent := os.Getenv("AGENT")
	if agent == "" {
		t.Fatal("AGENT names no agent: run `make image-test`")
	}
	p := parts{scratch, filepath.Join(scratch, "musl-dev.deb"), filepath.Join(scratch, "CHANGELOG.md")}
	if _, err := os.Stat(p.deb); err == nil {
		return p
	}
	text := "# Changelog\n\n## 99.0.0\n\nLater.\n\n## " + version + " (a day)\n\n" + change + "\n## 0.0.1\n\nBefore.\n"
	write := func(path, text string) {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	write(p.changelog, text)
	write(filepath.Join(p.folder, "deb", "DEBIAN", "control"), "Package: musl-dev\nVersion: 1:1.2.3-1+b1\nArchitecture: arm64\n"+
		"Maintainer: Nobody <nobody@example.com>\nDescription: none\n")
	image, images := filepath.Join(p.folder, "image"), filepath.Join(root, "tools", "image")
	if _, err := run(images, nil, "go", "build", "-o", image, "."); err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(p.folder, "archive.a")
	write(archive, "objects")
	for machine, uname := range map[string]string{"amd64": "x86_64", "arm64": "aarch64"} {
		out := filepath.Join(p.folder, machine)
		_, err := run(images, nil, image, "--root", root, "--out", out, "--binary", agent, "--machine", uname,
			"--build", "v1", "--revision", commit, "--created", "1700000000", "--musl", "1.2.3", "--musl-file", archive,
			"--libgcc", "12.2.0", "--libgcc-file", archive)
		write(filepath.Join(out, name+".debug"), "symbols of "+machine)
		if err := errors.Join(err, os.WriteFile(filepath.Join(out, name), must(os.ReadFile(agent)), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := run(p.folder, nil, "dpkg-deb", "-b", "deb", p.deb); err != nil {
		t.Fatal(err)
	}
	return p
}

// assemble calls release.py as `make release` does; other arguments replace those before them.
func (p parts) assemble(out string, env []string, other ...string) error {
	args := []string{root + "/tools/image/release.py", "--out", out, "--changelog", p.changelog, "--build", "v1", "--revision", commit,
		"--created", "1700000000", "--source", "urn:test:source", "--builder", "urn:test:builder", "--go", "go1.26.0",
		"--package", "tar", "--deb", p.deb}
	for _, machine := range machines {
		folder := filepath.Join(p.folder, machine)
		args = append(args, "--"+machine, folder, folder)
	}
	_, err := run(".", env, "/usr/bin/python3", append(args, other...)...)
	return err
}

// release is the folder to look at.
func release(t *testing.T) string {
	t.Helper()
	if folder := os.Getenv("RELEASE"); folder != "" {
		return folder
	}
	folder := filepath.Join(t.TempDir(), "release")
	if err := makeParts(t).assemble(folder, nil); err != nil {
		t.Fatal(err)
	}
	return folder
}

// files are those of a folder by name.
func files(t *testing.T, folder string) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	for _, entry := range must(os.ReadDir(folder)) {
		found[entry.Name()] = must(os.ReadFile(filepath.Join(folder, entry.Name())))
	}
	return found
}

// TestTwiceTheSameBytes makes a release in two folders, at other times, with another zone, language and umask.
func TestTwiceTheSameBytes(t *testing.T) {
	p, top := makeParts(t), t.TempDir()
	first, second := filepath.Join(top, "a"), filepath.Join(top, "another", "folder")
	if err := p.assemble(first, nil); err != nil {
		t.Fatal(err)
	}
	env := []string{"TZ=Asia/Tokyo", "LC_ALL=C", "SOURCE_DATE_EPOCH=1", "PYTHONHASHSEED=7"}
	if err := p.assemble(second, env); err != nil {
		t.Fatal(err)
	}
	one, other := files(t, first), files(t, second)
	if len(one) != 13 || len(other) != len(one) {
		t.Errorf("%d and %d files, want 13", len(one), len(other))
	}
	for file := range one {
		if !bytes.Equal(one[file], other[file]) {
			t.Errorf("%s differs", file)
		}
	}
	for _, folder := range []string{first, second} {
		if notes := string(must(os.ReadFile(folder + "-notes.md"))); notes != change {
			t.Errorf("the notes are %q, want %q", notes, change)
		}
	}
}

// TestRefusals: what is not of a commit, and what the changelog does not tell, becomes no release.
func TestRefusals(t *testing.T) {
	p, none := makeParts(t), filepath.Join(t.TempDir(), "CHANGELOG.md")
	if err := os.WriteFile(none, []byte("# Changelog\n\n## "+version+"\n\n## "+version+".1\n\nOther.\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"the build v1-dirty of commit": {"--build", "v1-dirty"},
		"of commit unknown":            {"--revision", "unknown"},
		"has no section":               {"--changelog", none},
		"the package no-such-package":  {"--package", "no-such-package"},
	} {
		out := filepath.Join(t.TempDir(), "release")
		if err := p.assemble(out, nil, args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", args, err, want)
		}
		if _, err := os.Stat(filepath.Join(out, "SHA256SUMS")); err == nil {
			t.Errorf("%v: there are checksums of a release that was refused", args)
		}
	}
}

// TestFiles: the page has all that release.md lists, and the programs are what their names say.
func TestFiles(t *testing.T) {
	folder := release(t)
	found := files(t, folder)
	about := string(must(os.ReadFile(root + "/cfg/deploy/release.md")))
	want := map[string]string{} // how release.md names it
	for _, file := range []string{page(".oci.tar"), page(".tgz"), page(".intoto.json"), page(".intoto.pae"), "SHA256SUMS"} {
		want[file] = "| `" + file + "` |"
	}
	for _, machine := range machines {
		want[page("-linux-"+machine)] = "| `" + page("-linux-amd64") + "`, `…-arm64` |"
		for _, ending := range []string{".debug", ".oci.tar", ".spdx.json"} {
			want[page("-linux-"+machine+ending)] = "| `…" + ending + "` |"
		}
	}
	for file, row := range want {
		if len(found[file]) == 0 || !strings.Contains(about, row) {
			t.Errorf("%s has %d bytes; release.md has a row %s: %t", file, len(found[file]), row, strings.Contains(about, row))
		}
	}
	for file := range found {
		if want[file] == "" && file != name+".1" {
			t.Errorf("%s is not to be here", file)
		}
	}
	for _, machine := range machines {
		path := filepath.Join(folder, page("-linux-"+machine))
		program, err := elf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		is := elf.EM_X86_64
		if machine == "arm64" && os.Getenv("RELEASE") != "" {
			is = elf.EM_AARCH64
		}
		if program.Machine != is || must(os.Stat(path)).Mode().Perm() != 0o755 {
			t.Errorf("%s is for %s, with mode %s", path, program.Machine, must(os.Stat(path)).Mode())
		}
		for _, part := range program.Progs {
			if part.Type == elf.PT_INTERP {
				t.Errorf("%s is not static", path)
			}
		}
	}
	if out, err := run(folder, nil, "./"+page("-linux-amd64"), "--version"); err != nil || !strings.HasPrefix(out, name+" "+version+"\n") {
		t.Errorf("it says %q, %v", out, err)
	}
}

// chartFiles are the files of a chart's archive; their times have to be those of no build.
func chartFiles(t *testing.T, archive string) map[string]string {
	t.Helper()
	content, found := must(gzip.NewReader(bytes.NewReader(must(os.ReadFile(archive))))), map[string]string{}
	if !content.ModTime.IsZero() {
		t.Errorf("%s has the time %s", archive, content.ModTime)
	}
	for r := tar.NewReader(content); ; {
		header, err := r.Next()
		if err == io.EOF {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.ModTime.Unix() != 0 || header.Uname+header.Gname != "" {
			t.Errorf("%s: %s has the time %s, the owner %q", archive, header.Name, header.ModTime, header.Uname)
		}
		found[header.Name] = string(must(io.ReadAll(r)))
	}
}

// TestChart: the archive renders what the folder renders, and has no file that the folder lacks.
func TestChart(t *testing.T) {
	helm, archive, folder := os.Getenv("HELM"), filepath.Join(release(t), page(".tgz")), filepath.Join(root, "cfg", "deploy", "chart")
	if helm == "" {
		t.Fatal("HELM names no helm: run `make image-test`")
	}
	for path, text := range chartFiles(t, archive) {
		original, err := os.ReadFile(filepath.Join(folder, strings.TrimPrefix(path, name+"/")))
		// helm writes Chart.yaml anew.
		if err != nil || text != string(original) && !strings.HasSuffix(path, "/Chart.yaml") {
			t.Errorf("%s is not as in the folder: %v", path, err)
		}
	}
	args := []string{"template", name, "", "--kube-version", "1.36.0", "--set", "draDriver.efa.enabled=true"}
	var texts []string
	for _, chart := range []string{folder, archive} {
		args[2] = chart
		out, err := run(".", nil, helm, args...)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, out)
	}
	if texts[0] != texts[1] || !strings.Contains(texts[0], "image: \"localhost/"+name+":"+version) {
		t.Errorf("the archive renders\n%s", texts[1])
	}
}
