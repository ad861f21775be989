// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	resource "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// command runs a command with the flags of the agent beside it, and its metrics port.
func (a *agent) command(address string, words ...string) outcome {
	a.t.Helper()
	_, port, err := net.SplitHostPort(address)
	check(a.t, err)
	return run(a.t, nil, append(append(words[:len(words):len(words)], a.commandLine()...), "--metrics-port", port)...)
}

func (a *agent) commandOK(address string, words ...string) string {
	a.t.Helper()
	got := a.command(address, words...)
	if got.code != 0 || got.stderr != "" {
		a.t.Fatalf("%v: %+v", words, got)
	}
	return got.stdout
}

// files are the names, sizes and times of all files below the agent's directories.
func (a *agent) files() (found []string) {
	for _, dir := range []string{"r", "p", "c"} {
		check(a.t, filepath.Walk(filepath.Join(a.dir, dir), func(path string, info os.FileInfo, err error) error {
			found = append(found, path+info.ModTime().String())
			return err
		}))
	}
	return found
}

// Commands beside a running agent show what it holds, and change no file of it.
func TestCommandsBesideAgent(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, address := withMetrics(t, api, "trn2.48xlarge")
	k := a.register()
	api.published()
	claim := api.addClaim(configure(newClaim("llama", "train=4", "train=5"), resource.AllocationConfigSourceClaim, lnc(1)))
	k.prepareOK(named(claim))
	a.waitLog(0, "event=slice_published")
	before := a.files()

	contains(t, a.commandOK(address, "devices"), "neuron-device-4   8      unknown  default/llama", "16 devices, 2 held",
		"   4 A   5 A   6 .   7 .")
	contains(t, a.commandOK(address, "claims"), "default/llama", "uid: "+string(claim.UID),
		"neuron-device-4 (request train, logicalNeuronCore 1)", "CDI file: good")
	if got := a.commandOK(address, "check"); got != "ready\n" {
		t.Errorf("check: %q", got)
	}
	for _, what := range []string{"liveness", "readiness"} {
		if got := a.commandOK(address, "probe", what); got != "ok\n" {
			t.Errorf("probe %s: %q", what, got)
		}
	}
	for _, what := range []string{"devices", "claims", "slices", "check"} {
		var fromJSON, fromYAML any
		check(t, json.Unmarshal([]byte(a.commandOK(address, what, "-o", "json")), &fromJSON))
		check(t, yaml.Unmarshal([]byte(a.commandOK(address, what, "-o", "yaml")), &fromYAML))
		if !reflect.DeepEqual(fromJSON, fromYAML) {
			t.Errorf("%s: JSON %v, YAML %v", what, fromJSON, fromYAML)
		}
	}
	if after := a.files(); !reflect.DeepEqual(before, after) {
		t.Errorf("files before %v, after %v", before, after)
	}

	check(t, os.Remove(a.cdiFile(claim)))
	contains(t, a.commandOK(address, "claims"), "CDI file: missing: a container that starts now fails; the agent repairs it")
	contains(t, a.commandOK(address, "check"), "warning: claim default/llama: CDI file ", " is missing: a container that starts now fails; ")
	a.kill()
	contains(t, a.commandOK(address, "devices"), "default/llama")
	got := a.command(address, "check")
	if lines := strings.Split(strings.TrimSpace(got.stdout), "\n"); got.code != 1 || len(lines) != 4 {
		t.Errorf("check without the agent: %+v", got)
	}
	contains(t, got.stdout, a.registrationSocket()+": nobody listens", a.serviceSocket()+": nobody listens", "no agent responds to /readyz")
	if got := a.command(address, "probe", "readiness"); got.code != 1 || !strings.Contains(got.stderr, "--metrics-port") {
		t.Errorf("probe without the agent: %+v", got)
	}
}

// specs are what `slices` prints, as YAML and as JSON, which must be the same.
func (a *agent) specs(address string, more ...string) (found []resource.ResourceSliceSpec, text string) {
	a.t.Helper()
	var fromJSON, fromYAML map[string]any
	text = a.commandOK(address, append([]string{"slices"}, more...)...)
	check(a.t, json.Unmarshal([]byte(a.commandOK(address, append([]string{"slices", "-o", "json"}, more...)...)), &fromJSON))
	check(a.t, yaml.Unmarshal([]byte(text), &fromYAML))
	if !reflect.DeepEqual(fromJSON, fromYAML) {
		a.t.Errorf("JSON %v, YAML %v", fromJSON, fromYAML)
	}
	var list struct{ Items []resource.ResourceSlice }
	if fromYAML["kind"] == "List" {
		check(a.t, yaml.Unmarshal([]byte(text), &list))
	} else {
		list.Items = make([]resource.ResourceSlice, 1)
		check(a.t, yaml.UnmarshalStrict([]byte(text), &list.Items[0]))
	}
	for _, slice := range list.Items {
		found = append(found, slice.Spec)
	}
	return found, text
}

// samePublished compares what `slices` prints with what the API server stores.
func (a *agent) samePublished(address string, stored []*resource.ResourceSlice, more ...string) (text string) {
	a.t.Helper()
	printed, text := a.specs(address, more...)
	if len(stored) != len(printed) {
		a.t.Fatalf("%d slices are stored, %d printed:\n%s", len(stored), len(printed), text)
	}
	for _, one := range printed {
		if !slices.ContainsFunc(stored, func(s *resource.ResourceSlice) bool { return equality.Semantic.DeepEqual(s.Spec, one) }) {
			a.t.Errorf("printed %+v\nstored %+v", one, stored[0].Spec)
		}
	}
	return text
}

// What `slices` prints beside an agent is what it publishes: attributes of the Node's labels, generation and taints too, and in a
// comment what it leaves out. Without the agent it says on stderr that it is what one would publish.
func TestSlicesAsPublished(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a := newAgent(t, "trn2.48xlarge", "--driver-version", "2.30.2.0")
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir), "--metrics-port", "0", "--health-interval", healthInterval.String())
	a.start()
	address := a.metricsAddress()
	a.register()
	a.readySoon(address)
	if text := a.samePublished(address, api.own()); strings.Contains(text, "#") || !strings.Contains(text, "networkNodeLayer1") {
		t.Errorf("slices:\n%s", text)
	}
	simnode(t, "set", "--dir", a.node, "neuron3/"+unhealthyComponents, "hbm\n")
	a.waitLog(0, "event=device_unhealthy", "neuron-device-3")
	a.readySoon(address)
	contains(t, a.samePublished(address, api.own()), "- key: neuron.aws.com/unhealthy\n", "effect: NoSchedule\n", "timeAdded: ", "generation: ")
	a.kill()
	got := a.command(address, "slices")
	if got.code != 0 {
		t.Errorf("without an agent: %+v", got)
	}
	contains(t, got.stderr, "what an agent with these settings would publish here: no agent responds to /slicesz")
	contains(t, got.stdout, "- key: neuron.aws.com/unhealthy\n")

	a.args = append(a.args, "--unhealthy-taint", "")
	mark := a.log.count()
	a.start()
	address = a.metricsAddressAfter(mark)
	a.register()
	a.readySoon(address)
	text := a.samePublished(address, api.own())
	contains(t, text, "# neuron-device-3 is left out: it is unhealthy\n")
	if strings.Contains(text, "name: neuron-device-3\n") {
		t.Errorf("slices:\n%s", text)
	}
	a.kill()
	if text := a.command(address, "slices").stdout; strings.Contains(text, "name: neuron-device-3\n") || strings.Contains(text, "taints") {
		t.Errorf("without agent and taint:\n%s", text)
	}
	got = run(t, nil, "slices", "--metrics-port", "1", "--sysfs-root", filepath.Join(a.dir, "none"))
	if got.code != 1 || got.stdout != "" || strings.Count(got.stderr, "\n") != 1 || !strings.Contains(got.stderr, "class/neuron_device cannot be read") {
		t.Errorf("without sysfs: %+v", got)
	}
}

// Both drivers, and the mode that `auto` chose on a node of an UltraServer.
func TestSlicesOfBothAsPublished(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, _, _, address := runningBoth(t, api, "trn2.48xlarge")
	a.samePublished(address, append(api.own(), api.ofEFA()...), "--efa", "true")
	for version, mode := range map[string]string{"v1.35.0": "the node as one device, and no other device",
		"v1.36.0": "the node as one device, and its devices, by shared counters"} {
		api := newAPIServer(t)
		api.node.Status.NodeInfo.KubeletVersion = version
		api.up()
		a, address := withMetrics(t, api, "trn2u.48xlarge")
		a.register()
		a.readySoon(address)
		contains(t, a.samePublished(address, api.own()), "# --ultraserver-devices auto publishes "+mode+"\n")
	}
}

// --no-headers leaves the rows, for scripts.
func TestRowsOnly(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, address := withMetrics(t, api, "trn2.48xlarge")
	k := a.register()
	if got := a.commandOK(address, "claims", "--no-headers", "true"); got != "" {
		t.Errorf("no claim: %q", got)
	}
	k.prepareOK(named(api.addClaim(newClaim("llama", "train=3"))))
	rows := strings.Split(strings.TrimSuffix(a.commandOK(address, "devices", "--no-headers", "true"), "\n"), "\n")
	if len(rows) != 16 || !strings.HasPrefix(rows[0], "neuron-device-0 ") || !strings.Contains(rows[3], "default/llama") {
		t.Errorf("%d rows: %q", len(rows), rows)
	}
	contains(t, a.commandOK(address, "claims", "--no-headers", "true"), "default/llama\n", "  devices:\n    neuron-device-3 (request train)\n")
	contains(t, a.commandOK(address, "devices"), "health of 16 devices is unknown:\n  kernel module 2.26.5.0 has only error counters, and the agent sees none rise\n")
}

// -w prints again when something has changed, and nothing while nothing has; SIGINT ends it.
func TestWatch(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, _ := withMetrics(t, api, "trn2.48xlarge")
	k := a.register()
	for _, words := range [][]string{{"devices", "-w", "true", "--no-headers", "true"}, {"claims", "-o", "yaml", "-w", "true"}} {
		c := named(api.addClaim(newClaim("watched-"+words[0], "train=3")))
		cmd := exec.Command(agentBinary, append(words, a.commandLine()...)...)
		var out lockedBuffer
		cmd.Stdout = &out
		check(t, cmd.Start())
		first := "claims: []\n"
		if words[0] == "devices" {
			first = "neuron-device-15 "
		}
		waitFor(t, "the first output", func() bool { return strings.Contains(out.String(), first) })
		time.Sleep(5 * time.Second) // two looks
		if n := strings.Count(out.String(), first); n != 1 || strings.Contains(out.String(), c.Name) {
			t.Errorf("%v: printed %d times: %s", words, n, out.String())
		}
		k.prepareOK(c)
		waitFor(t, "another output", func() bool { return strings.Contains(out.String(), c.Name) })
		check(t, cmd.Process.Signal(os.Interrupt))
		err := cmd.Wait()
		if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGINT {
			t.Errorf("%v: ended by %v", words, err)
		}
		k.unprepareOK(c)
		if words[0] == "claims" {
			contains(t, out.String(), "claims: []\n---\nclaims:\n- driver: ")
		}
	}
}

// lockedBuffer is read while a process writes it.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// What a program on the agent's port serves cannot command the terminal of who asks.
func TestCommandsShowEscapes(t *testing.T) {
	t.Parallel()
	const hostile = "a\x1b[2J\x9b\u009b\u202eb"
	var code atomic.Value
	code.Store("503 Service Unavailable")
	listener := listenApart(t, "127.0.0.1")
	defer listener.Close()
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 100))
			fmt.Fprintf(c, "HTTP/1.1 %s\r\n\r\ntrouble: %s\n", code.Load(), hostile)
			c.Close()
		}
	}()
	a, address := newAgent(t, "trn2.48xlarge"), listener.Addr().String()
	shows := func(want string, words ...string) {
		t.Helper()
		got := a.command(address, words...)
		contains(t, got.stdout, want)
		if strings.ContainsAny(got.stdout+got.stderr, "\x1b\u009b\u202e") || !utf8.ValidString(got.stdout) {
			t.Errorf("%v: %+v", words, got)
		}
	}
	const text = `a\x1b[2J\x9b\xc2\x9b\xe2\x80\xaeb`
	shows(text, "check")
	shows(text, "probe", "readiness")
	shows(`a\u001b[2J`+"\ufffd"+`\u009b\u202eb`, "check", "-o", "json")
	shows(`a\u001b[2J`+"\ufffd"+`\u009b\u202eb`, "check", "-o", "yaml")
	code.Store("200 OK")
	shows("trouble: "+text, "slices")
	if got := a.command(address, "claims", "--pod", "default/\x1b[2J"); strings.Contains(got.stderr, "\x1b") || got.code == 0 {
		t.Errorf("%+v", got)
	}
}

// Without hardware and without an agent: the slice of a board, and one line for each reason against the node.
func TestCommandsWithoutAgent(t *testing.T) {
	t.Parallel()
	var printed resource.ResourceSlice
	got := run(t, nil, "slices", "--board", "trn2.48xlarge", "-o", "json")
	check(t, json.Unmarshal([]byte(got.stdout), &printed))
	if n := len(printed.Spec.Devices); got.code != 0 || n != 16 {
		t.Errorf("exit code %d, %d devices", got.code, n)
	}
	got = run(t, nil, "slices", "--board", "trn2.48xlage")
	if got.code != 2 || got.stdout != "" {
		t.Errorf("unknown board: %+v", got)
	}
	contains(t, got.stderr, "--board", `"trn2.48xlage" (did you mean trn2.48xlarge`, "known: ", "trn1.32xlarge")

	a := newAgent(t, "trn2.48xlarge")
	got = a.command(closedPort(t), "check")
	if got.code != 1 {
		t.Errorf("check: %+v", got)
	}
	contains(t, got.stdout, a.registrationSocket(), a.serviceSocket(), "claims.store does not exist", "no agent responds to /readyz")
	if got = a.command(closedPort(t), "claims"); got.code != 1 || strings.Count(got.stderr, "\n") != 1 {
		t.Errorf("claims: %+v", got)
	}
	contains(t, a.commandOK(closedPort(t), "devices"), "16 devices, 0 held")
}

// completions are what each shell offers, by the script that the agent prints for it. The shell itself runs it; zsh without a
// terminal, so its own functions are stand-ins that print.
var completions = map[string]struct {
	run  func(script string, words []string) *exec.Cmd
	file string // what is offered where any file can follow
}{
	"bash": {func(script string, words []string) *exec.Cmd {
		return exec.Command("bash", "-c", fmt.Sprintf(`%sCOMP_WORDS=('%s'); COMP_CWORD=%d; _neuron_dra_agent; echo "${COMPREPLY[@]}"`,
			script, strings.Join(words, "' '"), len(words)-1))
	}, ""},
	"zsh": {func(script string, words []string) *exec.Cmd {
		return exec.Command("zsh", "-f", "-c", fmt.Sprintf(`compdef() { :; }; _files() { :; }
compadd() { shift; print -r -- ${(M)@:#$words[CURRENT]*}; }
%swords=('%s'); CURRENT=%d; _neuron_dra_agent`, script, strings.Join(words, "' '"), len(words)))
	}, ""},
	"fish": {func(script string, words []string) *exec.Cmd {
		return exec.Command("fish", "--no-config", "-c", fmt.Sprintf("%scomplete -C '%s'", script, strings.Join(words, " ")))
	}, "kubeconfig"},
}

func TestCompletions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	check(t, os.WriteFile(filepath.Join(dir, "kubeconfig"), nil, 0o600))
	for shell, c := range completions {
		script := run(t, nil, "completion", shell).stdout
		for typed, want := range map[string]string{"devi": "devices", "--kubec": "--kubeconfig", "probe ": "liveness readiness",
			"completion ": "bash fish zsh", "devices -o j": "json", "slices --output ": "json text yaml", "run --device-numbering z": "zero",
			"devices --board trn2.4": "trn2.48xlarge", "run --kubeconfig ": c.file, "bundle ": c.file} {
			cmd := c.run(script, append([]string{"neuron-dra-agent"}, strings.Split(typed, " ")...))
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "HOME="+dir)
			out, err := cmd.Output()
			offered := strings.Fields(string(out))
			slices.Sort(offered)
			if got := strings.Join(offered, " "); err != nil || got != want {
				t.Errorf("%s: completion of %q: %q, %v, want %q", shell, typed, got, err, want)
			}
		}
	}
}

// With --efa, devices and slices show the EFA devices behind the Neuron devices: those of the node, or of a board.
func TestCommandsEFA(t *testing.T) {
	t.Parallel()
	a := newAgent(t, "trn1.32xlarge")
	text := a.commandOK(closedPort(t), "devices", "--efa", "true")
	const shared = "Neuron devices share an EFA device"
	contains(t, text, "16 devices, 0 held", "pci-0000-10-1a-0  0,1     unknown", "8 EFA devices, 0 held\n", "\n\n   "+shared)
	if text := newAgent(t, "trn2.48xlarge").commandOK(closedPort(t), "devices", "--efa", "true"); strings.Contains(text, shared) {
		t.Errorf("an EFA device for each Neuron device: %s", text)
	}
	for _, words := range [][]string{{"--board", "trn1.32xlarge"}, {}} {
		var printed struct {
			Items []resource.ResourceSlice `json:"items"`
		}
		words = append([]string{"slices", "--efa", "true", "--efa-driver-name", "efa.example.com", "-o", "json"}, words...)
		got := a.command(closedPort(t), words...)
		check(t, json.Unmarshal([]byte(got.stdout), &printed))
		if strings.Contains(got.stderr, "what an agent") == slices.Contains(words, "--board") {
			t.Errorf("%v: %s", words, got.stderr)
		}
		if len(printed.Items) != 2 || printed.Items[0].Spec.Driver != "neuron.aws.com" || printed.Items[1].Spec.Driver != "efa.example.com" {
			t.Fatalf("%v: %+v", words, printed.Items)
		}
		// The aligned claim: a group of four Neuron devices has two EFA devices on this type.
		group := resource.QualifiedName("resource.aws.com/devicegroup4_id")
		members := map[string][2]int{}
		for i, slice := range printed.Items {
			for _, device := range slice.Spec.Devices {
				id := *device.Attributes[group].StringValue
				of := members[id]
				of[i]++
				members[id] = of
			}
		}
		if len(members) != 4 {
			t.Errorf("groups of four: %v", members)
		}
		for id, of := range members {
			if of != [2]int{4, 2} {
				t.Errorf("group %s has %d Neuron and %d EFA devices", id, of[0], of[1])
			}
		}
	}
	var shown struct {
		Devices, EFADevices []struct {
			Name          string   `json:"name"`
			NeuronDevices []string `json:"neuronDevices"`
		}
	}
	check(t, json.Unmarshal([]byte(a.commandOK(closedPort(t), "devices", "--efa", "true", "-o", "json")), &shown))
	if len(shown.Devices) != 16 || len(shown.EFADevices) != 8 || !slices.Equal(shown.EFADevices[0].NeuronDevices, []string{"neuron-device-0", "neuron-device-1"}) {
		t.Errorf("devices: %+v", shown)
	}
	// A driver that let go of a device: the others stay, and the reason is there.
	simnode(t, "remove", "--dir", a.node, "0000:10:1a.0")
	contains(t, a.commandOK(closedPort(t), "devices", "--efa", "true"), "7 EFA devices", "efa-count")
}

// heldDevice is a device of a claim, as the node and as the metadata file have it.
type heldDevice struct {
	Name, Health, Reasons string
	Nearest               []string
	Attributes            map[resource.QualifiedName]resource.DeviceAttribute
}

// heldBy is what claims prints of a pod: the devices of its claims, by name.
func (a *agent) heldBy(pod string) map[string]heldDevice {
	a.t.Helper()
	var printed struct {
		Claims []struct {
			OnNode []heldDevice `json:"onNode"`
		} `json:"claims"`
	}
	check(a.t, json.Unmarshal([]byte(a.commandOK(closedPort(a.t), "claims", "--pod", pod, "-o", "json")), &printed))
	found := map[string]heldDevice{}
	for _, c := range printed.Claims {
		for _, d := range c.OnNode {
			found[d.Name] = d
		}
	}
	return found
}

// inFile is the same of the one metadata file of a request.
func (a *agent) inFile(ids []string) map[string]heldDevice {
	a.t.Helper()
	found := map[string]heldDevice{}
	for _, path := range a.mounts(ids...) {
		for _, d := range decodeMetadata(a.t, "metadata", path).Metadata.Requests[0].Devices {
			found[d.Name] = heldDevice{Name: d.Name, Attributes: d.Attributes}
		}
	}
	return found
}

// claims --pod tells what the metadata files of the pod tell, and what they cannot: which devices are unhealthy. It shows the
// claims of no other pod, and runs while no agent does.
func TestClaimsOfPod(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a := newAgent(t, "trn2.48xlarge", "--driver-version", "2.30.2.0")
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir), "--efa", "true", "--device-metadata", "true", "--share-cores", "true")
	a.start()
	neuron, efa := a.register(), a.registerEFA()
	waitCores(t, api, 16, 8, 2)
	waitFor(t, "slice of the EFA devices", func() bool { return len(api.ofEFA()) == 1 })

	pods := func(names ...string) (found []resource.ResourceClaimConsumerReference) {
		for _, name := range names {
			found = append(found, resource.ResourceClaimConsumerReference{Resource: "pods", Name: name, UID: uid(name)})
		}
		return found
	}
	aligned := withEFA(newClaim("aligned", "neurons=4", "neurons=5"), "efas=pci-0000-6c-00-0", "efas=pci-0000-57-00-0")
	aligned = configure(aligned, resource.AllocationConfigSourceClaim, lnc(1))
	aligned.Status.ReservedFor = pods("llama-0", "llama-1")
	api.addClaim(aligned)
	part := api.part("part", 9, "4")
	taken := api.part("taken", 9, "2")
	neuron.prepareOK(named(taken))
	files := map[string]map[string]heldDevice{
		"default/llama-0":     a.inFile(append(idsOf(neuron.prepareOK(named(aligned)), "neurons"), idsOf(efa.prepareOK(named(aligned)), "efas")...)),
		"default/pod-of-part": a.inFile(idsOf(neuron.prepareOK(named(part)), "neurons")),
	}
	a.kill()
	a.servePods().set(podUsing("default", "pod-of-part", "part"))
	simnode(t, "set", "--dir", a.node, "neuron5/"+unhealthyComponents, "hbm\n")
	before := a.files()

	const noVerdict = "its files show no error, but the agent's verdict is not available" // the agent has ended
	want := map[string]map[string]heldDevice{
		"default/llama-0": {
			"neuron-device-4":  {Health: "unknown", Reasons: noVerdict, Nearest: []string{"pci-0000-6c-00-0"}},
			"neuron-device-5":  {Health: "unhealthy", Reasons: "hbm", Nearest: []string{"pci-0000-57-00-0"}},
			"pci-0000-6c-00-0": {Health: "unknown", Reasons: noVerdict, Nearest: []string{"neuron-device-4"}},
			"pci-0000-57-00-0": {Health: "unknown", Reasons: noVerdict, Nearest: []string{"neuron-device-5"}},
		},
		"default/pod-of-part": {"neuron-device-9": {Health: "unknown", Reasons: noVerdict, Nearest: []string{"pci-0000-83-00-0"}}},
	}
	for pod, devices := range want {
		held := a.heldBy(pod)
		if len(held) != len(devices) || len(files[pod]) != len(devices) {
			t.Errorf("pod %s: devices %v, in its files %v", pod, held, files[pod])
		}
		for name, w := range devices {
			w.Name, w.Attributes = name, files[pod][name].Attributes
			for key := range w.Attributes {
				if strings.HasPrefix(string(key), "networkNodeLayer") { // of the Node, which the command does not read
					delete(w.Attributes, key)
				}
			}
			if got := held[name]; !reflect.DeepEqual(got, w) {
				t.Errorf("pod %s: %s is\n%s, want\n%s", pod, name, must(json.Marshal(got)), must(json.Marshal(w)))
			}
		}
	}
	for pod, cores := range map[string]string{"default/llama-0": "0-7 1", "default/pod-of-part": "1-2 2"} {
		for name, d := range files[pod] {
			if key := d.Attributes["logicalCores"].StringValue; key != nil && fmt.Sprint(*key, " ", *d.Attributes["logicalNeuronCore"].IntValue) != cores {
				t.Errorf("%s: logical cores %s", name, *key)
			}
		}
	}
	contains(t, a.commandOK(closedPort(t), "claims", "--pod", "default/llama-0"), "default/aligned\n  uid: ", "  driver: dra.net\n",
		"  neuron-device-4: unknown\n    nearest: pci-0000-6c-00-0\n", "    topology_x: 1\n    topology_y: 0\n", "  neuron-device-5: unhealthy: hbm\n")

	for _, other := range []string{"default/llama-1", "other/llama-0", "default/llama"} {
		got := a.command(closedPort(t), "claims", "--pod", other, "-o", "json")
		if got.code != 1 || !strings.Contains(got.stdout, `"claims": []`) || !strings.Contains(got.stderr, "no claim that is prepared here is of pod "+other+":") {
			t.Errorf("pod %s: %+v", other, got)
		}
	}
	if after := a.files(); !reflect.DeepEqual(before, after) {
		t.Errorf("files before %v, after %v", before, after)
	}
	// Half of a list looks like a whole one.
	check(t, os.RemoveAll(filepath.Join(a.node, "sys/class/neuron_device")))
	check(t, os.Symlink("neuron_device", filepath.Join(a.node, "sys/class/neuron_device")))
	got := a.command(closedPort(t), "claims", "--pod", "default/llama-0", "-o", "json")
	if got.code != 1 || got.stdout != "" || !strings.Contains(got.stderr, "neuron_device cannot be read: ") {
		t.Errorf("without devices: %+v", got)
	}
}

// bundle runs the command; the lines that it printed, by file, without what comes before the file's name.
func (a *agent) bundle(address, dir string) (outcome, map[string]string) {
	a.t.Helper()
	got := a.command(address, "bundle", dir)
	lines := map[string]string{}
	for _, line := range strings.Split(strings.TrimSpace(got.stdout), "\n") {
		word, rest, _ := strings.Cut(line, " ")
		name, reason, _ := strings.Cut(rest, ": ")
		lines[filepath.Base(name)] = strings.TrimSpace(word + " " + reason)
	}
	return got, lines
}

// A bundle has what a report of a problem needs and no secret, beside an agent and without one.
func TestBundle(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, address := withMetrics(t, api, "trn2.48xlarge")
	k := a.register()
	api.published()
	claim := api.addClaim(newClaim("llama", "train=4"))
	k.prepareOK(named(claim))
	a.waitLog(0, "event=slice_published")
	waitFor(t, "readiness", func() bool { code, _ := page(t, address, "/readyz"); return code == 200 })
	before := a.files()

	dir := filepath.Join(t.TempDir(), "new", "bundle")
	got, lines := a.bundle(address, dir)
	if got.code != 0 || got.stderr != "" {
		t.Fatalf("bundle: %+v", got)
	}
	want := map[string]string{
		"versions.txt": "kernel: ", "sysfs.txt": "f module/neuron/version 2.26.5.0\\x0a\n", "settings.txt": "--cdi-root=" + a.cdiDir() + "   # --cdi-root, default: /var/run/cdi\n", "check.txt": "ready\n",
		"devices.txt": "default/llama", "slices.yaml": "kind: ResourceSlice", "claims.yaml": "uid: ", "claims.store": "NEURDRA1",
		"statusz.txt": "kubelet: ", "readyz.txt": "ok\n", "metrics.txt": "neuron_dra_claims_held 1\n", "log.txt": "event=claim_prepared",
		filepath.Base(a.cdiFile(claim)): a.cdiBytes(claim),
	}
	for name, content := range want {
		text, err := os.ReadFile(filepath.Join(dir, name))
		check(t, err)
		contains(t, string(text), content)
		if lines[name] != "wrote" {
			t.Errorf("%s: line %q", name, lines[name])
		}
		for _, secret := range []string{goodToken, "PRIVATE KEY", "certificate-authority-data"} {
			if strings.Contains(string(text), secret) {
				t.Errorf("%s has %q", name, secret)
			}
		}
	}
	entries, err := os.ReadDir(dir)
	check(t, err)
	if len(entries) != len(want) || len(lines) != len(want) {
		t.Errorf("%d files, %d lines, not %d", len(entries), len(lines), len(want))
	}
	if after := a.files(); !reflect.DeepEqual(before, after) {
		t.Errorf("files before %v, after %v", before, after)
	}
	if got := a.command(address, "bundle", dir); got.code != 2 || got.stdout != "" || strings.Count(got.stderr, "\n") != 1 {
		t.Errorf("a directory that is not empty: %+v", got)
	}

	a.kill()
	dir = t.TempDir()
	got, lines = a.bundle(address, dir)
	if got.code != 1 || got.stderr != "" || len(lines) != len(want) {
		t.Errorf("without an agent: %+v", got)
	}
	for name, line := range lines {
		paged := slices.Contains([]string{"statusz.txt", "readyz.txt", "metrics.txt", "log.txt"}, name)
		_, err := os.Stat(filepath.Join(dir, name))
		if paged != strings.HasPrefix(line, "missing no agent responds to /") || paged != os.IsNotExist(err) {
			t.Errorf("%s: line %q, %v", name, line, err)
		}
	}
}

// With - the bundle is a tar archive on standard output, and nothing else is there: the image has no tar by which kubectl cp could
// copy it. GNU tar reads it too.
func TestBundleAsTar(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, address := withMetrics(t, api, "trn2.48xlarge")
	k := a.register()
	claim := api.addClaim(newClaim("llama", "train=4"))
	k.prepareOK(named(claim))
	a.readySoon(address)
	dir := t.TempDir()
	if got := a.command(address, "bundle", dir); got.code != 0 {
		t.Fatalf("bundle: %+v", got)
	}
	read := func(text string) map[string]string {
		found := map[string]string{}
		for r := tar.NewReader(strings.NewReader(text)); ; {
			h, err := r.Next()
			if err == io.EOF {
				return found
			}
			check(t, err)
			folder, name := filepath.Split(h.Name)
			if folder != "neuron-dra-agent/" || h.Mode != 0o600 || time.Since(h.ModTime).Abs() > time.Hour {
				t.Errorf("member %+v", h)
			}
			found[name] = string(must(io.ReadAll(r)))
		}
	}
	got := a.command(address, "bundle", "-")
	if got.code != 0 || got.stderr != "" || len(got.stdout)%512 != 0 {
		t.Fatalf("bundle -: exit code %d, %d bytes, %s", got.code, len(got.stdout), got.stderr)
	}
	members := read(got.stdout)
	entries := must(os.ReadDir(dir))
	if len(members) != len(entries) {
		t.Errorf("%d members, %d files", len(members), len(entries))
	}
	for _, e := range entries {
		content, there := members[e.Name()]
		same := content == string(must(os.ReadFile(filepath.Join(dir, e.Name()))))
		changes := slices.Contains([]string{"metrics.txt", "log.txt"}, e.Name())
		if !there || !same && !changes {
			t.Errorf("%s: there %v, %d bytes", e.Name(), there, len(content))
		}
	}
	list := exec.Command("tar", "-tf", "-")
	list.Stdin = strings.NewReader(got.stdout)
	if out, err := list.CombinedOutput(); err != nil || strings.Count(string(out), "\n") != len(members) {
		t.Errorf("tar: %v, %s", err, out)
	}
	a.kill()
	got = a.command(address, "bundle", "-")
	if members := read(got.stdout); got.code != 1 || len(members) != len(entries)-4 {
		t.Errorf("without an agent: exit code %d, %d members", got.code, len(members))
	}
	contains(t, got.stderr, "missing neuron-dra-agent/readyz.txt: no agent responds to /readyz")
}

// A file that cannot be read leaves a line with the reason, and the other files are written.
func TestBundleWithoutStore(t *testing.T) {
	t.Parallel()
	a := newAgent(t, "trn2.48xlarge")
	check(t, os.Remove(a.cdiDir()))
	got, lines := a.bundle(closedPort(t), t.TempDir())
	if got.code != 1 || lines["versions.txt"] != "wrote" || lines["slices.yaml"] != "wrote" {
		t.Errorf("bundle: %+v", got)
	}
	contains(t, lines["claims.yaml"], "missing ", "claims.store does not exist")
	contains(t, lines["claims.store"], "missing ", "no such file")
	contains(t, lines[filepath.Base(a.cdiDir())], "missing no such file")
}

// What check finds beside readiness: a kubelet with known bugs, and permissions that are missing.
func TestCheckTroubles(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	api.node.Status.NodeInfo.KubeletVersion = "v1.34.1"
	api.setFaults(func(kind string, w http.ResponseWriter, _ *http.Request) bool {
		if kind == "events" || kind == "event" {
			api.fail(w, 403, meta.StatusReasonForbidden, "events is forbidden")
			return true
		}
		return false
	})
	a, address := withMetrics(t, api, "trn2.48xlarge")
	k := a.register()
	api.published()
	a.waitLog(0, "event=slice_published")
	k.prepareError(named(newClaim("nobody", "train=4"))) // becomes an Event
	waitFor(t, "the refused Event", func() bool { _, text := page(t, address, "/statusz"); return strings.Contains(text, "events") })
	out := a.commandOK(address, "check")
	contains(t, out, "warning: the API server forbids the agent to create or patch events; ",
		"warning: kubelet v1.34.1 prepares no claim after 30 idle minutes", "warning: kubelet v1.34.1 skips claims of a pod")
	if n := strings.Count(out, "\n"); n != 4 || !strings.HasSuffix(out, "\nready\n") {
		t.Errorf("%d lines: %s", n, out)
	}
}

// checked is what `check -o json` prints.
type checked struct {
	Ready             bool
	Reasons, Warnings []string
}

func (a *agent) checked(address string) (c checked, code int) {
	a.t.Helper()
	got := a.command(address, "check", "-o", "json")
	decoder := json.NewDecoder(strings.NewReader(got.stdout))
	decoder.DisallowUnknownFields()
	check(a.t, decoder.Decode(&c))
	return c, got.code
}

// The verdict of check is that of /readyz, and so are its reasons. Devices that are gone or unhealthy are named, and leave the node
// ready: they are not given to pods.
func TestCheckAgreesWithReadyz(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a := withDevicePlugins(t, "--driver-version", "2.30.2.0")
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir))
	a.start()
	address := a.metricsAddress()
	a.register()
	a.readySoon(address)
	if c, code := a.checked(address); code != 0 || !c.Ready || len(c.Reasons) != 0 || len(c.Warnings) != 0 {
		t.Errorf("nothing is wrong: %d %+v", code, c)
	}
	simnode(t, "set", "--dir", a.node, "neuron3/"+unhealthyComponents, "hbm\n")
	simnode(t, "remove", "--dir", a.node, "neuron5")
	simnode(t, "remove", "--dir", a.node, "neuron7")
	a.waitLog(0, "event=device_unhealthy", "neuron-device-3")
	a.waitLog(0, "event=slice_published", "devices=14") // the devices that are gone are noticed one after the other
	a.readySoon(address)
	c, code := a.checked(address)
	text := strings.Join(c.Warnings, "\n")
	if code != 0 || !c.Ready || len(c.Reasons) != 0 {
		t.Errorf("devices are unhealthy: %d %+v", code, c)
	}
	contains(t, text, "neuron-device-3 is unhealthy: hbm; ", "neuron-device-5 is gone: ", "neuron-device-7 is gone: ")
	if n := strings.Count(text, "neuron-device-"); n != 3 {
		t.Errorf("%d devices: %s", n, text)
	}
	plugin := a.listenAs("neuron.sock")
	defer plugin.Close()
	a.waitPlugin(address, "neuron.sock")
	_, reasons := page(t, address, "/readyz")
	if c, code := a.checked(address); code != 1 || c.Ready || strings.Join(c.Reasons, "\n")+"\n" != reasons || len(c.Warnings) < 3 {
		t.Errorf("a plugin runs: %d %+v, want %q", code, c, reasons)
	}
}

// A family that the agent refuses makes the node unready, by the same text whether an agent runs or not.
func TestCheckRefusedFamily(t *testing.T) {
	t.Parallel()
	const reason = "no device of instance type inf1.6xlarge is published: Inf1 left the kernel module in 2.25; " +
		"use Inf2 or Trn, or keep the agent off these nodes"
	api := startAPIServer(t)
	a := newAgent(t, "trn2.48xlarge")
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir), "--metrics-port", "0", "--instance-type", "inf1.6xlarge")
	if c, code := a.checked(closedPort(t)); code != 1 || c.Ready || !slices.Contains(c.Reasons, reason) {
		t.Errorf("without an agent: %d %+v", code, c)
	}
	a.start()
	address := a.metricsAddress()
	a.register()
	a.unreadyFor(address, reason)
	if c, code := a.checked(address); code != 1 || c.Ready || !slices.Equal(c.Reasons, []string{reason}) || strings.Contains(fmt.Sprint(c.Warnings), "Inf1") {
		t.Errorf("beside an agent: %d %+v", code, c)
	}
}

// The reason that check gives for a directory is the kernel's, and it counts the damaged slots of the store.
func TestCheckFiles(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, address := withMetrics(t, api, "trn2.48xlarge")
	a.register()
	api.published()
	a.kill()
	store, err := os.OpenFile(filepath.Join(a.pluginDir(), "claims.store"), os.O_RDWR, 0)
	check(t, err)
	defer store.Close()
	for _, slot := range []int64{0, 7} {
		_, err := store.WriteAt(make([]byte, 16384), 8192+slot*16384)
		check(t, err)
	}
	check(t, os.Remove(a.cdiDir()))
	contains(t, a.command(address, "check").stdout, "claims.store has 2 damaged slots; ",
		"CDI root "+a.cdiDir()+": no such file or directory; ")
	check(t, os.WriteFile(a.cdiDir(), nil, 0o600))
	contains(t, a.command(address, "check").stdout, "CDI root "+a.cdiDir()+" is not a directory; ")
}

// A device that is unhealthy is a line of check, whether an agent runs or not.
func TestCheckHealth(t *testing.T) {
	t.Parallel()
	a := newAgent(t, "trn2.48xlarge", "--driver-version", "2.30.2.0")
	simnode(t, "set", "--dir", a.node, "neuron3/"+unhealthyComponents, "hbm\n")
	out := a.command(closedPort(t), "check").stdout
	contains(t, out, "neuron-device-3 is unhealthy: hbm; delete its pods and reset it, or replace the instance\n")
	if n := strings.Count(out, "unhealthy"); n != 1 {
		t.Errorf("%d devices: %s", n, out)
	}
}

// A server that drips its response keeps no command for longer than a page may take.
func TestDrippingPage(t *testing.T) {
	t.Parallel()
	listener := listenApart(t, "127.0.0.1")
	defer listener.Close()
	serveEach(listener, func(c net.Conn) {
		for err := error(nil); err == nil; time.Sleep(50 * time.Millisecond) {
			_, err = c.Write([]byte("x"))
		}
	})
	a := newAgent(t, "trn2.48xlarge")
	got := a.command(listener.Addr().String(), "probe", "readiness")
	if got.code != 1 || !strings.Contains(got.stderr, "no agent responds to /readyz") || !strings.Contains(got.stderr, "timed out; if the agent runs here, it hangs") {
		t.Errorf("probe: %+v", got)
	}
}

// The log is served to who has the address that it is asked at, and nobody else; it has no secret.
func TestLogPage(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, address := withMetrics(t, api, "trn2.48xlarge")
	a.register()
	api.published()
	a.waitLog(0, "event=slice_published")
	code, text := page(t, address, "/logz")
	if code != 200 {
		t.Errorf("status %d", code)
	}
	stranger := http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}).DialContext}}
	r, err := stranger.Get("http://" + address + "/logz")
	check(t, err)
	r.Body.Close()
	if r.StatusCode != 404 {
		t.Errorf("status %d for another address", r.StatusCode)
	}
	contains(t, text, "event=slice_published", "event=registered")
	if strings.Contains(text, goodToken) {
		t.Error("the log has the token")
	}
}
