// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	resource "k8s.io/api/resource/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
)

var configVersion = schema.GroupVersion{Group: driverName, Version: "v1"}

// NeuronConfig is the opaque configuration of a request.
type NeuronConfig struct {
	meta.TypeMeta     `json:",inline"`
	LogicalNeuronCore int `json:"logicalNeuronCore"`
}

func (c *NeuronConfig) DeepCopyObject() runtime.Object {
	copied := *c
	return &copied
}

func (c *NeuronConfig) validate() error {
	if c.LogicalNeuronCore != 1 && c.LogicalNeuronCore != 2 {
		return fmt.Errorf("logicalNeuronCore %d: 1 or 2", c.LogicalNeuronCore)
	}
	return nil
}

// newConfigDecoder refuses unknown and repeated fields.
func newConfigDecoder() runtime.Decoder {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(configVersion, &NeuronConfig{})
	return json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, json.SerializerOptions{Strict: true})
}

// requestConfig is one configuration and the requests that it is for; none: all.
type requestConfig struct {
	requests []string
	config   *NeuronConfig
}

// readConfigs decodes what is meant for this driver, in rising precedence: those of classes first.
func readConfigs(decoder runtime.Decoder, all []resource.DeviceAllocationConfiguration) ([]requestConfig, error) {
	var configs []requestConfig
	for _, source := range []resource.AllocationConfigSource{
		resource.AllocationConfigSourceClass, resource.AllocationConfigSourceClaim} {
		for _, entry := range all {
			if entry.Source != source {
				continue
			}
			if entry.Opaque == nil {
				return nil, errors.New("only opaque parameters are supported")
			}
			if entry.Opaque.Driver != driverName {
				continue
			}
			object, err := runtime.Decode(decoder, entry.Opaque.Parameters.Raw)
			if err != nil {
				return nil, fmt.Errorf("error decoding config parameters: %w", err)
			}
			config, ok := object.(*NeuronConfig)
			if !ok {
				return nil, fmt.Errorf("unknown configuration %T", object)
			}
			if err := config.validate(); err != nil {
				return nil, fmt.Errorf("error applying config: %w", err)
			}
			configs = append(configs, requestConfig{entry.Requests, config})
		}
	}
	return configs, nil
}

// configFor is the last configuration that covers the request, nil if none does.
func configFor(configs []requestConfig, request string) *NeuronConfig {
	base, _, _ := strings.Cut(request, "/")
	for _, c := range slices.Backward(configs) {
		if len(c.requests) == 0 || slices.Contains(c.requests, request) || slices.Contains(c.requests, base) {
			return c.config
		}
	}
	return nil
}
