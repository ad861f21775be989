/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/1 requests. Checks of src/wire/http1.h: I1 to I5; I5 with a reading of its own of every
 * request that was accepted.
 *
 * The first byte says what follows the requests (the end of the input, time, giving way) and how
 * long the page is; all others are what the peer sends.
 *
 * Input: what follows and how long the page is, then HTTP/1 requests
 */
#include "tests/fuzz/fuzz.h"
#include "wire/http1.h"

enum after { AFTER_NOTHING, AFTER_END, AFTER_TIME, AFTER_YIELD };

struct run {
    struct http1 h;
    uint64_t now_ms;
    size_t body; /* octets of each page */
    bool hold;   /* output leaves in pieces */
    bool exact;  /* octets come one by one: where a request ends is known */
    struct fuzz_cuts out;
    struct fuzz_sum requests;
    struct fuzz_sum sent;
    uint64_t sent_len;
    unsigned count;
    size_t begin; /* of the request under way, in the input */
    enum status failed;
};

/* --- output and answers --- */

static void drain(struct run *r, bool all)
{
    struct view out = http1_tx_data(&r->h);
    CHECK(out.len <= HTTP1_TX_BYTES);
    out = all ? out : view_first(out, fuzz_cut(&r->out, out.len));
    fuzz_sum_bytes(&r->sent, out.data, out.len);
    r->sent_len += out.len;
    http1_tx_commit(&r->h, out.len);
}

static void write_body(struct run *r)
{
    size_t left = r->body;
    /* each round sends or writes something */
    while (left > 0u && r->h.phase == HTTP1_RESPONDING) {
        struct writer room = http1_body_space(&r->h);
        CHECK(room.cap <= HTTP1_TX_BYTES && room.len == 0u);
        size_t n = (left < room.cap) ? left : room.cap;
        if (n > 0u) {
            memset(room.data, 'b', n);
        }
        http1_body_commit(&r->h, n);
        left -= n;
        CHECK(n > 0u || http1_tx_data(&r->h).len > 0u);
        drain(r, !r->hold);
    }
    http1_body_end(&r->h);
}

static void answer(struct run *r, struct view path)
{
    bool known = view_is(path, "/metrics");
    CHECK(path.len < HTTP1_PATH_CAP && (path.len == 0u || path.data[0] == '/'));
    fuzz_sum_view(&r->requests, path);
    r->count++;
    if (http1_respond(&r->h, known ? HTTP1_OK : HTTP1_NOT_FOUND, "text/plain")) {
        write_body(r);
    }
}

/* --- requests --- */

/* One line behind *at without its CRLF; false when there is none. */
static bool take_line(struct view *rest, struct view *line)
{
    for (size_t i = 0; i + 1u < rest->len; i++) {
        if (rest->data[i] == '\r' && rest->data[i + 1u] == '\n') {
            *line = view_first(*rest, i);
            *rest = view_from(*rest, i + 2u);
            return true;
        }
        CHECK(rest->data[i] != '\r' && rest->data[i] != '\n' && rest->data[i] != 0u);
    }
    return false;
}

static bool name_is(struct view line, const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < len; i++) {
        if (i >= line.len || (line.data[i] | 0x20u) != (uint8_t)(name[i] | 0x20)) {
            return false;
        }
    }
    return line.len > len && line.data[len] == ':';
}

static void check_field(struct view line)
{
    size_t colon = view_find(line, ':');
    CHECK(colon < line.len && colon > 0u && line.data[colon - 1u] != ' ');
    CHECK(line.data[0] != ' ' && line.data[0] != '\t' && !name_is(line, "transfer-encoding"));
}

/* Behind a request line: fields that read in one way only, and how many of those that matter. */
static void check_fields(struct view rest, bool old)
{
    struct view line = rest;
    unsigned hosts = 0;
    unsigned lengths = 0;
    while (take_line(&rest, &line) && line.len > 0u) {
        check_field(line);
        hosts += name_is(line, "host") ? 1u : 0u;
        CHECK(!name_is(line, "host") || view_find(line, '^') == line.len);
        lengths += name_is(line, "content-length") ? 1u : 0u;
    }
    CHECK(line.len == 0u && rest.len == 0u);
    CHECK(lengths <= 1u && hosts <= 1u && (hosts == 1u || old));
}

/* What two readers could see differently in an accepted request: nothing (I5). */
static void check_request(struct view request)
{
    struct view line = view_of(NULL, 0);
    while (line.len == 0u) {
        CHECK(take_line(&request, &line));
    }
    CHECK(view_starts(line, "GET ") || view_starts(line, "HEAD "));
    CHECK(view_find(line, '\t') == line.len);
    check_fields(request, view_ends(line, " HTTP/1.0"));
}

/* `at` octets of the input were received, the last one alone: here a request begins and ends. */
static void pump(struct run *r, struct view input, size_t at)
{
    struct view path;
    enum status s = http1_next(&r->h, &path);
    while (s == STATUS_OK) {
        CHECK(r->failed == STATUS_OK);
        if (r->exact) {
            check_request(view_first(view_from(input, r->begin), at - r->begin));
            r->begin = at;
        }
        answer(r, path);
        drain(r, !r->hold);
        s = http1_next(&r->h, &path);
    }
    drain(r, !r->hold);
    CHECK(r->failed == STATUS_OK || r->failed == s);
    r->failed = (s == STATUS_MORE) ? STATUS_OK : s;
    CHECK(s == STATUS_MORE || r->h.failed == s);
}

/* --- runs --- */

static void receive(struct run *r, struct view input, struct fuzz_cuts *cuts)
{
    size_t at = 0;
    bool going = true;
    while (going && at < input.len) {
        struct writer room = http1_rx_space(&r->h);
        size_t n = fuzz_cut(cuts, input.len - at);
        n = (n < room.cap) ? n : room.cap;
        if (n > 0u) {
            memcpy(room.data, input.data + at, n);
            http1_rx_commit(&r->h, n);
        }
        at += n;
        size_t waiting = http1_tx_data(&r->h).len;
        pump(r, input, at);
        going = n > 0u || waiting > 0u || http1_rx_space(&r->h).cap > 0u;
    }
}

static void finish(struct run *r, struct view input, enum after what)
{
    r->hold = false;
    for (size_t waiting = 1; waiting > 0u;) {
        waiting = http1_tx_data(&r->h).len; /* what was sent makes way for the next request */
        pump(r, input, input.len);
    }
    if (what == AFTER_END) {
        http1_rx_end(&r->h);
    } else if (what == AFTER_YIELD) {
        http1_yield(&r->h);
        CHECK(http1_tx_data(&r->h).len == 0u && http1_done(&r->h));
    } else if (what == AFTER_TIME) {
        r->now_ms = http1_deadline(&r->h);
        http1_set_time(&r->h, r->now_ms);
    } else {
        CHECK(http1_deadline(&r->h) > r->now_ms);
        CHECK(r->failed != STATUS_OK || http1_yields_ms(&r->h) >= r->now_ms);
    }
    pump(r, input, input.len);
    CHECK(what != AFTER_END || http1_done(&r->h));
}

static void run(struct run *r, struct view input, uint8_t kind, struct fuzz_cuts cuts)
{
    r->now_ms = 1;
    r->body = (size_t)(kind >> 4) * 250u;
    r->hold = (kind & 4u) != 0u;
    r->exact = cuts.kind == 1u && !r->hold;
    r->out = cuts;
    r->requests = fuzz_sum_of();
    r->sent = fuzz_sum_of();
    r->sent_len = 0;
    r->count = 0;
    r->begin = 0;
    r->failed = STATUS_OK;
    http1_init(&r->h, r->now_ms);
    receive(r, input, &cuts);
    finish(r, input, (enum after)(kind & 3u));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct run runs[3];
    struct fuzz f = fuzz_of(data, size);
    uint8_t kind = fuzz_u8(&f);
    struct view input = fuzz_rest(&f);
    struct fuzz_cuts octets = {.state = 0, .kind = 1};
    run(&runs[0], input, kind, fuzz_cuts_whole());
    run(&runs[1], input, kind, octets);
    run(&runs[2], input, kind, fuzz_cuts_of(data, size, 1));
    for (unsigned i = 1; i < 3u; i++) {
        CHECK(runs[i].count == runs[0].count && runs[i].failed == runs[0].failed);
        CHECK(runs[i].h.code == runs[0].h.code && runs[i].h.phase == runs[0].h.phase);
        CHECK(runs[i].requests.value == runs[0].requests.value);
        bool same = runs[i].sent.value == runs[0].sent.value;
        CHECK(same || (kind & 4u) != 0u);
    }
    return 0;
}
