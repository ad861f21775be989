// SPDX-License-Identifier: Apache-2.0

// Command image puts the agent's binary into an OCI archive, and writes the list of what it is made of (SPDX) beside
// it. The same binary and commit give the same bytes, whatever the folder and the time.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// product is what an image is made of.
type product struct {
	binary   string // path
	version  string
	build    string // as `neuron-dra-agent version` prints it
	revision string // commit
	created  time.Time
	arch     string // in Go's spelling
	pins     string // text of tools/build/pins

	musl, libgcc         string // versions of the C library and of the compiler's library
	muslFile, libgccFile string // paths of the archives that are linked
}

func main() {
	p := product{}
	root := flag.String("root", ".", "the repository")
	out := flag.String("out", "", "folder for the archive and the SBOM")
	machine := flag.String("machine", "x86_64", "what the binary runs on, as uname -m names it")
	created := flag.Int64("created", 0, "time of the commit in Unix seconds")
	flag.StringVar(&p.binary, "binary", "", "the stripped agent")
	flag.StringVar(&p.build, "build", "", "build id")
	flag.StringVar(&p.revision, "revision", "", "commit")
	flag.StringVar(&p.musl, "musl", "", "version of musl")
	flag.StringVar(&p.muslFile, "musl-file", "", "libc.a of musl")
	flag.StringVar(&p.libgcc, "libgcc", "", "version of libgcc")
	flag.StringVar(&p.libgccFile, "libgcc-file", "", "libgcc.a")
	flag.Parse()
	p.created = time.Unix(*created, 0).UTC()
	err := p.read(*root, *machine)
	if err == nil {
		err = p.write(*out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// read takes the version and the pins from where the build has them.
func (p *product) read(root, machine string) error {
	identity, err := os.ReadFile(filepath.Join(root, "cfg", "identity.h"))
	if err != nil {
		return err
	}
	found := regexp.MustCompile(`(?m)^#define AGENT_VERSION "([^"]+)"`).FindSubmatch(identity)
	if found == nil {
		return fmt.Errorf("cfg/identity.h has no AGENT_VERSION")
	}
	p.version = string(found[1])
	arch, known := map[string]string{"x86_64": "amd64", "aarch64": "arm64"}[machine]
	if !known {
		return fmt.Errorf("no name of an image's architecture for %q", machine)
	}
	p.arch = arch
	if strings.Contains(p.build, "+") {
		return fmt.Errorf("the build %s has libraries that are not the pinned releases: an image has none of those", p.build)
	}
	pins, err := os.ReadFile(filepath.Join(root, "tools", "build", "pins"))
	p.pins = string(pins)
	return err
}

// write makes both files and prints what there is.
func (p *product) write(out string) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	archive := filepath.Join(out, name+".tar")
	digest, err := p.writeImage(archive)
	if err != nil {
		return err
	}
	if err := p.writeSBOM(filepath.Join(out, name+".spdx.json")); err != nil {
		return err
	}
	info, err := os.Stat(archive)
	if err != nil {
		return err
	}
	fmt.Printf("%s: %d bytes, linux/%s, %s\nimage: %s\n", archive, info.Size(), p.arch, digest, p.reference())
	return nil
}
