// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"sort"
	"strings"

	resource "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	dra "k8s.io/kubelet/pkg/apis/dra/v1"
	"tags.cncf.io/container-device-interface/pkg/cdi"
)

// compareSlices holds both slices against each other, but for names and versions of the two.
func compareSlices(slices [2]*resource.ResourceSlice) error {
	for _, s := range slices {
		s.Spec.NodeName, s.Spec.Pool.Name = nil, ""
		for _, d := range s.Spec.Devices {
			delete(d.Attributes, "draDriverVersion")
		}
		sort.Slice(s.Spec.Devices, func(i, j int) bool { return s.Spec.Devices[i].Name < s.Spec.Devices[j].Name })
	}
	if len(slices[0].Spec.Devices) != devicesCount || !equality.Semantic.DeepEqual(slices[0].Spec, slices[1].Spec) {
		return fmt.Errorf("the slices differ:\n%+v\n%+v", slices[0].Spec, slices[1].Spec)
	}
	return nil
}

// cases are claims of every kind that is measured, and some that are refused.
func cases(node string) map[string]*resource.ResourceClaim {
	foreign := newClaim(node, "foreign", "nic=1", "neuron=1")
	foreign.Status.Allocation.Devices.Results[0].Driver = "dra.net"
	return map[string]*resource.ResourceClaim{
		"measured": measuredClaim(node, 5),
		"held":     heldClaim(node, 5),
		"plain":    newClaim(node, "plain", "neuron=15"),
		"four":     configure(newClaim(node, "four", "neuron=4", "neuron=5", "neuron=6", "neuron=7"), lnc(2)),
		"two requests": configure(configure(newClaim(node, "two", "first=2", "second=9"),
			lnc(1), "first"), lnc(2), "second"),
		"subrequest": configure(newClaim(node, "sub", "neuron/small=4"), lnc(1), "neuron/small"),
		"last wins":  configure(configure(newClaim(node, "last", "neuron=4"), lnc(1)), lnc(2)),
		"foreign":    foreign,
		"misspelt": configure(newClaim(node, "misspelt", "neuron=3"),
			`{"apiVersion":"neuron.aws.com/v1","kind":"NeuronConfig","logicalNeuronCoreCount":1}`),
		"out of range": configure(newClaim(node, "range", "neuron=3"), lnc(3)),
		"other kind": configure(newClaim(node, "kind", "neuron=3"),
			`{"apiVersion":"neuron.aws.com/v1","kind":"GpuConfig"}`),
		"no such device": newClaim(node, "absent", "neuron=16"),
	}
}

// compareAnswers prepares every case on both sides and holds answers and CDI files against each other.
func compareAnswers(sides [2]*side) error {
	all := [2]map[string]*resource.ResourceClaim{cases(sides[0].node), cases(sides[1].node)}
	for name := range all[0] {
		var got [2]string
		for i, s := range sides {
			var err error
			if got[i], err = s.answer(all[i][name]); err != nil {
				return err
			}
		}
		if got[0] != got[1] {
			return fmt.Errorf("claim %q: %s answers\n%s\nand %s\n%s", name, sides[0].name, got[0], sides[1].name, got[1])
		}
	}
	return compareConflict(sides)
}

// compareConflict: a device that a claim holds is refused to another.
func compareConflict(sides [2]*side) error {
	for _, s := range sides {
		first, second := newClaim(s.node, "first", "neuron=3"), newClaim(s.node, "second", "neuron=3")
		s.api.addClaim(first)
		s.api.addClaim(second)
		if _, err := s.prepare(named(first)); err != nil {
			return err
		}
		if _, err := s.prepare(named(second)); err == nil || !strings.Contains(err.Error(), "already held") {
			return fmt.Errorf("%s gives one device to two claims: %v", s.name, err)
		}
		if err := s.unprepare(named(first)); err != nil {
			return err
		}
	}
	return nil
}

// answer prepares a claim twice and undoes it; it tells what a container would see, or that it is refused.
func (s *side) answer(c *resource.ResourceClaim) (string, error) {
	s.api.addClaim(c)
	defer s.api.dropClaim(c)
	devices, err := s.prepare(named(c))
	if err != nil {
		if s.service == nil || !strings.Contains(err.Error(), "strict decoding error") {
			return "refused", s.noFiles()
		}
		return "refused: strict decoding error", s.noFiles()
	}
	seen, err := s.container(devices)
	if err != nil {
		return "", err
	}
	again, err := s.prepare(named(c))
	if err != nil {
		return "", err
	}
	if !reflect.DeepEqual(deviceTexts(devices), deviceTexts(again)) {
		return "", fmt.Errorf("%s: prepare %s: another answer the second time", s.name, c.Name)
	}
	if err := s.unprepare(named(c)); err != nil {
		return "", err
	}
	return seen, s.noFiles()
}

func deviceTexts(devices []*dra.Device) []string {
	var all []string
	for _, d := range devices {
		all = append(all, d.String())
	}
	return all
}

// noFiles holds that no CDI file is left.
func (s *side) noFiles() error {
	left, err := filepath.Glob(filepath.Join(s.cdi, "*.json"))
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("%s left %v", s.name, left)
	}
	return err
}

// container tells the devices of an answer and, by request, what the CDI library would put into a container.
func (s *side) container(devices []*dra.Device) (string, error) {
	cache, err := cdi.NewCache(cdi.WithSpecDirs(s.cdi), cdi.WithAutoRefresh(false))
	if err != nil {
		return "", err
	}
	if faults := cache.GetErrors(); len(faults) > 0 {
		return "", fmt.Errorf("%s: CDI files: %v", s.name, faults)
	}
	lines := map[string]bool{}
	for _, d := range devices {
		if d.PoolName != s.node {
			return "", fmt.Errorf("%s: pool %s", s.name, d.PoolName)
		}
		lines[fmt.Sprintf("device %s of %v", d.DeviceName, d.RequestNames)] = true
		for _, id := range d.CdiDeviceIds {
			found := cache.GetDevice(id)
			if found == nil {
				return "", fmt.Errorf("%s: CDI device %s is in no file", s.name, id)
			}
			for _, n := range found.ContainerEdits.DeviceNodes {
				lines[fmt.Sprintf("%v sees %s as %s", d.RequestNames, filepath.Base(n.HostPath), n.Path)] = true
				if _, err := os.Stat(n.HostPath); err != nil {
					return "", err
				}
			}
			for _, e := range found.ContainerEdits.Env {
				lines[fmt.Sprintf("%v has %s", d.RequestNames, e)] = true
			}
		}
	}
	var sorted []string
	for line := range lines {
		sorted = append(sorted, line)
	}
	sort.Strings(sorted)
	return strings.Join(sorted, "\n"), nil
}
