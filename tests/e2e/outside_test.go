// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestOutsidePod types what cfg/deploy/install.md says of an agent that is a process of the host. All but the last command end; the last one is the agent, which has to publish
// its devices with the rights and the token that the commands before it made. Only the paths of the host are the test's.
func TestOutsidePod(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.makeNode(w.nodeLabels())
	tree := w.tree()
	bin := filepath.Join(w.dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	hostname := w.write("hostname", "#!/bin/sh\necho "+w.name+"\n")
	if err := os.Chmod(hostname, 0o755); err != nil {
		t.Fatal(err)
	}
	// The commands run in a folder of their own: what they write must not land in the repository.
	for link, target := range map[string]string{"bin/kubectl": kube.Programs["kubectl"], "bin/neuron-dra-agent": kube.Agent,
		"bin/hostname": hostname, "cfg": filepath.Join(root, "cfg")} {
		if err := os.Symlink(target, filepath.Join(w.dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	env := append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "CDI_ROOT="+w.dir+"/c",
		"KUBELET_REGISTRAR_DIRECTORY_PATH="+w.dir+"/r", "KUBELET_PLUGINS_DIRECTORY_PATH="+w.dir+"/p",
		"SYSFS_ROOT="+tree+"/sys", "PROC_ROOT="+tree+"/proc", "DEV_ROOT="+tree+"/dev", "HEALTHCHECK_PORT=-1",
		"METRICS_PORT=-1")
	commands := shellBlock(t, "cfg/deploy/install.md", "## Outside a pod")
	for _, line := range commands[:len(commands)-1] {
		command := exec.Command("sh", "-ec", line)
		command.Dir, command.Env = w.dir, append(env, "KUBECONFIG="+kube.Kubeconfig)
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
	}
	w.start(exec.Command("sh", "-ec", "exec "+commands[len(commands)-1]), env)
	follow().wait(t, "the slices of the agent that cfg/deploy/install.md starts", soon, func() error {
		if err := w.alive(); err != nil {
			return err
		}
		return w.counted(16)
	})
}
