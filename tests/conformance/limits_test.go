// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	resource "k8s.io/api/resource/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	dra "k8s.io/kubelet/pkg/apis/dra/v1"
)

// longest pads a name with letters to the API's limit.
func longest(prefix string, length int) string {
	return prefix + strings.Repeat("x", length-len(prefix))
}

// monitoring claims may overlap.
func monitoring(c *resource.ResourceClaim) *resource.ResourceClaim {
	yes := true
	for i := range c.Status.Allocation.Devices.Results {
		c.Status.Allocation.Devices.Results[i].AdminAccess = &yes
	}
	return c
}

// 64 claims of 32 results each, every name as long as the API allows: an answer of more than half a
// megabyte passes through windows of 64 KiB, and every CDI file is valid.
func TestLargestClaims(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, k := running(t, api, "trn2.48xlarge", "--devices", "64")
	var claims []*dra.Claim
	for i := range 64 {
		var results []string
		for r := range 32 {
			results = append(results, fmt.Sprintf("%s=%d", longest(fmt.Sprintf("r%d-", r), 63), (i+r)%64))
		}
		c := monitoring(newClaim(longest(fmt.Sprintf("claim-%d-", i), 253), results...))
		c.Namespace = longest("namespace-", 63)
		for r := range 32 {
			configure(c, resource.AllocationConfigSourceClaim, lnc(1+r%2), strings.Split(results[r], "=")[0])
		}
		claims = append(claims, named(api.addClaim(c)))
	}
	for range 2 {
		for i, r := range k.prepare(claims...) {
			if r.Error != "" || len(r.Devices) != 32 {
				t.Fatalf("claim %s: %d devices, %s", i, len(r.Devices), r.Error)
			}
		}
	}
	devices := k.prepareOK(claims[5])
	for r := range 32 {
		got := a.inject(idsOf(devices, longest(fmt.Sprintf("r%d-", r), 63))...)
		equalStrings(t, "devices", got.devices, fmt.Sprintf("/dev/neuron%d", 5+r))
		equalStrings(t, "environment", got.env, fmt.Sprintf("NEURON_LOGICAL_NC_CONFIG=%d", 1+r%2))
	}
	k.unprepareOK(claims...)
	a.noCDI()
}

// As many claims as the store has places; one more is refused with words, and all outlive a kill.
func TestStoreHasNoMorePlaces(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, k := running(t, api, "trn2.48xlarge")
	var claims []*dra.Claim
	for i := range 256 {
		claims = append(claims, named(api.addClaim(monitoring(newClaim(fmt.Sprint("c", i), fmt.Sprintf("req=%d", i%16))))))
	}
	prepareAll := func() {
		for at := 0; at < len(claims); at += 64 {
			for uid, r := range k.prepare(claims[at : at+64]...) {
				if r.Error != "" {
					t.Fatalf("%s: %s", uid, r.Error)
				}
			}
		}
	}
	prepareAll()
	more := named(api.addClaim(monitoring(newClaim("more", "req=0"))))
	contains(t, k.prepareError(more), "claim store", "in use")
	a.kill()
	api.down()
	a.start()
	k = a.register()
	prepareAll()
	if n := len(files(t, a.cdiDir())); n != 256 {
		t.Errorf("%d CDI files", n)
	}
	k.unprepareOK(claims[:64]...)
	api.up()
	waitForLong(t, longPatience, "prepare in a place that became free", prepareWorks(k, more))
	k.unprepareOK(more)
	for at := 64; at < len(claims); at += 64 {
		k.unprepareOK(claims[at : at+64]...)
	}
	a.noCDI()
}

// A new claim of the same name before the old one is unprepared: the UID decides.
func TestClaimReplacedUnderItsName(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, k := running(t, api, "trn2.48xlarge")
	old := newClaim("name", "req=3")
	k.prepareOK(named(api.addClaim(old)))
	same := newClaim("name", "req=3")
	same.UID = uid("second life")
	api.addClaim(same)
	contains(t, k.prepareError(named(same)), "neuron-device-3", "default/name", string(old.UID))
	other := newClaim("name", "req=4")
	other.UID = uid("third life")
	api.addClaim(other)
	k.prepareOK(named(other))
	k.prepareOK(named(old)) // still known, whatever the API server has under its name
	k.unprepareOK(named(old))
	devices := k.prepareOK(named(other))
	equalStrings(t, "devices", a.inject(idsOf(devices, "req")...).devices, "/dev/neuron4")
	k.unprepareOK(named(other), named(same))
	a.noCDI()
}

// Early hints, warnings, trailers and long headers are no reason to fail.
func TestUnusualResponses(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, k := running(t, api, "trn2.48xlarge")
	c := api.addClaim(newClaim("c", "req=0"))
	body := envelope("resource.k8s.io/v1", "ResourceClaim", c)
	cases := map[string]hook{
		"early hints": func(_ string, w http.ResponseWriter, r *http.Request) bool {
			w.WriteHeader(103)
			return false
		},
		"warnings": func(_ string, w http.ResponseWriter, r *http.Request) bool {
			for i := range 30 {
				w.Header().Add("Warning", fmt.Sprintf(`299 - "%d %s"`, i, strings.Repeat("w", 400)))
			}
			return false
		},
		"trailers": func(_ string, w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("Trailer", "X-After")
			api.reply(w, 200, body)
			w.Header().Set("X-After", "done")
			return true
		},
		"no content length, empty pieces": func(_ string, w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("Content-Type", protobufType)
			for _, b := range body {
				_, _ = w.Write([]byte{b})
				w.(http.Flusher).Flush()
				w.(http.Flusher).Flush()
			}
			return true
		},
		"goaway with the answer": func(_ string, w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("Connection", "close")
			return false
		},
	}
	for name, f := range cases {
		api.setFaults(func(kind string, w http.ResponseWriter, r *http.Request) bool {
			return kind == "claim" && f(kind, w, r)
		})
		waitFor(t, name, prepareWorks(k, named(c)))
		k.unprepareOK(named(c))
	}
	a.noCDI()
}

// A watch that ends, expires or breaks is opened again; nothing that happened meanwhile is missed.
func TestWatchEnds(t *testing.T) {
	t.Parallel()
	status := envelope("v1", "Status", &meta.Status{Status: "Failure", Reason: meta.StatusReasonExpired, Code: 410, Message: "too old resource version"})
	cases := map[string]func(api *apiServer, w http.ResponseWriter){
		"ends":         func(api *apiServer, w http.ResponseWriter) {},
		"expires":      func(api *apiServer, w http.ResponseWriter) { api.write(w, frame("ERROR", status)) },
		"breaks":       func(api *apiServer, w http.ResponseWriter) { panic(http.ErrAbortHandler) },
		"is cut":       func(api *apiServer, w http.ResponseWriter) { api.write(w, frame("ERROR", status)[:20]) },
		"is garbage":   func(api *apiServer, w http.ResponseWriter) { api.write(w, []byte("\x00\x00\x00\x08garbage!")) },
		"has no bound": func(api *apiServer, w http.ResponseWriter) { api.write(w, []byte("\xff\xff\xff\xff")) },
	}
	for name, end := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := startAPIServer(t)
			a := newAgent(t, "trn2.48xlarge")
			a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir))
			rounds := 0
			api.setFaults(func(kind string, w http.ResponseWriter, r *http.Request) bool {
				if kind != "watch" || rounds >= 2 {
					return false
				}
				rounds++
				w.Header().Set("Content-Type", protobufType+";stream=watch")
				w.WriteHeader(200)
				w.(http.Flusher).Flush()
				time.Sleep(100 * time.Millisecond)
				if own := api.own(); len(own) == 1 && rounds == 2 {
					api.remove(own[0].Name) // while no watch tells
				}
				end(api, w)
				return true
			})
			a.start()
			a.register()
			waitForLong(t, longPatience, "third watch", api.watching)
			waitForLong(t, longPatience, "the slice again", func() bool { return len(api.own()) == 1 })
			gone := api.published().Name
			api.remove(gone)
			waitFor(t, "repair by the watch", func() bool { own := api.own(); return len(own) == 1 && own[0].Name != gone })
		})
	}
}

// Nobody reads the log: no call waits for it.
func TestLogIsNotRead(t *testing.T) {
	t.Parallel()
	a := withoutServer(t, "trn2.48xlarge", closedPort(t))
	reader, writer, err := os.Pipe()
	check(t, err)
	defer reader.Close()
	cmd := exec.Command(agentBinary, a.commandLine()...)
	cmd.Stderr = writer
	check(t, cmd.Start())
	writer.Close()
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	k := a.register()
	for i := range 3000 { // each is one line of about 150 bytes
		k.unprepareOK(&dra.Claim{Namespace: "default", Name: fmt.Sprint("c", i), Uid: string(uid("log"))})
	}
	getInfo(t, dialRegistration(t, a.registrationSocket()))
}

// stderr is a terminal whose other end nobody reads: neither calls nor probes wait for it.
func TestLogIsOnATerminalNobodyReads(t *testing.T) {
	t.Parallel()
	a := withoutServer(t, "trn2.48xlarge", closedPort(t))
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	check(t, err)
	defer master.Close()
	check(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	check(t, err)
	terminal, err := os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	check(t, err)
	cmd := exec.Command(agentBinary, a.commandLine()...)
	cmd.Stderr = terminal
	check(t, cmd.Start())
	terminal.Close()
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	k := a.register()
	for i := range 300 { // each is one line of about 150 bytes; a terminal takes 4 KiB
		k.unprepareOK(&dra.Claim{Namespace: "default", Name: fmt.Sprint("c", i), Uid: string(uid("log"))})
	}
	getInfo(t, dialRegistration(t, a.registrationSocket()))
}

// Connections that others leave open do not lock the kubelet out.
func TestManyIdleConnections(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, _ := running(t, api, "trn2.48xlarge")
	for range 20 {
		getInfo(t, dialRegistration(t, a.registrationSocket())) // stays open
		service := &kubelet{t: t, conn: dialService(t, a.serviceSocket())}
		service.unprepareOK(named(newClaim("x")))
	}
	k := a.register()
	c := named(api.addClaim(newClaim("c", "req=0")))
	k.prepareOK(c)
	k.unprepareOK(c)
}
