/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers of the publisher's requests and of its watch, record by record: what is stored, and
 * whether it is what we want. Owns `now`, `seen`, `watch_now` and the comparisons of struct
 * publish.
 */
#include "wire/decode.h"
#include "agent/api/retry.h"
#include "agent/publish/publish_internal.h"
#include "base/assert.h"
#include "base/crc32c.h"
#include "generated/projection.pb.h"

/* --- one slice, from its pieces --- */

struct slice_parts {
    struct slice_seen *seen;
    struct slice_compare *compare;
};

/* Nothing of an object that came before may be taken for a part of the next one. */
static void slice_begin(const struct agent *a, struct slice_parts t)
{
    memset(t.seen, 0, sizeof *t.seen);
    slice_compare_begin(t.compare, &a->publish.wanted);
}

static void slice_meta(const struct agent *a, struct slice_parts t,
                       const struct kube_record *record)
{
    projection_MetaRecord m = projection_MetaRecord_init_zero;
    slice_begin(a, t);
    if (record->truncated || !decode(record->message, projection_MetaRecord_fields, &m)) {
        return; /* a slice without a name is never ours to touch */
    }
    text_cut(t.seen->name, sizeof t.seen->name, view_text(m.name));
    text_cut(t.seen->uid, sizeof t.seen->uid, view_text(m.uid));
    text_cut(t.seen->resource_version, sizeof t.seen->resource_version,
             view_text(m.resource_version));
    text_cut(t.seen->owner_uid, sizeof t.seen->owner_uid, view_text(m.owner_uid));
    t.seen->going = m.has_deletion_seconds;
}

static void slice_attribute(struct slice_parts t, struct view message)
{
    projection_AttributeRecord r = projection_AttributeRecord_init_zero;
    struct attribute stored = {.type = ATTRIBUTE_INT};
    bool ok = decode(message, projection_AttributeRecord_fields, &r) && !(r.has_extra && r.extra);
    text_cut(stored.key, sizeof stored.key, view_text(ok ? r.key : ""));
    if (r.has_int_value) {
        stored.number = r.int_value;
    } else if (r.has_bool_value) {
        stored.type = ATTRIBUTE_BOOL;
        stored.number = r.bool_value ? 1 : 0;
    } else if (r.has_string_value) {
        stored.type = ATTRIBUTE_STRING;
        text_cut(stored.text, sizeof stored.text, view_text(r.string_value));
    } else if (r.has_version_value) {
        stored.type = ATTRIBUTE_VERSION;
        text_cut(stored.text, sizeof stored.text, view_text(r.version_value));
    } else {
        stored.key[0] = 0; /* a kind of value that we never write */
    }
    slice_compare_attribute(t.compare, &stored);
}

static void slice_device(struct slice_parts t, struct view message, bool begins)
{
    projection_DeviceRecord r = projection_DeviceRecord_init_zero;
    bool ok = decode(message, projection_DeviceRecord_fields, &r);
    if (begins) {
        slice_compare_name(t.compare, view_text(ok ? r.name : ""));
    } else {
        slice_compare_device(t.compare, !ok || (r.has_extra && r.extra));
    }
}

static void slice_spec(const struct agent *a, struct slice_parts t, struct view message)
{
    projection_SliceSpecRecord r = projection_SliceSpecRecord_init_zero;
    if (!decode(message, projection_SliceSpecRecord_fields, &r)) {
        return;
    }
    const char *node = a->settings->node_name;
    struct slice_seen *seen = t.seen;
    seen->generation = r.pool_generation;
    seen->slice_count = r.slice_count;
    seen->selected =
        view_is(view_text(r.driver), DRIVER_NAME) && view_is(view_text(r.node_name), node);
    seen->ours = seen->selected && view_is(view_text(r.pool_name), node);
    seen->plain = !(r.has_extra && r.extra) && !(r.has_all_nodes && r.all_nodes);
    seen->same = slice_compare_end(t.compare);
    seen->first = t.compare->first;
    seen->count = t.compare->count;
    seen->sum = crc32c(seen->sum + (seen->plain ? 1u : 0u), view_text(seen->owner_uid));
}

/* true: the record was a piece of a slice. */
static bool slice_record(const struct agent *a, struct slice_parts t,
                         const struct kube_record *record)
{
    t.seen->sum = crc32c(t.seen->sum, record->message);
    switch (record->record) {
    case KUBE_META:
        slice_meta(a, t, record);
        return true;
    case KUBE_SLICE_ATTRIBUTE:
        slice_attribute(t, record->message);
        return true;
    case KUBE_SLICE_NAME:
    case KUBE_SLICE_DEVICE:
        slice_device(t, record->message, record->record == KUBE_SLICE_NAME);
        return true;
    case KUBE_SLICE_SPEC:
        slice_spec(a, t, record->message);
        return true;
    default:
        return false;
    }
}

/* --- the list --- */

static void see_generation(struct publish *p, const struct slice_seen *s)
{
    p->generation_max = (s->generation > p->generation_max) ? s->generation : p->generation_max;
}

/*
 * A slice of the list that is another driver's or node's shows a server that ignores selectors: it
 * is not ours to touch.
 */
static void list_item_end(struct publish *p)
{
    const struct slice_seen *s = &p->now;
    if (s->name[0] == '\0' || !s->ours) {
        p->selector_ignored = p->selector_ignored || (s->name[0] != '\0' && !s->selected);
        return;
    }
    see_generation(p, s);
    if (s->going) {
        return; /* gone as soon as its finalizers are: there is nothing left to do */
    }
    if (p->seen_count >= SLICES_SEEN_MAX) {
        p->overflow++;
        return;
    }
    p->seen[p->seen_count] = *s;
    p->seen_count++;
}

static void list_meta(struct publish *p, struct view message)
{
    projection_ListMetaRecord m = projection_ListMetaRecord_init_zero;
    if (decode(message, projection_ListMetaRecord_fields, &m)) {
        text_cut(p->resource_version, sizeof p->resource_version, view_text(m.resource_version));
        p->partial = m.continue_token[0] != '\0';
    }
}

/* --- the watch --- */

static void watch_type(struct publish *p, struct view message)
{
    projection_WatchTypeRecord t = projection_WatchTypeRecord_init_zero;
    bool ok = decode(message, projection_WatchTypeRecord_fields, &t);
    text_cut(p->watch_type, sizeof p->watch_type, view_text(ok ? t.type : ""));
    memset(&p->watch_now, 0, sizeof p->watch_now);
}

static void watch_repair(struct agent *a, const char *what)
{
    if (a->publish.current) { /* said when it begins, however often it is touched until a round */
        log_begin(a, LOG_ID_SLICE_DRIFT_DETECTED);
        log_text(a, "slice", a->publish.watch_now.name);
        log_text(a, "what", what);
        log_end(a);
    }
    publish_hint(a, SLICE_REPAIR_MS);
}

/* The part that a slice of that name is; NULL: none. */
static const struct slice_part *part_named(const struct publish *p, const char *name)
{
    for (unsigned i = 0; i < p->parts; i++) {
        if (view_is(view_text(name), p->part[i].kept.name)) {
            return &p->part[i];
        }
    }
    return NULL;
}

/* A stored slice of ours that is not as wanted, or one too many. */
static void watch_judge(struct agent *a, const struct slice_part *part)
{
    struct publish *p = &a->publish;
    const struct slice_seen *s = &p->watch_now;
    bool right = part != NULL && !s->going && publish_fits(p, part, s) &&
                 s->generation == p->generation && s->slice_count == (int64_t)p->parts;
    see_generation(p, s);
    if (right || (part == NULL && s->going)) {
        return;
    }
    if (p->step == PUBLISH_IDLE) {
        watch_repair(a, (part == NULL) ? "doubled" : "changed");
    } else {
        publish_hint(a, SLICE_REPAIR_MS); /* perhaps our own write, or the state before it */
    }
}

static void watch_object_end(struct agent *a)
{
    struct publish *p = &a->publish;
    const struct slice_seen *s = &p->watch_now;
    struct view type = view_text(p->watch_type);
    if (s->resource_version[0] != '\0') {
        text_cut(p->resource_version, sizeof p->resource_version, view_text(s->resource_version));
    }
    if (view_is(type, "BOOKMARK") || s->name[0] == '\0') {
        return;
    }
    const struct slice_part *part = part_named(p, s->name);
    if (!view_is(type, "DELETED")) {
        if (s->ours) {
            watch_judge(a, part);
        }
    } else if (part != NULL) {
        watch_repair(a, "deleted");
    } else if (p->step == PUBLISH_WRITE) {
        /* perhaps the very slice whose creation is not answered */
        publish_hint(a, SLICE_REPAIR_MS);
    }
}

void publish_watch_record(struct agent *a, const struct api_result *r,
                          const struct kube_record *record)
{
    struct publish *p = &a->publish;
    const struct slice_parts parts = {.seen = &p->watch_now, .compare = &p->watch_compare};
    if (slice_record(a, parts, record)) {
        return;
    }
    if (record->record == KUBE_WATCH_EVENT) {
        watch_type(p, record->message);
    } else if (record->record == KUBE_OBJECT_END) {
        watch_object_end(a);
        slice_begin(a, parts);
    } else if (record->record == KUBE_STATUS && r->http == HTTP_OK) {
        /*
         * An ERROR event: the version is too old, or the server gave up. Its end follows; do not
         * wait for it.
         */
        publish_hint(a, retry_watch_wait(a, r, &p->watch_backoff_ms));
        p->watch_due_ms = UINT64_MAX;
        api_cancel(a, API_SLOT_SLICE_WATCH);
    }
}

/* The answer to a list or a write. */
static void slices_record(struct agent *a, const struct kube_record *record)
{
    struct publish *p = &a->publish;
    const struct slice_parts parts = {.seen = &p->now, .compare = &p->compare};
    if (slice_record(a, parts, record) || p->step == PUBLISH_WRITE) {
        return;
    }
    if (record->record == KUBE_OBJECT_END) {
        list_item_end(p);
        slice_begin(a, parts);
    } else if (record->record == KUBE_LIST_META) {
        list_meta(p, record->message);
    }
}

/* The first cause of a refusal goes into the log line; any may tell that devices are too many. */
static void take_cause(struct publish *p, struct view message)
{
    projection_StatusRecord r = projection_StatusRecord_init_zero;
    if (!decode(message, projection_StatusRecord_fields, &r)) {
        return;
    }
    p->too_many = p->too_many || view_is(view_text(r.details_name), "spec.devices");
    if (p->cause[0] == '\0') {
        text_cut(p->cause, sizeof p->cause, view_text(r.message));
        text_cut(p->field, sizeof p->field, view_text(r.details_name));
    }
}

void publish_record(struct agent *a, const struct api_result *r, const struct kube_record *record)
{
    enum publish_step step = a->publish.step;
    ASSERT(r->slot == API_SLOT_SLICES);
    if (record->record == KUBE_STATUS_CAUSE) {
        take_cause(&a->publish, record->message);
    } else if (step == PUBLISH_LIST || step == PUBLISH_WRITE) {
        slices_record(a, record);
    }
}
