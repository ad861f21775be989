// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

var metricsPort = regexp.MustCompile(`.*metrics on TCP port ([0-9]+)`)

// page reads a page of the agent's metrics port.
func (w *world) page(path string) (int, string, error) {
	port := metricsPort.FindAllStringSubmatch(w.log.all(), -1)
	if port == nil {
		return 0, "", errors.New("the agent named no port for its metrics")
	}
	client := http.Client{Timeout: localLimit, Transport: &http.Transport{DisableKeepAlives: true}}
	reply, err := client.Get("http://127.0.0.1:" + port[len(port)-1][1] + path)
	if err != nil {
		return 0, "", err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	return reply.StatusCode, string(text), err
}

// ready is an error with the reasons while the agent is not ready.
func (w *world) ready() error {
	code, text, err := w.page("/readyz")
	if err == nil && code != http.StatusOK {
		err = fmt.Errorf("/readyz says %d: %s", code, text)
	}
	return err
}

// unready waits until /readyz names a reason.
func (w *world) unready(reason string, within time.Duration) {
	w.t.Helper()
	follow().wait(w.t, fmt.Sprintf("/readyz with the reason %q", reason), within, func() error {
		code, text, err := w.page("/readyz")
		if err != nil {
			return err
		}
		if code != http.StatusServiceUnavailable || !strings.Contains(text, reason) {
			return fmt.Errorf("it says %d: %s", code, text)
		}
		return nil
	})
}

// unready is what /readyz tells during a fault.
func unready(reason string) func(w *world, within time.Duration) {
	return func(w *world, within time.Duration) { w.unready(reason, within) }
}

// disconnected is what a metric tells during a fault.
func disconnected(w *world, within time.Duration) {
	follow().wait(w.t, "metric api_connected 0", within, func() error {
		if sum(w.metrics(), "api_connected", nil) != 0 {
			return errors.New("it is 1")
		}
		return nil
	})
}

// metrics are the families that Prometheus' own parser reads.
func (w *world) metrics() map[string]*dto.MetricFamily {
	w.t.Helper()
	code, text, err := w.page("/metrics")
	if err != nil || code != http.StatusOK {
		w.t.Fatalf("/metrics says %d, %v", code, err)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		w.t.Fatalf("/metrics is no Prometheus text: %v\n%s", err, text)
	}
	return families
}

// labelled says whether a metric has all of these labels.
func labelled(m *dto.Metric, labels map[string]string) bool {
	found := map[string]string{}
	for _, pair := range m.GetLabel() {
		found[pair.GetName()] = pair.GetValue()
	}
	for key, value := range labels {
		if found[key] != value {
			return false
		}
	}
	return true
}

// sum adds up what the metrics of a family with these labels count.
func sum(families map[string]*dto.MetricFamily, name string, labels map[string]string) float64 {
	total := 0.0
	for _, m := range families["neuron_dra_"+name].GetMetric() {
		if labelled(m, labels) {
			total += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return total
}

// measured holds the metrics against what the case did.
func (w *world) measured() {
	w.t.Helper()
	families := w.metrics()
	device := map[string]string{"device": w.want[0].Name, "claim_name": w.held.name, "claim_uid": w.held.uid}
	for _, one := range []struct {
		name   string
		labels map[string]string
		least  float64
		most   float64
	}{
		{"ready", nil, 1, 1},
		{"registered", nil, 1, 1},
		{"api_connected", nil, 1, 1},
		{"slice_current", nil, 1, 1},
		{"devices", nil, float64(len(w.want)), float64(len(w.want))},
		{"devices_published", nil, float64(len(w.want)), float64(len(w.want))},
		{"claims_held", nil, 2, 3},
		{"node_info", map[string]string{"instance_type": w.board}, 1, 1},
		{"device_held", device, 1, 1},
		{"kubelet_call_duration_seconds", map[string]string{"method": "NodePrepareResources"}, 4, 99},
		{"kubelet_call_duration_seconds", map[string]string{"method": "NodeUnprepareResources"}, 1, 2},
		{"log_events_total", map[string]string{"event": "claim_prepared"}, 3, 4},
	} {
		if found := sum(families, one.name, one.labels); found < one.least || found > one.most {
			w.t.Errorf("metric %s%v is %v, want %v to %v", one.name, one.labels, found, one.least, one.most)
		}
	}
	asked := float64(len(w.proxy.Requests())) // of those that were lost on the way it knows nothing
	if found := sum(families, "api_request_duration_seconds", nil); found < asked/2 || found > asked+4 {
		w.t.Errorf("the agent measured %v requests, the server saw %v", found, asked)
	}
}
