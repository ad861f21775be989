// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"context"
	"fmt"
	"html"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
)

// Sizes in the drawing: a dashboard is 24 columns wide.
const (
	columnWidth = 58
	rowHeight   = 30
	lineHeight  = 14
)

var colours = []string{"#7eb26d", "#eab839", "#6ed0e0", "#ef843c", "#e24d42", "#1f78c1", "#ba43a9", "#705da0"}

// askRange is what a panel's query draws over the run.
func (p prometheus) askRange(t *testing.T, expression string) promql.Matrix {
	t.Helper()
	query, err := p.engine.NewRangeQuery(context.Background(), p.storage, nil, expression, time.Unix(0, 0), time.Unix(60*minutes, 0), time.Minute)
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	defer query.Close()
	matrix, err := query.Exec(context.Background()).Matrix()
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	matrix = slices.Clone(matrix)
	for i := range matrix { // the engine uses their memory again
		matrix[i].Floats = slices.Clone(matrix[i].Floats)
	}
	return matrix
}

// inUnit writes a value as Grafana does in the units that the dashboard has.
func inUnit(t *testing.T, value float64, unit string) string {
	t.Helper()
	scaled := func(least float64, step float64, names ...string) string {
		at := 0
		for value /= least; math.Abs(value) >= step && at+1 < len(names); at++ {
			value /= step
		}
		return fmt.Sprintf("%.4g %s", value, names[at])
	}
	switch unit {
	case "short":
		return fmt.Sprintf("%.3g", value)
	case "s":
		return scaled(1e-6, 1000, "µs", "ms", "s")
	case "bytes":
		return scaled(1, 1024, "B", "KiB", "MiB", "GiB")
	case "percentunit":
		return fmt.Sprintf("%.3g %%", value*100)
	case "reqps":
		return fmt.Sprintf("%.3g req/s", value)
	}
	t.Fatalf("a unit that nothing here can write: %q", unit)
	return ""
}

// legendOf is the name of a series in a panel.
func legendOf(format string, of labels.Labels) string {
	return strings.TrimSpace(regexp.MustCompile(`\{\{(\w+)\}\}`).ReplaceAllStringFunc(format, func(one string) string {
		return of.Get(strings.Trim(one, "{}"))
	}))
}

// drawing is a picture in the form of SVG.
type drawing struct{ strings.Builder }

func (d *drawing) text(x, y int, size int, colour, text string) {
	fmt.Fprintf(d, `<text x="%d" y="%d" font-size="%d" fill="%s">%s</text>`+"\n", x, y, size, colour, html.EscapeString(text))
}

// lines draws what the queries of a panel answer, its axis and its legend, and tells how many series there are.
func (d *drawing) lines(t *testing.T, p prometheus, one panel, x, y, w, h int) int {
	t.Helper()
	type line struct {
		name   string
		points []promql.FPoint
	}
	var all []line
	most := one.FieldConfig.Defaults.Max
	for _, asked := range one.Targets {
		for _, answer := range p.askRange(t, asked.Expr) {
			all = append(all, line{legendOf(asked.LegendFormat, answer.Metric), answer.Floats})
			for _, point := range answer.Floats {
				if !math.IsNaN(point.F) {
					most = max(most, point.F)
				}
			}
		}
	}
	names := map[string]bool{}
	for _, each := range all {
		if each.name == "" || names[each.name] {
			t.Errorf("%s: a second series is called %q, or it has no name", one.Title, each.name)
		}
		names[each.name] = true
	}
	if len(all) == 0 {
		d.text(x+w/2-60, y+h/2, 14, "#999999", one.FieldConfig.Defaults.NoValue)
		return 0
	}
	most = max(most, 1e-9) * 1.05
	left, top, bottom := x+70, y+26, y+h-8-lineHeight*min(len(all), 5)
	for i := range 3 {
		value := most / 1.05 * float64(i) / 2
		at := bottom - int(float64(bottom-top)*value/most)
		fmt.Fprintf(d, `<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="#333333"/>`+"\n", left, at, x+w-8, at)
		d.text(x+6, at+4, 10, "#999999", inUnit(t, value, one.FieldConfig.Defaults.Unit))
	}
	for i, each := range all {
		colour, path := colours[i%len(colours)], ""
		for n, point := range each.points {
			if math.IsNaN(point.F) {
				continue
			}
			at := left + int(float64(x+w-8-left)*float64(point.T)/float64(time.Minute.Milliseconds()*minutes))
			height := int(float64(bottom-top) * point.F / most)
			if one.FieldConfig.Defaults.Custom.DrawStyle == "bars" {
				path += fmt.Sprintf("M%d %d V%d ", at, bottom, bottom-height)
				continue
			}
			step := "L"
			if path == "" || point.T-each.points[max(n-1, 0)].T > time.Minute.Milliseconds() {
				step = "M"
			}
			path += fmt.Sprintf("%s%d %d ", step, at, bottom-height)
		}
		fmt.Fprintf(d, `<path d="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", strings.TrimSpace(path), colour)
		if i < 5 {
			d.text(left, bottom+lineHeight*(i+1)-2, 11, colour, "— "+each.name)
		}
	}
	return len(all)
}

// rows draws the table of a panel.
func (d *drawing) rows(t *testing.T, p prometheus, one panel, x, y, h int) int {
	t.Helper()
	answer := p.ask(t, one.Targets[0].Expr, minutes)
	if len(answer) == 0 {
		d.text(x+200, y+h/2, 14, "#999999", one.FieldConfig.Defaults.NoValue)
	}
	for i, sample := range answer {
		if y+40+lineHeight*i < y+h {
			values := slices.Sorted(maps.Keys(sample.Metric.Map()))
			for j, name := range values {
				values[j] = name + " " + sample.Metric.Get(name)
			}
			d.text(x+10, y+40+lineHeight*i, 11, "#cccccc", strings.Join(values, "   "))
		}
	}
	return len(answer)
}

// distributed are the buckets of a histogram whose calls come twice a minute: durations from half a millisecond to four.
func distributed(page, name, labels string) map[string]string {
	growth := map[string]string{"0.00005": "0", "0.0001": "0", "0.00025": "0", "0.0005": "0", "0.001": "1.1", "0.0025": "1.8", "0.005": "1.99"}
	changed := map[string]string{}
	for _, found := range regexp.MustCompile(`\n(`+name+`_bucket\{`+labels+`,?le="([^"]*)"\}) `).FindAllStringSubmatch(page, -1) {
		grows, there := growth[found[2]]
		if !there {
			grows = "2"
		}
		changed[found[1]] = fmt.Sprintf("0+%sx%d", grows, minutes)
	}
	return changed
}

// TestDashboardDrawn draws the dashboard as its panels lie, over three hours of a node on which something happens after one of
// them, and another one that is well: build/test/dashboard.svg. dashboard-idle.svg is of an agent that nobody calls. Each series
// has a name of its own in its panel, and a panel without any says why.
func TestDashboardDrawn(t *testing.T) {
	page := scrape(t, "--device-metrics=true")
	device, _, _ := strings.Cut(strings.TrimPrefix(counted(t, page, "mem_ecc_corrected"), "neuron_dra_device_errors_total"), `,core=`)
	calls := distributed(page, "neuron_dra_kubelet_call_duration_seconds", `method="Node\w+",result="ok"`)
	flushes := distributed(page, "neuron_dra_store_flush_duration_seconds", `result="ok"`)
	used := map[string]string{"neuron_dra_device_memory_bytes" + device + `,core="0",memory="device_mem"}`: later("0", "8589934592"),
		"neuron_dra_device_power_ratio" + device + "}": later("0.08", "0.62"), "neuron_dra_claims_held": later("3", "5"),
		`neuron_dra_api_request_duration_seconds_count{verb="create",resource="resourceslices",code="2xx",result="ok"}`: later("1", "2")}
	ill := map[string]string{"neuron_dra_ready": "1x59 0x29 1x90", `neuron_dra_device_healthy{device="neuron-device-3"}`: later("1", "0"),
		`neuron_dra_log_events_total{event="claim_failed"}`: fmt.Sprintf("0x%d 0+1x20 20x%d", change-1, minutes-change-20), counted(t, page, "mem_ecc_corrected"): later("0", "3"),
		`neuron_dra_api_request_duration_seconds_count{verb="get",resource="resourceclaims",code="5xx",result="error"}`: fmt.Sprintf("0x%d 0+3x20 60x%d", change-1, minutes-change-20)}
	all := newPrometheus(t, series(t, page, "agent-1", healthy, calls, flushes, used, ill)+
		strings.ReplaceAll(series(t, page, "agent-2", healthy, calls, flushes), node, "trainium-1"))
	idle := newPrometheus(t, series(t, page, "agent-1"))
	for name, p := range map[string]prometheus{"dashboard": all, "dashboard-idle": idle} {
		var d drawing
		height := 0
		for _, one := range panels(t) {
			x, y, w, h := one.GridPos.X*columnWidth, one.GridPos.Y*rowHeight, one.GridPos.W*columnWidth-6, one.GridPos.H*rowHeight-6
			height = max(height, y+h+6)
			fmt.Fprintf(&d, `<rect x="%d" y="%d" width="%d" height="%d" fill="#181b1f" stroke="#2c3235"/>`+"\n", x, y, w, h)
			d.text(x+10, y+17, 13, "#dddddd", one.Title)
			drawn := 0
			if one.Type == "table" {
				drawn = d.rows(t, p, one, x, y, h)
			} else {
				drawn = d.lines(t, p, one, x, y, w, h)
			}
			if drawn == 0 && (name == "dashboard" || one.FieldConfig.Defaults.NoValue == "") {
				t.Errorf("%s: %s is empty, and does not say what that means", name, one.Title)
			}
		}
		folder := filepath.Join(root, "build", "test")
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		picture := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif">`+"\n"+
			`<rect width="100%%" height="100%%" fill="#111217"/>`+"\n%s</svg>\n", 24*columnWidth, height, d.String())
		if err := os.WriteFile(filepath.Join(folder, name+".svg"), []byte(picture), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
