// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	resource "k8s.io/api/resource/v1"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

const efaDriver = "dra.net"

func (a *agent) efaRegistrationSocket() string {
	return filepath.Join(a.dir, "r", efaDriver+"-reg.sock")
}
func (a *agent) efaPluginDir() string     { return filepath.Join(a.dir, "p", efaDriver) }
func (a *agent) efaServiceSocket() string { return filepath.Join(a.efaPluginDir(), "dra.sock") }

// registerEFA does for the second driver what register does for the first.
func (a *agent) registerEFA() *kubelet {
	a.t.Helper()
	return a.registerEFAAt(a.efaRegistrationSocket(), a.efaServiceSocket())
}

// registerEFAPod is for an agent that has a pod UID.
func (a *agent) registerEFAPod(name string) *kubelet {
	a.t.Helper()
	return a.registerEFAAt(filepath.Join(a.dir, "r", efaDriver+"-"+string(uid(name))+"-reg.sock"),
		filepath.Join(a.efaPluginDir(), "dra-"+string(uid(name))+".sock"))
}

func (a *agent) registerEFAAt(socket, endpoint string) *kubelet {
	a.t.Helper()
	conn := dialRegistration(a.t, socket)
	info := getInfo(a.t, conn)
	want := &registration.PluginInfo{Type: "DRAPlugin", Name: efaDriver, Endpoint: endpoint}
	if info.Type != want.Type || info.Name != want.Name || info.Endpoint != want.Endpoint {
		a.t.Errorf("GetInfo of the EFA driver: %v", info)
	}
	service := dialService(a.t, info.Endpoint)
	notify(a.t, conn, true, "")
	conn.Close()
	return &kubelet{t: a.t, conn: service}
}

// runningEFA starts an agent with both drivers, registers them, and waits for the slices of both.
func runningEFA(t testing.TB, api *apiServer, board string) (a *agent, neuron, efa *kubelet) {
	t.Helper()
	a = newAgent(t, board)
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir), "--efa", "true")
	a.start()
	neuron, efa = a.register(), a.registerEFA()
	a.waitLog(0, "event=slice_published", "driver="+efaDriver)
	waitFor(t, "slices of both drivers", func() bool { return len(api.own()) == 1 && len(api.ofEFA()) == 1 })
	return a, neuron, efa
}

// ofEFA returns the slices of the EFA driver.
func (s *apiServer) ofEFA() (found []*resource.ResourceSlice) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, slice := range s.slices {
		if slice.Spec.Driver == efaDriver {
			found = append(found, slice.DeepCopy())
		}
	}
	return found
}

// withEFA adds results of the EFA driver: "request=pci-0000-10-19-0".
func withEFA(c *resource.ResourceClaim, results ...string) *resource.ResourceClaim {
	for _, r := range results {
		request, device, _ := strings.Cut(r, "=")
		c.Status.Allocation.Devices.Results = append(c.Status.Allocation.Devices.Results,
			resource.DeviceRequestAllocationResult{Request: request, Driver: efaDriver, Pool: nodeName, Device: device})
	}
	return c
}

// Two drivers in one process: sockets, slices, claim stores and CDI files of each.
func TestEFASlices(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, _, _ := runningEFA(t, api, "trn1.32xlarge")
	slice := api.ofEFA()[0]
	if n := len(slice.Spec.Devices); n != 8 || slice.Spec.Pool.Name != nodeName || *slice.Spec.NodeName != nodeName ||
		!strings.HasPrefix(slice.GenerateName, nodeName+"-"+efaDriver+"-") || len(slice.OwnerReferences) != 1 {
		t.Errorf("%d devices in %+v", n, slice.ObjectMeta)
	}
	golden, err := os.ReadFile("../vectors/efa/trn1.32xlarge.txt")
	check(t, err)
	lines := 0
	for _, device := range slice.Spec.Devices {
		for key, value := range device.Attributes {
			text := ""
			switch {
			case value.StringValue != nil:
				text = "string " + *value.StringValue
			case value.IntValue != nil:
				text = fmt.Sprintf("int %d", *value.IntValue)
			case value.BoolValue != nil:
				text = fmt.Sprintf("bool %t", *value.BoolValue)
			}
			address := *device.Attributes["dra.net/pciAddress"].StringValue
			if line := fmt.Sprintf("\n%s %s %s\n", address, key, text); !bytes.Contains(golden, []byte(line)) {
				t.Errorf("not golden: %s", line)
			}
			lines++
		}
	}
	if want := 8 * 14; lines != want {
		t.Errorf("%d attributes, not %d", lines, want)
	}
	// The driver lets go of a device that nobody has: it is tainted or gone, and comes back.
	simnode(t, "remove", "--dir", a.node, "0000:10:19.0")
	a.waitLog(0, "event=device_unhealthy", "driver="+efaDriver, "pci-0000-10-19-0")
	simnode(t, "add", "--dir", a.node, "0000:10:19.0")
	a.waitLog(0, "event=device_recovered", "driver="+efaDriver, "pci-0000-10-19-0")
	if code := a.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if exists(a.efaRegistrationSocket()) || exists(a.registrationSocket()) || len(api.ofEFA()) != 1 {
		t.Error("a socket stayed, or the slice did not")
	}
}

// The aligned claim: each driver prepares its part, and one kill takes neither.
func TestEFAClaim(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, neuron, efa := runningEFA(t, api, "trn2.48xlarge")
	results := []string{"efas=pci-0000-c9-00-0", "efas=pci-0000-b4-00-0", "efas=pci-0000-b3-00-0", "efas=pci-0000-ca-00-0"}
	c := api.addClaim(withEFA(newClaim("aligned", "neurons=0", "neurons=1", "neurons=2", "neurons=3"), results...))
	devices := neuron.prepareOK(named(c))
	equalStrings(t, "Neuron devices", deviceNames(devices), "neuron-device-0", "neuron-device-1", "neuron-device-2", "neuron-device-3")
	fabric := efa.prepareOK(named(c))
	equalStrings(t, "EFA devices", deviceNames(fabric), "pci-0000-b3-00-0", "pci-0000-b4-00-0", "pci-0000-c9-00-0", "pci-0000-ca-00-0")
	ids := append(idsOf(devices, "neurons"), idsOf(fabric, "efas")...)
	// uverbs numbers follow the order of the addresses in the simulated tree
	want := []string{"/dev/infiniband/uverbs10", "/dev/infiniband/uverbs11", "/dev/infiniband/uverbs8", "/dev/infiniband/uverbs9",
		"/dev/neuron0", "/dev/neuron1", "/dev/neuron2", "/dev/neuron3"}
	equalStrings(t, "container's devices", a.inject(ids...).devices, want...)

	// Another claim for one of them is refused, and says who has it.
	other := api.addClaim(withEFA(newClaim("other"), "efa=pci-0000-b4-00-0"))
	reply := efa.prepare(named(other))[string(other.UID)]
	contains(t, reply.Error, "pci-0000-b4-00-0 is already held by claim default/aligned")
	// The Neuron driver has no part of it.
	contains(t, neuron.prepare(named(other))[string(other.UID)].Error, "no allocation result of driver neuron.aws.com")

	before, err := efa.callBytes(prepareV1, callLimit, named(c))
	check(t, err)
	a.kill()
	check(t, os.RemoveAll(a.cdiDir()))
	check(t, os.Mkdir(a.cdiDir(), 0o755))
	api.down()
	a.start()
	neuron, efa = a.register(), a.registerEFA()
	after, err := efa.callBytes(prepareV1, callLimit, named(c))
	check(t, err)
	if !bytes.Equal(before, after) {
		t.Error("another reply after a kill")
	}
	neuron.prepareOK(named(c))
	equalStrings(t, "container's devices", a.inject(ids...).devices, want...)
	// Unprepared by one driver, held by the other.
	neuron.unprepareOK(named(c))
	equalStrings(t, "container's devices", a.inject(idsOf(fabric, "efas")...).devices, want[:4]...)
	efa.unprepareOK(named(c))
	a.noCDI()
	api.up()
	efa.prepareOK(named(other))
	equalStrings(t, "container's devices", a.inject(idsOf(efa.prepareOK(named(other)), "efa")...).devices, "/dev/infiniband/uverbs9")

	// Configuration is not for EFA devices.
	configured := withEFA(newClaim("configured"), "efa=pci-0000-c9-00-0")
	configured.Status.Allocation.Devices.Config = []resource.DeviceAllocationConfiguration{{
		Source: resource.AllocationConfigSourceClaim, DeviceConfiguration: resource.DeviceConfiguration{
			Opaque: &resource.OpaqueDeviceConfiguration{Driver: efaDriver}}}}
	configured.Status.Allocation.Devices.Config[0].Opaque.Parameters.Raw = []byte("{}")
	api.addClaim(configured)
	contains(t, efa.prepare(named(configured))[string(configured.UID)].Error, "EFA devices take no configuration")
}

// Without --efa nothing of the second driver is there.
func TestEFAOff(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, _ := running(t, api, "trn1.32xlarge")
	if exists(a.efaRegistrationSocket()) || exists(filepath.Dir(a.efaServiceSocket())) || len(api.ofEFA()) != 0 {
		t.Error("something of the EFA driver")
	}
}
