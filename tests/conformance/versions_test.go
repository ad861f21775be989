// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/version"
)

// versionIs waits until the one slice says by which version each of its devices was published, and that the API server has
// the devices of one release alone.
func versionIs(t testing.TB, api *apiServer, want string) {
	t.Helper()
	waitFor(t, "devices of version "+want, func() bool {
		own := api.own()
		if len(own) != 1 || len(own[0].Spec.Devices) != 16 {
			return false
		}
		for _, device := range own[0].Spec.Devices {
			if is := device.Attributes["draDriverVersion"].VersionValue; is == nil || *is != want {
				return false
			}
		}
		return true
	})
}

// An upgrade from the first release and the way back: the slice says the version of the agent that runs, so that a selector like
// draDriverVersion.compareTo(semver('1.0.0')) >= 0 finds the newer one alone, and a claim stays as it is.
func TestVersions(t *testing.T) {
	t.Parallel()
	if !exists(olderBinary) {
		skipped.add(t.Name(), "the older release is not built: make older")
		t.Skip("the older release is not built: make older")
	}
	older := strings.Fields(string(must(exec.Command(olderBinary, "--version").Output())))[1]
	asked := version.MustParseSemantic("1.0.0")
	if version.MustParseSemantic(older).AtLeast(asked) || version.MustParseSemantic(agentVersion()).LessThan(asked) {
		t.Fatalf("the older release has the version %s, this one %s: a selector for %s does not tell them apart", older, agentVersion(), asked)
	}
	api := startAPIServer(t)
	a := newAgent(t, "trn2.48xlarge")
	a.args = append(a.args, "--kubeconfig", api.kubeconfig(a.dir))
	line := append([]string{olderBinary}, a.commandLine()...)
	at := slices.Index(line, "--neuron-config-directory-path")
	line = slices.Delete(line, at, at+2)

	a.launch(line...)
	neuron := a.register()
	versionIs(t, api, older)
	name := api.own()[0].Name
	claim := api.addClaim(newClaim("kept", "neurons=3"))
	neuron.prepareOK(named(claim))
	held := a.cdiBytes(claim)
	for i, step := range []struct {
		want  string
		start func()
	}{
		{agentVersion(), a.start},
		{older, func() { a.launch(line...) }},
		{agentVersion(), a.start},
	} {
		a.kill()
		step.start()
		neuron = a.register()
		versionIs(t, api, step.want)
		if now := api.own()[0].Name; now != name {
			t.Errorf("step %d: the slice %s was replaced by %s", i, name, now)
		}
		neuron.prepareOK(named(claim))
		if now := a.cdiBytes(claim); now != held {
			t.Errorf("step %d: the claim's file was\n%s\nand is\n%s", i, held, now)
		}
		other := api.addClaim(newClaim("other", "neurons=3"))
		contains(t, neuron.prepareError(named(other)), "neuron-device-3 is already held by claim default/kept")
		api.removeClaim(other)
	}
	neuron.unprepareOK(named(claim))
	a.noCDI()
}
