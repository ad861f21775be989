/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the running agent's verdicts on the devices' health from its page /statusz, once for each
 * output: both drivers and `check` use the same page.
 */
#include <string.h>

#include "agent/troubles.h"
#include "cfg/identity.h"
#include "host/commands/commands_internal.h"

struct view commands_status(struct command_memory *m)
{
    struct writer why = writer_of(m->status_why, sizeof m->status_why);
    if (m->status_asked) {
        return m->status;
    }
    struct view body;
    unsigned code = page_get(m, "/statusz", &body, &why);
    if (code != 0u && code != HTTP_OK) {
        WRITE(&why, "the agent at port % does not serve /statusz: status %",
              NUMBER((uint64_t)m->settings->metrics_port), NUMBER(code));
    }
    m->status_asked = true;
    m->status = (code == HTTP_OK) ? body : view_of(NULL, 0);
    m->status_why_len = why.len;
    return m->status;
}

void commands_status_forget(struct command_memory *m, bool absent)
{
    m->status_asked = absent;
    m->status = view_of(NULL, 0);
    m->status_why_len = 0;
}

/*
 * Sets the verdict on the health of the device `name`, if the device belongs to the inventory's
 * driver.
 */
static void set_verdict(struct inventory *v, struct view name, const struct device_verdict *verdict)
{
    char known[DEVICE_NAME_CAP];
    for (unsigned number = 0; number < DEVICES_MAX; number++) {
        devices_name(&v->devices, number, known);
        if (view_is(name, known)) {
            v->verdict[number] = *verdict;
            v->verdicts = VERDICTS_OF_AGENT;
            return;
        }
    }
}

void commands_verdicts(struct command_memory *m)
{
    static const char old[] =
        "/statusz names none of these devices: the agent is an older release, or has not read "
        "their files yet";
    struct inventory *v = &m->inventory;
    struct view rest = commands_status(m);
    memset(v->verdict, 0, sizeof v->verdict);
    v->verdicts = VERDICTS_MISSING;
    v->verdicts_missing =
        (rest.len > 0u) ? view_text(old) : view_of(m->status_why, m->status_why_len);
    while (rest.len > 0u) {
        size_t end = view_find(rest, '\n');
        struct view line = view_first(rest, end);
        struct view name;
        struct device_verdict verdict;
        if (view_starts(line, DRAINING_LINE) || view_starts(line, DRAINED_LINE)) {
            v->drain = view_from(line, sizeof TROUBLE_LINE - 1u);
        }
        if (device_verdict_read(line, &name, &verdict)) {
            set_verdict(v, name, &verdict);
        }
        rest = view_from(rest, end + 1u);
    }
}

enum status commands_devices(struct command_memory *m, unsigned driver, struct writer *why)
{
    enum status s =
        (driver == (unsigned)DRIVER_EFA) ? commands_efas(m, false, why) : commands_node(m, why);
    if (s == STATUS_OK) {
        commands_verdicts(m);
    }
    return s;
}
