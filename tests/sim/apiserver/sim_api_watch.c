/* SPDX-License-Identifier: Apache-2.0 */
/* Watches of the API server model: framed WatchEvents. See sim_api_internal.h. */
#include "base/assert.h"
#include "tests/sim/apiserver/sim_api_internal.h"

#define DEFAULT_WATCH_MS 1800000

/* False: there is no room for it now. */
static bool put_event(struct sim_stream *s, const char *type, struct view object)
{
    struct writer w = writer_of(s->out + s->out_len, sizeof s->out - s->out_len);
    sim_put_watch_event(&w, type, object);
    s->out_len += w.full ? 0 : w.len;
    return !w.full;
}

static bool put_object_event(struct sim_api *a, struct sim_stream *s, const char *type,
                             const struct sim_object *o)
{
    uint8_t bytes[SIM_REQUEST_BYTES];
    struct writer w = writer_of(bytes, sizeof bytes);
    sim_put_object(a, s, o, &w);
    ASSERT(!w.full);
    return put_event(s, type, writer_view(&w));
}

static void put_expired(struct sim_api *a, struct sim_stream *s)
{
    uint8_t bytes[2048];
    struct writer w = writer_of(bytes, sizeof bytes);
    sim_put_expired(a, &w);
    bool fits = put_event(s, "ERROR", writer_view(&w));
    ASSERT(fits);
}

static uint64_t next_bookmark(const struct sim_api *a, const struct sim_stream *s)
{
    bool never = a->config.timeless || !s->query.bookmarks;
    return never ? UINT64_MAX : a->now_ms + SIM_BOOKMARK_MS;
}

void sim_watch_begin(struct sim_api *a, struct sim_stream *s)
{
    uint64_t life = s->query.timeout_ms > 0 ? s->query.timeout_ms : DEFAULT_WATCH_MS;
    s->http = 200;
    s->content_type = "application/vnd.kubernetes.protobuf;stream=watch";
    s->state = SIM_STREAM_WATCHING;
    s->watch_end_ms = a->config.timeless ? UINT64_MAX : a->now_ms + life;
    s->bookmark_ms = next_bookmark(a, s);
    bool old = s->query.version > 0 && s->query.version < a->store.forgotten;
    if (old || sim_fault_meets(a, SIM_FAULT_EXPIRED, s)) {
        put_expired(a, s);
        s->last = true;
    }
}

/* What the watch is told of an object; NULL: nothing, it came and went in between. */
static const char *type_of(const struct sim_stream *s, const struct sim_object *o)
{
    bool fresh = o->created_version > s->query.version;
    if (o->state == SIM_DELETED) {
        return fresh ? NULL : "DELETED";
    }
    return fresh ? "ADDED" : "MODIFIED";
}

static void take_changes(struct sim_api *a, struct sim_stream *s)
{
    uint64_t told = s->query.version;
    bool room = true;
    const struct sim_object *o = sim_store_after(&a->store, s->target.kind, told);
    while (o != NULL && room) {
        const char *type = sim_selected(a, s, o) ? type_of(s, o) : NULL;
        room = type == NULL || put_object_event(a, s, type, o);
        told = room ? o->version : told;
        o = sim_store_after(&a->store, s->target.kind, told);
    }
    s->query.version = told;
}

void sim_watch_turn(struct sim_api *a, struct sim_stream *s)
{
    if (s->last || s->out_sent < s->out_len) {
        return;
    }
    s->out_len = 0;
    s->out_sent = 0;
    if (sim_fault_meets(a, SIM_FAULT_UNTOLD, s)) {
        s->query.version = a->store.version;
    }
    take_changes(a, s);
    if (a->now_ms >= s->watch_end_ms) {
        s->last = true;
    } else if (a->now_ms >= s->bookmark_ms && s->out_len == 0) {
        (void)put_object_event(a, s, "BOOKMARK", NULL);
        s->query.version = a->store.version;
        s->bookmark_ms = next_bookmark(a, s);
    }
}

uint64_t sim_watch_deadline(const struct sim_stream *s)
{
    if (s->last || s->out_sent < s->out_len) {
        return UINT64_MAX; /* waits for the peer's window, not for time */
    }
    return s->bookmark_ms < s->watch_end_ms ? s->bookmark_ms : s->watch_end_ms;
}

/* --- what the owner lets happen --- */

static bool watches(const struct sim_stream *s, enum sim_kind kind)
{
    return s->state == SIM_STREAM_WATCHING && s->target.kind == kind && !s->last;
}

void sim_api_expire(struct sim_api *a, enum sim_kind kind)
{
    for (unsigned i = 0; i < SIM_CONNECTIONS_MAX; i++) {
        for (unsigned n = 0; n < SIM_STREAMS_MAX; n++) {
            if (watches(&a->connection[i].stream[n], kind)) {
                put_expired(a, &a->connection[i].stream[n]);
            }
        }
    }
}

void sim_api_bookmark(struct sim_api *a, enum sim_kind kind)
{
    for (unsigned i = 0; i < SIM_CONNECTIONS_MAX; i++) {
        for (unsigned n = 0; n < SIM_STREAMS_MAX; n++) {
            struct sim_stream *s = &a->connection[i].stream[n];
            if (watches(s, kind)) {
                s->bookmark_ms = a->now_ms;
                sim_watch_turn(a, s);
            }
        }
    }
}

void sim_api_tell(struct sim_api *a, enum sim_kind kind, const char *type, const char *name)
{
    struct sim_object o = {.state = SIM_LIVE, .kind = kind, .version = a->store.version};
    text_cut(o.name, sizeof o.name, view_text(name));
    text_cut(o.uid, sizeof o.uid, view_text(name));
    for (unsigned i = 0; i < SIM_CONNECTIONS_MAX; i++) {
        for (unsigned n = 0; n < SIM_STREAMS_MAX; n++) {
            if (watches(&a->connection[i].stream[n], kind)) {
                bool fits = put_object_event(a, &a->connection[i].stream[n], type, &o);
                ASSERT(fits);
            }
        }
    }
}
