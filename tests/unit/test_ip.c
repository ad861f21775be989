/* SPDX-License-Identifier: Apache-2.0 */
/* IP addresses: ip_parse beside inet_pton(3), on chosen texts and on those with one change. */
#include "unit.h"

#include <arpa/inet.h>

#include "base/ip.h"

static const char *const texts[] = {
    "0.0.0.0",
    "127.0.0.1",
    "255.255.255.255",
    "256.1.1.1",
    "01.2.3.4",
    "1.2.3",
    "1.2.3.4.5",
    "1..2.3",
    "1.2.3.4.",
    "::",
    ":::",
    "::1",
    "1::",
    "1:",
    ":1",
    "1::2::3",
    "1:2:3:4:5:6:7:8",
    "1:2:3:4:5:6:7",
    "1:2:3:4:5:6:7::",
    "::2:3:4:5:6:7:8",
    "1:2:3:4::5:6:7:8",
    "1:2:3:4:5:6:7:8:9",
    "fd00:10:96::A",
    "12345::",
    "g::",
    "::ffff:1.2.3.4",
    "1:2:3:4:5:6:1.2.3.4",
    "1:2:3:4:5:6:7:1.2.3.4",
    "::1.2.3.4:5",
    "1.2.3.4::",
    "::1.2.3",
    "fe80::1%eth0",
    "[::1]",
    "",
    " 1.2.3.4",
    "0x7f.0.0.1",
};

static void check_text(const char *text)
{
    uint8_t want[IPV6_BYTES] = {0};
    struct ip_address got = {.v6 = true, .bytes = {9}};
    bool v4 = inet_pton(AF_INET, text, want) == 1;
    bool v6 = !v4 && inet_pton(AF_INET6, text, want) == 1;
    bool parsed = ip_parse(view_text(text), &got);
    if (parsed != (v4 || v6)) {
        fail_msg("'%s' is %s", text, parsed ? "no address" : "an address");
    }
    if (!parsed) {
        assert_true(got.v6 && got.bytes[0] == 9);
        return;
    }
    assert_int_equal(got.v6, v6);
    assert_memory_equal(got.bytes, want, sizeof want);
    assert_int_equal(ip_len(&got), v4 ? IPV4_BYTES : IPV6_BYTES);
}

static void test_texts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        check_text(texts[i]);
    }
}

/* One character of each text is replaced, left out or put in before. */
static void test_changed_texts(void **state)
{
    static const char marks[] = ":.01259afg ";
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        size_t len = strlen(texts[i]);
        for (size_t at = 0; at < len; at++) {
            for (const char *mark = marks; *mark != '\0'; mark++) {
                char text[64];
                memcpy(text, texts[i], len + 1u);
                text[at] = *mark;
                check_text(text);
                memmove(&text[at], &texts[i][at + 1u], len - at);
                check_text(text);
                text[at] = *mark;
                memcpy(&text[at + 1u], &texts[i][at], len - at + 1u);
                check_text(text);
            }
        }
    }
}

static void test_equal(void **state)
{
    (void)state;
    const struct ip_address v4 = {.bytes = {1, 2, 3, 4, 5}};
    const struct ip_address other_rest = {.bytes = {1, 2, 3, 4, 6}};
    const struct ip_address v6 = {.v6 = true, .bytes = {1, 2, 3, 4, 5}};
    assert_true(ip_equal(&v4, &other_rest)); /* IPv4: the rest has no meaning */
    assert_false(ip_equal(&v4, &v6));
    assert_false(ip_equal(&v6, &(struct ip_address){.v6 = true, .bytes = {1, 2, 3, 4, 6}}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_changed_texts),
        cmocka_unit_test(test_equal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
