/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first code of the program, in the place of musl's rcrt1.o. A position-independent program
 * adds the address at which it lies to each address in its tables. rcrt1.o of musl 1.2.3 reads only
 * the long list of them (DT_RELA: 24 bytes for each of 1,000); this reads the packed one (DT_RELR,
 * gABI), which is 24 KB shorter. Nothing is set up yet: the Makefile compiles this file without
 * stack protector, whose value libc sets later, and no table that holds addresses may be read.
 */
#include <elf.h>
#include <stddef.h>
#include <stdint.h>

/* From musl: the same call as rcrt1.o's; and the two functions of crti.o. */
int __libc_start_main(int (*run)(int argc, char **argv), int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*unused)(void));
void _init(void);
void _fini(void);
int main(int argc, char **argv);

/* musl's elf.h has these since 1.2.4. */
enum { TAG_RELRSZ = 35, TAG_RELR = 36 };
/* An odd word of the list is a map of the 63 words of the image that follow. */
enum { WORD_BYTES = 8, MAPPED = 63 };

/* The kernel leaves argc and argv on the stack, which a call wants at a multiple of 16. */
#ifdef __x86_64__
__asm__(".text\n"
        ".global _start\n"
        ".hidden __ehdr_start\n"
        ".hidden _DYNAMIC\n"
        "_start:\n"
        "    xor %ebp, %ebp\n"
        "    mov %rsp, %rdi\n"
        "    lea __ehdr_start(%rip), %rsi\n"
        "    lea _DYNAMIC(%rip), %rdx\n"
        "    and $-16, %rsp\n"
        "    call start_program\n");
#endif

static uint64_t words_of(const Elf64_Dyn *dynamic, int64_t tag)
{
    size_t i = 0;
    while (dynamic[i].d_tag != tag && dynamic[i].d_tag != DT_NULL) {
        i++;
    }
    return dynamic[i].d_un.d_val / WORD_BYTES;
}

/* The image is words here; places and sizes in the list and in its head are bytes. */
static void relocate(uint64_t *image, const Elf64_Dyn *dynamic)
{
    uint64_t base = (uintptr_t)image;
    uint64_t list = words_of(dynamic, TAG_RELR);
    uint64_t end = list + words_of(dynamic, TAG_RELRSZ);
    uint64_t *next = image;
    for (; list < end; list++) {
        uint64_t entry = image[list];
        if ((entry & 1u) == 0u) {
            next = &image[entry / WORD_BYTES];
            *next += base;
            next++;
            continue;
        }
        for (unsigned i = 0; i < MAPPED; i++) {
            entry >>= 1;
            if ((entry & 1u) != 0u) {
                next[i] += base;
            }
        }
        next += MAPPED;
    }
}

/* What _start calls; argc lies before argv. */
__attribute__((used)) static void start_program(intptr_t *stack, uint64_t *image,
                                                const Elf64_Dyn *dynamic)
{
    relocate(image, dynamic);
    (void)__libc_start_main(main, (int)stack[0], (char **)&stack[1], _init, _fini, NULL);
}
