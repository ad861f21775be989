// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"
)

// cluster is the file in which tools/cluster/cluster.py describes a running cluster.
type cluster struct {
	Name       string            `json:"name"`
	Node       string            `json:"node_name"`
	Kubeconfig string            `json:"kubeconfig"`
	Run        string            `json:"run"` // folder of this run
	CDI        string            `json:"cdi"`
	AgentLog   string            `json:"log"`
	Programs   map[string]string `json:"programs"`
	Seen       []string          `json:"seen"` // versions of resource.k8s.io that the API server serves, newest first
	Agent      string            `json:"agent"`
	Server     string            `json:"server"` // the API server that the tests use
	Short      string            `json:"short"`  // folder with a short name, for sockets
	Slot       int               `json:"slot"`
}

const (
	driver = "neuron.aws.com"
	// exampleImage is that of all examples; tools/cluster/images.py makes it.
	exampleImage = "public.ecr.aws/docker/library/busybox:1.37.0"
	soon         = 150 * time.Second
)

var (
	kube cluster
	root string // of the repository
)

// loadCluster reads the description of the cluster that the caller brought up.
func loadCluster(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, &kube); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if len(kube.Seen) == 0 {
		return fmt.Errorf("%s names no version of resource.k8s.io: bring the cluster up again", path)
	}
	// kubectl remembers what an address serves; the next cluster has the same address and may serve something else.
	if err := os.Setenv("KUBECACHEDIR", filepath.Join(kube.Run, "kube-cache")); err != nil {
		return err
	}
	root, err = filepath.Abs(filepath.Join("..", ".."))
	return err
}

// run executes a program; its standard output, or an error with what it said.
func run(stdin string, name string, args ...string) (string, error) {
	command := exec.Command(name, args...)
	var out, errors bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = strings.NewReader(stdin), &out, &errors
	if err := command.Run(); err != nil {
		return out.String(), fmt.Errorf("%s %s: %w: %s%s", filepath.Base(name),
			strings.Join(args, " "), err, errors.String(), out.String())
	}
	return out.String(), nil
}

// kubectl runs kubectl as the cluster's administrator.
func kubectl(args ...string) (string, error) {
	return run("", kube.Programs["kubectl"], append([]string{"--kubeconfig", kube.Kubeconfig}, args...)...)
}

func mustKubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := kubectl(args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func apply(t *testing.T, manifest string) {
	t.Helper()
	manifest = served(t, manifest)
	if _, err := run(manifest, kube.Programs["kubectl"], "--kubeconfig", kube.Kubeconfig, "apply", "-f", "-"); err != nil {
		t.Fatal(err)
	}
}

// get decodes one object or list.
func get(into any, args ...string) error {
	out, err := kubectl(append([]string{"get", "-o", "json"}, args...)...)
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(out), into)
}

// control asks the cluster's runner for something: another board, the agent or the kubelet ended or started.
func control(t *testing.T, args ...string) {
	t.Helper()
	controlOf(t, kube.Name, args...)
}

// controlOf asks for it of another run: that of a node which joined the cluster.
func controlOf(t *testing.T, name string, args ...string) {
	t.Helper()
	script := filepath.Join(root, "tools", "cluster", "cluster.py")
	if _, err := run("", "/usr/bin/python3", append(append([]string{script}, args...), "--name", name)...); err != nil {
		t.Fatal(err)
	}
}

// eventually repeats check until it succeeds; its last error is the failure's text.
func eventually(t *testing.T, what string, within time.Duration, check func() error) {
	t.Helper()
	deadline := time.Now().Add(within)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %s: %v\n%s", what, within, err, agentLogTail())
		}
		time.Sleep(200 * time.Millisecond)
	}
}

func agentLogTail() string {
	data, err := os.ReadFile(kube.AgentLog)
	if err != nil {
		return err.Error()
	}
	lines := strings.SplitAfter(string(data), "\n")
	if len(lines) > 12 {
		lines = lines[len(lines)-12:]
	}
	return "the agent's last lines:\n" + strings.Join(lines, "")
}

// examplesRun are the examples that tests have read.
var examplesRun = map[string]bool{}

// example reads a manifest that users are shown.
func example(t *testing.T, name string) string {
	t.Helper()
	examplesRun[name+".yaml"] = true
	data, err := os.ReadFile(filepath.Join(root, "cfg", "deploy", "examples", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// changed replaces text that has to be there, so that no case silently tests the unchanged manifest.
func changed(t *testing.T, manifest, old, new string) string {
	t.Helper()
	if !strings.Contains(manifest, old) {
		t.Fatalf("the manifest has no %q to change:\n%s", old, manifest)
	}
	return strings.ReplaceAll(manifest, old, new)
}

// renamed gives the pod of an example another name; the template keeps its own.
func renamed(t *testing.T, manifest, old, new string) string {
	t.Helper()
	return changed(t, manifest, "\n  name: "+old+"\n", "\n  name: "+new+"\n")
}

type meta struct {
	Name            string `json:"name"`
	UID             string `json:"uid"`
	ResourceVersion string `json:"resourceVersion"`
	OwnerReferences []struct {
		Kind string `json:"kind"`
		Name string `json:"name"`
		UID  string `json:"uid"`
	} `json:"ownerReferences"`
}

type pod struct {
	Metadata meta `json:"metadata"`
	Spec     struct {
		Node string `json:"nodeName"`
	} `json:"spec"`
	Status struct {
		Phase                 string `json:"phase"`
		ResourceClaimStatuses []struct {
			Name string `json:"resourceClaimName"`
		} `json:"resourceClaimStatuses"`
		Conditions []struct {
			Type   string `json:"type"`
			Status string `json:"status"`
		} `json:"conditions"`
	} `json:"status"`
}

func (p *pod) ready() bool {
	for _, condition := range p.Status.Conditions {
		if condition.Type == "Ready" {
			return condition.Status == "True"
		}
	}
	return false
}

func getPod(t *testing.T, name string) pod {
	t.Helper()
	var p pod
	if err := get(&p, "pod", name); err != nil {
		t.Fatal(err)
	}
	return p
}

// waitRunning waits until every named pod is Ready.
func waitRunning(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		name := name
		eventually(t, "pod "+name+" Ready", soon, func() error {
			var p pod
			if err := get(&p, "pod", name); err != nil {
				return err
			}
			if p.ready() {
				return nil
			}
			return fmt.Errorf("phase %s; events: %s", p.Status.Phase, strings.Join(events(name, ""), " | "))
		})
	}
}

// events are the messages about the pod of this name that lives now, of one reason or of all.
func events(name, reason string) []string {
	var p pod
	if err := get(&p, "pod", name); err != nil {
		return []string{err.Error()}
	}
	selector := "involvedObject.uid=" + p.Metadata.UID
	if reason != "" {
		selector += ",reason=" + reason
	}
	var list struct {
		Items []struct {
			Message string `json:"message"`
		} `json:"items"`
	}
	if err := get(&list, "events", "--field-selector", selector); err != nil {
		return []string{err.Error()}
	}
	var messages []string
	for _, item := range list.Items {
		messages = append(messages, item.Message)
	}
	return messages
}

// waitEvent waits until an event of this reason about the pod contains text.
func waitEvent(t *testing.T, name, reason, text string) {
	t.Helper()
	eventually(t, fmt.Sprintf("event %s with %q about pod %s", reason, text, name), soon, func() error {
		messages := events(name, reason)
		for _, message := range messages {
			if strings.Contains(message, text) {
				return nil
			}
		}
		return fmt.Errorf("events: %q", messages)
	})
}

// waitPending waits for the scheduler's verdict and checks that nothing was allocated or started.
func waitPending(t *testing.T, name string) {
	t.Helper()
	waitEvent(t, name, "FailedScheduling", "cannot allocate all claims")
	p := getPod(t, name)
	if p.Status.Phase != "Pending" {
		t.Fatalf("pod %s is %s, not Pending", name, p.Status.Phase)
	}
	if devices, err := allocated(p); err != nil || len(devices) != 0 {
		t.Fatalf("pod %s holds devices %v (%v)", name, devices, err)
	}
}

// allocated are the names of the devices that the pod's claims were given, by request.
func allocated(p pod) (map[string][]string, error) {
	found := map[string][]string{}
	for _, status := range p.Status.ResourceClaimStatuses {
		var claim struct {
			Status struct {
				Allocation struct {
					Devices struct {
						Results []struct{ Request, Driver, Pool, Device string }
					} `json:"devices"`
				} `json:"allocation"`
			} `json:"status"`
		}
		if err := get(&claim, "resourceclaim", status.Name); err != nil {
			return nil, err
		}
		for _, result := range claim.Status.Allocation.Devices.Results {
			if result.Driver != driver && result.Driver != efaDriver || result.Pool != kube.Node && result.Pool != p.Spec.Node {
				return nil, fmt.Errorf("claim %s: result %+v is of another driver or pool", status.Name, result)
			}
			found[result.Request] = append(found[result.Request], result.Device)
		}
	}
	for _, devices := range found {
		sort.Strings(devices)
	}
	return found, nil
}

// cdiFiles are the entries of the CDI directory.
func cdiFiles() ([]string, error) {
	entries, err := os.ReadDir(kube.CDI)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names, nil
}

// clean deletes all pods and templates and waits until pods, claims and CDI files are gone.
func clean(t *testing.T) {
	t.Helper()
	mustKubectl(t, "delete", "pods", "--all", "--wait=false")
	mustKubectl(t, "delete", "resourceclaimtemplates", "--all", "--wait=false")
	eventually(t, "pods, claims and CDI files gone", soon, func() error {
		out, err := kubectl("get", "pods,resourceclaims", "-o", "name")
		if err != nil {
			return err
		}
		if out != "" {
			return fmt.Errorf("left: %s", strings.ReplaceAll(out, "\n", " "))
		}
		files, err := cdiFiles()
		if err != nil || len(files) != 0 {
			return fmt.Errorf("CDI directory holds %v (%v)", files, err)
		}
		return nil
	})
}
