// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// What the running agent makes of its readings is what the commands print: an error that only a counter shows, and an error that
// is over while the agent holds the device back. Without the agent, its verdict is not available.
func TestCommandsTellTheVerdict(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ board, version, name, file, text, warning string }{
		{"trn1.32xlarge", "2.30.2.0", "neuron-device-3", "neuron3/stats/hardware/mem_ecc_uncorrected", "7\n", "uncorrectable memory errors; delete its pods"},
		{"trn2.48xlarge", "2.30.2.0", "neuron-device-3", "neuron3/" + unhealthyComponents, "hbm\n", "hbm; delete its pods"},
	} {
		api := startAPIServer(t)
		a := newAgent(t, c.board, "--driver-version", c.version)
		a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir), "--metrics-port", "0", "--health-interval", healthInterval.String())
		a.start()
		address := a.metricsAddress()
		a.register()
		api.published()
		counters := c.board == "trn1.32xlarge"
		if counters {
			contains(t, a.commandOK(address, "devices"), "neuron-device-3   2      unknown  -\n",
				"health of 16 devices is unknown:\n  kernel module 2.30.2.0 has only error counters, and the agent sees none rise\n")
		} else {
			contains(t, a.commandOK(address, "devices"), "neuron-device-3   8      healthy  -\n")
		}
		for times := 0; times < 5; times++ { // from the fourth on, the agent holds the device back
			from := a.log.count()
			simnode(t, "set", "--dir", a.node, c.file, c.text)
			a.waitLog(from, "event=device_unhealthy", c.name)
			contains(t, a.command(address, "check").stdout, "warning: "+c.name+" is unhealthy: "+c.warning)
			contains(t, a.commandOK(address, "devices"), c.name+"   ", " unhealthy: ", ", 1 unhealthy or gone")
			if counters {
				break
			}
			simnode(t, "set", "--dir", a.node, c.file, "\n")
			if times < 3 {
				a.waitLog(from, "event=device_recovered", c.name)
				continue
			}
			const waits = "its files show no error now; the agent waits for more readings without errors"
			waitFor(t, "a device that stays unhealthy", func() bool {
				return strings.Contains(a.commandOK(address, "devices"), c.name+" still counts as unhealthy:\n  "+waits+"\n")
			})
			contains(t, a.command(address, "check").stdout, "warning: "+c.name+" is unhealthy: hbm; "+waits+"\n")
			break
		}
		a.kill()
		text := a.commandOK(closedPort(t), "devices")
		contains(t, text, "the agent's verdict is not available:\n  no agent responds to /statusz at port ")
		if strings.Contains(text, " healthy") || counters && !strings.Contains(text, "has only error counters, which only the agent can judge\n") {
			t.Errorf("without the agent: %s", text)
		}
	}
}

// A claim whose newer half of the store is damaged is still held by its CDI file: no command calls its devices free. A store that
// cannot be read at all leaves the devices in the table.
func TestCommandsBelieveCDIFiles(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, address := withMetrics(t, api, "trn2.48xlarge")
	k := a.register()
	claim := api.addClaim(newClaim("gap", "req=0", "req=1", "req=8"))
	k.prepareOK(named(claim))
	a.kill()
	path := filepath.Join(a.pluginDir(), "claims.store")
	bytes := must(os.ReadFile(path))
	name := []byte("gap")
	for at := 0; at+len(name) < len(bytes); at++ {
		if string(bytes[at:at+len(name)]) == "gap" {
			bytes[at] ^= 1
		}
	}
	check(t, os.WriteFile(path, bytes, 0o600))
	contains(t, a.commandOK(address, "devices"), "neuron-device-0   8      unknown  default/gap  -\n", "neuron-device-8   8      unknown  default/gap  -\n",
		"16 devices, 3 held", "1 claim is recorded only in CDI files, ")
	contains(t, a.commandOK(address, "claims"), "default/gap\n", "uid: "+string(claim.UID), "neuron-device-8 (request req)",
		"CDI file: alone: the claim store has no intact record of the claim; ")
	contains(t, a.command(address, "check").stdout, "warning: claim default/gap: CDI file "+a.cdiFile(claim)+" is its only record: ")

	file := a.cdiFile(claim)
	check(t, os.WriteFile(file, []byte("{"), 0o600))
	contains(t, a.commandOK(address, "devices"), "1 CDI file cannot be read: devices without a claim may be held; see\n  "+filepath.Base(file)+"\n")
	contains(t, a.command(address, "check").stdout, "warning: CDI file "+file+" cannot be read, and the claim store lacks its claim")

	check(t, os.WriteFile(path, []byte(strings.Repeat("random", 1000)), 0o600))
	got := a.command(address, "devices")
	if got.code == 0 || !strings.Contains(got.stderr, "claims.store is damaged") {
		t.Errorf("a damaged store: %+v", got)
	}
	contains(t, got.stdout, "neuron-device-0   8      unknown  ?", "at least 0 held", "   0 ?   1 ?")
	var shown struct{ Devices []struct{ Claim string } }
	check(t, json.Unmarshal([]byte(a.command(address, "devices", "-o", "json").stdout), &shown))
	if len(shown.Devices) != 16 || shown.Devices[0].Claim != "?" {
		t.Errorf("as a document: %+v", shown)
	}
	for _, put := range []func() error{func() error { return os.Mkdir(path, 0o700) }, func() error { return syscall.Mkfifo(path, 0o600) }} {
		check(t, os.Remove(path))
		check(t, put())
		contains(t, a.command(address, "check").stdout, "claims.store is not a plain file; move away what has its name")
	}
}

// A CDI file of a prepared claim that was damaged or lost is a warning, until the agent has written it again.
func TestCheckTellsLostCDIFile(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, address := withMetrics(t, api, "trn2.48xlarge")
	k := a.register()
	api.published()
	claim := api.addClaim(newClaim("lost", "req=3"))
	k.prepareOK(named(claim))
	waitFor(t, "no warning", func() bool { return a.commandOK(address, "check") == "ready\n" })
	file := a.cdiFile(claim)
	check(t, os.WriteFile(file, []byte("{"), 0o600))
	contains(t, a.commandOK(address, "check"), "warning: claim default/lost: CDI file "+file+" was changed: ",
		"; the agent repairs it within --reconcile-interval, or when it is restarted\n", "\nready\n")
	check(t, os.Remove(file))
	contains(t, a.commandOK(address, "check"), "warning: claim default/lost: CDI file "+file+" is missing: a container that starts now fails; ")
	a.kill()
	a.start()
	waitFor(t, "no warning", func() bool { return !strings.Contains(a.command(closedPort(t), "check").stdout, "CDI file") })
}

// A device that the slices lack is named with the reason, by a running agent and without one; so is a type that is refused.
func TestSlicesTellWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	const note = "# neuron-device-12 is left out: the kernel module does not show it; see dmesg\n"
	api := startAPIServer(t)
	a := newAgent(t, "trn2.48xlarge")
	simnode(t, "remove", "--dir", a.node, "neuron12")
	contains(t, a.command(closedPort(t), "slices").stdout, note)
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir), "--metrics-port", "0")
	a.start()
	address := a.metricsAddress()
	a.register()
	api.published()
	contains(t, a.commandOK(address, "slices"), note)
	got := run(t, nil, "slices", "--board", "trn2.48xlarge")
	if got.code != 0 || strings.Contains(got.stdout, "left out") {
		t.Errorf("of a whole type: %+v", got)
	}
	contains(t, a.command(closedPort(t), "slices", "--instance-type", "inf1.6xlarge").stdout, "# no device of instance type inf1.6xlarge is published: ")
}
