// SPDX-License-Identifier: Apache-2.0

// Command fleet runs many agents, each a node of its own, against one etcd and one API server, and
// measures what they cost: requests, bytes, processor time, memory, and how long it takes until all is
// right again after each disturbance. It owns the processes of the run and the measuring; scale.py gives
// it the programs and the certificates. Counts are judged; times are printed.
//
//	fleet run -config FILE        one run: a summary in JSON
//	fleet report -results DIR …   the table and the plots of several runs
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
)

// The first thread stays in the namespace of the process: network.go gives another one a namespace of its own.
func init() { runtime.LockOSThread() }

func main() {
	if len(os.Args) < 2 {
		fail(fmt.Errorf("name a command: run or report"))
	}
	flags := flag.NewFlagSet(os.Args[1], flag.ExitOnError)
	config := flags.String("config", "", "settings of the run, written by scale.py")
	results := flags.String("results", "", "directory of the summaries")
	readme := flags.String("readme", "", "page whose table is written; empty: print the table")
	plots := flags.String("plots", "", "directory for the plots; empty: none")
	_ = flags.Parse(os.Args[2:])
	switch os.Args[1] {
	case "run":
		fail(runAll(*config))
	case "report":
		fail(report(*results, *readme, *plots))
	default:
		fail(fmt.Errorf("unknown command %q: run or report", os.Args[1]))
	}
}

func fail(err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "scale: %v\n", err)
		os.Exit(1)
	}
}
