// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/aws-neuron/connected-device-maps-over-efa-for-neuron/lookup"
)

const productDir = "/sys/devices/virtual/dmi/id"

// printOracle is a process of its own: AWS's library reads the instance type once, when it starts.
func printOracle() {
	all := map[int]map[string]string{}
	for i := range 64 {
		all[i] = must(lookup.GetNeuronDeviceGroupIDs(strconv.Itoa(i)))
	}
	_ = json.NewEncoder(os.Stdout).Encode(all)
}

// askOracle returns AWS's attributes of each device number on an instance type.
func askOracle(t *testing.T, board string) map[int]map[string]string {
	t.Helper()
	check(t, os.MkdirAll(productDir, 0o755))
	writeFile(t, filepath.Join(productDir, "product_name"), board+"\n")
	self, err := os.Executable()
	check(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), helperEnv+"="+helperOracle)
	out, err := cmd.Output()
	check(t, err)
	var all map[int]map[string]string
	check(t, json.Unmarshal(out, &all))
	return all
}

// The published devicegroup*_id are those of AWS's own library, which the EFA driver uses as well.
func TestDeviceGroupsAreThoseOfAWS(t *testing.T) {
	mountTmpfs(t, "/sys/devices/virtual", "size=64k")
	known := 0
	for _, board := range strings.Fields(simnode(t, "list")) {
		oracle := askOracle(t, board)
		api := startAPIServer(t)
		a := newAgent(t, board)
		a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir), "--ultraserver-devices=devices")
		a.start()
		a.register()
		for _, device := range api.published().Spec.Devices {
			number, err := strconv.Atoi(strings.TrimPrefix(device.Name, "neuron-device-"))
			check(t, err)
			got := map[string]string{}
			for name, value := range device.Attributes {
				if strings.HasPrefix(string(name), "resource.aws.com/") && value.StringValue != nil {
					got[string(name)] = *value.StringValue
				}
			}
			want := oracle[number]
			known += len(want)
			for name := range want {
				if got[name] != want[name] {
					t.Errorf("%s %s: %s is %q, want %q", board, device.Name, name, got[name], want[name])
				}
			}
			if len(got) != len(want) {
				t.Errorf("%s %s: %v, want %v", board, device.Name, got, want)
			}
		}
	}
	if known != 11*16*4 {
		t.Errorf("%d ids compared: the library knows eleven of the boards, 16 devices, 4 ids each", known)
	}
}
