// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	labelsName   = "neuron-node-labels" // account, role, policy, CronJob and field manager of examples/node-labels.yaml
	labelPrefix  = "neuron.amazonaws.com/"
	presentLabel = labelPrefix + "present"
	serverLabel  = labelPrefix + "ultraserver-server-id-4"
	numberLabel  = labelPrefix + "ultraserver-node-id-4"
	pairLabel    = labelPrefix + "ultraserver-server-id-2"
	inPairLabel  = labelPrefix + "ultraserver-node-id-2"
)

// labelledNode is what the example writes, and where it stands in a Node.
type labelledNode struct {
	Metadata struct {
		Labels        map[string]string `json:"labels"`
		ManagedFields []struct {
			Manager, Time string
		} `json:"managedFields"`
	} `json:"metadata"`
}

// nodeLabels are those labels of a Node that the example may write.
func nodeLabels(t *testing.T, name string) map[string]string {
	t.Helper()
	var node labelledNode
	mustAsk(t, "GET", nodesPath+"/"+name, nil, &node)
	found := map[string]string{}
	for key, value := range node.Metadata.Labels {
		if strings.HasPrefix(key, labelPrefix) {
			found[key] = value
		}
	}
	return found
}

// writtenAt is when the example last changed a Node.
func writtenAt(t *testing.T, name string) string {
	t.Helper()
	var node labelledNode
	mustAsk(t, "GET", nodesPath+"/"+name, nil, &node)
	for _, one := range node.Metadata.ManagedFields {
		if one.Manager == labelsName {
			return one.Time
		}
	}
	return ""
}

// ultraPlace are the labels of the node with this number in the UltraServer.
func ultraPlace(number int) map[string]string {
	return map[string]string{presentLabel: "true", serverLabel: ultraServer, numberLabel: fmt.Sprint(number),
		pairLabel: ultraPairOf(number), inPairLabel: fmt.Sprint(number % 2)}
}

// hasLabels compares the labels of a Node.
func hasLabels(t *testing.T, node string, want map[string]string) {
	t.Helper()
	if found := nodeLabels(t, node); fmt.Sprint(found) != fmt.Sprint(want) {
		t.Errorf("node %s has the labels %v, want %v", node, found, want)
	}
}

// importKubectl makes the example's image for the cluster's first node.
func importKubectl(t *testing.T) {
	t.Helper()
	image := regexp.MustCompile(`image: (\S+)`).FindStringSubmatch(example(t, "node-labels"))[1]
	path, err := run("", "/usr/bin/python3", filepath.Join(root, "tools", "cluster", "images.py"), t.TempDir(),
		kube.Programs["kubectl"], image)
	if err != nil {
		t.Fatal(err)
	}
	newShell(t).typeLine(t, "ctr -n k8s.io images import "+strings.TrimSpace(path))
}

// onFirstNode keeps new pods from the other nodes, which lack the image, until the result is called.
func onFirstNode(t *testing.T) func() {
	t.Helper()
	mustKubectl(t, "cordon", "--selector=kubernetes.io/hostname!="+kube.Node)
	return func() { mustKubectl(t, "uncordon", "--selector=kubernetes.io/hostname!="+kube.Node) }
}

// labelNodes types what cfg/deploy/reference.md says of the node labels, until the test ends. After that only runLabels runs
// the Job, on the node that has its image.
func labelNodes(t *testing.T) {
	t.Helper()
	importKubectl(t)
	defer onFirstNode(t)()
	lines := shellBlock(t, "cfg/deploy/reference.md", "## Node labels")
	t.Cleanup(func() {
		for _, key := range []string{presentLabel, serverLabel, numberLabel, pairLabel, inPairLabel} {
			mustKubectl(t, "label", "nodes", "--all", key+"-")
		}
	})
	t.Cleanup(func() {
		mustKubectl(t, "delete", "-f", filepath.Join(root, "cfg", "deploy", "examples", "node-labels.yaml"), "--ignore-not-found")
	})
	typeLines(t, lines[0])
	mustKubectl(t, "-n", "kube-system", "patch", "cronjob", labelsName, "-p", `{"spec":{"suspend":true}}`)
	typeLines(t, lines[1:]...)
}

// runLabels runs the Job once more; what it has written.
func runLabels(t *testing.T) string {
	t.Helper()
	defer onFirstNode(t)()
	const job = "neuron-node-labels-again"
	mustKubectl(t, "-n", "kube-system", "create", "job", job, "--from=cronjob/"+labelsName)
	defer mustKubectl(t, "-n", "kube-system", "delete", "job", job, "--wait=true")
	if _, err := kubectl("-n", "kube-system", "wait", "--for=condition=Complete", "--timeout=150s", "job/"+job); err != nil {
		about, _ := kubectl("-n", "kube-system", "describe", "pods", "-l", "batch.kubernetes.io/job-name="+job)
		said, _ := kubectl("-n", "kube-system", "logs", "job/"+job)
		t.Fatalf("%v\n%s\n%s", err, about, said)
	}
	return mustKubectl(t, "-n", "kube-system", "logs", "job/"+job)
}

// ultraLabels: the Node has its place, by the names that others read, and the account can write nothing else.
func ultraLabels(t *testing.T) {
	labelNodes(t)
	hasLabels(t, kube.Node, ultraPlace(2))
	labelsConfined(t)
}

// asLabels does a request as the example's account; the answer's status and text.
func asLabels(t *testing.T, token, method, path, kind string, body any) (int, string) {
	t.Helper()
	request := must(http.NewRequest(method, kube.Server+path, bytes.NewReader(must(json.Marshal(body)))))
	request.Header.Set("Content-Type", kind)
	request.Header.Set("Authorization", "Bearer "+token)
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: clusterAuthority().pool()}}}
	defer client.CloseIdleConnections()
	reply := must(client.Do(request))
	defer reply.Body.Close()
	return reply.StatusCode, string(must(io.ReadAll(reply.Body)))
}

// labelsConfined: neither the role nor the policy of the example lets its account do anything else.
func labelsConfined(t *testing.T) {
	rights := mustKubectl(t, "auth", "can-i", "--list", "--as=system:serviceaccount:kube-system:"+labelsName)
	var granted []string
	for _, line := range strings.Split(rights, "\n")[1:] {
		everybody := strings.HasPrefix(line, "selfsubject") || strings.HasPrefix(line, "clustertrustbundles.") // since 1.37
		if fields := strings.Fields(line); len(fields) > 2 && !strings.HasPrefix(line, " ") && !everybody {
			granted = append(granted, fields[0]+" "+line[strings.LastIndex(line, "["):])
		}
	}
	slices.Sort(granted)
	if want := []string{"nodes [list patch]", "resourceslices.resource.k8s.io [list]"}; !slices.Equal(granted, want) {
		t.Errorf("the account may %q, want %q\n%s", granted, want, rights)
	}

	token := mintToken(t, "kube-system", labelsName)
	node := nodesPath + "/" + kube.Node
	merge, apply := "application/merge-patch+json", "application/apply-patch+yaml"
	about := func(key string, value any) object { return object{"metadata": object{key: value}} }
	whole := func(labels object) object {
		return object{"apiVersion": "v1", "kind": "Node", "metadata": object{"name": kube.Node, "labels": labels}}
	}
	const labels, rest, role = "may change only its own labels", "may change nothing but labels", "is forbidden: User"
	for _, one := range []struct {
		what, method, path, kind string
		body                     any
		why                      string
	}{
		{"another label", "PATCH", node, merge, about("labels", object{"example.com/zone": "a"}), labels},
		{"another label beside its own", "PATCH", node, merge, about("labels", object{presentLabel: "true", "example.com/zone": "a"}), labels},
		{"a label of the same prefix", "PATCH", node, merge, about("labels", object{labelPrefix + "other": "a"}), labels},
		{"a label changed", "PATCH", node, merge, about("labels", object{"kubernetes.io/hostname": "other"}), labels},
		{"a label removed", "PATCH", node, merge, about("labels", object{"kubernetes.io/hostname": nil}), labels},
		{"another label, applied", "PATCH", node + "?fieldManager=other&force=true", apply, whole(object{"kubernetes.io/hostname": "x"}), labels},
		{"an annotation", "PATCH", node, merge, about("annotations", object{"example.com/a": "a"}), rest},
		{"a finalizer", "PATCH", node, merge, about("finalizers", []string{"example.com/a"}), rest},
		{"an owner", "PATCH", node, merge, about("ownerReferences", []object{{"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "a"}}), rest},
		{"a taint", "PATCH", node, merge, object{"spec": object{"taints": []object{{"key": "a", "effect": "NoExecute"}}}}, rest},
		{"unschedulable", "PATCH", node, merge, object{"spec": object{"unschedulable": true}}, rest},
		{"the status", "PATCH", node + "/status", merge, object{"status": object{"phase": "Running"}}, role},
		{"a new Node", "PATCH", nodesPath + "/new?fieldManager=" + labelsName, apply,
			object{"apiVersion": "v1", "kind": "Node", "metadata": object{"name": "new"}}, role},
		{"a whole Node", "PUT", node, "application/json", whole(object{}), role},
		{"a Node read", "GET", node, merge, nil, role},
		{"a Node created", "POST", nodesPath, "application/json", whole(object{}), role},
		{"a Node deleted", "DELETE", node, "application/json", nil, role},
		{"all Nodes deleted", "DELETE", nodesPath, "application/json", nil, role},
		{"all slices deleted", "DELETE", slicesPath, "application/json", nil, role},
		{"secrets", "GET", "/api/v1/namespaces/kube-system/secrets", merge, nil, role},
		{"pods", "GET", "/api/v1/pods", merge, nil, role},
	} {
		code, text := asLabels(t, token, one.method, one.path, one.kind, one.body)
		if (code != http.StatusForbidden && code != http.StatusUnprocessableEntity) || !strings.Contains(text, one.why) {
			t.Errorf("%s: %d %s, want a refusal with %q", one.what, code, text, one.why)
		}
	}
	if code, text := asLabels(t, token, "PATCH", node, merge, about("labels", object{presentLabel: "true"})); code != http.StatusOK {
		t.Errorf("its own label: %d %s", code, text)
	}
	// The policy is about this account alone.
	mustKubectl(t, "label", "node", kube.Node, "example.com/zone=a")
	mustKubectl(t, "label", "node", kube.Node, "example.com/zone-")
}

// ultraNodeLabels: the Job on four nodes, repeated, with changes from outside, and when a node leaves the UltraServer.
func ultraNodeLabels(t *testing.T) {
	name := func(number int) string { return fmt.Sprintf("neuron-node-%d", number) }
	all := func() {
		t.Helper()
		for number := range ultraNodes {
			hasLabels(t, name(number), ultraPlace(number))
		}
	}
	all()

	// Nothing to do: no Node is written.
	before := writtenAt(t, name(1))
	if said := runLabels(t); said != "" || writtenAt(t, name(1)) != before || before == "" {
		t.Errorf("a run without a change says %q, and wrote at %s, before at %s", said, writtenAt(t, name(1)), before)
	}
	all()

	// What somebody changed comes back; what somebody else has labelled stays.
	mustKubectl(t, "label", "node", "--overwrite", name(1), serverLabel+"=wrong", pairLabel+"-")
	theirs := map[string]string{presentLabel: "true", serverLabel: "other"}
	mustAsk(t, "POST", nodesPath, object{"apiVersion": "v1", "kind": "Node",
		"metadata": object{"name": "device-plugin", "labels": theirs}}, nil)
	t.Cleanup(func() { mustKubectl(t, "delete", "node", "device-plugin", "--ignore-not-found") })
	if said := runLabels(t); strings.Count(said, "\n") != 1 || !strings.Contains(said, name(1)) {
		t.Errorf("one Node was changed, and the Job says %q", said)
	}
	all()
	hasLabels(t, "device-plugin", theirs)
	mustKubectl(t, "delete", "node", "device-plugin")

	// A node leaves the UltraServer: the kernel module shows no place any more.
	run, folder := nodeRun(3)
	class := filepath.Join(folder, "node", "sys", "class", "neuron_device")
	for _, file := range []string{"server_id_4", "node_id_4", "server_id_2", "node_id_2"} {
		if err := os.Remove(filepath.Join(class, file)); err != nil {
			t.Fatal(err)
		}
	}
	controlOf(t, run, "agent", "stop")
	controlOf(t, run, "agent", "start")
	eventually(t, "a slice without a place", soon, func() error {
		if text := fmt.Sprintf("%+v", follow().of(name(3), driver)); strings.Contains(text, "ultraserverServerId4") {
			return fmt.Errorf("it is %s", text)
		}
		return nil
	})
	runLabels(t)
	hasLabels(t, name(3), map[string]string{presentLabel: "true"})
	hasLabels(t, name(2), ultraPlace(2))

	// A node without devices of the driver.
	controlOf(t, run, "agent", "stop")
	mustKubectl(t, "delete", "resourceslices", "--field-selector=spec.driver="+driver+",spec.nodeName="+name(3))
	runLabels(t)
	hasLabels(t, name(3), map[string]string{})

	// It comes back.
	elect(t, folder, "1,3,4", 3)
	controlOf(t, run, "agent", "start")
	ultraPlaces(t)
	runLabels(t)
	all()
}
