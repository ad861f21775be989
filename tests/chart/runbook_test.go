// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"regexp"
	"strings"
	"testing"
)

// TestRunbookSections: the operate page has one section for each alert, under the heading that its runbook_url leads to, and none
// for an alert that is gone.
func TestRunbookSections(t *testing.T) {
	sections := map[string]bool{}
	for _, heading := range regexp.MustCompile(`(?m)^#+ (NeuronDRA\w+)$`).FindAllStringSubmatch(read(t, "cfg", "deploy", "operate.md"), -1) {
		sections[heading[1]] = true
	}
	for _, rule := range alertRules(t) {
		if !sections[rule.Alert] || !strings.HasSuffix(rule.Annotations["runbook_url"], "/cfg/deploy/operate.md#"+strings.ToLower(rule.Alert)) {
			t.Errorf("%s: the operate page has no section, or %s leads elsewhere", rule.Alert, rule.Annotations["runbook_url"])
		}
		delete(sections, rule.Alert)
	}
	for name := range sections {
		t.Errorf("the operate page has a section of %s, which is no alert", name)
	}
}
