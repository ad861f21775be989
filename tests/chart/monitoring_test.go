// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	texts "github.com/prometheus/prometheus/template"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// A run of Prometheus over the metrics of one node, a sample a minute.
const (
	minutes = 180
	change  = 60 // when something happens
	node    = "trainium-0"
	job     = "neuron-dra-driver/neuron-dra-driver-kubelet-plugin"
)

// relabels is whether what scrapes gives each series the labels node and pod, as the chart's PodMonitor does. Any scrape gives
// it job and instance.
var relabels = true

const monitored = "draDriver.monitoring.podMonitor.enabled=true,draDriver.monitoring.prometheusRule.enabled=true," +
	"draDriver.monitoring.dashboard.enabled=true"

// alertRules are those that the chart renders, read as Prometheus reads them.
func alertRules(t *testing.T) []rulefmt.Rule {
	t.Helper()
	rules := rendered(t, "--set", monitored)["monitoring.coreos.com/v1/PrometheusRule/neuron-dra-driver-kubelet-plugin"].(*map[string]any)
	text, err := yaml.Marshal((*rules)["spec"])
	if err != nil {
		t.Fatal(err)
	}
	groups, problems := rulefmt.Parse(text, false, model.UTF8Validation)
	for _, problem := range problems {
		t.Error(problem)
	}
	if len(groups.Groups) != 1 {
		t.Fatalf("not one group: %s", text)
	}
	return groups.Groups[0].Rules
}

// target is a query of a panel.
type target struct{ Expr, LegendFormat string }

// panel is one of the dashboard.
type panel struct {
	Title       string
	Type        string
	Targets     []target
	FieldConfig struct {
		Defaults struct {
			NoValue, Unit string
			Max           float64
			Custom        struct{ DrawStyle string }
		}
	}
	GridPos struct{ H, W, X, Y int }
	ID      int
}

func panels(t *testing.T) []panel {
	t.Helper()
	var dashboard struct{ Panels []panel }
	config := rendered(t, "--set", monitored)["v1/ConfigMap/neuron-dra-driver-kubelet-plugin-dashboard"].(*core.ConfigMap)
	if err := json.Unmarshal([]byte(config.Data["neuron-dra-agent.json"]), &dashboard); err != nil || len(dashboard.Panels) == 0 {
		t.Fatalf("the dashboard: %v", err)
	}
	for i := range dashboard.Panels {
		for j := range dashboard.Panels[i].Targets {
			expr := &dashboard.Panels[i].Targets[j].Expr
			*expr = strings.NewReplacer("$__rate_interval", "5m", "$node", ".*").Replace(*expr)
		}
	}
	return dashboard.Panels
}

// scrape is the page /metrics of the real agent with these flags on a simulated node, without a kubelet and an API server.
func scrape(t *testing.T, flags ...string) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "neuron-metrics-") // short: paths of sockets are bounded
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	made, err := exec.Command("/usr/bin/python3", filepath.Join(root, "tools", "simnode", "simnode.py"), "make", "--dir", filepath.Join(folder, "node"),
		"--board", "trn2.48xlarge", "--driver-version", "2.30.2.0").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, made)
	}
	kubeconfig := `{apiVersion: v1, kind: Config, current-context: x, contexts: [{name: x, context: {cluster: c, user: u}}],
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1", certificate-authority: ca.crt}}], users: [{name: u, user: {token: t}}]}`
	var document any
	if err := yaml.Unmarshal([]byte(kubeconfig), &document); err != nil {
		t.Fatal(err)
	}
	block, err := yaml.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"cdi", "kubelet/plugins_registry", "kubelet/plugins"} {
		if err := os.MkdirAll(filepath.Join(folder, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "kubeconfig"), block, 0o600); err != nil {
		t.Fatal(err)
	}
	agent := exec.Command(os.Getenv("AGENT"), append(flags, "run", "--node-name", node, "--kubeconfig", filepath.Join(folder, "kubeconfig"),
		"--cdi-root", filepath.Join(folder, "cdi"), "--sysfs-root", filepath.Join(folder, "node/sys"),
		"--kubelet-registrar-directory-path", filepath.Join(folder, "kubelet/plugins_registry"),
		"--kubelet-plugins-directory-path", filepath.Join(folder, "kubelet/plugins"),
		"--proc-root", filepath.Join(folder, "node/proc"), "--dev-root", filepath.Join(folder, "node/dev"),
		"--healthcheck-port", "-1", "--metrics-port", "0", "--metrics-bind-address", "127.0.0.1", "--sandbox=false")...)
	agent.Env = []string{}
	log, err := agent.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = agent.Process.Kill()
		_ = agent.Wait()
	}()
	said := ""
	for lines := bufio.NewScanner(log); lines.Scan(); {
		said += lines.Text() + "\n"
		port := regexp.MustCompile(`metrics on TCP port (\d+)`).FindStringSubmatch(lines.Text())
		if port == nil {
			continue
		}
		go func() { _, _ = io.Copy(io.Discard, log) }()
		for range 100 { // until the devices are known
			response, err := http.Get("http://127.0.0.1:" + port[1] + "/metrics")
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(response.Body)
			_ = response.Body.Close()
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), "\nneuron_dra_device_healthy{") {
				return string(text)
			}
			time.Sleep(50 * time.Millisecond)
		}
		break
	}
	t.Fatalf("no metrics of the devices:\n%s", said)
	return ""
}

// healthy is what a node has whose agent the kubelet and the API server know, with pods that come and go: the values of
// some series, in the notation of Prometheus' own tests.
var healthy = map[string]string{
	"neuron_dra_ready": "1", "neuron_dra_registered": "1", "neuron_dra_api_connected": "1", "neuron_dra_slice_current": "1",
	"neuron_dra_devices_published": "16", "neuron_dra_claims_held": "1",
	`neuron_dra_device_held{device="neuron-device-0",claim_namespace="ml",claim_name="c",claim_uid="1",pod_name="p",pod_uid="2"}`: "1",
	`neuron_dra_kubelet_call_duration_seconds_bucket{method="NodePrepareResources",result="ok",le="+Inf"}`:                        "0+2x180",
	`neuron_dra_api_request_duration_seconds_count{verb="get",resource="resourceclaims",code="2xx",result="ok"}`:                  "0+2x180",
	`neuron_dra_log_events_total{event="claim_prepared"}`:                                                                         "0+2x180",
	"up{}":                      "1",
	"process_cpu_seconds_total": "0+0.01x180",
}

// series writes what a pod's page becomes over the run, in the notation of Prometheus' own tests: the values of the page,
// and others for those series that are named. A name without labels stands for all series of it.
func series(t *testing.T, page, pod string, changes ...map[string]string) string {
	t.Helper()
	written, used := "", map[string]bool{}
	add := func(one, value string) {
		name, rest, labelled := strings.Cut(one, "{")
		for _, change := range changes {
			for _, key := range []string{name, one} {
				if values, named := change[key]; named {
					used[key], value = true, values
				}
			}
		}
		if !strings.ContainsAny(value, "x ") {
			value += fmt.Sprintf("x%d", minutes)
		}
		target := fmt.Sprintf("job=%q,instance=%q", job, pod+":51516")
		if relabels {
			target += fmt.Sprintf(",node=%q,pod=%q", node, pod)
			rest = strings.Replace(rest, "node=", "exported_node=", 1) // the target's own label counts
		}
		written += fmt.Sprintf("  %s{%s%s %s\n", name, target, map[bool]string{true: "," + rest, false: "}"}[labelled && rest != "}"], value)
	}
	for _, line := range strings.Split(strings.TrimSpace(page), "\n") {
		if end := strings.LastIndexByte(line, ' '); !strings.HasPrefix(line, "#") {
			add(line[:end], line[end+1:])
		}
	}
	for _, change := range changes {
		for name := range change {
			if !used[name] && !strings.Contains(name, "{") {
				t.Errorf("the agent has no %s", name)
			} else if !used[name] {
				add(name, "0")
			}
		}
	}
	return written
}

// sample and found are what the engine asks of a storage. The one of promtool would bring the clients of every cloud.
type sample struct {
	milliseconds int64
	value        float64
}

func (s sample) T() int64                    { return s.milliseconds }
func (s sample) F() float64                  { return s.value }
func (sample) H() *histogram.Histogram       { return nil }
func (sample) FH() *histogram.FloatHistogram { return nil }
func (sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample         { return s }

type found struct{ here, rest []storage.Series }

func (f *found) Next() bool {
	if len(f.rest) == 0 {
		return false
	}
	f.here, f.rest = f.rest[:1], f.rest[1:]
	return true
}
func (f *found) At() storage.Series                { return f.here[0] }
func (f *found) Err() error                        { return nil }
func (f *found) Warnings() annotations.Annotations { return nil }

// prometheus is one that has scraped these series.
type prometheus struct {
	engine  *promql.Engine
	storage storage.Queryable
}

func newPrometheus(t *testing.T, written string) prometheus {
	t.Helper()
	var all []storage.Series
	for _, line := range strings.Split(strings.TrimSpace(written), "\n") {
		named, values, err := parser.ParseSeriesDesc(strings.TrimSpace(line))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		var samples []chunks.Sample
		for minute, one := range values {
			if !one.Omitted {
				samples = append(samples, sample{int64(minute) * time.Minute.Milliseconds(), one.Value})
			}
		}
		all = append(all, storage.NewListSeries(named, samples))
	}
	choose := func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
		chosen := &found{}
		for _, one := range all {
			if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(one.Labels().Get(m.Name)) }) {
				chosen.rest = append(chosen.rest, one)
			}
		}
		return chosen
	}
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1e6, Timeout: time.Minute, LookbackDelta: 5 * time.Minute})
	t.Cleanup(func() { _ = engine.Close() })
	return prometheus{engine, &storage.MockQueryable{MockQuerier: &storage.MockQuerier{SelectMockFunction: choose}}}
}

func (p prometheus) ask(t *testing.T, expression string, minute int) promql.Vector {
	t.Helper()
	query, err := p.engine.NewInstantQuery(context.Background(), p.storage, nil, expression, time.Unix(int64(60*minute), 0))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	defer query.Close()
	vector, err := query.Exec(context.Background()).Vector()
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return append(promql.Vector{}, vector...)
}

// fired are the alerts that fire in the run: for each the minute, and its summary as somebody reads it.
func (p prometheus) fired(t *testing.T, rules []rulefmt.Rule) (since map[string]int, summaries map[string]string) {
	t.Helper()
	since, summaries = map[string]int{}, map[string]string{}
	for _, rule := range rules {
		begun := map[string]int{}
		for minute := 0; minute <= minutes && since[rule.Alert] == 0; minute++ {
			active := map[string]int{}
			for _, sample := range p.ask(t, rule.Expr, minute) {
				key := sample.Metric.String()
				active[key] = minute
				if before, already := begun[key]; already {
					active[key] = before
				}
				if minute-active[key] < int(time.Duration(rule.For).Minutes()) {
					continue
				}
				since[rule.Alert] = minute
				data := texts.AlertTemplateData(sample.Metric.Map(), nil, "", sample)
				text, err := texts.NewTemplateExpander(context.Background(),
					"{{$labels := .Labels}}{{$value := .Value}}"+rule.Annotations["summary"], rule.Alert, data, model.Time(0), nil, nil, nil).Expand()
				if err != nil {
					t.Errorf("%s: %v", rule.Alert, err)
				}
				summaries[rule.Alert] = text
			}
			begun = active
		}
	}
	return since, summaries
}

// later is a value until something happens, and another one after it.
func later(before, after string) string {
	return fmt.Sprintf("%sx%d %sx%d", before, change-1, after, minutes-change)
}

// counted is the first series of a page that counts this error of a device.
func counted(t *testing.T, page, kind string) string {
	t.Helper()
	found := regexp.MustCompile(`\n(neuron_dra_device_errors_total\{[^}]*error="` + kind + `"\}) 0\n`).FindStringSubmatch(page)
	if found == nil {
		t.Fatalf("no errors %s in\n%s", kind, page)
	}
	return found[1]
}

// TestAlerts: Prometheus' own engine finds each alert in the metrics of a node that has the trouble, not before its time, and
// none in those of nodes that are well: whether the scrape names the node, as that of the chart's PodMonitor does, or not.
func TestAlerts(t *testing.T) {
	page, rules := scrape(t, "--device-metrics=true"), alertRules(t)
	if !strings.Contains(page, `neuron_dra_node_info{node="`+node+`",`) {
		t.Fatal("the agent's neuron_dra_node_info does not name its node: without it no alert can")
	}
	for name, named := range map[string]bool{"with the PodMonitor": true, "with another scrape": false} {
		t.Run(name, func(t *testing.T) {
			relabels = named
			defer func() { relabels = true }()
			alerts(t, page, rules)
		})
	}
}

func alerts(t *testing.T, page string, rules []rulefmt.Rule) {
	t.Helper()
	type values = map[string]string
	slow, longest := values{}, ""
	for _, line := range strings.Split(page, "\n") {
		if one, _, found := strings.Cut(line, "} "); found && strings.HasPrefix(one, "neuron_dra_store_flush_duration_seconds_bucket{") {
			slow[one+"}"] = "0"
			if longest == "" && strings.Contains(one, `le="+Inf"`) {
				longest = one + "}"
			}
		}
	}
	slow[longest] = fmt.Sprintf("0x%d 0+1x%d", change-1, minutes-change)
	// A target that goes leaves nothing, a failed scrape nothing of the page.
	gone := strings.ReplaceAll(series(t, page, "agent-1", healthy), fmt.Sprintf("x%d\n", minutes), fmt.Sprintf("x%d stale\n", change-1))
	down := regexp.MustCompile(`(?m)^(  up\{.*\}) .*$`).ReplaceAllString(gone, "$1 "+later("1", "0"))
	const known = `  kube_node_info{job="kube-state-metrics",instance="k",node="` + node + `"} 1x180` + "\n"
	other := strings.ReplaceAll(known+series(t, page, "agent-2", healthy), node, "trainium-1")
	without := map[string]string{"NeuronDRAAbsent": gone, "NeuronDRAGone": known + gone + other, "NeuronDRADown": known + down + other}
	broken := map[string]values{
		"NeuronDRAAbsent":             nil,
		"NeuronDRAGone":               nil,
		"NeuronDRADown":               nil,
		"NeuronDRANotReady":           {"neuron_dra_ready": later("1", "0")},
		"NeuronDRANotRegistered":      {"neuron_dra_registered": later("1", "0")},
		"NeuronDRASliceNotCurrent":    {"neuron_dra_slice_current": later("1", "0")},
		"NeuronDRAAPIDisconnected":    {"neuron_dra_api_connected": later("1", "0")},
		"NeuronDRAStoreUnusable":      {"neuron_dra_store_usable": later("1", "0")},
		"NeuronDRAStoreDamaged":       {"neuron_dra_store_quarantined_slots": later("0", "1")},
		"NeuronDRADevicesUnpublished": {"neuron_dra_devices_published": later("16", "15")},
		"NeuronDRADevicesMissing":     {"neuron_dra_devices": later("16", "0"), "neuron_dra_devices_published": later("16", "0")},
		"NeuronDRADeviceLost":         {"neuron_dra_devices": later("16", "15"), "neuron_dra_devices_published": later("16", "15")},
		"NeuronDRADeviceUnhealthy":    {`neuron_dra_device_healthy{device="neuron-device-3"}`: later("1", "0")},
		"NeuronDRADeviceMemoryHeld":   {"neuron_dra_devices_memory_held": later("0", "1")},
		"NeuronDRADeviceErrors":       {counted(t, page, "mem_ecc_uncorrected"): later("0", "1")},
		"NeuronDRADevicePlugin":       {"neuron_dra_device_plugin": later("0", "1")},
		"NeuronDRAClaimsFail":         {`neuron_dra_log_events_total{event="claim_failed"}`: fmt.Sprintf("0x%d 0+1x%d", change-1, minutes-change)},
		"NeuronDRAClaimsNearLimit":    {"neuron_dra_claims_held": later("16", "240")},
		"NeuronDRASlowDisk":           slow,
	}
	for _, rule := range rules {
		changes, there := broken[rule.Alert]
		if !there {
			t.Errorf("no trouble shows %s", rule.Alert)
			continue
		}
		delete(broken, rule.Alert)
		all := without[rule.Alert]
		if changes != nil {
			all = series(t, page, "agent-1", healthy, changes)
		}
		since, summaries := newPrometheus(t, all).fired(t, rules)
		if since[rule.Alert] < change+int(time.Duration(rule.For).Minutes()) {
			t.Errorf("%s fires since minute %d, want %d at the earliest", rule.Alert, since[rule.Alert], change+int(time.Duration(rule.For).Minutes()))
		}
		if len(since) != 1 {
			t.Errorf("%s is not alone: %v", rule.Alert, since)
		}
		if text := summaries[rule.Alert]; !strings.Contains(text, node) && rule.Alert != "NeuronDRAAbsent" || strings.Contains(text, "no value") {
			t.Errorf("%s is read as %q", rule.Alert, text)
		}
	}
	for name := range broken {
		t.Errorf("there is no alert %s", name)
	}
	// The new pod of an update is not ready at first, and the old one goes.
	second := values{"neuron_dra_ready": "_x58 0x3 1x118", "neuron_dra_registered": "_x58 0x3 1x118", "neuron_dra_api_connected": "_x58 0x3 1x118"}
	for name, all := range map[string]string{
		"errors that a program can cause": series(t, page, "agent-1", healthy, values{counted(t, page, "timeout"): later("0", "9")}),
		"errors before a restart":         series(t, page, "agent-1", healthy, values{counted(t, page, "mem_ecc_uncorrected"): "_x60 7x120"}),
		"a healthy node":                  known + series(t, page, "agent-1", healthy),
		"a node that is taken away":       other + gone,
		"a node of an UltraServer, alone": series(t, page, "agent-1", healthy, values{"neuron_dra_devices_published": "1"}),
		"that node and its devices":       series(t, page, "agent-1", healthy, values{"neuron_dra_devices_published": "17"}),
		"an update":                       known + gone + series(t, page, "agent-2", healthy, second),
	} {
		if since, summaries := newPrometheus(t, all).fired(t, rules); len(since) != 0 {
			t.Errorf("%s: %v %v", name, since, summaries)
		}
	}
	if since, _ := newPrometheus(t, known).fired(t, rules); !reflect.DeepEqual(since, map[string]int{"NeuronDRAAbsent": 15}) {
		t.Errorf("agents that were never scraped: %v", since)
	}
}

// TestAbsentSwitchedOff: where no Neuron node is no trouble, that alert alone is left out.
func TestAbsentSwitchedOff(t *testing.T) {
	out, err := template(t, "--set", monitored+",draDriver.monitoring.prometheusRule.absent=false")
	if err != nil {
		t.Fatal(err)
	}
	if all := alertRules(t); strings.Contains(out, "NeuronDRAAbsent") || strings.Count(out, "- alert: ") != len(all)-1 {
		t.Errorf("%d of %d alerts", strings.Count(out, "- alert: "), len(all))
	}
}

// TestRunbooks: each alert names a section of the page that the value names.
func TestRunbooks(t *testing.T) {
	for values, page := range map[string]string{"": "https://github.com/neuron-dra/neuron-dra-agent/blob/main/cfg/deploy/operate.md",
		",draDriver.monitoring.prometheusRule.runbookUrl=https://runbooks.example.com/n": "https://runbooks.example.com/n"} {
		out, err := template(t, "--set", monitored+values)
		if err != nil {
			t.Fatal(err)
		}
		names := regexp.MustCompile(`- alert: (\w+)\n`).FindAllStringSubmatch(out, -1)
		for _, name := range names {
			if strings.Count(out, "runbook_url: "+page+"#"+strings.ToLower(name[1])+"\n") != 1 {
				t.Errorf("%s has no section of %s", name[1], page)
			}
		}
		if len(names) < 10 {
			t.Errorf("%d alerts", len(names))
		}
	}
}

// TestAlertsOfBothDrivers: with --efa each series of a driver is told apart, a trouble of one driver is an alert that names it,
// and a node without EFA devices is well.
func TestAlertsOfBothDrivers(t *testing.T) {
	page, rules := scrape(t, "--efa=true", "--efa-driver-name=efa.example.com"), alertRules(t)
	type values = map[string]string
	efa := `{driver="efa.example.com"}`
	for _, name := range []string{"registered", "slice_current", "devices", "devices_published", "claims_held", "claims_capacity", "store_usable",
		"store_quarantined_slots", "device_plugin", "pool_generation", "slice_verified_timestamp_seconds"} {
		for _, driver := range []string{efa, `{driver="neuron.aws.com"}`} {
			if strings.Count(page, "\nneuron_dra_"+name+driver+" ") != 1 {
				t.Errorf("no %s%s", name, driver)
			}
		}
	}
	for _, one := range []string{`neuron_dra_device_healthy{driver="efa.example.com",device="pci-0000-c9-00-0"} 1`,
		`neuron_dra_device_healthy{driver="neuron.aws.com",device="neuron-device-3"} 1`, "neuron_dra_devices" + efa + " 16",
		`neuron_dra_device_held{driver="efa.example.com",device="pci-0000-c9-00-0",claim_namespace=""`, "neuron_dra_ready 0", "neuron_dra_api_connected 0"} {
		if !strings.Contains(page, "\n"+one) {
			t.Errorf("no line %s", one)
		}
	}
	if plain := scrape(t); strings.Contains(plain, "driver=\"") {
		t.Error("a label of drivers where there is one driver")
	}
	well := values{}
	for name, value := range healthy {
		well[strings.Replace(name, "held{device", `held{driver="neuron.aws.com",device`, 1)] = value
	}
	for alert, changes := range map[string]values{
		"NeuronDRANotRegistered":      {"neuron_dra_registered" + efa: later("1", "0")},
		"NeuronDRASliceNotCurrent":    {"neuron_dra_slice_current" + efa: later("1", "0")},
		"NeuronDRAStoreUnusable":      {"neuron_dra_store_usable" + efa: later("1", "0")},
		"NeuronDRAStoreDamaged":       {"neuron_dra_store_quarantined_slots" + efa: later("0", "1")},
		"NeuronDRADevicesUnpublished": {"neuron_dra_devices_published" + efa: later("16", "15")},
		"NeuronDRADeviceLost":         {"neuron_dra_devices" + efa: later("16", "15"), "neuron_dra_devices_published" + efa: later("16", "15")},
		"NeuronDRADeviceUnhealthy":    {`neuron_dra_device_healthy{driver="efa.example.com",device="pci-0000-c9-00-0"}`: later("1", "0")},
		"NeuronDRADevicePlugin":       {"neuron_dra_device_plugin" + efa: later("0", "1")},
		"NeuronDRAClaimsNearLimit":    {"neuron_dra_claims_held" + efa: later("16", "240")},
		"":                            {"neuron_dra_devices" + efa: "0", "neuron_dra_devices_published" + efa: "0"},
	} {
		since, summaries := newPrometheus(t, series(t, page, "agent-1", well, changes)).fired(t, rules)
		if want := map[string]int{alert: since[alert]}; alert == "" && len(since) != 0 || alert != "" && (since[alert] == 0 || !reflect.DeepEqual(since, want)) {
			t.Errorf("%q: %v", alert, since)
		}
		text := summaries[alert]
		if named := strings.Contains(text, "efa.example.com") || strings.Contains(text, "pci-0000-c9-00-0"); alert != "" && (!named || strings.Contains(text, "no value")) {
			t.Errorf("%s is read as %q", alert, text)
		}
	}
	// What the panels show of devices is of each driver.
	for _, one := range panels(t) {
		for _, asked := range one.Targets {
			if strings.HasPrefix(asked.Expr, "sum by (driver)") {
				answer := newPrometheus(t, series(t, page, "agent-1", well)).ask(t, asked.Expr, minutes)
				if len(answer) != 2 {
					t.Errorf("%s: %s is %v", one.Title, asked.Expr, answer)
				}
			}
		}
	}
}

// The documented query gives each pod of a claim the value of each of its devices, and no PodGroup.
func TestQueryOfConsumers(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../cfg/deploy/operate.md")
	if err != nil {
		t.Fatal(err)
	}
	queries := regexp.MustCompile("(?s)```promql\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(queries) != 1 {
		t.Fatalf("%d queries, not 1", len(queries))
	}
	written := ""
	for _, instance := range []string{"a", "b"} {
		for _, one := range []string{
			`consumer_info{device="neuron-device-0",kind="Pod",name="first",uid="1"} 1`, `consumer_info{device="neuron-device-0",kind="Pod",name="joined",uid=""} 1`,
			`consumer_info{device="neuron-device-1",kind="PodGroup",name="team",uid="2"} 1`, `consumer_info{device="neuron-device-1",kind="Pod",name="member",uid=""} 1`,
			`power_ratio{device="neuron-device-0",claim_namespace="ml",claim_name="c",pod_name="first"} 0.5`,
			`power_ratio{device="neuron-device-1",claim_namespace="ml",claim_name="g",pod_name=""} 0.25`,
			`power_ratio{device="neuron-device-2",claim_namespace="",claim_name="",pod_name=""} 0.1`,
		} {
			written += "neuron_dra_device_" + strings.Replace(one, "{", fmt.Sprintf("{job=%q,instance=%q,", job, instance), 1) + "x5\n"
		}
	}
	var got []string
	for _, one := range newPrometheus(t, written).ask(t, queries[0][1], 1) {
		l := one.Metric
		got = append(got, fmt.Sprint(l.Get("instance"), " ", l.Get("device"), " ", l.Get("claim_namespace"), "/", l.Get("claim_name"), " ", l.Get("name"), " ", one.F))
	}
	slices.Sort(got)
	want := []string{"a neuron-device-0 ml/c first 0.5", "a neuron-device-0 ml/c joined 0.5", "a neuron-device-1 ml/g member 0.25",
		"b neuron-device-0 ml/c first 0.5", "b neuron-device-0 ml/c joined 0.5", "b neuron-device-1 ml/g member 0.25"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestDashboard asks what the panels ask, of a node with pods and of one with troubles: each query has an answer, with the
// labels that its legend names; what is empty while all is well says so.
func TestDashboard(t *testing.T) {
	page := scrape(t, "--device-metrics=true")
	for name, named := range map[string]bool{"with the PodMonitor": true, "with another scrape": false} {
		t.Run(name, func(t *testing.T) {
			relabels = named
			defer func() { relabels = true }()
			dashboard(t, page)
		})
	}
}

func dashboard(t *testing.T, page string) {
	t.Helper()
	errors := counted(t, page, "mem_ecc_corrected")
	device, _, _ := strings.Cut(strings.TrimPrefix(errors, "neuron_dra_device_errors_total"), `,core=`)
	well := newPrometheus(t, series(t, page, "agent-1", healthy))
	trouble := series(t, page, "agent-1", healthy, map[string]string{"neuron_dra_ready": "0",
		`neuron_dra_device_healthy{device="neuron-device-3"}`: "0", `neuron_dra_log_events_total{event="claim_failed"}`: "0+1x180",
		errors: "0+1x180", "neuron_dra_device_memory_bytes" + device + `,core="0",memory="device_mem"}`: "4096", "neuron_dra_device_power_ratio" + device + "}": "0.25",
		"neuron_dra_kubelet_call_duration_seconds_bucket": "0+2x180", "neuron_dra_store_flush_duration_seconds_bucket": "0+2x180",
		`neuron_dra_api_request_duration_seconds_count{verb="get",resource="resourceclaims",code="5xx",result="error"}`: "0+1x180"})
	ill := newPrometheus(t, trouble+strings.ReplaceAll(series(t, page, "agent-2", healthy), node, "trainium-1"))
	legend := regexp.MustCompile(`\{\{(\w+)\}\}`)
	taken, ids := map[[2]int]string{}, map[int]string{}
	for _, one := range panels(t) {
		for _, asked := range one.Targets {
			answer := ill.ask(t, asked.Expr, minutes)
			if len(answer) == 0 {
				t.Errorf("%s: nothing answers %s", one.Title, asked.Expr)
			}
			if !slices.ContainsFunc(answer, func(s promql.Sample) bool { return s.F != 0 }) {
				t.Errorf("%s: %s is drawn on the axis, where nobody sees it", one.Title, asked.Expr)
			}
			if len(well.ask(t, asked.Expr, minutes)) == 0 && one.FieldConfig.Defaults.NoValue == "" {
				t.Errorf("%s is empty while all is well, and does not say what that means", one.Title)
			}
			for _, label := range legend.FindAllStringSubmatch(asked.LegendFormat, -1) {
				for _, sample := range answer {
					// Only with --efa there are two drivers.
					if sample.Metric.Get(label[1]) == "" && label[1] != "driver" {
						t.Errorf("%s: %s has no label %s", one.Title, sample.Metric, label[1])
					}
				}
			}
		}
		for x := one.GridPos.X; x < one.GridPos.X+one.GridPos.W; x++ {
			for y := one.GridPos.Y; y < one.GridPos.Y+one.GridPos.H; y++ {
				if before := taken[[2]int{x, y}]; before != "" || x > 23 {
					t.Fatalf("%s lies over %q, or outside", one.Title, before)
				}
				taken[[2]int{x, y}] = one.Title
			}
		}
		if ids[one.ID] != "" {
			t.Errorf("%s and %s have one id", one.Title, ids[one.ID])
		}
		ids[one.ID] = one.Title
	}
	// What somebody looks for first.
	held := panels(t)
	at := slices.IndexFunc(held, func(one panel) bool { return one.Title == "Who holds which device" })
	if rows := well.ask(t, held[at].Targets[0].Expr, minutes); len(rows) != 1 || rows[0].Metric.Get("pod_name") != "p" ||
		rows[0].Metric.Get("claim_namespace") != "ml" || rows[0].Metric.Get("node") != node {
		t.Errorf("one device is held, the table has %v", rows)
	}
}
