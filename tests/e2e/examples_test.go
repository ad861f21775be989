// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func torusRow(t *testing.T) { checkBlock(t, runExample(t, "torus-row", 4)) }

// prioritized is given the first of its three wishes on an empty node, and the second where a device is taken.
func prioritized(t *testing.T) {
	manifest := example(t, "prioritized")
	apply(t, manifest)
	waitRunning(t, "prioritized")
	checkContainer(t, "prioritized", "app", devicesOf(t, "prioritized", "neurons/sixteen", 16))
	clean(t)
	runExample(t, "single-device", 1)
	apply(t, manifest)
	waitRunning(t, "prioritized")
	devices := devicesOf(t, "prioritized", "neurons/eight", 8)
	checkBlock(t, devices)
	checkContainer(t, "prioritized", "app", devices)
}

func prefillDecode(t *testing.T) {
	layer := mustKubectl(t, "get", "resourceslices", "-o",
		`jsonpath={.items[0].spec.devices[0].attributes.networkNodeLayer2.string}`)
	apply(t, changed(t, example(t, "prefill-decode"), "== 'nn-2'", "== '"+layer+"'"))
	waitRunning(t, "prefill", "decode")
	checkContainer(t, "prefill", "app", devicesOf(t, "prefill", "neurons", 8))
	checkContainer(t, "decode", "app", devicesOf(t, "decode", "neurons", 4))
}

// sizeClasses: the quota refuses the claim of a second large pod, which has to wait.
func sizeClasses(t *testing.T) {
	manifest := example(t, "size-classes")
	defer mustKubectl(t, "delete", "--ignore-not-found", "resourcequota/neuron-sizes", "deviceclass/large.neuron.example.com")
	apply(t, manifest)
	waitRunning(t, "size-large")
	checkContainer(t, "size-large", "app", devicesOf(t, "size-large", "neurons", 8))
	apply(t, renamed(t, manifest, "size-large", "size-large-2"))
	eventually(t, "the quota refuses the second claim", soon, func() error {
		out, err := kubectl("get", "events", "-o", "jsonpath={.items[*].message}")
		if err == nil && !strings.Contains(out, "exceeded quota: neuron-sizes") {
			err = fmt.Errorf("events: %s", out)
		}
		return err
	})
}

// everyExample comes after the tests that run them.
func everyExample(t *testing.T) {
	entries, err := os.ReadDir(filepath.Join(root, "cfg", "deploy", "examples"))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !examplesRun[entry.Name()] {
			t.Errorf("no test runs %s", entry.Name())
		}
	}
}
