// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// changeNode stores another state of the Node and tells the watches.
func (s *apiServer) changeNode(change func(*meta.ObjectMeta)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.node.ObjectMeta)
	s.version++
	s.node.ResourceVersion = strconv.Itoa(s.version)
	close(s.changed)
	s.changed = make(chan struct{})
}

// serveNodeWatch tells the Node as it is when no version is named, then each change of it.
func (s *apiServer) serveNodeWatch(w http.ResponseWriter, r *http.Request) {
	event := func(kind string, node *core.Node) {
		s.write(w, frame(kind, envelope("v1", "Node", node)))
	}
	w.Header().Set("Content-Type", protobufType+";stream=watch")
	w.WriteHeader(200)
	w.(http.Flusher).Flush()
	told, kind := r.URL.Query().Get("resourceVersion"), "MODIFIED"
	if told == "" {
		kind = "ADDED"
	}
	for {
		s.mu.Lock()
		node, changed := s.node.DeepCopy(), s.changed
		bookmark := &core.Node{ObjectMeta: meta.ObjectMeta{ResourceVersion: strconv.Itoa(s.version)}}
		s.mu.Unlock()
		if kind == "ADDED" || told != node.ResourceVersion {
			event(kind, node)
			told, kind = node.ResourceVersion, "MODIFIED"
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		case <-time.After(s.bookmarks):
			event("BOOKMARK", bookmark)
		}
	}
}

// Labels become attributes while the agent runs, and a Node made anew becomes the owner of its slice.
func TestNodeChanges(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	running(t, api, "trn2.48xlarge")
	api.published()
	api.changeNode(func(m *meta.ObjectMeta) { m.Labels["topology.k8s.aws/network-node-layer-3"] = "nn-new" })
	waitFor(t, "the new label", func() bool {
		own := api.own()
		if len(own) != 1 {
			return false
		}
		layer, ok := own[0].Spec.Devices[15].Attributes["networkNodeLayer3"]
		return ok && layer.StringValue != nil && *layer.StringValue == "nn-new"
	})
	api.changeNode(func(m *meta.ObjectMeta) { m.UID = types.UID("0d4f43f5-0000-4000-8000-0000000000ff") })
	waitFor(t, "the new owner", func() bool {
		own := api.own()
		return len(own) == 1 && own[0].OwnerReferences[0].UID == api.node.UID
	})
	if n := api.seen("node"); n != 0 {
		t.Errorf("%d reads of the Node beside the watch", n)
	}
}

// A role without the verb watch on nodes, as releases before had it, still publishes.
func TestNodeWatchForbidden(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	api.setFaults(func(kind string, w http.ResponseWriter, _ *http.Request) bool {
		if kind != "node watch" {
			return false
		}
		api.fail(w, 403, meta.StatusReasonForbidden, "nodes is forbidden")
		return true
	})
	a, _ := running(t, api, "trn2.48xlarge")
	own := api.published()
	if own.Spec.Devices[0].Attributes["networkNodeLayer1"].StringValue == nil {
		t.Error("no labels")
	}
	a.waitLog(0, "event=api_request_failed", "watch Node", "grant")
}

// A server that takes seconds to answer gets one watch of the Node, and no read beside it.
func TestNodeWatchSlow(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	api.setFaults(func(kind string, _ http.ResponseWriter, _ *http.Request) bool {
		if kind == "node watch" {
			time.Sleep(4 * time.Second)
		}
		return false
	})
	running(t, api, "trn2.48xlarge")
	api.published()
	waitFor(t, "a watch", api.watching)
	if watches, reads := api.seen("node watch"), api.seen("node"); watches != 1 || reads != 0 {
		t.Errorf("%d watches and %d reads of the Node", watches, reads)
	}
	if n := api.seen("group", "node watch", "node", "list", "create", "watch", "claims", "event"); n > 5 {
		t.Errorf("%d requests", n)
	}
}
