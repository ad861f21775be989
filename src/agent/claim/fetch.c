/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GETs of claims: reads a ResourceClaim and passes it, piece by piece, to a claim builder. Owns the
 * table of fetches; fetch N uses the API slot API_SLOT_CLAIM_FIRST + N.
 */
#include "agent/claim/fetch.h"

#include "agent/api/retry.h"
#include "agent/api/version.h"
#include "agent/claim/room.h"
#include "agent/frame.h"
#include "base/assert.h"
#include "dra/metadata.h"
#include "generated/projection.pb.h"
#include "wire/decode.h"

/*
 * Whether a GET can be sent now. An API version must be chosen; if the server lacked the path of an
 * earlier GET in that version, the list of versions that the server offers must also have been
 * read.
 */
static bool may_ask(const struct agent *a, unsigned history)
{
    enum api_version version = version_now(a);
    bool unknown = (history & (1u << (unsigned)version)) != 0u;
    return version_readable(a) && !(unknown && !version_settled(a));
}

static unsigned slot_of(unsigned fetch)
{
    ASSERT(fetch < FETCHES_MAX);
    return (unsigned)API_SLOT_CLAIM_FIRST + fetch;
}

/* Returns the fetch whose request got this response. */
static struct fetch *fetch_of(struct agent *a, const struct api_result *r)
{
    unsigned fetch = (unsigned)r->slot - (unsigned)API_SLOT_CLAIM_FIRST;
    ASSERT(fetch < FETCHES_MAX && a->claim->fetch[fetch].state == FETCH_RUNNING);
    return &a->claim->fetch[fetch];
}

static int free_fetch(const struct agent *a)
{
    for (unsigned i = 0; i < FETCHES_MAX; i++) {
        if (a->claim->fetch[i].state == FETCH_FREE) {
            return (int)i;
        }
    }
    return -1;
}

struct fetch *fetch_at(struct agent *a, unsigned fetch)
{
    ASSERT(fetch < FETCHES_MAX);
    return &a->claim->fetch[fetch];
}

unsigned fetch_count_free(const struct agent *a)
{
    unsigned n = 0;
    for (unsigned i = 0; i < FETCHES_MAX; i++) {
        n += (a->claim->fetch[i].state == FETCH_FREE) ? 1u : 0u;
    }
    return n;
}

struct claim_builder *fetch_builder(struct agent *a, unsigned fetch)
{
    ASSERT(fetch < FETCHES_MAX && a->claim->fetch[fetch].state == FETCH_RUNNING);
    return &a->claim->fetch[fetch].builder;
}

struct claim_builder *fetch_begin(struct agent *a, unsigned fetch, const struct claim_id *id)
{
    struct claim_builder *b = fetch_builder(a, fetch);
    claim_begin(b, a->devices, a->driver->name, a->settings->node_name, id);
    /*
     * numbers that start at zero are for Neuron devices only, because EFA devices keep the kernel's
     * numbers
     */
    b->zero_numbering = a->settings->zero_numbering && driver_traits(a->driver->kind)->numbered;
    b->record.metadata = a->settings->device_metadata;
    return b;
}

int fetch_lend(struct agent *a, const struct api_request *r)
{
    int at = free_fetch(a);
    if (at < 0 || api_start(a, slot_of((unsigned)at), r) != STATUS_OK) {
        return -1;
    }
    a->claim->fetch[at].state = FETCH_RUNNING;
    return at;
}

bool fetch_send(struct agent *a, unsigned slot, enum api_kind kind, const struct claim_id *id,
                uint64_t limit_ms)
{
    char path[KUBE_PATH_CAP];
    struct writer out = writer_of(path, sizeof path);
    enum status s = kube_path_claim(&out, version_name(a), id->namespace_, id->name);
    ASSERT(s == STATUS_OK);
    const struct api_request r = {.kind = kind,
                                  .shape = KUBE_SHAPE_CLAIM,
                                  .version = version_now(a),
                                  .limit_ms = limit_ms,
                                  .head = {.method = "GET", .path = writer_view(&out)}};
    return api_start(a, slot, &r) == STATUS_OK;
}

int fetch_start(struct agent *a, const struct claim_id *id, unsigned history, uint64_t limit_ms)
{
    int at = free_fetch(a);
    if (at < 0 || !may_ask(a, history)) {
        return -1;
    }
    if (!fetch_send(a, slot_of((unsigned)at), API_GET_CLAIM, id, limit_ms)) {
        return -1;
    }
    struct fetch *f = &a->claim->fetch[at];
    f->state = FETCH_RUNNING;
    f->history = (uint8_t)history;
    (void)fetch_begin(a, (unsigned)at, id);
    return at;
}

void fetch_release(struct agent *a, unsigned fetch)
{
    ASSERT(fetch < FETCHES_MAX && a->claim->fetch[fetch].state != FETCH_FREE);
    if (a->claim->fetch[fetch].state == FETCH_RUNNING && api_slot_busy(a, slot_of(fetch))) {
        api_cancel(a, slot_of(fetch));
    }
    a->claim->fetch[fetch].state = FETCH_FREE;
}

/* --- handling records of the response to a GET --- */

static void feed_meta(struct claim_builder *b, struct view message)
{
    projection_MetaRecord m = projection_MetaRecord_init_zero;
    bool ok = decode(message, projection_MetaRecord_fields, &m);
    claim_meta(b, ok ? view_text(m.uid) : view_of(0, 0));
}

/* Fails the claim, because `what`, a part of its object, cannot be decoded; `why` is the reason. */
static void fail_unreadable(struct claim_builder *b, const char *what, const char *why)
{
    char text[CLAIM_ERROR_CAP];
    struct writer w = writer_of(text, sizeof text);
    writer_text(&w, what);
    writer_text(&w, " is not readable: ");
    writer_text(&w, why);
    enum status ended = writer_end_text(&w);
    ASSERT(ended == STATUS_OK);
    claim_malformed(b, text);
}

static void feed_result(struct claim_builder *b, const struct kube_record *record)
{
    projection_ResultRecord r = projection_ResultRecord_init_zero;
    const char *why = "a name is too long";
    if (record->truncated ||
        !decode_or_why(record->message, projection_ResultRecord_fields, &r, &why)) {
        fail_unreadable(b, "an allocation result", why);
        return;
    }
    const struct claim_result_in in = {
        .request = view_text(r.request),
        .driver = view_text(r.driver),
        .pool = view_text(r.pool),
        .device = view_text(r.device),
        .share_id = view_text(r.share_id),
        .admin_access = r.has_admin_access && r.admin_access,
    };
    claim_result_add(b, &in);
}

bool fetch_is_ours(const struct agent *a, struct view message)
{
    projection_ResultRecord r = projection_ResultRecord_init_zero;
    return decode(message, projection_ResultRecord_fields, &r) &&
           text_is(r.driver, a->driver->name) && text_is(r.pool, a->settings->node_name);
}

void fetch_annotation(struct view message, char pod_claim[NAMESPACE_CAP])
{
    projection_LabelRecord l = projection_LabelRecord_init_zero;
    if (decode(message, projection_LabelRecord_fields, &l)) {
        metadata_annotation(view_text(l.key), view_text(l.value), pod_claim);
    }
}

static void feed_capacity(struct claim_builder *b, struct view message)
{
    projection_LabelRecord l = projection_LabelRecord_init_zero;
    if (decode(message, projection_LabelRecord_fields, &l)) {
        claim_capacity(b, view_text(l.key), view_text(l.value));
    }
}

static void feed_consumer(struct claim_builder *b, struct view message)
{
    projection_ConsumerRecord r = projection_ConsumerRecord_init_zero;
    if (decode(message, projection_ConsumerRecord_fields, &r)) {
        claim_consumer(b, view_text(r.resource), view_text(r.name), view_text(r.uid));
    }
}

/* Reads a length-delimited field as a view of the bytes in the record, without copying them. */
static bool read_view(pb_istream_t *in, struct view *out)
{
    /* For a stream that reads a buffer, nanopb keeps the address of the next byte in `state`. */
    *out = view_of(in->state, in->bytes_left);
    return pb_read(in, 0, in->bytes_left);
}

static bool read_request(pb_istream_t *in, const pb_field_t *field, void **arg)
{
    struct claim_config_in *c = *arg;
    (void)field;
    if (c->requests >= CONFIG_REQUESTS_MAX) {
        return false;
    }
    bool ok = read_view(in, &c->request[c->requests]);
    c->requests++;
    return ok;
}

static bool read_parameters(pb_istream_t *in, const pb_field_t *field, void **arg)
{
    struct claim_config_in *c = *arg;
    (void)field;
    return read_view(in, &c->parameters);
}

/*
 * Whether each field of a configuration entry is length-delimited, as all that are known are. Of
 * any other field nanopb gives a callback a copy on its own stack, of which no view may be kept.
 */
static bool is_delimited(struct view message)
{
    pb_istream_t in = pb_istream_from_buffer(message.data, message.len);
    pb_wire_type_t type = PB_WT_STRING;
    uint32_t tag = 0;
    bool end = false;
    bool good = true;
    while (good && pb_decode_tag(&in, &type, &tag, &end)) {
        good = type == PB_WT_STRING && pb_skip_field(&in, type);
    }
    return good;
}

static void feed_config(struct claim_builder *b, const struct kube_record *record)
{
    projection_ConfigRecord r = projection_ConfigRecord_init_zero;
    struct claim_config_in in = {.truncated = record->truncated};
    const char *why = "a field has the wrong wire type or length";
    r.requests.funcs.decode = read_request;
    r.requests.arg = &in;
    r.parameters.funcs.decode = read_parameters;
    r.parameters.arg = &in;
    if (!is_delimited(record->message) ||
        !decode_or_why(record->message, projection_ConfigRecord_fields, &r, &why)) {
        fail_unreadable(b, "a configuration entry", why);
        return;
    }
    in.source = view_text(r.source);
    in.driver = view_text(r.driver);
    claim_config_add(b, &in);
}

void fetch_feed(struct claim_builder *b, const struct kube_record *record)
{
    switch (record->record) {
    case KUBE_ANNOTATION:
        if (b->record.metadata) {
            fetch_annotation(record->message, b->record.pod_claim);
        }
        break;
    case KUBE_META:
        feed_meta(b, record->message);
        break;
    case KUBE_RESULT_CAPACITY:
        feed_capacity(b, record->message);
        break;
    case KUBE_RESULT:
        feed_result(b, record);
        break;
    case KUBE_CONFIG:
        feed_config(b, record);
        break;
    case KUBE_ALLOCATION:
        claim_allocated(b);
        break;
    case KUBE_CONSUMER:
        feed_consumer(b, record->message);
        break;
    default:
        break; /* the claim builder needs no records of other kinds */
    }
}

/*
 * Reads the UltraServer files again, because their current values decide about a claim's
 * UltraServer mode: between two probes links may fail, or a leader election may start. If reading
 * fails, the values of the last probe stay.
 */
static void refresh_ultraserver(const struct agent *a, struct claim_builder *b)
{
    struct found_ultraserver found;
    struct ultraserver now;
    if (a->files->ultraserver(a->files->ctx, &found) == STATUS_OK) {
        (void)ultraserver_build(&now, &found, true);
        b->ultraserver = now;
    }
}

void fetch_record(struct agent *a, const struct api_result *r, const struct kube_record *record)
{
    struct claim_builder *b = &fetch_of(a, r)->builder;
    if (record->record == KUBE_CONFIG && b->configs == 0u && b->ultraserver.member) {
        refresh_ultraserver(a, b);
    }
    fetch_feed(b, record);
}

/* --- handling the end of a GET --- */

static void write_failure(const struct claim_id *id, const struct api_result *r, struct writer *why)
{
    enum status status = r->status;
    WRITE(why, "claim %/%", TEXT(id->namespace_), TEXT(id->name));
    if (status == PEER_NOT_FOUND) {
        writer_text(why, " not found on the API server");
        return;
    }
    writer_text(why, " cannot be read from the API server: ");
    if (status == PEER_TIMEOUT) {
        writer_text(why, "no response in time");
    } else if (status == PEER_REFUSED || status == PEER_UNSUPPORTED) {
        retry_refusal_write(r, why);
    } else if (status == PEER_CLOSED) {
        writer_text(why, "the server reset the request");
    } else {
        writer_text(why, "the response is not a readable ResourceClaim");
    }
}

/* Adds a bit to the history of a fetch. false: the history already had this bit. */
static bool first_time(struct fetch *f, unsigned bit)
{
    bool first = (f->history & bit) == 0u;
    f->history |= (uint8_t)bit;
    return first;
}

/*
 * Whether to repeat a failed GET at once. It is repeated if
 * - the whole connection ended: on the next connection;
 * - the server did not process the request: once;
 * - the server lacked the path: once for each API version.
 */
static bool is_repeated(const struct agent *a, struct fetch *f, const struct api_result *r)
{
    if (r->status == PEER_CLOSED) {
        return api_connection_ends(a) || (r->unprocessed && first_time(f, FETCH_UNPROCESSED));
    }
    return r->status == PEER_UNSUPPORTED && first_time(f, 1u << (unsigned)r->version);
}

/* Whether the failure of the GET is transient: a stream was reset, or the server is too busy. */
static bool is_transient(const struct api_result *r)
{
    return r->status == PEER_CLOSED || (r->status == PEER_REFUSED && retry_passes(r));
}

static void fail_fetch(struct fetch *f, const struct api_result *r)
{
    char *text = f->builder.why;
    f->state = is_transient(r) ? FETCH_TRANSIENT : FETCH_FAILED;
    f->retry_after_ms = api_retry_after_ms(r);
    f->whole = r->status == STATUS_OK;
    f->failed = (r->status == STATUS_OK) ? f->builder.failed : r->status;
    if (r->status != STATUS_OK) {
        struct writer why = writer_of(text, sizeof f->builder.why - 1u);
        write_failure(f->builder.wanted, r, &why);
        text[why.len] = '\0';
    }
    ASSERT(text[0] != '\0');
}

void fetch_end(struct agent *a, const struct api_result *r)
{
    struct fetch *f = fetch_of(a, r);
    if (is_repeated(a, f, r)) {
        f->state = FETCH_REPEAT;
    } else if (r->status == STATUS_OK && claim_end(&f->builder) == STATUS_OK) {
        f->state = FETCH_DONE;
    } else {
        fail_fetch(f, r);
    }
}
