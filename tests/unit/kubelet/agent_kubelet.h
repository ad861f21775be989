/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kubelet's calls in tests of the whole agent, and what comes back. Header only, because each
 * test is one file.
 */
#ifndef TESTS_UNIT_AGENT_KUBELET_H
#define TESTS_UNIT_AGENT_KUBELET_H

#include "tests/unit/agent_harness.h"

/* --- connections --- */

/* `window`: what the peer announces as SETTINGS_INITIAL_WINDOW_SIZE. */
static struct peer *peer_open_as(enum link_kind kind, uint32_t window, uint32_t who)
{
    struct peer *p = NULL;
    for (unsigned i = 0; i < PEERS && p == NULL; i++) {
        p = world.peer[i].open ? NULL : &world.peer[i];
    }
    assert_non_null(p);
    memset(p, 0, sizeof *p);
    struct h2_memory memory = H2_MEMORY_OF(p, window);
    memory.table_size = 0;
    p->link = agent_link_open(world.agent, kind, who, world.now_ms);
    assert_true(p->link >= 0);
    p->open = true;
    p->cut = 4096;
    h2_init(&p->h2, H2_CLIENT, &memory, world.now_ms);
    settle();
    return p;
}

UNUSED_OK static struct peer *peer_open(enum link_kind kind, uint32_t window)
{
    return peer_open_as(kind, window, 0);
}

UNUSED_OK static struct peer *service_open(void)
{
    return peer_open(LINK_SERVICE, 65535);
}

/* The peer closes; the agent frees its link. */
UNUSED_OK static void peer_close(struct peer *p)
{
    agent_link_end(world.agent, (unsigned)p->link);
    world.poked = true;
    settle();
    assert_true(p->closed_by_agent);
}

/* --- calls --- */

/* Sends the header list of a call, with a grpc-timeout unless it is NULL; returns its stream. */
static uint32_t call_open(struct peer *p, const char *path, const char *timeout)
{
    uint32_t stream = 0;
    assert_int_equal(h2_open(&p->h2, 0, &stream), STATUS_OK);
    h2_headers_begin(&p->h2, stream);
    h2_header(&p->h2, ":method", view_text("POST"), false);
    h2_header(&p->h2, ":scheme", view_text("http"), false);
    h2_header(&p->h2, ":path", view_text(path), false);
    h2_header(&p->h2, ":authority", view_text("localhost"), false);
    h2_header(&p->h2, "content-type", view_text("application/grpc"), false);
    h2_header(&p->h2, "te", view_text("trailers"), false);
    if (timeout != NULL) {
        h2_header(&p->h2, "grpc-timeout", view_text(timeout), false);
    }
    assert_int_equal(h2_headers_end(&p->h2, false), STATUS_OK);
    return stream;
}

/* Sends a call that has so much time; nothing is stepped. */
UNUSED_OK static struct peer_call *call_send_within(struct peer *p, const char *path,
                                                    struct view message, const char *timeout)
{
    static uint8_t bytes[REPLY_MAX];
    struct peer_call *c = NULL;
    for (unsigned i = 0; i < PEER_CALLS && c == NULL; i++) {
        c = p->call[i].stream == 0 || p->call[i].ended ? &p->call[i] : NULL;
    }
    assert_non_null(c);
    uint32_t stream = call_open(p, path, timeout);
    memset(c, 0, offsetof(struct peer_call, bytes));
    c->stream = stream;
    c->status = -1;
    struct writer w = writer_of(bytes, sizeof bytes);
    writer_u8(&w, 0);
    writer_u32(&w, (uint32_t)message.len);
    writer_append(&w, message);
    assert_false(w.full);
    struct view left = writer_view(&w);
    while (left.len > 0) {
        struct view piece = view_first(left, h2_data_room(&p->h2, stream));
        left = view_from(left, piece.len);
        assert_int_equal(h2_data(&p->h2, stream, piece, left.len == 0), STATUS_OK);
        if (left.len > 0) {
            settle();
        }
    }
    return c;
}

static struct peer_call *call_send(struct peer *p, const char *path, struct view message)
{
    return call_send_within(p, path, message, NULL);
}

UNUSED_OK static void call_cancel(struct peer *p, struct peer_call *c)
{
    h2_reset(&p->h2, c->stream, H2_CANCEL);
    c->ended = true;
    c->reset = true;
    settle();
}

/* Message of a call that ended with status 0. */
static struct view call_reply_of(const struct peer_call *c)
{
    assert_true(c->ended && !c->reset);
    if (c->status != 0) {
        fail_msg("grpc-status %d: %s", c->status, c->text);
    }
    assert_int_equal(c->http, 200);
    assert_true(c->len >= 5 && c->bytes[0] == 0);
    struct reader in = reader_of(view_of(c->bytes + 1, 4));
    uint32_t len = 0;
    assert_int_equal(reader_u32(&in, &len), STATUS_OK);
    assert_int_equal(len, c->len - 5);
    return view_of(c->bytes + 5, c->len - 5);
}

/*
 * A call that must be answered without time passing, but for the first connection to the API
 * server: a claim that is held waits for it.
 */
UNUSED_OK static struct view call_now(struct peer *p, const char *path, struct view message)
{
    const struct peer_call *c = call_send(p, path, message);
    settle();
    if (!c->ended && api_pending(world.agent)) {
        pass(CLAIM_COMPARE_MS);
    }
    return call_reply_of(c);
}

UNUSED_OK static void call_refused(struct peer *p, const char *path, struct view message,
                                   int status)
{
    const struct peer_call *c = call_send(p, path, message);
    settle();
    assert_true(c->ended);
    assert_int_equal(c->status, status);
}

/* --- registration --- */

/* As the kubelet does it: GetInfo, then the verdict. */
UNUSED_OK static void register_driver(void)
{
    struct peer *p = peer_open(LINK_REGISTRATION, 65535);
    (void)call_now(p, "/pluginregistration.Registration/GetInfo", view_of(NULL, 0));
    (void)call_now(p, "/pluginregistration.Registration/NotifyRegistrationStatus",
                   view_of("\x08\x01", 2));
    peer_close(p);
}

/* World, agent, registration, slice: as on a node that has come up. */
UNUSED_OK static void node_up(void)
{
    start();
    register_driver();
    pass(2000);
}

/* --- claims --- */

/* Gives the first `count` devices their places in sysfs and among the device nodes. */
UNUSED_OK static void devices_placed(unsigned count)
{
    for (unsigned n = 0; n < count; n++) {
        world.found.devices[n].place = (struct device_place){.folder = 100 + n, .node = 1000 + n};
        disk.device[n] = world.found.devices[n].place;
    }
}

/* Claim `n` of the tests: one device of that number for request "req". */
UNUSED_OK static struct api_claim *claim_add(unsigned n)
{
    static char devices[API_CLAIMS][32];
    struct api_claim *c = &api.claim[n];
    assert_true(n < API_CLAIMS);
    memset(c, 0, sizeof *c);
    (void)snprintf(c->ns, sizeof c->ns, "ml");
    (void)snprintf(c->name, sizeof c->name, "claim-%u", n);
    (void)snprintf(c->uid, sizeof c->uid, "c1a10000-0000-4000-8000-%012u", n);
    (void)snprintf(devices[n], sizeof devices[n], "neuron-device-%u", n % 16);
    c->results = 1;
    c->result[0].request = "req";
    c->result[0].device = devices[n];
    return c;
}

/* A node that was up for a while, with claims 0 to 3 to prepare. */
UNUSED_OK static void node_up_for_a_while(void)
{
    world_new();
    for (unsigned n = 0; n < 4; n++) {
        (void)claim_add(n);
    }
    node_up();
    pass(20000);
    assert_true(publish_current(world.agent));
    log_forget();
    api_forget();
}

static void request_claim(struct writer *w, unsigned n)
{
    uint8_t bytes[512];
    char text[64];
    struct writer claim = writer_of(bytes, sizeof bytes);
    put_str(&claim, 1, "ml");
    (void)snprintf(text, sizeof text, "c1a10000-0000-4000-8000-%012u", n);
    put_str(&claim, 2, text);
    (void)snprintf(text, sizeof text, "claim-%u", n);
    put_str(&claim, 3, text);
    put_view(w, 1, writer_view(&claim));
}

/* Request for claims first … first+count-1; the same shape for prepare and unprepare. */
UNUSED_OK static struct view claims_request(unsigned first, unsigned count)
{
    static uint8_t bytes[16384];
    struct writer w = writer_of(bytes, sizeof bytes);
    for (unsigned i = 0; i < count; i++) {
        request_claim(&w, first + i);
    }
    return writer_view(&w);
}

/* Value of the entry of claim `n` in a reply; fails when there is none or more than one. */
UNUSED_OK static struct view entry_of(struct view reply, unsigned n)
{
    struct reader in = reader_of(reply);
    struct sim_field f;
    struct view value = {NULL, 0};
    char uid[64];
    unsigned found = 0;
    (void)snprintf(uid, sizeof uid, "c1a10000-0000-4000-8000-%012u", n);
    while (proto_next(&in, &f)) {
        assert_int_equal(f.number, 1);
        if (view_is(proto_get(f.bytes, 1).bytes, uid)) {
            value = proto_get(f.bytes, 2).bytes;
            found++;
        }
    }
    assert_int_equal(found, 1);
    return value;
}

/* Error text of claim `n` in a reply to prepare (field 2) or unprepare (field 1). */
static const char *error_at(struct view reply, unsigned n, unsigned field)
{
    static char text[1024];
    proto_text(entry_of(reply, n), field, text, sizeof text);
    return text;
}

UNUSED_OK static const char *prepare_error(struct view reply, unsigned n)
{
    return error_at(reply, n, 2);
}

UNUSED_OK static const char *unprepare_error(struct view reply, unsigned n)
{
    return error_at(reply, n, 1);
}

UNUSED_OK static struct disk_file *cdi_of(unsigned n)
{
    char name[DISK_NAME_CAP];
    (void)snprintf(name, sizeof name, "neuron.aws.com-claim_c1a10000-0000-4000-8000-%012u.json", n);
    return disk_find(FILES_CDI, name);
}

UNUSED_OK static struct disk_file *tombstone_of(unsigned n)
{
    char name[CDI_FILE_NAME_CAP];
    cdi_tombstone_name(DRIVER_NEURON, api.claim[n].uid, name);
    return disk_find(FILES_CDI, name);
}

/* The content of a file of less than a page, until the next call. */
UNUSED_OK static struct view file_content(const struct disk_file *f)
{
    static uint8_t bytes[DISK_PAGE];
    struct writer w = writer_of(bytes, sizeof bytes);
    assert_true(f != NULL && f->len < sizeof bytes);
    disk_get(f, 0, &w);
    return writer_view(&w);
}

/* Puts `len` times the same byte into a file from `offset` on. */
UNUSED_OK static void file_fill(struct disk_file *f, uint64_t offset, uint8_t byte, size_t len)
{
    static uint8_t bytes[STORE_FILE_BYTES];
    assert_true(f != NULL && len <= sizeof bytes);
    memset(bytes, byte, len);
    disk_set(f, offset, view_of(bytes, len));
}

/* Prepares claims through a new connection; the reply is copied. */
UNUSED_OK static struct view prepare_now(unsigned first, unsigned count)
{
    static uint8_t bytes[REPLY_MAX];
    struct peer *p = service_open();
    struct view reply = call_now(p, PREPARE, claims_request(first, count));
    memcpy(bytes, reply.data, reply.len);
    peer_close(p);
    return view_of(bytes, reply.len);
}

UNUSED_OK static void prepare_well(unsigned first, unsigned count)
{
    struct view reply = prepare_now(first, count);
    for (unsigned i = 0; i < count; i++) {
        assert_string_equal(prepare_error(reply, first + i), "");
        assert_non_null(cdi_of(first + i));
    }
}

UNUSED_OK static void unprepare_well(unsigned first, unsigned count)
{
    struct peer *p = service_open();
    struct view reply = call_now(p, UNPREPARE, claims_request(first, count));
    for (unsigned i = 0; i < count; i++) {
        assert_string_equal(unprepare_error(reply, first + i), "");
        assert_null(cdi_of(first + i));
    }
    peer_close(p);
}

/* Prepares claims as soon as the API server can be asked, at most seconds after a start. */
UNUSED_OK static struct view prepare_soon(unsigned first, unsigned count)
{
    static uint8_t bytes[REPLY_MAX];
    struct peer *p = service_open();
    const struct peer_call *c = call_send(p, PREPARE, claims_request(first, count));
    pass(3000);
    struct view reply = call_reply_of(c);
    memcpy(bytes, reply.data, reply.len);
    peer_close(p);
    return view_of(bytes, reply.len);
}

/* What the ledger holds, told from the table of the running agent. */
UNUSED_OK static unsigned held(void)
{
    unsigned n = 0;
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        n += world.agent->ledger->entry[i].state == LEDGER_HELD ? 1u : 0u;
    }
    assert_int_equal(n, world.agent->ledger->held);
    return n;
}

/* A node that has prepared the first `used` of eight claims; the others have no device. */
UNUSED_OK static void node_with_claims(unsigned used)
{
    world_new();
    for (unsigned n = 0; n < 8; n++) {
        (void)claim_add(n);
    }
    node_up();
    prepare_well(0, used);
    api.lists_claims = true;
    for (unsigned n = used; n < 8; n++) {
        api.claim[n].unallocated = true;
    }
}

UNUSED_OK static void up_again(void)
{
    start();
    register_driver();
    pass(3000 + REBUILD_SPREAD_MS);
}

UNUSED_OK static void lose_files(void)
{
    for (unsigned n = 0; n < 8; n++) {
        if (cdi_of(n) != NULL) {
            disk_unlink(cdi_of(n));
        }
    }
}

/* Claim 7 is allocated this device; empty: it gets it. */
UNUSED_OK static const char *error_of_rival(const char *device)
{
    struct peer *p = service_open();
    const struct peer_call *c = call_send(p, PREPARE, claims_request(7, 1));
    api.claim[7].unallocated = false;
    api.claim[7].result[0].device = device;
    pass(STORE_WAIT_MS + 1000u);
    const char *error = prepare_error(call_reply_of(c), 7);
    peer_close(p);
    return error;
}

/* Claims of nobody, so many that the list has two pages; what is stored later is on the second. */
UNUSED_OK static void fill_cluster(void)
{
    uint8_t bytes[256];
    char text[32];
    for (unsigned i = 0; i < CLAIM_LIST_PAGE; i++) {
        struct writer object = writer_of(bytes, sizeof bytes);
        (void)snprintf(text, sizeof text, "other-%u", i);
        put_meta(&object, text, "elsewhere", text, view_of(NULL, 0));
        assert_int_equal(sim_api_put(&server, SIM_CLAIM, writer_view(&object)), STATUS_OK);
    }
}

#endif
