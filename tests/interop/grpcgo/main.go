// SPDX-License-Identifier: Apache-2.0

// grpcgo is grpc-go as a client of the agent and of the engine: built once with the release of go.mod,
// once with that of ../grpcgo2023. It owns the cases as grpc-go is used; their names are those of
// tests/conformance/interop_clients_test.go, which starts it and answers what it asks.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
)

const patience = 20 * time.Second

const devices = 16 // of the agent's node

type claim struct{ Namespace, Name, UID string }

// where the servers are and what is prepared for the cases.
var at struct {
	Registration, Service, Health, Engine string
	Driver                                string
	Good, Absent, Slow                    claim
	MessageMax                            int
}

var (
	registration, service, health, engine *grpc.ClientConn
	stdin                                 = bufio.NewReader(os.Stdin)
)

const (
	getInfo   = "/pluginregistration.Registration/GetInfo"
	notify    = "/pluginregistration.Registration/NotifyRegistrationStatus"
	prepare   = "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources"
	unprepare = "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodeUnprepareResources"
	check     = "/grpc.health.v1.Health/Check"
	watch     = "/grpc.health.v1.Health/Watch"
)

// bytesCodec passes messages as they are on the wire.
type bytesCodec struct{}

func (bytesCodec) Marshal(v any) ([]byte, error) { return v.([]byte), nil }
func (bytesCodec) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = append([]byte(nil), data...)
	return nil
}
func (bytesCodec) Name() string { return "proto" }

// timeout makes the server see a deadline that this side does not keep.
type timeout string

func (t timeout) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"grpc-timeout": string(t)}, nil
}
func (timeout) RequireTransportSecurity() bool { return false }

func dial(target string) *grpc.ClientConn {
	conn, err := grpc.Dial(target, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(bytesCodec{})))
	if err != nil {
		panic(err)
	}
	return conn
}

func call(conn *grpc.ClientConn, method string, request []byte, options ...grpc.CallOption) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return callIn(ctx, conn, method, request, options...)
}

func callIn(ctx context.Context, conn *grpc.ClientConn, method string, request []byte, options ...grpc.CallOption) (reply []byte, err error) {
	err = conn.Invoke(ctx, method, request, &reply, options...)
	return reply, err
}

// ask has the test do something, and waits until it is done.
func ask(what string) error {
	fmt.Println("ask " + what)
	line, err := stdin.ReadString('\n')
	if err != nil {
		return err
	}
	if line != "yes\n" {
		return errors.New(strings.TrimSpace(line))
	}
	return nil
}

// --- messages ---

func field(number int, value []byte) []byte {
	b := protowire.AppendTag(nil, protowire.Number(number), protowire.BytesType)
	return protowire.AppendBytes(b, value)
}

func claims(list ...claim) (request []byte) {
	for _, c := range list {
		entry := append(field(1, []byte(c.Namespace)), field(2, []byte(c.UID))...)
		request = append(request, field(1, append(entry, field(3, []byte(c.Name))...))...)
	}
	return request
}

// padded is a valid request of exactly size bytes: the rest is an unknown field.
func padded(request []byte, size int) []byte {
	for n := size - len(request); n >= 0; n-- {
		if more := field(15, make([]byte, n)); len(request)+len(more) == size {
			return append(request, more...)
		}
	}
	panic("no such size")
}

// fields returns the values of one field of bytes.
func fields(message []byte, number int) (found [][]byte) {
	for len(message) > 0 {
		n, kind, size := protowire.ConsumeTag(message)
		if size < 0 {
			return nil
		}
		message = message[size:]
		length := protowire.ConsumeFieldValue(n, kind, message)
		if length < 0 {
			return nil
		}
		if int(n) == number && kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(message)
			found = append(found, value)
		}
		message = message[length:]
	}
	return found
}

// entry is what the reply says of one claim: devices and error.
func entry(reply []byte, c claim) (devices int, text string, err error) {
	for _, e := range fields(reply, 1) {
		if key := fields(e, 1); len(key) == 1 && string(key[0]) == c.UID {
			value := fields(e, 2)[0]
			if words := fields(value, 2); len(words) == 1 {
				text = string(words[0])
			}
			return len(fields(value, 1)), text, nil
		}
	}
	return 0, "", fmt.Errorf("no entry of claim %s in %x", c.UID, reply)
}

// unprepared holds the reply of unprepare against what it must be; its entries have the error alone.
func unprepared(reply []byte, err error) error {
	if err != nil {
		return err
	}
	if len(fields(reply, 1)) != 1 || !bytes.Contains(reply, []byte(at.Good.UID)) {
		return fmt.Errorf("reply %x", reply)
	}
	return nil
}

// is holds an error against code and words.
func is(err error, code codes.Code, words string) error {
	s := status.Convert(err)
	if s.Code() != code || !strings.Contains(s.Message(), words) {
		return fmt.Errorf("%v %q instead of %v %q", s.Code(), s.Message(), code, words)
	}
	return nil
}

// --- cases against the agent ---

func caseGetInfo() error {
	reply, err := call(registration, getInfo, nil, grpc.WaitForReady(true))
	if err == nil && (string(bytes.Join(fields(reply, 2), nil)) != at.Driver || len(fields(reply, 4)) == 0) {
		err = fmt.Errorf("reply %q", reply)
	}
	return err
}

func caseNotify() error {
	_, err := call(registration, notify, []byte{8, 1})
	return err
}

func casePrepare() error {
	for range [2]int{} { // the second time nothing is fetched
		reply, err := call(service, prepare, claims(at.Good))
		if err != nil {
			return err
		}
		devices, text, err := entry(reply, at.Good)
		if err != nil || devices != 1 || text != "" {
			return fmt.Errorf("%d devices, %q, %v", devices, text, err)
		}
	}
	return unprepared(call(service, unprepare, claims(at.Good)))
}

func casePrepareRefused() error {
	reply, err := call(service, prepare, claims(at.Absent))
	if err != nil {
		return err
	}
	devices, text, err := entry(reply, at.Absent)
	if err != nil || devices != 0 || !strings.Contains(text, "not found") {
		return fmt.Errorf("%d devices, %q, %v", devices, text, err)
	}
	return nil
}

func caseHealth() error {
	reply, err := call(health, check, field(1, []byte("liveness")))
	if err != nil || !bytes.Equal(reply, []byte{8, 1}) {
		return fmt.Errorf("liveness: %x, %v", reply, err)
	}
	_, err = call(health, check, field(1, []byte("other")))
	return is(err, codes.NotFound, "")
}

// stream begins a call with one request and any number of replies.
func stream(ctx context.Context, conn *grpc.ClientConn, method string, request []byte, options ...grpc.CallOption) (grpc.ClientStream, error) {
	s, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, method, options...)
	if err == nil {
		err = s.SendMsg(request)
	}
	if err == nil {
		err = s.CloseSend()
	}
	return s, err
}

// all reads a stream to its end.
func all(s grpc.ClientStream, err error) (messages [][]byte, _ error) {
	for err == nil {
		var m []byte
		if err = s.RecvMsg(&m); err == nil {
			messages = append(messages, m)
		}
	}
	if err == io.EOF {
		err = nil
	}
	return messages, err
}

// reported reads the first report of the devices' health, and has enough.
func reported(method string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s, err := stream(ctx, service, method, nil)
	if err != nil {
		return err
	}
	var m []byte
	if err = s.RecvMsg(&m); err != nil {
		return err
	}
	if found := len(fields(m, 1)); found != devices {
		return fmt.Errorf("%s: %d devices", method, found)
	}
	cancel()
	return is(s.RecvMsg(new([]byte)), codes.Canceled, "")
}

// told reads the next states of a health stream.
func told(s grpc.ClientStream, want ...byte) error {
	for _, state := range want {
		var m []byte
		if err := s.RecvMsg(&m); err != nil || !bytes.Equal(m, []byte{8, state}) {
			return fmt.Errorf("%x, %v instead of state %d", m, err, state)
		}
	}
	return nil
}

// watchIt begins a health stream of the agent and reads its first state.
func watchIt(ctx context.Context, conn *grpc.ClientConn, name string, want byte) (grpc.ClientStream, error) {
	s, err := stream(ctx, conn, watch, field(1, []byte(name)))
	if err == nil {
		err = told(s, want)
	}
	return s, err
}

// watchEnds begins one and reads its first state; then the context ends it.
func watchEnds(ctx context.Context, code codes.Code, end func()) error {
	s, err := watchIt(ctx, health, "", 1)
	end()
	if err == nil {
		err = is(s.RecvMsg(new([]byte)), code, "")
	}
	return err
}

// The agent's own health stream: each state as it comes, beside others, until the client has enough.
func caseHealthStream() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ready, err := watchIt(ctx, health, "readiness", 1)
	if err == nil {
		_, err = watchIt(ctx, health, "other", 3)
	}
	if err == nil {
		_, err = watchIt(ctx, service, "liveness", 1)
	}
	for _, state := range []byte{2, 1, 2, 1} { // the kubelet's word decides
		if err == nil {
			_, err = call(registration, notify, []byte{8, state % 2})
		}
		if err == nil {
			err = told(ready, state)
		}
	}
	for range [50]int{} {
		if err == nil {
			short, enough := context.WithCancel(ctx)
			err = watchEnds(short, codes.Canceled, enough)
		}
	}
	if err == nil {
		short, enough := context.WithTimeout(ctx, 200*time.Millisecond)
		err = watchEnds(short, codes.DeadlineExceeded, func() {})
		enough()
	}
	if err != nil {
		return err
	}
	for err == nil { // one connection has so many at most
		_, err = watchIt(ctx, health, "", 1)
	}
	if !strings.Contains(err.Error(), "ResourceExhausted") {
		return err
	}
	cancel()
	return is(ready.RecvMsg(new([]byte)), codes.Canceled, "")
}

func caseResourceHealth() error {
	if err := reported("/v1alpha1.DRAResourceHealth/NodeWatchResources"); err != nil {
		return err
	}
	return reported("/v1.DRAResourceHealth/NodeWatchResources")
}

func caseCancel() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := callIn(ctx, service, prepare, claims(at.Slow))
		done <- err
	}()
	if err := ask("fetching"); err != nil {
		return err
	}
	cancel()
	if err := is(<-done, codes.Canceled, ""); err != nil {
		return err
	}
	_, err := call(service, prepare, nil)
	return err
}

func caseClientDeadline() error {
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	_, err := callIn(ctx, service, prepare, claims(at.Slow))
	if err := is(err, codes.DeadlineExceeded, ""); err != nil {
		return err
	}
	_, err = call(service, prepare, nil)
	return err
}

func caseServerDeadline() error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	defer time.AfterFunc(patience, cancel).Stop()
	_, err := callIn(ctx, service, prepare, claims(at.Slow), grpc.PerRPCCredentials(timeout("300m")))
	return is(err, codes.DeadlineExceeded, "deadline exceeded")
}

func caseMessageMax() error {
	if err := unprepared(call(service, unprepare, padded(claims(at.Good), at.MessageMax))); err != nil {
		return err
	}
	_, err := call(service, unprepare, padded(claims(at.Good), at.MessageMax+1))
	if err := is(err, codes.ResourceExhausted, "request message is too large"); err != nil {
		return err
	}
	return unprepared(call(service, unprepare, claims(at.Good)))
}

func caseFourMiB() error {
	for size := 4<<20 - 1; size <= 4<<20+1; size++ {
		_, err := call(service, unprepare, padded(claims(at.Good), size))
		if err := is(err, codes.ResourceExhausted, "request message is too large"); err != nil {
			return fmt.Errorf("%d: %w", size, err)
		}
		if err := unprepared(call(service, unprepare, claims(at.Good))); err != nil {
			return fmt.Errorf("after %d: %w", size, err)
		}
	}
	return nil
}

// parallel runs n calls at once; their first error is the result.
func parallel(n int, f func(i int) error) error {
	var group sync.WaitGroup
	results := make(chan error, n)
	for i := 0; i < n; i++ {
		i := i
		group.Add(1)
		go func() {
			defer group.Done()
			results <- f(i)
		}()
	}
	group.Wait()
	close(results)
	for err := range results {
		if err != nil {
			return err
		}
	}
	return nil
}

func caseManyStreams() error {
	return parallel(100, func(i int) error {
		if i%2 == 0 {
			return unprepared(call(service, unprepare, claims(at.Good)))
		}
		_, err := call(service, prepare, nil)
		return err
	})
}

func caseCompressed() error {
	_, err := call(service, unprepare, claims(at.Good), grpc.UseCompressor(gzip.Name))
	if err := is(err, codes.Unimplemented, "compressed messages are not supported"); err != nil {
		return err
	}
	return unprepared(call(service, unprepare, claims(at.Good)))
}

func caseMetadata() error {
	octets := make([]byte, 256)
	for i := range octets {
		octets[i] = byte(i)
	}
	pairs := metadata.Pairs("some-bin", string(octets), "some-bin", "", "some-text", "a, b;c=\"d\"")
	ctx, cancel := context.WithTimeout(metadata.NewOutgoingContext(context.Background(), pairs), patience)
	defer cancel()
	for range [3]int{} { // literal, then from the table
		reply, err := callIn(ctx, service, unprepare, claims(at.Good))
		if err := unprepared(reply, err); err != nil {
			return err
		}
	}
	return nil
}

// The restarted agent is met by the next call, which does not have to wait for anything.
func caseRestart() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s, err := watchIt(ctx, health, "readiness", 1)
	if err == nil {
		err = ask("restart")
	}
	if err == nil {
		err = told(s, 2)
	}
	if err == nil {
		err = is(s.RecvMsg(new([]byte)), codes.Unavailable, "stopping")
	}
	if err != nil {
		return err
	}
	return unprepared(call(service, unprepare, claims(at.Good)))
}

// Calls that go on while the agent is restarted: each is answered, by the old one or by the new.
func caseRestartUnderCalls() error {
	stop := make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- parallel(4, func(int) error {
			for {
				if err := unprepared(call(service, unprepare, claims(at.Good), grpc.WaitForReady(true))); err != nil {
					return err
				}
				select {
				case <-stop:
					return nil
				default:
				}
			}
		})
	}()
	err := ask("restart")
	close(stop)
	if failed := <-done; err == nil {
		err = failed
	}
	return err
}

// --- cases against the engine ---

const odd = "no room: 100 % of \u20ac \u2603 \U0001F600 %41\n\tend"

func caseStatusText() error {
	for _, text := range []string{odd, "", "plain"} {
		_, err := call(engine, "/engine/Status", []byte(text), grpc.WaitForReady(true))
		s := status.Convert(err)
		if s.Code() != codes.NotFound || s.Message() != text {
			return fmt.Errorf("%v %q instead of %q", s.Code(), s.Message(), text)
		}
	}
	return nil
}

// replies asks the engine for messages of these sizes and checks each.
func replies(sizes string, options ...grpc.CallOption) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s, err := stream(ctx, engine, "/engine/Stream", []byte(sizes), options...)
	messages, err := all(s, err)
	if err != nil {
		return err
	}
	var got []string
	for i, m := range messages {
		got = append(got, fmt.Sprint(len(m)))
		if !bytes.Equal(m, bytes.Repeat([]byte{byte('a' + i)}, len(m))) {
			return fmt.Errorf("message %d of %s is damaged", i, sizes)
		}
	}
	if strings.Join(got, " ") != sizes {
		return fmt.Errorf("messages of %v bytes instead of %s", got, sizes)
	}
	return nil
}

func caseStream() error { return replies("0 1 255 16384 100000 0 7") }

func caseReplyFourMiB() error {
	for _, size := range []string{"4194303", "4194304"} {
		if err := replies(size); err != nil {
			return err
		}
	}
	if err := is(replies("4194305"), codes.ResourceExhausted, ""); err != nil {
		return err
	}
	return replies("1")
}

func caseManyReplies() error {
	return parallel(100, func(int) error { return replies("1 40000 3") })
}

// A health service that streams: what it says at once, what changes, and the end by cancellation.
func caseWatch() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	before, err := call(engine, "/engine/Gone", nil)
	if err != nil {
		return err
	}
	s, err := stream(ctx, engine, watch, nil)
	for _, want := range []byte{1, 2} {
		var m []byte
		if err == nil {
			err = s.RecvMsg(&m)
		}
		if err != nil || !bytes.Equal(m, []byte{8, want}) {
			return fmt.Errorf("%x, %v instead of state %d", m, err, want)
		}
		if want == 1 {
			_, err = call(engine, "/engine/Change", nil)
		}
	}
	cancel()
	if err := is(s.RecvMsg(new([]byte)), codes.Canceled, ""); err != nil {
		return err
	}
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		after, err := call(engine, "/engine/Gone", nil)
		if err != nil || len(after) == 1 && after[0] == before[0]+1 {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("%d calls gone, before %d", after, before)
		}
	}
}

// GOAWAY again and again: what runs ends as it should, what is new finds another connection.
func caseGoaway() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for i := range [5]int{} {
		s, err := stream(ctx, engine, watch, nil)
		var m []byte
		if err == nil {
			err = s.RecvMsg(&m)
		}
		if err != nil {
			return fmt.Errorf("stream %d: %w", i, err)
		}
		err = parallel(20, func(n int) error {
			method := "/engine/Echo"
			if n == 10 {
				method = "/engine/Drain"
			}
			_, err := call(engine, method, nil)
			return err
		})
		if err != nil {
			return fmt.Errorf("call beside GOAWAY %d: %w", i, err)
		}
		if _, err = call(engine, "/engine/Finish", nil); err == nil {
			_, err = all(s, nil)
		}
		if err != nil {
			return fmt.Errorf("stream %d after GOAWAY: %w", i, err)
		}
	}
	return nil
}

func main() {
	text, err := os.ReadFile(os.Args[1])
	if err == nil {
		err = json.Unmarshal(text, &at)
	}
	if err != nil {
		panic(err)
	}
	registration, service = dial("unix:"+at.Registration), dial("unix:"+at.Service)
	health, engine = dial("passthrough:///"+at.Health), dial("unix:"+at.Engine)
	for _, c := range []struct {
		name string
		run  func() error
	}{
		{"GetInfo", caseGetInfo},
		{"Notify", caseNotify},
		{"prepare", casePrepare},
		{"prepare refused", casePrepareRefused},
		{"health", caseHealth},
		{"health stream", caseHealthStream},
		{"resource health stream", caseResourceHealth},
		{"sockets", func() error { return ask("sockets") }},
		{"cancel", caseCancel},
		{"deadline of the client", caseClientDeadline},
		{"deadline of the server", caseServerDeadline},
		{"largest message", caseMessageMax},
		{"4 MiB", caseFourMiB},
		{"100 calls", caseManyStreams},
		{"compressed", caseCompressed},
		{"metadata", caseMetadata},
		{"same sockets", func() error { return ask("same sockets") }},
		{"restart", caseRestart},
		{"restart under calls", caseRestartUnderCalls},
		{"status text", caseStatusText},
		{"stream", caseStream},
		{"4 MiB reply", caseReplyFourMiB},
		{"100 streams", caseManyReplies},
		{"watch", caseWatch},
		{"GOAWAY", caseGoaway},
	} {
		if err := c.run(); err != nil {
			fmt.Printf("failed %s: %q\n", c.name, err.Error())
		} else {
			fmt.Printf("passed %s\n", c.name)
		}
	}
}
