// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"cmp"
	"context"
	"net"
	"sort"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"
	dra "k8s.io/kubelet/pkg/apis/dra/v1"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

// Deadlines of the real kubelet. What it gives a second for is measured where that is the question, and repeated.
const (
	getInfoLimit = time.Second
	callLimit    = 45 * time.Second
)

const (
	prepareV1        = "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources"
	unprepareV1      = "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodeUnprepareResources"
	prepareV1beta1   = "/k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin/NodePrepareResources"
	unprepareV1beta1 = "/k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin/NodeUnprepareResources"
)

// dialRegistration connects as the kubelet's plugin manager does: :authority is the escaped path.
func dialRegistration(t testing.TB, path string) *grpc.ClientConn {
	t.Helper()
	waitFor(t, "socket "+path, func() bool { return isSocket(path) })
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	//nolint:staticcheck // what the kubelet calls
	conn, err := grpc.DialContext(ctx, path,
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithBlock(),
		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", addr)
		}))
	check(t, err)
	t.Cleanup(func() { conn.Close() })
	return conn
}

// dialService connects as the kubelet's DRA manager does: :authority is localhost.
func dialService(t testing.TB, endpoint string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient("unix:"+endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()))
	check(t, err)
	t.Cleanup(func() { conn.Close() })
	return conn
}

func getInfo(t testing.TB, conn *grpc.ClientConn) *registration.PluginInfo {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	info, err := registration.NewRegistrationClient(conn).GetInfo(ctx, &registration.InfoRequest{})
	if err != nil {
		t.Fatalf("GetInfo: %v", err)
	}
	return info
}

func notify(t testing.TB, conn *grpc.ClientConn, ok bool, reason string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, err := registration.NewRegistrationClient(conn).NotifyRegistrationStatus(ctx,
		&registration.RegistrationStatus{PluginRegistered: ok, Error: reason})
	if err != nil {
		t.Fatalf("NotifyRegistrationStatus: %v", err)
	}
}

// kubelet is the service connection to a registered agent.
type kubelet struct {
	t     testing.TB
	conn  *grpc.ClientConn
	limit time.Duration // of prepare; 0: callLimit
}

// register does what the kubelet does with a new socket.
func (a *agent) register() *kubelet {
	a.t.Helper()
	conn := dialRegistration(a.t, a.registrationSocket())
	info := getInfo(a.t, conn)
	service := dialService(a.t, info.Endpoint)
	notify(a.t, conn, true, "")
	conn.Close()
	return &kubelet{t: a.t, conn: service}
}

// running starts an agent with an API server and registers it.
func running(t testing.TB, api *apiServer, board string, simnodeArgs ...string) (*agent, *kubelet) {
	t.Helper()
	a := newAgent(t, board, simnodeArgs...)
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir))
	a.start()
	k := a.register()
	a.waitLog(0, "event=slice_published")
	return a, k
}

// bytesCodec passes messages as they are on the wire.
type bytesCodec struct{}

func (bytesCodec) Marshal(v any) ([]byte, error) { return v.([]byte), nil }
func (bytesCodec) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = append([]byte(nil), data...)
	return nil
}
func (bytesCodec) Name() string { return "proto" }

// callBytes sends claims to a method and returns the reply's bytes.
func (k *kubelet) callBytes(method string, limit time.Duration, claims ...*dra.Claim) ([]byte, error) {
	request, err := proto.Marshal(&dra.NodePrepareResourcesRequest{Claims: claims})
	check(k.t, err)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var reply []byte
	err = k.conn.Invoke(ctx, method, request, &reply, grpc.ForceCodec(bytesCodec{}))
	return reply, err
}

// prepare calls v1 and holds the reply against the contract: one entry for each UID, no other.
func (k *kubelet) prepare(claims ...*dra.Claim) map[string]*dra.NodePrepareResourceResponse {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), cmp.Or(k.limit, callLimit))
	defer cancel()
	reply, err := dra.NewDRAPluginClient(k.conn).NodePrepareResources(ctx,
		&dra.NodePrepareResourcesRequest{Claims: claims})
	if err != nil {
		k.t.Fatalf("NodePrepareResources: %v", err)
	}
	wanted := map[string]bool{}
	for _, c := range claims {
		wanted[c.Uid] = true
		if reply.Claims[c.Uid] == nil {
			k.t.Fatalf("no entry for claim %s", c.Uid)
		}
	}
	if len(reply.Claims) != len(wanted) {
		k.t.Fatalf("%d entries for %d claims", len(reply.Claims), len(wanted))
	}
	return reply.Claims
}

// prepareOK prepares one claim that must succeed.
func (k *kubelet) prepareOK(c *dra.Claim) []*dra.Device {
	k.t.Helper()
	r := k.prepare(c)[c.Uid]
	if r.Error != "" {
		k.t.Fatalf("prepare %s: %s", c.Name, r.Error)
	}
	return r.Devices
}

// prepareError prepares one claim that must fail, with one line of under 1 KiB.
func (k *kubelet) prepareError(c *dra.Claim) string {
	k.t.Helper()
	r := k.prepare(c)[c.Uid]
	checkErrorText(k.t, r.Error)
	if len(r.Devices) != 0 {
		k.t.Errorf("claim %s: devices beside an error", c.Name)
	}
	return r.Error
}

func checkErrorText(t testing.TB, text string) {
	t.Helper()
	if text == "" || len(text) > 1024 {
		t.Fatalf("error text of %d bytes: %q", len(text), text)
	}
	for _, c := range text {
		if c < ' ' || c == 0x7f {
			t.Errorf("control character in %q", text)
		}
	}
}

func (k *kubelet) unprepare(claims ...*dra.Claim) map[string]*dra.NodeUnprepareResourceResponse {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	reply, err := dra.NewDRAPluginClient(k.conn).NodeUnprepareResources(ctx,
		&dra.NodeUnprepareResourcesRequest{Claims: claims})
	if err != nil {
		k.t.Fatalf("NodeUnprepareResources: %v", err)
	}
	for _, c := range claims {
		if reply.Claims[c.Uid] == nil {
			k.t.Fatalf("no entry for claim %s", c.Uid)
		}
	}
	return reply.Claims
}

func (k *kubelet) unprepareOK(claims ...*dra.Claim) {
	k.t.Helper()
	for uid, r := range k.unprepare(claims...) {
		if r.Error != "" {
			k.t.Errorf("unprepare %s: %s", uid, r.Error)
		}
	}
}

func deviceNames(devices []*dra.Device) []string {
	var names []string
	for _, d := range devices {
		names = append(names, d.DeviceName)
	}
	sort.Strings(names)
	return names
}
