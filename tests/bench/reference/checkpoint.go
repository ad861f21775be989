// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"

	"k8s.io/dynamic-resource-allocation/kubeletplugin"
	"k8s.io/kubernetes/pkg/kubelet/checkpointmanager/checksum"
)

const checkpointFile = "checkpoint.json"

// checkpoint is all that was prepared, by claim UID, in the form that drivers give to the kubelet's
// checkpoint manager: JSON under the kubelet's checksum over itself.
type checkpoint struct {
	Checksum checksum.Checksum `json:"checksum"`
	V1       checkpointV1      `json:"v1"`
}

type checkpointV1 struct {
	PreparedClaims map[string]preparedClaim `json:"preparedClaims,omitempty"`
}

type preparedClaim struct {
	Namespace string                 `json:"namespace"`
	Name      string                 `json:"name"`
	Devices   []kubeletplugin.Device `json:"devices"`
	Exclusive []string               `json:"exclusive,omitempty"` // devices that no other claim may hold
}

func newCheckpoint() *checkpoint {
	return &checkpoint{V1: checkpointV1{PreparedClaims: map[string]preparedClaim{}}}
}

func (c *checkpoint) MarshalCheckpoint() ([]byte, error) {
	c.Checksum = 0
	text, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	c.Checksum = checksum.New(text)
	return json.Marshal(c)
}

func (c *checkpoint) UnmarshalCheckpoint(text []byte) error { return json.Unmarshal(text, c) }

func (c *checkpoint) VerifyChecksum() error {
	stored := c.Checksum
	c.Checksum = 0
	text, err := json.Marshal(c)
	c.Checksum = stored
	if err != nil {
		return err
	}
	return stored.Verify(text)
}
