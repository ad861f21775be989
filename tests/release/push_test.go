// SPDX-License-Identifier: Apache-2.0

package release

import (
	"io"
	"log"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
)

// TestPushChart types what release.md says for the chart, with a registry on this machine, from which helm then takes it.
func TestPushChart(t *testing.T) {
	folder, helm := release(t), os.Getenv("HELM")
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	line := regexp.MustCompile(`(?m)^helm push .*$`).FindString(blocks(t, "Push"))
	if line == "" || helm == "" {
		t.Fatalf("release.md has no command for the chart, or HELM names no helm: %q", helm)
	}
	line = strings.Replace(strings.Replace(line, "helm", helm, 1), "REGISTRY", host, 1) + " --plain-http"
	if _, err := run(folder, nil, "sh", "-c", line); err != nil {
		t.Fatal(err)
	}
	out, err := run(folder, nil, helm, "show", "chart", "oci://"+host+"/charts/"+name, "--version", version, "--plain-http")
	if err != nil || !strings.Contains(out, "\nversion: "+version+"\n") {
		t.Errorf("%v\n%s", err, out)
	}
}
