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
	refused, broken int             // answered with an error; not answered
	late            int             // answered that the API server did not answer in time
	firstError      string
	back            map[int]time.Duration // killed nodes: until the first prepare after the kill
}

func (t *tally) add(took time.Duration, prepare bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case err == nil && prepare:
		t.prepares = append(t.prepares, took)
	case err == nil:
		t.other = append(t.other, took)
	case status.Code(err) == codes.Unavailable:
		t.broken++ // nobody listens: the agent was killed
	case strings.Contains(err.Error(), "no response in time"):
		t.late++
	default:
		t.refused++
		if t.firstError == "" {
			t.firstError = err.Error()
		}
	}
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
	t := &tally{back: map[int]time.Duration{}}
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(r.s.StormSeconds)*time.Second)
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
			if err := r.fleet.end(a, syscall.SIGKILL); err != nil {
				errs <- err
				return
			}
			at := time.Now()
			t.mu.Lock()
			t.back[a.number] = -time.Duration(at.UnixNano())
			t.mu.Unlock()
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
		t.add(0, true, err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	begun := time.Now()
	err := prepare(ctx, c.client, claim)
	t.add(time.Since(begun), true, err)
	if err != nil {
		return
	}
	t.sawBack(number)
	begun = time.Now()
	err = unprepare(ctx, c.client, claim)
	t.add(time.Since(begun), false, err)
}

// sawBack notes the first prepare of a node whose agent was killed.
func (t *tally) sawBack(number int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at, killed := t.back[number]; killed && at < 0 {
		t.back[number] = time.Duration(time.Now().UnixNano()) + at
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
		if took > 0 {
			back = append(back, took)
		}
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
	p.More["calls_late"] = float64(t.late)
	if t.firstError != "" {
		fmt.Printf("storm: first refusal: %s\n", t.firstError)
	}
}
