// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const good = `{"@context": "https://openvex.dev/ns/v0.2.0", "@id": "urn:x", "author": "a", "timestamp": "2026-11-26T00:00:00Z",
 "version": 1, "statements": [{"vulnerability": {"name": "CVE-1"}, "products": [{"@id": "pkg:generic/x@1"}],
 "status": "not_affected", "justification": "vulnerable_code_not_present"}]}`

// TestCheck: a document is refused for each thing that it lacks.
func TestCheck(t *testing.T) {
	for _, c := range []struct{ old, new string }{
		{"", ""},
		{`"vulnerable_code_not_present"`, `"because"`},
		{`, "justification": "vulnerable_code_not_present"`, ""},
		{`"not_affected"`, `"fine"`},
		{`[{"@id": "pkg:generic/x@1"}]`, "[]"},
		{"CVE-1", ""},
		{`"urn:x"`, `""`},
		{"ns/v0.2.0", "ns/v9"},
	} {
		path := filepath.Join(t.TempDir(), "vex.json")
		if err := os.WriteFile(path, []byte(strings.Replace(good, c.old, c.new, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
		if count, err := check(path); (err == nil) != (c.old == "") || (err == nil && count != 1) {
			t.Errorf("%q for %q: %d statements, %v", c.new, c.old, count, err)
		}
	}
}
