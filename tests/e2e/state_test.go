// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// storePath is the claim store of the agent on the real node.
func storePath() string {
	return filepath.Join(kube.Short, "kubelet", "plugins", driver, "claims.store")
}

// emptyFolder removes every file of a folder.
func emptyFolder(t *testing.T, folder string) {
	t.Helper()
	for _, entry := range must(os.ReadDir(folder)) {
		if err := os.Remove(filepath.Join(folder, entry.Name())); err != nil {
			t.Fatal(err)
		}
	}
}

// rewriteStore puts other bytes in the place of all that the store holds.
func rewriteStore(t *testing.T, fill func(length int) []byte) {
	t.Helper()
	info := must(os.Stat(storePath()))
	overwrite(t, storePath(), string(fill(int(info.Size()))))
}

func noise(length int) []byte {
	data := make([]byte, length)
	_, _ = rand.Read(data)
	return data
}

func removeStore(t *testing.T) {
	t.Helper()
	if err := os.Remove(storePath()); err != nil {
		t.Fatal(err)
	}
}

// losses are what can happen to the agent's memory of prepared claims. It happens while the agent does not run, or runs
// and is not restarted.
var losses = []struct {
	name string
	runs bool
	lose func(t *testing.T)
}{
	{name: "CDI directory emptied", lose: func(t *testing.T) { emptyFolder(t, kube.CDI) }},
	{name: "store removed", lose: removeStore},
	{name: "store removed under a running agent", runs: true, lose: removeStore},
	{name: "store of zeros", lose: func(t *testing.T) { rewriteStore(t, func(length int) []byte { return make([]byte, length) }) }},
	{name: "store of noise", lose: func(t *testing.T) { rewriteStore(t, noise) }},
	{name: "store of no bytes", lose: func(t *testing.T) { rewriteStore(t, func(int) []byte { return nil }) }},
	{name: "store damaged within a record", lose: func(t *testing.T) {
		data := must(os.ReadFile(storePath()))
		for at := bytes.Index(data, []byte(kube.Node)); at >= 0; at = bytes.Index(data, []byte(kube.Node)) {
			data[at] ^= 1
		}
		overwrite(t, storePath(), string(data))
	}},
	{name: "store and CDI directory lost", lose: func(t *testing.T) {
		removeStore(t)
		emptyFolder(t, kube.CDI)
	}},
	{name: "another boot", lose: func(t *testing.T) {
		emptyFolder(t, kube.CDI)
		boot := filepath.Join(kube.Run, "node", "proc", "sys", "kernel", "random", "boot_id")
		overwrite(t, boot, "99999999-0000-4000-8000-000000000000\n")
	}},
}

// stateLost takes away one witness of what pods hold after the other: nothing is lost, and no device is given twice.
func stateLost(t *testing.T) {
	names := []string{"held-a", "held-b"}
	for _, name := range names {
		apply(t, renamed(t, example(t, "single-device"), "single-device", name))
	}
	waitRunning(t, names...)
	before := cdiContents(t)
	for i, one := range losses {
		t.Run(one.name, func(t *testing.T) {
			if !one.runs {
				control(t, "agent", "kill")
			}
			one.lose(t)
			if !one.runs {
				control(t, "agent", "start")
			}
			eventually(t, "CDI files as before", soon, func() error {
				if after := cdiContents(t); !reflect.DeepEqual(after, before) {
					return fmt.Errorf("they were\n%v\nand are\n%v\n%s", before, after, agentLogTail())
				}
				return nil
			})
			fresh := fmt.Sprintf("fresh-%d", i)
			apply(t, renamed(t, example(t, "single-device"), "single-device", fresh))
			waitRunning(t, append(names, fresh)...)
			mine := devicesOf(t, fresh, "neurons", 1)
			checkContainer(t, fresh, "app", mine)
			for _, name := range names {
				theirs := devicesOf(t, name, "neurons", 1)
				if theirs[0] == mine[0] {
					t.Errorf("%s and %s both hold %s", name, fresh, mine[0])
				}
				checkContainer(t, name, "app", theirs)
			}
			mustKubectl(t, "delete", "pod", fresh)
			eventually(t, "CDI file of "+fresh+" gone", soon, func() error {
				if files := cdiContents(t); len(files) != len(names) {
					return fmt.Errorf("there are %d files", len(files))
				}
				return nil
			})
		})
	}
}

// claimFiles are the CDI files of the world's agent by name.
func (w *world) claimFiles() map[string]string {
	w.t.Helper()
	found := map[string]string{}
	for _, entry := range must(os.ReadDir(filepath.Join(w.dir, "c"))) {
		data, err := os.ReadFile(filepath.Join(w.dir, "c", entry.Name()))
		if err == nil { // a file that is just being written has another name soon
			found[entry.Name()] = string(data)
		}
	}
	return found
}

// reconciled is a world whose agent holds two claims and looks at them every five seconds.
func reconciled(t *testing.T) *world {
	w := newWorld(t)
	w.flags = []string{"--reconcile-interval", "5s"}
	w.listen(w.address)
	w.kubeconfig(w.address)
	w.makeNode(w.nodeLabels())
	w.publish(len(w.tableDevices()))
	w.hold()
	return w
}

// checkpoint writes what the kubelet of this node keeps of the claims that it will unprepare, as kubelet 1.36.3 does.
func (w *world) checkpoint(uids ...string) {
	w.t.Helper()
	entries := []map[string]any{}
	for _, uid := range uids {
		entries = append(entries, map[string]any{"ClaimUID": uid})
	}
	list := must(json.Marshal(entries))
	data := `{"kind":"DRACheckpoint","apiVersion":"checkpoint.dra.kubelet.k8s.io/v1","ClaimInfoStateList":` + string(list) + `}`
	path := filepath.Join(w.dir, "dra_manager_state")
	text := fmt.Sprintf(`{"Data":%s,"Checksum":%d}`, must(json.Marshal(data)), crc32.ChecksumIEEE([]byte(data)))
	if err := errors.Join(os.WriteFile(path+".tmp", []byte(text), 0o600), os.Rename(path+".tmp", path)); err != nil {
		w.t.Fatal(err)
	}
}

// TestReconcile has what an agent that runs finds out by itself.
func TestReconcile(t *testing.T) {
	t.Parallel()
	t.Run("CDI directory emptied", func(t *testing.T) {
		t.Parallel()
		w := reconciled(t)
		before := w.claimFiles()
		emptyFolder(t, filepath.Join(w.dir, "c"))
		eventually(t, "CDI files as before", soon, func() error {
			if after := w.claimFiles(); !reflect.DeepEqual(after, before) {
				return fmt.Errorf("they were\n%v\nand are\n%v", before, after)
			}
			return nil
		})
	})
	t.Run("stale claim", func(t *testing.T) {
		t.Parallel()
		w := reconciled(t)
		w.checkpoint(w.held.uid, w.spare.uid)
		mustAsk(t, "DELETE", claimsPath+"/"+w.held.name, nil, nil)
		next := w.newClaim("next", w.want[0].Name)
		eventually(t, "the claim stays held for the kubelet's sake", soon, func() error {
			if err := w.call(next, soon, false); err == nil || !strings.Contains(err.Error(), "neuron-dra-agent release "+w.held.uid) {
				return fmt.Errorf("a claim for its device: %v", err)
			}
			return nil
		})
		w.checkEvent("Node", w.name, "ClaimReleaseWithheld", w.held.name, w.held.uid)
		begin := time.Now()
		w.checkpoint(w.spare.uid)
		eventually(t, "device free", soon, func() error { return w.call(next, localLimit, false) })
		w.checkEvent("Node", w.name, "ClaimReleased", w.held.name, w.held.uid)
		if files := w.claimFiles(); len(files) != 2 {
			t.Errorf("CDI files of %d claims, want those of spare and next: %v", len(files), files)
		}
		if err := w.call(w.spare, localLimit, true); err != nil {
			t.Error(errors.Join(errors.New("unprepare of the other claim"), err))
		}
		if took := time.Since(begin); took > 32*time.Second {
			t.Errorf("released after %s, 32 s are documented", took.Round(time.Second))
		}
	})
}
