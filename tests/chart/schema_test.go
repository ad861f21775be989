// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"sort"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
)

var update = flag.Bool("update", false, "write what Kubernetes' types say into values.schema.json")

// choices are the values of types that have few.
var choices = map[reflect.Type][]string{
	reflect.TypeFor[core.TolerationOperator]():          {"Exists", "Equal", "Lt", "Gt"},
	reflect.TypeFor[core.TaintEffect]():                 {"NoSchedule", "PreferNoSchedule", "NoExecute"},
	reflect.TypeFor[core.NodeSelectorOperator]():        {"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"},
	reflect.TypeFor[core.SeccompProfileType]():          {"Unconfined", "RuntimeDefault", "Localhost"},
	reflect.TypeFor[apps.DaemonSetUpdateStrategyType](): {"RollingUpdate", "OnDelete"},
	reflect.TypeFor[core.PodSELinuxChangePolicy]():      {"Recursive", "MountOption"},
	reflect.TypeFor[core.PodFSGroupChangePolicy]():      {"Always", "OnRootMismatch"},
	reflect.TypeFor[core.SupplementalGroupsPolicy]():    {"Merge", "Strict"},
	reflect.TypeFor[core.AppArmorProfileType]():         {"Unconfined", "RuntimeDefault", "Localhost"},
}

// definitions are schemas of Go types, by the type's name.
type definitions map[string]any

func (d definitions) of(t reflect.Type) any {
	switch t {
	case reflect.TypeFor[quantity.Quantity]():
		return map[string]any{"$ref": "#/definitions/Quantity"}
	case reflect.TypeFor[core.ResourceList]():
		return map[string]any{"$ref": "#/definitions/ResourceList"}
	case reflect.TypeFor[intstr.IntOrString]():
		return map[string]any{"type": []string{"integer", "string"}}
	}
	if few := choices[t]; few != nil {
		return map[string]any{"enum": few}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return d.of(t.Elem())
	case reflect.Slice:
		return map[string]any{"type": "array", "items": d.of(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": d.of(t.Elem())}
	case reflect.Struct:
		if _, known := d[t.Name()]; !known {
			d[t.Name()] = nil // a type may hold itself
			fields := map[string]any{}
			d.fields(t, fields)
			d[t.Name()] = map[string]any{"type": "object", "additionalProperties": false, "properties": fields}
		}
		return map[string]any{"$ref": "#/definitions/" + t.Name()}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int32, reflect.Int64:
		return map[string]any{"type": "integer"}
	}
	panic("no schema of " + t.String())
}

func (d definitions) fields(t reflect.Type, into map[string]any) {
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name == "" { // inline
			d.fields(t.Field(i).Type, into)
		} else {
			into[name] = d.of(t.Field(i).Type)
		}
	}
}

// TestSchemaTypes: the schema has the fields of Kubernetes' own types, so that a misspelt one is refused and no right one is.
func TestSchemaTypes(t *testing.T) {
	found := definitions{}
	for _, one := range []any{core.PodSecurityContext{}, core.SecurityContext{}, core.Affinity{}, core.Toleration{},
		core.ResourceRequirements{}, core.EnvVar{}, core.LocalObjectReference{}, apps.DaemonSetUpdateStrategy{}} {
		found.of(reflect.TypeOf(one))
	}
	var lines []string
	for name, schema := range found {
		text, err := json.Marshal(schema)
		if err != nil {
			t.Fatal(err)
		}
		key, _ := json.Marshal(name)
		lines = append(lines, "    "+string(key)+": "+string(text))
	}
	sort.Strings(lines)
	schema := read(t, "cfg", "deploy", "chart", "values.schema.json")
	marker := strings.Index(schema, `    "Kubernetes": {`)
	if marker < 0 {
		t.Fatal("values.schema.json has no line Kubernetes")
	}
	end := marker + strings.Index(schema[marker:], "\n")
	want := strings.TrimSuffix(schema[:end], ",") + ",\n" + strings.Join(lines, ",\n") + "\n  }\n}\n"
	if *update {
		if err := os.WriteFile(filepath.Join(chart, "values.schema.json"), []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != schema {
		t.Error("values.schema.json has not the fields of Kubernetes' types: go test -run TestSchemaTypes -update")
	}
}
