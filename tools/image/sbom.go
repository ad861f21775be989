// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx"
	"github.com/spdx/tools-golang/spdx/v2/common"
	"github.com/spdx/tools-golang/spdxlib"
)

// The compiler's library: 128-bit division and the like.
const licenceOfLibgcc = "GPL-3.0-or-later WITH GCC-exception-3.1"

// Licences of the agent, mbedTLS (under the first of its two), nanopb, musl and libgcc, which are linked into one binary.
const licences = "Apache-2.0 AND Zlib AND MIT AND " + licenceOfLibgcc

// part is a library in the binary.
type part struct {
	name, version, sha256, url, licence string
	comment                             string // what the checksum is of, where that is not what the URL has
}

// pinned is the release that the build accepts: the first of NAME_ACCEPT.
func pinned(pins, variable, name, licence string) (part, error) {
	accept := regexp.MustCompile(`(?m)^` + variable + `_ACCEPT="([0-9.]+):([0-9a-f]{64})`).FindStringSubmatch(pins)
	upstream := regexp.MustCompile(`(?m)^` + variable + `_UPSTREAM="([^"]+)"`).FindStringSubmatch(pins)
	if accept == nil || upstream == nil {
		return part{}, fmt.Errorf("tools/build/pins has no %s_ACCEPT or no %s_UPSTREAM", variable, variable)
	}
	url := regexp.MustCompile("VERSION").ReplaceAllString(upstream[1], accept[1])
	return part{name: name, version: accept[1], sha256: accept[2], url: url, licence: licence}, nil
}

// archive is a library that the machine that builds has installed: its checksum is of the archive that is linked.
func archive(name, version, path, licence string) (part, error) {
	if version == "" {
		return part{}, fmt.Errorf("the version of %s is not known", name)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return part{}, fmt.Errorf("the archive of %s: %w", name, err)
	}
	sum := sha256.Sum256(content)
	return part{name, version, hex.EncodeToString(sum[:]), "NOASSERTION", licence,
		"The version is that of the distribution's package; the checksum is of its " + filepath.Base(path) + ", which is linked."}, nil
}

func (p *product) parts() ([]part, error) {
	mbedtls, err := pinned(p.pins, "MBEDTLS", "mbedtls", "Apache-2.0")
	if err != nil {
		return nil, err
	}
	nanopb, err := pinned(p.pins, "NANOPB", "nanopb", "Zlib")
	if err != nil {
		return nil, err
	}
	musl, err := archive("musl", p.musl, p.muslFile, "MIT")
	if err != nil {
		return nil, err
	}
	libgcc, err := archive("libgcc", p.libgcc, p.libgccFile, licenceOfLibgcc)
	if err != nil {
		return nil, err
	}
	return []part{mbedtls, nanopb, musl, libgcc}, nil
}

func spdxPackage(one part, purpose string) *spdx.Package {
	made := &spdx.Package{
		PackageName: one.name, PackageSPDXIdentifier: spdx.ElementID("Package-" + one.name), PackageVersion: one.version,
		PackageDownloadLocation: one.url, PackageLicenseConcluded: one.licence, PackageLicenseDeclared: one.licence,
		PackageCopyrightText: "NOASSERTION", PrimaryPackagePurpose: purpose, IsFilesAnalyzedTagPresent: true,
		PackageComment: one.comment,
	}
	if one.sha256 != "" {
		made.PackageChecksums = []common.Checksum{{Algorithm: common.SHA256, Value: one.sha256}}
	}
	return made
}

func relation(from, kind, to string) *spdx.Relationship {
	return &spdx.Relationship{RefA: common.MakeDocElementID("", from), Relationship: kind, RefB: common.MakeDocElementID("", to)}
}

// document lists the agent and what is linked into it.
func (p *product) document() (*spdx.Document, error) {
	binary, err := os.ReadFile(p.binary)
	if err != nil {
		return nil, err
	}
	parts, err := p.parts()
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(binary)
	own := part{name: name, version: p.version, sha256: hex.EncodeToString(sum[:]), url: "NOASSERTION", licence: "Apache-2.0"}
	document := &spdx.Document{
		SPDXVersion: spdx.Version, DataLicense: spdx.DataLicense, SPDXIdentifier: "DOCUMENT", DocumentName: name + "-" + p.version,
		// A URI that is this document's alone; nothing has to lie there.
		DocumentNamespace: "urn:" + name + ":" + p.version + ":" + p.arch + ":" + own.sha256,
		CreationInfo: &spdx.CreationInfo{Created: p.created.Format("2006-01-02T15:04:05Z"),
			Creators: []common.Creator{{CreatorType: "Tool", Creator: name + "-make-image"}}},
		Packages:      []*spdx.Package{spdxPackage(own, "APPLICATION")},
		Relationships: []*spdx.Relationship{relation("DOCUMENT", common.TypeRelationshipDescribe, "Package-"+name)},
	}
	for _, one := range parts {
		document.Packages = append(document.Packages, spdxPackage(one, "LIBRARY"))
		document.Relationships = append(document.Relationships,
			relation("Package-"+name, common.TypeRelationshipStaticLink, "Package-"+one.name))
	}
	return document, nil
}

// writeSBOM writes the document, once the library reads back what it wrote and finds it valid.
func (p *product) writeSBOM(path string) error {
	document, err := p.document()
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := json.Write(document, &out, json.Indent("  ")); err != nil {
		return err
	}
	read, err := json.Read(bytes.NewReader(out.Bytes()))
	if err != nil {
		return fmt.Errorf("the SBOM cannot be read back: %w", err)
	}
	if err := spdxlib.ValidateDocument(read); err != nil {
		return fmt.Errorf("the SBOM is not valid: %w", err)
	}
	return os.WriteFile(path, append(out.Bytes(), '\n'), 0o644)
}
