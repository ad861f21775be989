/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP/2 engine as a server: a script of what its peer sends, of time, and of what its owner
 * does. Checks of src/wire/h2.h: I1 to I9.
 *
 * Input: a script: octets and frames of a client, time, calls of the owner
 */
#include "tests/fuzz/fuzz_h2_script.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return run_role(H2_SERVER, data, size);
}
