// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bufio"
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mapping is one line of /proc/PID/maps (proc_pid_maps(5)).
type mapping struct {
	from, to, offset uint64
	rights, path     string
}

func mappingsOf(t testing.TB, pid int) (found []mapping) {
	t.Helper()
	maps, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	check(t, err)
	defer maps.Close()
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		var m mapping
		var device, inode string
		if n, err := fmt.Sscanf(lines.Text(), "%x-%x %s %x %s %s %s", &m.from, &m.to, &m.rights, &m.offset, &device, &inode, &m.path); n < 6 {
			t.Fatalf("%q: %v", lines.Text(), err)
		}
		found = append(found, m)
	}
	return found
}

// constantsOf is where the program's constants with pointers lie, from its start: whole pages of the segment GNU_RELRO.
func constantsOf(t *testing.T, program string) (from, to uint64) {
	t.Helper()
	file, err := elf.Open(program)
	check(t, err)
	defer file.Close()
	page := uint64(os.Getpagesize())
	for _, p := range file.Progs {
		if p.Type == elf.PT_GNU_RELRO {
			from, to = p.Vaddr&^(page-1), (p.Vaddr+p.Memsz)&^(page-1)
		}
	}
	table := file.Section(".data.rel.ro")
	if from == to || table == nil || table.Addr < from || table.Addr+table.Size > to {
		t.Fatalf("constants from %x to %x, and the tables %+v", from, to, table)
	}
	return from, to
}

// The start files of a static program relocate tables of addresses, and leave them writable. In the agent and in the processes that
// read, each page of them is read-only.
func TestConstantsAreReadOnly(t *testing.T) {
	t.Parallel()
	needMounts(t) // reads the agent's /proc/PID/maps
	a := withoutServer(t, "trn2.48xlarge", closedPort(t))
	a.start()
	a.waitLog(0, "event=started")
	program := must(filepath.EvalSymlinks(agentBinary))
	from, to := constantsOf(t, program)
	readers := a.readers(t)
	if len(readers) != limitOf("READERS") {
		t.Fatalf("the readers %v, want %d", readers, limitOf("READERS"))
	}
	for _, pid := range append(readers, a.pid()) {
		all := mappingsOf(t, pid)
		first := slices.IndexFunc(all, func(m mapping) bool { return m.path == program && m.offset == 0 })
		if first < 0 {
			t.Fatalf("process %d has no mapping of %s: %v", pid, program, all)
		}
		base, seen := all[first].from, uint64(0)
		for _, m := range all {
			begin, end := max(m.from, base+from), min(m.to, base+to)
			if begin >= end {
				continue
			}
			seen += end - begin
			if !strings.HasPrefix(m.rights, "r--") {
				t.Errorf("%s of process %d: constants from %x to %x are %s", statusOf(t, pid, "Name"), pid, begin-base, end-base, m.rights)
			}
		}
		if seen != to-from {
			t.Errorf("process %d has %d of %d bytes of constants", pid, seen, to-from)
		}
	}
}
