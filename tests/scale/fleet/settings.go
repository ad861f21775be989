// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	driverName    = "neuron.aws.com"
	foreignDriver = "gpu.example.com"
	account       = "neuron-dra-driver-sa"
	accountSpace  = "neuron-dra-driver"
	claimSpace    = "scale"
	nodePrefix    = "scale-node-"
	label         = "topology.k8s.aws/network-node-layer-1" // becomes the attribute below
	labelShows    = "networkNodeLayer1"
)

// settings of one run, by scale.py.
type settings struct {
	Agents   int    `json:"agents"`
	Program  string `json:"program"` // agent or reference
	Binary   string `json:"binary"`
	Kubelet  string `json:"kubelet"`   // absent, checkpoint or registers
	OwnLevel bool   `json:"own_level"` // Manifests have the chart's flowControl.enabled
	// The health files of Tree are files of the kernel; lengths and sizes are not the default ones.
	KernelFiles bool `json:"kernel_files"`
	Long        bool `json:"long"`

	Directory string `json:"directory"`
	Tree      string `json:"tree"` // simulated sysfs, proc and dev
	Output    string `json:"output"`
	Commit    string `json:"commit"`
	Phases    string `json:"phases"` // comma-separated names, "outage" for both outages; empty: all

	Etcd       []string `json:"etcd"`
	APIServer  []string `json:"apiserver"`
	Kubectl    string   `json:"kubectl"`
	Admin      string   `json:"admin"` // kubeconfig
	Authority  string   `json:"authority"`
	Server     string   `json:"server"`
	ServerIP   string   `json:"server_ip"`
	AgentsIP   string   `json:"agents_ip"`
	Audit      string   `json:"audit"`
	Manifests  []string `json:"manifests"`
	Kubernetes string   `json:"kubernetes"`

	RestSeconds   int `json:"rest_seconds"`
	OutageSeconds int `json:"outage_seconds"`
	StormSeconds  int `json:"storm_seconds"`
	ForeignClaims int `json:"foreign_claims"`
	ForeignSlices int `json:"foreign_slices"`
	Patience      int `json:"patience_seconds"`
}

func readSettings(path string) (*settings, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s := &settings{}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, s.knowPhases()
}

// phaseNames are the names of all phases of a run with these lengths, in their order.
func (s *settings) phaseNames() []string {
	return []string{"install", "rest", "slices deleted", outageName(shortOutage), outageName(s.longOutage()),
		"rolling", "label", "storm", "install again"}
}

func outageName(length time.Duration) string { return fmt.Sprintf("outage %.0f s", length.Seconds()) }

func (s *settings) longOutage() time.Duration { return time.Duration(s.OutageSeconds) * time.Second }

func (s *settings) wants(name string) bool {
	if s.Phases == "" {
		return true
	}
	kind := name
	if strings.HasPrefix(name, "outage ") {
		kind = "outage"
	}
	for _, wanted := range strings.Split(s.Phases, ",") {
		if wanted == name || wanted == kind {
			return true
		}
	}
	return false
}

// knowPhases refuses a name of a phase that does not exist: its absence would look like a short run.
func (s *settings) knowPhases() error {
	if s.Phases == "" {
		return nil
	}
	known := append(s.phaseNames(), "outage")
	for _, wanted := range strings.Split(s.Phases, ",") {
		if !slices.Contains(known, wanted) {
			return fmt.Errorf("no phase %q: the phases are %s", wanted, strings.Join(known, ", "))
		}
	}
	return nil
}

func (s *settings) path(parts ...string) string {
	return filepath.Join(append([]string{s.Directory}, parts...)...)
}

func (s *settings) patience() time.Duration { return time.Duration(s.Patience) * time.Second }

func nodeName(number int) string { return fmt.Sprintf("%s%05d", nodePrefix, number) }
