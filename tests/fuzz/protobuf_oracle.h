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

/* Where the values of a message go. */
struct oracle_values {
    uint8_t *data;
    size_t cap;
    size_t len;
};

/* What stands before each value: the field's number in four octets, then one of these. */
enum { ORACLE_NUMBER = 1, ORACLE_TEXT = 2, ORACLE_BEGIN = 3, ORACLE_END = 4 };

/*
 * Decodes a message of the type `name`, as "dra.Claim", and writes the values that it has, by the
 * numbers of their fields: a number in eight octets, a text behind its length in four, a message
 * between ORACLE_BEGIN and ORACLE_END; all in the order of this machine. A text ends at its first
 * NUL, as the agent's texts do, and an empty one in a field without presence is no value.
 * ORACLE_TOO_LONG: they do not fit.
 */
int oracle_decode(const char *name, const uint8_t *data, size_t len, struct oracle_values *values);

#ifdef __cplusplus
}
#endif

#endif
