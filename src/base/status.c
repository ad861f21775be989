/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the statuses, in the order of the enum. */
#include "base/status.h"

#include <stddef.h>

#include "base/assert.h"

static const char *const status_names[STATUS_COUNT] = {
    [STATUS_OK] = "ok",
    [STATUS_MORE] = "more",
    [PEER_MALFORMED] = "peer-malformed",
    [PEER_PROTOCOL] = "peer-protocol",
    [PEER_UNSUPPORTED] = "peer-unsupported",
    [PEER_NOT_FOUND] = "peer-not-found",
    [PEER_REFUSED] = "peer-refused",
    [PEER_TIMEOUT] = "peer-timeout",
    [PEER_CLOSED] = "peer-closed",
    [PEER_UNTRUSTED] = "peer-untrusted",
    [FULL_TABLE] = "full-table",
    [FULL_BUFFER] = "full-buffer",
    [FULL_BUDGET] = "full-budget",
    [HOST_IO] = "host-io",
    [HOST_NO_SPACE] = "host-no-space",
    [HOST_DENIED] = "host-denied",
    [HOST_ABSENT] = "host-absent",
    [HOST_DAMAGED] = "host-damaged",
    [HOST_BUSY] = "host-busy",
};

const char *status_name(enum status s)
{
    ASSERT((unsigned)s < (unsigned)STATUS_COUNT);
    ASSERT(status_names[s] != NULL);
    return status_names[s];
}
