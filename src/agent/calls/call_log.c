/* SPDX-License-Identifier: Apache-2.0 */
/* Logs and measures calls of the kubelet that have ended, see call_log.h. */
#include "agent/calls/call_log.h"

#include "agent/calls/room.h"
#include "agent/frame.h"
#include "agent/report/log.h"

void call_log(struct agent *a, const struct call *c, const char *text)
{
    uint8_t names[CALL_NAMES_BYTES_MAX];
    struct writer out = writer_of(names, sizeof names);
    unsigned failed = 0;
    /* true: the name of a claim did not fit, so it and all later names are left out */
    bool cut = false;
    if (!log_shows_debug(a)) {
        return;
    }
    for (unsigned i = 0; i < c->count; i++) {
        const struct operation *o = &a->calls->operation[c->operation[i]];
        failed += (o->state == OPERATION_FAILED) ? 1u : 0u;
        struct writer name = out;
        WRITE(&name, "%%/%", TEXT((i == 0u) ? "" : ","), TEXT(o->id.namespace_), TEXT(o->id.name));
        cut = cut || name.full;
        out = cut ? out : name;
    }
    uint64_t elapsed_us = agent_clock_us(a) - c->start_us;
    log_begin(a, LOG_ID_KUBELET_CALL_ENDED);
    log_text(a, "method", c->unprepare ? "NodeUnprepareResources" : "NodePrepareResources");
    log_number(a, "claims", c->count);
    log_view(a, "names", writer_view(&out));
    log_number(a, "failed", failed);
    log_text(a, "result", (text != NULL) ? text : "answered");
    log_number(a, "elapsed_us", (int64_t)elapsed_us);
    log_end(a);
}

void call_measure(struct agent *a, const struct call *c, enum duration_result result)
{
    durations_call(a, c->unprepare ? METHOD_UNPREPARE : METHOD_PREPARE, result,
                   agent_clock_us(a) - c->start_us);
}
