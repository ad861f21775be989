// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	resource "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	drahealth "k8s.io/kubelet/pkg/apis/dra-health/v1alpha1"
	"sigs.k8s.io/yaml"
)

const (
	ultraBoard   = "trn2u.48xlarge"
	pairServer   = "0f1e2d3c4b5a6978"
	quadServer   = "8796a5b4c3d2e1f0"
	fromClass    = resource.AllocationConfigSourceClass
	fromClaim    = resource.AllocationConfigSourceClaim
	electedModes = "1,3,4" // of four nodes that found each other
)

// allNodes are what a container with all devices of the board sees.
var allNodes = strings.Fields("/dev/neuron0 /dev/neuron1 /dev/neuron10 /dev/neuron11 /dev/neuron12 /dev/neuron13 /dev/neuron14 " +
	"/dev/neuron15 /dev/neuron2 /dev/neuron3 /dev/neuron4 /dev/neuron5 /dev/neuron6 /dev/neuron7 /dev/neuron8 /dev/neuron9")

func nodes(count int) string {
	return fmt.Sprintf(`{"apiVersion":"neuron.aws.com/v1","kind":"UltraServerConfig","ultraserverMode":%d}`, count)
}

// classFile replaces a file of the kernel module for the whole host in one move; an empty text takes it away.
func (a *agent) classFile(name, text string) {
	a.t.Helper()
	path := filepath.Join(a.node, "sys/class/neuron_device", name)
	if text == "" {
		check(a.t, os.Remove(path))
		return
	}
	check(a.t, os.Rename(writeFile(a.t, filepath.Join(a.node, "fresh"), text+"\n"), path))
}

// elect writes what the kernel module shows once the nodes have found each other: this is the third of the four, and the
// second of its pair.
func (a *agent) elect(modes string) {
	a.t.Helper()
	a.classFile("node_id_2", "1")
	a.classFile("server_id_2", pairServer)
	a.classFile("node_id_4", "2")
	a.classFile("server_id_4", quadServer)
	a.classFile("ultraserver_mode", modes)
}

// elected is an agent that runs on a node of an UltraServer.
func elected(t *testing.T, modes string, flags ...string) (*apiServer, *agent, *kubelet) {
	t.Helper()
	api := startAPIServer(t)
	a := newAgent(t, ultraBoard, "--driver-version", "2.30.2.0")
	a.elect(modes)
	a.args = append(append(a.args, "--kubeconfig", api.kubeconfig(a.dir), "--health-interval", healthInterval.String()), flags...)
	a.start()
	k := a.register()
	a.waitLog(0, "event=slice_published")
	return api, a, k
}

// What containers are told, by what the claim and the class ask for and what the kernel module offers.
func TestUltraServer(t *testing.T) {
	t.Parallel()
	type entry struct {
		source resource.AllocationConfigSource
		text   string
	}
	const mode, server, node = "NEURON_RT_ULTRASERVER_MODE=", "NEURON_RT_ULTRASERVER_SERVER_ID=", "NEURON_RT_ULTRASERVER_NODE_ID="
	four := []string{mode + "1", server + quadServer, node + "2"}
	vertical := []string{mode + "3", server + pairServer, node + "1"}
	horizontal := []string{mode + "2", server + pairServer, node + "1"}
	lncFour := append([]string{"NEURON_LOGICAL_NC_CONFIG=1"}, four...)
	older := strings.Replace(nodes(4), "neuron.aws.com/v1", "neuron.aws.com/v1alphav1", 1)
	cases := []struct {
		name    string
		modes   string
		configs []entry
		env     []string
	}{
		{"four", electedModes, []entry{{fromClaim, nodes(4)}}, four},
		{"four, by the beta's version", electedModes, []entry{{fromClaim, older}}, four},
		{"two, vertical", electedModes, []entry{{fromClaim, nodes(2)}}, vertical},
		{"two, horizontal", "1,2,4", []entry{{fromClaim, nodes(2)}}, horizontal},
		{"two, both", "1,2,3,4", []entry{{fromClaim, nodes(2)}}, vertical},
		{"one", electedModes, []entry{{fromClaim, nodes(1)}}, []string{mode + "4"}},
		{"one, alone", "4", []entry{{fromClaim, nodes(1)}}, []string{mode + "4"}},
		{"none", electedModes, nil, nil},
		{"none, alone", "4", nil, nil},
		{"LNC alone", electedModes, []entry{{fromClaim, lnc(2)}}, []string{"NEURON_LOGICAL_NC_CONFIG=2"}},
		{"LNC first", electedModes, []entry{{fromClaim, lnc(1)}, {fromClaim, nodes(4)}}, lncFour},
		{"LNC last", electedModes, []entry{{fromClaim, nodes(4)}, {fromClaim, lnc(1)}}, lncFour},
		{"LNC of the class", electedModes, []entry{{fromClass, lnc(1)}, {fromClaim, nodes(4)}}, lncFour},
		{"mode of the class", electedModes, []entry{{fromClass, nodes(4)}, {fromClaim, lnc(1)}}, lncFour},
		{"both of the class", electedModes, []entry{{fromClass, nodes(4)}, {fromClass, lnc(1)}}, lncFour},
		{"claim over class", electedModes, []entry{{fromClass, nodes(4)}, {fromClaim, nodes(2)}}, vertical},
		{"later over earlier", electedModes, []entry{{fromClaim, nodes(2)}, {fromClaim, nodes(4)}}, four},
		{"class and claim of both kinds", electedModes,
			[]entry{{fromClass, lnc(2)}, {fromClass, nodes(2)}, {fromClaim, nodes(4)}, {fromClaim, lnc(1)}}, lncFour},
	}
	byModes := map[string][]int{}
	for i, c := range cases {
		byModes[c.modes] = append(byModes[c.modes], i)
	}
	for modes, list := range byModes {
		t.Run(modes, func(t *testing.T) {
			t.Parallel()
			api, a, k := elected(t, modes)
			for _, i := range list {
				c := cases[i]
				object := newClaim(fmt.Sprintf("case-%d", i), "req=node")
				for _, e := range c.configs {
					configure(object, e.source, e.text, "req")
				}
				devices := k.prepareOK(named(api.addClaim(object)))
				equalStrings(t, c.name, deviceNames(devices), nodeDevice)
				seen := a.inject(idsOf(devices, "req")...)
				equalStrings(t, c.name+": devices", seen.devices, allNodes...)
				equalStrings(t, c.name+": environment", seen.env, c.env...)
				k.unprepareOK(named(object))
				a.noCDI()
			}
		})
	}
}

// What the kernel module does not offer is refused in words; nothing stays, and what it offers is prepared after that.
func TestUltraServerNotOffered(t *testing.T) {
	t.Parallel()
	for modes, refused := range map[string][]int{"4": {4, 2}, "1,4": {2}, "2,4": {4}, "0": {4, 2, 1}, "1,x": {4, 2, 1}, "": {4, 2, 1}} {
		t.Run("modes "+modes, func(t *testing.T) {
			t.Parallel()
			api, a, k := elected(t, modes)
			possible := map[string]string{"4": "1", "1,4": "1 or 4", "2,4": "1 or 2"}[modes]
			remedy := "; possible: " + possible + ". Check the links between the nodes, or ask for " + possible + "."
			if possible == "" {
				remedy = "; possible: none. Check the links between the nodes and the log of the kernel module (dmesg)."
			}
			words := map[int]string{1: "one node", 2: "two nodes", 4: "four nodes"}
			for _, count := range refused {
				c := api.addClaim(configure(newClaim(fmt.Sprintf("wants-%d", count), "req=node"), fromClaim, nodes(count)))
				contains(t, k.prepareError(named(c)),
					fmt.Sprintf("error applying config: ultraserverMode %d (%s) is not possible on this node now%s (config[0] ", count, words[count], remedy))
				a.noCDI()
			}
			plain := api.addClaim(newClaim("plain", "req=node"))
			equalStrings(t, "environment", a.inject(idsOf(k.prepareOK(named(plain)), "req")...).env)
			k.unprepareOK(named(plain))
		})
	}
}

// The module of a node that belongs to no UltraServer, or an old one, has no such file: the node is published without a place.
func TestUltraServerFilesAbsent(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a := newAgent(t, ultraBoard)
	for _, file := range []string{"node_id_2", "server_id_2", "node_id_4", "server_id_4", "ultraserver_mode"} {
		a.classFile(file, "")
	}
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir))
	a.start()
	k := a.register()
	a.waitLog(0, "event=slice_published")
	for name := range api.published().Spec.Devices[0].Attributes {
		if strings.HasPrefix(string(name), "ultraserver") {
			t.Errorf("attribute %s", name)
		}
	}
	c := api.addClaim(configure(newClaim("wants", "req=node"), fromClaim, nodes(1)))
	contains(t, k.prepareError(named(c)), "ultraserverMode 1 (one node) is not possible on this node now", "possible: none")
	k.prepareOK(named(api.addClaim(newClaim("plain", "req=node"))))
}

// While the nodes elect, a claim that asks for a set of nodes is refused at once; the kubelet's next try succeeds.
func TestUltraServerBusy(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a := newAgent(t, ultraBoard)
	for _, file := range []string{"node_id_2", "server_id_2", "node_id_4", "server_id_4", "ultraserver_mode"} {
		a.classFile(file, "busy")
	}
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir), "--health-interval", healthInterval.String())
	a.start()
	k := a.register()
	a.waitLog(0, "ultraserver-mode", "busy", "10 minutes")
	a.waitLog(0, "event=slice_published")
	wants := api.addClaim(configure(newClaim("wants", "req=node"), fromClaim, nodes(4)))
	for range 2 {
		contains(t, k.prepareError(named(wants)), "still finding each other", "the kubelet tries again")
		a.noCDI()
	}
	plain := api.addClaim(newClaim("plain", "req=node")) // who asks for no set of nodes need not wait
	k.prepareOK(named(plain))
	k.unprepareOK(named(plain))

	a.elect(electedModes)
	waitFor(t, "the claim is prepared", func() bool { return k.prepare(named(wants))[string(wants.UID)].Error == "" })
	seen := a.inject(idsOf(k.prepareOK(named(wants)), "req")...)
	equalStrings(t, "environment", seen.env, "NEURON_RT_ULTRASERVER_MODE=1", "NEURON_RT_ULTRASERVER_SERVER_ID="+quadServer,
		"NEURON_RT_ULTRASERVER_NODE_ID=2")
	// the place is published too
	waitFor(t, "the node's place", func() bool {
		attributes := api.published().Spec.Devices[0].Attributes
		server, id := attributes["ultraserverServerId4"].StringValue, attributes["ultraserverNodeId4"].IntValue
		pair, pairID := attributes["ultraserverServerId2"].StringValue, attributes["ultraserverNodeId2"].IntValue
		return server != nil && *server == quadServer && id != nil && *id == 2 &&
			pair != nil && *pair == pairServer && pairID != nil && *pairID == 1
	})
	k.unprepareOK(named(wants))
	a.noCDI()
}

// The next look at the node is an hour away: a prepare reads what the kernel module offers at that moment.
func TestUltraServerNow(t *testing.T) {
	t.Parallel()
	api, a, k := elected(t, electedModes, "--health-interval", "1h")
	wants := api.addClaim(configure(newClaim("wants", "req=node"), fromClaim, nodes(4)))
	a.classFile("ultraserver_mode", "3,4")
	contains(t, k.prepareError(named(wants)), "ultraserverMode 4 (four nodes) is not possible on this node now", "possible: 1 or 2.")
	a.classFile("ultraserver_mode", "busy")
	contains(t, k.prepareError(named(wants)), "error applying config: ", "busy", "the kubelet tries again")
	a.noCDI()
	a.classFile("ultraserver_mode", electedModes)
	k.prepareOK(named(wants))
}

// In a pod the sandbox lets the agent read these files too: what an election shows, and what it ends with.
func TestUltraServerSandboxed(t *testing.T) {
	t.Parallel()
	a := newAgent(t, ultraBoard)
	a.classFile("ultraserver_mode", "busy")
	a.args = append(a.args, "--health-interval", healthInterval.String(), "--metrics-port", "0")
	a.env = []string{"KUBERNETES_SERVICE_HOST=127.0.0.1", "KUBERNETES_SERVICE_PORT=1"}
	a.start()
	a.register()
	a.waitLog(0, "ultraserver-mode", "busy")
	from := a.log.count()
	a.elect("1,3,5") // 5 is no mode
	a.waitLog(from, "ultraserver-mode", "1,3,5")
	if line, missing := a.log.find(0, "event=sandbox_wide"); missing == nil {
		t.Error(line)
	}
}

// Other types have no such device and no such configuration.
func TestUltraServerOnOtherType(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, k := running(t, api, "trn2.48xlarge")
	contains(t, k.prepareError(named(api.addClaim(newClaim("node", "req=node")))), nodeDevice, "not found", "neuron-device-0")
	c := api.addClaim(configure(newClaim("mode", "req=0"), fromClaim, nodes(4)))
	contains(t, k.prepareError(named(c)), "error applying config: UltraServer mode is not configurable for instance type trn2.48xlarge; "+
		"remove the UltraServerConfig, or use a node of an UltraServer, such as trn2u.48xlarge (config[0] of the allocation, FromClaim, ")
	a.noCDI()
}

// A node that lacks a device is not published: who gets it is promised all of them.
func TestUltraServerIncomplete(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a := newAgent(t, ultraBoard, "--devices", "15")
	a.elect(electedModes)
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir))
	a.start()
	k := a.register()
	a.waitLog(0, "event=slice_published")
	if devices := api.published().Spec.Devices; len(devices) != 0 {
		t.Errorf("published: %+v", devices)
	}
	c := api.addClaim(configure(newClaim("node", "req=node"), fromClaim, nodes(4)))
	contains(t, k.prepareError(named(c)), nodeDevice, "all devices of the instance type", "only 15 are here")
	a.noCDI()
	// the operator's way to use the others
	a.kill()
	a.args = append(a.args, "--ultraserver-devices=devices")
	from := a.log.count()
	a.start()
	k = a.register()
	a.waitLog(from, "event=slice_published")
	k.prepareOK(named(api.addClaim(newClaim("one", "req=14"))))
	k.prepareError(named(c))
}

// The same bytes each time: repeated, after a kill, after a loss of the CDI file, after a loss of the store, and without the
// API server where it is not needed.
func TestUltraServerIsRepeatable(t *testing.T) {
	t.Parallel()
	api, a, k := elected(t, electedModes)
	c := configure(configure(newClaim("again", "req=node"), fromClaim, nodes(2)), fromClaim, lnc(1))
	c.Status.ReservedFor = []resource.ResourceClaimConsumerReference{{Resource: "pods", Name: "p", UID: "p-1"}}
	api.addClaim(c)
	first := must(k.callBytes(prepareV1, callLimit, named(c)))
	if failed(first) {
		t.Fatalf("%q", first)
	}
	file := a.cdiBytes(c)
	for key, want := range map[string]string{"node-devices": "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15", "ultraserver-mode": "3",
		"ultraserver-server-id": pairServer, "ultraserver-node-id": "1"} {
		if got := a.annotations(c)[driverName+"/"+key]; got != want {
			t.Errorf("annotation %s: %q, want %q", key, got, want)
		}
	}
	same := func(when string) {
		t.Helper()
		again := must(k.callBytes(prepareV1, callLimit, named(c)))
		if !bytes.Equal(first, again) || a.cdiBytes(c) != file {
			t.Errorf("%s: another reply or CDI file: %q\n%s", when, again, a.cdiBytes(c))
		}
	}
	restart := func(spoil ...string) {
		t.Helper()
		a.kill()
		for _, path := range spoil {
			check(t, os.Remove(path))
		}
		a.start()
		k = a.register()
	}
	same("repeated")
	restart()
	same("killed")
	restart(a.cdiFile(c))
	same("without the CDI file")
	restart(filepath.Join(a.pluginDir(), "claims.store"))
	a.waitLog(0, "event=claim_adopted")
	same("without the store")
	from := a.log.count()
	restart(filepath.Join(a.pluginDir(), "claims.store"), a.cdiFile(c))
	a.waitLog(from, "event=claims_listed", "rebuilt=1")
	same("without store and CDI file")
	api.down()
	same("without the API server")
	restart()
	same("killed, without the API server")
	k.unprepareOK(named(c))
	a.noCDI()
	k.unprepareOK(named(c))
}

// The place of the node changes under a claim: links fail, the module is loaded again, the nodes elect others. Where the set
// is not offered, what the claim was given stays. Where the node has another place in one, as after a reboot, a container
// that starts from now on is told that one. An unprepared claim gets what is offered then.
func TestUltraServerMoves(t *testing.T) {
	t.Parallel()
	const before, after = quadServer, "00112233445566ff"
	api, a, k := elected(t, electedModes)
	c := api.addClaim(configure(newClaim("kept", "req=node"), fromClaim, nodes(4)))
	first := must(k.callBytes(prepareV1, callLimit, named(c)))
	file := a.cdiBytes(c)
	for _, moved := range []struct{ modes, server, want string }{
		{"4", "0000000000000000", before}, {"busy", "busy", before}, {electedModes, after, after}, {"0", before, after},
		{electedModes, before, before},
	} {
		a.kill()
		a.elect(moved.modes)
		a.classFile("server_id_4", moved.server)
		from := a.log.count()
		a.start()
		k = a.register()
		a.waitLog(from, "event=slice_")
		again := must(k.callBytes(prepareV1, callLimit, named(c)))
		if want := strings.ReplaceAll(file, before, moved.want); failed(first) || !bytes.Equal(first, again) || a.cdiBytes(c) != want {
			t.Errorf("%v: another reply or CDI file: %q\n%s", moved, again, a.cdiBytes(c))
		}
	}
	k.unprepareOK(named(c))
	a.kill()
	a.elect("4")
	a.start()
	k = a.register()
	contains(t, k.prepareError(named(c)), "ultraserverMode 4 (four nodes) is not possible on this node now")
	a.noCDI()
}

// The node's device and each of its devices are never given to two claims, whichever was first and whatever is published.
func TestUltraServerHeld(t *testing.T) {
	t.Parallel()
	api, a, k := elected(t, electedModes)
	node := api.addClaim(configure(newClaim("whole", "req=node"), fromClaim, nodes(4)))
	one := api.addClaim(newClaim("single", "req=3"))
	second := api.addClaim(newClaim("second", "req=node"))
	restart := func(flags ...string) {
		t.Helper()
		a.kill()
		a.args = append(a.args, flags...)
		a.start()
		k = a.register()
	}
	held := func(wanting, holder *resource.ResourceClaim) {
		t.Helper()
		contains(t, k.prepareError(named(wanting)), "default/"+wanting.Name, "is already held by claim default/"+holder.Name, string(holder.UID))
	}
	k.prepareOK(named(node))
	held(one, node)
	held(second, node)
	restart("--ultraserver-devices=devices")
	waitFor(t, "16 devices", func() bool { own := api.own(); return len(own) == 1 && len(own[0].Spec.Devices) == 16 })
	held(one, node)
	held(second, node)
	k.unprepareOK(named(node))
	k.prepareOK(named(one))
	held(node, one)
	restart("--ultraserver-devices=node")
	waitFor(t, "one device", func() bool { own := api.own(); return len(own) == 1 && len(own[0].Spec.Devices) == 1 })
	held(node, one)
	k.unprepareOK(named(one))
	k.prepareOK(named(node))
	k.unprepareOK(named(node))
	// in one call: one of the two
	reply := k.prepare(named(one), named(second))
	if (reply[string(one.UID)].Error == "") == (reply[string(second.UID)].Error == "") {
		t.Errorf("both or none: %v", reply)
	}
	k.unprepareOK(named(one), named(second))
	// within one claim as well
	both := api.addClaim(newClaim("both", "a=node", "b=3"))
	contains(t, k.prepareError(named(both)), "twice")
	monitor := newClaim("monitor", "all=node")
	yes := true
	monitor.Status.Allocation.Devices.Results[0].AdminAccess = &yes
	k.prepareOK(named(api.addClaim(monitor)))
	k.prepareOK(named(node))
	k.unprepareOK(named(monitor), named(node))
	a.noCDI()
}

// The node beside its devices: what each takes of the shared counters keeps a scheduler from giving one away twice.
func TestUltraServerBoth(t *testing.T) {
	t.Parallel()
	api, a, k := elected(t, electedModes, "--ultraserver-devices=both")
	one := resource.Counter{Value: apiresource.MustParse("1")}
	all := map[string]resource.Counter{}
	for n := range 16 {
		all[fmt.Sprintf("neuron-device-%d", n)] = one
	}
	right := func() bool {
		own := api.own()
		if len(own) != 2 {
			return false
		}
		if len(own[0].Spec.Devices) > 0 {
			own[0], own[1] = own[1], own[0]
		}
		sets, devices := own[0].Spec.SharedCounters, own[1].Spec.Devices
		if len(sets) != 1 || sets[0].Name != "devices" || !equality.Semantic.DeepEqual(sets[0].Counters, all) ||
			len(own[0].Spec.Devices) != 0 || len(own[1].Spec.SharedCounters) != 0 || len(devices) != 17 {
			return false
		}
		for n, device := range devices {
			name, takes := fmt.Sprintf("neuron-device-%d", n), map[string]resource.Counter{fmt.Sprintf("neuron-device-%d", n): one}
			if n == 16 {
				name, takes = nodeDevice, all
			}
			if device.Name != name || len(device.ConsumesCounters) != 1 || device.ConsumesCounters[0].CounterSet != "devices" ||
				!equality.Semantic.DeepEqual(device.ConsumesCounters[0].Counters, takes) {
				return false
			}
		}
		return own[0].Spec.Pool == own[1].Spec.Pool && own[0].Spec.Pool.ResourceSliceCount == 2
	}
	waitFor(t, "both slices", right)
	// Neither kind is prepared while a claim holds the other, whatever a scheduler says.
	node, single := api.addClaim(newClaim("node", "req=node")), api.addClaim(newClaim("single", "req=3"))
	k.prepareOK(named(single))
	contains(t, k.prepareError(named(node)), "is already held by claim default/single")
	k.unprepareOK(named(single))
	k.prepareOK(named(node))
	contains(t, k.prepareError(named(single)), "is already held by claim default/node")
	// A new process writes nothing.
	versions := func() (all []string) {
		for _, slice := range api.own() {
			all = append(all, string(slice.UID)+" "+slice.ResourceVersion)
		}
		slices.Sort(all)
		return all
	}
	before := versions()
	from := a.log.count()
	a.kill()
	a.start()
	k = a.register()
	a.waitLog(from, "event=slice_verified")
	if now := versions(); !slices.Equal(now, before) || !right() {
		t.Errorf("slices %v, before the restart %v", now, before)
	}
	k.unprepareOK(named(node))
	a.noCDI()
}

// The single devices, where the operator wants them published; the configuration is carried out for them as well.
func TestUltraServerDevices(t *testing.T) {
	t.Parallel()
	api, a, k := elected(t, electedModes, "--ultraserver-devices=devices")
	devices := api.published().Spec.Devices
	if len(devices) != 16 || devices[0].Name != "neuron-device-0" || *devices[0].Attributes["resourceType"].StringValue != "neuron_device" ||
		*devices[15].Attributes["ultraserverServerId4"].StringValue != quadServer {
		t.Errorf("published: %+v", devices)
	}
	c := newClaim("all")
	for i := range 16 {
		c.Status.Allocation.Devices.Results = append(c.Status.Allocation.Devices.Results, newClaim("x", fmt.Sprintf("req=%d", i)).Status.Allocation.Devices.Results...)
	}
	reply := k.prepareOK(named(api.addClaim(configure(c, fromClaim, nodes(4)))))
	seen := a.inject(idsOf(reply, "req")...)
	equalStrings(t, "devices", seen.devices, allNodes...)
	equalStrings(t, "environment", seen.env, "NEURON_RT_ULTRASERVER_MODE=1", "NEURON_RT_ULTRASERVER_SERVER_ID="+quadServer,
		"NEURON_RT_ULTRASERVER_NODE_ID=2")
	k.unprepareOK(named(c))
	a.noCDI()
}

// One unhealthy device taints the node's, and the kubelet's stream names both.
func TestUltraServerHealth(t *testing.T) {
	t.Parallel()
	api, a, k := elected(t, electedModes)
	tainted := func() bool {
		own := api.own()
		return len(own) == 1 && len(own[0].Spec.Devices) == 1 && own[0].Spec.Devices[0].Name == nodeDevice &&
			len(own[0].Spec.Devices[0].Taints) == 1 && own[0].Spec.Devices[0].Taints[0].Key == driverName+"/unhealthy"
	}
	reports := k.watchDevices(t, "v1")
	older := k.watchDevices(t, "v1alpha1")
	all := func(device string, status drahealth.HealthStatus, message string) {
		t.Helper()
		waitEntry(t, reports, 17, device, status, message)
		waitEntry(t, older, 17, device, status, message)
	}
	all(nodeDevice, drahealth.HealthStatus_HEALTHY, "")
	if tainted() {
		t.Error("a healthy node has a taint")
	}
	simnode(t, "set", "--dir", a.node, "neuron5/"+unhealthyComponents, "link_interserver")
	all(nodeDevice, drahealth.HealthStatus_UNHEALTHY, "link_interserver")
	all("neuron-device-5", drahealth.HealthStatus_UNHEALTHY, "link_interserver")
	waitFor(t, "the taint", tainted)
	// a second device adds its reason, and the taint stays until both are well
	simnode(t, "set", "--dir", a.node, "neuron9/"+unhealthyComponents, "hbm")
	all(nodeDevice, drahealth.HealthStatus_UNHEALTHY, "hbm, link_interserver")
	simnode(t, "set", "--dir", a.node, "neuron5/"+unhealthyComponents, "")
	all(nodeDevice, drahealth.HealthStatus_UNHEALTHY, "hbm")
	if !tainted() {
		t.Error("the taint went while a device is unhealthy")
	}
	simnode(t, "set", "--dir", a.node, "neuron9/"+unhealthyComponents, "")
	all(nodeDevice, drahealth.HealthStatus_HEALTHY, "")
	waitFor(t, "no taint", func() bool { return !tainted() })

	// a device that vanishes under a claim keeps the node listed, tainted; unprepared, it goes
	c := api.addClaim(configure(newClaim("holder", "req=node"), fromClaim, nodes(4)))
	k.prepareOK(named(c))
	simnode(t, "remove", "--dir", a.node, "neuron2")
	waitFor(t, "the taint", tainted)
	k.unprepareOK(named(c))
	waitFor(t, "no device", func() bool { own := api.own(); return len(own) == 1 && len(own[0].Spec.Devices) == 0 })
	simnode(t, "add", "--dir", a.node, "neuron2")
	waitFor(t, "the node's device", func() bool { own := api.own(); return len(own) == 1 && len(own[0].Spec.Devices) == 1 && !tainted() })
}

// What the commands show of such a node and its claim, beside the agent and without hardware.
func TestUltraServerCommands(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a := newAgent(t, ultraBoard)
	a.elect(electedModes)
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir), "--metrics-port", "0")
	a.start()
	address := a.metricsAddress()
	k := a.register()
	api.published()
	c := api.addClaim(configure(configure(newClaim("llama", "neurons=node"), fromClaim, nodes(4)), fromClaim, lnc(1)))
	k.prepareOK(named(c))
	a.waitLog(0, "Opaque device configs", "UltraServerConfig", "ultraserverMode=4")
	a.waitLog(0, "event=slice_published")

	contains(t, a.commandOK(address, "claims"), "default/llama", nodeDevice+" (request neurons, logicalNeuronCore 1, ultraserverMode 4)", "CDI file: good")
	var claims any
	check(t, json.Unmarshal([]byte(a.commandOK(address, "claims", "-o", "json")), &claims))
	contains(t, fmt.Sprint(claims), "name:"+nodeDevice, "ultraserverMode:4")
	shown := a.commandOK(address, "devices")
	contains(t, shown, "16 devices, 16 held")
	for i := range 16 {
		contains(t, shown, fmt.Sprintf("\nneuron-device-%-3d 8      unknown  default/llama ", i))
	}
	if got := a.commandOK(address, "check"); got != "ready\n" {
		t.Errorf("check: %q", got)
	}
	sliceOf := func(text string) (found resource.ResourceSlice) {
		check(t, yaml.UnmarshalStrict([]byte(text), &found))
		return found
	}
	own := sliceOf(a.commandOK(address, "slices", "--ultraserver-devices=node")).Spec.Devices
	if len(own) != 1 || own[0].Name != nodeDevice || *own[0].Attributes["ultraserverServerId4"].StringValue != quadServer {
		t.Errorf("slices: %+v", own)
	}
	board := sliceOf(run(t, nil, "slices", "--board", ultraBoard, "--ultraserver-devices=node").stdout).Spec.Devices
	if len(board) != 1 || board[0].Name != nodeDevice || *board[0].Attributes["deviceCount"].IntValue != 16 {
		t.Errorf("slices --board: %+v", board)
	}
	single := sliceOf(run(t, nil, "slices", "--board", ultraBoard, "--ultraserver-devices=devices").stdout).Spec.Devices
	if len(single) != 16 || single[15].Name != "neuron-device-15" {
		t.Errorf("slices --board --ultraserver-devices=devices: %+v", single)
	}
	if got := a.command(address, "slices", "--ultraserver-devices=node"); strings.Contains(got.stdout, "neuron-device-") {
		t.Errorf("slices: %s", got.stdout)
	}
}
