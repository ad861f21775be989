/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the kubeconfig reader share: reading a text, and what is expected of it. */
#ifndef TESTS_KUBECONFIG_TEXT_H
#define TESTS_KUBECONFIG_TEXT_H

#include "tests/unit/unit.h"
#include "kubeconfig/kubeconfig.h"

static struct kubeconfig config;
static char why_text[2048];

/* Text and values lie in blocks of exactly their size: the sanitizer sees every byte beyond. */
static uint8_t *block;
static uint8_t *room;

static inline enum status read_bytes(const void *text, size_t len)
{
    struct writer why = writer_of(why_text, sizeof why_text);
    free(block);
    block = malloc((len > 0) ? len : 1);
    assert_non_null(block);
    memcpy(block, text, len);
    free(room);
    room = malloc((len > 0) ? len : 1);
    assert_non_null(room);
    memset(&config, 0xa5, sizeof config);
    struct kubeconfig before = config;
    enum status s = kubeconfig_read(view_of(block, len), room, &config, &why);
    assert_int_equal(writer_end_text(&why), STATUS_OK);
    assert_true((s == STATUS_OK) == (why.len == 0));
    assert_null(strchr(why_text, '\n'));
    if (s != STATUS_OK) {
        assert_memory_equal(&before, &config, sizeof config);
    }
    return s;
}

static inline void read_good(const char *text)
{
    if (read_bytes(text, strlen(text)) != STATUS_OK) {
        fail_msg("%s\nin:\n%s", why_text, text);
    }
}

static inline void read_bad(const char *text, enum status expected, const char *words)
{
    enum status s = read_bytes(text, strlen(text));
    if (s != expected || strstr(why_text, words) == NULL) {
        fail_msg("status %s, words \"%s\" instead of \"%s\" for:\n%s", status_name(s), why_text,
                 words, text);
    }
}

/* A text and its value, or the words of its refusal. */
struct text_case {
    const char *yaml;
    const char *value;
};

/* Kubeconfig of which only the body of the user varies. */
static inline const char *with_user(const char *body)
{
    static char text[8192];
    int n = snprintf(text, sizeof text,
                     "current-context: c\n"
                     "contexts:\n"
                     "- name: c\n"
                     "  context:\n"
                     "    cluster: k\n"
                     "    user: u\n"
                     "clusters:\n"
                     "  - name: k\n"
                     "    cluster:\n"
                     "      server: https://h\n"
                     "      certificate-authority: ca.pem\n"
                     "users:\n"
                     "- name: u\n"
                     "  user:\n"
                     "%s",
                     body);
    assert_true(n > 0 && (size_t)n < sizeof text);
    return text;
}

static inline int free_block(void **state)
{
    (void)state;
    free(block);
    block = NULL;
    free(room);
    room = NULL;
    return 0;
}

#endif
