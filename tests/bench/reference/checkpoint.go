// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"hash/crc32"

	"k8s.io/dynamic-resource-allocation/kubeletplugin"
)

const checkpointFile = "checkpoint.json"

// checkpoint is all that was prepared, by claim UID, in the form that drivers give to the kubelet's
// checkpoint manager: JSON under a checksum over itself. They take the kubelet's checksum, which prints the
// text byte by byte before it hashes it and makes a prepare ten times slower once 256 claims are held; this
// one is cheap.
type checkpoint struct {
	Checksum uint32       `json:"checksum"`
	V1       checkpointV1 `json:"v1"`
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
	c.Checksum = crc32.ChecksumIEEE(text)
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
	if sum := crc32.ChecksumIEEE(text); sum != stored {
		return fmt.Errorf("checksum %d instead of %d", sum, stored)
	}
	return nil
}
