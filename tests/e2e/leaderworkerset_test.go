// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/base64"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"
)

// webhookService is what a webhook of the controller's manifests calls; here it is called by address.
var webhookService = regexp.MustCompile(`    service:\n      name: webhook-service\n      namespace: system\n      path: (\S+)\n`)

// leaderWorkerSets runs the controller of LeaderWorkerSets until the test ends: the real one, with its own manifests, as a
// process beside the cluster's other controllers.
func leaderWorkerSets(t *testing.T) {
	t.Helper()
	program := kube.Programs["lws"]
	manifests := filepath.Join(filepath.Dir(program), "config")
	for _, name := range must(filepath.Glob(filepath.Join(manifests, "crd", "bases", "*.yaml"))) {
		mustKubectl(t, "apply", "--server-side", "-f", name)
		t.Cleanup(func() { mustKubectl(t, "delete", "-f", name) })
	}
	mustKubectl(t, "wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")

	dir, secrets := t.TempDir(), filepath.Join(kube.Run, "pki")
	for from, to := range map[string]string{"apiserver.crt": "tls.crt", "apiserver.key": "tls.key"} {
		overwrite(t, filepath.Join(dir, to), string(must(os.ReadFile(filepath.Join(secrets, from)))))
	}
	listener := must(net.Listen("tcp", "127.0.0.1:0"))
	address := listener.Addr().(*net.TCPAddr)
	_ = listener.Close()
	overwrite(t, filepath.Join(dir, "config.yaml"), fmt.Sprintf(`apiVersion: config.lws.x-k8s.io/v1alpha1
kind: Configuration
webhook: {host: 127.0.0.1, port: %d, certDir: %s}
internalCertManagement: {enable: false}
`, address.Port, dir))
	command := exec.Command(program, "--config", filepath.Join(dir, "config.yaml"), "--kubeconfig", kube.Kubeconfig,
		"--leader-elect=false", "--metrics-bind-address=0", "--health-probe-bind-address=0")
	log := must(os.Create(filepath.Join(kube.Run, "logs", "lws.log")))
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		_ = log.Close()
	})

	text := string(must(os.ReadFile(filepath.Join(manifests, "webhook", "manifests.yaml"))))
	ca := base64.StdEncoding.EncodeToString(must(os.ReadFile(filepath.Join(secrets, "ca.crt"))))
	text = webhookService.ReplaceAllString(text, fmt.Sprintf("    url: https://%s$1\n    caBundle: %s\n", address, ca))
	// What the controller's kustomization adds: pods of others are none of its business.
	const ours = "\n  objectSelector: {matchExpressions: [{key: leaderworkerset.sigs.k8s.io/name, operator: Exists}]}\n"
	for _, hook := range []string{"mpod", "vpod"} {
		text = changed(t, text, "\n  name: "+hook+".kb.io\n", "\n  name: "+hook+".kb.io"+ours)
	}
	eventually(t, "the controller serves its webhooks", soon, func() error {
		conn, err := net.Dial("tcp", address.String())
		if err == nil {
			_ = conn.Close()
		}
		return err
	})
	file := filepath.Join(dir, "webhooks.yaml")
	overwrite(t, file, text)
	mustKubectl(t, "apply", "-f", file)
	t.Cleanup(func() { mustKubectl(t, "delete", "-f", file) })
}

// groups are the names of the pods of each group of a set, by the group's number.
func groups(t *testing.T, set string) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	out := mustKubectl(t, "get", "pods", "-l", "leaderworkerset.sigs.k8s.io/name="+set, "-o",
		`jsonpath={range .items[*]}{.metadata.labels.leaderworkerset\.sigs\.k8s\.io/group-index} {.metadata.name}{"\n"}{end}`)
	for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
		if group, pod, is := strings.Cut(line, " "); is {
			found[group] = append(found[group], pod)
			sort.Strings(found[group])
		}
	}
	return found
}

// ultraGroups is the example as it stands: of its two groups of four, one has the UltraServer, and the other waits.
func ultraGroups(t *testing.T) {
	leaderWorkerSets(t)
	template, _, _ := strings.Cut(example(t, ultraExample), "\n---\n")
	apply(t, template)
	apply(t, example(t, "leaderworkerset/us-4-node-config"))
	defer mustKubectl(t, "delete", "leaderworkerset", "vllm")
	var running []string
	eventually(t, "a group of four, and the other's leader", soon, func() error {
		all := groups(t, "vllm")
		if len(all["0"])+len(all["1"]) != 5 {
			return fmt.Errorf("groups %v", all)
		}
		running = all["0"]
		if len(all["1"]) == 4 {
			running = all["1"]
		}
		return nil
	})
	waitRunning(t, running...)
	placed(t, running, serverLabel, func(number int) []string { return ultraEnv(1, number, ultraServer) })
	for _, name := range []string{"vllm-0", "vllm-1"} {
		if p := getPod(t, name); name != running[0] && p.Status.Phase != "Pending" {
			t.Errorf("the other group's leader %s is %s on %s", name, p.Status.Phase, p.Spec.Node)
		}
	}
}

// placed holds that each of these pods has a node of its own, that the controller bound it to the label, and what it is told.
// It returns the numbers of the nodes, in the order of the pods.
func placed(t *testing.T, pods []string, label string, env func(number int) []string) (at []int) {
	t.Helper()
	places := map[int]string{}
	for _, name := range pods {
		container := mustKubectl(t, "get", "pod", name, "-o", "jsonpath={.spec.containers[0].name}")
		var number int
		if _, err := fmt.Sscanf(getPod(t, name).Spec.Node, "neuron-node-%d", &number); err != nil || places[number] != "" {
			t.Errorf("pods %s and %s are on node %d (%v)", name, places[number], number, err)
		}
		places[number] = name
		at = append(at, number)
		// It is the controller that keeps the group together.
		if bound := mustKubectl(t, "get", "pod", name, "-o", "jsonpath={.spec.affinity}{.spec.nodeSelector}"); !strings.Contains(bound, label) {
			t.Errorf("pod %s is bound to no UltraServer: %s", name, bound)
		}
		checkContainer(t, name, container, wholeNode(), env(number)...)
	}
	return at
}

// ultraPairs is the example of two groups of two: each has a pair of linked nodes.
func ultraPairs(t *testing.T) {
	leaderWorkerSets(t)
	template, _, _ := strings.Cut(example(t, "us-2-node-config"), "\n---\n")
	apply(t, template)
	apply(t, example(t, "leaderworkerset/us-2-node-config"))
	defer mustKubectl(t, "delete", "leaderworkerset", "vllm-pairs")
	var all map[string][]string
	eventually(t, "two groups of two", soon, func() error {
		if all = groups(t, "vllm-pairs"); len(all["0"]) != 2 || len(all["1"]) != 2 {
			return fmt.Errorf("groups %v", all)
		}
		return nil
	})
	for _, pods := range all {
		waitRunning(t, pods...)
		at := placed(t, pods, pairLabel, func(number int) []string { return ultraEnv(3, number%2, ultraPairOf(number)) })
		if at[0]/2 != at[1]/2 {
			t.Errorf("the pods %v are on the nodes %v, which are no pair", pods, at)
		}
	}
}
