// SPDX-License-Identifier: Apache-2.0

// Command harness measures the agent and the reference plugin side by side: in one run, against one
// stand-in API server and with one kubelet's client, call by call in turn, so that what else the machine
// does hits both alike. It owns the measuring; it judges nothing but that both sides give the same answers.
// It fails only if it could not measure.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

type options struct {
	agent, reference, simnode, dir, out, readme, command string
	claims, starts, limited                              int
	patience                                             time.Duration
	graph                                                bool
}

func main() {
	var o options
	flag.StringVar(&o.agent, "agent", "", "binary of the agent")
	flag.StringVar(&o.reference, "reference", "", "binary of the reference plugin")
	flag.StringVar(&o.simnode, "simnode", "", "the node simulator")
	flag.StringVar(&o.dir, "dir", "", "directory for nodes and results; on a disk, as the kubelet's is")
	flag.StringVar(&o.out, "out", "", "file for the results in JSON")
	flag.StringVar(&o.readme, "readme", "", "Markdown file that gets the tables of one call")
	flag.BoolVar(&o.graph, "graph", false, "write what a prepare's time goes to, and measure nothing else; -agent has symbols")
	flag.StringVar(&o.command, "command", "make bench", "how this run was asked for")
	flag.IntVar(&o.claims, "claims", 500, "claims prepared on each side for each figure")
	flag.IntVar(&o.limited, "limited", 100, "claims prepared on each side under the CPU limit")
	flag.IntVar(&o.starts, "starts", 20, "starts of each side")
	flag.DurationVar(&o.patience, "patience", 2*time.Minute, "longest wait for others to leave the machine alone")
	flag.Parse()
	if o.graph {
		if err := graph(&o, os.Stdout); err != nil {
			fmt.Fprintf(os.Stderr, "bench: %v\n", err)
			os.Exit(1)
		}
		return
	}
	result, err := run(&o)
	if err == nil {
		err = result.writeJSON(o.out)
	}
	if err == nil && o.readme != "" {
		err = result.writeReadme(o.readme)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
	result.writeTable(os.Stdout)
}

// places are the directories of one run.
type places struct {
	state string // on the disk of the given directory, by a path that is short enough for sockets
	cdi   string // in memory where there is /dev/shm: /var/run of a node is
	node  string // simulated sysfs
}

func makePlaces(parent string) (p places, remove func(), err error) {
	var made []string
	remove = func() {
		for _, path := range made {
			_ = os.RemoveAll(path)
		}
	}
	if parent, err = filepath.Abs(parent); err != nil {
		return p, remove, err
	}
	disk, err := os.MkdirTemp(parent, "run")
	if err != nil {
		return p, remove, err
	}
	made = append(made, disk)
	short, err := os.MkdirTemp("/tmp", "nb")
	if err != nil {
		return p, remove, err
	}
	made = append(made, short)
	p.state = filepath.Join(short, "s")
	if err = os.Symlink(disk, p.state); err != nil {
		return p, remove, err
	}
	memory := disk
	if fileSystem("/dev/shm") == "tmpfs" {
		if memory, err = os.MkdirTemp("/dev/shm", "nb"); err != nil {
			return p, remove, err
		}
		made = append(made, memory)
	}
	p.cdi, p.node = memory, filepath.Join(disk, "node")
	return p, remove, nil
}

func fileSystem(path string) string {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return err.Error()
	}
	names := map[int64]string{0x01021994: "tmpfs", 0xef53: "ext4", 0x58465342: "xfs", 0x9123683e: "btrfs",
		0x794c7630: "overlayfs"}
	if name := names[int64(s.Type)]; name != "" {
		return name
	}
	return fmt.Sprintf("file system %#x", s.Type)
}
