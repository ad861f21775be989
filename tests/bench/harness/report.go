// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// row is one figure of both sides. Ratio says how many times the reference's is the agent's.
type row struct {
	Name      string  `json:"name"`
	Unit      string  `json:"unit"`
	Agent     float64 `json:"agent"`
	Reference float64 `json:"reference"`
	Ratio     float64 `json:"ratio"`
}

// bound is a ratio that the project wants to keep.
type bound struct {
	Name    string  `json:"name"`
	AtLeast float64 `json:"atLeast"`
	Ratio   float64 `json:"ratio"`
	Reached bool    `json:"reached"`
}

type result struct {
	Date    string            `json:"date"`
	Command string            `json:"command"`
	Machine map[string]string `json:"machine"`
	Claims  int               `json:"claims"`
	Rows    []row             `json:"rows"`
	Bounds  []bound           `json:"bounds"`
	Held    *heldCost         `json:"held"`
	Wire    []figure          `json:"wire"`
	Floors  *floors           `json:"floors"`
	Paced   []pacedRow        `json:"paced"`
	Loads   []loadRow         `json:"loads"`
}

const (
	prepareP50Bound = 4
	prepareP99Bound = 6
)

func (r *result) add(name, unit string, value func(side int) float64) row {
	line := row{Name: name, Unit: unit, Agent: value(0), Reference: value(1)}
	if line.Agent > 0 {
		line.Ratio = line.Reference / line.Agent
	}
	r.Rows = append(r.Rows, line)
	return line
}

func (r *result) hold(line row, atLeast float64) {
	r.Bounds = append(r.Bounds, bound{line.Name, atLeast, line.Ratio, line.Ratio >= atLeast})
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func (b *bench) result(p places, loadBefore string) (*result, error) {
	r := &result{Date: time.Now().Format(time.DateOnly), Command: b.options.command, Claims: b.options.claims,
		Machine: machine(p, loadBefore)}
	var sizes [sideCount]float64
	for i, s := range b.sides {
		info, err := os.Stat(s.binary)
		if err != nil {
			return nil, err
		}
		sizes[i] = float64(info.Size())
	}
	r.add("binary, stripped", "bytes", func(i int) float64 { return sizes[i] })
	for _, held := range []int{0, heldMost} {
		rest := b.rest[held]
		with := ", " + heldName(held)
		r.add("idle RSS"+with, "KiB", func(i int) float64 { return float64(rest[i].rss) })
		r.add("idle PSS"+with, "KiB", func(i int) float64 { return float64(rest[i].pss) })
		r.add("idle anonymous memory"+with, "KiB", func(i int) float64 { return float64(rest[i].anonymous) })
		r.add("threads"+with, "", func(i int) float64 { return float64(rest[i].threads) })
	}
	r.add("exec to answer of the registration socket, p50", "ms",
		func(i int) float64 { return milliseconds(b.starts[i].percentile(50)) })
	r.add("exec to answer of the registration socket, longest", "ms",
		func(i int) float64 { return milliseconds(b.starts[i].percentile(100)) })
	for _, l := range b.loads {
		r.addLoad(l)
	}
	r.Held = b.held
	r.Wire, r.Floors, r.Paced = b.wire, b.floors, b.paced
	if b.unlimited != nil {
		r.Machine["no figures under "+limitName] = b.unlimited.Error()
	}
	return r, nil
}

// loadRow is one call of one side: what it took, and what was counted meanwhile, for a call.
type loadRow struct {
	Side    string     `json:"side"`
	Call    string     `json:"call"`
	Load    string     `json:"load"`
	Times   spread     `json:"times"`
	Counted [kinds]any `json:"counted"` // context switches, flushes, instructions; or why there is none
}

var (
	operationNames = [operations]string{"prepare", "repeated prepare", "unprepare"}
	sideNames      = [sideCount]string{"agent", "Go reference"}
)

func (r *result) addRows(l *load) {
	for op := range operations {
		for i := range sideCount {
			s := &l.series[i][op]
			row := loadRow{Side: sideNames[i], Call: operationNames[op], Load: l.name, Times: spreadOf(s.times)}
			for k := range kinds {
				if l.missing[k] != nil {
					row.Counted[k] = l.missing[k].Error()
					r.Machine["no "+kindNames[k]] = l.missing[k].Error()
				} else {
					row.Counted[k] = float64(s.counted[k]) / float64(len(s.times))
				}
			}
			r.Loads = append(r.Loads, row)
		}
	}
}

func (r *result) writeLoads(w io.Writer) {
	fmt.Fprintf(w, "| call | load | side | p50 (least to most of ten parts) | p99 | p99.9 | %s | %s | %s |\n"+
		"|---|---|---|---|---|---|---|---|---|\n", kindNames[switches], kindNames[flushes], kindNames[instructions])
	for _, row := range r.Loads {
		fmt.Fprintf(w, "| %s | %s | %s | %s |", row.Call, row.Load, row.Side, row.Times)
		for _, v := range row.Counted {
			if n, counted := v.(float64); !counted {
				fmt.Fprint(w, " – |")
			} else if n < 100 {
				fmt.Fprintf(w, " %.1f |", n)
			} else {
				fmt.Fprintf(w, " %s |", number(n, ""))
			}
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
	for _, kind := range kindNames {
		if why := r.Machine["no "+kind]; why != "" {
			fmt.Fprintf(w, "- %s: not counted on this machine: %s\n", kind, why)
		}
	}
	fmt.Fprintln(w)
}

func (r *result) addLoad(l *load) {
	r.addRows(l)
	with := ", " + l.name
	at := func(op operation, p int) func(int) float64 {
		return func(i int) float64 { return milliseconds(l.series[i][op].percentile(p)) }
	}
	p50 := r.add("prepare p50"+with, "ms", at(prepareNew, 50))
	p99 := r.add("prepare p99"+with, "ms", at(prepareNew, 99))
	if l.bound {
		r.hold(p50, prepareP50Bound)
		r.hold(p99, prepareP99Bound)
	}
	r.add("repeated prepare p50"+with, "ms", at(prepareAgain, 50))
	r.add("repeated prepare p99"+with, "ms", at(prepareAgain, 99))
	r.add("unprepare p50"+with, "ms", at(unprepareOne, 50))
	r.add("unprepare p99"+with, "ms", at(unprepareOne, 99))
	r.add("CPU per prepare"+with, "ms", func(i int) float64 {
		return milliseconds(l.series[i][prepareNew].cpu) / float64(len(l.series[i][prepareNew].times))
	})
}

func machine(p places, loadBefore string) map[string]string {
	var u unix.Utsname
	_ = unix.Uname(&u)
	return map[string]string{
		"cores":       fmt.Sprint(runtime.NumCPU()),
		"kernel":      unix.ByteSliceToString(u.Release[:]),
		"go":          runtime.Version(),
		"state":       fileSystem(p.state + "/."),
		"cdi":         fileSystem(p.cdi),
		"load before": loadBefore,
	}
}

func (r *result) writeJSON(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// number writes a figure in the digits that it has.
func number(v float64, unit string) string {
	switch {
	case unit == "ms" && v < 10:
		return fmt.Sprintf("%.2f ms", v)
	case unit == "ms":
		return fmt.Sprintf("%.1f ms", v)
	}
	digits := fmt.Sprintf("%.0f", v)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return strings.TrimSpace(digits + " " + unit)
}

// writeRun says which run the tables are of.
func (r *result) writeRun(w io.Writer) {
	fmt.Fprintf(w, "`%s`, %s: %s cores, kernel %s, store and checkpoint on %s, CDI files on %s, at most %d claims a figure, "+
		"load average before: %s\n\n", r.Command, r.Date, r.Machine["cores"], r.Machine["kernel"], r.Machine["state"],
		r.Machine["cdi"], r.Claims, r.Machine["load before"])
}

// writeCalls is what one call takes.
func (r *result) writeCalls(w io.Writer) {
	writeFloors(w, r.Floors)
	writePaced(w, r.Paced)
	r.writeLoads(w)
}

const (
	readmeBegin = "<!-- calls: written by make bench UPDATE=1 -->\n"
	readmeEnd   = "<!-- calls: end -->\n"
)

// writeReadme puts the tables of one call between the marks of the file.
func (r *result) writeReadme(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	head, rest, begins := strings.Cut(string(text), readmeBegin)
	_, tail, ends := strings.Cut(rest, readmeEnd)
	if !begins || !ends {
		return fmt.Errorf("%s: no place for the tables", path)
	}
	var out strings.Builder
	out.WriteString(head + readmeBegin + "\n")
	r.writeRun(&out)
	r.writeCalls(&out)
	out.WriteString(readmeEnd + tail)
	return os.WriteFile(path, []byte(out.String()), 0o644)
}

func (r *result) writeTable(w io.Writer) {
	r.writeRun(w)
	fmt.Fprintf(w, "| | agent | Go reference | ratio |\n|---|---|---|---|\n")
	for _, line := range r.Rows {
		fmt.Fprintf(w, "| %s | %s | %s | %.1f |\n", line.Name, number(line.Agent, line.Unit),
			number(line.Reference, line.Unit), line.Ratio)
	}
	fmt.Fprintln(w)
	for _, b := range r.Bounds {
		fmt.Fprintf(w, "bound: %s at least %.0f times faster: %.1f, %s\n", b.Name, b.AtLeast, b.Ratio, verdict(b.Reached))
	}
	writeHeld(w, r.Held)
	r.writeCalls(w)
	writeFigures(w, r.Wire)
}
