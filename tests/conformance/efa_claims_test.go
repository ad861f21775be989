// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	resource "k8s.io/api/resource/v1"
)

// olderBinary is the release that `make older` builds, where the history has its commit: it knows no EFA driver.
const olderBinary = "../../build/older/build/neuron-dra-agent"

// alignedNode is a node with both drivers and a claim that both have prepared.
type alignedNode struct {
	t           *testing.T
	api         *apiServer
	a           *agent
	neuron, efa *kubelet
	claim       *resource.ResourceClaim
	answers     [2][]byte // of the Neuron driver, of the EFA driver
	texts       [2]string // of their CDI files
	closed      atomic.Bool
}

func newAlignedNode(t *testing.T) *alignedNode {
	n := &alignedNode{t: t, api: startAPIServer(t)}
	n.a = newAgent(t, "trn2.48xlarge")
	n.a.args = append(n.a.args, "--kubeconfig", n.api.kubeconfig(n.a.dir), "--reconcile-interval", "1s", "--efa", "true")
	n.api.setFaults(func(kind string, w http.ResponseWriter, _ *http.Request) bool {
		if kind == "claim" && n.closed.Load() {
			n.api.fail(w, 403, "Forbidden", "closed for the test")
			return true
		}
		return false
	})
	n.claim = n.api.addClaim(withEFA(newClaim("aligned", "neurons=0"), "efas=pci-0000-c9-00-0"))
	n.start()
	n.answers = n.replies()
	for i, reply := range n.answers {
		if failed(reply) {
			t.Fatalf("prepare: %q", reply)
		}
		n.texts[i] = string(must(os.ReadFile(n.file(i))))
	}
	// Without slices at the API server, a driver without store and CDI file takes the node for one that it is new on.
	n.a.waitLog(0, "event=slice_published", "driver="+efaDriver)
	n.a.waitLog(0, "event=slice_published", "slice=node-1.example.internal-"+driverName)
	return n
}

func (n *alignedNode) start() {
	n.t.Helper()
	n.a.start()
	n.neuron, n.efa = n.a.register(), n.a.registerEFA()
}

func (n *alignedNode) replies() (replies [2][]byte) {
	n.t.Helper()
	for i, k := range []*kubelet{n.neuron, n.efa} {
		replies[i] = must(k.callBytes(prepareV1, callLimit, named(n.claim)))
	}
	return replies
}

// file is the claim's CDI file of the driver.
func (n *alignedNode) file(driver int) string {
	prefix := []string{driverName, "efa.networking.k8s.aws"}[driver] + "-claim_"
	return filepath.Join(n.a.cdiDir(), prefix+string(n.claim.UID)+".json")
}

func (n *alignedNode) store(driver int) string {
	return filepath.Join([]string{n.a.pluginDir(), n.a.efaPluginDir()}[driver], "claims.store")
}

// held waits until both drivers answer as they did, without the API server, and both CDI files are as they were.
func (n *alignedNode) held(what string) {
	n.t.Helper()
	n.closed.Store(true)
	defer n.closed.Store(false)
	waitFor(n.t, what+": both drivers hold their part", func() bool {
		replies := n.replies()
		return bytes.Equal(replies[0], n.answers[0]) && bytes.Equal(replies[1], n.answers[1])
	})
	for i := range n.texts {
		if text := string(must(os.ReadFile(n.file(i)))); text != n.texts[i] {
			n.t.Errorf("%s: driver %d has another CDI file:\n%s\n%s", what, i, text, n.texts[i])
		}
	}
	rival := n.api.addClaim(withEFA(newClaim("rival"), "efas=pci-0000-c9-00-0"))
	contains(n.t, n.asked(n.efa, rival), "pci-0000-c9-00-0 is already held by claim default/aligned")
}

// asked is the error of a prepare that the API server has a part in.
func (n *alignedNode) asked(k *kubelet, c *resource.ResourceClaim) string {
	closed := n.closed.Swap(false)
	defer n.closed.Store(closed)
	return k.prepareError(named(c))
}

// The store of the EFA driver, or both, is damaged or gone: the CDI files, and where these are gone too the API server, know
// what was held. The other driver's store is not touched.
func TestEFAStoreDamaged(t *testing.T) {
	t.Parallel()
	n := newAlignedNode(t)
	whole := must(os.Stat(n.store(1))).Size()
	for name, spoil := range map[string]func(store string){
		"emptied":      func(store string) { check(t, os.Truncate(store, 0)) },
		"cut":          func(store string) { check(t, os.Truncate(store, 5000)) },
		"garbage":      func(store string) { writeFile(t, store, strings.Repeat("garbage!", int(whole/8))) },
		"header gone":  func(store string) { zeroHeader(t, store) },
		"removed":      func(store string) { check(t, os.Remove(store)) },
		"files go too": nil,
	} {
		for _, both := range []bool{false, true} {
			n.a.kill()
			n.claim.Status.ReservedFor = nil // what the server's list says is not in use
			first := 1
			if both {
				first, name = 0, name+", both"
			}
			untouched := must(os.ReadFile(n.store(0)))
			if spoil == nil {
				n.claim.Status.ReservedFor = []resource.ResourceClaimConsumerReference{{Resource: "pods", Name: "p", UID: "p-1"}}
			}
			for driver := first; driver < 2; driver++ {
				if spoil == nil {
					check(t, os.Remove(n.store(driver)))
					check(t, os.Remove(n.file(driver)))
				} else {
					spoil(n.store(driver))
				}
			}
			mark := n.a.log.count()
			n.start()
			n.a.waitLog(mark, "event=store_opened", "driver="+efaDriver)
			if spoil == nil {
				n.a.waitLog(mark, "event=claims_listed", "driver="+efaDriver, "rebuilt=1")
			}
			if both { // the end of the list changes the store, which the next round expects untouched
				n.a.waitLog(mark, "event=claims_listed pages=1")
			}
			n.held(name)
			if !both && !bytes.Equal(untouched, must(os.ReadFile(n.store(0)))) {
				t.Errorf("%s: the store of the Neuron driver changed", name)
			}
		}
	}
	for _, k := range []*kubelet{n.neuron, n.efa} {
		k.unprepareOK(named(n.claim))
	}
	n.a.noCDI()
}

// A CDI file of the EFA driver that goes, or is edited, comes back while the agent runs; so does its store.
func TestEFAFilesAreRepaired(t *testing.T) {
	t.Parallel()
	n := newAlignedNode(t)
	for name, spoil := range map[string]func(){
		"removed": func() { check(t, os.Remove(n.file(1))) },
		"edited":  func() { writeFile(t, n.file(1), strings.Replace(n.texts[1], "uverbs", "uverbs1", 1)) },
		"emptied": func() { writeFile(t, n.file(1), "") },
	} {
		spoil()
		waitFor(t, name+": the file is back", func() bool {
			text, err := os.ReadFile(n.file(1))
			return err == nil && string(text) == n.texts[1]
		})
	}
	mark := n.a.log.count()
	check(t, os.Truncate(n.store(1), 0))
	n.a.waitLog(mark, "event=store_damaged", "driver="+efaDriver, "it was overwritten while the agent ran")
	n.a.waitLog(mark, "event=store_opened", "driver="+efaDriver, "claims_held=1")
	n.held("after all")
}

// What is gone from the API server, or is there with another UID, stays held by both drivers while the kubelet's checkpoint
// lists it, and is held no more by either once it does not.
func TestEFAClaimsAreReconciled(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]bool{"deleted": false, "made again": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newAlignedNode(t)
			state := filepath.Join(n.a.dir, "dra_manager_state")
			checkpoint(t, state, n.claim)
			mark := n.a.log.count()
			n.api.removeClaim(n.claim)
			if again {
				other := withEFA(newClaim("aligned"), "efas=pci-0000-b4-00-0")
				other.UID = uid("another")
				n.api.addClaim(other)
			}
			for _, of := range []string{"withheld namespace=", "withheld driver=" + efaDriver} {
				n.a.waitLogFor(longPatience, mark, "event=claim_release_"+of, string(n.claim.UID))
			}
			checkpoint(t, state)
			n.a.waitLogFor(longPatience, mark, "event=claim_released", "driver="+efaDriver, string(n.claim.UID))
			waitForLong(t, longPatience, "no CDI file of the claim", func() bool { return !exists(n.file(0)) && !exists(n.file(1)) })
			rival := n.api.addClaim(withEFA(newClaim("rival"), "efas=pci-0000-c9-00-0"))
			n.efa.prepareOK(named(rival))
		})
	}
}

// without runs an agent that has no EFA driver, and looks after what the driver left.
func (n *alignedNode) without(what string, start func()) {
	n.t.Helper()
	n.a.stop()
	store := must(os.ReadFile(n.store(1)))
	mark := n.a.log.count()
	start()
	n.neuron = n.a.register()
	n.a.waitLog(mark, "event=store_opened", "claims_held=1")
	if reply := must(n.neuron.callBytes(prepareV1, callLimit, named(n.claim))); !bytes.Equal(reply, n.answers[0]) {
		n.t.Errorf("%s: the Neuron driver answers %q, not %q", what, reply, n.answers[0])
	}
	n.neuron.unprepareOK(named(n.claim))
	time.Sleep(4 * time.Second) // several rounds of reconciliation
	n.neuron.prepareOK(named(n.claim))
	if !bytes.Equal(store, must(os.ReadFile(n.store(1)))) || string(must(os.ReadFile(n.file(1)))) != n.texts[1] {
		n.t.Errorf("%s: store or CDI file of the EFA driver changed", what)
	}
	if exists(n.a.efaRegistrationSocket()) {
		n.t.Errorf("%s: the EFA driver registers", what)
	}
}

// A release that knows no such driver leaves its claims on the disk as they are: a downgrade, and back.
func TestEFADowngrade(t *testing.T) {
	t.Parallel()
	if !exists(olderBinary) {
		skipped.add(t.Name(), "the older release is not built: make older")
		t.Skip("the older release is not built: make older")
	}
	n := newAlignedNode(t)
	n.without("downgrade", func() {
		line := append([]string{olderBinary}, n.a.commandLine()...)
		for _, unknown := range []string{"--neuron-config-directory-path", "--efa"} {
			at := slices.Index(line, unknown)
			line = slices.Delete(line, at, at+2)
		}
		n.a.launch(line...)
	})
	n.a.kill() // it hands nothing over
	n.start()
	n.held("upgrade")
}
