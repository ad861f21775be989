// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

const (
	panelWidth  = 9 * vg.Centimeter
	panelHeight = 7 * vg.Centimeter
)

// line is one line of a panel: a value of each run of one kind, against the number of its agents.
type line struct {
	name  string
	of    func(r *result) bool
	value func(r *result) (float64, bool)
}

// byDefault are the runs of the agent as make scale has them, and ownLevel those that differ by OWN_LEVEL=1, whichever phases
// they have.
func byDefault(r *result) bool { return plain(r) && !r.OwnLevel && r.Selected == "" }
func ownLevel(r *result) bool  { return plain(r) && r.OwnLevel }

func plain(r *result) bool {
	return r.Program == "agent" && r.Kubelet == "registers" && !r.KernelFiles && !r.Long
}

type panel struct {
	title, unit string
	lines       []line
}

func last(kind string) func(r *result) (float64, bool) {
	return ofPhase(kind, func(p *phase, _ float64) float64 {
		if p.Right == nil {
			return 0
		}
		return p.Right.Last
	})
}

func median(kind string) func(r *result) (float64, bool) {
	return ofPhase(kind, func(p *phase, _ float64) float64 {
		if p.Right == nil {
			return 0
		}
		return p.Right.P50
	})
}

func ofPhase(kind string, value func(p *phase, agents float64) float64) func(r *result) (float64, bool) {
	return func(r *result) (float64, bool) {
		p := r.phaseOf(kind)
		if p == nil {
			return 0, false
		}
		return value(p, float64(r.Agents)), true
	}
}

func convergence() []panel {
	lines := func(kind string) []line {
		return []line{{"p50", byDefault, median(kind)}, {"last", byDefault, last(kind)}}
	}
	install := append(lines("install"), line{"p50, own level", ownLevel, median("install")},
		line{"last, own level", ownLevel, last("install")})
	return []panel{
		{"first installation: slices right", "s", install},
		{"all slices deleted: back", "s", lines("slices deleted")},
		{"API server killed: watches back", "s", lines("short outage")},
		{"first installation in a full cluster", "s", lines("install again")},
	}
}

func costs() []panel {
	requests := func(p *phase, agents float64) float64 { return float64(p.Sum) / agents }
	cpu := func(p *phase, agents float64) float64 { return p.ServerCPU / agents }
	octets := func(p *phase, agents float64) float64 { return float64(p.BytesFrom) / agents / 1024 }
	share := func(p *phase, _ float64) float64 { return 100 * p.MaxShare }
	lines := func(value func(p *phase, agents float64) float64) []line {
		return []line{{"installation", byDefault, ofPhase("install", value)},
			{"in a full cluster", byDefault, ofPhase("install again", value)},
			{"after 5 s without API server", byDefault, ofPhase("short outage", value)},
			{"installation, own level", ownLevel, ofPhase("install", value)}}
	}
	return []panel{
		{"requests", "an agent", lines(requests)},
		{"processor time of the API server", "ms an agent", lines(cpu)},
		{"bytes from the API server", "KiB an agent", lines(octets)},
		{"most of the fleet in one second", "%", lines(share)},
	}
}

// plotAll draws the runs of the agent; what is not of one of the two kinds is in the table alone.
func plotAll(results []*result, directory string) error {
	if err := drawPanels(results, convergence(), filepath.Join(directory, "convergence.svg")); err != nil {
		return err
	}
	return drawPanels(results, costs(), filepath.Join(directory, "cost.svg"))
}

// drawPanels puts the panels two in a row.
func drawPanels(runs []*result, panels []panel, path string) error {
	const columns = 2
	count := (len(panels) + columns - 1) / columns
	canvas := vgsvg.New(columns*panelWidth, vg.Length(count)*panelHeight)
	tiles := draw.Tiles{Rows: count, Cols: columns, PadX: vg.Centimeter / 2, PadY: vg.Centimeter / 2,
		PadTop: vg.Centimeter / 4, PadBottom: vg.Centimeter / 4, PadLeft: vg.Centimeter / 4, PadRight: vg.Centimeter / 2}
	for i, one := range panels {
		drawn, err := one.draw(runs)
		if err != nil {
			return err
		}
		drawn.Draw(tiles.At(draw.New(canvas), i%columns, i/columns))
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := canvas.WriteTo(file); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func (one panel) draw(runs []*result) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text, p.Y.Label.Text, p.X.Label.Text = one.title, one.unit, "agents"
	p.Y.Min, p.X.Min = 0, 0
	p.Legend.Top, p.Legend.Left, p.Legend.Padding = true, true, vg.Points(2)
	p.Add(plotter.NewGrid())
	var arguments []any
	top := 0.0
	for _, l := range one.lines {
		var points plotter.XYs
		for _, r := range runs {
			if !l.of(r) {
				continue
			}
			if value, found := l.value(r); found {
				points = append(points, plotter.XY{X: float64(r.Agents), Y: value})
				top = max(top, value)
			}
		}
		if len(points) > 0 {
			arguments = append(arguments, l.name, points)
		}
	}
	if err := plotutil.AddLinePoints(p, arguments...); err != nil {
		return nil, err
	}
	p.Y.Max = (1.1+0.15*float64(len(arguments)/2))*top + 0.1 // room for the legend: a row for each line
	return p, nil
}
