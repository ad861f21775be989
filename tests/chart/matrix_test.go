// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	rbac "k8s.io/api/rbac/v1"
	resource "k8s.io/api/resource/v1"
	resourcebeta "k8s.io/api/resource/v1beta1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

const agentSet = "apps/v1/DaemonSet/neuron-dra-driver-kubelet-plugin"

// valuesFiles are sets of values; tests/e2e has real API servers judge what is rendered of them.
func valuesFiles(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join("values", "*.yaml"))
	if err != nil || len(found) < 6 {
		t.Fatalf("files of values: %v, %v", found, err)
	}
	return found
}

// TestMatrix: each set of values renders objects with no field that Kubernetes' types lack, for each release, and helm lints it.
func TestMatrix(t *testing.T) {
	for _, file := range valuesFiles(t) {
		if out, err := helm(t, "lint", "--strict", chart, "-f", file); err != nil {
			t.Errorf("%s: %v%s", file, err, out)
		}
		for _, release := range []string{"1.33.13", "1.34.4", "1.35.4", "1.36.3", "1.37.2"} {
			found := rendered(t, "--kube-version", release, "-f", file)
			if len(found) < 8 {
				t.Errorf("%s, %s: %d objects", file, release, len(found))
			}
			for name, object := range found {
				names(t, file, name, object)
			}
		}
	}
}

// names holds that labels and annotations have the form that the API server asks for, and that what every object of the chart
// has is there.
func names(t *testing.T, file, name string, object any) {
	t.Helper()
	if untyped, is := object.(*map[string]any); is {
		text, _ := json.Marshal(*untyped)
		object = &meta.PartialObjectMetadata{}
		if err := json.Unmarshal(text, object); err != nil {
			t.Fatal(err)
		}
	}
	one := object.(meta.Object)
	for key, value := range one.GetLabels() {
		if problems := append(validation.IsQualifiedName(key), validation.IsValidLabelValue(value)...); len(problems) != 0 {
			t.Errorf("%s, %s: the label %s=%s: %v", file, name, key, value, problems)
		}
	}
	for _, key := range []string{"app.kubernetes.io/instance", "app.kubernetes.io/managed-by", "app.kubernetes.io/name", "helm.sh/chart"} {
		if one.GetLabels()[key] == "" {
			t.Errorf("%s, %s: no label %s", file, name, key)
		}
	}
	if strings.Contains(file, "everything") && one.GetLabels()["team"] != "ml" {
		t.Errorf("%s, %s: without the common label", file, name)
	}
}

// TestSelector: what makes pods the DaemonSet's own is what it was in release 0.1.0, whatever labels are added: Kubernetes never
// lets it change.
func TestSelector(t *testing.T) {
	want := map[string]string{"app.kubernetes.io/name": "neuron-dra-driver", "app.kubernetes.io/instance": "agent"}
	for _, file := range []string{"defaults", "everything"} {
		set := daemonSet(t, "-f", filepath.Join("values", file+".yaml"))
		if !reflect.DeepEqual(set.Spec.Selector.MatchLabels, want) {
			t.Errorf("%s: the selector is %v", file, set.Spec.Selector.MatchLabels)
		}
		for key, value := range want {
			if set.Spec.Template.Labels[key] != value {
				t.Errorf("%s: pods have no label %s=%s", file, key, value)
			}
		}
	}
	pod := daemonSet(t, "-f", "values/everything.yaml").Spec.Template
	if pod.Labels["team"] != "ml" || pod.Labels["tier"] != "node" || pod.Labels["helm.sh/chart"] != "" {
		t.Errorf("the pods' labels are %v", pod.Labels)
	}
	other := daemonSet(t, "--set", "draDriver.selectorLabelsOverride.app=x,draDriver.commonLabels.app=y,draDriver.podLabels.app=z")
	if other.Spec.Selector.MatchLabels["app"] != "x" || other.Spec.Template.Labels["app"] != "x" {
		t.Errorf("selector %v, labels %v", other.Spec.Selector.MatchLabels, other.Spec.Template.Labels)
	}
}

// TestReusedValues: `helm upgrade --reuse-values` brings the values of an older release, which lack those of today: it gets
// their defaults.
func TestReusedValues(t *testing.T) {
	var none []string
	for _, value := range []string{"ports", "livenessProbe", "readinessProbe", "startupProbe", "extraArgs", "commonLabels", "podLabels",
		"daemonSetAnnotations", "minReadySeconds", "revisionHistoryLimit", "image.digest", "admission.foreignConfigs", "flowControl",
		"monitoring.prometheusRule.runbookUrl", "monitoring.prometheusRule.absent"} {
		none = append(none, "draDriver."+value+"=null")
	}
	today, older := rendered(t, "--set", monitored), rendered(t, "--set", monitored+","+strings.Join(none, ","))
	for name, object := range today {
		if !reflect.DeepEqual(object, older[name]) {
			t.Errorf("%s differs", name)
		}
	}
}

// TestSettings: values reach the pod.
func TestSettings(t *testing.T) {
	found := rendered(t, "-f", "values/everything.yaml")
	set := found[agentSet].(*apps.DaemonSet)
	pod := set.Spec.Template.Spec
	agent := pod.Containers[0]
	if want := "registry.example.com/neuron/agent@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"; agent.Image != want {
		t.Errorf("the image is %s, want %s", agent.Image, want)
	}
	if got := daemonSet(t, "--set", "draDriver.image.tag=v2").Spec.Template.Spec.Containers[0].Image; got != "localhost/neuron-dra-agent:v2" {
		t.Errorf("with a tag the image is %s", got)
	}
	if !slices.Equal(agent.Args, []string{"run", "--log-level=warn", "--health-interval", "10s"}) {
		t.Errorf("arguments %v", agent.Args)
	}
	if set.Spec.MinReadySeconds != 5 || *set.Spec.RevisionHistoryLimit != 2 || set.Annotations["reloader.example.com/auto"] != "true" {
		t.Errorf("the DaemonSet is %+v", set)
	}
	ports := map[string]int32{}
	for _, port := range agent.Ports {
		ports[port.Name] = port.ContainerPort
	}
	if ports["healthcheck"] != 8081 || ports["metrics"] != 8080 || agent.LivenessProbe.GRPC.Port != 8081 || agent.StartupProbe.GRPC.Port != 8081 ||
		agent.ReadinessProbe.HTTPGet.Port.String() != "metrics" {
		t.Errorf("ports %v, probes %+v, %+v, %+v", ports, agent.LivenessProbe, agent.ReadinessProbe, agent.StartupProbe)
	}
	for _, one := range []core.EnvVar{{Name: "HEALTHCHECK_PORT", Value: "8081"}, {Name: "METRICS_PORT", Value: "8080"},
		{Name: "LOG_FORMAT", Value: "json"}} {
		if !slices.Contains(agent.Env, one) {
			t.Errorf("no variable %+v", one)
		}
	}
	for _, name := range []string{"S3_BUCKET_2", "HOST_IP"} {
		if !slices.ContainsFunc(agent.Env, func(v core.EnvVar) bool { return v.Name == name && v.ValueFrom != nil }) {
			t.Errorf("no variable %s from elsewhere", name)
		}
	}
	if agent.LivenessProbe.InitialDelaySeconds != 60 || agent.LivenessProbe.FailureThreshold != 6 || agent.LivenessProbe.PeriodSeconds != 10 ||
		agent.ReadinessProbe.PeriodSeconds != 15 || agent.ReadinessProbe.FailureThreshold != 5 || agent.StartupProbe.FailureThreshold != 60 {
		t.Errorf("probes %+v, %+v, %+v", agent.LivenessProbe, agent.ReadinessProbe, agent.StartupProbe)
	}
	if daemonSet(t).Spec.Template.Spec.Containers[0].StartupProbe != nil {
		t.Error("a startup probe that nobody asked for")
	}
	monitor, _ := json.Marshal(found["monitoring.coreos.com/v1/PodMonitor/neuron-dra-driver-kubelet-plugin"])
	for _, words := range []string{`"interval":"1m30s"`, `"port":"metrics"`, `"release":"prometheus"`} {
		if !strings.Contains(string(monitor), words) {
			t.Errorf("the PodMonitor lacks %s: %s", words, monitor)
		}
	}
}

// TestOwnVariables: extraEnv and extraArgs cannot set what the chart sets: the refusal names the value that does.
func TestOwnVariables(t *testing.T) {
	help, err := exec.Command(os.Getenv("AGENT"), "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	const instead = `: (set draDriver\.[A-Za-z.]+ instead|no value changes it)`
	for _, one := range daemonSet(t, "-f", "values/everything.yaml").Spec.Template.Spec.Containers[0].Env {
		if slices.Contains([]string{"LOG_FORMAT", "LOG_LEVEL", "HEALTH_INTERVAL", "S3_BUCKET_2", "HOST_IP"}, one.Name) { // of the file
			continue
		}
		flag := "--" + strings.ReplaceAll(strings.ToLower(one.Name), "_", "-")
		if !regexp.MustCompile(`(?m)^  ` + flag + ` `).Match(help) {
			t.Errorf("the agent has no flag %s", flag)
		}
		for values, refusal := range map[string]string{
			"draDriver.extraEnv[0].name=" + one.Name + ",draDriver.extraEnv[0].value=1": "draDriver.extraEnv: the chart sets " + one.Name + " itself",
			"draDriver.extraArgs[0]=" + flag + "=1":                                     "draDriver.extraArgs: the chart sets " + flag + " itself, as the variable " + one.Name,
			"draDriver.extraArgs[0]=" + flag + ",draDriver.extraArgs[1]=1":              "draDriver.extraArgs: the chart sets " + flag + " itself, as the variable " + one.Name,
		} {
			if _, err := template(t, "--set-string", values); err == nil || !regexp.MustCompile(regexp.QuoteMeta(refusal)+instead).MatchString(err.Error()) {
				t.Errorf("%s: %v, want %s", values, err, refusal)
			}
		}
	}
	rendered(t, "--set", "draDriver.extraEnv[0].name=EFA2,draDriver.extraEnv[0].value=x")
}

// TestExtraArgs: what the agent would refuse is refused, and the pod's commands have the same settings as the agent, by variables.
func TestExtraArgs(t *testing.T) {
	const base = "draDriver.extraArgs={"
	for given, refusal := range map[string]string{
		"devices}":             "devices is no flag",
		"--metrics-prt=1}":     "--metrics-prt is no flag of the agent",
		"--watch}":             "--watch is no flag of the agent",
		"--log-level=warn,hm}": "hm is no flag",
		"--log-level=warn},draDriver.extraEnv[0].name=LOG_LEVEL,draDriver.extraEnv[0].value=info": "LOG_LEVEL is set by draDriver.extraArgs too",
	} {
		if _, err := template(t, "--set-string", base+given); err == nil || !strings.Contains(err.Error(), refusal) {
			t.Errorf("%s: %v, want %s", given, err, refusal)
		}
	}
	set := base + "--log-level=warn,--instance-type,trn1.32xlarge,-v,4,--log-level,error,--metrics-bind-address=::1}"
	container := daemonSet(t, "--set-string", set).Spec.Template.Spec.Containers[0]
	got := map[string]string{}
	for _, one := range container.Env {
		got[one.Name] = one.Value
	}
	for variable, value := range map[string]string{"LOG_LEVEL": "error", "INSTANCE_TYPE": "trn1.32xlarge", "METRICS_BIND_ADDRESS": "::1"} {
		if got[variable] != value {
			t.Errorf("%s is %q, want %q", variable, got[variable], value)
		}
	}
	if len(container.Args) != 9 {
		t.Errorf("arguments %q", container.Args)
	}
}

// TestSecondRelease: with empty overrides nothing of a second release has a name of the first one, but the DeviceClasses, which
// claims name.
func TestSecondRelease(t *testing.T) {
	first := rendered(t, "--set", monitored)
	out, err := helm(t, "template", "second", chart, "--namespace", "others", "-f", "values/second-release.yaml", "--set", monitored)
	if err != nil {
		t.Fatal(err)
	}
	second := objects(t, out)
	if len(first) != len(second)+1 { // the second one makes no namespace
		t.Errorf("%d and %d objects", len(first), len(second))
	}
	for name, object := range second {
		if first[name] != nil && !strings.Contains(name, "/DeviceClass/") {
			t.Errorf("both have %s", name)
		}
		if text, _ := json.Marshal(object); strings.Contains(string(text), "neuron-dra-driver") && !strings.Contains(string(text), `"k8s-neuron-dra-driver"`) {
			t.Errorf("%s has a name of the other release: %s", name, text)
		}
	}
	set := second["apps/v1/DaemonSet/second-kubelet-plugin"].(*apps.DaemonSet)
	binding := second["rbac.authorization.k8s.io/v1/ClusterRoleBinding/second-binding"].(*rbac.ClusterRoleBinding)
	if set.Namespace != "others" || set.Spec.Template.Spec.ServiceAccountName != "second-sa" || binding.Subjects[0].Name != "second-sa" ||
		binding.Subjects[0].Namespace != "others" || binding.RoleRef.Name != "second-clusterrole" {
		t.Errorf("account %s, namespace %s, binding %+v", set.Spec.Template.Spec.ServiceAccountName, set.Namespace, binding)
	}
	long := strings.Repeat("a", 53)
	if out, err = helm(t, "template", long, chart, "-f", "values/second-release.yaml"); err != nil {
		t.Fatal(err)
	}
	for name := range objects(t, out) {
		if short := name[strings.LastIndexByte(name, '/')+1:]; len(short) > 63 {
			t.Errorf("%s has more than 63 characters", name)
		}
	}
}

// TestHelmTest: the hooks of `helm test` are nothing but these, clean up behind them, and ask for what they are to show.
func TestHelmTest(t *testing.T) {
	for release, api := range map[string]string{"1.33.13": "v1beta1", "1.36.3": "v1"} {
		weights := map[string]string{}
		found := rendered(t, "--kube-version", release, "-f", "values/everything.yaml")
		for name, object := range found {
			one, typed := object.(meta.Object)
			if !typed || one.GetAnnotations()["helm.sh/hook"] != "test" {
				continue
			}
			if one.GetAnnotations()["helm.sh/hook-delete-policy"] != "before-hook-creation,hook-succeeded" {
				t.Errorf("%s: %v", name, one.GetAnnotations())
			}
			weights[name] = one.GetAnnotations()["helm.sh/hook-weight"]
		}
		template := "resource.k8s.io/" + api + "/ResourceClaimTemplate/neuron-dra-driver-test-device"
		want := map[string]string{"v1/Service/neuron-dra-driver-test": "-10", "v1/Pod/neuron-dra-driver-test-readiness": "0",
			template: "5", "v1/Pod/neuron-dra-driver-test-device": "10"}
		if !reflect.DeepEqual(weights, want) {
			t.Fatalf("%s: hooks %v, want %v", release, weights, want)
		}
		testPods(t, found)
		request := ""
		switch one := found[template].(type) {
		case *resource.ResourceClaimTemplate:
			request = one.Spec.Spec.Devices.Requests[0].Exactly.DeviceClassName
		case *resourcebeta.ResourceClaimTemplate:
			request = one.Spec.Spec.Devices.Requests[0].DeviceClassName
		}
		if request != "neuron.aws.com" {
			t.Errorf("%s: the claim asks for %q", release, request)
		}
	}
	for name := range rendered(t, "--no-hooks") {
		if strings.Contains(name, "-test") {
			t.Errorf("%s is no hook", name)
		}
	}
}

func testPods(t *testing.T, found map[string]any) {
	t.Helper()
	set := found[agentSet].(*apps.DaemonSet)
	agent := set.Spec.Template.Spec
	service := found["v1/Service/neuron-dra-driver-test"].(*core.Service)
	if !reflect.DeepEqual(service.Spec.Selector, set.Spec.Selector.MatchLabels) || service.Spec.Ports[0].Port != 8080 ||
		*service.Spec.InternalTrafficPolicy != core.ServiceInternalTrafficPolicyLocal {
		t.Errorf("the service is %+v", service.Spec)
	}
	for name, args := range map[string][]string{"readiness": {"probe", "readiness"}, "device": {"version"}} {
		pod := found["v1/Pod/neuron-dra-driver-test-"+name].(*core.Pod)
		one := pod.Spec.Containers[0]
		if !slices.Equal(one.Args, args) || one.Image != agent.Containers[0].Image || !reflect.DeepEqual(pod.Spec.Affinity, agent.Affinity) ||
			!reflect.DeepEqual(pod.Spec.Tolerations, agent.Tolerations) || len(pod.Spec.Volumes) != 0 || *pod.Spec.ActiveDeadlineSeconds != 120 {
			t.Errorf("%s: %+v", name, pod.Spec)
		}
		if !*one.SecurityContext.RunAsNonRoot || *one.SecurityContext.AllowPrivilegeEscalation || *pod.Spec.AutomountServiceAccountToken {
			t.Errorf("%s has rights: %+v", name, one.SecurityContext)
		}
		if pod.Annotations["helm.sh/hook-output-log-policy"] != "hook-succeeded,hook-failed" {
			t.Errorf("%s: Helm does not print its log", name)
		}
		owned := true
		for key, value := range set.Spec.Selector.MatchLabels {
			owned = owned && pod.Labels[key] == value
		}
		if owned {
			t.Errorf("the DaemonSet takes %s for an agent", name)
		}
	}
	env := found["v1/Pod/neuron-dra-driver-test-readiness"].(*core.Pod).Spec.Containers[0].Env
	want := []core.EnvVar{{Name: "METRICS_BIND_ADDRESS", Value: "$(NEURON_DRA_DRIVER_TEST_SERVICE_HOST)"}, {Name: "METRICS_PORT", Value: "8080"}}
	if !slices.Equal(env, want) {
		t.Errorf("the agent is asked at %+v", env)
	}
	claims := found["v1/Pod/neuron-dra-driver-test-device"].(*core.Pod).Spec.ResourceClaims
	if len(claims) != 1 || *claims[0].ResourceClaimTemplateName != "neuron-dra-driver-test-device" {
		t.Errorf("claims %+v", claims)
	}
}

// TestAddresses: the place of the project is written once, and everything else agrees with it.
func TestAddresses(t *testing.T) {
	text := read(t, "cfg", "deploy", "chart", "Chart.yaml")
	home := regexp.MustCompile(`(?m)^home: (https://\S+)$`).FindStringSubmatch(text)
	if home == nil {
		t.Fatal("Chart.yaml has no home")
	}
	organisation := home[1][:strings.LastIndexByte(home[1], '/')]
	for _, file := range []string{"Chart.yaml", "values.yaml", "README.md"} {
		found := regexp.MustCompile(`https://github\.com/[^\s)"]+`).FindAllString(read(t, "cfg", "deploy", "chart", file), -1)
		for _, one := range found {
			if one != organisation && one != home[1] && !strings.HasPrefix(one, home[1]+"/") {
				t.Errorf("%s: %s is not below %s", file, one, home[1])
			}
		}
		if len(found) == 0 {
			t.Errorf("%s has no address", file)
		}
	}
	for _, key := range []string{"keywords", "sources", "maintainers", "artifacthub.io/changes", "artifacthub.io/license", "artifacthub.io/prerelease"} {
		if !strings.Contains(text, "\n"+key+":") && !strings.Contains(text, "\n  "+key+":") {
			t.Errorf("Chart.yaml has no %s", key)
		}
	}
}

// TestTypedValues: a misspelt field of a Kubernetes type is refused by its name, and so is a value of another type.
func TestTypedValues(t *testing.T) {
	for bad, words := range map[string]string{
		"draDriver.resources.limts.cpu=1":                                                                                 "/draDriver/resources': additional properties 'limts' not allowed",
		"draDriver.resources.limits.cpus=1":                                                                               "'cpus'",
		"draDriver.resources.limits.memory=64 MB":                                                                         "/draDriver/resources/limits/memory",
		"draDriver.securityContext.privilegd=true":                                                                        "/draDriver/securityContext': additional properties 'privilegd' not allowed",
		"draDriver.securityContext.capabilities.drp[0]=ALL":                                                               "'drp' not allowed",
		"draDriver.securityContext.runAsUser=root":                                                                        "/draDriver/securityContext/runAsUser",
		"draDriver.podSecurityContext.seLinuxOptions.typ=spc_t":                                                           "/draDriver/podSecurityContext/seLinuxOptions': additional properties 'typ' not allowed",
		"draDriver.tolerations[0].operatr=Exists":                                                                         "/draDriver/tolerations/0': additional properties 'operatr' not allowed",
		"draDriver.tolerations[0].operator=Exist":                                                                         "/draDriver/tolerations/0/operator",
		"draDriver.affinity.nodeAffinty.a=b":                                                                              "/draDriver/affinity': additional properties 'nodeAffinty' not allowed",
		"draDriver.affinity.nodeAffinity.requiredDuringScheduling.a=b":                                                    "'requiredDuringScheduling' not allowed",
		"draDriver.updateStrategy.rollingUpdate.maxSurges=1":                                                              "'maxSurges' not allowed",
		"draDriver.imagePullSecrets[0].nam=a":                                                                             "'nam' not allowed",
		"draDriver.extraEnv[0].name=1A,draDriver.extraEnv[0].value=x":                                                     "/draDriver/extraEnv/0/name",
		"draDriver.extraEnv[0].value=x":                                                                                   "missing property 'name'",
		"draDriver.extraEnv[0].name=A,draDriver.extraEnv[0].valueFrm.a=b":                                                 "'valueFrm' not allowed",
		"draDriver.extraEnv[0].name=A,draDriver.extraEnv[0].valueFrom.secretKeyRef.keys=b":                                "'keys' not allowed",
		"draDriver.extraEnv[0].name=A,draDriver.extraEnv[0].value=x,draDriver.extraEnv[0].valueFrom.fieldRef.fieldPath=b": "/draDriver/extraEnv/0",
		"draDriver.extraArgs=--log-level=warn":                                                                            "/draDriver/extraArgs",
		"draDriver.ports.metric=1":                                                                                        "'metric' not allowed",
		"draDriver.ports.metrics=0":                                                                                       "/draDriver/ports/metrics",
		"draDriver.ports.metrics=51515":                                                                                   "healthcheck and metrics are both 51515",
		"draDriver.livenessProbe.periodSecond=1":                                                                          "'periodSecond' not allowed",
		"draDriver.image.digest=sha256:1":                                                                                 "/draDriver/image/digest",
		"draDriver.nameOverride=A.B":                                                                                      "/draDriver/nameOverride",
		"draDriver.monitoring.podMonitor.interval=90":                                                                     "/draDriver/monitoring/podMonitor/interval",
		"draDriver.monitoring.podMonitor.interval=":                                                                       "/draDriver/monitoring/podMonitor/interval",
		"draDriver.monitoring.podMonitor.label.a=b":                                                                       "'label' not allowed",
		"draDriver.monitoring.prometheusRule.runbookUrl=x":                                                                "/draDriver/monitoring/prometheusRule/runbookUrl",
		"draDriver.monitoring.podMonitor.interval=0s":                                                                     "/draDriver/monitoring/podMonitor/interval",
		"draDriver.podLabels.team=a b":                                                                                    "/draDriver/podLabels/team",
		"draDriver.efa.driverName=neuron.aws.com":                                                                         "give the EFA driver another name",
		"draDriver.updateStrategy.rollingUpdate.maxSurge=0":                                                               "maxSurge and maxUnavailable are both 0",
		`draDriver.commonLabels.helm\.sh/chart=x`:                                                                         "'helm.sh/chart'",
		`draDriver.podLabels.app\.kubernetes\.io/name=x`:                                                                  "'app.kubernetes.io/name'",
		"dradriver.enabled=false":                                                                                         "dradriver is no value of this chart: its values are below draDriver",
		"draDrivers.enabled=false":                                                                                        "draDrivers is no value of this chart",
		"drDriver.enabled=false":                                                                                          "drDriver is no value of this chart",
		"dra-driver.enabled=false,draDriver.enabled=false":                                                                "dra-driver is no value of this chart",
		"ultraServerOperator.enabled=true":                                                                                "/ultraServerOperator/enabled",
		"ultraServerOperator.image=x":                                                                                     "/ultraServerOperator': missing property 'enabled'",
		"ultraServerOperator=x":                                                                                           "/ultraServerOperator",
	} {
		if _, err := template(t, "--set", bad); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v, want an error with %s", bad, err, words)
		}
	}
	for _, interval := range []string{"30s", "1m30s", "500ms", "1h", "1d12h"} {
		rendered(t, "--set", fmt.Sprintf("draDriver.monitoring.podMonitor.interval=%s", interval))
	}
}
