// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	neuronFile = "neuron.aws.com-claim_%s.json"
	efaFile    = "efa.networking.k8s.aws-claim_%s.json"

	cdiLook = 2 * time.Millisecond // between two looks at all CDI files
)

// cdiWatch compares all that CDI files ever hold with what the API server says was allocated to their claims: one device of each
// driver.
type cdiWatch struct {
	stop, ended chan struct{}
	mu          sync.Mutex
	nodes       map[string]string          // name of a CDI file: the device node that its claim was allocated
	seen        map[string]map[string]bool // name of a CDI file: its contents
}

// watchCDI watches from now on. efas are the EFA devices of the board.
func watchCDI(t *testing.T, efas map[string]*efaFacts) *cdiWatch {
	t.Helper()
	w := &cdiWatch{stop: make(chan struct{}), ended: make(chan struct{}), nodes: map[string]string{}, seen: map[string]map[string]bool{}}
	claims := exec.Command(kube.Programs["kubectl"], "--kubeconfig", kube.Kubeconfig, "get", "resourceclaims", "--watch", "-o", "json")
	out := must(claims.StdoutPipe())
	if err := claims.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = claims.Process.Kill()
		_ = claims.Wait()
	})
	go w.readClaims(out, efas)
	go w.readFiles()
	return w
}

func (w *cdiWatch) readClaims(from io.Reader, efas map[string]*efaFacts) {
	for claims := json.NewDecoder(from); ; {
		var one struct {
			Metadata meta
			Status   struct {
				Allocation struct {
					Devices struct{ Results []struct{ Device string } }
				}
			}
		}
		if claims.Decode(&one) != nil {
			return
		}
		w.mu.Lock()
		for _, result := range one.Status.Allocation.Devices.Results {
			if efa := efas[result.Device]; efa != nil {
				w.nodes[fmt.Sprintf(efaFile, one.Metadata.UID)] = fmt.Sprintf("/dev/infiniband/uverbs%d", efa.uverbs)
			} else {
				w.nodes[fmt.Sprintf(neuronFile, one.Metadata.UID)] = "/dev/neuron" + strings.TrimPrefix(result.Device, "neuron-device-")
			}
		}
		w.mu.Unlock()
	}
}

func (w *cdiWatch) readFiles() {
	defer close(w.ended)
	for {
		paths, _ := filepath.Glob(filepath.Join(kube.CDI, "*.json"))
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if name := filepath.Base(path); err == nil {
				if w.seen[name] == nil {
					w.seen[name] = map[string]bool{}
				}
				w.seen[name][string(text)] = true
			}
		}
		select {
		case <-w.stop:
			return
		case <-time.After(cdiLook):
		}
	}
}

var cdiNode = regexp.MustCompile(`"path": ?"([^"]+)"`)

// right ends the watch. Each content was that of the file's own claim, and so many claims had a file of each driver.
func (w *cdiWatch) right(t *testing.T, claims int) {
	t.Helper()
	close(w.stop)
	<-w.ended
	w.mu.Lock()
	defer w.mu.Unlock()
	wrong := 0
	for name, contents := range w.seen {
		uid := strings.TrimSuffix(name[strings.LastIndex(name, "_")+1:], ".json")
		for content := range contents {
			nodes := cdiNode.FindAllStringSubmatch(content, -1)
			if len(nodes) != 1 || nodes[0][1] != w.nodes[name] || !strings.Contains(content, uid) {
				wrong++
				t.Errorf("%s has %v, its claim was allocated %q:\n%s", name, nodes, w.nodes[name], content)
			}
		}
	}
	t.Logf("%d CDI files, %d wrong contents", len(w.seen), wrong)
	if len(w.seen) < 2*claims {
		t.Errorf("there were %d CDI files, want two for each of %d claims", len(w.seen), claims)
	}
}

// apart lets the kubelet see only the Neuron driver of an agent that starts next: a folder has the name of the socket by which it
// registers the other one, until the result is called. So two agents serve a driver each for that long.
func apart(t *testing.T, number int) (together func()) {
	t.Helper()
	socket := filepath.Join(kube.Short, "kubelet", "plugins_registry", efaDriver+"-"+surgeUID(number)+"-reg.sock")
	if err := os.Mkdir(socket, 0o755); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(socket); err != nil {
			t.Fatal(err)
		}
	}
}

// TestEFAUpdates: three agents with both drivers come one after the other, each beside the one before it, while pods with a claim
// for devices of both come each second. Seconds pass from the first driver that the new one takes over to the second.
func TestEFAUpdates(t *testing.T) {
	t.Parallel()
	takeNode(t, efaFlag)
	defer control(t, "board", "--board", efaTrn2, "--driver-version", "2.26.5.0")
	efaClasses(t)
	efaPublished(t, 16)
	readAgentArguments(t)
	defer clean(t)
	template, _ := alignedPod(t, 1)
	template, _, _ = strings.Cut(template, "---\n")
	apply(t, template)
	const updates, first = 3, 10
	defer watchCDI(t, efasOf(t, efaTrn2)).right(t, 3*updates)
	if n := whilePodsCome(t, "efa-update", "aligned-1", func() {
		end := func() { control(t, "agent", "stop") }
		for number := first; number < first+updates; number++ {
			together := apart(t, number)
			next := startSurge(t, kube.Agent, number)
			next.says(t, "event=store_opened claims")
			together() // it tries again some seconds later
			next.says(t, "event=store_opened driver="+efaDriver)
			end()
			end = next.stop
		}
	}); n > 0 {
		t.Errorf("the kubelet got %d errors in %d updates", n, updates)
	}
}
