// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"e2e/proxy"
)

const (
	agentNamespace = "neuron-dra-driver"
	agentAccount   = "neuron-dra-driver-sa"
	foreignDriver  = "other.example.com"
)

// world is one agent with everything that is its own: a Node object, directories, and a proxy before the API server.
type world struct {
	t        *testing.T
	name     string // of its node
	dir      string // short: sockets below it have at most 107 bytes
	address  string // of its API server, host alone
	proxy    *proxy.Proxy
	board    string
	garbage  string // what simnode.py spoils in its simulated node; empty: nothing
	findings int    // Events that its simulated node is worth
	devices  int    // -1: as many as the board has
	flags    []string
	hosts    string // its own /etc/hosts, if it has one

	process *exec.Cmd
	ended   chan struct{}
	wanted  bool // its end was asked for
	log     lines

	node    meta
	want    []device
	foreign []slice
	claims  []*claim
	held    *claim // prepared before the fault, and during it again
	spare   *claim // unprepared during the fault
}

type lines struct {
	mu   sync.Mutex
	text []string
}

func (l *lines) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, line)
}

// find is the first line that holds all words, or empty.
func (l *lines) find(words ...string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
next:
	for _, line := range l.text {
		for _, word := range words {
			if !strings.Contains(line, word) {
				continue next
			}
		}
		return line
	}
	return ""
}

func (l *lines) all() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.text, "\n")
}

var worlds atomic.Int32

// newWorld makes a node and its proxy. Nothing runs yet.
func newWorld(t *testing.T) *world {
	t.Helper()
	number := int(worlds.Add(1))
	w := &world{t: t, name: fmt.Sprintf("case-%d", number), board: "trn2.48xlarge", devices: -1}
	// Addresses of loopback of its own: those of two clusters, and of two cases, are never the same.
	w.address = fmt.Sprintf("127.%d.%d.%d", 100+kube.Slot, number/250, 1+number%250)
	w.dir = must(os.MkdirTemp(kube.Short, "w"))
	for _, folder := range []string{"r", "p", "c"} {
		if err := os.Mkdir(filepath.Join(w.dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w.proxy = proxy.New(kube.Server, clusterAuthority().pool(), clusterAuthority().server(w.address))
	w.write("token", mintToken(t, agentNamespace, agentAccount))
	w.write("ca.crt", string(clusterAuthority().pem))
	t.Cleanup(w.remove)
	return w
}

// remove ends the agent and takes back everything from the API server.
func (w *world) remove() {
	w.kill()
	if w.t.Failed() || os.Getenv("E2E_LOGS") != "" {
		w.t.Logf("the agent of %s said:\n%s\nits requests:\n%s", w.name, w.log.all(), w.requestLog())
	}
	w.proxy.Close()
	for _, one := range w.claims {
		_ = ask("DELETE", claimsPath+"/"+one.name, nil, nil)
	}
	_ = ask("DELETE", nodesPath+"/"+w.name, nil, nil)
	for _, one := range append(follow().of(w.name, driver), w.foreign...) {
		_ = ask("DELETE", slicesPath+"/"+one.Metadata.Name, nil, nil)
	}
	_ = os.RemoveAll(w.dir)
}

func (w *world) requestLog() string {
	var text strings.Builder
	for _, r := range w.proxy.Requests() {
		fmt.Fprintf(&text, "%s %s %s %s %d\n", r.At.Format("15:04:05.000"), r.Kind, r.Method, r.Path, r.Status)
	}
	return text.String()
}

func (w *world) write(name, content string) string {
	path := filepath.Join(w.dir, name)
	overwrite(w.t, path+".new", content)
	if err := os.Rename(path+".new", path); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// overwrite changes a file in place: one that is mounted elsewhere stays the same file.
func overwrite(t testing.TB, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// listen lets the proxy serve at the world's port 6443 of an address.
func (w *world) listen(address string) {
	w.t.Helper()
	if _, err := w.proxy.Listen(net.JoinHostPort(address, "6443")); err != nil {
		w.t.Fatal(err)
	}
}

// kubeconfig names the API server by an address or a name at the usual port.
func (w *world) kubeconfig(host string) { w.kubeconfigAt(net.JoinHostPort(host, "6443")) }

func (w *world) kubeconfigAt(address string) {
	w.write("kubeconfig", `apiVersion: v1
kind: Config
clusters:
- name: test
  cluster:
    server: https://`+address+`
    certificate-authority: `+filepath.Join(w.dir, "ca.crt")+`
contexts:
- name: test
  context:
    cluster: test
    user: agent
current-context: test
users:
- name: agent
  user:
    tokenFile: `+filepath.Join(w.dir, "token")+"\n")
}

// nodeLabels are those that a cloud's controllers put on such a node.
func (w *world) nodeLabels() object {
	return object{
		"node.kubernetes.io/instance-type":      w.board,
		"topology.k8s.aws/network-node-layer-1": "nn-1111111111111111a",
		"topology.k8s.aws/network-node-layer-2": "nn-2222222222222222b",
		"topology.k8s.aws/network-node-layer-3": "nn-3333333333333333c",
	}
}

// makeNode creates the Node object: no kubelet serves it, and nothing is scheduled to it.
func (w *world) makeNode(labels object) {
	w.t.Helper()
	var made struct{ Metadata meta }
	mustAsk(w.t, "POST", nodesPath, object{"apiVersion": "v1", "kind": "Node",
		"metadata": object{"name": w.name, "labels": labels},
		"spec":     object{"unschedulable": true}}, &made)
	w.node = made.Metadata
}

// label sets labels of the Node; nil takes one away.
func (w *world) label(labels object) {
	w.t.Helper()
	mustAsk(w.t, "PATCH", nodesPath+"/"+w.name, object{"metadata": object{"labels": labels}}, nil)
}

// makeForeign puts slices beside the agent's own that are none of its business.
func (w *world) makeForeign() {
	w.t.Helper()
	for node, driver := range map[string]string{w.name: foreignDriver, w.name + "-neighbour": driver} {
		var made slice
		mustAsk(w.t, "POST", slicesPath, object{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice",
			"metadata": object{"generateName": "foreign-"},
			"spec": object{"driver": driver, "nodeName": node,
				"pool":    object{"name": node, "generation": 7, "resourceSliceCount": 1},
				"devices": []object{{"name": "foreign"}}}}, &made)
		w.foreign = append(w.foreign, made)
	}
}

var boards sync.Map // simulated nodes, which nobody writes to

// tree is the simulated node of a board.
func (w *world) tree() string {
	w.t.Helper()
	args := []string{"make", "--board", w.board, "--driver-version", "2.26.5.0"}
	if w.devices >= 0 {
		args = append(args, "--devices", strconv.Itoa(w.devices))
	}
	key := strings.Join(args, " ") + " " + w.garbage
	made, _ := boards.LoadOrStore(key, sync.OnceValues(func() (string, error) {
		dir, err := os.MkdirTemp(kube.Short, "b")
		if err != nil {
			return "", err
		}
		script, place := filepath.Join(root, "tools", "simnode", "simnode.py"), []string{"--dir", dir + "/n"}
		_, err = run("", "/usr/bin/python3", append(append([]string{script}, args...), place...)...)
		if err == nil && w.garbage != "" {
			_, err = run("", "/usr/bin/python3", append([]string{script, "garbage", w.garbage}, place...)...)
		}
		return dir + "/n", err
	}))
	dir, err := made.(func() (string, error))()
	if err != nil {
		w.t.Fatal(err)
	}
	return dir
}

// run starts the agent; it has to live until kill.
func (w *world) run() {
	w.t.Helper()
	tree := w.tree()
	args := append([]string{kube.Agent, "run", "--node-name", w.name, "--kubeconfig", filepath.Join(w.dir, "kubeconfig"),
		"--cdi-root", w.dir + "/c", "--kubelet-registrar-directory-path", w.dir + "/r",
		"--kubelet-plugins-directory-path", w.dir + "/p", "--sysfs-root", tree + "/sys", "--proc-root", tree + "/proc",
		"--dev-root", tree + "/dev", "--healthcheck-port", "-1", "--metrics-port", "0"}, w.flags...)
	if w.hosts != "" {
		bind := `mount --bind "$0" /etc/hosts && exec "$@"`
		args = append([]string{"unshare", "--mount", "--propagation", "private", "sh", "-ec", bind, w.hosts}, args...)
	}
	w.start(exec.Command(args[0], args[1:]...), nil)
}

// start starts the agent by a command; nil: in the environment of the tests.
func (w *world) start(command *exec.Cmd, env []string) {
	w.t.Helper()
	command.Dir, command.Env = w.dir, env
	stderr := must(command.StderrPipe())
	if err := command.Start(); err != nil {
		w.t.Fatal(err)
	}
	ended := make(chan struct{})
	w.process, w.ended, w.wanted = command, ended, false
	go func() {
		w.read(stderr)
		_ = command.Wait()
		close(ended)
	}()
}

func (w *world) read(r io.Reader) {
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		w.log.add(time.Now().Format("15:04:05.000 ") + scanner.Text())
	}
}

func (w *world) kill() {
	if w.process != nil {
		_ = w.process.Process.Signal(syscall.SIGKILL)
		<-w.ended
		w.process = nil
	}
}

// alive is an error if the agent's process is not the one that was started.
func (w *world) alive() error {
	select {
	case <-w.ended:
		return fmt.Errorf("the agent ended: %v", w.process.ProcessState)
	default:
		return nil
	}
}

// publish brings everything up until the right slice is stored and watched.
func (w *world) publish(count int) {
	w.t.Helper()
	w.run()
	w.register()
	w.published(count)
}

func (w *world) published(count int) {
	w.t.Helper()
	follow().wait(w.t, "first slices", soon, func() error { return w.counted(count) })
	for _, one := range follow().of(w.name, driver) {
		w.want = append(w.want, one.Spec.Devices...)
	}
	follow().wait(w.t, "watch open", soon, w.watching)
}

// counted is an error unless the stored slices are one whole pool of so many devices of this node.
func (w *world) counted(count int) error {
	found := follow().of(w.name, driver)
	if len(found) == 0 {
		return errors.New("no slice")
	}
	names, first := map[string]bool{}, found[0].Spec.Pool
	for _, one := range found {
		pool, owners := one.Spec.Pool, one.Metadata.OwnerReferences
		if pool != first || pool.Name != w.name || pool.ResourceSliceCount != int64(len(found)) {
			return fmt.Errorf("%d slices, and one says %+v", len(found), pool)
		}
		if len(owners) != 1 || owners[0].Kind != "Node" || owners[0].UID != w.node.UID {
			return fmt.Errorf("owners %+v, want the Node %s alone", owners, w.node.UID)
		}
		for _, device := range one.Spec.Devices {
			names[device.Name] = true
		}
	}
	if len(names) != count {
		return fmt.Errorf("%d devices, want %d", len(names), count)
	}
	return nil
}

// whole is an error unless what is stored is what has to be, and the agent watches it.
func (w *world) whole() error {
	if err := w.counted(len(w.want)); err != nil {
		return err
	}
	if err := w.watching(); err != nil {
		return err
	}
	var devices []device
	for _, one := range follow().of(w.name, driver) {
		devices = append(devices, one.Spec.Devices...)
	}
	for _, want := range w.want {
		found := false
		for _, one := range devices {
			found = found || reflect.DeepEqual(one, want)
		}
		if !found {
			return fmt.Errorf("%s is not as it was", want.Name)
		}
	}
	return nil
}

// watching is an error unless the watch is open, no answer is awaited, and the agent calls itself ready.
func (w *world) watching() error {
	open := false
	for _, r := range w.proxy.Requests() {
		if r.Over.IsZero() && !strings.HasSuffix(r.Kind, "watch") {
			return fmt.Errorf("%s %s is not answered yet", r.Method, r.Path)
		}
		open = open || r.Kind == "watch" && r.Status == 200 && r.Over.IsZero()
	}
	if !open {
		return errors.New("no watch is open")
	}
	return w.ready()
}

// untouched is an error if a slice that is not the agent's was changed.
func (w *world) untouched() error {
	for _, one := range w.foreign {
		var now slice
		if err := ask("GET", slicesPath+"/"+one.Metadata.Name, nil, &now); err != nil {
			return err
		}
		if now.Metadata.ResourceVersion != one.Metadata.ResourceVersion {
			return fmt.Errorf("the foreign slice %s was changed", one.Metadata.Name)
		}
	}
	return nil
}

// own is one slice of the agent.
func (w *world) own() slice {
	w.t.Helper()
	found := follow().of(w.name, driver)
	if len(found) == 0 {
		w.t.Fatal("no slice is stored")
	}
	return found[0]
}

// deleteSlice is what a careless operator does.
func (w *world) deleteSlice() {
	w.t.Helper()
	old := w.own()
	mustAsk(w.t, "DELETE", slicesPath+"/"+old.Metadata.Name, nil, nil)
	w.gone(old)
}

// gone waits until the copy of what is stored has no slice of this content and version any more.
func (w *world) gone(old slice) {
	w.t.Helper()
	follow().wait(w.t, "news of a slice changed by hand", soon, func() error {
		for _, one := range follow().of(w.name, driver) {
			if one.Metadata.UID == old.Metadata.UID && one.Metadata.ResourceVersion == old.Metadata.ResourceVersion {
				return errors.New("it is as it was")
			}
		}
		return nil
	})
}

// editSlice changes an attribute of the first device by hand.
func (w *world) editSlice() {
	w.t.Helper()
	var raw object
	old := w.own()
	path := slicesPath + "/" + old.Metadata.Name
	mustAsk(w.t, "GET", path, nil, &raw)
	first := raw["spec"].(object)["devices"].([]any)[0].(object)
	first["attributes"].(object)["instanceType"] = object{"string": "edited.by-hand"}
	mustAsk(w.t, "PUT", path, raw, nil)
	w.gone(old)
}

// copySlice stores a second slice with the same content under another name, until the agent has taken one away.
func (w *world) copySlice(metadata object) {
	w.t.Helper()
	var raw object
	old := w.own()
	mustAsk(w.t, "GET", slicesPath+"/"+old.Metadata.Name, nil, &raw)
	raw["metadata"] = metadata
	var made slice
	mustAsk(w.t, "POST", slicesPath, raw, &made)
	follow().wait(w.t, "one of two slices deleted", soon, func() error {
		for _, one := range []slice{old, made} {
			if err := ask("GET", slicesPath+"/"+one.Metadata.Name, nil, nil); err != nil {
				return nil
			}
		}
		return errors.New("both are stored")
	})
}
