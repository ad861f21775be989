/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages of proto/ by Google's C++ decoder, for fuzz_protobuf.c. It reads the .proto files
 * themselves, which are in the program, and knows nothing of what nanopb generated from them.
 */
#ifndef TESTS_FUZZ_PROTOBUF_ORACLE_H
#define TESTS_FUZZ_PROTOBUF_ORACLE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { ORACLE_REFUSED = 0, ORACLE_TAKEN = 1, ORACLE_TOO_LONG = 2 };

/* Where a canonical form goes. */
struct oracle_form {
    uint8_t *data;
    size_t cap;
    size_t len;
};

/*
 * Decodes a message of the type `name`, as "dra.Claim", and writes its one canonical form without
 * fields that the type does not have. ORACLE_TOO_LONG: the form does not fit.
 */
int oracle_decode(const char *name, const uint8_t *data, size_t len, struct oracle_form *form);

#ifdef __cplusplus
}
#endif

#endif
