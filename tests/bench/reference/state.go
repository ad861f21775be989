// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	resource "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/checkpointmanager"
	checkpointerrors "k8s.io/kubernetes/pkg/kubelet/checkpointmanager/errors"
	"tags.cncf.io/container-device-interface/pkg/cdi"
	"tags.cncf.io/container-device-interface/pkg/parser"
	cdispecs "tags.cncf.io/container-device-interface/specs-go"
)

const (
	cdiVendor = "k8s." + driverName
	cdiClass  = "claim"
)

// state prepares claims. Like the known drivers it reads the checkpoint at every call and writes it whole:
// the checkpoint manager flushes the new file before it takes the old one's place; the CDI library writes
// beside the old file and renames.
type state struct {
	mutex       sync.Mutex
	devRoot     string
	numbers     map[string]int // of the devices that exist, by name
	decoder     runtime.Decoder
	cache       *cdi.Cache
	checkpoints checkpointmanager.CheckpointManager
}

func newState(pluginDir, cdiRoot, devRoot string, found *node) (*state, error) {
	cache, err := cdi.NewCache(cdi.WithSpecDirs(cdiRoot), cdi.WithAutoRefresh(false))
	if err != nil {
		return nil, fmt.Errorf("CDI: %w", err)
	}
	checkpoints, err := checkpointmanager.NewCheckpointManager(pluginDir)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	s := &state{devRoot: devRoot, numbers: map[string]int{}, decoder: newConfigDecoder(), cache: cache,
		checkpoints: checkpoints}
	for number := range found.cores {
		s.numbers[deviceName(number)] = number
	}
	err = checkpoints.GetCheckpoint(checkpointFile, newCheckpoint())
	if errors.Is(err, checkpointerrors.ErrCheckpointNotFound) {
		err = checkpoints.CreateCheckpoint(checkpointFile, newCheckpoint())
	}
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	return s, nil
}

func (s *state) prepare(ctx context.Context, claim *resource.ResourceClaim) ([]kubeletplugin.Device, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	all := newCheckpoint()
	if err := s.checkpoints.GetCheckpoint(checkpointFile, all); err != nil {
		return nil, fmt.Errorf("read checkpoint: %w", err)
	}
	uid := string(claim.UID)
	if held, ok := all.V1.PreparedClaims[uid]; ok {
		klog.FromContext(ctx).Info("Already prepared", "uid", uid)
		return held.Devices, nil
	}
	prepared, spec, err := s.decide(claim, all)
	if err != nil {
		return nil, err
	}
	if err := s.cache.WriteSpec(spec, specName(uid)); err != nil {
		return nil, fmt.Errorf("write CDI file: %w", err)
	}
	all.V1.PreparedClaims[uid] = *prepared
	if err := s.checkpoints.CreateCheckpoint(checkpointFile, all); err != nil {
		return nil, fmt.Errorf("write checkpoint: %w", err)
	}
	klog.FromContext(ctx).Info("Prepared", "namespace", claim.Namespace, "claim", claim.Name, "uid", uid,
		"devices", len(prepared.Devices))
	return prepared.Devices, nil
}

func (s *state) unprepare(uid string) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	all := newCheckpoint()
	if err := s.checkpoints.GetCheckpoint(checkpointFile, all); err != nil {
		return fmt.Errorf("read checkpoint: %w", err)
	}
	if _, ok := all.V1.PreparedClaims[uid]; !ok {
		return nil
	}
	if err := s.cache.RemoveSpec(specName(uid)); err != nil {
		return fmt.Errorf("remove CDI file: %w", err)
	}
	delete(all.V1.PreparedClaims, uid)
	if err := s.checkpoints.CreateCheckpoint(checkpointFile, all); err != nil {
		return fmt.Errorf("write checkpoint: %w", err)
	}
	return nil
}

// decide works out what the claim gets; it changes nothing.
func (s *state) decide(claim *resource.ResourceClaim, all *checkpoint) (*preparedClaim, *cdispecs.Spec, error) {
	allocation := claim.Status.Allocation.Devices
	configs, err := readConfigs(s.decoder, allocation.Config)
	if err != nil {
		return nil, nil, err
	}
	prepared := &preparedClaim{Namespace: claim.Namespace, Name: claim.Name}
	spec := &cdispecs.Spec{Kind: cdiVendor + "/" + cdiClass}
	for _, result := range allocation.Results {
		if result.Driver != driverName {
			continue
		}
		number, ok := s.numbers[result.Device]
		if !ok {
			return nil, nil, fmt.Errorf("requested device %s is not on this node", result.Device)
		}
		if result.AdminAccess == nil || !*result.AdminAccess {
			prepared.Exclusive = append(prepared.Exclusive, result.Device)
		}
		request, _, _ := strings.Cut(result.Request, "/")
		name := fmt.Sprintf("%s-%s-%s", claim.UID, request, result.Device)
		spec.Devices = append(spec.Devices, s.cdiDevice(name, number, configFor(configs, result.Request)))
		prepared.Devices = append(prepared.Devices, kubeletplugin.Device{
			Requests: []string{result.Request}, PoolName: result.Pool, DeviceName: result.Device,
			CDIDeviceIDs: []string{parser.QualifiedName(cdiVendor, cdiClass, name)}})
	}
	if err := checkExclusive(prepared.Exclusive, all); err != nil {
		return nil, nil, err
	}
	spec.Version, err = cdi.MinimumRequiredVersion(spec)
	return prepared, spec, err
}

func (s *state) cdiDevice(name string, number int, config *NeuronConfig) cdispecs.Device {
	file := "neuron" + strconv.Itoa(number)
	device := cdispecs.Device{Name: name, ContainerEdits: cdispecs.ContainerEdits{
		DeviceNodes: []*cdispecs.DeviceNode{{Path: "/dev/" + file, HostPath: filepath.Join(s.devRoot, file)}}}}
	if config != nil {
		device.ContainerEdits.Env = []string{"NEURON_LOGICAL_NC_CONFIG=" + strconv.Itoa(config.LogicalNeuronCore)}
	}
	return device
}

// checkExclusive refuses devices that other claims hold.
func checkExclusive(wanted []string, all *checkpoint) error {
	for uid, held := range all.V1.PreparedClaims {
		for _, device := range held.Exclusive {
			for _, w := range wanted {
				if w == device {
					return fmt.Errorf("requested device %s is already held by claim %s/%s (%s)", w,
						held.Namespace, held.Name, uid)
				}
			}
		}
	}
	return nil
}

func specName(uid string) string { return cdi.GenerateTransientSpecName(cdiVendor, cdiClass, uid) }
