// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	resource "k8s.io/api/resource/v1"
	dra "k8s.io/kubelet/pkg/apis/dra/v1"
)

const (
	killPart    = 10 // one agent of so many is killed
	downFor     = time.Second
	stormDevice = "neuron-device-0"
)

// tally is what the storm's calls came to.
type tally struct {
	mu              sync.Mutex
	prepares, other []time.Duration // of calls that succeeded
	inTime          int             // prepares answered before end
	end             time.Time       // of the storm; calls that still run are waited for
	refused, broken int             // answered with an error; not answered by an agent that was killed
	unanswered      int             // not answered by one that was not killed, or is back
	late            int             // answered that the API server did not answer in time
	firstError      string
	down            map[int]bool          // nodes whose agent is to be killed, until the first prepare after the kill
	killed          map[int]time.Time     // when the agent had ended
	back            map[int]time.Duration // from there until the first prepare
}

func newTally(end time.Time) *tally {
	return &tally{end: end, down: map[int]bool{}, killed: map[int]time.Time{}, back: map[int]time.Duration{}}
}

// add counts a call to a node's agent.
func (t *tally) add(number int, took time.Duration, prepare bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case err == nil && prepare:
		t.prepares = append(t.prepares, took)
		if time.Now().Before(t.end) {
			t.inTime++
		}
	case err == nil:
		t.other = append(t.other, took)
	case status.Code(err) == codes.Unavailable && t.down[number]:
		t.broken++ // nobody listens: the agent was killed
	case status.Code(err) == codes.Unavailable:
		t.unanswered++
		t.noteFirst(err)
	case strings.Contains(err.Error(), "no response in time"):
		t.late++
	default:
		t.refused++
		t.noteFirst(err)
	}
}

func (t *tally) noteFirst(err error) {
	if t.firstError == "" {
		t.firstError = err.Error()
	}
}

// kills notes that a node's agent is about to be killed: calls that it does not answer any more are no fault.
func (t *tally) kills(number int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.down[number] = true
}

func (t *tally) hasKilled(number int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.killed[number] = time.Now()
}

// makeClaims makes a claim for a device of each node.
func (r *run) makeClaims() error {
	r.claims = make([]*resource.ResourceClaim, r.s.Agents)
	return each(r.s.Agents, writers, func(number int) (err error) {
		name := fmt.Sprintf("storm-%05d", number)
		r.claims[number], err = r.control.allocatedClaim(name, driverName, nodeName(number), stormDevice)
		return err
	})
}

// storm has each node prepare and unprepare its claim once a second, while a tenth of the agents is killed.
func (r *run) storm(p *phase) error {
	t := newTally(time.Now().Add(time.Duration(r.s.StormSeconds) * time.Second))
	ctx, cancel := context.WithDeadline(context.Background(), t.end)
	defer cancel()
	var wait sync.WaitGroup
	for number, claim := range r.claims {
		wait.Add(1)
		go func() {
			defer wait.Done()
			r.stormNode(ctx, number, claim, t)
		}()
	}
	killed, err := r.killSome(ctx, t)
	wait.Wait()
	if err != nil {
		return err
	}
	t.report(p, killed)
	p.More["storm_s"] = float64(r.s.StormSeconds)
	return nil
}

// killSome kills one agent of ten, spread over the storm, and starts it again a second later.
func (r *run) killSome(ctx context.Context, t *tally) (killed int, err error) {
	count := max(1, r.s.Agents/killPart)
	length := time.Duration(r.s.StormSeconds) * time.Second
	gap := length / 2 / time.Duration(count) // in the first half, so that the second one shows the way back
	errs := make(chan error, count)
	for number := range count {
		a := r.fleet.agents[number*killPart]
		go func() {
			t.kills(a.number)
			if err := r.fleet.end(a, syscall.SIGKILL); err != nil {
				errs <- err
				return
			}
			t.hasKilled(a.number)
			time.Sleep(downFor)
			_, err := r.fleet.start(a)
			errs <- err
		}()
		time.Sleep(gap)
	}
	for range count {
		err = errors.Join(err, <-errs)
	}
	return count, err
}

// caller is the kubelet's end of one node: its connection lasts as long as the socket that it is to.
type caller struct {
	socket string
	conn   *grpc.ClientConn
	client dra.DRAPluginClient
}

func (c *caller) dial(socket string) (err error) {
	if c.conn != nil && c.socket == socket {
		return nil
	}
	c.close()
	c.socket = socket
	c.conn, c.client, err = dial(socket)
	return err
}

func (c *caller) close() {
	if c.conn != nil {
		_ = c.conn.Close()
		c.conn = nil
	}
}

func (r *run) stormNode(ctx context.Context, number int, claim *resource.ResourceClaim, t *tally) {
	named := &dra.Claim{Namespace: claim.Namespace, Uid: string(claim.UID), Name: claim.Name}
	c := &caller{}
	defer c.close()
	// Nodes do not call in step.
	time.Sleep(time.Duration(number) * time.Second / time.Duration(r.s.Agents))
	for tick := time.Now(); ctx.Err() == nil; {
		r.callsOf(number, c, named, t)
		tick = tick.Add(time.Second)
		if late := time.Since(tick); late > 0 {
			tick = time.Now()
		} else {
			time.Sleep(-late)
		}
	}
}

// callsOf prepares and unprepares once.
func (r *run) callsOf(number int, c *caller, claim *dra.Claim, t *tally) {
	a := r.fleet.agents[number]
	a.mu.Lock()
	_, socket := r.fleet.sockets(a)
	a.mu.Unlock()
	if err := c.dial(socket); err != nil {
		t.add(number, 0, true, err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	begun := time.Now()
	err := prepare(ctx, c.client, claim)
	t.add(number, time.Since(begun), true, err)
	if err != nil {
		return
	}
	t.sawBack(number, begun)
	begun = time.Now()
	err = unprepare(ctx, c.client, claim)
	t.add(number, time.Since(begun), false, err)
}

// sawBack notes the first prepare of a node whose agent was killed; begun is when the call was made.
func (t *tally) sawBack(number int, begun time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at, killed := t.killed[number]; killed && t.down[number] && begun.After(at) {
		t.back[number] = time.Since(at)
		t.down[number] = false
	}
}

func prepare(ctx context.Context, client dra.DRAPluginClient, claim *dra.Claim) error {
	reply, err := client.NodePrepareResources(ctx, &dra.NodePrepareResourcesRequest{Claims: []*dra.Claim{claim}})
	if err != nil {
		return err
	}
	entry := reply.Claims[claim.Uid]
	if entry == nil || entry.Error != "" || len(entry.Devices) != 1 {
		return fmt.Errorf("prepare %s: %v", claim.Name, entry)
	}
	return nil
}

func unprepare(ctx context.Context, client dra.DRAPluginClient, claim *dra.Claim) error {
	reply, err := client.NodeUnprepareResources(ctx, &dra.NodeUnprepareResourcesRequest{Claims: []*dra.Claim{claim}})
	if err != nil {
		return err
	}
	if entry := reply.Claims[claim.Uid]; entry == nil || entry.Error != "" {
		return fmt.Errorf("unprepare %s: %v", claim.Name, entry)
	}
	return nil
}

func (t *tally) report(p *phase, killed int) {
	var back []time.Duration
	for _, took := range t.back {
		back = append(back, took)
	}
	p.Right = newSpread(back, killed)
	for name, took := range map[string][]time.Duration{"prepare": t.prepares, "unprepare": t.other} {
		if len(took) == 0 {
			continue
		}
		slices.Sort(took)
		p.More[name+"s"] = float64(len(took))
		p.More[name+"_p50_ms"] = milliseconds(took[len(took)/2])
		p.More[name+"_p99_ms"] = milliseconds(took[int(0.99*float64(len(took)-1))])
	}
	p.More["calls_refused"], p.More["calls_while_killed"] = float64(t.refused), float64(t.broken)
	p.More["calls_late"], p.More["calls_unanswered"] = float64(t.late), float64(t.unanswered)
	p.More["prepares_in_time"] = float64(t.inTime)
	if t.firstError != "" {
		fmt.Printf("storm: first refusal: %s\n", t.firstError)
	}
}
