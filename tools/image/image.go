// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	name      = "neuron-dra-agent"
	otherName = "k8s-neuron-dra-driver" // the command of AWS's own image
)

// reference is the name under which a node's containerd imports the archive.
func (p *product) reference() string { return "localhost/" + name + ":" + p.version }

// layer holds the binary under both names. Times are left at zero: they would differ with every build.
func (p *product) layer() (v1.Layer, error) {
	binary, err := os.ReadFile(p.binary)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	entries := []tar.Header{
		{Name: "bin/", Typeflag: tar.TypeDir, Mode: 0o755},
		{Name: "bin/" + name, Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(binary))},
		{Name: "bin/" + otherName, Typeflag: tar.TypeSymlink, Mode: 0o777, Linkname: name},
	}
	for i := range entries {
		if err := w.WriteHeader(&entries[i]); err != nil {
			return nil, err
		}
		if entries[i].Typeflag == tar.TypeReg {
			if _, err := w.Write(binary); err != nil {
				return nil, err
			}
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(out.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(gzip.BestCompression))
}

// image is the layer with a configuration: nothing else, not even a shell.
func (p *product) image() (v1.Image, error) {
	layer, err := p.layer()
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.Append(base, mutate.Addendum{Layer: layer, MediaType: types.OCILayer,
		History: v1.History{Created: v1.Time{Time: p.created}, CreatedBy: "make image"}})
	if err != nil {
		return nil, err
	}
	return mutate.ConfigFile(image, p.config(image))
}

func (p *product) config(image v1.Image) *v1.ConfigFile {
	config, err := image.ConfigFile()
	if err != nil {
		panic(err) // it was made in memory just now
	}
	config = config.DeepCopy()
	config.Architecture, config.OS, config.Created = p.arch, "linux", v1.Time{Time: p.created}
	config.Config = v1.Config{
		User:       "0:0", // the kubelet's folders are root's
		Env:        []string{"PATH=/bin"},
		Entrypoint: []string{name},
		Cmd:        []string{"run"},
		Labels: map[string]string{
			"org.opencontainers.image.title":       name,
			"org.opencontainers.image.description": "Kubernetes DRA driver neuron.aws.com for AWS Neuron devices",
			"org.opencontainers.image.version":     p.version,
			"org.opencontainers.image.revision":    p.revision,
			"org.opencontainers.image.created":     p.created.Format("2006-01-02T15:04:05Z"),
			"org.opencontainers.image.licenses":    licences,
		},
	}
	return config
}

// writeImage writes the OCI archive: a layout in a tar. The image's digest.
func (p *product) writeImage(path string) (string, error) {
	image, err := p.image()
	if err != nil {
		return "", err
	}
	folder, err := os.MkdirTemp(filepath.Dir(path), "layout")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(folder)
	at, err := layout.Write(folder, empty.Index)
	if err != nil {
		return "", err
	}
	err = at.AppendImage(image, layout.WithPlatform(v1.Platform{OS: "linux", Architecture: p.arch}),
		layout.WithAnnotations(map[string]string{
			"io.containerd.image.name":          p.reference(),
			"org.opencontainers.image.ref.name": p.version,
		}))
	if err != nil {
		return "", err
	}
	if err := pack(folder, path); err != nil {
		return "", err
	}
	digest, err := image.Digest()
	return digest.String(), err
}

// pack writes a folder into a tar, in the order of names and without times.
func pack(folder, path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	w := tar.NewWriter(file)
	err = filepath.WalkDir(folder, func(at string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(at)
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(folder, at)
		if err != nil {
			return err
		}
		header := tar.Header{Name: filepath.ToSlash(inside), Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(data))}
		if err := w.WriteHeader(&header); err != nil {
			return err
		}
		_, err = w.Write(data)
		return err
	})
	if err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return file.Close()
}
