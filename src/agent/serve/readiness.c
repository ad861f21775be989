/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Derives readiness, and the reasons against it, from the state of other modules. Changes no state.
 *
 * Ready means that a claim that is allocated now would be prepared. So an agent that does not own
 * the claim store is not ready, with one exception: the owner is an agent of an older release. Such
 * an agent does not hand the store over, and a rolling update ends it only when this agent is
 * ready.
 *
 * Ready also means that no other program gives out the devices of that claim. While a device plugin
 * runs on the node, a device could be given to two pods without an error at first. So the agent is
 * not ready then, and the rollout of its DaemonSet stops at the first such node. Nevertheless the
 * agent prepares and unprepares claims as usual. While another driver of the same name runs on the
 * node, the agent is not ready either, and does not write the slices.
 */
#include "agent/serve/readiness.h"

#include "agent/frame.h"
#include "agent/ledger/handover.h"
#include "agent/ledger/ledger.h"
#include "agent/node/inventory.h"
#include "agent/publish/publish.h"
#include "agent/recovery/reconcile.h"
#include "agent/recovery/unlisted.h"
#include "agent/serve/room.h"
#include "agent/troubles.h"

enum {
    REASON_STOPPING,
    REASON_REGISTRATION,
    REASON_SERVICE,
    REASON_STORE,
    REASON_CDI,
    REASON_CDI_FILE,
    REASON_DEVICES,
    REASON_MISSING, /* devices were found before and are missing now */
    /* the node's instance family is refused: none of its devices is published */
    REASON_REFUSED_TYPE,
    REASON_DEVICE_PLUGIN,
    /* another driver of the same name runs on the node and writes the slices */
    REASON_OTHER_DRIVER,
    REASON_SLICES,
    /*
     * the API server cannot be asked; given only together with REASON_SLICES, as the cause of that
     * reason
     */
    REASON_API,
    REASON_CLAIMS, /* the list of this node's claims has not been read from the API server yet */
    REASONS
};

/* Whether the claim store would accept another claim. */
static bool accepts_claims(const struct agent *a)
{
    return ledger_is_usable(a) && ledger_failing(a) == STATUS_OK && !ledger_full(a);
}

/*
 * Whether the stored slices differ from those that this agent must publish. The agent publishes no
 * slices while another process owns the store or another driver of the same name runs on the node.
 */
static bool lacks_slices(const struct agent *a)
{
    return !ledger_is_busy(a) && a->other_driver[0] == '\0' && !publish_current(a);
}

/*
 * Whether this driver's devices are not published because of the instance family of the node. That
 * concerns Neuron devices only: EFA devices are published on any node.
 */
static bool is_refused_type(const struct agent *a)
{
    return a->driver->kind == DRIVER_NEURON && devices_refusal(a->devices) != NULL;
}

/*
 * The reasons against readiness, one bit for each reason. A driver that is switched off and only
 * keeps its claims has no reasons.
 */
static unsigned reason_bits(const struct agent *a)
{
    if (a->ending) {
        return 0;
    }
    bool owner = !ledger_is_busy(a);
    bool other = a->other_driver[0] != '\0';
    bool slices = lacks_slices(a);
    const bool holds[REASONS] = {
        [REASON_STOPPING] = a->stopping,
        [REASON_REGISTRATION] = !a->serve->registration.registered,
        [REASON_SERVICE] = a->service_lost,
        [REASON_STORE] = owner ? !accepts_claims(a) : !handover_is_older(a),
        [REASON_CDI] = owner && ledger_cdi_remedy(a) != NULL,
        [REASON_CDI_FILE] = owner && ledger_is_usable(a) && !reconcile_is_complete(a),
        [REASON_DEVICES] = a->devices->unknown,
        [REASON_MISSING] = inventory_is_missing(a),
        [REASON_REFUSED_TYPE] = is_refused_type(a),
        [REASON_DEVICE_PLUGIN] = a->device_plugin[0] != '\0',
        [REASON_OTHER_DRIVER] = other,
        [REASON_SLICES] = slices,
        [REASON_API] = slices && !(api_ready(a) && version_ready(a)),
        [REASON_CLAIMS] = unlisted_blocks(a),
    };
    unsigned mask = 0;
    for (unsigned i = 0; i < (unsigned)REASONS; i++) {
        mask |= holds[i] ? 1u << i : 0u;
    }
    return mask;
}

bool agent_ready(const struct agent *a)
{
    bool ready = true;
    for (const struct agent *d = a; d != NULL; d = d->next) {
        ready = ready && reason_bits(d) == 0u;
    }
    return ready;
}

static void write_registration(const struct agent *a, struct writer *out)
{
    const struct registration *r = &a->serve->registration;
    writer_text(out, "the kubelet has not registered the driver: ");
    if (r->last_error[0] != '\0') {
        writer_text(out, r->last_error);
    } else {
        writer_text(out, r->asked ? "the kubelet called GetInfo and has reported nothing since"
                                  : "the kubelet has not connected to the registration socket");
    }
}

static void write_reason(const struct agent *a, unsigned reason, struct writer *out)
{
    switch (reason) {
    case REASON_STOPPING:
        writer_text(out, "the agent is stopping");
        break;
    case REASON_REGISTRATION:
        write_registration(a, out);
        break;
    case REASON_SERVICE:
        WRITE(out, "the kubelet cannot connect: this process has no service socket %",
              TEXT(a->driver->service_socket));
        break;
    case REASON_STORE:
        writer_text(out, (ledger_is_usable(a) && ledger_failing(a) == STATUS_OK)
                             ? "all slots of the claim store are in use"
                             : ledger_trouble(a));
        break;
    case REASON_CDI:
        WRITE(out, "CDI files cannot be written to %; %", TEXT(a->settings->cdi_root),
              TEXT(ledger_cdi_remedy(a)));
        break;
    case REASON_CDI_FILE:
        reconcile_reason(a, out);
        break;
    case REASON_DEVICES:
        writer_text(out, "the devices of the node are not known: the sysfs root cannot be read");
        break;
    case REASON_MISSING:
        WRITE(out,
              "the last probe found none of the node's devices: is the kernel module % loaded?",
              TEXT(driver_traits(a->driver->kind)->module));
        break;
    case REASON_REFUSED_TYPE:
        trouble_refused_type(a->devices, out);
        break;
    case REASON_DEVICE_PLUGIN:
        trouble_device_plugin(a->settings, a->driver->kind, a->device_plugin, out);
        break;
    case REASON_OTHER_DRIVER:
        trouble_other_driver(a->driver->name, a->other_driver, out);
        break;
    case REASON_SLICES:
        WRITE(out, "the stored ResourceSlices are not confirmed as up to date: %",
              TEXT(publish_reason(a)));
        break;
    case REASON_API:
        WRITE(out, "the API server cannot be asked: %", TEXT(version_waits_for(a)));
        break;
    default:
        unlisted_reason(a, out);
        break;
    }
}

bool ready_reason(const struct agent *a, unsigned index, struct writer *out)
{
    unsigned left = index;
    for (unsigned i = 0; i < (unsigned)REASONS * DRIVERS; i++) {
        bool other = i >= (unsigned)REASONS;
        const struct agent *d = other ? a->next : a;
        unsigned mask = (d != NULL) ? reason_bits(d) : 0u;
        unsigned reason = i % (unsigned)REASONS;
        if ((mask >> reason & 1u) != 0u && left == 0u) {
            if (a->next != NULL) {
                WRITE(out, "%: ", TEXT(d->driver->name));
            }
            write_reason(d, reason, out);
            return true;
        }
        left -= mask >> reason & 1u;
    }
    return false;
}
