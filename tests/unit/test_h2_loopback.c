/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client engine against a server engine: many calls at once, bodies and windows of random size,
 * octets carried in random pieces. Every octet must come out where it belongs, every call must
 * end, no window may leak.
 */
#include "tests/unit/wire/h2_harness.h"

#define CALLS 80
#define BODY_MAX 150000u

struct call {
    uint32_t id;
    bool list_sent;
    size_t sent;
    size_t received;
    bool sent_all;
    bool received_all;
};

struct side {
    struct conn conn;
    struct call calls[CALLS]; /* by number: (id - 1) / 2 */
    unsigned opened;
    unsigned ended;
    unsigned pings;
};

static struct side client;
static struct side server;
static uint32_t seed;

static uint32_t roll(uint32_t below)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % below;
}

/* Lengths and contents follow from the stream, so that both sides know them. */
static size_t body_length(uint32_t id, bool request)
{
    uint32_t h = (id * 2654435761u) ^ (request ? 0x9e3779b9u : 0x7f4a7c15u);
    uint32_t kind = h % 4;
    return kind == 0 ? 0 : kind == 1 ? h / 4 % 50 : kind == 2 ? h / 4 % 5000 : h / 4 % BODY_MAX;
}

static uint8_t body_octet(uint32_t id, bool request, size_t at)
{
    return (uint8_t)(id * 7 + at * 13 + (at >> 8) + (request ? 1 : 0));
}

static bool is_client(const struct side *s)
{
    return s == &client;
}

static void end_half(struct side *s, const struct call *k)
{
    s->ended += k->sent_all && k->received_all;
}

static void on_data(struct side *s, struct call *k, const struct h2_event *e)
{
    bool request = !is_client(s);
    for (size_t i = 0; i < e->data.len; i++) {
        assert_int_equal(e->data.data[i], body_octet(e->stream, request, k->received + i));
    }
    k->received += e->data.len;
}

static void on_event(struct side *s, const struct h2_event *e)
{
    if (e->kind == H2_EVENT_PING_ACK) {
        s->pings--;
        return;
    }
    if (e->kind == H2_EVENT_WRITABLE) {
        return;
    }
    assert_in_range(e->stream, 1, 2 * CALLS);
    struct call *k = &s->calls[(e->stream - 1) / 2];
    assert_true(e->kind != H2_EVENT_RESET && e->kind != H2_EVENT_GOAWAY);
    if (e->kind == H2_EVENT_HEADERS_END && k->id == 0) {
        k->id = e->stream;
        h2_set_tag(&s->conn.h2, k->id, TAG_BASE + k->id);
        s->opened++;
    } else if (e->kind == H2_EVENT_DATA) {
        assert_int_equal(e->tag, TAG_BASE + e->stream);
        on_data(s, k, e);
    }
    if (e->kind != H2_EVENT_FIELD && e->end_stream) {
        assert_int_equal(k->received, body_length(k->id, !is_client(s)));
        k->received_all = true;
        end_half(s, k);
    }
}

static void take_events(struct side *s)
{
    struct h2_event event;
    enum status result;
    while ((result = h2_next(&s->conn.h2, &event)) == STATUS_OK) {
        on_event(s, &event);
        assert_true(h2_valid(&s->conn.h2));
    }
    assert_int_equal(result, STATUS_MORE);
}

static bool send_list_first(struct side *s, struct call *k)
{
    if (!k->list_sent && h2_headers_room(&s->conn.h2, k->id) >= 200) {
        assert_int_equal(send_list(&s->conn, k->id, false), STATUS_OK);
        k->list_sent = true;
    }
    return k->list_sent;
}

/* Sends a random part of what is left of one call. */
static void send_some(struct side *s, struct call *k)
{
    static uint8_t data[H2_SERVER_TX_BYTES];
    if (!send_list_first(s, k)) {
        return;
    }
    bool request = is_client(s);
    size_t left = body_length(k->id, request) - k->sent;
    size_t room = h2_data_room(&s->conn.h2, k->id);
    size_t n = left < room ? left : room;
    n = n > 1 && roll(3) == 0 ? 1 + roll((uint32_t)n) : n;
    for (size_t i = 0; i < n; i++) {
        data[i] = body_octet(k->id, request, k->sent + i);
    }
    bool end = n == left;
    if (n == 0 && !end) {
        return;
    }
    enum status result = h2_data(&s->conn.h2, k->id, view_of(data, n), end);
    if (result == STATUS_OK) {
        k->sent += n;
        k->sent_all = end;
    }
    if (k->sent_all) {
        end_half(s, k);
    }
}

static void open_call(struct side *s)
{
    uint32_t id = 0;
    if (s->opened == CALLS || h2_open(&s->conn.h2, 0, &id) != STATUS_OK) {
        return;
    }
    if (h2_headers_room(&s->conn.h2, id) < 200) {
        h2_reset(&s->conn.h2, id, H2_CANCEL); /* it was never seen: its number comes again */
        return;
    }
    struct call *k = &s->calls[(id - 1) / 2];
    k->id = id;
    h2_set_tag(&s->conn.h2, id, TAG_BASE + id);
    assert_int_equal(send_list(&s->conn, id, false), STATUS_OK);
    k->list_sent = true;
    s->opened++;
}

static void act(struct side *s)
{
    if (is_client(s)) {
        open_call(s);
    }
    uint32_t first = roll(CALLS);
    for (uint32_t i = 0; i < CALLS; i++) {
        struct call *k = &s->calls[(first + i) % CALLS];
        if (k->id != 0 && !k->sent_all) {
            send_some(s, k);
        }
    }
    if (roll(10) == 0 && s->pings == 0 && h2_ping(&s->conn.h2) == STATUS_OK) {
        s->pings++;
    }
}

/* Carries a random number of octets from one side to the other. */
static size_t carry(struct side *from, struct side *to)
{
    struct view sent = h2_tx_data(&from->conn.h2);
    struct writer space = h2_rx_space(&to->conn.h2);
    size_t n = sent.len < space.cap ? sent.len : space.cap;
    if (n == 0) {
        return 0;
    }
    n = roll(4) == 0 ? n : 1 + roll((uint32_t)n);
    memcpy(space.data, sent.data, n);
    h2_rx_commit(&to->conn.h2, n);
    h2_tx_commit(&from->conn.h2, n);
    return n;
}

static void side_init(struct side *s, enum h2_role role)
{
    size_t rx_cap = H2_RX_BYTES_MIN + roll(H2_SERVER_RX_BYTES - H2_RX_BYTES_MIN + 1);
    uint32_t window = roll(3) == 0 ? 1 + roll(100) : 1 + roll(100000);
    memset(s->calls, 0, sizeof s->calls);
    s->opened = 0;
    s->ended = 0;
    s->pings = 0;
    conn_init_sized(&s->conn, role, rx_cap, window);
}

static void check_end(const struct side *s)
{
    const struct h2 *h2 = &s->conn.h2;
    assert_int_equal(s->ended, CALLS);
    assert_int_equal(h2_streams_open(h2), 0);
    assert_int_equal(h2->recv_window + h2->consumed, 65535);
    assert_true(hpack_valid(&h2->hpack));
}

static void run(uint32_t first_seed)
{
    seed = first_seed;
    uint64_t now = 0;
    side_init(&client, H2_CLIENT);
    side_init(&server, H2_SERVER);
    for (unsigned round = 0; round < 4000000; round++) {
        if (client.ended == CALLS && server.ended == CALLS &&
            h2_tx_data(&client.conn.h2).len + h2_tx_data(&server.conn.h2).len == 0) {
            break;
        }
        /* Tiny windows need many WINDOW_UPDATEs: let the credit come back as time would. */
        now += 50;
        h2_set_time(&client.conn.h2, now);
        h2_set_time(&server.conn.h2, now);
        act(&client);
        act(&server);
        size_t moved = carry(&client, &server);
        take_events(&server);
        moved += carry(&server, &client);
        take_events(&client);
        if (moved == 0) { /* output freed above may let waiting input go on */
            take_events(&server);
            take_events(&client);
        }
    }
    check_end(&client);
    check_end(&server);
    /* What one side still may send is what the other still grants. */
    assert_int_equal(client.conn.h2.send_window, server.conn.h2.recv_window);
    assert_int_equal(server.conn.h2.send_window, client.conn.h2.recv_window);
}

static void calls_in_random_pieces(void **state)
{
    (void)state;
    for (uint32_t s = 1; s <= 12; s++) {
        run(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(calls_in_random_pieces)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
