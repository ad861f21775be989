// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"
)

const (
	release     = "neuron-dra-agent"
	daemonSet   = "neuron-dra-driver-kubelet-plugin"
	agentPodUID = "jsonpath={.items[*].metadata.uid}"
)

// helm runs helm as the cluster's administrator.
func helm(args ...string) (string, error) {
	return run("", kube.Programs["helm"], append([]string{"--kubeconfig", kube.Kubeconfig}, args...)...)
}

// hostPaths are those of the simulated node.
func hostPaths() []string {
	return []string{"--set", "draDriver.hostPaths.kubelet=" + filepath.Join(kube.Short, "kubelet"),
		"--set", "draDriver.hostPaths.cdi=" + kube.CDI,
		"--set", "draDriver.hostPaths.dev=" + filepath.Join(kube.Run, "node", "dev"),
		"--set", "draDriver.hostPaths.sysfs=" + filepath.Join(kube.Run, "node", "sys")}
}

// typeReadme types what the README says.
func typeReadme(t *testing.T) {
	t.Helper()
	typeLines(t, shellBlock(t, "README.md", "## Install")...)
}

// typeLines types them in the shell. Only the paths of the host and the socket of its containerd are the test's.
func typeLines(t *testing.T, lines ...string) {
	t.Helper()
	user := newShell(t)
	for _, line := range lines {
		// On 1.33 the examples have to be changed, as cfg/deploy/install.md says.
		if name, found := strings.CutPrefix(line, "kubectl apply -f cfg/deploy/examples/"); found && kube.Seen[0] != "v1" {
			apply(t, example(t, strings.TrimSuffix(name, ".yaml")))
			continue
		}
		user.typeLine(t, line)
	}
}

// withoutAgent stops the cluster's own agent, a process of the host, and removes its objects until the test ends. The result
// is what is installed then.
func withoutAgent(t *testing.T, releases ...string) string {
	t.Helper()
	control(t, "agent", "stop")
	t.Cleanup(func() {
		for _, name := range releases {
			_, _ = helm("uninstall", name, "--namespace", "kube-system", "--ignore-not-found", "--wait")
		}
		control(t, "account")
		control(t, "agent", "start")
	})
	manifests := filepath.Join(root, "cfg", "deploy", "manifests")
	mustKubectl(t, "delete", "deviceclass", driver)
	mustKubectl(t, "delete", "-f", filepath.Join(manifests, "rbac.yaml"), "-f", filepath.Join(manifests, "namespace.yaml"))
	return installed(t)
}

// TestChart installs the agent as a user does and takes it away again.
func TestChart(t *testing.T) {
	before := withoutAgent(t, release)
	typeReadme(t)
	steps(t, []step{
		{"a pod with a claim runs", func(t *testing.T) { runExample(t, "single-device", 1) }},
		{"a pod with the extended resource", extendedResource},
		{"what the README says to look at", lookAtIt},
		{"helm test", helmTest},
		{"the manifest that helm install prints", pastedNotes},
		{"a second release", secondRelease},
		{"the pod's restrictions", restrictions},
		{"misspelt configurations are refused", configsRefused},
		{"right configurations are accepted", configsAccepted},
		{"slices of other nodes are refused", slicesConfined},
		{"upgrade under a pod, and EFA devices in between", upgrade},
		{"beside a device plugin", besideDevicePlugin},
	})
	uninstall(t, before)
}

// TestInstallAsDocumented types what AWS's documents and articles about its driver have, with this chart in the place of AWS's.
func TestInstallAsDocumented(t *testing.T) {
	const own = "neuron-dra-driver"
	before := withoutAgent(t, "neuron-helm-chart")
	typeLines(t, shellBlock(t, "README.md", "## Install")[:2]...)
	for _, one := range []struct {
		release string
		args    []string
	}{
		{"neuron-helm-chart", []string{"--namespace", "kube-system"}},
		{own, []string{"--namespace", agentNamespace, "--create-namespace"}},
	} {
		out, err := helm(append(append([]string{"upgrade", "--install", one.release, filepath.Join(root, "cfg", "deploy", "chart"), "--wait",
			"--set", "devicePlugin.enabled=false", "--set", "npd.enabled=false", "--set", "draDriver.enabled=true"}, one.args...), hostPaths()...)...)
		if err != nil {
			t.Fatalf("%s: %v\n%s\n%s", one.release, err, out, agentPods())
		}
		runExample(t, "single-device", 1)
		mustKubectl(t, "delete", "pod", "single-device")
		if out, err := helm("uninstall", one.release, one.args[0], one.args[1], "--wait"); err != nil {
			t.Errorf("%s: %v\n%s", one.release, err, out)
		}
		// What --create-namespace made is left to whoever asked for it.
		mustKubectl(t, "delete", "namespace", agentNamespace, "--ignore-not-found")
	}
	nothingLeft(t, before)
}

// agentPods is what a failure shows of the DaemonSet.
func agentPods() string {
	pods, _ := kubectl("-n", agentNamespace, "describe", "pods")
	log, _ := kubectl("-n", agentNamespace, "logs", "daemonset/"+daemonSet)
	return pods + log
}

// installed are the objects of the kinds that the chart has, those of Kubernetes itself included.
func installed(t *testing.T) string {
	t.Helper()
	return mustKubectl(t, "get", "namespaces,clusterroles,clusterrolebindings,deviceclasses,validatingadmissionpolicies,"+
		"validatingadmissionpolicybindings,flowschemas,prioritylevelconfigurations", "-o", "name") +
		mustKubectl(t, "get", "daemonsets,jobs,configmaps,serviceaccounts,secrets", "-A", "-o", "name")
}

// agentProcessID is the process of the only agent in a pod, which is not one of its readers of sysfs.
func agentProcessID(t *testing.T) string {
	t.Helper()
	var found []string
	for _, path := range must(filepath.Glob("/proc/[0-9]*/cmdline")) {
		line, _ := os.ReadFile(path)
		name, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "comm"))
		if !strings.HasPrefix(string(line), "k8s-neuron-dra-driver\x00") || string(name) == "neuron-dra-read\n" {
			continue
		}
		// Other clusters of this machine have agents too.
		mounts, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "mountinfo"))
		if strings.Contains(string(mounts), kube.Short) {
			found = append(found, filepath.Dir(path))
		}
	}
	if len(found) != 1 {
		t.Fatalf("agents in pods: %v, want one", found)
	}
	return found[0]
}

// restrictions reads from the kernel what the agent's process may do. The EFA driver's directory is there without --efa too:
// claims may be left in it.
func restrictions(t *testing.T) {
	t.Helper()
	process := agentProcessID(t)
	status := string(must(os.ReadFile(filepath.Join(process, "status"))))
	none := "0000000000000000"
	for field, want := range map[string]string{"CapInh": none, "CapPrm": none, "CapEff": none, "CapBnd": none, "CapAmb": none,
		"NoNewPrivs": "1", "Seccomp": "2"} {
		if got := regexp.MustCompile(`(?m)^` + field + `:\s*(\S+)$`).FindStringSubmatch(status); got == nil || got[1] != want {
			t.Errorf("%s is %v, want %s", field, got, want)
		}
	}
	for _, kind := range []string{"pid", "net", "mnt", "ipc", "uts"} {
		own, host := must(os.Readlink(filepath.Join(process, "ns", kind))), must(os.Readlink("/proc/self/ns/"+kind))
		if own == host {
			t.Errorf("it shares the host's %s namespace", kind)
		}
	}
	kubelet := filepath.Join(kube.Short, "kubelet")
	want := []string{kube.CDI, filepath.Join(kubelet, "plugins_registry"), filepath.Join(kubelet, "plugins", driver),
		filepath.Join(kubelet, "plugins", efaDriver)}
	sort.Strings(want)
	var writable []string
	for _, line := range strings.Split(strings.TrimSpace(string(must(os.ReadFile(filepath.Join(process, "mountinfo"))))), "\n") {
		fields := strings.Fields(line)
		point, options := fields[4], strings.Split(fields[5], ",")
		// What the container runtime and the kubelet give every container.
		if point == "/proc" || strings.HasPrefix(point, "/proc/") || strings.HasPrefix(point, "/dev") ||
			point == "/sys/fs/cgroup" || point == "/etc/hosts" || point == "/etc/hostname" || point == "/etc/resolv.conf" || point == "/run/termination-log" {
			continue
		}
		if options[0] == "rw" {
			writable = append(writable, point)
		}
	}
	sort.Strings(writable)
	if strings.Join(writable, " ") != strings.Join(want, " ") {
		t.Errorf("it may write below %v, want %v alone", writable, want)
	}
}

// refusedAtApply expects kubectl apply to fail with these words.
func refusedAtApply(t *testing.T, manifest string, words ...string) {
	t.Helper()
	_, err := run(served(t, manifest), kube.Programs["kubectl"], "--kubeconfig", kube.Kubeconfig, "apply", "-f", "-")
	if err == nil {
		t.Errorf("it was accepted:\n%s", manifest)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("the refusal lacks %q: %v", word, err)
		}
	}
}

// configured is an object of each kind that can carry a configuration.
func configured(kind, parameters string) string {
	config := "config: [{opaque: {driver: neuron.aws.com, parameters: " + parameters + "}}]"
	devices := "devices: {requests: [{name: a, exactly: {deviceClassName: neuron.aws.com}}], " + config + "}"
	spec := map[string]string{"ResourceClaim": devices, "ResourceClaimTemplate": "spec: {" + devices + "}", "DeviceClass": config}[kind]
	return "apiVersion: resource.k8s.io/v1\nkind: " + kind + "\nmetadata: {name: configured}\nspec: {" + spec + "}\n"
}

var configuredKinds = []string{"ResourceClaim", "ResourceClaimTemplate", "DeviceClass"}

func configsRefused(t *testing.T) {
	const head = "{apiVersion: neuron.aws.com/v1, kind: "
	for parameters, words := range map[string][]string{
		head + "NeuronConfig, logicalNeuronCoreCount: 1}": {
			`strict decoding error: unknown field "logicalNeuronCoreCount"; known fields: apiVersion, kind, logicalNeuronCore`},
		head + "NeuronConfig, logicalNeuronCore: 3}":                                {"logicalNeuronCore: Unsupported value: 3; supported values: 1, 2"},
		head + "NeuronConfig, logicalNeuronCore: '1'}":                              {"logicalNeuronCore: expected integer; supported values: 1, 2"},
		head + "NeuronConfig}":                                                      {"logicalNeuronCore: Required value; supported values: 1, 2"},
		head + "NeuronConfigs, logicalNeuronCore: 1}":                               {`no kind "NeuronConfigs" is registered`, "NeuronConfig, UltraServerConfig"},
		head + "UltraServerConfig, ultraserverMode: 3}":                             {"ultraserverMode: Unsupported value: 3; supported values: 1, 2, 4"},
		head + "UltraServerConfig, ultraServerMode: 2}":                             {`unknown field "ultraServerMode"`, "ultraserverMode"},
		"{apiVersion: neuron.aws.com/v2, kind: NeuronConfig, logicalNeuronCore: 1}": {`version "neuron.aws.com/v2"`},
	} {
		for _, kind := range configuredKinds {
			refusedAtApply(t, configured(kind, parameters), words...)
		}
	}
	// The words are the agent's own, as misspeltField reads them from the pod's event without the policy.
	manifest := changed(t, example(t, "lnc-config"), "logicalNeuronCore:", "logicalNeuronCoreCount:")
	refusedAtApply(t, manifest, `strict decoding error: unknown field "logicalNeuronCoreCount"`)
}

func configsAccepted(t *testing.T) {
	for _, parameters := range []string{
		"{apiVersion: neuron.aws.com/v1, kind: NeuronConfig, logicalNeuronCore: 2}",
		"{apiVersion: neuron.aws.com/v1, kind: UltraServerConfig, ultraserverMode: 1}",
		"{apiVersion: neuron.aws.com/v1alphav1, kind: UltraServerConfig, ultraserverMode: 2}",
		"{apiVersion: resource.neuron.aws.com/v1alphav1, kind: UltraServerConfig, ultraserverMode: 4}",
	} {
		for _, kind := range configuredKinds {
			manifest := configured(kind, parameters)
			apply(t, manifest)
			// What is stored can be written again, as the scheduler and controllers do.
			apply(t, changed(t, manifest, "metadata: {name: configured}", "metadata: {name: configured, labels: {a: b}}"))
			mustKubectl(t, "delete", kind, "configured")
		}
	}
	// Another driver's configuration is its own business.
	apply(t, changed(t, configured("ResourceClaim", "{anything: 1}"), "driver: neuron.aws.com", "driver: other.example.com"))
	mustKubectl(t, "delete", "resourceclaim", "configured")
	// So is one of another group, unless admission.foreignConfigs is set: the agent refuses it when the pod starts.
	apply(t, configured("ResourceClaim", "{kind: NeuronConfig, logicalNeuronCore: 1}"))
	mustKubectl(t, "delete", "resourceclaim", "configured")
	policiesFit(t)
}

// policiesFit holds that the API server finds each field that the policies name.
func policiesFit(t *testing.T) {
	t.Helper()
	for _, policy := range []string{"neuron-dra-driver-configs", "neuron-dra-driver-slices"} {
		if out := mustKubectl(t, "get", "validatingadmissionpolicy", policy, "-o", "jsonpath={.status.typeChecking.expressionWarnings}"); out != "" {
			t.Errorf("the API server warns about %s: %s", policy, out)
		}
	}
}

// confined writes slices with tokens of the account that the chart made: bound to its pod, and of no node.
type confined struct{ bound, free string }

func newConfined(t *testing.T) confined {
	t.Helper()
	agent := strings.Fields(mustKubectl(t, "-n", agentNamespace, "get", "pods", "-o", "jsonpath={.items[*].metadata.name}"))[0]
	return confined{strings.TrimSpace(mustKubectl(t, "create", "token", agentAccount, "-n", agentNamespace,
		"--bound-object-kind", "Pod", "--bound-object-name", agent)),
		strings.TrimSpace(mustKubectl(t, "create", "token", agentAccount, "-n", agentNamespace))}
}

// as runs kubectl with a token and returns its error.
func as(t *testing.T, token, manifest string, args ...string) error {
	t.Helper()
	_, err := outputAs(t, token, manifest, args...)
	return err
}

// outputAs runs kubectl with a token and nothing of the administrator's: his certificate would win over the token. Its log is in the
// output.
func outputAs(t *testing.T, token, manifest string, args ...string) (string, error) {
	t.Helper()
	config := filepath.Join(t.TempDir(), "config")
	overwrite(t, config, "apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: '"+kube.Server+
		"', certificate-authority: "+filepath.Join(kube.Run, "pki", "ca.crt")+"}}]\nusers: [{name: u, user: {token: "+token+
		"}}]\ncontexts: [{name: x, context: {cluster: c, user: u}}]\ncurrent-context: x\n")
	return run(manifest, "sh", append([]string{"-c", `exec "$@" 2>&1`, "sh", kube.Programs["kubectl"], "--kubeconfig", config}, args...)...)
}

// confinedSlice is one of a node and a driver, with a device.
func confinedSlice(node, driver string) string {
	device := "{name: one}"
	if kube.Seen[0] == "v1beta1" {
		device = "{name: one, basic: {}}"
	}
	return "apiVersion: resource.k8s.io/" + kube.Seen[0] + "\nkind: ResourceSlice\nmetadata: {name: confined}\n" +
		"spec: {driver: " + driver + ", nodeName: " + node + ", pool: {name: confined, generation: 1, resourceSliceCount: 1}, " +
		"devices: [" + device + "]}\n"
}

// denied expects a refusal with these words.
func denied(t *testing.T, what string, err error, words string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), words) {
		t.Errorf("%s: %v, want a refusal with %q", what, err, words)
	}
}

// may writes a slice of the agent's own node and takes it away again.
func (c confined) may(t *testing.T, driver string) {
	t.Helper()
	if err := as(t, c.bound, confinedSlice(kube.Node, driver), "create", "-f", "-"); err != nil {
		t.Errorf("a slice of its own node and of %s: %v", driver, err)
	}
	if err := as(t, c.bound, "", "delete", "resourceslice", "confined"); err != nil {
		t.Errorf("its own slice cannot be deleted: %v", err)
	}
}

func slicesConfined(t *testing.T) {
	c := newConfined(t)
	c.may(t, driver)
	denied(t, "another node's", as(t, c.bound, confinedSlice("elsewhere", driver), "create", "-f", "-"), "the agent of node "+kube.Node+" may write only")
	denied(t, "another driver's", as(t, c.bound, confinedSlice(kube.Node, foreignDriver), "create", "-f", "-"), "of the driver neuron.aws.com")
	denied(t, "of EFA devices, which are off", as(t, c.bound, confinedSlice(kube.Node, efaDriver), "create", "-f", "-"), "of the driver neuron.aws.com")
	denied(t, "with a token of no node", as(t, c.free, confinedSlice(kube.Node, driver), "create", "-f", "-"), "names no node")
	if _, err := run(confinedSlice("elsewhere", driver), kube.Programs["kubectl"], "--kubeconfig", kube.Kubeconfig, "create", "-f", "-"); err != nil {
		t.Errorf("the policy stops the administrator: %v", err)
	}
	denied(t, "deleting another node's", as(t, c.bound, "", "delete", "resourceslice", "confined"), "may write only")
	mustKubectl(t, "delete", "resourceslice", "confined")
}

// withEFA is between an upgrade that sets efa.enabled and one that takes it back: the second driver of the agent's pod, and
// what the chart has for it.
func withEFA(t *testing.T) {
	t.Helper()
	restrictions(t)
	uid := mustKubectl(t, "-n", agentNamespace, "get", "pods", "-o", agentPodUID)
	kubelet := filepath.Join(kube.Short, "kubelet")
	for _, one := range []string{driver, efaDriver} {
		for _, socket := range []string{filepath.Join("plugins_registry", one+"*"+uid+"*.sock"), filepath.Join("plugins", one, "*"+uid+"*.sock")} {
			if found := must(filepath.Glob(filepath.Join(kubelet, socket))); len(found) != 1 {
				t.Errorf("sockets %s: %v, want one", socket, found)
			}
		}
	}
	efaPublished(t, 16)
	const pod = "neuron-inference-worker"
	apply(t, example(t, "aligned-efa-neuron"))
	c := newConfined(t)
	c.may(t, efaDriver)
	denied(t, "another driver's", as(t, c.bound, confinedSlice(kube.Node, foreignDriver), "create", "-f", "-"),
		"of the drivers neuron.aws.com and dra.net")
	denied(t, "another node's", as(t, c.bound, confinedSlice("elsewhere", efaDriver), "create", "-f", "-"), "may write only")
	policiesFit(t)
	ownLevel(t, c)
	waitRunning(t, pod)
	checkAligned(t, efaTrn2, pod, 4, 4)
	mustKubectl(t, "delete", "pod", pod) // who unprepares it goes with the next upgrade
}

// ownLevel: the API server gives the agent's requests, for objects and for other paths, the priority level of flowControl.enabled.
func ownLevel(t *testing.T, c confined) {
	t.Helper()
	const name = "neuron-dra-driver"
	schema := mustKubectl(t, "get", "flowschema", name, "-o", "jsonpath={.metadata.uid}")
	level := mustKubectl(t, "get", "prioritylevelconfiguration", name, "-o", "jsonpath={.metadata.uid}")
	for _, path := range []string{"/version", "/apis/resource.k8s.io/" + kube.Seen[0] + "/resourceslices"} {
		out, err := outputAs(t, c.bound, "", "get", "--raw", path, "-v=8")
		if err != nil || !strings.Contains(out, "X-Kubernetes-Pf-Flowschema-Uid: "+schema) ||
			!strings.Contains(out, "X-Kubernetes-Pf-Prioritylevel-Uid: "+level) {
			t.Errorf("%s is not in the flow schema %s and the level %s: %v\n%s", path, schema, level, err, out)
		}
	}
}

// anotherImage is in the node's containerd under another tag and with another digest: the image of a release that differs
// in nothing but its version.
func anotherImage(t *testing.T) (tag string) {
	t.Helper()
	tag = "0.0.0-upgrade"
	folder := t.TempDir()
	for _, name := range []string{"cfg/identity.h", "tools/build/pins"} {
		text := string(must(os.ReadFile(filepath.Join(root, name))))
		text = regexp.MustCompile(`(AGENT_VERSION )"[^"]+"`).ReplaceAllString(text, `$1"`+tag+`"`)
		if err := os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		overwrite(t, filepath.Join(folder, name), text)
	}
	// The SBOM beside the archive takes checksums of both libraries; no step of this test reads it, so any file serves.
	build := exec.Command("go", "run", ".", "--root", folder, "--out", folder, "--binary", kube.Agent, "--build", tag,
		"--musl", "0", "--musl-file", kube.Agent, "--libgcc", "0", "--libgcc-file", kube.Agent)
	build.Dir = filepath.Join(root, "tools", "image")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	newShell(t).typeLine(t, "ctr -n k8s.io images import "+filepath.Join(folder, release+".tar"))
	return tag
}

// upgrade replaces the agent by that of another image while a pod holds a claim and others come, and goes back; the slice
// stays stored all the time. The other image has the EFA devices too.
func upgrade(t *testing.T) {
	tag := anotherImage(t)
	apply(t, renamed(t, example(t, "single-device"), "single-device", "kept"))
	waitRunning(t, "kept")
	slice := mustSlice(t)
	image := func() string {
		return mustKubectl(t, "-n", agentNamespace, "get", "pods", "-o", "jsonpath={.items[*].status.containerStatuses[*].image}")
	}
	first := image()
	for _, change := range []struct {
		series, image string
		args          []string
	}{
		// With values as they are set for AWS's chart.
		{"helm-upgrade", "localhost/" + release + ":" + tag, append([]string{"upgrade", release, filepath.Join(root, "cfg", "deploy", "chart"),
			"--set", "devicePlugin.enabled=false", "--set", "npd.enabled=false", "--set", "draDriver.enabled=true",
			"--set", "draDriver.image.tag=" + tag, "--set", "draDriver.efa.enabled=true", "--set", "draDriver.flowControl.enabled=true"}, hostPaths()...)},
		{"helm-rollback", first, []string{"rollback", release}},
	} {
		old, slow := mustKubectl(t, "-n", agentNamespace, "get", "pods", "-o", agentPodUID), slowPrepares(t)
		if n := whilePodsCome(t, change.series, "single-neuron", func() {
			if out, err := helm(append(change.args, "--namespace", "kube-system", "--wait")...); err != nil {
				t.Errorf("%v\n%s\n%s", err, out, agentPods())
			}
			mustKubectl(t, "-n", agentNamespace, "rollout", "status", "daemonset/"+daemonSet, "--timeout=60s")
			eventually(t, "the old pod gone", soon, func() error {
				if now := mustKubectl(t, "-n", agentNamespace, "get", "pods", "-o", agentPodUID); strings.Contains(now, old) || now == "" {
					return fmt.Errorf("there was %s, there is %s", old, now)
				}
				return nil
			})
		}); n > 0 {
			t.Errorf("%s: the kubelet got %d errors", change.series, n)
		}
		if now := slowPrepares(t); now != slow {
			t.Errorf("%s: the kubelet waited for more than 5 s for the claims of %v pods", change.series, now-slow)
		}
		if now := image(); now != change.image {
			t.Errorf("%s: the image is %s, want %s", change.series, now, change.image)
		}
		if now := mustSlice(t); now.Metadata.UID != slice.Metadata.UID {
			t.Errorf("the slice %s was replaced by %s", slice.Metadata.UID, now.Metadata.UID)
		}
		if change.image != first {
			withEFA(t)
		}
	}
	waitRunning(t, "kept")
	checkContainer(t, "kept", "app", devicesOf(t, "kept", "neurons", 1))
}

// uninstall leaves nothing: no object, no slice, no socket.
func uninstall(t *testing.T, before string) {
	t.Helper()
	if out, err := helm("uninstall", release, "--namespace", "kube-system", "--wait"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	nothingLeft(t, before)
}

// nothingLeft waits until what was installed is gone.
func nothingLeft(t *testing.T, before string) {
	t.Helper()
	eventually(t, "everything that was installed gone", soon, func() error {
		if now := installed(t); now != before {
			return fmt.Errorf("there was\n%sand is\n%s", before, now)
		}
		// The kubelet deletes the slices of a driver that has not come back for half a minute.
		if out := mustKubectl(t, "get", "resourceslices", "-o", "name"); out != "" {
			return errors.New("left: " + out)
		}
		sockets := must(filepath.Glob(filepath.Join(kube.Short, "kubelet", "plugins_registry", "*.sock")))
		sockets = append(sockets, must(filepath.Glob(filepath.Join(kube.Short, "kubelet", "plugins", "*", "*.sock")))...)
		if len(sockets) != 0 {
			return fmt.Errorf("left: %v", sockets)
		}
		return nil
	})
}
