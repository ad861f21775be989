/* SPDX-License-Identifier: Apache-2.0 */
/* The kubelet's list of pods: which pods use which claims, in any pieces, and what is left out. */
#include "tests/unit/kubelet/listed_pods.h"
#include "tests/unit/node/command_table.h"

static struct pods pods;

static enum status read_all(size_t piece)
{
    struct view rest = writer_view(&list);
    assert_false(list.full);
    pods_begin(&pods, view_text("ml"));
    while (rest.len > 0u) {
        pods_feed(&pods, view_first(rest, piece));
        rest = view_from(rest, (piece < rest.len) ? piece : rest.len);
    }
    return pods_end(&pods);
}

/* The pods of a claim, each followed by a space. */
static const char *users(const char *claim)
{
    struct writer w = writer_of(text, sizeof text);
    size_t at = 0;
    const char *pod = pods_next(&pods, view_text(claim), &at);
    while (pod != NULL) {
        WRITE(&w, "% ", TEXT(pod));
        pod = pods_next(&pods, view_text(claim), &at);
    }
    assert_int_equal(writer_end_text(&w), STATUS_OK);
    return text;
}

static void test_pods(void **state)
{
    (void)state;
    list_begin();
    list_add("ml", "llama-0", "shared");
    list_add("ml", "plain", NULL);
    list_add("other", "llama-0", "shared");
    list_add("ml", "llama-1", "shared");
    list_add("ml", "llama-1.x", "share");
    for (size_t piece = 1; piece <= list.len; piece++) {
        assert_int_equal(read_all(piece), STATUS_OK);
        assert_false(pods.partial);
        assert_true(pods.any);
        assert_string_equal(users("shared"), "llama-0 llama-1 ");
        assert_string_equal(users("share"), "llama-1.x ");
        assert_string_equal(users("other"), "");
    }
    assert_true(pods_has(&pods, view_text("shared"), view_text("llama-1")));
    assert_false(pods_has(&pods, view_text("shared"), view_text("llama-1.x")));
    assert_false(pods_has(&pods, view_text("none"), view_text("llama-1")));
}

/* Protobuf has no order of fields, and of a repeated one the last counts. */
static void test_order_of_fields(void **state)
{
    uint8_t bytes[2048];
    struct writer pod = writer_of(bytes, sizeof bytes);
    (void)state;
    list_begin();
    put_container(&pod, 3, view_text("shared"));
    put(&pod, 2, view_text("other"));
    put(&pod, 2, view_text("ml"));
    put(&pod, 9, view_text("of a newer kubelet"));
    put(&pod, 1, view_text("llama-0"));
    put(&list, 1, writer_view(&pod));
    assert_int_equal(read_all(4096), STATUS_OK);
    assert_string_equal(users("shared"), "llama-0 ");
}

/* A peer that gives a text another wire type: the field counts as empty. */
static void test_other_wire_types(void **state)
{
    static const struct {
        uint8_t wire_type;
        const char *value;
        size_t len;
    } values[] = {{0, "\xac\x02", 2}, {1, "12345678", 8}, {5, "1234", 4}};
    (void)state;
    for (unsigned i = 0; i < sizeof values / sizeof values[0]; i++) {
        uint8_t bytes[512];
        uint8_t used[64];
        struct writer claim = writer_of(used, sizeof used);
        struct writer pod = writer_of(bytes, sizeof bytes);
        writer_u8(&claim, (uint8_t)(2u << 3 | values[i].wire_type));
        writer_bytes(&claim, values[i].value, values[i].len);
        list_begin();
        list_add("ml", "llama-0", "weights");
        put(&pod, 1, view_text("llama-1"));
        put(&pod, 2, view_text("ml"));
        writer_u8(&pod, 3u << 3 | 2u);
        writer_u8(&pod, (uint8_t)(2u + claim.len));
        put(&pod, 5, writer_view(&claim));
        put(&list, 1, writer_view(&pod));
        assert_int_equal(read_all(SIZE_MAX), STATUS_OK);
        assert_int_equal(pods.count, 1);
        assert_true(pods.partial);
        assert_true(pods_has(&pods, view_text("weights"), view_text("llama-0")));
    }
}

static void test_no_claims(void **state)
{
    (void)state;
    list_begin();
    assert_int_equal(read_all(4096), STATUS_OK);
    assert_false(pods.any);
    list_add("ml", "plain", NULL);
    assert_int_equal(read_all(4096), STATUS_OK);
    assert_false(pods.any);
    list_add("other", "plain", "shared");
    assert_int_equal(read_all(4096), STATUS_OK);
    assert_true(pods.any);
    assert_string_equal(users("shared"), "");
}

static void test_cut(void **state)
{
    (void)state;
    list_begin();
    list_add("ml", "llama-0", "shared");
    size_t whole_len = list.len;
    for (size_t n = 6; n < whole_len; n++) {
        list.len = n;
        assert_int_equal(read_all(4096), PEER_MALFORMED);
        assert_string_equal(users("shared"), "");
    }
    list.len = whole_len;
    writer_u8(&list, 0x07); /* an undefined wire type */
    assert_int_equal(read_all(1), PEER_MALFORMED);
    assert_string_equal(users("shared"), "");
}

static void test_names_without_form(void **state)
{
    static char long_name[300];
    (void)state;
    memset(long_name, 'a', sizeof long_name - 1u);
    const struct {
        const char *pod;
        const char *claim;
    } bad[] = {{"", "shared"},       {"-x", "shared"},      {"a\nb", "shared"},  {"llama", "a b"},
               {"llama", "\x1b[2J"}, {long_name, "shared"}, {"llama", long_name}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        list_begin();
        list_add("ml", "llama-0", "shared");
        assert_int_equal(read_all(4096), STATUS_OK);
        assert_false(pods.partial);
        list_add("ml", bad[i].pod, bad[i].claim);
        list_add("ml", "llama-1", "shared");
        assert_int_equal(read_all(4096), STATUS_OK);
        assert_true(pods.partial);
        assert_string_equal(users("shared"), "llama-0 llama-1 ");
    }
}

/* --- as many as there is room for, and what `claims` prints of them --- */

static struct claim_shown shown;
static struct document document;

static bool text_part(unsigned number, struct writer *out)
{
    return command_claim_text(&shown, number, out);
}

static bool document_part(unsigned number, struct writer *out)
{
    bool yaml = document.yaml;
    if (number == 0u) {
        document = document_of(out, yaml);
    }
    return command_claim_document(&shown, number, &document);
}

static void test_many(void **state)
{
    char name[64];
    char last[64];
    (void)state;
    record_begin(&record);
    record_add(&record, "train", 8);
    node(16);
    shown = (struct claim_shown){
        .record = &record, .pods = &pods, .driver = DRIVER_NAME, .node = &inventory};
    for (unsigned width = 1; width < 60u; width += 29u) {
        unsigned fit = 0;
        list_begin();
        for (unsigned i = 0; i < POD_USES_MAX + 1u; i++) {
            (void)snprintf(name, sizeof name, "%0*x", (int)width, i);
            list_add("ml", name, record.id.name);
        }
        assert_int_equal(read_all(4096), STATUS_OK);
        assert_true(pods.partial);
        size_t at = 0;
        while (pods_next(&pods, view_text(record.id.name), &at) != NULL) {
            fit++;
        }
        assert_true((width == 1u) ? fit == POD_USES_MAX : fit > 100u && fit < POD_USES_MAX);
        (void)snprintf(last, sizeof last, "%0*x", (int)width, fit - 1u);
        whole(text_part);
        has(last);
        for (unsigned yaml = 0; yaml < 2u; yaml++) {
            document.yaml = yaml != 0u;
            whole(document_part);
            has(last);
        }
    }
}

static void test_shown(void **state)
{
    (void)state;
    record_begin(&record);
    record_add(&record, "train", 8);
    list_begin();
    list_add("ml", "llama-0", record.id.name);
    list_add("ml", "llama-1", record.id.name);
    assert_int_equal(read_all(4096), STATUS_OK);
    shown = (struct claim_shown){.record = &record, .pods = &pods, .driver = DRIVER_NAME};
    whole(text_part);
    has("  CDI file: good\n  pods: llama-0, llama-1\n");
    document.yaml = true;
    whole(document_part);
    has("pods:\n");
    has("- llama-0\n");
    document.yaml = false;
    whole(document_part);
    has("\"pods\": [");
    list_begin();
    assert_int_equal(read_all(4096), STATUS_OK);
    whole(text_part);
    has("  CDI file: good\n  pods: none that the kubelet lists\n");
    shown.pods = NULL;
    whole(text_part);
    assert_null(strstr(text, "pods"));
    whole(document_part);
    assert_null(strstr(text, "pods"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pods),
        cmocka_unit_test(test_order_of_fields),
        cmocka_unit_test(test_other_wire_types),
        cmocka_unit_test(test_no_claims),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_names_without_form),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
