// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"fmt"
	"math/rand"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	resource "k8s.io/api/resource/v1"
	dra "k8s.io/kubelet/pkg/apis/dra/v1"
)

// What is known about a claim from the answers that arrived before a kill.
const (
	unknown = iota // a call was under way
	prepared
	unprepared
)

// stormClaim is one claim with what its reply and CDI file must always be.
type stormClaim struct {
	object *resource.ResourceClaim
	reply  []byte
	file   string
	state  int // written by its worker alone
}

// storm prepares and unprepares the claims without pause until the connection is gone.
func storm(k *kubelet, claims []*stormClaim, seed int64) {
	random := rand.New(rand.NewSource(seed))
	for {
		c := claims[random.Intn(len(claims))]
		before := c.state
		c.state = unknown
		method, after := prepareV1, prepared
		if before == prepared && random.Intn(3) > 0 || before == unknown && random.Intn(2) == 0 {
			method, after = unprepareV1, unprepared
		}
		reply, err := k.callBytes(method, callLimit, named(c.object))
		if err != nil || failed(reply) {
			return
		}
		c.state = after
	}
}

func failed(reply []byte) bool {
	var r dra.NodePrepareResourcesResponse
	if proto.Unmarshal(reply, &r) != nil {
		return true
	}
	for _, e := range r.Claims {
		if e.Error != "" {
			return true
		}
	}
	return false
}

// Killed at any moment, the next process knows every claim whose answer had gone out, byte for byte,
// without the API server; and it can undo all of them.
func TestKilledInAStorm(t *testing.T) {
	const kills, workers, each = 60, 4, 4
	api := startAPIServer(t)
	a := newAgentIn(t, "/tmp", "trn2.48xlarge") // on the disk, whose flushes take their time
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir))
	a.start()
	k := a.register()
	api.published()
	var noReads atomic.Bool
	api.setFaults(func(kind string, w http.ResponseWriter, r *http.Request) bool {
		if kind == "claim" && noReads.Load() {
			api.fail(w, 403, "Forbidden", "closed for the test") // an answer that is final: a 503 is asked again
			return true
		}
		return false
	})
	var claims []*stormClaim
	for i := range workers * each {
		c := &stormClaim{object: api.addClaim(configure(newClaim(fmt.Sprintf("storm-%d", i), fmt.Sprintf("req=%d", i)),
			resource.AllocationConfigSourceClaim, lnc(1+i%2))), state: unprepared}
		c.reply = must(k.callBytes(prepareV1, callLimit, named(c.object)))
		c.file = a.cdiBytes(c.object)
		k.unprepareOK(named(c.object))
		claims = append(claims, c)
	}
	random := rand.New(rand.NewSource(1))
	var known int
	for round := range kills {
		var group sync.WaitGroup
		for w := range workers {
			group.Go(func() { storm(k, claims[w*each:(w+1)*each], int64(round*workers+w)) })
		}
		time.Sleep(time.Duration(random.Intn(40000)) * time.Microsecond)
		a.kill()
		group.Wait()
		noReads.Store(true)
		a.start()
		k = a.register()
		known += inspect(t, a, k, claims)
		if round%10 == 9 {
			api.down()
			undo(t, a, k, claims)
			api.up()
		}
		noReads.Store(false)
	}
	t.Logf("%d kills, %d claims checked whose state was known", kills, known)
	if known < kills {
		t.Error("the storm left too little to check")
	}
	noReads.Store(false)
	for _, c := range claims {
		waitFor(t, "prepare after all", func() bool {
			reply, err := k.callBytes(prepareV1, callLimit, named(c.object))
			return err == nil && bytes.Equal(reply, c.reply)
		})
		if a.cdiBytes(c.object) != c.file {
			t.Errorf("claim %s: another CDI file", c.object.Name)
		}
	}
	api.down()
	undo(t, a, k, claims)
}

// inspect holds what a restarted agent says against what its predecessor had answered.
func inspect(t *testing.T, a *agent, k *kubelet, claims []*stormClaim) (known int) {
	t.Helper()
	for _, c := range claims {
		reply, err := k.callBytes(prepareV1, callLimit, named(c.object))
		check(t, err)
		there := !failed(reply)
		if there && (!bytes.Equal(reply, c.reply) || a.cdiBytes(c.object) != c.file) {
			t.Fatalf("claim %s: another reply or CDI file after a kill", c.object.Name)
		}
		if c.state != unknown {
			known++
		}
		if c.state == prepared && !there {
			t.Fatalf("claim %s had been prepared and is forgotten: %q", c.object.Name, reply)
		}
		if c.state == unprepared && there {
			t.Fatalf("claim %s had been unprepared and is back", c.object.Name)
		}
		c.state = unprepared
		if there {
			c.state = prepared
		}
	}
	return known
}

// undo unprepares everything, as the kubelet does whether or not it was prepared.
func undo(t *testing.T, a *agent, k *kubelet, claims []*stormClaim) {
	t.Helper()
	for _, c := range claims {
		k.unprepareOK(named(c.object))
		c.state = unprepared
	}
	a.noCDI()
}

// A store that something else ruined is said to be so and kept aside; the agent goes on.
func TestDamagedStore(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, k := running(t, api, "trn2.48xlarge")
	store := filepath.Join(a.pluginDir(), "claims.store")
	info, err := os.Stat(store)
	check(t, err)
	c := api.addClaim(newClaim("kept", "req=2"))
	for name, spoil := range map[string]func(){
		"zero length": func() { check(t, os.Truncate(store, 0)) },
		"cut":         func() { check(t, os.Truncate(store, 5000)) },
		"garbage":     func() { writeFile(t, store, string(bytes.Repeat([]byte("garbage!"), int(info.Size()/8)))) },
		"zeros":       func() { check(t, os.WriteFile(store, make([]byte, info.Size()), 0o600)) },
	} {
		a.kill()
		spoil()
		mark := a.log.count()
		a.start()
		k = a.register()
		a.waitLog(mark, "event=store_damaged")
		waitFor(t, name+": prepare", func() bool { return k.prepare(named(c))[string(c.UID)].Error == "" })
		k.unprepareOK(named(c))
		a.noCDI()
		if len(files(t, a.pluginDir())) < 3 { // service socket, store, what was kept aside
			t.Errorf("%s: kept %v", name, files(t, a.pluginDir()))
		}
	}
}

// The store and the CDI files are gone: the API server says which claims are in use, in every version and over several
// pages. Their files are as they were, and their devices go to nobody else.
func TestStoreAndFilesGone(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"v1", "v1beta2", "v1beta1"} {
		api := startAPIServer(t)
		api.serveOnly(version)
		for i := range 600 {
			api.addClaim(newClaim(fmt.Sprintf("another-%d", i))) // of nobody, and without devices
		}
		a, k := running(t, api, "trn2.48xlarge")
		used := configure(newClaim("used", "req=2", "more=5"), resource.AllocationConfigSourceClaim, lnc(1))
		used.Status.ReservedFor = []resource.ResourceClaimConsumerReference{{Resource: "pods", Name: "p", UID: "p-1"}}
		api.addClaim(used)
		k.prepareOK(named(used))
		before := a.cdiBytes(used)
		a.kill()
		check(t, os.Remove(filepath.Join(a.pluginDir(), "claims.store")))
		check(t, os.Remove(a.cdiFile(used)))
		mark := a.log.count()
		a.start()
		k = a.register()
		a.waitLog(mark, "event=claims_listed", "pages=2 claims=601 rebuilt=1")
		if a.cdiBytes(used) != before {
			t.Error("another CDI file than before")
		}
		rival := api.addClaim(newClaim("rival", "req=5"))
		contains(t, k.prepareError(named(rival)), "is already held by claim default/used")
		k.prepareOK(named(used))
		k.unprepareOK(named(used))
		k.prepareOK(named(rival))
	}
}

// A claim is unprepared before a new store knows the claims in use, and prepared again afterwards: the tombstone of its
// unprepare does not release it when its CDI file is lost.
func TestPreparedAgainAfterTombstone(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, k := running(t, api, "trn2.48xlarge")
	c := api.addClaim(newClaim("again", "req=2"))
	k.prepareOK(named(c))
	api.down()
	a.kill()
	check(t, os.Remove(filepath.Join(a.pluginDir(), "claims.store")))
	a.start()
	k = a.register()
	k.unprepareOK(named(c))
	left := files(t, a.cdiDir())
	if !slices.ContainsFunc(left, func(name string) bool { return strings.HasSuffix(name, string(c.UID)+".gone") }) {
		t.Fatalf("no tombstone: %v", left)
	}
	mark := a.log.count()
	api.up()
	a.waitLog(mark, "event=claims_listed")
	k.prepareOK(named(c))
	before := a.cdiBytes(c)
	a.kill()
	check(t, os.Remove(a.cdiFile(c)))
	mark = a.log.count()
	a.start()
	k = a.register()
	a.waitLog(mark, "event=cdi_file_rebuilt")
	if a.cdiBytes(c) != before {
		t.Error("another CDI file than before")
	}
	k.prepareOK(named(c))
}

// A reboot: the CDI directory is empty, the boot id another; the kubelet prepares again.
func TestReboot(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, k := running(t, api, "trn2.48xlarge")
	c := api.addClaim(newClaim("survivor", "req=2"))
	first, err := k.callBytes(prepareV1, callLimit, named(c))
	check(t, err)
	a.kill()
	check(t, os.Remove(a.cdiFile(c)))
	simnode(t, "reboot", "--dir", a.node)
	a.start()
	k = a.register()
	again, err := k.callBytes(prepareV1, callLimit, named(c))
	check(t, err)
	if !bytes.Equal(first, again) {
		t.Error("another reply after the reboot")
	}
	var reply dra.NodePrepareResourcesResponse
	check(t, proto.Unmarshal(again, &reply))
	equalStrings(t, "devices", a.inject(idsOf(reply.Claims[string(c.UID)].Devices, "req")...).devices, "/dev/neuron2")
	api.down()
	k.unprepareOK(named(c))
	a.noCDI()
}

// Temporary files of a kill do not stay.
func TestLeftOverTemporaryFile(t *testing.T) {
	t.Parallel()
	a := withoutServer(t, "trn2.48xlarge", closedPort(t))
	for _, name := range []string{"neuron.aws.com-claim.tmp", "neuron.aws.com-claim.0123456789abcdef.tmp"} {
		left := writeFile(t, filepath.Join(a.cdiDir(), name), "half a file")
		check(t, os.Chtimes(left, time.Time{}, time.Now().Add(-time.Hour)))
	}
	foreignFile := writeFile(t, filepath.Join(a.cdiDir(), "vendor.json"), "{}")
	a.start()
	a.register()
	waitFor(t, "only the foreign file", func() bool { return len(files(t, a.cdiDir())) == 1 })
	if !exists(foreignFile) {
		t.Error("a file of somebody else is gone")
	}
}

// An old copy of the store is put back, while the agent is down or runs: what was prepared since is repeated, its devices
// go to nobody else, and the agent is ready. The copy holds a claim that is gone; the kubelet's checkpoint shows that it is.
func TestOldStorePutBack(t *testing.T) {
	t.Parallel()
	for _, down := range []bool{true, false} {
		t.Run(map[bool]string{true: "down", false: "running"}[down], func(t *testing.T) {
			t.Parallel()
			api := startAPIServer(t)
			a, k := running(t, api, "trn2.48xlarge")
			store := filepath.Join(a.pluginDir(), "claims.store")
			gone := api.addClaim(newClaim("first", "req=0"))
			first := named(gone)
			k.prepareOK(first)
			copied := must(os.ReadFile(store))
			k.unprepareOK(first)
			api.removeClaim(gone)
			made := []*resource.ResourceClaim{api.addClaim(newClaim("since-0", "req=0")), api.addClaim(newClaim("since-5", "req=5"))}
			since := []*dra.Claim{named(made[0]), named(made[1])}
			for _, c := range since {
				k.prepareOK(c)
			}
			if down {
				a.kill()
			}
			check(t, os.WriteFile(store, copied, 0o600))
			if down {
				a.start()
				k = a.register()
			}
			held := func() {
				t.Helper()
				for _, device := range []string{"0", "5"} {
					rival := newClaim("rival-"+device, "req="+device)
					contains(t, k.prepareError(named(api.addClaim(rival))), "already held by claim")
				}
				for _, c := range since {
					waitForLong(t, longPatience, c.Name, func() bool {
						checkpoint(t, filepath.Join(a.dir, "dra_manager_state"), made...) // as the kubelet does before each call
						return k.prepare(c)[c.Uid].Error == ""
					})
				}
			}
			held()
			a.kill()
			a.start()
			k = a.register()
			held()
		})
	}
}

// The store is zeroed or cut off in place while the agent runs: a round of reconciliation makes it again, and nothing is lost.
func TestStoreOverwritten(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a := newAgent(t, "trn2.48xlarge")
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir), "--reconcile-interval", "1s")
	a.start()
	k := a.register()
	store := filepath.Join(a.pluginDir(), "claims.store")
	claims := []*dra.Claim{named(api.addClaim(newClaim("zero", "req=0"))), named(api.addClaim(newClaim("one", "req=1")))}
	for _, c := range claims {
		k.prepareOK(c)
	}
	size := must(os.Stat(store)).Size()
	for name, spoil := range map[string]func(){
		"zeroed":  func() { check(t, os.WriteFile(store, make([]byte, size), 0o600)) },
		"emptied": func() { check(t, os.Truncate(store, 0)) },
		"cut":     func() { check(t, os.Truncate(store, 5000)) },
	} {
		mark := a.log.count()
		spoil()
		a.waitLog(mark, "event=store_damaged", "it was overwritten while the agent ran")
		a.waitLog(mark, "event=store_opened", "claims_held=2")
		contains(t, k.prepareError(named(api.addClaim(newClaim("rival-"+name, "req=0")))), "already held by claim")
		mark = a.log.count()
		a.kill()
		a.start()
		k = a.register()
		a.waitLog(mark, "event=store_opened", "claims_held=2")
		if a.log.last("event=store_damaged") >= mark {
			t.Errorf("%s: still damaged at the next start", name)
		}
		for _, c := range claims {
			k.prepareOK(c)
		}
	}
	k.unprepareOK(claims...)
	a.noCDI()
}
