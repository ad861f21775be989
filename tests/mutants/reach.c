/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which functions a test program runs, for tools/mutants: the callbacks of clang's
 * -fsanitize-coverage=func,inline-bool-flag,pc-table. At the end of the program the addresses of
 * the functions that ran are appended to the file that the variable MUTANTS_REACH names.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define NOT_COUNTED __attribute__((no_sanitize("coverage")))

void __sanitizer_cov_bool_flag_init(bool *start, bool *end);
void __sanitizer_cov_pcs_init(const uintptr_t *start, const uintptr_t *end);

static const bool *ran; /* a flag for each function */
static size_t functions;
static const uintptr_t *table; /* address and flags of each */

NOT_COUNTED void __sanitizer_cov_bool_flag_init(bool *start, bool *end)
{
    ran = start;
    functions = (size_t)(end - start);
}

NOT_COUNTED void __sanitizer_cov_pcs_init(const uintptr_t *start, const uintptr_t *end)
{
    (void)end;
    table = start;
}

__attribute__((destructor)) NOT_COUNTED static void write_reach(void)
{
    const char *path = getenv("MUTANTS_REACH");
    FILE *file = (path != NULL) ? fopen(path, "a") : NULL;
    if (file == NULL) {
        return;
    }
    for (size_t i = 0; i < functions; i++) {
        if (ran[i]) {
            (void)fprintf(file, "%lx\n", (unsigned long)table[2 * i]);
        }
    }
    (void)fclose(file);
}
