// SPDX-License-Identifier: Apache-2.0

// Command metadata reads device metadata files with Kubernetes' own decoder, as a program in a container does, and writes
// them again with the encoder of its helper for drivers. The tests build it with the release that knows both versions
// of the API and with the one before it.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	runtimejson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/dynamic-resource-allocation/api/metadata"
	"k8s.io/dynamic-resource-allocation/api/metadata/install"
	"k8s.io/dynamic-resource-allocation/devicemetadata"
)

// read is what the decoder makes of a file, and whether the encoder makes the same bytes of that.
type read struct {
	Known    []string // versions that the file has and this release knows
	Unknown  []string // those that it does not know
	Rewrites bool     // each known document is written again as the same bytes
	Metadata *metadata.DeviceMetadata
}

var (
	scheme = install.NewScheme()
	codecs = serializer.NewCodecFactory(scheme)
	pretty = runtimejson.NewSerializerWithOptions(runtimejson.DefaultMetaFactory, scheme, scheme,
		runtimejson.SerializerOptions{Pretty: true, Strict: true})
)

// document reads one document of a file by itself.
func (r *read) document(raw []byte) error {
	var head runtime.TypeMeta
	if err := json.Unmarshal(raw, &head); err != nil {
		return err
	}
	version, err := schema.ParseGroupVersion(head.APIVersion)
	if err != nil {
		return err
	}
	if !scheme.IsVersionRegistered(version) {
		r.Unknown = append(r.Unknown, head.APIVersion)
		return nil
	}
	r.Known = append(r.Known, head.APIVersion)
	if _, _, err := pretty.Decode(raw, nil, nil); err != nil { // strict: a field that the type lacks is an error
		return err
	}
	var one metadata.DeviceMetadata
	if err := devicemetadata.DecodeMetadataFromStream(json.NewDecoder(bytes.NewReader(raw)), &one); err != nil {
		return err
	}
	again, err := runtime.Encode(codecs.EncoderForVersion(pretty, version), &one)
	r.Rewrites = r.Rewrites && bytes.Equal(bytes.TrimSpace(again), bytes.TrimSpace(raw))
	return err
}

func (r *read) file(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	r.Rewrites, r.Metadata = true, &metadata.DeviceMetadata{}
	for decoder := json.NewDecoder(bytes.NewReader(text)); decoder.More(); {
		var raw json.RawMessage
		if err := decoder.Decode(&raw); err != nil {
			return err
		}
		if err := r.document(raw); err != nil {
			return err
		}
	}
	return devicemetadata.DecodeMetadataFromStream(json.NewDecoder(bytes.NewReader(text)), r.Metadata)
}

func main() {
	var all []read
	for _, path := range os.Args[1:] {
		var one read
		if err := one.file(path); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", path, err)
			os.Exit(1)
		}
		all = append(all, one)
	}
	if err := json.NewEncoder(os.Stdout).Encode(all); err != nil {
		os.Exit(1)
	}
}
