// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

const coreAPI = "/api/v1/namespaces/default"

// olderAgent is the last release that hands no store over; empty where the history of the repository lacks it.
func olderAgent(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(root, "build", "older")
	if entries, err := os.ReadDir(folder); err != nil || len(entries) == 0 {
		t.Fatalf("no older release to go back to: %v; `make older` builds it from the history of the repository", err)
	}
	path := filepath.Join(folder, "build", "neuron-dra-agent")
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// surge is another agent on the real node, as a rolling update starts it.
type surge struct {
	socket, log string
	process     *exec.Cmd
}

// surgeUID is the pod UID of a surge.
func surgeUID(number int) string { return fmt.Sprintf("5a5a5a5a-0000-4000-8000-%012d", number) }

// startSurge starts a program with the arguments of the cluster's agent and a pod UID of its own, until the kubelet
// has registered it.
func startSurge(t *testing.T, program string, number int) *surge {
	t.Helper()
	uid := surgeUID(number)
	s := &surge{socket: filepath.Join(filepath.Dir(storePath()), "dra-"+uid+".sock"),
		log: filepath.Join(filepath.Dir(kube.AgentLog), fmt.Sprintf("agent-%d.log", number))}
	out := must(os.Create(s.log))
	defer out.Close()
	s.process = exec.Command(program, append(agentArguments, "--pod-uid", uid)...)
	s.process.Stderr = out
	if err := s.process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	s.says(t, "event=registered")
	return s
}

// agentArguments are those of the cluster's agent; the first surge of a run reads them.
var agentArguments []string

func readAgentArguments(t *testing.T) {
	t.Helper()
	var pid int
	if _, err := fmt.Sscanf(agentProcess(t), "agent pid=%d running", &pid); err != nil {
		t.Fatalf("no agent runs: %v", err)
	}
	line := must(os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)))
	agentArguments = strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")[1:]
}

// stop ends it as a DaemonSet's controller does. Twice is no error.
func (s *surge) stop() {
	if s.process.ProcessState == nil {
		_ = s.process.Process.Signal(syscall.SIGTERM)
		_ = s.process.Wait()
	}
}

// says waits for a line of its log.
func (s *surge) says(t *testing.T, text string) {
	t.Helper()
	eventually(t, "an agent's line with "+text, soon, func() error {
		if said := string(must(os.ReadFile(s.log))); !strings.Contains(said, text) {
			return fmt.Errorf("its log is\n%s", said)
		}
		return nil
	})
}

// whilePodsCome creates a pod with a claim from a template each second, from before a change until after it, and waits until
// each has seen its devices. The result is how often the kubelet got an error for one of their claims.
func whilePodsCome(t *testing.T, series, template string, change func()) (refusals int) {
	t.Helper()
	series += fmt.Sprint("-", time.Now().Unix()) // Events of a first try are not those of a second one
	stop, made := make(chan struct{}), make(chan error, 1)
	count := 0
	go func() {
		var failed error
		for tick := time.NewTicker(time.Second); failed == nil; {
			failed = ask("POST", coreAPI+"/pods", comingPod(series, template, count), nil)
			count++
			select {
			case <-tick.C:
			case <-stop:
				made <- failed
				return
			}
		}
		made <- failed
	}()
	time.Sleep(2 * time.Second)
	change()
	time.Sleep(2 * time.Second)
	close(stop)
	if err := <-made; err != nil {
		t.Fatal(err)
	}
	eventually(t, "end of each pod of "+series, soon, func() error { return podsSucceeded(series, count) })
	var list struct {
		Items []struct {
			InvolvedObject struct{ Name string }
			Message        string
			Count          int
		}
	}
	mustAsk(t, "GET", coreAPI+"/events?fieldSelector=reason%3DFailedPrepareDynamicResources", nil, &list)
	for _, one := range list.Items {
		if strings.HasPrefix(one.InvolvedObject.Name, series+"-") {
			t.Logf("%s: %s", one.InvolvedObject.Name, one.Message)
			refusals += one.Count
		}
	}
	t.Logf("%s: %d pods came, the kubelet got %d errors, the slowest one started after %s", series, count, refusals,
		longestStart(t, series))
	return refusals
}

// longestStart is the longest time from a pod of the series to its container.
func longestStart(t *testing.T, series string) (longest time.Duration) {
	t.Helper()
	var list struct {
		Items []struct {
			Metadata struct{ CreationTimestamp time.Time }
			Status   struct {
				ContainerStatuses []struct {
					State struct{ Terminated struct{ StartedAt time.Time } }
				}
			}
		}
	}
	mustAsk(t, "GET", coreAPI+"/pods?labelSelector=series%3D"+series, nil, &list)
	for _, one := range list.Items {
		for _, container := range one.Status.ContainerStatuses {
			longest = max(longest, container.State.Terminated.StartedAt.Sub(one.Metadata.CreationTimestamp))
		}
	}
	return longest
}

// slowPrepares is how often the kubelet has waited for more than 5 seconds until the claims of a pod were prepared, by its own
// histogram. Its bounds lie closely enough: the last one below 5 is 4.7.
func slowPrepares(t *testing.T) (slow float64) {
	t.Helper()
	text := mustKubectl(t, "get", "--raw", "/api/v1/nodes/"+kube.Node+"/proxy/metrics")
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families := must(parser.TextToMetricFamilies(strings.NewReader(text)))
	family := families["dra_operations_duration_seconds"]
	if family == nil {
		t.Fatal("the kubelet does not count how long it prepares the claims of a pod")
	}
	for _, metric := range family.Metric {
		prepares := false
		for _, label := range metric.Label {
			prepares = prepares || label.GetValue() == "PrepareResources"
		}
		if !prepares {
			continue
		}
		fast := uint64(0)
		for _, bucket := range metric.Histogram.Bucket {
			if bucket.GetUpperBound() <= 5 {
				fast = bucket.GetCumulativeCount()
			}
		}
		slow += float64(metric.Histogram.GetSampleCount() - fast)
	}
	return slow
}

// comingNodes are the device nodes of which a pod of whilePodsCome has one each, by its template.
var comingNodes = map[string]string{"single-neuron": "'/dev/neuron*'", "aligned-1": "'/dev/neuron*' '/dev/infiniband/uverbs*'"}

// comingPod ends by itself, well if it sees one device of each kind.
func comingPod(series, template string, number int) object {
	script := "for nodes in " + comingNodes[template] + "; do set -- $nodes; test $# = 1 && test -c $1 || exit 1; done"
	return object{"apiVersion": "v1", "kind": "Pod",
		"metadata": object{"name": fmt.Sprintf("%s-%d", series, number), "labels": object{"series": series}},
		"spec": object{"restartPolicy": "Never",
			"containers": []object{{"name": "app", "image": exampleImage,
				"command":   []string{"sh", "-c", script},
				"resources": object{"claims": []object{{"name": "neurons"}}}}},
			"resourceClaims": []object{{"name": "neurons", "resourceClaimTemplateName": template}}}}
}

func podsSucceeded(series string, count int) error {
	var list struct{ Items []pod }
	if err := ask("GET", coreAPI+"/pods?labelSelector=series%3D"+series, nil, &list); err != nil {
		return err
	}
	if len(list.Items) != count {
		return fmt.Errorf("there are %d pods, want %d", len(list.Items), count)
	}
	for _, one := range list.Items {
		if one.Status.Phase != "Succeeded" {
			return fmt.Errorf("%s is %s; events: %q", one.Metadata.Name, one.Status.Phase, events(one.Metadata.Name, ""))
		}
	}
	return nil
}

// updates replaces the agent by a second one of the same release, that by the older release, and that again, while pods
// come. The new one of each two is there before the old one ends.
func updates(t *testing.T) {
	older := olderAgent(t)
	names := []string{"held-a", "held-b"}
	for _, name := range names {
		apply(t, renamed(t, example(t, "single-device"), "single-device", name))
	}
	waitRunning(t, names...)
	before, device := cdiContents(t), devicesOf(t, "held-a", "neurons", 1)
	kept, left := claimOf(t, "held-a"), claimFile(t, "held-b", before)
	readAgentArguments(t)
	// Pods of later cases need the cluster's own agent.
	defer control(t, "agent", "start")
	repeated := func(s *surge) {
		t.Helper()
		if err := callClaim(s.socket, kept, localLimit, false); err != nil {
			t.Errorf("a repeated prepare of a claim that an agent before it prepared: %v", err)
		}
	}
	var second, third *surge
	if n := whilePodsCome(t, "update", "single-neuron", func() {
		second = startSurge(t, kube.Agent, 2)
		second.says(t, "event=store_opened")
		control(t, "agent", "stop")
	}); n > 0 {
		t.Errorf("the kubelet got %d errors in an update", n)
	}
	if after := cdiContents(t); !reflect.DeepEqual(after, before) {
		t.Errorf("the CDI files were\n%v\nand are\n%v", before, after)
	}
	repeated(second)
	if older == "" {
		return // `make older` says so
	}
	// The older release refuses claims as long as another agent has the store; the kubelet comes again.
	whilePodsCome(t, "downgrade", "single-neuron", func() {
		third = startSurge(t, older, 3)
		second.stop()
		third.says(t, "event=store_opened")
	})
	repeated(third)
	mustKubectl(t, "delete", "pod", "held-b")
	eventually(t, "CDI file of held-b gone", soon, func() error {
		if _, there := cdiContents(t)[left]; there {
			return errors.New("it is there")
		}
		return nil
	})
	if n := whilePodsCome(t, "return", "single-neuron", func() {
		second = startSurge(t, kube.Agent, 4)
		third.stop()
		second.says(t, "event=store_opened")
	}); n > 0 {
		t.Errorf("the kubelet got %d errors in an update from the older release", n)
	}
	repeated(second)
	delete(before, left)
	if after := cdiContents(t); !reflect.DeepEqual(after, before) {
		t.Errorf("the CDI files were\n%v\nand are\n%v", before, after)
	}
	checkContainer(t, "held-a", "app", device)
}
