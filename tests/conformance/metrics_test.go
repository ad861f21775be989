// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	resource "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
)

// metricsAddress waits for the port that the agent took.
func (a *agent) metricsAddress() string {
	a.t.Helper()
	return a.metricsAddressAfter(0)
}

// metricsAddressAfter is that of a later start.
func (a *agent) metricsAddressAfter(mark int) string {
	a.t.Helper()
	line := a.waitLog(mark, "event=socket_opened", "metrics on TCP port")
	return net.JoinHostPort("127.0.0.1", regexp.MustCompile(`TCP port (\d+)`).FindStringSubmatch(line)[1])
}

// withMetrics starts an agent whose metrics port is open.
func withMetrics(t testing.TB, api *apiServer, board string) (*agent, string) {
	t.Helper()
	a := newAgent(t, board)
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir), "--metrics-port", "0")
	a.start()
	return a, a.metricsAddress()
}

// page reads one page by Go's own client.
func page(t testing.TB, address, path string) (int, string) {
	t.Helper()
	client := http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := client.Get("http://" + address + path)
	check(t, err)
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	check(t, err)
	return r.StatusCode, string(body)
}

// scrape reads /metrics and holds it to metricsFindings.
func scrape(t testing.TB, address string) string {
	t.Helper()
	status, text := page(t, address, "/metrics")
	if status != http.StatusOK {
		t.Fatalf("/metrics: status %d", status)
	}
	if findings := metricsFindings(text); findings != "" {
		t.Errorf("metrics text: %s\n%s", findings, text)
	}
	return text
}

func hasLine(t testing.TB, text, line string) {
	t.Helper()
	if !strings.Contains("\n"+text, "\n"+line+"\n") {
		t.Errorf("no line %q in:\n%s", line, text)
	}
}

func TestMetricsBeforeAndAfterPrepare(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, address := withMetrics(t, api, "trn2.48xlarge")
	hasLine(t, scrape(t, address), "neuron_dra_registered 0")
	status, reasons := page(t, address, "/readyz")
	if status != http.StatusServiceUnavailable {
		t.Errorf("/readyz: %d %q", status, reasons)
	}
	contains(t, reasons, "the kubelet has not registered the driver")
	if status, text := page(t, address, "/healthz"); status != http.StatusOK || text != "ok\n" {
		t.Errorf("/healthz: %d %q", status, text)
	}
	k := a.register()
	api.published()
	waitFor(t, "readiness", func() bool {
		status, text := page(t, address, "/readyz")
		return status == http.StatusOK && text == "ok\n"
	})
	text := scrape(t, address)
	for _, line := range []string{
		"neuron_dra_registered 1", "neuron_dra_ready 1", "neuron_dra_devices 16", "neuron_dra_claims_held 0",
		fmt.Sprintf(`neuron_dra_node_info{node=%q,instance_type="trn2.48xlarge",driver_version="2.26.5.0"} 1`, nodeName),
		`neuron_dra_resource_api_version_info{version="v1"} 1`,
		`neuron_dra_log_events_total{event="slice_published"} 1`,
	} {
		hasLine(t, text, line)
	}
	if n := strings.Count(text, "\nneuron_dra_device_held{"); n != 16 || strings.Contains(text, `pod_uid=""} 1`) {
		t.Errorf("%d devices in:\n%s", n, text)
	}
	// every device held: one claim with four devices, and twelve with one
	var claims []*resource.ResourceClaim
	claims = append(claims, reserve(newClaim("many", "req=0", "req=1", "req=2", "req=3"), "trainer-0"))
	for n := 4; n < 16; n++ {
		claims = append(claims, reserve(newClaim(fmt.Sprintf("one-%d", n), fmt.Sprintf("req=%d", n)),
			fmt.Sprintf("server-%d", n)))
	}
	for _, c := range claims {
		k.prepareOK(named(api.addClaim(c)))
	}
	checkHeld := func() {
		t.Helper()
		text := scrape(t, address)
		hasLine(t, text, "neuron_dra_claims_held 13")
		for n := range 16 {
			c := claims[max(0, n-3)]
			pod := c.Status.ReservedFor[0]
			hasLine(t, text, fmt.Sprintf(`neuron_dra_device_held{device="neuron-device-%d",claim_namespace="%s",`+
				`claim_name="%s",claim_uid="%s",pod_name="%s",pod_uid="%s"} 1`,
				n, c.Namespace, c.Name, c.UID, pod.Name, pod.UID))
		}
	}
	checkHeld()
	text = scrape(t, address)
	hasLine(t, text, `neuron_dra_kubelet_call_duration_seconds_count{method="NodePrepareResources",result="ok"} 13`)
	hasLine(t, text, `neuron_dra_kubelet_call_duration_seconds_count{method="NodePrepareResources",result="error"} 0`)
	hasLine(t, text, `neuron_dra_api_request_duration_seconds_count{verb="get",resource="resourceclaims",code="2xx",result="ok"} 13`)
	hasLine(t, text, `neuron_dra_api_request_duration_seconds_count{verb="create",resource="resourceslices",code="2xx",result="ok"} 1`)
	// claim and pod outlive the process
	a.kill()
	from := a.log.count()
	a.start()
	line := a.waitLog(from, "event=socket_opened", "metrics on TCP port")
	address = net.JoinHostPort("127.0.0.1", regexp.MustCompile(`TCP port (\d+)`).FindStringSubmatch(line)[1])
	a.waitLog(from, "event=store_opened")
	checkHeld()
	k = a.register()
	for _, c := range claims {
		k.unprepareOK(named(c))
	}
	text = scrape(t, address)
	hasLine(t, text, "neuron_dra_claims_held 0")
	hasLine(t, text, `neuron_dra_device_held{device="neuron-device-3",claim_namespace="",claim_name="",claim_uid="",pod_name="",pod_uid=""} 0`)
}

// reserve says for which pod a claim is, as the scheduler does.
func reserve(c *resource.ResourceClaim, pod string) *resource.ResourceClaim {
	c.Status.ReservedFor = []resource.ResourceClaimConsumerReference{
		{Resource: "pods", Name: pod, UID: types.UID(uid(c.Name + pod))}}
	return c
}

// exchange sends text over a connection of its own and reads to its end.
func exchange(t testing.TB, address, text string) string {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	check(t, err)
	defer conn.Close()
	check(t, conn.SetDeadline(time.Now().Add(patience)))
	_, err = io.WriteString(conn, text)
	check(t, err)
	answer, err := io.ReadAll(conn)
	check(t, err)
	return string(answer)
}

func TestMetricsOverRealSockets(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, address := withMetrics(t, api, "trn2.48xlarge")
	a.register()
	a.waitLog(0, "event=slice_published")
	// HTTP/1.0: the end of the connection is that of the body
	old := exchange(t, address, "GET /metrics HTTP/1.0\r\n\r\n")
	head, body, _ := strings.Cut(old, "\r\n\r\n")
	contains(t, head, "HTTP/1.1 200 OK", "text/plain; version=0.0.4", "Connection: close")
	if strings.Contains(head, "Transfer-Encoding") {
		t.Errorf("head %q", head)
	}
	if findings := metricsFindings(body); findings != "" {
		t.Errorf("over HTTP/1.0: %s", findings)
	}
	// pipelined, the last one with its end
	got := exchange(t, address, "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\nHEAD /metrics HTTP/1.1\r\nHost: a\r\n\r\n"+
		"GET /none HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
	if n := strings.Count(got, "HTTP/1.1 "); n != 3 || !strings.HasSuffix(got, "\r\n0\r\n\r\n") {
		t.Errorf("%d answers in %q", n, got)
	}
	// one connection for many requests, as Prometheus keeps it
	client := http.Client{Timeout: patience}
	for range 20 {
		r, err := client.Get("http://" + address + "/metrics")
		check(t, err)
		_, err = io.Copy(io.Discard, r.Body)
		check(t, err)
		r.Body.Close()
	}
	client.CloseIdleConnections()
	for request, status := range map[string]string{
		"POST /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n" + strings.Repeat("x", 100000): "405 Method Not Allowed",
		"GET /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello":                                 "413 Content Too Large",
		"GET /" + strings.Repeat("a", 5000) + " HTTP/1.1\r\nHost: a\r\n\r\n":                                 "414 URI Too Long",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n":                                                                   "505 HTTP Version Not Supported",
		"GET / HTTP/1.1\r\n\r\n":                                                                             "400 Bad Request",
	} {
		conn, err := net.Dial("tcp", address)
		check(t, err)
		check(t, conn.SetDeadline(time.Now().Add(patience)))
		go func() { _, _ = io.WriteString(conn, request) }()
		line, err := bufio.NewReader(conn).ReadString('\n')
		if err != nil || line != "HTTP/1.1 "+status+"\r\n" {
			t.Errorf("%.20q: %q, %v; want %s", request, line, err, status)
		}
		conn.Close()
	}
}

// Strangers that say nothing, or take nothing, hold up neither the kubelet nor each other.
func TestMetricsSlowPeers(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, address := withMetrics(t, api, "trn2.48xlarge")
	k := a.register()
	api.published()
	for n := range 12 {
		conn, err := net.Dial("tcp", address)
		check(t, err)
		defer conn.Close()
		if n%2 == 0 {
			_, err = io.WriteString(conn, "GET /metrics HTT")
		} else {
			check(t, conn.(*net.TCPConn).SetReadBuffer(1024))
			_, err = io.WriteString(conn, strings.Repeat("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", 20))
		}
		check(t, err)
	}
	for n := range 16 {
		c := api.addClaim(newClaim(fmt.Sprintf("c-%d", n), fmt.Sprintf("req=%d", n)))
		k.prepareOK(named(c))
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	ctx, cancel := context.WithTimeout(context.Background(), longPatience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/healthz", nil)
	check(t, err)
	waitForLong(t, longPatience, "an answer while others are slow", func() bool {
		answer, err := client.Do(r)
		if err == nil {
			answer.Body.Close()
		}
		return err == nil && answer.StatusCode == http.StatusOK
	})
}

// More connections at one time than there are places: who is turned away, by 503 or by the end of a connection that has
// not asked, is served when it comes again.
func TestMetricsHundredConnections(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, address := withMetrics(t, api, "trn2.48xlarge")
	k := a.register()
	a.waitLog(0, "event=slice_published")
	var all sync.WaitGroup
	for range 100 {
		all.Add(1)
		go func() {
			defer all.Done()
			client := http.Client{Timeout: longPatience, Transport: &http.Transport{DisableKeepAlives: true}}
			for end := time.Now().Add(longPatience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
				r, err := client.Get("http://" + address + "/metrics")
				if err != nil {
					continue
				}
				text, err := io.ReadAll(r.Body)
				r.Body.Close()
				if err == nil && r.StatusCode == http.StatusOK && strings.Contains(string(text), "\nneuron_dra_ready 1\n") {
					return
				}
				if err == nil && r.StatusCode != http.StatusServiceUnavailable {
					t.Errorf("%s: %.100q", r.Status, text)
					return
				}
			}
			t.Errorf("never served within %v", longPatience)
		}()
	}
	for n := range 16 {
		k.prepareOK(named(api.addClaim(newClaim(fmt.Sprintf("c-%d", n), fmt.Sprintf("req=%d", n)))))
	}
	all.Wait()
}

// A port in use is said once and tried again; the kubelet's side does not suffer.
func TestMetricsPortInUse(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", ":0")
	check(t, err)
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	api := startAPIServer(t)
	a := newAgent(t, "trn2.48xlarge")
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir), "--metrics-port", port)
	a.start()
	k := a.register()
	a.waitLog(0, "event=socket_open_failed", port, "--metrics-port")
	k.prepareOK(named(api.addClaim(newClaim("c", "req=0"))))
	listener.Close()
	a.waitLog(0, "event=socket_opened", "metrics on TCP port "+port)
	hasLine(t, scrape(t, net.JoinHostPort("127.0.0.1", port)), `neuron_dra_log_events_total{event="socket_open_failed"} 1`)
}

// With --device-metrics the files of sysfs are series, with who holds the device; each look reads one device, and no device
// node is ever opened. Without the flag there is no such series and no such read.
func TestDeviceMetrics(t *testing.T) {
	t.Parallel()
	if text := scrape(t, must2(withMetrics(t, startAPIServer(t), "inf2.xlarge"))); strings.Contains(text, "device_errors_total") {
		t.Errorf("without the flag:\n%s", text)
	}
	api := startAPIServer(t)
	a := newAgent(t, "trn2.48xlarge", "--driver-version", "2.30.2.0")
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir), "--metrics-port", "0", "--device-metrics", "true", "--check-device-memory=false",
		"--health-interval", healthInterval.String())
	a.start()
	address := a.metricsAddress()
	k := a.register()
	api.published()
	k.prepareOK(named(api.addClaim(reserve(newClaim("train", "req=3"), "trainer-0"))))
	for file, text := range map[string]string{
		"stats/hardware/mem_ecc_uncorrected":               "4",
		"neuron_core5/stats/status/hw_nc_ue_error/total":   "6",
		"neuron_core0/stats/memory_usage/device_mem/total": "4096",
		"stats/power/utilization":                          "POWER_STATUS_VALID,1700000000,10.00,90.00,25.50",
	} {
		simnode(t, "set", "--dir", a.node, "neuron3/"+file, text)
	}
	held := `{device="neuron-device-3",claim_namespace="default",claim_name="train",pod_name="trainer-0"`
	lines := []string{
		"neuron_dra_device_power_ratio" + held + "} 0.255",
		"neuron_dra_device_errors_total" + held + `,core="",error="mem_ecc_uncorrected"} 4`,
		"neuron_dra_device_errors_total" + held + `,core="5",error="hw_nc_ue_error"} 6`,
		"neuron_dra_device_memory_bytes" + held + `,core="0",memory="device_mem"} 4096`,
		`neuron_dra_device_memory_bytes{device="neuron-device-15",claim_namespace="",claim_name="",pod_name="",core="7",memory="host_mem"} 0`,
	}
	// A look reads one device, and may come between two of these writes.
	waitFor(t, "the values", func() bool {
		text := scrape(t, address)
		lacks := func(line string) bool { return !strings.Contains(text, "\n"+line+"\n") }
		return !slices.ContainsFunc(lines, lacks) && strings.Count(text, "neuron_dra_device_errors_total{") == 16*(5+8*8)
	})
	looks := 0
	reads := map[string]int{}
	for _, line := range a.tracedAll(t, func(func() []string) { time.Sleep(10 * healthInterval) }) {
		if strings.Contains(line, "/dev/neuron") && strings.HasPrefix(line, "open") {
			t.Errorf("a device node was opened: %s", line)
		}
		if strings.Contains(line, "sram_ecc_corrected") {
			looks++
		}
		for _, of := range []string{"/stats/power/", "/stats/status/", "/stats/memory_usage/"} {
			if strings.Contains(line, of) {
				reads[of]++
			}
		}
	}
	// strace may come or go in the midst of a look
	if looks == 0 || reads["/stats/power/"] > looks+1 || reads["/stats/status/"] > (looks+1)*64 ||
		reads["/stats/memory_usage/"] > (looks+1)*16 {
		t.Errorf("%d looks, files that were opened: %v", looks, reads)
	}
}

// valueOf is that of the only series of a name without labels, or of one with all of its labels.
func valueOf(t testing.TB, text, series string) float64 {
	t.Helper()
	found := regexp.MustCompile("\n" + regexp.QuoteMeta(series) + " ([0-9.]+)\n").FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("no series %q in:\n%s", series, text)
	}
	return must(strconv.ParseFloat(found[1], 64))
}

// What is reported of calls and requests is as fine as what a client measures: in microseconds, and a flush is a part of its call.
func TestMetricsInMicroseconds(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a, address := withMetrics(t, api, "trn2.48xlarge")
	k := a.register()
	api.published()
	var waited time.Duration
	for n := range 8 {
		c := named(api.addClaim(newClaim(fmt.Sprintf("c-%d", n), fmt.Sprintf("req=%d", n))))
		before := time.Now()
		k.prepareOK(c)
		waited += time.Since(before)
	}
	refused := newClaim("refused", "req=0") // its device is held
	k.prepareError(named(api.addClaim(refused)))
	text := scrape(t, address)
	const call, flush, request = "neuron_dra_kubelet_call_duration_seconds", "neuron_dra_store_flush_duration_seconds",
		"neuron_dra_api_request_duration_seconds"
	calls := valueOf(t, text, call+`_sum{method="NodePrepareResources",result="ok"}`)
	flushes := valueOf(t, text, flush+`_sum{result="ok"}`)
	gets := valueOf(t, text, request+`_sum{verb="get",resource="resourceclaims",code="2xx",result="ok"}`)
	if calls > waited.Seconds() || calls < gets*8/9 || calls == 0 || gets == 0 || flushes == 0 {
		t.Errorf("%v s of calls, a client measured %v; %v s of GETs, %v s of flushes", calls, waited, gets, flushes)
	}
	whole := func(sum float64) bool { return int64(sum*1e6+0.5)%1000 == 0 }
	if whole(calls) && whole(gets) && whole(flushes) {
		t.Errorf("%v s, %v s and %v s are whole numbers of milliseconds", calls, gets, flushes)
	}
	for _, bound := range []string{"0.00005", "0.0001", "0.00025", "0.0005", "0.001", "0.0025", "0.005", "45"} {
		valueOf(t, text, call+`_bucket{method="NodePrepareResources",result="ok",le="`+bound+`"}`)
	}
	hasLine(t, text, call+`_count{method="NodePrepareResources",result="error"} 1`)
}

// The process is what the kernel says of it, in the sandbox too.
func TestMetricsOfTheProcess(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	began := time.Now()
	a, address := withMetrics(t, api, "trn2.48xlarge")
	a.register()
	api.published()
	a.waitLog(0, "event=sandbox ")
	var text string
	waitFor(t, "as many descriptors as the process has", func() bool { // connections come and go
		text = scrape(t, address)
		return int(valueOf(t, text, "process_open_fds")) == len(must(os.ReadDir(fmt.Sprintf("/proc/%d/fd", a.pid()))))+1
	})
	limits := string(must(os.ReadFile(fmt.Sprintf("/proc/%d/limits", a.pid()))))
	most := regexp.MustCompile(`Max open files\s+(\d+)`).FindStringSubmatch(limits)[1]
	hasLine(t, text, "process_max_fds "+most)
	statm := strings.Fields(string(must(os.ReadFile(fmt.Sprintf("/proc/%d/statm", a.pid())))))
	page := float64(os.Getpagesize())
	if size := must(strconv.ParseFloat(statm[0], 64)) * page; valueOf(t, text, "process_virtual_memory_bytes") != size {
		t.Errorf("an address space of %v, the kernel says %v", valueOf(t, text, "process_virtual_memory_bytes"), size)
	}
	resident := must(strconv.ParseFloat(statm[1], 64)) * page
	if ours := valueOf(t, text, "process_resident_memory_bytes"); ours > resident || ours < resident/2 {
		t.Errorf("resident are %v, the kernel says %v", ours, resident)
	}
	if start := valueOf(t, text, "process_start_time_seconds"); start < float64(began.Unix()) || start > float64(time.Now().Unix()+1) {
		t.Errorf("started at %v, which is not since %v", start, began)
	}
	first := valueOf(t, text, "process_cpu_seconds_total")
	for range 20 {
		scrape(t, address)
	}
	spent := valueOf(t, scrape(t, address), "process_cpu_seconds_total")
	if now := a.cpuTime(t).Seconds(); spent <= first || spent > now+0.02 { // the kernel shows ticks of 10 ms
		t.Errorf("%v s of processor time after %v, the kernel says %v", spent, first, now)
	}
}

// With --neuron-monitor-metrics the uses of each core's device memory have the names of neuron-monitor.
func TestNeuronMonitorMetrics(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a := newAgent(t, "trn2.48xlarge", "--driver-version", "2.30.2.0")
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir), "--metrics-port", "0", "--neuron-monitor-metrics", "true", "--check-device-memory=false",
		"--health-interval", healthInterval.String())
	a.start()
	address := a.metricsAddress()
	k := a.register()
	api.published()
	k.prepareOK(named(api.addClaim(reserve(newClaim("train", "req=3"), "trainer-0"))))
	uses := []string{"constants", "model_code", "model_shared_scratchpad", "runtime_memory", "tensors"}
	var lines []string
	for i, use := range uses {
		simnode(t, "set", "--dir", a.node, "neuron3/neuron_core2/stats/memory_usage/device_mem/"+use+"/total", fmt.Sprint(4096+i))
		lines = append(lines, fmt.Sprintf(`neuroncore_memory_usage_%s{neuroncore="26",neurondevice="3",claim_namespace="default",`+
			`claim_name="train",pod_name="trainer-0"} %d`, use, 4096+i))
	}
	waitFor(t, "the values", func() bool {
		text := scrape(t, address)
		lacks := func(line string) bool { return !strings.Contains(text, "\n"+line+"\n") }
		return !slices.ContainsFunc(lines, lacks) && strings.Count(text, "\nneuroncore_memory_usage_") == 16*8*len(uses)
	})
	if text := scrape(t, address); strings.Contains(text, "neuron_dra_device_memory_bytes") {
		t.Errorf("metrics of the other flag:\n%s", text)
	}
}

var scrapeTable = newTable("scrapes", "of what", "series", "octets", "agent's processor time", "memory written")

// seriesOf is the number of series on a page.
func seriesOf(text string) (series int) {
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			series++
		}
	}
	return series
}

// What a scrape costs, without and with the metrics of sixteen devices: `make bench` prints it. Times decide nothing.
func TestScrapeCost(t *testing.T) {
	t.Parallel()
	const scrapes = 50
	var octets []int
	for _, metrics := range []string{"false", "true"} {
		api := startAPIServer(t)
		a := newAgent(t, "trn2.48xlarge", "--driver-version", "2.30.2.0")
		a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir), "--metrics-port", "0", "--device-metrics", metrics,
			"--health-interval", healthInterval.String())
		a.start()
		address := a.metricsAddress()
		api.published()
		of, families := 0, 16*(5+8*8)
		waitFor(t, "the values of all devices", func() bool {
			of = strings.Count(scrape(t, address), "\nneuron_dra_device_errors_total{")
			return metrics == "false" || of == families
		})
		if metrics == "false" && of != 0 {
			t.Errorf("%d series of errors without the flag", of)
		}
		_, text := page(t, address, "/metrics")
		series := seriesOf(text)
		before := a.cpuTime(t)
		for range scrapes {
			page(t, address, "/metrics")
		}
		scrapeTable.add("--device-metrics="+metrics, series, len(text), ((a.cpuTime(t) - before) / scrapes).Round(time.Microsecond),
			fmt.Sprint(a.privateKiB(t), " KiB"))
		octets = append(octets, len(text))
	}
	// 85 values of a device: the simulated node measures no power.
	if lines := 16 * (5 + 8*8 + 8*2); octets[1] < octets[0]+lines*80 || octets[1] > octets[0]+lines*200 {
		t.Errorf("pages of %v octets, without and with %d series of devices", octets, lines)
	}
}

// namedForOperators is a number of series that their reference names.
func namedForOperators(t testing.TB, pattern string) int {
	t.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(string(must(os.ReadFile("../../cfg/deploy/reference.md"))))
	if found == nil {
		t.Fatalf("cfg/deploy/reference.md has no %q", pattern)
	}
	return must(strconv.Atoi(strings.ReplaceAll(found[1], ",", "")))
}

// With 64 devices that 256 claims share, and the EFA devices of a second driver all held, a scrape has no more series than
// cfg/deploy/reference.md says, and each device stands beside a claim that has it, and that claim's pod.
func TestDeviceMetricsOfManyClaims(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a := newAgent(t, "trn2.48xlarge", "--devices", "64", "--driver-version", "2.30.2.0")
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir), "--metrics-port", "0", "--device-metrics", "true", "--neuron-monitor-metrics", "true", "--check-device-memory=false", "--share-cores", "true",
		"--efa", "true", "--health-interval", healthInterval.String())
	a.start()
	address := a.metricsAddress()
	neuron, efa := a.register(), a.registerEFA()
	waitCores(t, api, 64, 8, 2)
	waitFor(t, "slice of the EFA devices", func() bool { return len(api.ofEFA()) == 1 })
	for i := range 256 { // a call is of one pod
		neuron.prepareOK(named(api.part(fmt.Sprintf("part-%d-%d", i%64, i/64), i%64, "2")))
	}
	others := api.ofEFA()[0].Spec.Devices
	for i, device := range others {
		c := withEFA(newClaim(fmt.Sprint("efa-", i)), "efa="+device.Name)
		efa.prepareOK(named(api.addClaim(reserve(c, "worker"))))
	}

	bound := namedForOperators(t, `at most ([0-9,]+) series`)
	held := regexp.MustCompile(`\nneuron_dra_device_memory_bytes\{device="neuron-device-(\d+)",claim_namespace="default",claim_name="([^"]*)",pod_name="([^"]*)",`)
	var text string
	waitForLong(t, longPatience, "the values of all devices, each read since its claims came", func() bool {
		text = scrape(t, address)
		named := map[string]bool{}
		for _, found := range held.FindAllStringSubmatch(text, -1) {
			named[found[1]] = true
		}
		return strings.Count(text, "\nneuron_dra_device_errors_total{") == 64*(5+8*8) &&
			strings.Count(text, "\nneuron_dra_device_memory_bytes{") == 64*8*2 && strings.Count(text, "\nneuroncore_memory_usage_") == 64*8*5 &&
			len(named) == 64
	})
	hasLine(t, text, `neuron_dra_claims_held{driver="neuron.aws.com"} 256`)
	hasLine(t, text, fmt.Sprintf(`neuron_dra_claims_held{driver="dra.net"} %d`, len(others)))
	series := seriesOf(text)
	if least := 64 * (5 + 8*8 + 8*2 + 8*5); series > bound || series < least {
		t.Errorf("%d series, cfg/deploy/reference.md says at most %d", series, bound)
	}
	t.Logf("%d series, %d octets", series, len(text))
	for _, found := range held.FindAllStringSubmatch(text, -1) {
		if !strings.HasPrefix(found[2], "part-"+found[1]+"-") || found[3] != "pod-of-"+found[2] {
			t.Errorf("device %s stands beside claim %s of pod %s", found[1], found[2], found[3])
		}
	}
}

func must2[A, B any](_ A, b B) B { return b }
