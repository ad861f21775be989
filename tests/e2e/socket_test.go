// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	dra "k8s.io/kubelet/pkg/apis/dra/v1"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

// How long the kubelet's calls may take that need no API server: less than anything that the agent waits for it.
const localLimit = 8 * time.Second

// claim is one that the API server knows and that devices of the world's node were allocated to.
type claim struct{ name, uid string }

func dial(path string) *grpc.ClientConn {
	return must(grpc.NewClient("unix:"+path, grpc.WithTransportCredentials(insecure.NewCredentials())))
}

// registered does what the kubelet does with a new registration socket.
func (w *world) registered(limit time.Duration) error {
	conn := dial(filepath.Join(w.dir, "r", driver+"-reg.sock"))
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	client := registration.NewRegistrationClient(conn)
	info, err := client.GetInfo(ctx, &registration.InfoRequest{}, grpc.WaitForReady(true))
	if err != nil {
		return fmt.Errorf("GetInfo: %w", err)
	}
	if info.Name != driver || info.Endpoint != w.serviceSocket() {
		return fmt.Errorf("GetInfo says %v", info)
	}
	_, err = client.NotifyRegistrationStatus(ctx, &registration.RegistrationStatus{PluginRegistered: true})
	return err
}

func (w *world) serviceSocket() string { return filepath.Join(w.dir, "p", driver, "dra.sock") }

func (w *world) register() {
	w.t.Helper()
	if err := w.registered(soon); err != nil {
		w.t.Fatal(err)
	}
}

// newClaim stores a claim and allocates one device of the node to it, as the scheduler would.
func (w *world) newClaim(name string, device string) *claim {
	w.t.Helper()
	name = w.name + "-" + name
	var made object
	mustAsk(w.t, "POST", claimsPath, object{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
		"metadata": object{"name": name},
		"spec": object{"devices": object{"requests": []object{
			{"name": "neurons", "exactly": object{"deviceClassName": driver}}}}}}, &made)
	made["status"] = object{"allocation": object{
		"devices": object{"results": []object{{"request": "neurons", "driver": driver, "pool": w.name, "device": device}}},
		"nodeSelector": object{"nodeSelectorTerms": []object{{"matchFields": []object{
			{"key": "metadata.name", "operator": "In", "values": []string{w.name}}}}}}}}
	mustAsk(w.t, "PUT", claimsPath+"/"+name+"/status", made, &made)
	one := &claim{name, made["metadata"].(object)["uid"].(string)}
	w.claims = append(w.claims, one)
	return one
}

func (w *world) call(c *claim, limit time.Duration, unprepare bool) error {
	return callClaim(w.serviceSocket(), c, limit, unprepare)
}

// callClaim sends one claim to an agent; the text of its error is the result.
func callClaim(socket string, c *claim, limit time.Duration, unprepare bool) error {
	conn := dial(socket)
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	claims := []*dra.Claim{{Namespace: "default", Name: c.name, Uid: c.uid}}
	text, err := "", error(nil)
	if unprepare {
		reply, failed := dra.NewDRAPluginClient(conn).NodeUnprepareResources(ctx, &dra.NodeUnprepareResourcesRequest{Claims: claims})
		text, err = reply.GetClaims()[c.uid].GetError(), failed
	} else {
		reply, failed := dra.NewDRAPluginClient(conn).NodePrepareResources(ctx, &dra.NodePrepareResourcesRequest{Claims: claims})
		text, err = reply.GetClaims()[c.uid].GetError(), failed
		if err == nil && text == "" && len(reply.Claims[c.uid].GetDevices()) != 1 {
			text = fmt.Sprintf("the reply is %v", reply)
		}
	}
	if err == nil && text != "" {
		err = errors.New(text)
	}
	return err
}

// hold prepares the two claims that every case has.
func (w *world) hold() {
	w.t.Helper()
	w.held = w.newClaim("held", w.want[0].Name)
	w.spare = w.newClaim("spare", w.want[len(w.want)-1].Name)
	for _, one := range []*claim{w.held, w.spare} {
		if err := w.call(one, soon, false); err != nil {
			w.t.Fatalf("prepare %s: %v", one.name, err)
		}
	}
}

// serves checks what has to work without an API server.
func (w *world) serves() {
	w.t.Helper()
	if err := w.registered(localLimit); err != nil {
		w.t.Errorf("registration during the fault: %v", err)
	}
	w.servesClaims()
}

// servesClaims leaves out the registration: the agent looks at its slices after one.
func (w *world) servesClaims() {
	w.t.Helper()
	if err := w.call(w.held, localLimit, false); err != nil {
		w.t.Errorf("prepare of a held claim during the fault: %v", err)
	}
	if err := w.call(w.spare, localLimit, true); err != nil {
		w.t.Errorf("unprepare during the fault: %v", err)
	}
}
