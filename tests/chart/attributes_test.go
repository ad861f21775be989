// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"maps"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	resource "k8s.io/api/resource/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/dynamic-resource-allocation/cel"
)

// published is one device of the golden slices.
type published struct {
	name          string // of its type, and which of it
	kinds, values map[string]string
	cel.Device
}

func (d published) copied() published {
	d.kinds, d.values, d.Attributes, d.Capacity = maps.Clone(d.kinds), maps.Clone(d.values), maps.Clone(d.Attributes), maps.Clone(d.Capacity)
	return d
}

// set gives a device an attribute or a capacity in the words of the golden files.
func (d published) set(t *testing.T, name, kind, value string) {
	t.Helper()
	var err error
	one, key := resource.DeviceAttribute{}, resource.QualifiedName(name)
	d.kinds[name], d.values[name] = kind, value
	switch kind {
	case "int":
		var number int64
		number, err = strconv.ParseInt(value, 10, 64)
		one.IntValue = &number
	case "bool":
		truth := value == "true"
		one.BoolValue = &truth
	case "string":
		one.StringValue = &value
	case "version":
		one.VersionValue = &value
	case "capacity":
		d.Capacity[key] = resource.DeviceCapacity{Value: quantity.MustParse(value)}
		return
	}
	if err != nil {
		t.Fatalf("%s: %s %s %s: %v", d.name, name, kind, value, err)
	}
	d.Attributes[key] = one
}

// without is the device without one attribute.
func (d published) without(name string) published {
	found := d.copied()
	delete(found.Attributes, resource.QualifiedName(name))
	delete(found.Capacity, resource.QualifiedName(name))
	return found
}

// otherwise is the device with another value of an attribute: one that no golden file has, and a smaller one.
func (d published) otherwise(t *testing.T, name string) published {
	t.Helper()
	found, truth := d.copied(), d.Attributes[resource.QualifiedName(name)].BoolValue
	found.set(t, name, d.kinds[name], map[string]string{"int": "-1000000", "bool": strconv.FormatBool(truth != nil && !*truth),
		"string": "another", "version": "0.0.1", "capacity": "1"}[d.kinds[name]])
	return found
}

// lines adds the devices of one golden file, or to copies of those that are there.
func lines(t *testing.T, devices map[string]published, board, driver, text string) {
	t.Helper()
	version := regexp.MustCompile(`#define AGENT_VERSION "([^"]+)"`).FindStringSubmatch(read(t, "cfg", "identity.h"))[1]
	line := regexp.MustCompile(`(?m)^(node|\d+|[0-9a-f]{4}:\S+) (\S+) (int|bool|string|version|capacity) (.*)$`)
	for _, found := range line.FindAllStringSubmatch(text, -1) {
		name := board + " " + found[1]
		if _, there := devices[name]; !there {
			devices[name] = published{name, map[string]string{}, map[string]string{}, cel.Device{Driver: driver,
				Attributes: map[resource.QualifiedName]resource.DeviceAttribute{},
				Capacity:   map[resource.QualifiedName]resource.DeviceCapacity{}}}
		}
		devices[name].set(t, found[2], found[3], strings.Replace(found[4], "AGENT_VERSION", version, 1))
	}
}

// goldenSlices are the devices of both drivers, by the folder of their golden files; those of the folder more stand beside
// the same ones without what these files add.
func goldenSlices(t *testing.T, drivers map[string]string) map[string]map[string]published {
	t.Helper()
	all := map[string]map[string]published{}
	for folder, driver := range drivers {
		all[folder] = map[string]published{}
		for _, path := range files(t, folder) {
			lines(t, all[folder], strings.TrimSuffix(filepath.Base(path), ".txt"), driver, read(t, path))
		}
	}
	for _, path := range files(t, "more") {
		text := read(t, path)
		board := regexp.MustCompile(`(?m)^board (\S+) (\S+)$`).FindStringSubmatch(text)
		added := map[string]published{}
		for name, device := range all[board[1]] {
			if strings.HasPrefix(name, board[2]+" ") {
				added[name] = device.copied()
			}
		}
		lines(t, added, board[2], drivers[board[1]], text)
		for name, device := range added {
			all[board[1]][filepath.Base(path)+" "+name] = device
		}
	}
	return all
}

// files are the golden files of a folder, from the top of the tree.
func files(t *testing.T, folder string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(root, "tests", "vectors", folder, "*.txt"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no golden files in %s: %v", folder, err)
	}
	for i, path := range found {
		if found[i], err = filepath.Rel(root, path); err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// row is one line of the document.
type row struct{ driver, name, kind, expression string }

func documented(t *testing.T) []row {
	t.Helper()
	var found []row
	driver := ""
	heading, code := regexp.MustCompile("^## .*`(.+)`$"), regexp.MustCompile("^`(.+)`$")
	for _, line := range strings.Split(read(t, "cfg", "deploy", "ATTRIBUTES.md"), "\n") {
		if parts := heading.FindStringSubmatch(line); parts != nil {
			driver = parts[1]
		}
		cells := strings.Split(strings.TrimSuffix(strings.TrimPrefix(line, "| "), " |"), " | ")
		if name := code.FindStringSubmatch(cells[0]); name != nil && len(cells) > 3 {
			expression := code.FindStringSubmatch(strings.ReplaceAll(cells[len(cells)-1], `\|`, "|"))
			if expression == nil {
				t.Fatalf("no expression in %s", line)
			}
			found = append(found, row{driver, name[1], cells[1], expression[1]})
		}
	}
	return found
}

// matches evaluates an expression as the scheduler does for one device.
func matches(t *testing.T, compiled cel.CompilationResult, device published) bool {
	t.Helper()
	is, _, err := compiled.DeviceMatches(t.Context(), device.Device)
	if err != nil {
		t.Errorf("%s: %s: %v", device.name, compiled.Expression, err)
	}
	return is
}

// checkRow: the expression is one that the API server takes in a new claim, some golden device fulfils it, another does not
// unless all have the same value, and one that is given another value, or none, does not.
func checkRow(t *testing.T, one row, devices map[string]published) {
	t.Helper()
	compiled := cel.GetCompiler(cel.Features{}).CompileCELExpression(one.expression, cel.Options{EnvType: new(environment.NewExpressions)})
	if compiled.Error != nil {
		t.Fatalf("%s: %v", one.expression, compiled.Error)
	}
	if compiled.MaxCost > resource.CELSelectorExpressionMaxCost {
		t.Errorf("%s may cost %d, more than the %d that the API server takes", one.expression, compiled.MaxCost, resource.CELSelectorExpressionMaxCost)
	}
	var yes, no int
	values := map[string]bool{}
	for _, device := range devices {
		kind, there := device.kinds[one.name]
		values[device.values[one.name]] = true
		if there && kind != one.kind {
			t.Errorf("%s: %s is documented as %s, and is %s", device.name, one.name, one.kind, kind)
		}
		if !matches(t, compiled, device) {
			no++
			continue
		}
		if yes++; !there || matches(t, compiled, device.otherwise(t, one.name)) {
			t.Fatalf("%s: %s does not look at %s", device.name, one.expression, one.name)
		}
		if strings.Contains(one.expression, ".?") && matches(t, compiled, device.without(one.name)) {
			t.Fatalf("%s: %s matches without %s", device.name, one.expression, one.name)
		}
	}
	t.Logf("%d devices match, %d do not", yes, no)
	if yes == 0 || no == 0 && len(values) > 1 {
		t.Errorf("%s: %d golden devices match and %d do not, with %d values", one.expression, yes, no, len(values))
	}
}

// unfolded are the rows that one with an N in its name stands for: one for each such attribute of the golden devices, with its
// name in the place of that in the expression.
func unfolded(one row, devices map[string]published) []row {
	before, after, many := strings.Cut(one.name, "N_")
	if !many {
		return []row{one}
	}
	name := regexp.MustCompile(`\b` + regexp.QuoteMeta(before) + `\d+_` + regexp.QuoteMeta(after) + `\b`)
	names := map[string]bool{}
	for _, device := range devices {
		for each := range device.kinds {
			if name.FindString(each) == each {
				names[each] = true
			}
		}
	}
	var found []row
	for each := range names {
		found = append(found, row{one.driver, each, one.kind, name.ReplaceAllLiteralString(one.expression, each)})
	}
	return found
}

// TestAttributes holds cfg/deploy/ATTRIBUTES.md against the golden slices: it has each attribute of each driver, and
// expressions that do what they say.
func TestAttributes(t *testing.T) {
	drivers := map[string]string{"boards": "neuron.aws.com", "efa": "dra.net"}
	devices, missing := goldenSlices(t, drivers), map[string]bool{}
	var rows []row
	for _, one := range documented(t) {
		for folder, driver := range drivers {
			if driver == one.driver {
				rows = append(rows, unfolded(one, devices[folder])...)
			}
		}
	}
	for folder, all := range devices {
		for _, device := range all {
			for name := range device.kinds {
				missing[drivers[folder]+" "+name] = true
			}
		}
	}
	for _, one := range rows {
		delete(missing, one.driver+" "+one.name)
		for folder, driver := range drivers {
			if driver == one.driver {
				t.Run(one.driver+" "+one.name, func(t *testing.T) { checkRow(t, one, devices[folder]) })
			}
		}
	}
	for name := range missing {
		t.Errorf("no row for %s", name)
	}
	if len(rows) < 50 {
		t.Errorf("%d rows", len(rows))
	}
}
