// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"e2e/proxy"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// attributeIs makes a value of one attribute the wanted one; nil: none.
func attributeIs(w *world, name string, value attribute) {
	for i := range w.want {
		changed := maps.Clone(w.want[i].Attributes) // what is stored has the same map
		delete(changed, name)
		if value != nil {
			changed[name] = value
		}
		w.want[i].Attributes = changed
	}
}

// withoutLayer makes the Node without the label of its third network layer.
func withoutLayer(w *world) {
	listen(w)
	w.kubeconfig(w.address)
	labels := w.nodeLabels()
	delete(labels, "topology.k8s.aws/network-node-layer-3")
	w.makeNode(labels)
}

// lateNode makes the Node only after the agent has asked for it.
func lateNode(w *world) {
	listen(w)
	w.kubeconfig(w.address)
	time.AfterFunc(5*time.Second, func() { w.makeNode(w.nodeLabels()) })
}

// anotherNode replaces the Node by one of the same name.
func anotherNode(w *world) {
	mustAsk(w.t, "DELETE", nodesPath+"/"+w.name, nil, nil)
	w.makeNode(w.nodeLabels())
}

func attributeMissing(w *world, name string) {
	if _, there := w.want[0].Attributes[name]; there {
		w.t.Errorf("%s is published before the Node has the label", name)
	}
}

// labelLater sets the label that was missing.
func labelLater(w *world) {
	attributeMissing(w, "networkNodeLayer3")
	w.label(object{"topology.k8s.aws/network-node-layer-3": "nn-late"})
	attributeIs(w, "networkNodeLayer3", text("nn-late"))
}

// labelGone takes the label away again.
func labelGone(w *world) {
	w.label(object{"topology.k8s.aws/network-node-layer-2": nil})
	attributeIs(w, "networkNodeLayer2", nil)
}

// logged holds that the agent said so.
func logged(words ...string) func(w *world) {
	return func(w *world) {
		follow().wait(w.t, fmt.Sprintf("a line with %q", words), soon, func() error {
			if w.log.find(words...) == "" {
				return fmt.Errorf("not said")
			}
			return nil
		})
	}
}

// otherType gives the Node the label of another instance type than the board's.
func otherType(w *world) { w.label(object{"node.kubernetes.io/instance-type": "trn1.32xlarge"}) }

// capacityBlock labels the Node with one; a value is what has to come of it.
func capacityBlock(value attribute) func(w *world) {
	return func(w *world) {
		w.label(object{"topology.k8s.aws/capacity-block-id": "cr-0123456789abcdef0"})
		attributeIs(w, "capacityBlockId", value)
	}
}

// otherNodes tells of another Node with other labels whenever the agent asks for its own.
func otherNodes(x *proxy.Exchange) {
	spoil := func(name *string, uid *types.UID, labels map[string]string) {
		*name, *uid = "somebody-else", "11111111-2222-4333-8444-555555555555"
		labels["topology.k8s.aws/network-node-layer-1"] = "nn-foreign"
	}
	change := func(n *corev1.Node) {
		if n.Labels != nil { // a bookmark has a version and nothing else
			spoil(&n.Name, &n.UID, n.Labels)
		}
	}
	if x.Kind == "node watch" {
		x.EditEvents(func(_ string, object []byte) []byte { return proxy.Edit(object, change) })
		return
	}
	status, header, body := x.Forward()
	body = proxy.Edit(body, func(list *corev1.NodeList) {
		for i := range list.Items {
			change(&list.Items[i])
		}
	})
	x.Answer(status, header, body)
}

// nodeFaults are those of item 2.
var nodeFaults = []fault{
	{item: 2, name: "label late", what: "networkNodeLayer3's label comes after the start",
		before: withoutLayer, on: labelLater, harm: noHarm, local: (*world).servesClaims},
	{item: 2, name: "label gone", what: "networkNodeLayer2's label is taken away", on: labelGone, harm: noHarm,
		local: (*world).servesClaims},
	{item: 2, name: "capacity block", what: "its label comes late, on an UltraServer", board: "trn2u.48xlarge", harm: noHarm,
		flags: []string{"--ultraserver-devices", "devices"},
		on:    capacityBlock(text("cr-0123456789abcdef0")), local: (*world).servesClaims},
	{item: 2, name: "capacity block elsewhere", what: "its label on a board that is no UltraServer; the slice is deleted",
		on: capacityBlock(nil), limit: atOnce},
	{item: 2, name: "another Node", what: "what is asked about the Node is answered with another one for 5 s",
		on: every(otherNodes, "node", "node watch"), hold: 5 * time.Second, off: clearRules},
	{item: 2, name: "Node re-created", what: "deleted, and made again with another UID", on: anotherNode, harm: noHarm,
		local: (*world).servesClaims},
	{item: 2, name: "Node late", what: "made 5 s after the agent's start; then the slice is deleted",
		before: lateNode, on: nothing, limit: atOnce},
	{item: 2, name: "instance type differs", what: "the Node's label names another board",
		on: otherType, after: both(logged("level=warn", "trn1.32xlarge", "trn2.48xlarge"),
			event("InstanceTypeMismatch", "trn1.32xlarge", "trn2.48xlarge"))},
}

// serve lets the proxy show only some versions of resource.k8s.io.
func serve(w *world, versions ...string) {
	w.proxy.Clear()
	w.proxy.Add(proxy.Rule{Act: func(x *proxy.Exchange) {
		version := x.Version()
		switch {
		case x.Kind == "group":
			status, header, body := x.Forward()
			x.Answer(status, header, proxy.Edit(body, func(g *metav1.APIGroup) { only(g, versions) }))
		case version != "" && !strings.Contains(strings.Join(versions, " ")+" ", version+" "):
			x.Text(404, "404 page not found\n", nil)
		default:
			x.Pass()
		}
	}})
}

func only(g *metav1.APIGroup, versions []string) {
	g.Versions = nil
	for _, version := range versions {
		g.Versions = append(g.Versions, metav1.GroupVersionForDiscovery{GroupVersion: g.Name + "/" + version, Version: version})
	}
	g.PreferredVersion = g.Versions[0]
}

// serving lets the agent start at a server of some versions.
func serving(versions ...string) func(w *world) {
	return func(w *world) {
		serve(w, versions...)
		listen(w)
		w.kubeconfig(w.address)
		w.makeNode(w.nodeLabels())
	}
}

// restartWith is the server's upgrade: it ends, and comes back with other versions.
func restartWith(versions ...string) func(w *world) {
	return func(w *world) {
		w.proxy.Refuse()
		serve(w, versions...)
		time.AfterFunc(3*time.Second, func() { w.listen(w.address) })
	}
}

// wrote holds that the last write was in a version.
func wrote(version string) func(w *world) {
	return func(w *world) {
		last := ""
		for _, r := range w.proxy.Requests() {
			if r.Kind == "create" || r.Kind == "update" {
				last = r.Version()
			}
		}
		if last != version {
			w.t.Errorf("the last write was in %s, want %s", last, version)
		}
	}
}

// versionFaults are those of item 3.
var versionFaults = []fault{
	{item: 3, name: "only v1beta1", what: "the slice is deleted", before: serving("v1beta1"), on: nothing,
		limit: atOnce, after: wrote("v1beta1")},
	{item: 3, name: "only v1beta2", what: "the slice is deleted", before: serving("v1beta2"), on: nothing,
		limit: atOnce, after: wrote("v1beta2")},
	{item: 3, name: "upgrade", what: "from v1beta1 alone to all versions; the server restarts",
		before: serving("v1beta1"), on: restartWith("v1", "v1beta2", "v1beta1"), after: wrote("v1")},
	{item: 3, name: "downgrade", what: "from v1 alone to v1beta1 alone; the server restarts",
		before: serving("v1"), on: restartWith("v1beta1"), after: wrote("v1beta1")},
}
