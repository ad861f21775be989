// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// portState is the file in which the kernel says whether the link of an EFA device is up.
func (a *agent) portState(address string) string {
	a.t.Helper()
	files, err := filepath.Glob(filepath.Join(a.node, "sys/bus/pci/devices", address, "infiniband/*/ports/1/state"))
	check(a.t, err)
	if len(files) != 1 {
		a.t.Fatalf("ports of %s: %v", address, files)
	}
	return files[0]
}

// setPort replaces the state in one move, as the kernel's file changes.
func (a *agent) setPort(address, state string) {
	a.t.Helper()
	fresh := filepath.Join(a.node, "state")
	check(a.t, os.WriteFile(fresh, []byte(state+"\n"), 0o444))
	check(a.t, os.Rename(fresh, a.portState(address)))
}

// runningBoth is runningEFA with the pages.
func runningBoth(t *testing.T, api *apiServer, board string, args ...string) (a *agent, neuron, efa *kubelet, address string) {
	t.Helper()
	a = newAgent(t, board)
	a.args = append(append(a.args, "--kubeconfig", api.kubeconfig(a.dir), "--efa", "true", "--metrics-port", "0"), args...)
	a.start()
	neuron, efa = a.register(), a.registerEFA()
	address = a.metricsAddress()
	a.waitLog(0, "event=slice_published", "driver="+efaDriver)
	waitFor(t, "readiness of both drivers", func() bool { code, _ := page(t, address, "/readyz"); return code == 200 })
	return a, neuron, efa, address
}

// Commands beside an agent with two drivers show both: who holds which device, the claims, what is wrong.
func TestCommandsBesideBothDrivers(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, neuron, efa, address := runningBoth(t, api, "trn2.48xlarge")
	aligned := api.addClaim(withEFA(newClaim("aligned", "neurons=0", "neurons=1"), "efas=pci-0000-c9-00-0", "efas=pci-0000-b4-00-0"))
	alone := api.addClaim(withEFA(newClaim("alone"), "efas=pci-0000-b3-00-0"))
	neuron.prepareOK(named(aligned))
	efa.prepareOK(named(aligned))
	efa.prepareOK(named(alone))

	// devices: the table of each driver has its holders, and no line is wider than a terminal.
	text := a.commandOK(address, "devices")
	for _, line := range strings.Split(text, "\n") {
		if len(line) > 80 {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
	contains(t, text, "neuron-device-0   8      unknown  default/aligned  -", "16 devices, 2 held",
		"pci-0000-c9-00-0  0       healthy  default/aligned  -", "pci-0000-b3-00-0  2       healthy  default/alone    -",
		"16 EFA devices, 3 held")
	var shown struct {
		Devices, EFADevices []struct {
			Name, Claim string
			Held        bool
		}
	}
	check(t, json.Unmarshal([]byte(a.commandOK(address, "devices", "-o", "json")), &shown))
	for _, d := range shown.EFADevices {
		want := map[string]string{"pci-0000-c9-00-0": "default/aligned", "pci-0000-b4-00-0": "default/aligned", "pci-0000-b3-00-0": "default/alone"}[d.Name]
		if d.Claim != want || d.Held != (want != "") {
			t.Errorf("%+v, not held by %q", d, want)
		}
	}

	// claims: a record of each driver, with its name.
	text = a.commandOK(address, "claims")
	contains(t, text, "default/aligned\n  uid: "+string(aligned.UID)+"\n  driver: "+driverName+"\n", "    neuron-device-0 (request neurons)\n    neuron-device-1 (request neurons)\n",
		"default/aligned\n  uid: "+string(aligned.UID)+"\n  driver: "+efaDriver+"\n", "pci-0000-c9-00-0 (request efas)",
		"default/alone\n  uid: "+string(alone.UID)+"\n  driver: "+efaDriver+"\n")
	if n := strings.Count(text, "CDI file: good"); n != 3 {
		t.Errorf("%d records: %s", n, text)
	}
	for _, what := range []string{"devices", "claims", "slices", "check"} {
		var fromJSON, fromYAML any
		check(t, json.Unmarshal([]byte(a.commandOK(address, what, "-o", "json")), &fromJSON))
		check(t, yaml.Unmarshal([]byte(a.commandOK(address, what, "-o", "yaml")), &fromYAML))
		if !reflect.DeepEqual(fromJSON, fromYAML) {
			t.Errorf("%s: JSON %v, YAML %v", what, fromJSON, fromYAML)
		}
	}
	var claims struct {
		Claims []struct {
			Name, Driver string
			Devices      []map[string]any
		}
	}
	check(t, json.Unmarshal([]byte(a.commandOK(address, "claims", "-o", "json")), &claims))
	if n := len(claims.Claims); n != 3 || claims.Claims[0].Driver != driverName || claims.Claims[n-1].Driver != efaDriver {
		t.Errorf("claims: %+v", claims)
	}
	for _, device := range claims.Claims[2].Devices {
		if _, numbered := device["number"]; numbered {
			t.Errorf("an EFA device with a number that only the agent knows: %v", device)
		}
	}

	// metrics: of each driver its own, told apart by a label, and the text is as Prometheus wants it.
	text = scrape(t, address)
	for _, line := range []string{`claims_held{driver="neuron.aws.com"} 1`, `claims_held{driver="dra.net"} 2`, `devices{driver="neuron.aws.com"} 16`,
		`registered{driver="dra.net"} 1`, `device_plugin{driver="dra.net"} 0`, "ready 1", "api_connected 1",
		`device_held{driver="dra.net",device="pci-0000-c9-00-0",claim_namespace="default",claim_name="aligned",claim_uid="` + string(aligned.UID) + `",pod_name="",pod_uid=""} 1`,
		`device_healthy{driver="dra.net",device="pci-0000-ca-00-0"} 1`} {
		hasLine(t, text, "neuron_dra_"+line)
	}
	if strings.Contains(text, "\nneuron_dra_devices 16") {
		t.Error("a series of no driver")
	}

	// reservations: claims of both drivers count, where both are the agent's.
	c := reserved("fabric", 1)
	c.Status.Allocation.Devices.Results[0].Driver = efaDriver
	other := startAPIServer(t)
	other.addClaim(c)
	if got := other.reservations(); got.code != 0 {
		t.Errorf("reservations without --efa: %+v", got)
	}
	if got := other.reservations("--efa", "true"); got.code != 1 || !strings.HasPrefix(got.stdout, "claim default/fabric on node ") {
		t.Errorf("reservations: %+v", got)
	}

	// bundle: both stores, and the CDI files of both.
	dir := t.TempDir()
	got, lines := a.bundle(address, dir)
	if got.code != 0 || got.stderr != "" {
		t.Errorf("bundle: %+v", got)
	}
	cdi, err := filepath.Glob(filepath.Join(a.cdiDir(), "*.json"))
	check(t, err)
	if len(cdi) != 3 {
		t.Errorf("CDI files %v", cdi)
	}
	for _, name := range append(cdi, "claims.store", "efa-claims.store") {
		if lines[filepath.Base(name)] != "wrote" {
			t.Errorf("%s: %q", name, lines[filepath.Base(name)])
		}
	}
	kept, err := os.ReadFile(filepath.Join(dir, "efa-claims.store"))
	check(t, err)
	contains(t, string(kept), "alone", "efas")

	// check: what is wrong with the second driver is a line, one for each thing.
	if text := a.commandOK(address, "check"); text != "ready\n" {
		t.Errorf("check: %q", text)
	}
	a.setPort("0000:c9:00.0", "1: DOWN")
	check(t, os.Remove(filepath.Join(a.node, "dev/infiniband/uverbs9")))
	text = a.command(address, "check").stdout
	contains(t, text, "pci-0000-c9-00-0 is unhealthy: link_efa; ", "efa-without-verbs \"0000:b4:00.0\": ")
	if strings.Contains(text, "neuron-device") {
		t.Errorf("a line of Neuron devices: %s", text)
	}
	// Each reason of /readyz has the name of its driver.
	check(t, os.Rename(filepath.Join(a.node, "sys"), filepath.Join(a.node, "sys.away")))
	waitFor(t, "reasons of both drivers", func() bool {
		_, text := page(t, address, "/readyz")
		return strings.Contains(text, driverName+": the last probe found none") && strings.Contains(text, efaDriver+": the last probe found none")
	})
	a.kill()
	check(t, os.Remove(filepath.Join(a.dir, "p", efaDriver, "claims.store")))
	text = a.command(address, "check").stdout
	contains(t, text, a.efaRegistrationSocket()+": nobody listens", a.efaServiceSocket()+": nobody listens", a.registrationSocket()+": nobody listens",
		filepath.Join(a.dir, "p", efaDriver, "claims.store")+" does not exist")
	if got := a.command(address, "claims"); got.code != 1 || got.stdout != "" || !strings.Contains(got.stderr, efaDriver+"/claims.store does not exist") {
		t.Errorf("claims without a store: %+v", got)
	}
}

// A node with fewer EFA devices than its type has runs, and the log, check and devices say how many are missing.
func TestEFAFewer(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a := newAgent(t, "trn2.48xlarge")
	simnode(t, "remove", "--dir", a.node, "0000:c9:00.0")
	simnode(t, "remove", "--dir", a.node, "0000:b4:00.0")
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir), "--efa", "true", "--metrics-port", "0")
	a.start()
	a.register()
	a.registerEFA()
	address := a.metricsAddress()
	a.waitLog(0, "event=device_issue_found", "efa-count", "14 of 16 devices")
	waitFor(t, "readiness of both drivers", func() bool { code, _ := page(t, address, "/readyz"); return code == 200 })
	const line = "efa-count \"14 of 16 devices\": the type can have another number of EFA devices: see the interfaces of the instance"
	if got := a.command(address, "check"); got.code != 0 || !strings.Contains(got.stdout, "warning: "+line+"\n") {
		t.Errorf("check: %+v", got)
	}
	simnode(t, "add", "--dir", a.node, "0000:c9:00.0")
	simnode(t, "add", "--dir", a.node, "0000:b4:00.0")
	if text := a.commandOK(address, "check"); strings.Contains(text, "efa-count") {
		t.Errorf("check of a whole node: %q", text)
	}
}

// With --claim-status each driver writes its own devices into the claim, and takes back only these.
func TestEFAClaimStatus(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	_, neuron, efa, _ := runningBoth(t, api, "trn2.48xlarge", "--claim-status", "true")
	c := api.addClaim(withEFA(newClaim("aligned", "neurons=0"), "efas=pci-0000-c9-00-0"))
	neuron.prepareOK(named(c))
	efa.prepareOK(named(c))
	has := func(want ...string) {
		t.Helper()
		waitFor(t, fmt.Sprint("the status of ", want), func() bool {
			var got []string
			for _, d := range api.devicesOf(c) {
				if len(d.Conditions) == 1 && d.Conditions[0].Type == "Ready" && d.Conditions[0].Status == "True" && d.Pool == nodeName {
					got = append(got, d.Driver+"/"+d.Device)
				}
			}
			slices.Sort(got)
			return slices.Equal(got, want)
		})
	}
	has(efaDriver+"/pci-0000-c9-00-0", driverName+"/neuron-device-0")
	neuron.unprepareOK(named(c))
	has(efaDriver + "/pci-0000-c9-00-0")
	efa.unprepareOK(named(c))
	has()
}
