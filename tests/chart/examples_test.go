// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"io/fs"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// exampleImage is the one image of all examples but one, which needs kubectl.
const (
	exampleImage = "public.ecr.aws/docker/library/busybox:1.37.0"
	kubectlImage = "docker.io/alpine/kubectl:1.36.0"
	kubectlFile  = "node-labels.yaml"
)

// exampleFiles are the manifests below cfg/deploy/examples, by their path there.
func exampleFiles(t *testing.T) map[string]string {
	t.Helper()
	files, top := map[string]string{}, filepath.Join(root, "cfg", "deploy", "examples")
	err := filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".yaml") {
			return err
		}
		inside, err := filepath.Rel(top, path)
		files[inside] = read(t, "cfg", "deploy", "examples", inside)
		return err
	})
	if err != nil || len(files) < 40 {
		t.Fatalf("%d examples, %v: the test is looking in the wrong place", len(files), err)
	}
	return files
}

// within calls look with each object of a YAML document, the innermost last.
func within(node any, look func(map[string]any)) {
	switch node := node.(type) {
	case map[string]any:
		look(node)
		for _, child := range node {
			within(child, look)
		}
	case []any:
		for _, child := range node {
			within(child, look)
		}
	}
}

// rules are what readers may rely on in every example; they report what they find by fail.
type rules struct {
	fail                     func(format string, args ...any)
	places                   map[string]string // file of a kind and name
	templates, wanted        map[string]string // file of a template, and of a pod that names it
	containers, pods, config int
}

func newRules(fail func(format string, args ...any)) *rules {
	return &rules{fail: fail, places: map[string]string{}, templates: map[string]string{}, wanted: map[string]string{}}
}

// podSpec looks at what a pod, a job or a set makes pods of.
func (r *rules) podSpec(file string, object map[string]any) {
	text, err := yaml.Marshal(object)
	var spec core.PodSpec
	if err == nil {
		err = yaml.UnmarshalStrict(text, &spec)
	}
	if err != nil {
		r.fail("%s: %v", file, err)
		return
	}
	r.pods++
	tolerates := false
	for _, one := range spec.Tolerations {
		tolerates = tolerates || one.Key == "aws.amazon.com/neuron" && one.Operator == core.TolerationOpExists
	}
	if !tolerates {
		r.fail("%s: a pod does not tolerate aws.amazon.com/neuron", file)
	}
	for _, container := range append(spec.InitContainers, spec.Containers...) {
		r.containers++
		image := exampleImage
		if file == kubectlFile {
			image = kubectlImage
		}
		if container.Image != image {
			r.fail("%s: container %s has the image %s, not %s", file, container.Name, container.Image, image)
		}
	}
	for _, claim := range spec.ResourceClaims {
		if claim.ResourceClaimTemplateName != nil {
			r.wanted[*claim.ResourceClaimTemplateName] = file
		}
	}
}

// opaque looks at a configuration for the driver.
func (r *rules) opaque(file string, object map[string]any) {
	if object["driver"] != "neuron.aws.com" || object["parameters"] == nil {
		return
	}
	r.config++
	parameters, is := object["parameters"].(map[string]any)
	if !is || parameters["apiVersion"] != "neuron.aws.com/v1" {
		r.fail("%s: a configuration is not one of neuron.aws.com/v1: %v", file, object["parameters"])
	}
}

// read takes a file into account.
func (r *rules) read(file, text string) {
	for _, document := range regexp.MustCompile(`(?m)^---$`).Split(text, -1) {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			r.fail("%s: %v", file, err)
			continue
		}
		if about, is := object["metadata"].(map[string]any); is {
			name, _ := about["name"].(string)
			kind, _ := object["kind"].(string)
			if other := r.places[kind+" "+name]; other != "" {
				r.fail("%s and %s both have the %s %s", other, file, kind, name)
			}
			r.places[kind+" "+name] = file
			if kind == "ResourceClaimTemplate" {
				r.templates[name] = file
			}
		}
		within(object, func(object map[string]any) {
			if _, is := object["containers"].([]any); is {
				r.podSpec(file, object)
			}
			r.opaque(file, object)
		})
	}
}

// finish looks at what several files say together.
func (r *rules) finish() {
	for name, file := range r.wanted {
		if r.templates[name] == "" {
			r.fail("%s: no example has the template %s", file, name)
		}
	}
}

// TestExamples holds the rules of cfg/deploy/examples/README.md over all examples.
func TestExamples(t *testing.T) {
	r, about := newRules(t.Errorf), read(t, "cfg", "deploy", "examples", "README.md")
	for file, text := range exampleFiles(t) {
		r.read(file, text)
		name := strings.TrimSuffix(file, ".yaml")
		if !strings.Contains(about, "`"+name+"`") && !strings.Contains(about, "`"+filepath.Dir(file)+"/`") {
			t.Errorf("README.md of the examples does not name %s", file)
		}
	}
	r.finish()
	if r.pods < 40 || r.containers < r.pods || r.config < 9 {
		t.Errorf("%d pods, %d containers, %d configurations: some were not found", r.pods, r.containers, r.config)
	}
}

// TestExampleRules: each rule finds what breaks it.
func TestExampleRules(t *testing.T) {
	good := read(t, "cfg", "deploy", "examples", "lnc-config.yaml")
	for what, change := range map[string][2]string{
		"an image without a tag":       {exampleImage, "busybox"},
		"another image":                {exampleImage, "public.ecr.aws/docker/library/busybox:1.36.1"},
		"no toleration":                {"key: aws.amazon.com/neuron", "key: other"},
		"a beta version":               {"neuron.aws.com/v1\n", "neuron.aws.com/v1alphav1\n"},
		"an older beta version":        {"apiVersion: neuron.aws.com/v1\n", "apiVersion: resource.neuron.aws.com/v1alphav1\n"},
		"a template that is not there": {"resourceClaimTemplateName: neurons-lnc-1", "resourceClaimTemplateName: other"},
		"a field that a pod has not":   {"    command:", "    comand:"},
		"the same pod in another file": {"", ""},
		"no mistake, so no report":     {"lnc-test", "lnc-other"},
	} {
		var said []string
		r := newRules(func(format string, args ...any) { said = append(said, format) })
		changed := good
		if change[0] != "" {
			if changed = strings.Replace(good, change[0], change[1], 1); changed == good {
				t.Fatalf("%s: the example has no %q", what, change[0])
			}
		} else {
			r.read("first.yaml", good[strings.Index(good, "\n---\n")+5:])
		}
		r.read("lnc-config.yaml", changed)
		r.finish()
		if wrong := !strings.HasPrefix(what, "no mistake"); wrong != (len(said) == 1) {
			t.Errorf("%s: %d findings: %q", what, len(said), said)
		}
	}
}

// TestAnotherImage runs what README.md of the examples says for another image over each example.
func TestAnotherImage(t *testing.T) {
	found := regexp.MustCompile("`(sed 's#[^`]*) FILE \\| kubectl apply -f -`").FindStringSubmatch(
		read(t, "cfg", "deploy", "examples", "README.md"))
	if found == nil {
		t.Fatal("README.md of the examples has no command for another image")
	}
	const other = "registry.example.com/other:v1"
	script := strings.Replace(found[1], "REGISTRY/IMAGE:TAG", other, 1)
	for file, text := range exampleFiles(t) {
		command := exec.Command("sh", "-c", script)
		command.Stdin = strings.NewReader(text)
		out, err := command.Output()
		if err != nil {
			t.Fatalf("%s: %v", script, err)
		}
		if want := strings.ReplaceAll(text, exampleImage, other); string(out) != want {
			t.Errorf("%s: `%s` makes of it\n%s", file, script, out)
		}
	}
}
