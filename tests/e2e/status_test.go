// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"e2e/proxy"
)

// statusRole gives every agent of the tests the rights that the chart renders with claimStatus, in a role of its own.
var statusRole = sync.OnceValue(func() error {
	manifest, err := run("", kube.Programs["helm"], "template", "claim-status", filepath.Join(root, "cfg", "deploy", "chart"),
		"--show-only", "templates/rbac.yaml", "--set", "draDriver.claimStatus=true,draDriver.nameOverride=claim-status")
	if err != nil {
		return err
	}
	if !strings.Contains(manifest, "resourceclaims/status") {
		return fmt.Errorf("the chart renders no rules for --claim-status:\n%s", manifest)
	}
	_, err = run(manifest, kube.Programs["kubectl"], "--kubeconfig", kube.Kubeconfig, "apply", "-f", "-")
	return err
})

// withStatus lets the agent write the status of claims, with a token of its node as a pod there has it.
func withStatus(w *world) {
	listen(w)
	w.kubeconfig(w.address)
	w.makeNode(w.nodeLabels())
	if err := statusRole(); err != nil {
		w.t.Fatal(err)
	}
	w.write("token", mintTokenFor(w.t, agentNamespace, agentAccount, object{
		"boundObjectRef": object{"kind": "Node", "apiVersion": "v1", "name": w.name, "uid": w.node.UID}}))
}

// deviceStatus is what a claim's status says of its devices.
func deviceStatus(c *claim) ([]object, error) {
	var found struct {
		Status struct{ Devices []object }
	}
	err := ask("GET", claimsPath+"/"+c.name, nil, &found)
	return found.Status.Devices, err
}

// statusIs waits until a claim's status names so many devices of the agent's, and another driver's one entry or none.
func (w *world) statusIs(c *claim, own int) {
	w.t.Helper()
	follow().wait(w.t, fmt.Sprintf("%d entries in the status of %s", own, c.name), soon, func() error {
		found, err := deviceStatus(c)
		if err != nil {
			return err
		}
		mine := 0
		for _, one := range found {
			if one["driver"] == driver {
				mine++
			}
		}
		text, _ := json.Marshal(found)
		if mine != own || own > 0 && !strings.Contains(string(text), `"Ready"`) {
			return fmt.Errorf("it says %s", text)
		}
		return nil
	})
}

// statusFollows holds that the status comes with the prepare and goes with the unprepare.
func statusFollows(w *world) {
	w.statusIs(w.held, 1)
	w.statusIs(w.spare, 1)
	w.serves()
	w.statusIs(w.spare, 0)
}

// statusRefused holds that claims do not care whether their status can be written.
func statusRefused(w *world) {
	if err := w.call(w.spare, localLimit, true); err != nil {
		w.t.Errorf("unprepare: %v", err)
	}
	w.serves()
	// They come in the background, when the rate of requests lets them.
	eventually(w.t, "a request for the status of a claim", soon, func() error {
		if count(w.proxy.Requests(), "claim status") == 0 {
			return errors.New("none came")
		}
		return nil
	})
	if found := count(w.proxy.Requests(), "claim status"); found > 12 {
		w.t.Errorf("%d requests for the status of two claims", found)
	}
}

// statusFaults are those of item 7.
var statusFaults = []fault{
	{item: 7, name: "claim status", what: "with --claim-status: written, and taken back at the unprepare", before: withStatus,
		flags: []string{"--claim-status", "true"}, on: nothing, local: statusFollows},
	{item: 7, name: "claim status forbidden", what: "403 for each PATCH of a status", local: statusRefused, before: withStatus,
		flags: []string{"--claim-status", "true"},
		on:    every(fail(403, "Forbidden", "resourceclaims/driver is forbidden"), "claim status"), hold: 5 * time.Second, off: clearRules},
	{item: 7, name: "claim status unanswered", what: "no answer to any PATCH of a status", local: statusRefused, before: withStatus,
		flags: []string{"--claim-status", "true"},
		on:    every((*proxy.Exchange).Hang, "claim status"), hold: 5 * time.Second, off: clearRules},
}
