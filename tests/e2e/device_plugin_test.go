// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// devicePlugins is fixed in the kubelet. The node has one of its own there, which is not the machine's.
const devicePlugins = "/var/lib/kubelet/device-plugins"

// kubeletRoot is the file system as the kubelet of the cluster sees it.
func kubeletRoot(t *testing.T) string {
	t.Helper()
	status, err := run("", "/usr/bin/python3", filepath.Join(root, "tools", "cluster", "cluster.py"), "status", "--name", kube.Name)
	found := regexp.MustCompile(`(?m)^kubelet pid=(\d+) running`).FindStringSubmatch(status)
	if err != nil || found == nil {
		t.Fatalf("no kubelet runs: %v\n%s", err, status)
	}
	return filepath.Join("/proc", found[1], "root")
}

// besideDevicePlugin has a Neuron device plugin beside the agent's pod for a while.
func besideDevicePlugin(t *testing.T) {
	directory := filepath.Join(kubeletRoot(t), devicePlugins)
	ready := func(want string) {
		t.Helper()
		eventually(t, "the agent's pod with ready="+want, soon, func() error {
			found, err := kubectl("-n", agentNamespace, "get", "pods", "-o", "jsonpath={.items[*].status.containerStatuses[*].ready}")
			if err == nil && found != want {
				err = fmt.Errorf("it is %q", found)
			}
			return err
		})
	}
	told := func(reason, kind string, words ...string) {
		t.Helper()
		eventually(t, "Event "+reason, soon, func() error {
			found, err := eventsAbout(kube.Node, reason)
			if err != nil || len(found) == 0 {
				return errors.Join(err, errors.New("there is none"))
			}
			for _, word := range words {
				if found[0].Type != kind || found[0].Regarding.Kind != "Node" || !strings.Contains(found[0].Note, word) {
					return fmt.Errorf("it is %+v", found[0])
				}
			}
			return nil
		})
	}
	ready("true")
	// The agent connects by the path of its own pod.
	socket := filepath.Join(directory, "neuron.sock")
	plugin, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { // a second run of the test on this node makes the socket again
		plugin.Close()
		os.Remove(socket)
	}()
	told("NeuronDevicePluginFound", "Warning", "directory="+devicePlugins+" ", "socket=neuron.sock")
	ready("false")
	_, err = kubectl("-n", agentNamespace, "exec", "daemonset/"+daemonSet, "--", "neuron-dra-agent", "check")
	if err == nil || !strings.Contains(err.Error(), "let only one of the two run here; its socket is "+devicePlugins+"/neuron.sock") {
		t.Errorf("check says %v", err)
	}
	helmTestFails(t, "let only one of the two run here; its socket is "+devicePlugins+"/neuron.sock")
	runExample(t, "single-device", 1) // pods start all the same
	// Killed: the socket file stays.
	plugin.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := plugin.Close(); err != nil {
		t.Fatal(err)
	}
	told("NeuronDevicePluginGone", "Normal", devicePlugins)
	ready("true")
}
