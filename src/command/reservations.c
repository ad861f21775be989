/* SPDX-License-Identifier: Apache-2.0 */
/* Shows the reserved claims of the cluster, as text or as a JSON or YAML document. */
#include "base/assert.h"
#include "cfg/identity.h"
#include "command/command.h"

/*
 * An argument of WRITE: a name from the API server, with control characters escaped for the
 * terminal.
 */
#define NAME(text) SHOWN_LONG(view_text(text), NAME_CAP)

void command_reservation_text(const struct claim_reservation *c, struct writer *out)
{
    WRITE(out, "claim %/% on node % is reserved for %/%", NAME(c->id.namespace_), NAME(c->id.name),
          NAME(c->pool), NAME(c->resource), NAME(c->consumer));
    if (c->consumers > 1u) {
        WRITE(out, " and % more", NUMBER(c->consumers - 1u));
    }
    writer_text(out, "\n");
    ASSERT(!out->full);
}

void command_reservation_document(const struct claim_reservation *c, struct document *d)
{
    document_object_begin(d);
    document_text(d, "namespace", c->id.namespace_);
    document_text(d, "name", c->id.name);
    document_text(d, "uid", c->id.uid);
    document_text(d, "node", c->pool);
    document_text(d, "resource", c->resource);
    document_text(d, "consumer", c->consumer);
    document_number(d, "consumers", c->consumers);
    document_object_end(d);
    ASSERT(!d->json.out->full);
}

void command_reservations_end(uint32_t found, const char *efa_driver, struct writer *out)
{
    if (found == 0u) {
        writer_text(out, "No claim of " DRIVER_NAME);
        if (efa_driver != NULL) {
            WRITE(out, " or %", TEXT(efa_driver));
        }
        writer_text(out, " is reserved.\n");
        return;
    }
    WRITE(out,
          "Without the driver their pods cannot end: end these pods first, then uninstall again; "
          "`helm uninstall --no-hooks` does not ask. Claims: %\n",
          NUMBER(found));
}
