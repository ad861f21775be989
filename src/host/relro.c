/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Relocated constants: their addresses, in the packed form of DT_RELR (ELF gABI, "Relative
 * Relocation Table": an eighth of DT_RELA's size or less), and their protection (PT_GNU_RELRO):
 * dispatch tables and message descriptors must not be writable. The dynamic loader does both for
 * other programs; of musl's start-up of a static position-independent program only releases from
 * 1.2.4 on know the packed form, and none protects. So main calls this first, and nothing here
 * reads a constant that holds an address. Owns nothing.
 */
#include "host/relro.h"

#include <elf.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

extern Elf64_Ehdr __ehdr_start __attribute__((visibility("hidden")));  /* set by the linker */
extern const Elf64_Dyn _DYNAMIC __attribute__((visibility("hidden"))); /* likewise: the first */

/* Programs have about ten segments and thirty dynamic entries; more are no program of ours. */
enum { SEGMENTS_MAX = 64, DYNAMIC_MAX = 64 };
/* Tags of the dynamic section; musl's elf.h before 1.2.4 lacks them. */
enum { TAG_RELRSZ = 35, TAG_RELR = 36 };
/* An odd word of the table stands for as many words of memory, one for each further bit. */
#define RELR_BITS 63u
#define RELR_BITS_BYTES UINT64_C(504)

/* The value of a tag, 0: there is none. */
static uintptr_t dynamic_value(Elf64_Sxword tag)
{
    const Elf64_Dyn *entry = &_DYNAMIC;
    for (unsigned i = 0; i < DYNAMIC_MAX && entry[i].d_tag != DT_NULL; i++) {
        if (entry[i].d_tag == tag) {
            return entry[i].d_un.d_val;
        }
    }
    return 0;
}

/* A word of memory by its address. */
static uintptr_t *word_at(uintptr_t address)
{
    union {
        uintptr_t value;
        uintptr_t *memory;
    } at = {.value = address};
    return at.memory;
}

/* The words from `address` on for which a bit is set. */
static void relocate_marked(uintptr_t address, uint64_t word, uintptr_t base)
{
    uint64_t left = word >> 1u;
    for (unsigned bit = 0; bit < RELR_BITS; bit++) {
        if ((left & 1u) != 0u) {
            word_at(address)[bit] += base;
        }
        left >>= 1u;
    }
}

void relro_relocate(void)
{
    uintptr_t base = (uintptr_t)&__ehdr_start;
    const uint64_t *table = word_at(base + dynamic_value(TAG_RELR));
    uintptr_t bytes = dynamic_value(TAG_RELRSZ);
    uintptr_t next = base;
    for (uintptr_t i = 0; i < bytes / sizeof *table; i++) {
        if ((table[i] & 1u) != 0u) {
            relocate_marked(next, table[i], base);
            next += RELR_BITS_BYTES;
            continue;
        }
        next = base + table[i];
        if (*word_at(next) >= base) {
            return; /* musl has done it: an offset in the image is below any base */
        }
        *word_at(next) += base;
        next += sizeof *table;
    }
}

enum status relro_protect(void)
{
    union {
        unsigned long value;
        const Elf64_Phdr *header;
    } table = {.value = getauxval(AT_PHDR)};
    unsigned long count = getauxval(AT_PHNUM);
    uintptr_t base = (uintptr_t)&__ehdr_start;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
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
