/* SPDX-License-Identifier: Apache-2.0 */
/* Writes and reads the line about a device's health, see verdict.h. */
#include "dra/verdict.h"

#include "base/assert.h"

#define LINE_START "device "
#define NAME_END ": "
#define MEMORY_HELD ", memory held"
#define WAITS ", without errors now"

#define STATES 3u
static const char *const states[STATES] = {
    [HEALTH_UNKNOWN] = "unknown", [HEALTH_HEALTHY] = "healthy", [HEALTH_UNHEALTHY] = "unhealthy"};

void device_verdict_write(struct writer *out, const char *name, const struct device_verdict *v)
{
    ASSERT(v->given && v->state < STATES);
    WRITE(out, LINE_START "%" NAME_END "%%", TEXT(name), TEXT(states[v->state]),
          TEXT(v->memory_held ? MEMORY_HELD : ""));
    if (v->state == (uint8_t)HEALTH_UNHEALTHY) {
        writer_text(out, v->waits ? WAITS NAME_END : NAME_END);
        device_health_text(out, HEALTH_UNHEALTHY, v->reasons);
    }
}

/* Removes `text` from the start of *rest; returns whether *rest started with it. */
static bool skip(struct view *rest, const char *text)
{
    bool starts = view_starts(*rest, text);
    *rest = starts ? view_from(*rest, view_text(text).len) : *rest;
    return starts;
}

/* Removes the name of a health state from the start of *rest, and sets *state to this state. */
static bool skip_state(struct view *rest, uint8_t *state)
{
    bool found = false;
    for (unsigned i = 0; i < STATES && !found; i++) {
        found = skip(rest, states[i]);
        *state = (uint8_t)i;
    }
    return found;
}

bool device_verdict_read(struct view line, struct view *name, struct device_verdict *v)
{
    struct view rest = line;
    struct device_verdict read = {.given = true};
    if (!skip(&rest, LINE_START)) {
        return false;
    }
    struct view found = view_first(rest, view_find(rest, ':'));
    rest = view_from(rest, found.len);
    if (!skip(&rest, NAME_END) || !skip_state(&rest, &read.state)) {
        return false;
    }
    read.memory_held = skip(&rest, MEMORY_HELD);
    if (read.state == (uint8_t)HEALTH_UNHEALTHY) {
        read.waits = skip(&rest, WAITS);
        bool reasons = skip(&rest, NAME_END);
        read.reasons = reasons ? device_health_reasons(rest) : 0u;
        rest = view_from(rest, rest.len);
    }
    if (rest.len > 0u || (read.state == (uint8_t)HEALTH_UNHEALTHY && read.reasons == 0u)) {
        return false;
    }
    *name = found;
    *v = read;
    return true;
}
