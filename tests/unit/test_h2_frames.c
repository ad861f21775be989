/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frame rules of RFC 9113 as data: octets in, RST_STREAM or GOAWAY with the exact code out. Every
 * case is fed whole, octet by octet and in random cuts, and must give the same events and frames
 * each time.
 */
#include "tests/unit/wire/h2_harness.h"

enum { DATA, HEADERS, PRIORITY, RST, SETTINGS, PUSH, PING, GOAWAY, UPDATE, CONT, UNKNOWN = 0x42 };
/* Steps that are the owner's, not the peer's. */
enum { RAW = 0x100, ANSWER, RESET, FINAL_GOAWAY, REQUEST };

struct frame_step {
    unsigned type;
    unsigned flags;
    uint32_t stream;
    const char *payload; /* hexadecimal; NULL: none */
};

#define STEPS_MAX 8

struct frame_case {
    const char *what;
    struct frame_step steps[STEPS_MAX];
    const char *frames; /* what the engine sent, SETTINGS and WINDOW_UPDATE left out */
    const char *events; /* NULL: not compared */
    bool bare;          /* no preface and SETTINGS in front */
};

#define ES END_STREAM
#define EH END_HEADERS
#define ESH (END_STREAM | END_HEADERS)
#define GET_1 {HEADERS, ESH, 1, GET}
#define POST_1 {HEADERS, EH, 1, POST}
#define GET_FIELDS " F1 :method=GET F1 :scheme=http F1 :path=/ F1 :authority=a"
#define POST_FIELDS " F1 :method=POST F1 :scheme=http F1 :path=/ F1 :authority=a"
/* x: y; content-length: 4 */
#define XY "0001 78 01 79"
#define LENGTH_4 "0f0d 01 34"

#include "tests/unit/wire/h2_cases.h"

/* --- running them --- */

static struct conn c;

static void owner_step(const struct frame_step *s)
{
    uint32_t stream;
    switch (s->type) {
    case ANSWER:
        assert_int_equal(send_list(&c, s->stream, true), STATUS_OK);
        break;
    case RESET:
        h2_reset(&c.h2, s->stream, H2_CANCEL);
        break;
    case FINAL_GOAWAY:
        h2_goaway(&c.h2, H2_NO_ERROR, true);
        break;
    case REQUEST:
        assert_int_equal(h2_open(&c.h2, 0, &stream), STATUS_OK);
        assert_int_equal(stream, s->stream);
        assert_int_equal(send_list(&c, stream, (s->flags & ES) != 0), STATUS_OK);
        break;
    default:
        fail();
    }
    conn_pump(&c);
}

/* cut 0: random pieces. */
static void feed(const uint8_t *bytes, size_t len, size_t cut, uint32_t *seed)
{
    size_t pos = 0;
    while (pos < len) {
        *seed = *seed * 1664525u + 1013904223u;
        size_t n = cut == 0 ? 1 + (*seed >> 16) % 23 : cut;
        n = n < len - pos ? n : len - pos;
        conn_feed(&c, bytes + pos, n);
        pos += n;
    }
}

static void run_case(const struct frame_case *k, enum h2_role role, size_t cut, uint32_t seed)
{
    static uint8_t bytes[60000];
    conn_init(&c, role);
    struct writer w = writer_of(bytes, sizeof bytes);
    if (!k->bare) {
        put_start(&w, role);
    }
    for (size_t i = 0; i < STEPS_MAX && (k->steps[i].payload != NULL || k->steps[i].type != 0);
         i++) {
        const struct frame_step *s = &k->steps[i];
        if (s->type > RAW) {
            feed(bytes, w.len, cut, &seed);
            w = writer_of(bytes, sizeof bytes);
            owner_step(s);
        } else if (s->type == RAW) {
            uint8_t raw[64];
            writer_bytes(&w, raw, hex_bytes(s->payload, raw, sizeof raw));
        } else {
            put_frame(&w, s->type, s->flags, s->stream, s->payload == NULL ? "" : s->payload);
        }
    }
    feed(bytes, w.len, cut, &seed);
}

static void check_case(const struct frame_case *k)
{
    const char *frames = c.frames.text;
    if (strcmp(frames, k->frames) != 0) {
        fail_msg("%s: sent \"%s\", expected \"%s\"", k->what, frames, k->frames);
    }
    if (k->events != NULL && strcmp(c.events.text, k->events) != 0) {
        fail_msg("%s: events \"%s\", expected \"%s\"", k->what, c.events.text, k->events);
    }
    bool failed = strstr(k->frames, "GOAWAY") != NULL && strstr(k->frames, "NO_ERROR") == NULL;
    assert_int_equal(failed, h2_failure(&c.h2, NULL) != STATUS_OK);
    assert_int_equal(failed, c.last != STATUS_MORE);
    if (failed) {
        assert_int_equal(h2_streams_open(&c.h2), 0);
        assert_int_equal(h2_rx_space(&c.h2).cap, 0);
    }
}

static void run_cases(const struct frame_case *cases, size_t n, enum h2_role role)
{
    static const size_t cuts[] = {100000, 1, 2, 9, 10, 0, 0, 0};
    for (size_t i = 0; i < n; i++) {
        static char whole[TRACE_BYTES];
        for (uint32_t j = 0; j < sizeof cuts / sizeof cuts[0]; j++) {
            run_case(&cases[i], role, cuts[j], 77 + j);
            check_case(&cases[i]);
            if (j == 0) {
                memcpy(whole, c.events.text, c.events.len + 1);
            }
            assert_string_equal(c.events.text, whole);
        }
    }
}

#define RUN(name, role)                                                                            \
    static void run_##name(void **state)                                                           \
    {                                                                                              \
        (void)state;                                                                               \
        run_cases(name, sizeof name / sizeof name[0], role);                                       \
    }

RUN(framing, H2_SERVER)
RUN(stream_states, H2_SERVER)
RUN(data_frames, H2_SERVER)
RUN(header_frames, H2_SERVER)
RUN(control_frames, H2_SERVER)
RUN(compression, H2_SERVER)
RUN(client, H2_CLIENT)

/* Frame lengths around the limit need payloads that no table should spell out. */
static void frame_size_limit(void **state)
{
    (void)state;
    static char hex[2 * 16385 + 1];
    memset(hex, '0', 2 * 16385);
    conn_start(&c, H2_SERVER);
    conn_frame(&c, HEADERS, EH, 1, POST);
    hex[2 * 16384] = '\0';
    conn_frame(&c, DATA, 0, 1, hex);
    conn_frame(&c, UNKNOWN, 0xff, 3, hex);
    assert_int_equal(c.last, STATUS_MORE);
    assert_int_equal(c.h2.recv_window + c.h2.consumed, 65535);
    hex[2 * 16384] = '0';
    conn_frame(&c, DATA, 0, 1, hex);
    assert_string_equal(c.frames.text, " GOAWAY 1 FRAME_SIZE_ERROR");
    assert_int_equal(c.last, PEER_MALFORMED);
}

/* A peer that speaks HTTP/1.1 or TLS fails with its first wrong octet. */
static void wrong_preface(void **state)
{
    (void)state;
    static const char *const firsts[] = {"G", "PRI * HTTP/1", "\x16\x03\x01",
                                         "PRI * HTTP/2.0\r\n\r\nSM\r\n\rX"};
    for (size_t i = 0; i < sizeof firsts / sizeof firsts[0]; i++) {
        conn_init(&c, H2_SERVER);
        conn_feed(&c, firsts[i], strlen(firsts[i]));
        assert_string_equal(c.frames.text, " GOAWAY 0 PROTOCOL_ERROR");
        assert_int_equal(c.last, PEER_PROTOCOL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(run_framing),        cmocka_unit_test(run_stream_states),
        cmocka_unit_test(run_data_frames),    cmocka_unit_test(run_header_frames),
        cmocka_unit_test(run_control_frames), cmocka_unit_test(run_compression),
        cmocka_unit_test(run_client),         cmocka_unit_test(frame_size_limit),
        cmocka_unit_test(wrong_preface),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
