// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"
)

const metadataFlag = "--flag=--device-metadata=true"

// TestDeviceMetadata: a container reads the file with its devices, in both versions; it comes back when the CDI root is
// emptied while the agent is dead, and the pod's end takes it.
func TestDeviceMetadata(t *testing.T) {
	control(t, "agent", "stop")
	t.Cleanup(func() {
		control(t, "agent", "stop")
		control(t, "agent", "start")
	})
	control(t, "agent", "start", metadataFlag)
	steps(t, []step{{"a pod reads its devices", podReadsMetadata}})
}

// seenMetadata is what a program with Kubernetes' own decoder reads in the container of the example.
func seenMetadata(t *testing.T, program string) (known []string, device string) {
	t.Helper()
	const path = "/var/run/kubernetes.io/dra-device-attributes/resourceclaimtemplates/devices/neurons/neuron.aws.com-metadata.json"
	text := mustKubectl(t, "exec", "device-metadata", "--", "cat", path)
	file := filepath.Join(t.TempDir(), "metadata.json")
	overwrite(t, file, text)
	out, err := exec.Command(filepath.Join(root, "build", "interop", program), file).Output()
	if err != nil {
		t.Fatalf("%s: %v (make metadata-programs builds it)", program, err)
	}
	var all []struct {
		Known    []string
		Rewrites bool
		Metadata struct {
			Name         string `json:"name"`
			PodClaimName string
			Requests     []struct {
				Name    string
				Devices []struct {
					Driver, Pool, Name string
					Attributes         map[string]attribute
				}
			}
		}
	}
	if err := json.Unmarshal(out, &all); err != nil {
		t.Fatal(err)
	}
	m := all[0].Metadata
	if !all[0].Rewrites || m.PodClaimName != "devices" || len(m.Requests) != 1 || len(m.Requests[0].Devices) != 1 {
		t.Fatalf("%s reads %s", program, out)
	}
	d := m.Requests[0].Devices[0]
	if d.Driver != "neuron.aws.com" || d.Pool != kube.Node || d.Attributes["topology_x"] == nil ||
		d.Attributes["resource.aws.com/devicegroup4_id"] == nil {
		t.Errorf("%s reads the device %+v", program, d)
	}
	return all[0].Known, d.Name
}

func podReadsMetadata(t *testing.T) {
	devices := runExample(t, "device-metadata", 1)
	for program, want := range map[string]int{"metadata": 2, "metadata136": 1} {
		if known, device := seenMetadata(t, program); len(known) != want || device != devices[0] {
			t.Errorf("%s reads %s in %v, want %s", program, device, known, devices[0])
		}
	}
	// All of it is lost while nobody looks, and comes back byte for byte.
	before := cdiContents(t)
	control(t, "agent", "kill")
	for name := range before {
		if err := os.Remove(filepath.Join(kube.CDI, name)); err != nil {
			t.Fatal(err)
		}
	}
	control(t, "agent", "start", metadataFlag)
	eventually(t, "the files are back", soon, func() error {
		if after := cdiContents(t); !reflect.DeepEqual(before, after) {
			return fmt.Errorf("%d files, before %d, or other ones", len(after), len(before))
		}
		return nil
	})
}
