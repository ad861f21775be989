// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// figure is one of the protocol layer and what it is held against.
type figure struct {
	Name   string  `json:"name"`
	Unit   string  `json:"unit"`
	Ours   float64 `json:"ours"`
	Beside string  `json:"beside"`
	Theirs float64 `json:"theirs"`
	// how many times theirs is ours: more is worse for a time, better for a rate
	Ratio float64 `json:"ratio"`
}

const roundTripBound = 1.3

var figureNames = map[string][2]string{
	"one-core":  {"unary call over a unix socket, both ends on one core", "bare echo of as many bytes"},
	"two-cores": {"unary call over a unix socket, each end on a core", "bare echo of as many bytes"},
	"hpack":     {"HPACK, Huffman codes and dynamic table", "nghttp2"},
	"data-1024": {"DATA frames of 1,024 octets", "nghttp2"},
	"data-16":   {"DATA frames of 16 octets", "nghttp2"},
}

// figures reads lines of a name and two numbers, the first one ours or not.
func figures(text []byte, unit string, oursFirst bool) ([]figure, error) {
	var all []figure
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		var name string
		var first, second float64
		if _, err := fmt.Sscan(line, &name, &first, &second); err != nil || figureNames[name][0] == "" {
			return nil, fmt.Errorf("unreadable figure %q", line)
		}
		if !oursFirst {
			first, second = second, first
		}
		all = append(all, figure{figureNames[name][0], unit, first, figureNames[name][1], second, first / second})
	}
	return all, nil
}

func tool(dir, name string, args ...string) ([]byte, error) {
	cmd := exec.Command(filepath.Join(dir, name), args...)
	cmd.Stderr = os.Stderr
	return cmd.Output()
}

// measureWire holds the protocol layer against a bare echo and against nghttp2.
func (b *bench) measureWire() error {
	s := b.sides[0]
	text, err := tool(b.options.dir, "roundtrip", s.serviceSocket(), strconv.Itoa(s.cmd.Process.Pid))
	if err != nil {
		return fmt.Errorf("roundtrip: %w", err)
	}
	calls, err := figures(text, "us", false)
	if err != nil {
		return err
	}
	if text, err = tool(b.options.dir, "speed"); err != nil {
		return fmt.Errorf("speed: %w", err)
	}
	rates, err := figures(text, "MB/s", true)
	if err != nil {
		return err
	}
	count, err := b.instructions(s)
	b.wire = append(append(calls, rates...), count)
	return err
}

func (s *side) serviceSocket() string { return filepath.Join(s.dir, "p", driverName, "dra.sock") }

// instructions counts what one more call costs the agent outside the kernel: the same whatever else the
// machine does.
func (b *bench) instructions(s *side) (figure, error) {
	const few, many = 1000, 3000
	f := figure{Name: "instructions of a unary call, outside the kernel", Unit: ""}
	if err := s.stop(); err != nil {
		return f, err
	}
	first, err := b.counted(s, few)
	if err != nil {
		return f, err
	}
	second, err := b.counted(s, many)
	if err != nil {
		return f, err
	}
	f.Ours = (second - first) / (many - few)
	_, err = s.start()
	return f, err
}

var summaryLine = regexp.MustCompile(`(?m)^summary: (\d+)$`)

// alone are the side's arguments with an API server that nobody reaches: a handshake would come into one count
// and not into the other.
func (s *side) alone() ([]string, error) {
	i := slices.Index(s.args, "--kubeconfig") + 1
	text, err := os.ReadFile(s.args[i])
	if err != nil {
		return nil, err
	}
	path := filepath.Join(s.dir, "kubeconfig-alone")
	text = []byte(strings.ReplaceAll(string(text), s.api.address, "127.0.0.1:1"))
	args := slices.Clone(s.args)
	args[i] = path
	return args, os.WriteFile(path, text, 0o600)
}

// counted is how many instructions the agent takes from start to end with so many calls.
func (b *bench) counted(s *side, calls int) (float64, error) {
	own, err := s.alone()
	if err != nil {
		return 0, err
	}
	args := append([]string{"-q", "--tool=callgrind", "--callgrind-out-file=" + filepath.Join(s.dir, "callgrind.%p"), s.binary}, own...)
	args = append(args, "--sandbox=false") // valgrind's own system calls would be refused
	cmd := exec.Command("valgrind", args...)
	cmd.Stdout, cmd.Stderr = io.Discard, s.stderr
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	// The processes that the agent starts write files of their own.
	out := filepath.Join(s.dir, fmt.Sprintf("callgrind.%d", cmd.Process.Pid))
	err = eventually(func() bool { _, err := os.Stat(s.serviceSocket()); return err == nil })
	if err == nil {
		_, err = tool(b.options.dir, "roundtrip", s.serviceSocket(), "-", strconv.Itoa(calls))
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	if err = errors.Join(err, cmd.Wait()); err != nil {
		return 0, fmt.Errorf("callgrind: %w", err)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		return 0, err
	}
	found := summaryLine.FindSubmatch(text)
	if found == nil {
		return 0, errors.New("callgrind: no summary")
	}
	return strconv.ParseFloat(string(found[1]), 64)
}

func eventually(done func() bool) error {
	for end := time.Now().Add(patience); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			return errors.New("nothing came in time")
		}
	}
	return nil
}

func writeFigures(w io.Writer, all []figure) {
	fmt.Fprintf(w, "| protocol layer | agent | beside it | ratio |\n|---|---|---|---|\n")
	for _, f := range all {
		theirs, ratio := "", ""
		if f.Theirs > 0 {
			theirs = fmt.Sprintf("%.1f %s, %s", f.Theirs, f.Unit, f.Beside)
			ratio = fmt.Sprintf("%.2f", f.Ratio)
		}
		ours := fmt.Sprintf("%.1f %s", f.Ours, f.Unit)
		if f.Unit == "" {
			ours = number(f.Ours, "")
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s |\n", f.Name, ours, theirs, ratio)
	}
	fmt.Fprintln(w)
	for _, f := range all {
		if f.Unit == "us" {
			fmt.Fprintf(w, "bound: %s at most %.1f times the echo: %.2f, %s\n", f.Name, roundTripBound, f.Ratio,
				verdict(f.Ratio <= roundTripBound))
		}
	}
}
