// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// storePath is where the claim store of the node is.
func (a *agent) storePath() string {
	return filepath.Join(a.dir, "p", "neuron.aws.com", "claims.store")
}

// strangeStores are what may have the name of a claim store, each with the words of the commands about it.
var strangeStores = map[string]struct {
	make  func(path string) error
	words string
}{
	"a directory": {func(path string) error { return os.Mkdir(path, 0o700) },
		"is not a plain file; move away what has its name: an agent that starts makes the store again"},
	"a FIFO": {func(path string) error { return syscall.Mkfifo(path, 0o600) }, "is not a plain file; move away what has its name"},
	"a link": {func(path string) error { return os.Symlink("/dev/null", path) },
		"cannot be read; check that it is a file, and the disk"},
	"an empty file":    {func(path string) error { return os.WriteFile(path, nil, 0o600) }, "is damaged; an agent that starts repairs it"},
	"a file of a text": {func(path string) error { return os.WriteFile(path, bytes.Repeat([]byte("text"), 4096), 0o600) }, "is damaged; an agent that starts repairs it"},
	"another format": {func(path string) error {
		header := binary.BigEndian.AppendUint32([]byte("NEURDRA1"), 2)
		header = append(header, make([]byte, 20)...)
		sum := crc32.Checksum(header, crc32.MakeTable(crc32.Castagnoli))
		return os.WriteFile(path, binary.BigEndian.AppendUint32(header, sum), 0o600)
	}, "has another format; use the commands of the agent that wrote it"},
}

// A store that cannot be used is named with what helps: an empty list would say that nothing is held.
func TestStrangeStores(t *testing.T) {
	t.Parallel()
	a, port := newAgent(t, "trn2.48xlarge"), closedPort(t)
	check(t, os.MkdirAll(filepath.Dir(a.storePath()), 0o750))
	for name, store := range strangeStores {
		check(t, os.RemoveAll(a.storePath()))
		check(t, store.make(a.storePath()))
		for _, words := range [][]string{{"claims"}, {"claims", "-o", "json"}, {"release", "5b2f0c1e-7d3a-4e8f-9a60-0d3c2b1a4f5e"}} {
			got := a.command(port, words...)
			if got.code != 1 || got.stdout != "" || strings.Count(got.stderr, "\n") != 1 || !strings.Contains(got.stderr, a.storePath()+" "+store.words) {
				t.Errorf("%s: %v: %+v", name, words, got)
			}
		}
		got := a.command(port, "devices") // what the node has is shown all the same, and nothing as free
		if got.code != 1 || !strings.Contains(got.stderr, a.storePath()+" "+store.words) || !strings.Contains(got.stdout, "neuron-device-15  8      unknown  ? ") ||
			!strings.Contains(got.stdout, "16 devices, at least 0 held") {
			t.Errorf("%s: devices: %+v", name, got)
		}
		got = a.command(port, "check")
		if got.code != 1 || !strings.Contains(got.stdout, a.storePath()+" "+store.words) {
			t.Errorf("%s: check: %+v", name, got)
		}
	}
}

// A store of which only the header is left lists each of its slots as damaged.
func TestDamagedSlots(t *testing.T) {
	t.Parallel()
	a := newAgent(t, "trn2.48xlarge")
	check(t, os.MkdirAll(filepath.Dir(a.storePath()), 0o750))
	header := []byte("NEURDRA1")
	for _, number := range []uint32{1, 256, 8192, 0, 0, 1} { // format, slots, bytes of half a slot, flags, generation
		header = binary.BigEndian.AppendUint32(header, number)
	}
	sum := crc32.Checksum(header, crc32.MakeTable(crc32.Castagnoli))
	check(t, os.WriteFile(a.storePath(), binary.BigEndian.AppendUint32(header, sum), 0o600))
	text := a.commandOK(closedPort(t), "claims")
	const line = " of neuron.aws.com is damaged; an agent that starts repairs the store\n"
	if strings.Count(text, line) != 256 || !strings.HasPrefix(text, "slot 0"+line) || strings.Contains(text, "No claims") {
		t.Errorf("%s", text)
	}
	text = a.commandOK(closedPort(t), "claims", "-o", "yaml")
	contains(t, text, "driver: neuron.aws.com", "damagedSlot: 255")
}

// A directory of CDI files that check cannot read, and a page without its reason, are findings of their own.
func TestCheckOfOddAnswers(t *testing.T) {
	t.Parallel()
	a := newAgent(t, "trn2.48xlarge")
	check(t, os.Remove(a.cdiDir()))
	check(t, os.Symlink(filepath.Base(a.cdiDir()), a.cdiDir()))
	s := startPages(t, func(_ string, _ int, w io.Writer) { chunks(w, "503 Service Unavailable", true) })
	got := a.command(s.address, "check")
	if got.code != 1 {
		t.Errorf("exit code %d", got.code)
	}
	contains(t, got.stdout,
		"CDI root "+a.cdiDir()+": too many symbolic links; claims recorded only in CDI files may hold devices\n",
		"the response of /readyz has no reason, but the status 503; check that --metrics-port is the agent's\n")
}

// To a user who may not read the store, claims reports the file and the remedy.
func TestStoreOfAnotherUser(t *testing.T) {
	t.Parallel()
	a := newAgent(t, "trn2.48xlarge")
	check(t, os.MkdirAll(filepath.Dir(a.storePath()), 0o755))
	check(t, os.WriteFile(a.storePath(), nil, 0))
	program := filepath.Join(t.TempDir(), "agent")
	check(t, os.WriteFile(program, must(os.ReadFile(agentBinary)), 0o755))
	cmd := exec.Command(program, append([]string{"claims"}, a.commandLine()...)...)
	if os.Getuid() == 0 {
		for dir := range parents(program, a.storePath()) {
			check(t, os.Chmod(dir, must(os.Stat(dir)).Mode().Perm()|0o005))
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	_ = cmd.Run()
	failsOnce(t, outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()},
		a.storePath()+" may not be read; run this as root on the node, or in the agent's pod")
}

// parents are the directories above the paths that the tests made, or the system's temporary one.
func parents(paths ...string) map[string]bool {
	found := map[string]bool{}
	for _, path := range paths {
		for dir := filepath.Dir(path); dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
			found[dir] = true
		}
	}
	return found
}

// What the bundle cannot copy of sysfs leaves a line with the reason in sysfs.txt, and the rest follows.
func TestBundleOfOddSysfs(t *testing.T) {
	t.Parallel()
	a := newAgent(t, "trn2.48xlarge")
	sys := filepath.Join(a.node, "sys")
	device := must(filepath.EvalSymlinks(filepath.Join(sys, "class/neuron_device/neuron0")))
	inDevice := func(name string) string { return filepath.Join(device, name) }
	deep := filepath.Join(strings.Split(strings.Repeat("d/", 12), "/")...)
	check(t, os.MkdirAll(inDevice(deep), 0o755))
	long := strings.Repeat("n", 250)
	check(t, os.MkdirAll(inDevice(filepath.Join("l", long, long, long, long)), 0o755))
	check(t, os.WriteFile(inDevice("Board_UUID"), []byte("secret-of-the-board"), 0o444))
	check(t, os.WriteFile(inDevice("write_only"), []byte("x"), 0o200))
	check(t, syscall.Mkfifo(inDevice("a_fifo"), 0o644))
	check(t, os.Symlink("no\\where", inDevice("a_link")))
	check(t, os.WriteFile(inDevice("odd name\xff"), []byte("a\\b\x00\xe2\x82\xac"), 0o444))
	version := filepath.Join(sys, "module/neuron/version")
	check(t, os.Remove(version))
	check(t, os.Mkdir(version, 0o755))
	efa := filepath.Join(sys, "bus/pci/drivers/efa")
	check(t, os.RemoveAll(efa))
	check(t, os.Symlink("efa", efa))

	dir := t.TempDir()
	_, lines := a.bundle(closedPort(t), dir)
	if lines["sysfs.txt"] != "wrote" {
		t.Errorf("sysfs.txt: %s", lines["sysfs.txt"])
	}
	text := string(must(os.ReadFile(filepath.Join(dir, "sysfs.txt"))))
	const of = "class/neuron_device/neuron0/"
	contains(t, text,
		"! module/neuron/version is a directory\n",
		"! bus/pci/drivers/efa too many symbolic links\n",
		"d/d/d/d/d left out, because it is too deep\n",
		"a path below it is too long\n",
		"! "+of+"Board_UUID left out, because it identifies the device\n",
		"! "+of+"write_only not readable\n",
		"! "+of+"a_fifo not readable\n",
		"l "+of+"a_link no\\x5cwhere\n",
		"f "+of+"odd\\x20name\\xff a\\x5cb\\x00\\xe2\\x82\\xac\n",
		"f class/neuron_device/neuron15/core_count ")
	if strings.Contains(text, "secret-of-the-board") || strings.Contains(text, "d/d/d/d/d/d/d/d/d") {
		t.Error("sysfs.txt has what it must not have")
	}

	// A node without the class has a bundle too.
	check(t, os.RemoveAll(filepath.Join(sys, "class/neuron_device")))
	dir = t.TempDir()
	a.bundle(closedPort(t), dir)
	contains(t, string(must(os.ReadFile(filepath.Join(dir, "sysfs.txt")))), "! class/neuron_device no such file or directory\n")
}

// A tree of sysfs that has no end is copied in part, and the last line says so.
func TestBundleOfEndlessSysfs(t *testing.T) {
	t.Parallel()
	a := newAgent(t, "trn2.48xlarge")
	value := bytes.Repeat([]byte{0xff}, 4096) // four characters each
	folder := filepath.Join(a.node, "sys/class/neuron_device/neuron0/endless")
	check(t, os.Mkdir(folder, 0o755))
	for i := range 600 {
		check(t, os.WriteFile(filepath.Join(folder, strings.Repeat("f", i%200+1)+string(rune('a'+i/200))), value, 0o444))
	}
	dir := t.TempDir()
	_, lines := a.bundle(closedPort(t), dir)
	text := string(must(os.ReadFile(filepath.Join(dir, "sysfs.txt"))))
	if lines["sysfs.txt"] != "wrote" || !strings.HasSuffix(text, "! class/neuron_device the copy ends here: it is too long, or took too long\n") {
		t.Errorf("%s, %d bytes", lines["sysfs.txt"], len(text))
	}
	if most := 8<<20 + 5*4096; len(text) < 8<<20 || len(text) > most {
		t.Errorf("%d bytes, at most %d", len(text), most)
	}
}

// Files that a bundle cannot copy each have a line; no other file is missing for them.
func TestBundleOfOddFiles(t *testing.T) {
	t.Parallel()
	a, port := newAgent(t, "trn2.48xlarge"), closedPort(t)
	named := func(uid string) string { return filepath.Join(a.cdiDir(), "neuron.aws.com-claim_"+uid+".json") }
	check(t, os.Symlink("/etc/passwd", named("link")))
	check(t, os.Mkdir(named("directory"), 0o755))
	check(t, syscall.Mkfifo(named("fifo"), 0o644))
	check(t, os.WriteFile(named("plain"), []byte("{}"), 0o644))
	check(t, os.WriteFile(named("huge"), nil, 0o644))
	check(t, os.Truncate(named("huge"), 8<<20+4096))
	check(t, os.WriteFile(filepath.Join(a.cdiDir(), "other.json"), nil, 0o644))
	dir := t.TempDir()
	got, lines := a.bundle(port, dir)
	for uid, want := range map[string]string{
		"link": "missing " + named("link") + " cannot be read: too many symbolic links", "directory": "missing " + named("directory") + " cannot be read: is a directory",
		"huge": "missing " + named("huge") + " cannot be read: file too large", "plain": "wrote", "fifo": "wrote",
	} {
		name := filepath.Base(named(uid))
		_, err := os.Stat(filepath.Join(dir, name))
		if lines[name] != want || (want == "wrote") != (err == nil) {
			t.Errorf("%s: %q, want %q; %v", uid, lines[name], want, err)
		}
	}
	if _, there := lines["other.json"]; there || got.code != 1 || lines["sysfs.txt"] != "wrote" {
		t.Errorf("%+v", got)
	}
}

// For a place where bundle can write nothing, the error names the place and what to give instead.
func TestBundleWithoutPlace(t *testing.T) {
	t.Parallel()
	a, port := newAgent(t, "trn2.48xlarge"), closedPort(t)
	file := filepath.Join(t.TempDir(), "file")
	check(t, os.WriteFile(file, nil, 0o600))
	const remedy = "; give a directory that is empty, or that can be made, or - for a tar archive\n"
	for _, dir := range []string{file, filepath.Join(file, "below"), "/proc/no-directory-of-ours"} {
		got := a.command(port, "bundle", dir)
		if got.code == 0 || got.stdout != "" || !strings.Contains(got.stderr, dir+": ") || !strings.HasSuffix(got.stderr, remedy) {
			t.Errorf("%s: %+v", dir, got)
		}
	}
	_, path := terminal(t)
	got := a.onFile(port, 1, path, "bundle", "-")
	if got.code != 2 || !strings.Contains(got.stderr, "bundle - writes a tar archive: give a file, as in bundle - > node.tar\n") {
		t.Errorf("on a terminal: %+v", got)
	}
	got = a.onFile(port, 1, "/dev/full", "bundle", "-")
	if got.code != 1 || !strings.Contains(got.stderr, "standard output cannot be written: no space left on device\n") {
		t.Errorf("on a full disk: %+v", got)
	}
	got = a.onFile(port, 1, "/dev/full", "bundle", t.TempDir())
	if got.code != 1 || !strings.Contains(got.stderr, "standard output cannot be written: no space left on device\n") {
		t.Errorf("lines on a full disk: %+v", got)
	}
}

// Devices are shown without the agent's verdicts when its page does not have them, and the reason is a line below.
func TestVerdictsMissing(t *testing.T) {
	t.Parallel()
	a := newAgent(t, "trn2.48xlarge")
	for status, words := range map[string]string{
		"404 Not Found": " does not serve /statusz: status 404",
		"200 OK":        "/statusz names none of these devices: the agent is an older release, or has",
	} {
		s := startPages(t, func(_ string, _ int, w io.Writer) { chunks(w, status, true, "kubelet: unknown\n") })
		got := a.command(s.address, "devices")
		contains(t, got.stdout, "neuron-device-15", "the agent's verdict is not available:\n", words)
		got = a.command(s.address, "devices", "-o", "json")
		contains(t, got.stdout, `"verdictsMissing": "`, words)
	}
}

// EFA devices that cannot be read are no EFA devices that are absent.
func TestUnreadableEFAs(t *testing.T) {
	t.Parallel()
	a := newAgent(t, "trn2.48xlarge")
	efa := filepath.Join(a.node, "sys/bus/pci/drivers/efa")
	check(t, os.RemoveAll(efa))
	check(t, os.Symlink("efa", efa))
	for _, words := range [][]string{{"devices", "--efa", "true"}, {"slices", "--efa", "true"}, {"check", "--efa", "true"}} {
		got := a.command(closedPort(t), words...)
		if got.code != 1 || !strings.Contains(got.stdout+got.stderr, "the EFA devices in "+filepath.Join(a.node, "sys")+" cannot be read: too many symbolic links; run this as root") {
			t.Errorf("%v: %+v", words, got)
		}
	}
}
