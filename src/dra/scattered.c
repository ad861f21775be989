/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the error and the remedy of a claim whose Neuron devices are not consecutive. Suggests
 * only attributes that every device of a group or line has on this instance type
 * (dra/attributes.c).
 */
#include "dra/claim.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "cfg/identity.h"

/*
 * Appends the full name of the attribute by which a claim gets `size` consecutive devices of this
 * board. false: the board has no such attribute, and `out` is unchanged.
 */
static bool write_attribute(struct writer *out, const struct board *board, unsigned size)
{
    static const char *const own = DRIVER_NAME;
    ASSERT(size >= 2u); /* a single device cannot have a gap in its numbers */
    bool group = size == 4u || size == 8u || size == 16u;
    unsigned cells = (unsigned)board->grid_rows * board->grid_columns;
    if (size <= board->contiguous) {
        WRITE(out, "%/contiguous%_id", TEXT(own), NUMBER(size));
    } else if (group && board->efa != NULL) {
        WRITE(out, "resource.aws.com/devicegroup%_id", NUMBER(size));
    } else if ((size == 4u || size == 8u) && size <= cells) {
        WRITE(out, "%/topology%_id", TEXT(own), NUMBER(size));
    } else {
        return false;
    }
    return true;
}

void claim_consecutive_write(struct writer *out, const struct claim_record *r,
                             const struct board *board)
{
    char text[ATTRIBUTE_KEY_CAP];
    struct writer name = writer_of(text, sizeof text);
    unsigned wanted = claim_numbers_count(claim_numbers(r));
    unsigned last = (board != NULL) ? board->devices : 0u;
    unsigned size = wanted;
    while (board != NULL && size <= last && !write_attribute(&name, board, size)) {
        size++;
    }
    if (board == NULL || size > last) {
        writer_text(out, "delete the pod, and choose devices with consecutive numbers by a "
                         "selector on deviceId");
        return;
    }
    WRITE(out, "delete the pod, and ask for % devices by matchAttribute %", NUMBER(size),
          SHOWN(writer_view(&name)));
    if (size != wanted) {
        WRITE(out, ", because % has no attribute for %", TEXT(board->instance_type),
              NUMBER(wanted));
    }
}

void claim_scattered_write(struct writer *out, const struct claim_record *r,
                           const struct board *board)
{
    WRITE(out, "claim %/% has devices ", SHOWN(view_text(r->id.namespace_)),
          SHOWN(view_text(r->id.name)));
    device_numbers_write(out, claim_numbers(r));
    writer_text(out, ", which are not consecutive on the host: the kernel module counts cores from "
                     "the first of them on, and reaches devices of other pods; ");
    claim_consecutive_write(out, r, board);
}
