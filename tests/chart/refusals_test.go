// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"
)

// agentTakes tells whether the agent of a pod starts with this driver for EFA devices, below this root of the kubelet. Without an
// API server the command ends after it has read its settings.
func agentTakes(t *testing.T, kubelet string, flags ...string) bool {
	t.Helper()
	command := exec.Command(os.Getenv("AGENT"), append([]string{"reservations"}, flags...)...)
	command.Env = []string{"POD_UID=01234567-89ab-cdef-0123-456789abcdef",
		"KUBELET_REGISTRAR_DIRECTORY_PATH=" + kubelet + "/plugins_registry", "KUBELET_PLUGINS_DIRECTORY_PATH=" + kubelet + "/plugins"}
	out, err := command.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "no API server") &&
		!regexp.MustCompile(`--efa-driver-name|registration socket`).Match(out) {
		t.Fatalf("%v: %v, %s", flags, err, out)
	}
	return strings.Contains(string(out), "no API server")
}

// TestDriverName: the chart takes the name of a driver if the agent does, and gives it on as it is, also where YAML would read
// a number.
func TestDriverName(t *testing.T) {
	const usual, longest, longer = "/var/lib/kubelet", "/mnt/a-long-directory/kubelet", "/mnt/a-long-directory/kubelets"
	for _, one := range []struct {
		driver, kubelet string
		good            bool
	}{
		{"dra.net", usual, true}, {"1.5", usual, true}, {"1e3", usual, true}, {"a-b.c", usual, true}, {"neuron.aws.com.a", usual, true},
		{"a..b", usual, false}, {"a.-b", usual, false}, {"a-.b", usual, false}, {"-a", usual, false}, {"a.", usual, false},
		{"neuron.aws.com", usual, false}, {"A", usual, false}, {strings.Repeat("a", 27), usual, true},
		{strings.Repeat("a", 28), usual, false}, {strings.Repeat("a", 63), usual, false},
		{strings.Repeat("a", 14), longest, true}, {strings.Repeat("a", 15), longest, false}, {"dra.net", longer, false}, {"", longest, true},
		{"", longer, false},
	} {
		values, flags := "draDriver.hostPaths.kubelet="+one.kubelet, []string(nil)
		if one.driver != "" {
			values += ",draDriver.efa.enabled=true"
			flags = []string{"--efa", "true", "--efa-driver-name", one.driver}
		}
		args := []string{"--set", values}
		if one.driver != "" {
			args = append(args, "--set-string", "draDriver.efa.driverName="+one.driver)
		}
		if takes := agentTakes(t, one.kubelet, flags...); takes != one.good {
			t.Errorf("%v: the agent takes it: %t", one, takes)
		}
		out, err := template(t, args...)
		if (err == nil) != one.good || err != nil && !strings.Contains(err.Error(), "/draDriver/efa/driverName") &&
			!strings.Contains(err.Error(), "draDriver.efa.driverName: neuron.aws.com is the driver") &&
			!strings.Contains(err.Error(), "draDriver.hostPaths.kubelet: the registration socket of the driver ") {
			t.Errorf("%v: %v", one, err)
		}
		if err != nil || one.driver == "" {
			continue
		}
		found := objects(t, out)
		env := found[agentSet].(*apps.DaemonSet).Spec.Template.Spec.Containers[0].Env
		job := found["batch/v1/Job/neuron-dra-driver-uninstall"].(*batch.Job).Spec.Template.Spec.Containers[0].Args
		if !slices.Contains(env, core.EnvVar{Name: "EFA_DRIVER_NAME", Value: one.driver}) || !slices.Contains(job, one.driver) {
			t.Errorf("%s reaches the agent as %v, and the uninstallation as %v", one.driver, env, job)
		}
	}
}

// TestProbesWithoutTimes: a probe all of whose times are null has those of Kubernetes.
func TestProbesWithoutTimes(t *testing.T) {
	agent := daemonSet(t, "--set", "draDriver.livenessProbe.initialDelaySeconds=null,draDriver.livenessProbe.periodSeconds=null,"+
		"draDriver.livenessProbe.timeoutSeconds=null,draDriver.livenessProbe.failureThreshold=null,"+
		"draDriver.readinessProbe.periodSeconds=null,draDriver.readinessProbe.timeoutSeconds=null").Spec.Template.Spec.Containers[0]
	if agent.LivenessProbe == nil || agent.LivenessProbe.GRPC == nil || agent.LivenessProbe.PeriodSeconds != 0 {
		t.Errorf("the liveness probe is %+v", agent.LivenessProbe)
	}
	if agent.ReadinessProbe == nil || agent.ReadinessProbe.HTTPGet == nil || agent.ReadinessProbe.PeriodSeconds != 0 {
		t.Errorf("the readiness probe is %+v", agent.ReadinessProbe)
	}
}

// TestReleaseNames: whatever name Helm takes for a release gives names that Kubernetes takes, and a variable that the kubelet sets.
func TestReleaseNames(t *testing.T) {
	for _, release := range []string{"a.b", "1-b", "1.b.c", "1e3", strings.Repeat("a", 34) + ".bbbb.c", strings.Repeat("1", 39) + ".b"} {
		out, err := helm(t, "template", release, chart, "--namespace", "others", "-f", "values/second-release.yaml")
		if err != nil {
			t.Fatal(err)
		}
		var service, variable string
		for name, object := range objects(t, out) {
			names(t, release, name, object)
			whole := object.(meta.Object).GetName()
			if problems := validation.IsDNS1123Subdomain(whole); len(problems) != 0 {
				t.Errorf("%s: %s: %v", release, name, problems)
			}
			switch one := object.(type) {
			case *core.Service:
				service = whole
				if problems := validation.IsDNS1035Label(whole); len(problems) != 0 {
					t.Errorf("%s: the Service is %s: %v", release, whole, problems)
				}
			case *core.Pod:
				if strings.HasSuffix(whole, "-readiness") {
					variable = one.Spec.Containers[0].Env[0].Value
				}
			}
		}
		// The kubelet's own rule: upper case, and "_" for "-".
		if want := "$(" + strings.ToUpper(strings.ReplaceAll(service, "-", "_")) + "_SERVICE_HOST)"; service == "" || variable != want {
			t.Errorf("%s: the test asks at %s, want %s", release, variable, want)
		}
	}
}

// groups are the paths of the values that are objects, and of the list of instance types.
func groups(path string, value any, found []string) []string {
	below, is := value.(map[string]any)
	if is || path == "draDriver.instanceTypes" {
		found = append(found, path)
	}
	for key, one := range below {
		found = groups(path+"."+key, one, found)
	}
	return found
}

// TestNullGroups: no object of values that is null ends in an error of a template; one that the templates need is refused by
// its name.
func TestNullGroups(t *testing.T) {
	var values map[string]any
	if err := yaml.Unmarshal([]byte(read(t, "cfg", "deploy", "chart", "values.yaml")), &values); err != nil {
		t.Fatal(err)
	}
	var refused []string
	all := groups("draDriver", values["draDriver"], nil)
	for _, path := range all {
		_, err := template(t, "--set", path+"=null")
		if err == nil {
			continue
		}
		refused = append(refused, path)
		if last := path[strings.LastIndexByte(path, '.')+1:]; !strings.Contains(err.Error(), "missing property '"+last+"'") {
			t.Errorf("%s=null: %v", path, err)
		}
	}
	want := []string{"draDriver", "draDriver.admission", "draDriver.efa", "draDriver.hostPaths", "draDriver.image", "draDriver.instanceTypes",
		"draDriver.kubeletState", "draDriver.monitoring", "draDriver.monitoring.dashboard", "draDriver.monitoring.podMonitor",
		"draDriver.monitoring.prometheusRule", "draDriver.serviceAccount", "draDriver.uninstall"}
	slices.Sort(refused)
	if len(all) <= len(want) || !slices.Equal(refused, want) {
		t.Errorf("of %d, these are refused: %v, want %v", len(all), refused, want)
	}
	for _, leaf := range []string{"efa.share", "efa.driverName", "hostPaths.kubelet", "hostPaths.devicePlugins", "hostPaths.cdi", "hostPaths.dev"} {
		_, name, _ := strings.Cut(leaf, ".")
		if _, err := template(t, "--set", "draDriver."+leaf+"=null"); err == nil || !strings.Contains(err.Error(), "missing property '"+name+"'") {
			t.Errorf("%s=null: %v", leaf, err)
		}
	}
}
