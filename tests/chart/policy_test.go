// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types/ref"
	admission "k8s.io/api/admissionregistration/v1"
	"k8s.io/apiserver/pkg/cel/environment"
	"sigs.k8s.io/yaml"
)

// policy is one of the chart, as the API server's own CEL environment evaluates it.
type policy struct {
	t    *testing.T
	spec admission.ValidatingAdmissionPolicySpec
	env  *cel.Env
}

func newPolicy(t *testing.T, args ...string) policy {
	t.Helper()
	const name = "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy/neuron-dra-driver-configs"
	base := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	env, err := base.NewExpressionsEnv().Extend(cel.Variable("object", cel.DynType), cel.Variable("oldObject", cel.DynType),
		cel.Variable("request", cel.DynType))
	if err != nil {
		t.Fatal(err)
	}
	return policy{t, rendered(t, args...)[name].(*admission.ValidatingAdmissionPolicy).Spec, env}
}

// ask evaluates an expression; the error is that of the evaluation.
func (p policy) ask(expression string, input map[string]any) (ref.Val, error) {
	p.t.Helper()
	for i := len(p.spec.Variables) - 1; i >= 0; i-- { // a variable names earlier ones only
		one := p.spec.Variables[i]
		expression = strings.ReplaceAll(expression, "variables."+one.Name, "("+one.Expression+")")
	}
	checked, issues := p.env.Compile(expression)
	if issues.Err() != nil {
		p.t.Fatalf("%s: %v", expression, issues.Err())
	}
	program, err := p.env.Program(checked)
	if err != nil {
		p.t.Fatal(err)
	}
	value, _, err := program.Eval(input)
	return value, err
}

// looksAt is whether all match conditions hold.
func (p policy) looksAt(input map[string]any) bool {
	p.t.Helper()
	for _, condition := range p.spec.MatchConditions {
		if strings.Contains(condition.Expression, "variables.") {
			p.t.Fatalf("the API server has no variables in the match condition %s", condition.Name)
		}
		holds, err := p.ask(condition.Expression, input)
		if err != nil {
			p.t.Fatalf("%s: %v", condition.Name, err)
		}
		if holds.Value() != true {
			return false
		}
	}
	return true
}

// refusal is what the policy says of an object; empty: it accepts it.
func (p policy) refusal(input map[string]any) string {
	p.t.Helper()
	if !p.looksAt(input) {
		return ""
	}
	for _, one := range p.spec.Validations {
		if holds, err := p.ask(one.Expression, input); err != nil {
			p.t.Fatalf("%s: %v", one.Message, err)
		} else if holds.Value() != true {
			text, err := p.ask(one.MessageExpression, input)
			if err != nil {
				p.t.Fatal(err)
			}
			return fmt.Sprint(text.Value())
		}
	}
	return ""
}

// carrying is the request that creates an object of this resource with these entries of its config.
func carrying(t *testing.T, resource, configs string) map[string]any {
	t.Helper()
	spec := map[string]string{"resourceclaims": "devices: {config: " + configs + "}",
		"resourceclaimtemplates": "spec: {devices: {config: " + configs + "}}", "deviceclasses": "config: " + configs}[resource]
	var object map[string]any
	if err := yaml.Unmarshal([]byte("{metadata: {name: a}, spec: {"+spec+"}}"), &object); err != nil {
		t.Fatal(err)
	}
	whole(object)
	return map[string]any{"object": object, "oldObject": nil, "request": map[string]any{"resource": map[string]any{"resource": resource}}}
}

// whole turns numbers without a fraction into integers, as the API server's decoder does.
func whole(value any) {
	switch one := value.(type) {
	case map[string]any:
		for key, below := range one {
			if number, is := below.(float64); is && number == float64(int64(number)) {
				one[key] = int64(number)
			}
			whole(below)
		}
	case []any:
		for _, below := range one {
			whole(below)
		}
	}
}

var configResources = []string{"resourceclaims", "resourceclaimtemplates", "deviceclasses"}

// TestConfigPolicy: the policy judges the configurations of the driver's own API groups, and never looks at an object that has
// none; with foreignConfigs it judges all that are for the driver.
func TestConfigPolicy(t *testing.T) {
	const own, other = "{opaque: {driver: neuron.aws.com, parameters: %s}}", "{opaque: {driver: gpu.example.com, parameters: %s}}"
	const head = "{apiVersion: neuron.aws.com/v1, kind: "
	usual, strict := newPolicy(t), newPolicy(t, "--set", "draDriver.admission.foreignConfigs=true")
	for _, one := range []struct {
		configs        string
		looked         bool
		refused, grave string // by default, and with foreignConfigs
	}{
		{"[]", false, "", ""},
		{fmt.Sprintf(own, head+"NeuronConfig, logicalNeuronCore: 2}"), true, "", ""},
		{fmt.Sprintf(own, "{apiVersion: resource.neuron.aws.com/v1alphav1, kind: UltraServerConfig, ultraserverMode: 4}"), true, "", ""},
		{fmt.Sprintf(own, head+"NeuronConfig, logicalNeuronCoreCount: 1}"), true, `unknown field "logicalNeuronCoreCount"`, ""},
		{fmt.Sprintf(own, head+"NeuronConfig, logicalNeuronCore: 3}"), true, "logicalNeuronCore: Unsupported value: 3", ""},
		{fmt.Sprintf(own, "{apiVersion: neuron.aws.com/v2, kind: NeuronConfig, logicalNeuronCore: 1}"), true, `for version "neuron.aws.com/v2"`, ""},
		{fmt.Sprintf(own, "{apiVersion: neuron.aws.com, kind: NeuronConfig, logicalNeuronCore: 1}"), true, `for version "neuron.aws.com"`, ""},
		{fmt.Sprintf(own, "{kind: NeuronConfig, logicalNeuronCore: 1}"), false, "", `for version ""`},
		{fmt.Sprintf(own, "{apiVersion: neuron.aws.com.example.org/v1, kind: Other, any: 1}"), false, "", `no kind "Other"`},
		{fmt.Sprintf(own, "{apiVersion: 1, kind: {a: b}}"), false, "", "-"},
		{fmt.Sprintf(other, head+"NeuronConfig, misspelt: 1}"), false, "", ""},
		{fmt.Sprintf(other, "{}"), false, "", ""},
		{"{future: {a: b}}", false, "", ""},
		{fmt.Sprintf(other, "{apiVersion: {a: b}}") + ", " + fmt.Sprintf(own, head+"NeuronConfig}"), true, "Required value", ""},
	} {
		for _, resource := range configResources {
			list := "[" + one.configs + "]"
			if one.configs == "[]" {
				list = one.configs
			}
			if looked := usual.looksAt(carrying(t, resource, list)); looked != one.looked {
				t.Errorf("%s, %s: looked at %t, want %t", resource, list, looked, one.looked)
			}
			if got := usual.refusal(carrying(t, resource, list)); (got == "") != (one.refused == "") || !strings.Contains(got, one.refused) {
				t.Errorf("%s, %s: %q, want %q", resource, list, got, one.refused)
			}
			if one.grave == "-" {
				continue
			}
			want := one.refused + one.grave
			if got := strict.refusal(carrying(t, resource, list)); (got == "") != (want == "") || !strings.Contains(got, want) {
				t.Errorf("foreignConfigs: %s, %s: %q, want %q", resource, list, got, want)
			}
		}
	}
	// What lies in the API server can be written again; a claim without devices has no configuration.
	again := carrying(t, "deviceclasses", "["+fmt.Sprintf(own, head+"NeuronConfig}")+"]")
	again["oldObject"] = again["object"]
	empty := map[string]any{"object": map[string]any{"spec": map[string]any{}}, "oldObject": nil,
		"request": map[string]any{"resource": map[string]any{"resource": "resourceclaims"}}}
	if usual.looksAt(again) || usual.looksAt(empty) {
		t.Error("an unchanged object, or one without devices, is looked at")
	}
}
