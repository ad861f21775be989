// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

type outcome struct {
	code           int
	stdout, stderr string
}

// run runs the binary to its end, which must come soon.
func run(t testing.TB, env []string, args ...string) outcome {
	t.Helper()
	return runLine(t, env, append([]string{agentBinary}, args...)...)
}

// runLine is the same for a program that executes the binary in its own process.
func runLine(t testing.TB, env []string, line ...string) outcome {
	t.Helper()
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env = env
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	check(t, cmd.Start())
	timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// runOnce runs an agent that must refuse to start.
func runOnce(t testing.TB, a *agent, change func(args []string) []string) outcome {
	t.Helper()
	args := a.commandLine()
	if change != nil {
		args = change(args)
	}
	return run(t, a.env, args...)
}

func TestUsage(t *testing.T) {
	t.Parallel()
	a := withoutServer(t, "trn2.48xlarge", closedPort(t))
	good := a.commandLine()
	with := func(more ...string) []string { return append(append([]string{}, good...), more...) }
	kubeconfig := func(name, text string) []string {
		return with("--kubeconfig", writeFile(t, filepath.Join(a.dir, name), text))
	}
	text := string(must(os.ReadFile(filepath.Join(a.dir, "kubeconfig"))))
	swap := func(name, old, new string) []string {
		if !strings.Contains(text, old) {
			t.Fatalf("kubeconfig lacks %q", old)
		}
		return kubeconfig(name, strings.Replace(text, old, new, 1))
	}
	long := "/tmp/" + strings.Repeat("d", 100)
	token := "token: " + goodToken
	cases := []struct {
		name  string
		code  int
		args  []string
		words []string
	}{
		{"unknown flag", 2, with("--nodename", "x"), []string{`"--nodename" (did you mean --node-name?)`}},
		{"unknown short flag", 2, with("-x"), []string{"-x"}},
		{"unknown command", 2, []string{"serve"}, []string{"serve"}},
		{"misspelt command", 2, []string{"device"}, []string{`"device" (did you mean devices?)`}},
		{"verbosity without value", 2, with("-v"), []string{"-v needs a value"}},
		{"bad verbosity", 2, with("-v=info"), []string{"-v", "info", "number"}},
		{"flag without value", 2, with("--cdi-root"), []string{"--cdi-root", "needs a value"}},
		{"no node name", 2, good[2:], []string{"--node-name", "NODE_NAME"}},
		{"bad node name", 2, with("--node-name", "UPPER_case"), []string{"--node-name", "UPPER_case"}},
		{"relative path", 2, with("--cdi-root", "relative"), []string{"--cdi-root", "relative"}},
		{"empty path", 2, with("--cdi-root="), []string{"--cdi-root"}},
		{"bad port", 2, with("--healthcheck-port", "65536"), []string{"--healthcheck-port", "65536"}},
		{"port text", 2, with("--metrics-port", "http"), []string{"--metrics-port", "http"}},
		{"bad bool", 2, with("--claim-status=maybe"), []string{"--claim-status", "maybe"}},
		{"bad duration", 2, with("--reconcile-interval", "10"), []string{"--reconcile-interval", "10"}},
		{"short duration", 2, with("--reconcile-interval", "10ms"), []string{"--reconcile-interval", "10ms"}},
		{"bad choice", 2, with("--device-numbering", "one"), []string{"--device-numbering", "one", "host", "zero"}},
		{"bad taint", 2, with("--unhealthy-taint", "x:Never"), []string{"--unhealthy-taint", "x:Never"}},
		{"bad log level", 2, with("--log-level", "loud"), []string{"--log-level", "loud"}},
		{"bad pod UID", 2, with("--pod-uid", "a/b"), []string{"--pod-uid"}},
		{"long registration path", 2, with("--kubelet-registrar-directory-path", long), []string{"107", "--kubelet-registrar-directory-path"}},
		{"long service path", 2, with("--kubelet-plugins-directory-path", long), []string{"107", "--kubelet-plugins-directory-path"}},
		{"kubeconfig is no YAML", 1, kubeconfig("k2", "\x00\x01\x02"), []string{"k2"}},
		{"flow style not closed", 1, swap("k3", "user:\n    "+token, "user: {token: x"), []string{"k3", "line"}},
		{"alias", 1, swap("k16", token, "token: *secret"), []string{"k16", "line"}},
		{"no current context", 1, swap("k4", "current-context: local\n", ""), []string{"current-context"}},
		{"unknown context", 1, swap("k5", "current-context: local", "current-context: other"), []string{"other"}},
		{"unknown user", 1, swap("k6", "user: agent", "user: nobody"), []string{"nobody"}},
		{"exec", 1, swap("k7", token, "exec:\n      command: aws"), []string{"exec"}},
		{"plain http", 1, swap("k8", "https://", "http://"), []string{"https"}},
		{"insecure", 1, swap("k9", "certificate-authority: "+a.dir+"/ca.crt", "insecure-skip-tls-verify: true"), []string{"insecure-skip-tls-verify"}},
		{"no CA", 1, swap("k10", "certificate-authority: "+a.dir+"/ca.crt", "proxy-url: http://p"), []string{"proxy-url"}},
		{"key without certificate", 1, swap("k14", token, "client-key: "+a.dir+"/ca.crt"), []string{"client key", "line"}},
		{"bad base64", 1, swap("k15", token, "client-certificate-data: '***'\n    client-key-data: '***'"), []string{"client-certificate-data", "base64"}},
		{"not in a cluster", 1, without(good, "--kubeconfig"), []string{"KUBERNETES_SERVICE_HOST", "--kubeconfig"}},
		{"plugins directory below a file", 1, with("--kubelet-plugins-directory-path", a.dir+"/kubeconfig/p"), []string{"--kubelet-plugins-directory-path", "kubeconfig/p"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := run(t, nil, c.args...)
			if got.code != c.code {
				t.Errorf("exit code %d, want %d", got.code, c.code)
			}
			lines := strings.Split(strings.TrimSuffix(got.stderr, "\n"), "\n")
			if len(lines) != 1 || got.stdout != "" {
				t.Errorf("%d lines on stderr, stdout %q:\n%s", len(lines), got.stdout, got.stderr)
			}
			contains(t, lines[len(lines)-1], c.words...)
			checkErrorText(t, lines[len(lines)-1])
		})
	}
}

func without(args []string, flag string) (rest []string) {
	for i := 0; i < len(args); i++ {
		if args[i] == flag {
			i++
			continue
		}
		rest = append(rest, args[i])
	}
	return rest
}

func TestHelpAndVersion(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"--version", "version", "--help", "help"} {
		got := run(t, nil, word)
		if got.code != 0 || got.stderr != "" || got.stdout == "" {
			t.Errorf("%s: %+v", word, got)
		}
	}
	help := run(t, nil, "--help").stdout
	for _, flag := range []string{"--node-name", "--kubeconfig", "--cdi-root", "--kubelet-registrar-directory-path",
		"--kubelet-plugins-directory-path", "--pod-uid", "--healthcheck-port", "--metrics-port", "--sysfs-root", "--proc-root",
		"--dev-root", "--instance-type", "--device-numbering", "--ultraserver-devices", "--unhealthy-taint", "--claim-status",
		"--reconcile-interval", "--health-interval", "--log-format", "--log-level", "--kubelet-device-plugins-directory-path"} {
		variable := strings.ReplaceAll(strings.ToUpper(strings.TrimPrefix(flag, "--")), "-", "_")
		contains(t, help, flag, variable)
	}
}

// Variables count where flags are silent; flags win.
func TestVariables(t *testing.T) {
	t.Parallel()
	api := startAPIServer(t)
	a := newAgent(t, "trn2.48xlarge")
	a.args = []string{"--instance-type", "trn2.48xlarge"}
	a.env = []string{"KUBECONFIG=" + api.kubeconfig(a.dir), "INSTANCE_TYPE=trn1.2xlarge", "LOG_FORMAT=json", "POD_UID="}
	a.start()
	a.register()
	slice := api.published()
	if v := slice.Spec.Devices[0].Attributes["instanceType"].StringValue; v == nil || *v != "trn2.48xlarge" {
		t.Errorf("instance type %v", v)
	}
	a.waitLog(0, `"event":"slice_published"`)
}

// With a pod's UID two agents of one node have sockets of their own.
func TestPodUID(t *testing.T) {
	t.Parallel()
	a := withoutServer(t, "trn2.48xlarge", closedPort(t))
	pod := string(uid("pod"))
	a.args = append(a.args, "--pod-uid", pod)
	a.start()
	path := filepath.Join(a.dir, "r", driverName+"-"+pod+"-reg.sock")
	info := getInfo(t, dialRegistration(t, path))
	if info.Endpoint != filepath.Join(a.pluginDir(), "dra-"+pod+".sock") {
		t.Errorf("endpoint %s", info.Endpoint)
	}
	(&kubelet{t: t, conn: dialService(t, info.Endpoint)}).unprepareOK(named(newClaim("x")))
}

// The man page is well formed, has each command, flag and variable of the help, and is the same each time.
func TestManPage(t *testing.T) {
	t.Parallel()
	var pages [2][]byte
	for i := range pages {
		path := filepath.Join(t.TempDir(), "neuron-dra-agent.1")
		if out, err := exec.Command("/usr/bin/python3", "../../tools/docs/man.py", "--binary", agentBinary, "--output", path).CombinedOutput(); err != nil {
			t.Fatalf("man.py: %v\n%s", err, out)
		}
		if out, err := exec.Command("mandoc", "-T", "lint", "-W", "warning", path).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("mandoc: %v\n%s", err, out)
		}
		pages[i] = must(os.ReadFile(path))
		// as a terminal shows it, without bold and underlined
		shown := regexp.MustCompile(`.\x08`).ReplaceAllString(string(must(exec.Command("mandoc", "-O", "width=1000", path).Output())), "")
		help := run(t, nil, "--help").stdout
		words := regexp.MustCompile(`(?m)^  --[\w-]+|^  \w+|variable [A-Z_]+`).FindAllString(help, -1)
		if len(words) < 80 {
			t.Fatalf("the help has %d commands, flags and variables", len(words))
		}
		for _, word := range words {
			if word = strings.TrimPrefix(strings.TrimSpace(word), "variable "); !strings.Contains(shown, "     "+word) {
				t.Errorf("the page lacks %s", word)
			}
		}
	}
	if !bytes.Equal(pages[0], pages[1]) {
		t.Error("two pages differ")
	}
}
