/* SPDX-License-Identifier: Apache-2.0 */
/* Log lines and the notes of their Events alone: values longer than a note, refusals that change,
 * counts at their bound. */
#include "unit.h"

#include "agent/report/refusal.h"
#include "agent/state.h"

static struct agent agent;
static struct report report;
static struct api api;
static struct driver driver;
static struct settings settings;

static int setup(void **state)
{
    (void)state;
    memset(&agent, 0, sizeof agent);
    memset(&report, 0, sizeof report);
    memset(&api, 0, sizeof api);
    memset(&driver, 0, sizeof driver);
    memset(&settings, 0, sizeof settings);
    settings.log_level = LOG_INFO;
    agent.report = &report;
    agent.api = &api;
    agent.driver = &driver;
    agent.settings = &settings;
    randomness_init(&agent.randomness, 1);
    report_init(&agent);
    return 0;
}

static void says(const char *piece)
{
    const char *all = text_of(log_pending(&report.log));
    if (strstr(all, piece) == NULL) {
        fail_msg("\"%s\" is not in %s", piece, all);
    }
}

static void forget(void)
{
    log_written(&report.log, log_pending(&report.log).len);
}

/* --- notes --- */

/* What does not fit is left out of the note, and what follows it too; the line has it all. */
static void test_long_notes(void **state)
{
    static char value[LOG_LINE_BYTES_MAX * 2u];
    (void)state;
    static const size_t lengths[] = {10, K8S_EVENT_NOTE_CAP, LOG_LINE_BYTES_MAX + 100u};
    for (size_t i = 0; i < COUNT(lengths); i++) {
        memset(value, 'v', sizeof value);
        value[lengths[i]] = '\0';
        log_begin(&agent, LOG_ID_CDI_FILE_FAILED);
        log_text(&agent, "file", value);
        log_text(&agent, "reason", "why");
        assert_true(report.event.wanted);
        assert_int_equal(report.event.full, i > 0);
        assert_true(strlen(report.event.note) < K8S_EVENT_NOTE_CAP);
        assert_int_equal(strstr(report.event.note, "reason=why") != NULL, i == 0);
        log_end(&agent);
        forget();
    }
}

static void test_counts_at_their_bound(void **state)
{
    (void)state;
    k8s_events_add(&agent, LOG_ID_CDI_FILE_FAILED, NULL, "a");
    struct k8s_event *e = NULL;
    for (unsigned i = 0; i < K8S_EVENTS_MAX; i++) {
        struct k8s_event *one = &report.k8s_events.event[i];
        e = (one->state != K8S_EVENT_FREE) ? one : e;
    }
    assert_non_null(e);
    assert_int_equal(e->count, 1);
    e->count = INT32_MAX - 1;
    for (unsigned i = 0; i < 2; i++) {
        k8s_events_add(&agent, LOG_ID_CDI_FILE_FAILED, NULL, "a");
        assert_int_equal(e->count, INT32_MAX);
    }
}

/* --- refusals --- */

static bool refused(struct refusal *last, uint16_t http, bool unprocessed)
{
    const struct api_result r = {.http = http, .unprocessed = unprocessed};
    bool logged = log_api_refusal(&agent, last, "list slices", &r, PEER_REFUSED);
    if (logged) {
        log_api_refusal_end(&agent, last, "do this");
    }
    return logged;
}

static void test_refusals_that_change(void **state)
{
    struct refusal last = {0};
    (void)state;
    assert_true(refused(&last, HTTP_FORBIDDEN, false));
    says("http=403");
    says("remedy=\"do this\"");
    forget();
    assert_false(refused(&last, HTTP_FORBIDDEN, false)); /* the agent reported it a moment ago */
    assert_true(refused(&last, HTTP_UNAUTHORIZED, false));
    says("http=401");
    assert_null(strstr(text_of(log_pending(&report.log)), "do this"));
    agent.now_ms += REFUSAL_LOG_PAUSE_MS;
    assert_true(refused(&last, HTTP_UNAUTHORIZED, false));
}

/* What a server that goes away did not process is sent again, and no failure. */
static void test_unprocessed_requests(void **state)
{
    struct refusal last = {0};
    (void)state;
    api.connection.state = API_DRAINING;
    assert_false(refused(&last, 0, true));
    assert_int_equal(log_pending(&report.log).len, 0);
    assert_true(refused(&last, HTTP_FORBIDDEN, false));
    api.connection.state = API_UP;
    assert_true(refused(&last, 0, true));
}

static void test_writes_without_a_token(void **state)
{
    uint16_t logged = 0;
    struct api_result r = {.http = HTTP_UNAUTHORIZED};
    (void)state;
    log_write_refusal(&agent, &logged, LOG_ID_API_REQUEST_FAILED, NULL, &r);
    says("http=401");
    says(API_TOKEN_REMEDY);
    forget();
    log_write_refusal(&agent, &logged, LOG_ID_API_REQUEST_FAILED, NULL, &r);
    assert_int_equal(log_pending(&report.log).len, 0);
    r.http = HTTP_FORBIDDEN;
    log_write_refusal(&agent, &logged, LOG_ID_API_REQUEST_FAILED, NULL, &r);
    says("http=403");
    assert_null(strstr(text_of(log_pending(&report.log)), API_TOKEN_REMEDY));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_long_notes, setup),
        cmocka_unit_test_setup(test_counts_at_their_bound, setup),
        cmocka_unit_test_setup(test_refusals_that_change, setup),
        cmocka_unit_test_setup(test_unprocessed_requests, setup),
        cmocka_unit_test_setup(test_writes_without_a_token, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
