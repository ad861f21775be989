// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
)

// metricsFindings is what stands against a text: what `promtool check metrics` says, by the library behind it, and the agent's own rules.
// promtool itself brings the libraries of each cloud that Prometheus can ask for its targets.
func metricsFindings(text string) string {
	linter := promlint.New(strings.NewReader(text))
	families := 0
	linter.AddCustomValidations(
		func(*dto.MetricFamily) []error { families++; return nil }, ownFamily, sameLabels, goodValues, wholeHistograms)
	problems, err := linter.Lint()
	if err != nil {
		return err.Error()
	}
	if one := firstOutside(text); one != "" {
		return one
	}
	if families == 0 {
		return "no metric"
	}
	var found strings.Builder
	for _, one := range problems {
		fmt.Fprintf(&found, "%s: %s\n", one.Metric, one.Text)
	}
	return found.String()
}

// firstOutside is the first line that is neither HELP nor TYPE nor a sample of the family whose TYPE came last: the library
// joins a family that is cut in two, and passes over other comments.
func firstOutside(text string) string {
	family := ""
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case len(words) == 4 && words[0] == "#" && words[1] == "TYPE":
			family = words[2]
		case len(words) > 2 && words[0] == "#" && words[1] == "HELP":
		case family != "" && regexp.MustCompile("^"+family+"(_bucket|_sum|_count)?[{ ]").MatchString(line):
		default:
			return "not in its family: " + line
		}
	}
	return ""
}

// conventional are names that others gave: clients of Prometheus, and neuron-monitor.
var conventional = regexp.MustCompile(`^process_(cpu_seconds_total|(resident|virtual)_memory_bytes|start_time_seconds|(open|max)_fds)$|` +
	`^neuroncore_memory_usage_(constants|model_code|model_shared_scratchpad|runtime_memory|tensors)$`)

func ownFamily(family *dto.MetricFamily) []error {
	var found []error
	if name := family.GetName(); !strings.HasPrefix(name, "neuron_dra_") && !conventional.MatchString(name) {
		found = append(found, errors.New("not a name for a metric of this program"))
	}
	switch family.GetType() {
	case dto.MetricType_GAUGE, dto.MetricType_COUNTER, dto.MetricType_HISTOGRAM:
	default:
		found = append(found, fmt.Errorf("type %s", family.GetType()))
	}
	return found
}

func sameLabels(family *dto.MetricFamily) []error {
	var found []error
	keys := func(one *dto.Metric) (names []string) {
		for _, label := range one.Label {
			names = append(names, label.GetName())
		}
		return names
	}
	for _, one := range family.Metric {
		if first, now := fmt.Sprint(keys(family.Metric[0])), fmt.Sprint(keys(one)); first != now {
			found = append(found, fmt.Errorf("series with different labels: %s and %s", first, now))
		}
	}
	return found
}

func goodValues(family *dto.MetricFamily) []error {
	var found []error
	for _, one := range family.Metric {
		gauge, counter, sum := one.GetGauge().GetValue(), one.GetCounter().GetValue(), one.GetHistogram().GetSampleSum()
		for _, value := range []float64{gauge, counter, sum} {
			if math.IsNaN(value) || math.IsInf(value, 0) {
				found = append(found, fmt.Errorf("%v: value %v", one.Label, value))
			}
		}
		if counter < 0 || sum < 0 {
			found = append(found, fmt.Errorf("%v: below 0: %v %v", one.Label, counter, sum))
		}
	}
	return found
}

// wholeHistograms: buckets grow with their bounds, which all series share, the last one is the count, and there is a sum.
func wholeHistograms(family *dto.MetricFamily) []error {
	var found []error
	bounds := map[string]bool{}
	for _, one := range family.Metric {
		h := one.Histogram
		if h == nil {
			continue
		}
		var own strings.Builder
		bound, count := math.Inf(-1), uint64(0)
		for _, bucket := range h.Bucket {
			if bucket.GetUpperBound() <= bound || bucket.GetCumulativeCount() < count {
				found = append(found, fmt.Errorf("%v: buckets do not grow: %v", one.Label, h.Bucket))
			}
			bound, count = bucket.GetUpperBound(), bucket.GetCumulativeCount()
			fmt.Fprintf(&own, "%g ", bound)
		}
		bounds[own.String()] = true
		if !math.IsInf(bound, 1) || h.SampleCount == nil || count != h.GetSampleCount() {
			found = append(found, fmt.Errorf("%v: the last bucket is not the count", one.Label))
		}
		if h.SampleSum == nil || h.GetSampleSum() > 0 && h.GetSampleCount() == 0 {
			found = append(found, fmt.Errorf("%v: no sum, or a sum of nothing", one.Label))
		}
	}
	if len(bounds) > 1 {
		found = append(found, errors.New("series with different buckets"))
	}
	return found
}

// The checker must see what it is there for.
func TestMetricsChecker(t *testing.T) {
	t.Parallel()
	const head = "# HELP neuron_dra_a A.\n# TYPE neuron_dra_a gauge\n"
	const histogram = "# HELP neuron_dra_wait_seconds H.\n# TYPE neuron_dra_wait_seconds histogram\n"
	if findings := metricsFindings(head + "neuron_dra_a{x=\"a\\\"b\"} 1\n" + histogram +
		"neuron_dra_wait_seconds_bucket{le=\"1\"} 1\nneuron_dra_wait_seconds_bucket{le=\"+Inf\"} 2\nneuron_dra_wait_seconds_sum 3.5\nneuron_dra_wait_seconds_count 2\n"); findings != "" {
		t.Errorf("a good text: %s", findings)
	}
	for name, text := range map[string]string{
		"empty":            "",
		"no last newline":  head + "neuron_dra_a 1",
		"no TYPE":          "# HELP neuron_dra_a A.\nneuron_dra_a 1\n",
		"TYPE too late":    "# HELP neuron_dra_a A.\nneuron_dra_a 1\n# TYPE neuron_dra_a gauge\n",
		"doubled family":   head + "neuron_dra_a 1\n" + head + "neuron_dra_a{b=\"c\"} 1\n",
		"doubled series":   head + "neuron_dra_a{b=\"c\"} 1\nneuron_dra_a{b=\"c\"} 2\n",
		"different labels": head + "neuron_dra_a{b=\"c\"} 1\nneuron_dra_a{d=\"c\"} 2\n",
		"foreign name":     "# HELP a A.\n# TYPE a gauge\na 1\n",
		"made-up process":  "# HELP process_memory_bytes A.\n# TYPE process_memory_bytes gauge\nprocess_memory_bytes 1\n",
		"no number":        head + "neuron_dra_a x\n",
		"not a number":     head + "neuron_dra_a NaN\n",
		"cut family":       head + "neuron_dra_a 1\n" + strings.ReplaceAll(head, "neuron_dra_a", "neuron_dra_b") + "neuron_dra_b 1\nneuron_dra_a{b=\"c\"} 1\n",
		"other comment":    head + "# a word\nneuron_dra_a 1\n",
		"infinite counter": "# HELP neuron_dra_a_total A.\n# TYPE neuron_dra_a_total counter\nneuron_dra_a_total +Inf\n",
		"bad counter":      "# HELP neuron_dra_a A.\n# TYPE neuron_dra_a counter\nneuron_dra_a 1\n",
		"buckets fall":     histogram + "neuron_dra_wait_seconds_bucket{le=\"1\"} 2\nneuron_dra_wait_seconds_bucket{le=\"+Inf\"} 1\nneuron_dra_wait_seconds_sum 1\nneuron_dra_wait_seconds_count 1\n",
		"bucket missing":   histogram + "neuron_dra_wait_seconds_bucket{le=\"1\"} 1\nneuron_dra_wait_seconds_sum 1\nneuron_dra_wait_seconds_count 1\n",
		"count differs":    histogram + "neuron_dra_wait_seconds_bucket{le=\"+Inf\"} 1\nneuron_dra_wait_seconds_sum 1\nneuron_dra_wait_seconds_count 2\n",
		"sum missing":      histogram + "neuron_dra_wait_seconds_bucket{le=\"+Inf\"} 1\nneuron_dra_wait_seconds_count 1\n",
	} {
		if metricsFindings(text) == "" {
			t.Errorf("%s: nothing is found in:\n%s", name, text)
		}
	}
}
