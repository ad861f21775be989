// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"reflect"
	"sort"
	"strings"
	"testing"
)

const launched = "distributed-launch" // the example, and its job

// TestLauncher: two pods of a job find out what they got from their device metadata files alone.
func TestLauncher(t *testing.T) {
	efaClasses(t)
	control(t, "agent", "stop")
	t.Cleanup(func() {
		control(t, "agent", "stop")
		control(t, "agent", "start")
	})
	control(t, "agent", "start", efaFlag, metadataFlag)
	efaPublished(t, 16)
	steps(t, []step{{"a job of two pods", launchedJob}})
}

// launchedPods waits for the pods of the job, by rank.
func launchedPods(t *testing.T, count int) []string {
	t.Helper()
	var names []string
	eventually(t, "the pods of the job are made", soon, func() error {
		out, err := kubectl("get", "pods", "-l", "batch.kubernetes.io/job-name="+launched, "-o", "jsonpath={.items[*].metadata.name}")
		names = strings.Fields(out)
		sort.Strings(names) // JOB-RANK-…
		if err == nil && len(names) != count {
			err = fmt.Errorf("they are %v", names)
		}
		return err
	})
	waitRunning(t, names...)
	return names
}

// attributesOf are those of a device as its slice has them.
func attributesOf(t *testing.T, driver, name string) map[string]attribute {
	t.Helper()
	for _, one := range follow().of(kube.Node, driver) {
		for _, d := range one.Spec.Devices {
			if d.Name == name {
				return d.Attributes
			}
		}
	}
	t.Fatalf("no slice of %s has the device %s", driver, name)
	return nil
}

// wanted is what a container of the example has to print, from the allocation and the slices.
func wanted(t *testing.T, pod string, rank int) []string {
	t.Helper()
	var ids, cells, nearest, efas []string
	cores := 0
	group := map[string]bool{}
	for _, name := range devicesOf(t, pod, "4-neurons", 4) {
		a := attributesOf(t, driver, name)
		id := fmt.Sprint(a["deviceId"]["int"])
		ids = append(ids, id)
		cells = append(cells, fmt.Sprintf("%s=%v,%v", id, a["topology_x"]["int"], a["topology_y"]["int"]))
		nearest = append(nearest, id+"="+a["resource.aws.com/devicegroup1_id"]["string"].(string))
		group[a["resource.aws.com/devicegroup4_id"]["string"].(string)] = true
		cores += int(a["coreCount"]["int"].(float64))
	}
	for _, name := range devicesOf(t, pod, "4-efas", 4) {
		a := attributesOf(t, efaDriver, name)
		efas = append(efas, a["resource.kubernetes.io/pciBusID"]["string"].(string))
		group[a["resource.aws.com/devicegroup4_id"]["string"].(string)] = true
	}
	if len(group) != 1 {
		t.Errorf("pod %s has devices of the groups %v", pod, sortedKeys(group))
	}
	logical := cores / 2 // LNC 2, which the type has where nobody asks for another
	const leader = launched + "-0." + launched
	return []string{
		fmt.Sprintf("CLAIM_CORES=%d", logical),
		"CLAIM_DEVICES=" + strings.Join(ids, " "),
		"CLAIM_EFAS=" + strings.Join(efas, " "),
		"CLAIM_GRID=" + strings.Join(cells, " "),
		"CLAIM_GROUP=devicegroup4_id=" + sortedKeys(group)[0],
		"CLAIM_NEAREST_EFAS=" + strings.Join(nearest, " "),
		"FI_EFA_USE_DEVICE_RDMA=1", "FI_PROVIDER=efa",
		"MASTER_ADDR=" + leader, "MASTER_PORT=61000",
		fmt.Sprintf("NEURON_PJRT_PROCESSES_NUM_DEVICES=%d,%d", logical, logical),
		fmt.Sprintf("NEURON_PJRT_PROCESS_INDEX=%d", rank),
		"NEURON_RT_NUM_CORES=" + fmt.Sprint(logical), "NEURON_RT_ROOT_COMM_ID=" + leader + ":61001",
	}
}

// inOrder sorts the members of the lists, whose order is that of the allocation.
func inOrder(lines []string) []string {
	for i, line := range lines {
		if name, value, is := strings.Cut(line, "="); is && strings.HasPrefix(name, "CLAIM_") {
			members := strings.Fields(value)
			sort.Strings(members)
			lines[i] = name + "=" + strings.Join(members, " ")
		}
	}
	return lines
}

// seenOnNode is what `claims --pod` has of the pod, as its container would print it.
func seenOnNode(t *testing.T, pod string) []string {
	t.Helper()
	var shown struct {
		Claims []struct {
			OnNode []struct {
				Name, Health string
				Nearest      []string
				Attributes   map[string]attribute
			} `json:"onNode"`
		} `json:"claims"`
	}
	out := nodeCommand(t, "claims", "--efa=true", "--pod", "default/"+pod, "-o", "json")
	if err := json.Unmarshal([]byte(out), &shown); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var ids, cells, nearest, efas []string
	cores := 0
	group := map[string]bool{}
	address := strings.NewReplacer("pci-", "", "-", ":")
	for _, claim := range shown.Claims {
		for _, d := range claim.OnNode {
			group[d.Attributes["resource.aws.com/devicegroup4_id"]["string"].(string)] = true
			if d.Health == "unhealthy" || d.Health == "gone" {
				t.Errorf("pod %s: %s is %s", pod, d.Name, d.Health)
			}
			if d.Attributes["deviceId"] == nil {
				efas = append(efas, d.Attributes["resource.kubernetes.io/pciBusID"]["string"].(string))
				continue
			}
			id := fmt.Sprint(d.Attributes["deviceId"]["int"])
			ids = append(ids, id)
			cells = append(cells, fmt.Sprintf("%s=%v,%v", id, d.Attributes["topology_x"]["int"], d.Attributes["topology_y"]["int"]))
			for _, name := range d.Nearest {
				at := strings.LastIndex(name, "-")
				nearest = append(nearest, id+"="+address.Replace(name[:at])+"."+name[at+1:])
			}
			if d.Attributes["logicalCores"]["string"] == "0-3" {
				cores += 4
			}
		}
	}
	return []string{
		fmt.Sprintf("CLAIM_CORES=%d", cores),
		"CLAIM_DEVICES=" + strings.Join(ids, " "),
		"CLAIM_EFAS=" + strings.Join(efas, " "),
		"CLAIM_GRID=" + strings.Join(cells, " "),
		"CLAIM_GROUP=devicegroup4_id=" + strings.Join(sortedKeys(group), " "),
		"CLAIM_NEAREST_EFAS=" + strings.Join(nearest, " "),
	}
}

func launchedJob(t *testing.T) {
	apply(t, example(t, launched))
	defer mustKubectl(t, "delete", "job/"+launched, "service/"+launched, "configmap/neuron-launch", "--cascade=foreground")
	for rank, name := range launchedPods(t, 2) {
		checkAligned(t, efaTrn2, name, 4, 4)
		said, printed := "", []string{}
		for _, line := range strings.Split(strings.TrimSpace(mustKubectl(t, "logs", name)), "\n") {
			if strings.HasPrefix(line, "neuron-launch: ") {
				said += line
			} else {
				printed = append(printed, line)
			}
		}
		printed = inOrder(printed)
		if want := inOrder(wanted(t, name, rank)); !reflect.DeepEqual(printed, want) {
			t.Errorf("pod %s prints\n%s\nwant\n%s", name, strings.Join(printed, "\n"), strings.Join(want, "\n"))
		}
		seen := inOrder(seenOnNode(t, name))
		if !reflect.DeepEqual(seen, printed[:len(seen)]) {
			t.Errorf("pod %s: on the node\n%s\nin its files\n%s", name, strings.Join(seen, "\n"), strings.Join(printed, "\n"))
		}
		if !strings.HasPrefix(said, fmt.Sprintf("neuron-launch: worker %d of 2: 4 Neuron devices with 16 logical cores, ", rank)) {
			t.Errorf("pod %s says %q", name, said)
		}
		// What it knows it has from the files: nothing in it can ask the API server.
		if out, err := kubectl("exec", name, "--", "ls", "/var/run/secrets"); err == nil {
			t.Errorf("pod %s has secrets: %s", name, out)
		}
		if out := mustKubectl(t, "exec", name, "--", "hostname"); strings.TrimSpace(out) != fmt.Sprintf("%s-%d", launched, rank) {
			t.Errorf("pod %s has the name %q: no other pod finds its leader", name, out)
		}
	}
}
