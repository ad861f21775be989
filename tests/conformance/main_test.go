// SPDX-License-Identifier: Apache-2.0

// Package conformance starts the real binary on a simulated node and plays its two peers with their
// own libraries: the kubelet by grpc-go and k8s.io/kubelet, the API server by net/http and k8s.io/api.
// It owns no fact about the agent beyond its contract: flags, paths, wire formats, texts.
package conformance

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

const (
	driverName = "neuron.aws.com"
	nodeDevice = "neuron-node" // all devices of a node of an UltraServer
	nodeName   = "node-1.example.internal"
	nodeUID    = "6f0d9a1c-52f7-4f2b-9a63-0d6f1a2b3c4d"
)

var (
	agentBinary string
	mounting    bool   // the process has a mount namespace of its own
	scratch     string // where nodes are made; short, since sockets below it have at most 107 bytes
)

// What the program does when a test starts it in place of the tests.
const (
	helperEnv      = "CONFORMANCE_HELPER"
	helperOracle   = "oracle"   // oracle_test.go
	helperHolds    = "holds"    // abuse_server_waits_test.go
	helperBesieges = "besieges" // abuse_server_strangers_test.go
)

func TestMain(m *testing.M) {
	switch os.Getenv(helperEnv) {
	case helperOracle:
		printOracle()
		os.Exit(0)
	case helperHolds:
		holdPlaces(os.Getenv("ABUSE_HOLD"))
	case helperBesieges:
		if which := os.Getenv("ABUSE_CONNECTS"); which != "" {
			connect(which, os.Getenv("ABUSE_ADDRESS"), os.Getenv("ABUSE_FROM"))
			os.Exit(0)
		}
		besiege(os.Getenv("ABUSE_STRANGER"), os.Getenv("ABUSE_CONNECTIONS"), os.Getenv("ABUSE_ADDRESS"), os.Getenv("ABUSE_FROM"))
		os.Exit(0)
	}
	enterNamespace()
	flag.Parse()
	parallel := true
	flag.Visit(func(f *flag.Flag) { parallel = parallel && f.Name != "test.parallel" })
	if parallel {
		// Tests wait much more than they compute.
		_ = flag.Set("test.parallel", "8")
	}
	agentBinary = os.Getenv("AGENT")
	if agentBinary == "" {
		agentBinary = "../../build/neuron-dra-agent"
	}
	agentBinary, _ = filepath.Abs(agentBinary)
	if _, err := os.Stat(agentBinary); err != nil {
		fmt.Fprintf(os.Stderr, "%v: build it with make, or name another with AGENT\n", err)
		os.Exit(1)
	}
	removeScratch := makeScratch()
	code := m.Run()
	removeScratch()
	printTables(os.Stdout)
	os.Exit(code)
}

// makeScratch makes the directory for all nodes, in memory where it can: hundreds of nodes begin with a
// store that is flushed to the disk.
func makeScratch() (remove func()) {
	dir, err := os.MkdirTemp("/tmp", "nd")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	scratch = dir
	if mounting {
		_ = syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=4g,mode=755")
	}
	return func() {
		if mounting {
			_ = syscall.Unmount(dir, syscall.MNT_DETACH)
		}
		_ = os.RemoveAll(dir)
	}
}

// enterNamespace starts the process anew in its own mount namespace, where it can, so that what
// the tests mount ends with it and nobody else sees it.
func enterNamespace() {
	if os.Getenv("CONFORMANCE_NAMESPACE") != "" {
		mounting = true
		return
	}
	unshare, err := exec.LookPath("unshare")
	if err != nil || os.Geteuid() != 0 || exec.Command(unshare, "--mount", "true").Run() != nil {
		return
	}
	self, err := os.Executable()
	if err != nil {
		return
	}
	args := append([]string{"unshare", "--mount", "--propagation", "private", self}, os.Args[1:]...)
	_ = syscall.Exec(unshare, args, append(os.Environ(), "CONFORMANCE_NAMESPACE=1"))
}

var skipped = newTable("left out", "test", "why")

// needMounts skips a test for a user who is not root; root without the right to mount is told so.
func needMounts(t testing.TB) {
	t.Helper()
	if !mounting && os.Getuid() == 0 {
		t.Fatal("root may not mount here: run where it may, or as another user to do without these tests")
	}
	if !mounting {
		const why = "needs root and the right to mount"
		skipped.add(t.Name(), why)
		t.Skip(why)
	}
}

// mountTmpfs puts a file system of limited size on a directory until the test ends.
func mountTmpfs(t testing.TB, dir, options string) {
	t.Helper()
	needMounts(t)
	check(t, os.MkdirAll(dir, 0o755))
	check(t, syscall.Mount("tmpfs", dir, "tmpfs", 0, options))
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
}

func remount(t testing.TB, dir string, flags uintptr, options string) {
	t.Helper()
	check(t, syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT|flags, options))
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
