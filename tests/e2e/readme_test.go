// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// elsewhere are the blocks of commands that are not for a test on this cluster, with the reason.
var elsewhere = map[string]string{
	"README.md ## Two commands":                               "make test runs make demo; make test is what runs these tests",
	"boards/README.md ## A board from a capture":              "changes the tree; TestCaptures of tests/conformance runs its program",
	"cfg/deploy/autoscaling.md ## Templates":                  "needs no cluster; make autoscale-test runs the filter",
	"cfg/deploy/release.md ## Check what you downloaded":      "make image-test types them, in a folder with the files of a release",
	"cfg/deploy/release.md ## Build the same bytes":           "checks another commit out; make release-twice compares two builds",
	"cfg/deploy/release.md ## Push":                           "needs a registry",
	"cfg/deploy/release.md ## Sign":                           "needs cosign, a key and a registry",
	"cfg/deploy/release.md ### Sign with openssl":             "make image-test types them",
	"cfg/deploy/release.md ## Check a signature":              "needs cosign and a registry",
	"cfg/deploy/release.md ### Check with openssl":            "make image-test types them",
	"cfg/deploy/install.md ## Helm":                           "names a registry; TestChart types what the README says for a node without one",
	"cfg/deploy/install.md ### From AWS's DRA driver":         "names groups of EKS; TestMigration goes these steps on one node",
	"tests/fuzz/README.md ## Commands":                        "make test runs its targets for a shorter time; AFL++ is not installed",
	"tests/fuzz/README.md ## Elsewhere":                       "needs OSS-Fuzz's image; make fuzz-elsewhere runs what it builds",
	"tests/mutants/README.md # Mutants":                       "hours; tests/gates runs the tool on small trees",
	"tests/proofs/README.md # Proofs":                         "CBMC runs for minutes; make check runs the quick proofs",
	"tests/scale/README.md # Many nodes":                      "minutes with hundreds of agents on an API server of their own",
	"tools/cluster/README.md # A real cluster on one machine": "a second cluster beside this one",
	"tools/cluster/README.md ## The matrix":                   "clusters of other releases, which have to be built",
}

// typed are the blocks that tests have read.
var typed = map[string]bool{}

// shellBlocks are the commands in the documents of the repository, by file and heading, from fenced and indented blocks, and
// the places where commands hide in a block of another language.
func shellBlocks() (map[string][]string, []string) {
	found, hidden := map[string][]string{}, []string{}
	files := must(run("", "git", "-C", root, "ls-files", "*.md"))
	command := regexp.MustCompile(`^(\$ |    +)?(kubectl|helm|make|ctr|neuron-dra-agent|skopeo) `)
	for _, file := range strings.Fields(files) {
		heading, fence, language := "", false, ""
		for number, line := range strings.Split(string(must(os.ReadFile(filepath.Join(root, file)))), "\n") {
			key := file + " " + heading
			switch rest, marks := strings.CutPrefix(strings.TrimLeft(line, " "), "```"); {
			case marks:
				fence, language = !fence, rest
			case fence && language == "sh", !fence && strings.HasPrefix(line, "    ") && command.MatchString(line):
				found[key] = append(found[key], line)
			case fence && command.MatchString(line):
				hidden = append(hidden, fmt.Sprintf("%s:%d: a command in a block that is not sh", file, number+1))
			case !fence && strings.HasPrefix(line, "#"):
				heading = line
			}
		}
	}
	return found, hidden
}

// shellBlock are the commands below a heading, as they are printed there.
func shellBlock(t *testing.T, file, heading string) []string {
	t.Helper()
	blocks, _ := shellBlocks()
	key := file + " " + heading
	if blocks[key] == nil {
		t.Fatalf("%s has no block of commands below %q", file, heading)
	}
	typed[key] = true
	return blocks[key]
}

// TestShellBlocks finds a block of commands that is hidden from the tests, and a reason without its block.
func TestShellBlocks(t *testing.T) {
	blocks, hidden := shellBlocks()
	for _, one := range hidden {
		t.Error(one)
	}
	for key, reason := range elsewhere {
		if blocks[key] == nil {
			t.Errorf("there is no block %q", key)
		}
		t.Logf("not typed: %s: %s", key, reason)
	}
}

// leftOut are the examples and the blocks of commands that no test of this process has read. tools/cluster/e2e.py refuses a whole
// run in which no process has read one.
func leftOut() []string {
	var left []string
	for _, path := range must(filepath.Glob(filepath.Join(root, "cfg", "deploy", "examples", "*.yaml"))) {
		if !examplesRun[filepath.Base(path)] {
			left = append(left, "no test runs "+path)
		}
	}
	blocks, _ := shellBlocks()
	for key := range blocks {
		if !typed[key] && elsewhere[key] == "" {
			left = append(left, "no test types the commands of "+key)
		}
	}
	return left
}

// shell is a user's: its commands work on this cluster, and the agent's are those of its pod.
type shell struct{ path string }

func newShell(t *testing.T) shell {
	t.Helper()
	bin := t.TempDir()
	for name, script := range map[string]string{
		"make":    `exec env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL ` + must(exec.LookPath("make")) + ` "$@"`,
		"kubectl": `exec ` + kube.Programs["kubectl"] + ` "$@"`,
		"helm":    `[ "$1" = install ] && set -- "$@" ` + strings.Join(hostPaths(), " ") + `; exec ` + kube.Programs["helm"] + ` "$@"`,
		"ctr":     `exec ` + kube.Programs["ctr"] + ` --address ` + filepath.Join(kube.Short, "containerd.sock") + ` "$@"`,
	} {
		overwrite(t, filepath.Join(bin, name), "#!/bin/sh\n"+script+"\n")
		if err := os.Chmod(filepath.Join(bin, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return shell{bin}
}

// typeLine runs one line as bash does at a prompt; its standard output.
func (s shell) typeLine(t *testing.T, line string) string {
	t.Helper()
	command := exec.Command("bash", "-ec", line)
	command.Dir = root
	command.Env = append(os.Environ(), "PATH="+s.path+":"+os.Getenv("PATH"), "KUBECONFIG="+kube.Kubeconfig)
	var stderr strings.Builder
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s%s", line, err, out, stderr.String(), agentPods())
	}
	return string(out)
}

// lookAtIt types what the README, and the operators' page at its start, say of a running agent, while a pod holds a device.
func lookAtIt(t *testing.T) {
	runExample(t, "single-device", 1)
	user := newShell(t)
	var out []string
	archive := filepath.Join(t.TempDir(), "node.tar")
	lines := shellBlock(t, "README.md", "## Look at it")
	for _, line := range lines {
		line = strings.Replace(line, "node.tar", archive, 1)
		out = append(out, user.typeLine(t, lines[0]+"\n"+line)) // the first defines a function
	}
	if files := user.typeLine(t, "tar -tf "+archive); !strings.Contains(files, "neuron-dra-agent/claims.store\n") {
		t.Errorf("the bundle has the files\n%s", files)
	}
	for i, words := range []string{"", "single-device", "single-device", "", "", "trn2.48xlarge", ""} {
		if !strings.Contains(out[i], words) {
			t.Errorf("line %d of the block lacks %q:\n%s", i, words, out[i])
		}
	}
	look := strings.Join(shellBlock(t, "cfg/deploy/operate.md", "## First look"), "\n")
	first := user.typeLine(t, look)
	for _, words := range []string{"Name:  ", "neuron.aws.com", "neuron-device-0", "single-device"} {
		if !strings.Contains(first, words) {
			t.Errorf("the first look lacks %q:\n%s", words, first)
		}
	}
	fetch := strings.Join(shellBlock(t, "cfg/deploy/operate.md", "## A bundle for a report"), "\n")
	files := user.typeLine(t, look+"\n"+strings.ReplaceAll(fetch, "node.tar", filepath.Join(t.TempDir(), "node.tar")))
	if !strings.Contains(files, "neuron-dra-agent/settings.txt\n") {
		t.Errorf("the bundle has the files\n%s", files)
	}
}
