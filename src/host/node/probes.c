/* SPDX-License-Identifier: Apache-2.0 */
/* Decides when to probe the node, and passes the findings to the agents; see probes.h. */
#include "host/node/probes.h"

#include "agent/report/log_catalogue.h"
#include "base/assert.h"
#include "base/time.h"
#include "host/system.h"

enum status probes_begin(struct probes *l, const struct settings *settings, bool efas,
                         struct writer *why)
{
    l->settings = settings;
    l->efas = efas;
    /*
     * A claim may be prepared again before the first probe has ended; its record must get the boot
     * id of today. procfs never hangs, so this process reads the file itself.
     */
    probe_boot_id(settings->proc_root, l->result.probe.found.boot_id);
    enum status s = readers_begin(&l->readers, settings, why);
    l->wanted = s == STATUS_OK && !readers_probe(&l->readers, &l->result, efas);
    return s;
}

void probes_end(struct probes *l)
{
    readers_end(&l->readers);
}

void probes_interest(const struct probes *l, struct pollfd slots[READERS])
{
    readers_interest(&l->readers, slots);
}

uint64_t probes_deadline(const struct probes *l)
{
    return earlier(l->due_ms, readers_deadline(&l->readers));
}

/* --- passing findings to the agents --- */

static void log_failure(struct probes *l, struct agent *agent, const char *what, int error)
{
    char text[HOST_TEXT_CAP];
    WRITE_TEXT(text, sizeof text, "%%", TEXT(what), ERRNO(error));
    agent_host_log((agent != NULL) ? agent : l->agent, LOG_ID_PROBE_FAILED, text);
}

/*
 * Passes the Neuron devices to the agent. After a failed probe, the agent keeps the devices of the
 * previous probe; a failure equal to the last one is not logged again.
 */
static void report_node(struct probes *l)
{
    static const char *const what[] = {
        "no device is published: class/neuron_device below the sysfs root: ",
        "the devices found last are kept: class/neuron_device below the sysfs root: "};
    int error = l->result.error;
    if (error != 0 && error != l->error) {
        log_failure(l, l->agent, what[l->told ? 1 : 0], error);
    }
    if (error == 0 || !l->told) {
        agent_found(l->agent, &l->result.probe.found);
    }
    l->error = error;
}

static void report_efas(struct probes *l)
{
    int error = l->result.efa_error;
    if (error != 0 && error != l->efa_error) {
        log_failure(l, l->efa, "EFA devices below the sysfs root: ", error);
    }
    if (error == 0 || !l->told) {
        agent_found_efas(l->agent, &l->result.efas);
    }
    l->efa_error = error;
}

static void report_probe(struct probes *l)
{
    readers_mark(&l->readers, &l->result);
    report_node(l);
    if (l->efa != NULL) {
        report_efas(l);
    }
    l->told = true;
}

/*
 * Logs, for each reader whose hang has begun or ended, that the read of a file hangs or has
 * finished.
 */
static void log_changed(const struct probes *l)
{
    for (unsigned i = 0; i < READERS; i++) {
        const struct reader_state *x = &l->readers.reader[i];
        char text[HOST_TEXT_CAP];
        struct writer w = writer_of(text, sizeof text);
        if (!x->changed) {
            continue;
        }
        if (x->hangs) {
            readers_hanging(&l->readers, i, &w);
        } else {
            WRITE(&w, "% was read after % s", TEXT(x->file),
                  NUMBER((l->readers.now_ms - x->hung_since_ms) / 1000u));
        }
        writer_close_text(&w);
        agent_host_log(l->agent, x->hangs ? LOG_ID_SYSFS_READ_STALLED : LOG_ID_SYSFS_READ_RESUMED,
                       text);
    }
}

/*
 * Marks all counters as not read. The agent may get the findings of the same probe again, and must
 * not treat the counters in them as a second reading (dra/health.h).
 */
static void counters_forget(struct found_node *found)
{
    for (unsigned i = 0; i < found->count; i++) {
        found->devices[i].reading.counted = 0;
    }
}

void probes_first(struct probes *l, struct agent *agent, struct agent *efa)
{
    struct pollfd slots[READERS];
    uint64_t begin_ms = clock_now_ms();
    uint64_t now_ms = begin_ms;
    l->agent = agent;
    l->efa = efa;
    ASSERT((efa != NULL) == l->efas);
    while (!l->readers.probed && !l->readers.ended && now_ms - begin_ms < READ_FIRST_MS) {
        readers_interest(&l->readers, slots);
        uint64_t left_ms = begin_ms + READ_FIRST_MS - now_ms;
        int ready = poll(slots, READERS, (int)left_ms);
        now_ms = clock_now_ms();
        if (ready > 0) {
            readers_turn(&l->readers, slots, now_ms);
        }
    }
    l->result.probe.found.unknown = true;
    l->result.efas.unknown = true;
    if (l->readers.probed) {
        readers_result(&l->readers, &l->result);
    }
    report_probe(l);
    counters_forget(&l->result.probe.found);
    l->due_ms = now_ms + l->settings->health_ms;
}

static void receive_answers(struct probes *l)
{
    const struct readers *r = &l->readers;
    if (r->probed) {
        readers_result(r, &l->result);
    }
    if (r->changed) {
        log_changed(l);
    }
    if (r->probed || r->changed) {
        report_probe(l);
        counters_forget(&l->result.probe.found);
    }
}

bool probes_turn(struct probes *l, const struct pollfd slots[READERS], uint64_t now_ms)
{
    bool comes = now_ms >= l->due_ms;
    readers_turn(&l->readers, slots, now_ms);
    receive_answers(l);
    l->due_ms = comes ? now_ms + l->settings->health_ms : l->due_ms;
    l->wanted = l->wanted || comes || l->readers.changed || l->readers.stirred;
    if (l->wanted && readers_probe(&l->readers, &l->result, l->efa != NULL)) {
        l->wanted = false;
    }
    return comes;
}
