/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Constant tables of addresses, such as dispatch tables, are writable at first, because musl's
 * start files relocate them before main. relro_protect then makes them read-only.
 */
#include "host/relro.h"

#include <elf.h>
#include <sys/auxv.h>
#include <sys/mman.h>

/* Start of the program in memory; defined by the linker. */
extern const char __ehdr_start __attribute__((visibility("hidden")));

/* Limits the loop if the program header is corrupt; a program has about ten segments. */
enum { SEGMENTS_MAX = 64 };

enum status relro_protect(void)
{
    union {
        unsigned long value;
        const Elf64_Phdr *header;
    } table = {.value = getauxval(AT_PHDR)};
    unsigned long count = getauxval(AT_PHNUM);
    uintptr_t base = (uintptr_t)&__ehdr_start;
    uintptr_t page = getauxval(AT_PAGESZ);
    for (unsigned long i = 0; i < count && i < SEGMENTS_MAX; i++) {
        const Elf64_Phdr *h = &table.header[i];
        if (h->p_type != PT_GNU_RELRO) {
            continue;
        }
        uintptr_t begin = (base + h->p_vaddr) & ~(page - 1u);
        uintptr_t end = (base + h->p_vaddr + h->p_memsz) & ~(page - 1u);
        union {
            uintptr_t value;
            void *address;
        } from = {.value = begin};
        return (mprotect(from.address, end - begin, PROT_READ) == 0) ? STATUS_OK : HOST_IO;
    }
    return HOST_ABSENT;
}
