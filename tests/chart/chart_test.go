// SPDX-License-Identifier: Apache-2.0

// Package chart holds what the Helm chart renders against the types of Kubernetes, the names that the agent has, and
// the manifests that are kept of it. No cluster is needed; tests/e2e installs it on one.
package chart

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	admission "k8s.io/api/admissionregistration/v1"
	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	flowcontrol "k8s.io/api/flowcontrol/v1"
	rbac "k8s.io/api/rbac/v1"
	resource "k8s.io/api/resource/v1"
	resourcebeta "k8s.io/api/resource/v1beta1"
	"sigs.k8s.io/yaml"
)

const root = "../.."

var chart = filepath.Join(root, "cfg", "deploy", "chart")

func read(t *testing.T, path ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(append([]string{root}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// helm runs the program that HELM names.
func helm(t *testing.T, args ...string) (string, error) {
	t.Helper()
	program := os.Getenv("HELM")
	if program == "" {
		t.Fatal("HELM names no helm: run `make chart-test`")
	}
	command := exec.Command(program, args...)
	var out, said bytes.Buffer
	command.Stdout, command.Stderr = &out, &said
	if err := command.Run(); err != nil {
		return "", errors.New(said.String() + out.String())
	}
	return out.String(), nil
}

func template(t *testing.T, args ...string) (string, error) {
	t.Helper()
	return helm(t, append([]string{"template", "agent", chart, "--namespace", "kube-system"}, args...)...)
}

// types are those that a rendered object is decoded into, strictly; nil: of an operator, whose types are not here.
var types = map[string]func() any{
	"v1/Namespace":                             func() any { return &core.Namespace{} },
	"v1/ServiceAccount":                        func() any { return &core.ServiceAccount{} },
	"v1/ConfigMap":                             func() any { return &core.ConfigMap{} },
	"v1/Pod":                                   func() any { return &core.Pod{} },
	"v1/Service":                               func() any { return &core.Service{} },
	"apps/v1/DaemonSet":                        func() any { return &apps.DaemonSet{} },
	"batch/v1/Job":                             func() any { return &batch.Job{} },
	"resource.k8s.io/v1/DeviceClass":           func() any { return &resource.DeviceClass{} },
	"resource.k8s.io/v1beta1/DeviceClass":      func() any { return &resourcebeta.DeviceClass{} },
	"resource.k8s.io/v1/ResourceClaimTemplate": func() any { return &resource.ResourceClaimTemplate{} },
	"resource.k8s.io/v1beta1/ResourceClaimTemplate":   func() any { return &resourcebeta.ResourceClaimTemplate{} },
	"rbac.authorization.k8s.io/v1/ClusterRole":        func() any { return &rbac.ClusterRole{} },
	"rbac.authorization.k8s.io/v1/ClusterRoleBinding": func() any { return &rbac.ClusterRoleBinding{} },
	"admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy": func() any {
		return &admission.ValidatingAdmissionPolicy{}
	},
	"admissionregistration.k8s.io/v1/ValidatingAdmissionPolicyBinding": func() any {
		return &admission.ValidatingAdmissionPolicyBinding{}
	},
	"flowcontrol.apiserver.k8s.io/v1/FlowSchema": func() any { return &flowcontrol.FlowSchema{} },
	"flowcontrol.apiserver.k8s.io/v1/PriorityLevelConfiguration": func() any {
		return &flowcontrol.PriorityLevelConfiguration{}
	},
	"monitoring.coreos.com/v1/PodMonitor":     nil,
	"monitoring.coreos.com/v1/PrometheusRule": nil,
}

// objects decodes what was rendered: apiVersion/kind/name -> object.
func objects(t *testing.T, rendered string) map[string]any {
	t.Helper()
	found := map[string]any{}
	for _, document := range regexp.MustCompile(`(?m)^---$`).Split(rendered, -1) {
		var head struct {
			APIVersion, Kind string
			Metadata         struct{ Name string }
		}
		if err := yaml.Unmarshal([]byte(document), &head); err != nil {
			t.Fatalf("%v\n%s", err, document)
		}
		if head.Kind == "" {
			continue
		}
		kind := head.APIVersion + "/" + head.Kind
		make, known := types[kind]
		if !known {
			t.Fatalf("%s is none of the kinds of the chart", kind)
		}
		var object any = &map[string]any{}
		if make != nil {
			object = make()
		}
		if err := yaml.UnmarshalStrict([]byte(document), object); err != nil {
			t.Errorf("%s %s: %v", kind, head.Metadata.Name, err)
		}
		found[kind+"/"+head.Metadata.Name] = object
	}
	return found
}

func rendered(t *testing.T, args ...string) map[string]any {
	t.Helper()
	out, err := template(t, args...)
	if err != nil {
		t.Fatal(err)
	}
	return objects(t, out)
}

func TestLint(t *testing.T) {
	if out, err := helm(t, "lint", "--strict", chart); err != nil {
		t.Errorf("%v%s", err, out)
	}
}

func TestVersionIsTheAgents(t *testing.T) {
	version := regexp.MustCompile(`AGENT_VERSION "([^"]+)"`).FindStringSubmatch(read(t, "cfg", "identity.h"))[1]
	for _, line := range []string{"version: " + version, "appVersion: " + version} {
		if !strings.Contains(read(t, "cfg", "deploy", "chart", "Chart.yaml"), "\n"+line+"\n") {
			t.Errorf("Chart.yaml lacks %q", line)
		}
	}
}

// TestReleases: each release of Kubernetes is given the version of resource.k8s.io that it has.
func TestReleases(t *testing.T) {
	const class, extended = "DeviceClass/neuron.aws.com", "DeviceClass/extended-resource.neuron.aws.com"
	for release, want := range map[string][]string{
		"1.33.4": {"resource.k8s.io/v1beta1/" + class},
		"1.34.0": {"resource.k8s.io/v1/" + class},
		"1.36.0": {"resource.k8s.io/v1/" + class, "resource.k8s.io/v1/" + extended},
	} {
		found := rendered(t, "--kube-version", release)
		classes := 0
		for name := range found {
			if strings.Contains(name, "/DeviceClass/") {
				classes++
			}
		}
		for _, one := range want {
			if found[one] == nil {
				t.Errorf("%s has no %s", release, one)
			}
		}
		if classes != len(want) {
			t.Errorf("%s has %d classes, want %v", release, classes, want)
		}
	}
	// Else a pod that asks for one device would get a whole node of an UltraServer.
	forPods := rendered(t, "--kube-version", "1.36.0")["resource.k8s.io/v1/"+extended].(*resource.DeviceClass)
	const devices = `device.driver == 'neuron.aws.com' && device.attributes['neuron.aws.com'].resourceType == 'neuron_device'`
	if selectors := forPods.Spec.Selectors; len(selectors) != 1 || selectors[0].CEL.Expression != devices {
		t.Errorf("%s selects %+v", extended, selectors)
	}
	classesForEFA(t)
	if _, err := template(t, "--kube-version", "1.32.0"); err == nil || !strings.Contains(err.Error(), ">=1.33") {
		t.Errorf("1.32 is accepted: %v", err)
	}
}

// classesForEFA: two more with efa.enabled, of the devices that the driver of this name publishes; that of the extended
// resource only where the one for Neuron is.
func classesForEFA(t *testing.T) {
	t.Helper()
	const claimed, extended = "DeviceClass/efa.networking.k8s.aws", "DeviceClass/extended-resource.efa.networking.k8s.aws"
	for _, one := range []struct {
		release, values, api string
		extended             bool
	}{
		{"1.33.4", "draDriver.efa.enabled=true", "resource.k8s.io/v1beta1/", false},
		{"1.34.0", "draDriver.efa.enabled=true", "resource.k8s.io/v1/", false},
		{"1.36.0", "draDriver.efa.enabled=true", "resource.k8s.io/v1/", true},
		{"1.36.0", "draDriver.efa.enabled=true,draDriver.extendedResource=false", "resource.k8s.io/v1/", false},
	} {
		found := rendered(t, "--kube-version", one.release, "--set", one.values)
		if found[one.api+claimed] == nil || (found[one.api+extended] != nil) != one.extended {
			t.Errorf("%s, %s: classes %v and %v", one.release, one.values, found[one.api+claimed], found[one.api+extended])
		}
	}
	found := rendered(t, "--kube-version", "1.36.0", "--set", "draDriver.efa.enabled=true,draDriver.efa.driverName=efa.example.com")
	for name, resourceName := range map[string]string{claimed: "", extended: "vpc.amazonaws.com/efa"} {
		class := found["resource.k8s.io/v1/"+name].(*resource.DeviceClass)
		const devices = `device.driver == 'efa.example.com' && device.attributes['dra.net'].pciDevice == 'Elastic Fabric Adapter (EFA)'`
		if selectors := class.Spec.Selectors; len(selectors) != 1 || selectors[0].CEL.Expression != devices {
			t.Errorf("%s selects %+v", name, selectors)
		}
		if got := class.Spec.ExtendedResourceName; (got == nil) != (resourceName == "") || got != nil && *got != resourceName {
			t.Errorf("%s has the extended resource %v", name, got)
		}
	}
}

// TestValues: the values that AWS's documents set are accepted, and a wrong one is refused by its name.
func TestValues(t *testing.T) {
	for _, good := range []string{
		"devicePlugin.enabled=false,npd.enabled=false,draDriver.enabled=true",
		"scheduler.enabled=false,nodeProblemDetector.enabled=true,nodeProblemDetectorRecovery.enabled=true",
		"draDriver.priorityClassName=null,draDriver.runtimeClassName=runc,draDriver.image.tag=1.2.3",
		"draDriver.podAnnotations.a=b,draDriver.imagePullSecrets[0].name=secret,draDriver.serviceAccount.annotations.c=d",
		"draDriver.updateStrategy.rollingUpdate.maxUnavailable=1,draDriver.nodeSelector.a=b,draDriver.resources.limits.cpu=1",
	} {
		rendered(t, "--set", good)
	}
	for bad, word := range map[string]string{
		"draDriver.enabeld=true":                    "'enabeld' not allowed",
		"draDriver.image.pullPolicy=Sometimes":      "/draDriver/image/pullPolicy",
		"draDriver.hostPaths.kubelet=relative":      "/draDriver/hostPaths/kubelet",
		"draDriver.hostPaths.devicePlugins=":        "/draDriver/hostPaths/devicePlugins",
		"draDriver.instanceTypes[0]=p5.48xlarge":    "/draDriver/instanceTypes/0",
		"devicePlugin.enabled=true":                 "/devicePlugin/enabled",
		"dradriver.enabled=true":                    "/dradriver/enabled",
		"draDriver.tolerations=all":                 "/draDriver/tolerations",
		"draDriver.uninstall.force=yes":             "/draDriver/uninstall/force",
		"draDriver.uninstall.forced=true":           "'forced' not allowed",
		"draDriver.monitoring.podMonitor.enabled=1": "/draDriver/monitoring/podMonitor/enabled",
	} {
		if _, err := template(t, "--set", bad); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%s: %v, want an error with %s", bad, err, word)
		}
	}
	if found := rendered(t, "--set", "draDriver.enabled=false"); len(found) != 0 {
		t.Errorf("draDriver.enabled=false renders %v", found)
	}
}

// TestNamespace: the chart makes the agent's namespace, but not the one that Helm installs into, which --create-namespace or
// somebody made.
func TestNamespace(t *testing.T) {
	const made = "v1/Namespace/neuron-dra-driver"
	if rendered(t)[made] == nil {
		t.Error("installed into kube-system, the chart does not make its namespace")
	}
	out, err := helm(t, "template", "neuron-dra-driver", chart, "--namespace", "neuron-dra-driver",
		"--set", "devicePlugin.enabled=false,npd.enabled=false,draDriver.enabled=true")
	if err != nil {
		t.Fatal(err)
	}
	if found := objects(t, out); found[made] != nil || found["apps/v1/DaemonSet/neuron-dra-driver-kubelet-plugin"] == nil {
		t.Error("installed into its own namespace, it makes the namespace, or no agent")
	}
}

func daemonSet(t *testing.T, args ...string) *apps.DaemonSet {
	t.Helper()
	found := rendered(t, args...)["apps/v1/DaemonSet/neuron-dra-driver-kubelet-plugin"]
	if found == nil {
		t.Fatal("no DaemonSet")
	}
	return found.(*apps.DaemonSet)
}

// TestPod: the pod has no right and no mount that it does not need.
func TestPod(t *testing.T) {
	pod := daemonSet(t).Spec.Template.Spec
	if pod.HostNetwork || pod.HostPID || pod.HostIPC || len(pod.InitContainers) != 0 || len(pod.Containers) != 1 {
		t.Errorf("a namespace of the host, or another container: %+v", pod)
	}
	agent := pod.Containers[0]
	rights, _ := json.Marshal(agent.SecurityContext)
	want := `{"capabilities":{"drop":["ALL"]},"privileged":false,"runAsUser":0,"runAsGroup":0,` +
		`"readOnlyRootFilesystem":true,"allowPrivilegeEscalation":false,"seccompProfile":{"type":"RuntimeDefault"}}`
	if string(rights) != want {
		t.Errorf("rights\n%s, want\n%s", rights, want)
	}
	mounts := map[string]bool{}
	for _, mount := range agent.VolumeMounts {
		mounts[mount.MountPath] = mount.ReadOnly
	}
	for path, readOnly := range map[string]bool{"/var/lib/kubelet/plugins_registry": false, "/var/run/cdi": false,
		"/var/lib/kubelet/plugins/neuron.aws.com": false, "/var/lib/kubelet/plugins/dra.net": false,
		"/var/lib/kubelet/device-plugins": true, "/var/lib/kubelet/pod-resources": true, "/dev": true} {
		if found, there := mounts[path]; !there || found != readOnly {
			t.Errorf("%s: mounted %v, read-only %v, want %v", path, there, found, readOnly)
		}
		delete(mounts, path)
	}
	if len(mounts) != 0 {
		t.Errorf("more mounts: %v", mounts)
	}
	// The kubelet has it there whatever its root is, and a node without it gets its pod.
	elsewhere := daemonSet(t, "--set", "draDriver.hostPaths.kubelet=/k").Spec.Template.Spec
	if !slices.ContainsFunc(elsewhere.Volumes, func(v core.Volume) bool {
		return v.HostPath.Path == "/var/lib/kubelet/device-plugins" && *v.HostPath.Type == core.HostPathDirectoryOrCreate
	}) || !slices.Contains(elsewhere.Containers[0].Env, core.EnvVar{Name: "KUBELET_DEVICE_PLUGINS_DIRECTORY_PATH",
		Value: "/var/lib/kubelet/device-plugins"}) {
		t.Errorf("no device-plugins directory: %+v", elsewhere.Volumes)
	}
	if update := daemonSet(t).Spec.UpdateStrategy.RollingUpdate; update.MaxSurge.IntValue() != 1 || update.MaxUnavailable.IntValue() != 0 {
		t.Errorf("it is updated by %+v", update)
	}
}

// TestUninstallCheck: what looks for claims before an uninstallation exists as hooks alone, has one right and needs nothing
// of the node.
func TestUninstallCheck(t *testing.T) {
	found, forced := rendered(t), rendered(t, "--set", "draDriver.uninstall.force=true")
	weights := map[string]int{}
	var job *batch.Job
	for name, object := range found {
		if !strings.HasSuffix(name, "/neuron-dra-driver-uninstall") {
			continue
		}
		if forced[name] != nil {
			t.Errorf("%s is there though nobody shall ask", name)
		}
		marks := object.(interface{ GetAnnotations() map[string]string }).GetAnnotations()
		if marks["helm.sh/hook"] != "pre-delete" || marks["helm.sh/hook-delete-policy"] != "before-hook-creation,hook-succeeded" {
			t.Errorf("%s: %v", name, marks)
		}
		weight, err := strconv.Atoi(marks["helm.sh/hook-weight"])
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		weights[regexp.MustCompile(`/([^/]+)/[^/]+$`).FindStringSubmatch(name)[1]] = weight
		switch one := object.(type) {
		case *rbac.ClusterRole:
			want := []rbac.PolicyRule{{APIGroups: []string{"resource.k8s.io"}, Resources: []string{"resourceclaims"}, Verbs: []string{"list"}}}
			if !reflect.DeepEqual(one.Rules, want) {
				t.Errorf("rights %v, want %v", one.Rules, want)
			}
		case *batch.Job:
			job = one
		}
	}
	if len(weights) != 4 || len(forced)+4 != len(found) || weights["ClusterRole"] >= weights["ClusterRoleBinding"] ||
		weights["ServiceAccount"] >= weights["ClusterRoleBinding"] || weights["ClusterRoleBinding"] >= weights["Job"] {
		t.Fatalf("the order is %v", weights)
	}
	pod, agent := job.Spec.Template.Spec, daemonSet(t).Spec.Template.Spec
	if *job.Spec.BackoffLimit != 0 || *job.Spec.ActiveDeadlineSeconds != 120 || pod.RestartPolicy != core.RestartPolicyNever {
		t.Errorf("it is tried more than once, or for ever: %+v", job.Spec)
	}
	if pod.HostNetwork || pod.HostPID || pod.HostIPC || len(pod.Volumes) != 0 || len(pod.Containers) != 1 {
		t.Errorf("something of the host: %+v", pod)
	}
	withEFA := rendered(t, "--set", "draDriver.efa.enabled=true", "--set", "draDriver.efa.driverName=efa.example.com")
	for name, object := range withEFA {
		if one, is := object.(*batch.Job); is && !slices.Equal(one.Spec.Template.Spec.Containers[0].Args,
			[]string{"reservations", "--efa", "true", "--efa-driver-name", "efa.example.com"}) {
			t.Errorf("%s does not ask for claims of both drivers", name)
		}
	}
	if !slices.Equal(pod.Containers[0].Args, []string{"reservations"}) {
		t.Errorf("it asks for more than claims of the Neuron driver: %v", pod.Containers[0].Args)
	}
	rights, _ := json.Marshal(pod.Containers[0].SecurityContext)
	want := `{"capabilities":{"drop":["ALL"]},"runAsUser":65532,"runAsGroup":65532,"runAsNonRoot":true,` +
		`"readOnlyRootFilesystem":true,"allowPrivilegeEscalation":false,"seccompProfile":{"type":"RuntimeDefault"}}`
	if string(rights) != want {
		t.Errorf("rights\n%s, want\n%s", rights, want)
	}
	if pod.Containers[0].Image != agent.Containers[0].Image || !reflect.DeepEqual(pod.Affinity, agent.Affinity) ||
		!reflect.DeepEqual(pod.Tolerations, agent.Tolerations) {
		t.Error("it does not run where the agent runs")
	}
	for key, value := range daemonSet(t).Spec.Selector.MatchLabels {
		if key == "app.kubernetes.io/name" && job.Spec.Template.Labels[key] == value {
			t.Error("the DaemonSet takes its pod for an agent")
		}
	}
	for name := range rendered(t, "--no-hooks") {
		if strings.Contains(name, "uninstall") {
			t.Errorf("%s is no hook", name)
		}
	}
}

// TestEveryBoard: a node of each type that the agent serves gets its pod. On one of a family that it refuses, the pod would never be
// ready.
func TestEveryBoard(t *testing.T) {
	types := map[string]bool{}
	for _, term := range daemonSet(t).Spec.Template.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for _, match := range term.MatchExpressions {
			for _, value := range match.Values {
				types[value] = types[value] || match.Key == "node.kubernetes.io/instance-type"
			}
		}
	}
	boards, err := filepath.Glob(filepath.Join(root, "tests", "vectors", "boards", "*.txt"))
	if err != nil || len(boards) == 0 {
		t.Fatalf("no boards: %v", err)
	}
	for _, board := range boards {
		name := strings.TrimSuffix(filepath.Base(board), ".txt")
		family := regexp.MustCompile(`^[a-z]+[0-9]*`).FindString(name)
		if strings.Contains(read(t, "boards", family+".c"), ".refused = true") {
			if types[name] {
				t.Errorf("draDriver.instanceTypes has %s, which the agent refuses", name)
			}
			continue
		}
		if !types[name] || !types["ml."+name] {
			t.Errorf("draDriver.instanceTypes lacks %s", name)
		}
	}
}

// TestVariables: each switch reaches the agent, and the agent knows each variable that it is given.
func TestVariables(t *testing.T) {
	help, err := exec.Command(os.Getenv("AGENT"), "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	set := "draDriver.kubeletState.enabled=true,draDriver.hostPaths.sysfs=/s"
	switches := map[string]string{"claimStatus": "CLAIM_STATUS", "deviceMetadata": "DEVICE_METADATA", "deviceMetrics": "DEVICE_METRICS",
		"neuronMonitorMetrics": "NEURON_MONITOR_METRICS", "checkDeviceMemory": "CHECK_DEVICE_MEMORY", "requireConsecutive": "REQUIRE_CONSECUTIVE",
		"shareCores": "SHARE_CORES", "efa.enabled": "EFA"}
	wanted := map[string]string{}
	for value, variable := range switches {
		wanted[variable] = strconv.FormatBool(value != "checkDeviceMemory") // the one that is on by default
		set += ",draDriver." + value + "=" + wanted[variable]
	}
	wanted["MEMORY_HELD_TAINT"] = "example.com/held:NoExecute"
	set += ",draDriver.memoryHeldTaint=" + wanted["MEMORY_HELD_TAINT"]
	wanted["EFA_NODE_RESOURCES"] = "hugepages-2Mi=320Mi,memory=64Mi"
	set += ",draDriver.efa.nodeResources=" + strings.ReplaceAll(wanted["EFA_NODE_RESOURCES"], ",", "\\,")
	for _, one := range daemonSet(t, "--set-string", "draDriver.tlsMinVersion=1.2", "--set", set).Spec.Template.Spec.Containers[0].Env {
		if !strings.Contains(string(help), "variable "+one.Name+",") {
			t.Errorf("the agent has no variable %s", one.Name)
		}
		if wanted[one.Name] == one.Value {
			delete(wanted, one.Name)
		}
	}
	if len(wanted) != 0 {
		t.Errorf("the agent is not given %v", wanted)
	}
	for _, one := range daemonSet(t).Spec.Template.Spec.Containers[0].Env {
		for value, variable := range switches {
			if one.Name == variable {
				t.Errorf("%s is set without %s", variable, value)
			}
		}
	}
}

// TestKubeletState: the kubelet's directory is mounted only where that is asked for, read-only, and unmounts reach it.
func TestKubeletState(t *testing.T) {
	for _, asked := range []bool{false, true} {
		found := false
		for _, mount := range daemonSet(t, "--set", fmt.Sprintf("draDriver.kubeletState.enabled=%t", asked)).Spec.Template.Spec.Containers[0].VolumeMounts {
			if mount.Name == "kubelet" {
				found = mount.ReadOnly && mount.MountPath == "/kubelet" && *mount.MountPropagation == core.MountPropagationHostToContainer
			}
		}
		if found != asked {
			t.Errorf("enabled %t: mounted %t", asked, found)
		}
	}
}

// TestMonitoring: what Prometheus and Grafana are given names metrics and log events of the agent's catalogue.
func TestMonitoring(t *testing.T) {
	found := rendered(t, "--set", monitored)
	for _, kind := range []string{"monitoring.coreos.com/v1/PodMonitor/neuron-dra-driver-kubelet-plugin",
		"monitoring.coreos.com/v1/PrometheusRule/neuron-dra-driver-kubelet-plugin", "v1/ConfigMap/neuron-dra-driver-kubelet-plugin-dashboard"} {
		if found[kind] == nil {
			t.Errorf("no %s", kind)
		}
	}
	rules := alertRules(t)
	if len(rules) < 10 {
		t.Fatalf("%d rules", len(rules))
	}
	for _, rule := range rules {
		known(t, rule.Alert, rule.Expr)
	}
	for _, one := range panels(t) {
		for _, asked := range one.Targets {
			known(t, one.Title, asked.Expr)
		}
	}
}

// alarming holds that these are the errors that no program causes and no hardware corrects, of all that the agent reads.
func alarming(t *testing.T, place string, matcher *labels.Matcher) {
	t.Helper()
	source := read(t, "src", "dra", "telemetry.c")
	for name, want := range map[string]bool{
		"sram_ecc_corrected": false, "sram_ecc_uncorrected": true, "mem_ecc_corrected": false, "mem_ecc_uncorrected": true,
		"mem_ecc_repairable_uncorrected": true, "failure": false, "timeout": false, "hw_error": true,
		"hw_collectives_error": true, "hw_hbm_ue_error": true, "hw_repairable_hbm_ue_error": true, "hw_nc_ue_error": true,
		"hw_dma_abort_error": true,
	} {
		if !strings.Contains(source, `"`+name+`"`) {
			t.Errorf("the agent reads no %s", name)
		}
		if matcher.Matches(name) != want {
			t.Errorf("%s: %s matches %s: %t", place, matcher, name, !want)
		}
	}
}

// known parses an expression and looks its metrics and log events up.
func known(t *testing.T, place, expression string) {
	t.Helper()
	catalogue := read(t, "src", "agent", "report", "CATALOGUE.md")
	parsed, err := parser.ParseExpr(expression)
	if err != nil {
		t.Errorf("%s: %v", place, err)
		return
	}
	metrics := 0
	for _, selectors := range parser.ExtractSelectors(parsed) {
		for _, matcher := range selectors {
			name := matcher.Value
			switch {
			case matcher.Name == "driver": // absent without --efa
				if !matcher.Matches("") || !matcher.Matches("neuron.aws.com") || matcher.Matches("dra.net") {
					t.Errorf("%s: %s are not the Neuron devices, with --efa and without", place, matcher)
				}
				continue
			case matcher.Name == "error":
				alarming(t, place, matcher)
				continue
			case matcher.Name == "node": // the dashboard's variable, which is every node at first
				if !matcher.Matches("trainium-0") {
					t.Errorf("%s: %s leaves out a node", place, matcher)
				}
				continue
			case matcher.Type != labels.MatchEqual:
				t.Errorf("%s: %s is not looked up", place, matcher)
			case matcher.Name == "__name__" && (name == "up" || name == "kube_node_info"): // Prometheus' own, kube-state-metrics'
				metrics++
				continue
			case matcher.Name == "__name__":
				metrics++
				name = regexp.MustCompile(`_(bucket|count|sum)$`).ReplaceAllString(name, "")
			case matcher.Name != "event":
				continue
			}
			if !strings.Contains(catalogue, "| `"+name+"` |") {
				t.Errorf("%s: the agent has no %s", place, name)
			}
		}
	}
	if metrics == 0 {
		t.Errorf("%s names no metric: %s", place, expression)
	}
}

// rightsOfReference are the rights that the table of cfg/deploy/reference.md lists, as "GROUP/RESOURCE: VERBS", by what a row asks for
// ("": the defaults). A resource without a group is one of resource.k8s.io, or the node.
func rightsOfReference(t *testing.T) map[string][]string {
	t.Helper()
	_, text, found := strings.Cut(read(t, "cfg", "deploy", "reference.md"), "\n## Rights at the API server\n")
	if !found {
		t.Fatal("reference.md has no rights")
	}
	text, _, _ = strings.Cut(text, "\n## ")
	rights := map[string][]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`.*?) \\| ([-a-z:, ]+) \\|").FindAllStringSubmatch(text, -1) {
		resources, wanted, _ := strings.Cut(row[1], ", with ")
		for _, one := range strings.Split(resources, ", ") {
			named := regexp.MustCompile("^`([a-z/]+)`(?: \\(`([a-z0-9.]+)`\\))?$").FindStringSubmatch(one)
			if named == nil {
				t.Fatalf("%q is no resource", one)
			}
			group := named[2]
			if group == "" && named[1] != "nodes" {
				group = "resource.k8s.io"
			}
			key := strings.Trim(wanted, "`")
			rights[key] = append(rights[key], group+"/"+named[1]+": "+row[2])
		}
	}
	return rights
}

// rightsOfRole are the same of a rendered role. A "*" of the role is none of the reference.
func rightsOfRole(t *testing.T, role *rbac.ClusterRole) (rights []string) {
	t.Helper()
	for _, rule := range role.Rules {
		if len(rule.NonResourceURLs) != 0 || role.AggregationRule != nil || slices.Contains(rule.ResourceNames, "*") {
			t.Errorf("%+v", rule)
		}
		verbs := strings.Join(rule.Verbs, ", ")
		for _, group := range rule.APIGroups {
			for _, one := range rule.Resources {
				rights = append(rights, group+"/"+one+": "+verbs)
			}
		}
	}
	return rights
}

// TestRights: the agent's service account has the rights that the reference lists, by its one binding, and no other.
func TestRights(t *testing.T) {
	listed := rightsOfReference(t)
	for name, want := range map[string][]string{
		"":            listed[""],
		"claimStatus": append(slices.Clone(listed[""]), listed["claimStatus"]...),
	} {
		if len(want) < 4 || len(listed) != 2 {
			t.Fatalf("the reference lists %v", listed)
		}
		args := []string{}
		if name != "" {
			args = []string{"--set", "draDriver." + name + "=true"}
		}
		found := rendered(t, args...)
		account := daemonSet(t, args...).Spec.Template.Spec.ServiceAccountName
		var got []string
		subject := rbac.Subject{Kind: "ServiceAccount", Name: account, Namespace: "neuron-dra-driver"}
		bindings := 0
		for key, object := range found {
			switch one := object.(type) {
			case *rbac.RoleBinding:
				t.Errorf("%s: a role for one namespace", key)
			case *rbac.ClusterRoleBinding:
				if slices.ContainsFunc(one.Subjects, func(s rbac.Subject) bool { return s.Kind != "ServiceAccount" }) {
					t.Errorf("%s: more than accounts have the rights: %v", key, one.Subjects)
				}
				if slices.Contains(one.Subjects, subject) {
					bindings++
					got = append(got, rightsOfRole(t, found["rbac.authorization.k8s.io/v1/ClusterRole/"+one.RoleRef.Name].(*rbac.ClusterRole))...)
				}
			}
		}
		if bindings != 1 {
			t.Errorf("with %q the account %v has %d bindings", name, subject, bindings)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("with %q the role has\n%s\nand the reference lists\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}
