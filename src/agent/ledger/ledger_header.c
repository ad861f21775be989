/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the header of the claim store: two copies, with the flag STORE_UNLISTED, which requests
 * that the claims are listed at the API server. Owns nothing: ledger.unlisted has the flag.
 */
#include "agent/ledger/ledger_internal.h"

#include <string.h>

#include "agent/frame.h"
#include "agent/ledger/room.h"
#include "cfg/identity.h"

enum status header_write_copy(struct agent *a, const char *name, unsigned copy)
{
    const struct files *f = a->files;
    const struct store_header header = {.generation = 1,
                                        .flags = a->ledger->unlisted ? STORE_UNLISTED : 0u};
    memset(a->scratch.half, 0, sizeof a->scratch.half);
    struct writer out = writer_of(a->scratch.half, STORE_HEADER_COPY_BYTES);
    store_header_write(&out, &header);
    return f->write(f->ctx, FILES_STATE, name, (uint64_t)copy * STORE_HEADER_COPY_BYTES,
                    view_of(a->scratch.half, STORE_HEADER_COPY_BYTES));
}

enum status flags_write(struct agent *a)
{
    const struct files *f = a->files;
    enum status s = STATUS_OK;
    for (unsigned copy = 0; copy < 2u && s == STATUS_OK; copy++) {
        s = header_write_copy(a, STORE_FILE_NAME, copy);
        s = (s == STATUS_OK) ? f->commit(f->ctx, FILES_STATE, STORE_FILE_NAME, 0) : s;
    }
    return s;
}
