// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	audit "k8s.io/apiserver/pkg/apis/audit/v1"
)

// request is one request of an agent, as the API server's audit log has it.
type request struct {
	at       time.Time // received
	started  time.Time // of a watch: its response began
	node     int       // -1: the request names no node
	verb     string
	resource string
	code     int32
}

// auditLog follows the API server's audit log, whose policy selects the agents' account alone.
type auditLog struct {
	mu       sync.Mutex
	requests []request       // that no phase has counted yet
	damaged  int             // lines that are no JSON
	watching map[string]bool // audit IDs of watches that began
	noNode   bool            // the driver watches its slices alone, as the Go reference does
}

var nodeInText = regexp.MustCompile(nodePrefix + `(\d{5})`)

func followAudit(path string) *auditLog {
	a := &auditLog{watching: map[string]bool{}}
	go a.follow(path)
	return a
}

func (a *auditLog) follow(path string) {
	var file *os.File
	for {
		var err error
		if file, err = os.Open(path); err == nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	reader := bufio.NewReaderSize(file, 1<<20)
	var rest []byte
	for {
		line, err := reader.ReadSlice('\n')
		rest = append(rest, line...)
		switch {
		case err == nil:
			a.add(rest)
			rest = rest[:0]
		case errors.Is(err, io.EOF):
			time.Sleep(50 * time.Millisecond)
		}
	}
}

// add parses one line: a request that has ended, or a watch that has begun.
func (a *auditLog) add(line []byte) {
	// A watch that ends was counted when it began. Most lines of a quiet phase are such ends.
	var event audit.Event
	if len(bytes.TrimSpace(line)) == 0 {
		return
	}
	if json.Unmarshal(line, &event) != nil {
		a.mu.Lock()
		a.damaged++
		a.mu.Unlock()
		return
	}
	r := request{at: event.RequestReceivedTimestamp.Time, node: -1, verb: event.Verb}
	if event.ResponseStatus != nil {
		r.code = event.ResponseStatus.Code
	}
	named := event.RequestURI
	r.resource, _, _ = strings.Cut(event.RequestURI, "?")
	if event.ObjectRef != nil {
		r.resource = event.ObjectRef.Resource
		if event.ObjectRef.Subresource != "" {
			r.resource += "/" + event.ObjectRef.Subresource
		}
		named += " " + event.ObjectRef.Name
	}
	if found := nodeInText.FindStringSubmatch(named); found != nil {
		r.node, _ = strconv.Atoi(found[1])
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	id := string(event.AuditID)
	switch {
	case event.Stage == audit.StageResponseStarted:
		a.watching[id] = true
		r.started = event.StageTimestamp.Time
	case a.watching[id]:
		delete(a.watching, id)
		return
	}
	a.requests = append(a.requests, r)
}

// take are the requests that were logged since it was called last. So each counts in one phase, also one that was
// received in a phase and answered in a later one.
func (a *auditLog) take() []request {
	a.mu.Lock()
	defer a.mu.Unlock()
	taken := a.requests
	a.requests = nil
	return taken
}

func (a *auditLog) damagedLines() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.damaged
}

// watchesSince says when the watches of slices and of its Node of each node were both there, of those that the
// API server began to answer after the node's time.
func (a *auditLog) watchesSince(from func(node int) time.Time) map[int]time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	type key struct {
		node     int
		resource string
	}
	first := map[key]time.Time{}
	for _, r := range a.requests {
		if r.node < 0 || r.started.IsZero() || r.code != 200 || !r.started.After(from(r.node)) {
			continue
		}
		k := key{r.node, r.resource}
		if old, found := first[k]; !found || r.started.Before(old) {
			first[k] = r.started
		}
	}
	both := map[int]time.Time{}
	for k, slices := range first {
		nodes, found := first[key{k.node, "nodes"}]
		if k.resource != "resourceslices" || !found && !a.noNode {
			continue
		}
		if nodes.After(slices) {
			slices = nodes
		}
		both[k.node] = slices
	}
	return both
}
