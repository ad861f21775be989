// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
)

// table is what a reader of the run gets to see of many cases: tests add rows while they run, and all
// tables are printed at the end, in the order of their names, rows in the order of their first columns.
// It decides nothing: a row's test fails by itself.
type table struct {
	name    string
	columns []string
	rows    [][]string
}

var tables struct {
	mu  sync.Mutex
	all []*table
}

// newTable is called once for a table, as the value of a variable of the package:
//
//	var h2specTable = newTable("h2spec", "address", "passed", "of")
func newTable(name string, columns ...string) *table {
	tables.mu.Lock()
	defer tables.mu.Unlock()
	t := &table{name: name, columns: columns}
	tables.all = append(tables.all, t)
	return t
}

// add appends a row with one value for each column; tests may do so in parallel.
func (t *table) add(values ...any) {
	if len(values) != len(t.columns) {
		panic(fmt.Sprintf("table %q has %d columns, not %d", t.name, len(t.columns), len(values)))
	}
	row := make([]string, len(values))
	for i, v := range values {
		row[i] = fmt.Sprint(v)
	}
	tables.mu.Lock()
	defer tables.mu.Unlock()
	t.rows = append(t.rows, row)
}

// printTables writes the tables that have rows: a run of a few tests shows no empty ones.
func printTables(w io.Writer) {
	tables.mu.Lock()
	defer tables.mu.Unlock()
	slices.SortStableFunc(tables.all, func(a, b *table) int { return strings.Compare(a.name, b.name) })
	for _, t := range tables.all {
		if len(t.rows) == 0 {
			continue
		}
		slices.SortStableFunc(t.rows, slices.Compare[[]string])
		columns := tabwriter.NewWriter(w, 0, 0, 1, ' ', tabwriter.Debug)
		fmt.Fprintf(w, "\n%s\n", t.name)
		for _, row := range append([][]string{t.columns}, t.rows...) {
			fmt.Fprintln(columns, " "+strings.Join(row, "\t ")+"\t")
		}
		_ = columns.Flush()
	}
}
