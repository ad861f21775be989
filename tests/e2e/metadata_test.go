// SPDX-License-Identifier: Apache-2.0

package e2e

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
)

const (
	metadataFlag = "--flag=--device-metadata=true"
	described    = "device-metadata" // the example's pod
)

// TestDeviceMetadata: a container reads the file with its devices, in both versions, and so does each one that the kubelet
// starts in its place, whatever was lost meanwhile; the pod's end takes the file.
func TestDeviceMetadata(t *testing.T) {
	control(t, "agent", "stop")
	t.Cleanup(func() {
		control(t, "agent", "stop")
		control(t, "agent", "start")
	})
	startDescribing(t)
	steps(t, []step{
		{"a pod reads its devices, its container restarts", metadataRestarted},
		{"CDI directory emptied while the agent is dead", metadataEmptied},
		{"CDI directory removed under a running agent", metadataRemoved},
		{"a reboot", metadataRebooted},
	})
}

// startDescribing starts an agent that writes the files, and looks at them every five seconds.
func startDescribing(t *testing.T) {
	t.Helper()
	control(t, "agent", "start", metadataFlag, "--flag=--reconcile-interval=5s")
}

// seenMetadata is what a program with Kubernetes' own decoder reads in the container of the example.
func seenMetadata(t *testing.T, program string) (known []string, device string) {
	t.Helper()
	const path = "/var/run/kubernetes.io/dra-device-attributes/resourceclaimtemplates/devices/neurons/neuron.aws.com-metadata.json"
	text := mustKubectl(t, "exec", described, "--", "cat", path)
	file := filepath.Join(t.TempDir(), "metadata.json")
	overwrite(t, file, text)
	out, err := exec.Command(filepath.Join(root, "build", "interop", program), file).Output()
	if err != nil {
		t.Fatalf("%s: %v (make metadata-programs builds it)", program, err)
	}
	var all []struct {
		Known    []string
		Rewrites bool
		Metadata struct {
			Name         string `json:"name"`
			PodClaimName string
			Requests     []struct {
				Name    string
				Devices []struct {
					Driver, Pool, Name string
					Attributes         map[string]attribute
				}
			}
		}
	}
	if err := json.Unmarshal(out, &all); err != nil {
		t.Fatal(err)
	}
	m := all[0].Metadata
	if !all[0].Rewrites || m.PodClaimName != "devices" || len(m.Requests) != 1 || len(m.Requests[0].Devices) != 1 {
		t.Fatalf("%s reads %s", program, out)
	}
	d := m.Requests[0].Devices[0]
	if d.Driver != "neuron.aws.com" || d.Pool != kube.Node || d.Attributes["topology_x"] == nil ||
		d.Attributes["resource.aws.com/devicegroup4_id"] == nil {
		t.Errorf("%s reads the device %+v", program, d)
	}
	return all[0].Known, d.Name
}

// readsItself holds that the container reads its own device, with the decoders of both releases.
func readsItself(t *testing.T, device string) {
	t.Helper()
	for program, want := range map[string]int{"metadata": 2, "metadata136": 1} {
		if known, found := seenMetadata(t, program); len(known) != want || found != device {
			t.Errorf("%s reads %s in %v, want %s", program, found, known, device)
		}
	}
}

// endProcesses kills the processes of one container of a pod, or of all and of the sandbox: to the kubelet a crash.
func endProcesses(t *testing.T, pod, container string) {
	t.Helper()
	ctr := func(args ...string) []string {
		all := append([]string{"--address", filepath.Join(kube.Short, "containerd.sock"), "--namespace", "k8s.io"}, args...)
		return strings.Fields(must(run("", kube.Programs["ctr"], all...)))
	}
	filter := `labels."io.kubernetes.pod.uid"==` + getPod(t, pod).Metadata.UID
	if container != "" {
		filter += `,labels."io.kubernetes.container.name"==` + container
	}
	ended, tasks := 0, ctr("tasks", "ls", "--quiet")
	for _, id := range ctr("containers", "ls", "--quiet", filter) {
		if slices.Contains(tasks, id) {
			ctr("tasks", "kill", "--all", "--signal", "SIGKILL", id)
			ended++
		}
	}
	if ended == 0 {
		t.Fatalf("pod %s has no process to end", pod)
	}
}

// restarts is how often the kubelet started the pod's only container again.
func restarts(t *testing.T, pod string) string {
	t.Helper()
	return mustKubectl(t, "get", "pod", pod, "-o", "jsonpath={.status.containerStatuses[0].restartCount}")
}

// anyBoot are the CDI files as every boot has them: the claim's names the one on which it was prepared.
func anyBoot(t *testing.T) map[string]string {
	t.Helper()
	found := cdiContents(t)
	for name, text := range found {
		found[name] = bootLine.ReplaceAllString(text, "")
	}
	return found
}

var bootLine = regexp.MustCompile(`"neuron.aws.com/boot-id": "[^"]*"`)

// survives runs the example's pod, lets `lose` end its container and take things away, and looks into the container that
// the kubelet starts then.
func survives(t *testing.T, lose func(pod string)) {
	t.Helper()
	device := runExample(t, described, 1)[0]
	readsItself(t, device)
	before := anyBoot(t)
	if len(before) != 2 {
		t.Fatalf("files: %v, want that of the CDI and that of the request", sortedKeys(before))
	}
	lose(described)
	eventually(t, "the container runs again", soon, func() error {
		if was := restarts(t, described); was == "0" {
			return fmt.Errorf("restarted %s times; events: %q", was, events(described, ""))
		}
		return nil
	})
	waitRunning(t, described)
	readsItself(t, device)
	checkContainer(t, described, "app", []string{device})
	// Labels of the Node are in it once the agent knows them.
	eventually(t, "the files as before", soon, func() error {
		if after := anyBoot(t); !reflect.DeepEqual(before, after) {
			return fmt.Errorf("they were\n%v\nand are\n%v", before, after)
		}
		return nil
	})
}

func metadataRestarted(t *testing.T) {
	survives(t, func(pod string) { endProcesses(t, pod, "app") })
}

// metadataEmptied: until the agent is back no container can start; then the same file is there.
func metadataEmptied(t *testing.T) {
	survives(t, func(pod string) {
		control(t, "agent", "kill")
		emptyFolder(t, kube.CDI)
		endProcesses(t, pod, "app")
		waitEvent(t, pod, "Failed", "unresolvable CDI devices")
		startDescribing(t)
	})
}

func metadataRemoved(t *testing.T) {
	survives(t, func(pod string) {
		if err := os.RemoveAll(kube.CDI); err != nil {
			t.Fatal(err)
		}
		endProcesses(t, pod, "app")
	})
}

// metadataRebooted ends all that runs on the node but containerd, takes away what lies in memory, and gives the node the
// number of another boot. The kubelet comes first, as on a real node, where the agent is a pod.
func metadataRebooted(t *testing.T) {
	const boot = "88888888-0000-4000-8000-000000000000"
	survives(t, func(pod string) {
		control(t, "agent", "kill")
		control(t, "kubelet", "kill")
		endProcesses(t, pod, "")
		emptyFolder(t, kube.CDI)
		overwrite(t, filepath.Join(kube.Run, "node", "proc", "sys", "kernel", "random", "boot_id"), boot+"\n")
		control(t, "kubelet", "start")
		startDescribing(t)
	})
	for name, text := range cdiContents(t) {
		if strings.HasSuffix(name, ".json") && !strings.Contains(text, boot) {
			t.Errorf("%s is not of this boot:\n%s", name, text)
		}
	}
}
