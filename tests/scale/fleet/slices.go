// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	resource "k8s.io/api/resource/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
)

const watchAgain = 200 * time.Millisecond

// stored is what matters of a slice that the API server has.
type stored struct {
	uid, version, label string
	generation, count   int64
}

// pool is what one node has published.
type pool struct {
	slices   map[string]stored
	whole    time.Time // since when all slices of one generation are there; zero: they are not
	broken   time.Time // since when they are not, after they were
	gap      time.Duration
	labelled time.Time
	label    string
}

// slicesWatch knows the slices of the driver at every moment.
type slicesWatch struct {
	client kubernetes.Interface

	mu                        sync.Mutex
	pools                     map[int]*pool
	created, updated, deleted int
}

func watchSlices(ctx context.Context, client kubernetes.Interface) *slicesWatch {
	w := &slicesWatch{client: client, pools: map[int]*pool{}}
	go func() {
		for ctx.Err() == nil {
			w.once(ctx)
			time.Sleep(watchAgain)
		}
	}()
	return w
}

// once lists and watches until the watch ends.
func (w *slicesWatch) once(ctx context.Context) {
	options := meta.ListOptions{FieldSelector: "spec.driver=" + driverName}
	list, err := w.client.ResourceV1().ResourceSlices().List(ctx, options)
	if err != nil {
		return
	}
	w.replace(list.Items)
	options.ResourceVersion = list.ResourceVersion
	stream, err := w.client.ResourceV1().ResourceSlices().Watch(ctx, options)
	if err != nil {
		return
	}
	defer stream.Stop()
	for event := range stream.ResultChan() {
		slice, ok := event.Object.(*resource.ResourceSlice)
		if !ok {
			return
		}
		w.apply(slice, event.Type == watch.Deleted, time.Now())
	}
}

// replace brings the state to what a list says.
func (w *slicesWatch) replace(items []resource.ResourceSlice) {
	now, listed := time.Now(), map[string]bool{}
	for i := range items {
		listed[items[i].Name] = true
		w.apply(&items[i], false, now)
	}
	for number, p := range w.copies() {
		for name := range p.slices {
			if !listed[name] {
				w.apply(&resource.ResourceSlice{ObjectMeta: meta.ObjectMeta{Name: name},
					Spec: resource.ResourceSliceSpec{Pool: resource.ResourcePool{Name: nodeName(number)}}}, true, now)
			}
		}
	}
}

// apply brings one slice into the state.
func (w *slicesWatch) apply(slice *resource.ResourceSlice, gone bool, now time.Time) {
	digits, found := strings.CutPrefix(slice.Spec.Pool.Name, nodePrefix)
	number, err := strconv.Atoi(digits)
	if !found || err != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.pools[number]
	if p == nil {
		p = &pool{slices: map[string]stored{}}
		w.pools[number] = p
	}
	old, known := p.slices[slice.Name]
	switch {
	case gone:
		if known {
			w.deleted++
		}
		delete(p.slices, slice.Name)
	case !known:
		w.created++
	case old.version != slice.ResourceVersion:
		w.updated++
	}
	if !gone {
		p.slices[slice.Name] = storedOf(slice)
	}
	p.update(now)
}

func storedOf(slice *resource.ResourceSlice) stored {
	return stored{uid: string(slice.UID), version: slice.ResourceVersion, label: labelOf(slice),
		generation: slice.Spec.Pool.Generation, count: slice.Spec.Pool.ResourceSliceCount}
}

// listSlices asks the API server for the driver's slices: what it has now, by name.
func (k *control) listSlices() (map[string]stored, error) {
	list, err := k.client.ResourceV1().ResourceSlices().List(context.Background(),
		meta.ListOptions{FieldSelector: "spec.driver=" + driverName})
	if err != nil {
		return nil, err
	}
	all := make(map[string]stored, len(list.Items))
	for i := range list.Items {
		all[list.Items[i].Name] = storedOf(&list.Items[i])
	}
	return all, nil
}

func labelOf(slice *resource.ResourceSlice) string {
	for _, device := range slice.Spec.Devices {
		if value := device.Attributes[labelShows].StringValue; value != nil {
			return *value
		}
	}
	return ""
}

// update finds out whether the pool is whole, and since when.
func (p *pool) update(now time.Time) {
	newest, count := int64(-1), int64(0)
	for _, s := range p.slices {
		if s.generation > newest {
			newest, count = s.generation, 0
		}
		if s.generation == newest {
			count++
		}
		if s.label != p.label {
			p.label, p.labelled = s.label, now
		}
	}
	whole := false
	for _, s := range p.slices {
		whole = whole || s.generation == newest && s.count == count
	}
	switch {
	case whole && p.whole.IsZero():
		p.whole = now
		if !p.broken.IsZero() {
			p.gap = max(p.gap, now.Sub(p.broken))
		}
	case !whole && !p.whole.IsZero():
		p.whole, p.broken = time.Time{}, now
	}
}

// copies are the pools as they are now.
func (w *slicesWatch) copies() map[int]pool {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make(map[int]pool, len(w.pools))
	for number, p := range w.pools {
		one := *p
		one.slices = make(map[string]stored, len(p.slices))
		for name, s := range p.slices {
			one.slices[name] = s
		}
		all[number] = one
	}
	return all
}

// reset begins the counts of a phase.
func (w *slicesWatch) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.created, w.updated, w.deleted = 0, 0, 0
	for _, p := range w.pools {
		p.gap = 0
		if p.whole.IsZero() { // taken away between the phases
			p.broken = time.Time{}
		}
	}
}

// counts of the phase: slices created, rewritten and deleted, and the longest time that a node had none.
func (w *slicesWatch) counts() (created, updated, deleted int, gap time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.pools {
		gap = max(gap, p.gap)
		if p.whole.IsZero() && !p.broken.IsZero() {
			gap = max(gap, time.Since(p.broken))
		}
	}
	return w.created, w.updated, w.deleted, gap
}
