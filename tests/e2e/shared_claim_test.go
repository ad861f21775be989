// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
)

// podsOfClaims is what `claims --pod` prints as the pods of each claim of a pod.
func podsOfClaims(t *testing.T, pod string) map[string][]string {
	t.Helper()
	var shown struct {
		Claims []struct {
			Name string
			Pods []string
		} `json:"claims"`
	}
	out := nodeCommand(t, "claims", "--pod", "default/"+pod, "-o", "json")
	if err := json.Unmarshal([]byte(out), &shown); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	found := map[string][]string{}
	for _, claim := range shown.Claims {
		found[claim.Name] = claim.Pods
	}
	return found
}

// checkPodsOfClaim: `claims --pod` prints the claim with exactly these pods, in any order, for each of them.
func checkPodsOfClaim(t *testing.T, claim string, pods ...string) {
	t.Helper()
	for _, pod := range pods {
		eventually(t, "the pods of claim "+claim+" for "+pod, soon, func() error {
			found := podsOfClaims(t, pod)
			want, got := map[string]bool{}, map[string]bool{}
			for _, name := range pods {
				want[name] = true
			}
			for _, name := range found[claim] {
				got[name] = true
			}
			if len(found) != 1 || len(found[claim]) != len(pods) || !reflect.DeepEqual(got, want) {
				return fmt.Errorf("%v, want %v", found, pods)
			}
			return nil
		})
	}
}

var (
	heldSeries     = regexp.MustCompile(`(?m)^neuron_dra_device_held\{device="([^"]*)",claim_namespace="default",claim_name="([^"]*)",.*\} 1$`)
	consumerSeries = regexp.MustCompile(`(?m)^neuron_dra_device_consumer_info\{device="([^"]*)",kind="([^"]*)",name="([^"]*)",uid="([^"]*)"\} 1$`)
)

// checkConsumers: soon after, /metrics have exactly these consumers, as "Pod NAME" or "PodGroup NAME", for each device of the claim;
// the first of them alone has a UID. Each of the other series of a device is there once.
func checkConsumers(t *testing.T, port, claim string, devices int, consumers ...string) {
	t.Helper()
	eventually(t, "the consumers of claim "+claim+" in the metrics", time.Minute, func() error {
		response, err := http.Get("http://127.0.0.1:" + port + "/metrics")
		if err != nil {
			return err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			return err
		}
		text := string(body)
		held := 0
		for _, series := range heldSeries.FindAllStringSubmatch(text, -1) {
			if series[2] != claim {
				continue
			}
			held++
			found := map[string]string{}
			for _, of := range consumerSeries.FindAllStringSubmatch(text, -1) {
				if of[1] == series[1] {
					found[of[2]+" "+of[3]] = of[4]
				}
			}
			for i, want := range consumers {
				if uid, ok := found[want]; !ok || (uid != "") != (i == 0) {
					return fmt.Errorf("%s: %v, want %v", series[1], found, consumers)
				}
			}
			if len(found) != len(consumers) {
				return fmt.Errorf("%s: %v, want %v", series[1], found, consumers)
			}
		}
		if held != devices || !strings.Contains(text, "\nneuron_dra_device_consumers_complete 1\n") {
			return fmt.Errorf("%d series of %d devices are held, or the list is not complete:\n%s", held, devices, text)
		}
		return nil
	})
}

// checkFirst: without the kubelet's list, a line says so, and the claim is that of the first pod alone.
func checkFirst(t *testing.T, plugins, why string) {
	t.Helper()
	node := filepath.Join(kube.Run, "node")
	for pod, words := range map[string]string{"sharer-0": "prepared for: Pod sharer-0\n", "sharer-1": "no claim was prepared here for pod default/sharer-1; "} {
		out, err := exec.Command(kube.Agent, "claims", "--pod", "default/"+pod, "--sysfs-root", filepath.Join(node, "sys"), "--dev-root", filepath.Join(node, "dev"),
			"--cdi-root", kube.CDI, "--kubelet-plugins-directory-path", plugins).CombinedOutput()
		if (err == nil) != (pod == "sharer-0") || !strings.Contains(string(out), words) ||
			!strings.Contains(string(out), "neuron-dra-agent: pods that share a claim may be missing: the kubelet, at "+filepath.Dir(plugins)+
				"/pod-resources/kubelet.sock: "+why+"\n") {
			t.Errorf("%s, %s: %v\n%s", why, pod, err, out)
		}
	}
}

// TestSharedClaim: the second pod joins a claim that was prepared for the first one; the kubelet does not call the agent for it.
func TestSharedClaim(t *testing.T) {
	port := freePort(t)
	takeNode(t, "--flag=--metrics-port="+port)
	defer clean(t)
	template, pod, _ := strings.Cut(example(t, "single-device"), "---\n")
	claim := changed(t, template, "kind: ResourceClaimTemplate", "kind: ResourceClaim")
	claim = changed(t, claim, "spec:\n  spec:\n    devices:\n      requests:\n      - name: neurons\n        exactly:\n"+
		"          deviceClassName: neuron.aws.com\n          allocationMode: ExactCount\n          count: 1\n",
		"spec:\n  devices:\n    requests:\n    - name: neurons\n      exactly:\n        deviceClassName: neuron.aws.com\n")
	pod = changed(t, pod, "resourceClaimTemplateName:", "resourceClaimName:")
	apply(t, claim)
	defer mustKubectl(t, "delete", "--ignore-not-found", "--wait=false", "resourceclaim", "single-neuron")
	apply(t, renamed(t, pod, "single-device", "sharer-0"))
	waitRunning(t, "sharer-0")
	apply(t, renamed(t, pod, "single-device", "sharer-1"))
	waitRunning(t, "sharer-1")
	if serverMinor(t) < 34 { // whose kubelet does not list claims unless a feature gate is on
		checkFirst(t, filepath.Join(kube.Short, "kubelet", "plugins"), "it lists no claims")
		return
	}
	checkPodsOfClaim(t, "single-neuron", "sharer-0", "sharer-1")
	checkConsumers(t, port, "single-neuron", 1, "Pod sharer-0", "Pod sharer-1")

	// The directories of an agent whose pod lacks the mount.
	apart := filepath.Join(must(os.MkdirTemp(kube.Short, "p")), "plugins")
	defer os.RemoveAll(filepath.Dir(apart))
	if err := os.Symlink(filepath.Join(kube.Short, "kubelet", "plugins"), apart); err != nil {
		t.Fatal(err)
	}
	checkFirst(t, apart, "no such file or directory")

	mustKubectl(t, "delete", "pod", "sharer-0", "--wait=true")
	checkPodsOfClaim(t, "single-neuron", "sharer-1")
}
