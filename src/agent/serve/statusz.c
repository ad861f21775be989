/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the page /statusz, see statusz.h. Changes no state. */
#include "agent/serve/statusz.h"

#include "agent/api/version.h"
#include "agent/frame.h"
#include "agent/ledger/ledger.h"
#include "agent/node/device_states.h"
#include "agent/node/node.h"
#include "agent/publish/publish.h"
#include "agent/recovery/memory_watch.h"
#include "agent/recovery/node_drain.h"
#include "agent/recovery/reconcile.h"
#include "agent/serve/metrics.h"
#include "agent/troubles.h"
#include "cfg/identity.h"

/* --- lines of /statusz about versions --- */

enum { LINE_AGENT, LINE_KUBELET, LINE_API, VERSION_LINES };

static void write_version(const struct agent *a, unsigned line, struct writer *out)
{
    const char *kubelet = node_facts(a)->kubelet_version;
    switch (line) {
    case LINE_AGENT:
        writer_text(out, "agent: " AGENT_VERSION ", build " BUILD_ID);
        break;
    case LINE_KUBELET:
        WRITE(out, "kubelet: %", TEXT((kubelet[0] != '\0') ? kubelet : "not known"));
        break;
    default:
        WRITE(out, "API: %", TEXT(version_ready(a) ? version_group(version_now(a)) : "not known"));
        break;
    }
}

/* --- lines of /statusz about devices --- */

/*
 * Writes line number *left (from 0) of the lines about devices whose health has a verdict, and
 * returns true. If there are fewer such lines, subtracts their number from *left and returns false.
 */
static bool write_device(const struct agent *a, unsigned *left, struct writer *out)
{
    char name[DEVICE_NAME_CAP];
    for (const struct agent *d = a; d != NULL; d = d->next) {
        for (unsigned number = 0; number < DEVICES_MAX; number++) {
            struct device_verdict verdict = device_states_verdict(d, number);
            if (verdict.given && *left == 0u) {
                devices_name(d->devices, number, name);
                device_verdict_write(out, name, &verdict);
                return true;
            }
            *left -= verdict.given ? 1u : 0u;
        }
    }
    return false;
}

/* --- lines of /statusz about troubles --- */

/*
 * Numbers of the possible troubles: first one for each kind of request that may be forbidden, then
 * faults of the kubelet, then what the API server does not keep, then one for each device.
 */
enum {
    TROUBLE_KUBELET_IDLE = API_KINDS,
    TROUBLE_KUBELET_SKIPS,
    TROUBLE_RESOURCES,
    TROUBLE_DEVICE,
    TROUBLES = TROUBLE_DEVICE + DEVICES_MAX
};

/*
 * Faults of kubelet 1.34:
 * - After an idle time it prepares no claim (Kubernetes issue 133920); fixed in 1.34.2.
 * - If a claim of a pod is already prepared, it skips the claims after that one in the pod's list
 *   of claims; fixed in 1.34.4.
 */
#define KUBELET_BUGS "v1.34."
#define KUBELET_IDLE_FIXED 2u
#define KUBELET_SKIPS_FIXED 4u

/*
 * The patch number of a kubelet from v1.34.0 to v1.34.9; UINT64_MAX: the kubelet has another
 * version.
 */
static uint64_t kubelet_patch(const struct agent *a)
{
    struct view version = view_text(node_facts(a)->kubelet_version);
    struct view patch = view_from(version, sizeof KUBELET_BUGS - 1u);
    uint64_t number = UINT64_MAX;
    /*
     * One digit of the patch number is enough: all faulty ones are below 10. A suffix is ignored.
     */
    bool good =
        view_starts(version, KUBELET_BUGS) &&
        (patch.len == 1u || (patch.len > 1u && (patch.data[1] < '0' || patch.data[1] > '9')));
    enum status s = good ? view_decimal(view_first(patch, 1), 9, &number) : PEER_MALFORMED;
    return (s == STATUS_OK) ? number : UINT64_MAX;
}

static bool has_trouble(const struct agent *a, unsigned trouble)
{
    bool has = false;
    if (trouble == TROUBLE_KUBELET_IDLE) {
        has = kubelet_patch(a) < KUBELET_IDLE_FIXED;
    } else if (trouble == TROUBLE_KUBELET_SKIPS) {
        has = kubelet_patch(a) < KUBELET_SKIPS_FIXED;
    } else if (trouble == (unsigned)TROUBLE_RESOURCES) {
        has = a->next != NULL && publish_lacks_resources(a->next);
    } else if (trouble >= (unsigned)TROUBLE_DEVICE) {
        has = memory_watch_has_text(a, trouble - TROUBLE_DEVICE);
    } else {
        has = api_forbidden(a, (enum api_kind)trouble);
    }
    return has;
}

static void write_trouble(const struct agent *a, unsigned trouble, struct writer *out)
{
    writer_text(out, TROUBLE_LINE);
    if (trouble < API_KINDS) {
        bool creates = trouble == (unsigned)API_WRITE_SLICE || trouble == (unsigned)API_WRITE_EVENT;
        WRITE(out,
              "the API server forbids the agent to %% %; allow it in the agent's ClusterRole, or "
              "see the log for the policy that denied it",
              TEXT(creates ? "create or " : ""), TEXT(metrics_verb((enum api_kind)trouble, false)),
              TEXT(metrics_resource((enum api_kind)trouble)));
        return;
    }
    if (trouble >= (unsigned)TROUBLE_DEVICE) {
        memory_watch_text(a, trouble - TROUBLE_DEVICE, out);
        return;
    }
    if (trouble == (unsigned)TROUBLE_RESOURCES) {
        writer_text(out, "the API server does not keep --efa-node-resources; see "
                         "node_resources_dropped in the agent's log");
        return;
    }
    WRITE(out, "kubelet %%", TEXT(node_facts(a)->kubelet_version),
          TEXT((trouble == TROUBLE_KUBELET_IDLE)
                   ? " prepares no claim after 30 idle minutes until it is restarted; update "
                     "it to 1.34.4"
                   : " skips claims of a pod that follow an already prepared one; update it "
                     "to 1.34.4"));
}

/*
 * Writes line number *left (from 0) of the lines about troubles, and returns true. If there are
 * fewer such lines, subtracts their number from *left and returns false.
 */
static bool write_troubles(const struct agent *a, unsigned *left, struct writer *out)
{
    for (unsigned i = 0; i < (unsigned)TROUBLES; i++) {
        bool has = has_trouble(a, i);
        if (has && *left == 0u) {
            write_trouble(a, i, out);
            return true;
        }
        *left -= has ? 1u : 0u;
    }
    return false;
}

/*
 * Writes line number *left (from 0) of the lines about deleted claims that are still held, and
 * returns true. If there are fewer such lines, subtracts their number from *left and returns false.
 */
static bool write_withheld(const struct agent *a, unsigned *left, struct writer *out)
{
    for (const struct agent *d = a; d != NULL; d = d->next) {
        for (unsigned slot = 0; slot < CLAIMS_MAX; slot++) {
            const struct claim_id *id = ledger_id(d, slot);
            if (!reconcile_withholds(d, slot)) {
                continue;
            }
            if (*left == 0u) {
                WRITE(out,
                      TROUBLE_LINE
                      "claim %/% is gone and stays held; once no container uses its devices: "
                      "neuron-dra-agent release %",
                      TEXT(id->namespace_), TEXT(id->name), TEXT(id->uid));
                return true;
            }
            (*left)--;
        }
    }
    return false;
}

/*
 * If the EFA driver still holds claims although --efa is off, writes a line about that and returns
 * true; else returns false.
 */
static bool write_kept(const struct agent *a, struct writer *out)
{
    const struct agent *e = a->next;
    if (e == NULL || !e->kept) {
        return false;
    }
    WRITE(out,
          TROUBLE_LINE
          "--efa is off, and the EFA driver % stays until its claims are unprepared, now %: end "
          "their pods, or switch draDriver.efa.enabled on again",
          TEXT(e->driver->name), NUMBER(ledger_held_count(e)));
    return true;
}

bool statusz_line(const struct agent *a, unsigned index, struct writer *out)
{
    unsigned left = index - VERSION_LINES;
    if (index < (unsigned)VERSION_LINES) {
        write_version(a, index, out);
        return true;
    }
    /*
     * The lines about devices come before the lines about troubles. The page is sent in several
     * pieces, and the number of troubles may change between two pieces: if the troubles came first,
     * this change would renumber the lines about devices, and the page could lack or repeat one.
     */
    if (write_device(a, &left, out) || write_troubles(a, &left, out)) {
        return true;
    }
    if (left == 0u && write_kept(a, out)) {
        return true;
    }
    left -= (a->next != NULL && a->next->kept) ? 1u : 0u;
    return write_withheld(a, &left, out) || node_drain_line(a, left, out);
}
