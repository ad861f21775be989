/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first records of a TLS server, in pieces of any length, from any state that earlier pieces
 * leave: hello_sound holds before and after each, until a verdict that ends the connection.
 */
#define PROOF_CONTENT_IS_ANY
#include "stubs.h"

#include "host/apiserver/tls_hello.c"

static struct tls_hello progress;

static bool hello_sound(const struct tls_hello *h)
{
    return h->len < sizeof h->message && h->header_len < sizeof h->header;
}

static bool verdict_known(enum tls_hello_verdict v)
{
    return v == TLS_HELLO_GOOD || v == TLS_HELLO_OLD || v == TLS_HELLO_MIXED;
}

/* One byte of a record, as proof_tls_hello_byte has it. */
enum tls_hello_verdict stub_read_byte(struct tls_hello *h, uint8_t byte)
{
    (void)byte;
    CHECK(hello_sound(h) && !h->done);
    enum tls_hello_verdict v = (enum tls_hello_verdict)(any_u8() % (TLS_HELLO_MIXED + 1u));
    h->len = any_u16() % sizeof h->message;
    h->done = any_bool();
    return v;
}

/* A whole message, as proof_tls_hello_message has it. */
enum tls_hello_verdict stub_judge_hello(struct tls_hello *h, struct view body)
{
    (void)h;
    CHECK(body.len <= TLS_HELLO_BYTES_MAX - MESSAGE_HEADER_BYTES);
    stub_check_view(body);
    return (enum tls_hello_verdict)(any_u8() % (TLS_HELLO_MIXED + 1u));
}

void proof_tls_hello_read(void)
{
    __CPROVER_havoc_object(&progress);
    ASSUME(hello_sound(&progress));
    bool done = progress.done;
    enum tls_hello_verdict v = tls_hello_read(&progress, any_view(ANY_LENGTH));
    CHECK(hello_sound(&progress));
    CHECK(verdict_known(v));
    CHECK(!done || (progress.done && v == TLS_HELLO_GOOD));
}

void proof_tls_hello_byte(void)
{
    __CPROVER_havoc_object(&progress);
    ASSUME(hello_sound(&progress));
    enum tls_hello_verdict v = read_byte(&progress, any_u8());
    CHECK(verdict_known(v) && progress.len <= sizeof progress.message);
    CHECK(v != TLS_HELLO_GOOD || hello_sound(&progress));
}

/* What was seen before the message, and after it. */
static void check_hello(const struct tls_hello *before, const struct tls_hello *h, bool good)
{
    bool suite13 = h->suite >> 8 == SUITES_TLS13;
    CHECK(h->done || h->retried);
    CHECK(!good || suite13 || h->tls12);
    CHECK(good || (!suite13 && !h->tls12));
    CHECK(!before->retried || (h->suite == before->suite && h->done));
}

/* The invariant of tls_hello.h: what is accepted belongs to one version (CVE-2026-115490). */
void proof_tls_hello_message(void)
{
    __CPROVER_havoc_object(&progress);
    /* memory of its own, so that CBMC sees a read past the body's end */
    struct view body = any_view(TLS_HELLO_BYTES_MAX - MESSAGE_HEADER_BYTES);
    progress.done = false;
    static struct tls_hello before;
    before.retried = progress.retried;
    before.suite = progress.suite;
    enum tls_hello_verdict v = judge_hello(&progress, body);
    CHECK(verdict_known(v));
    if (v != TLS_HELLO_MIXED) {
        check_hello(&before, &progress, v == TLS_HELLO_GOOD);
    }
}

void proof_tls_hello_version(void)
{
    struct hello hello = {.version = any_u16(), .suite = any_u16(), .retry = any_bool()};
    hello.tls13 = any_bool();
    hello.only13 = any_bool();
    hello.only12 = any_bool();
    bool good = is_of_one_version(&hello);
    bool suite13 = hello.suite >> 8 == SUITES_TLS13;
    CHECK(!good || suite13 == hello.tls13);
    CHECK(!good || (hello.tls13 ? hello.version == VERSION_TLS12 && !hello.only12
                                : hello.version <= VERSION_TLS12 && !hello.only13));
}
