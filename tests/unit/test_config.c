/* SPDX-License-Identifier: Apache-2.0 */
/* Opaque configurations: what is accepted, and the exact text of every refusal. */
#include "unit.h"

#include "cfg/identity.h"
#include "dra/config.h"

#define HEAD "{\"apiVersion\":\"neuron.aws.com/v1\",\"kind\":\"NeuronConfig\""
#define NEURON HEAD ",\"logicalNeuronCore\":"
#define ULTRA                                                                                      \
    "{\"apiVersion\":\"neuron.aws.com/v1\",\"kind\":\"UltraServerConfig\",\"ultraserverMode\":"
#define MISSING "; write apiVersion: neuron.aws.com/v1 and kind: NeuronConfig or UltraServerConfig"
#define OBJECT "; write apiVersion, kind and the kind's field under opaque.parameters"
#define NO_LNC_REMEDY "; remove the NeuronConfig, or use a trn2 or trn3 type"
#define NO_MODE_REMEDY                                                                             \
    "; remove the UltraServerConfig, or use a node of an UltraServer, such as trn2u.48xlarge"
#define KNOWN                                                                                      \
    "; known: NeuronConfig, UltraServerConfig in neuron.aws.com/v1, neuron.aws.com/v1alphav1, "    \
    "resource.neuron.aws.com/v1alphav1"
#define FIELDS "; known fields: apiVersion, kind, logicalNeuronCore"

/* What a claim's error has left for the reason. */
#define REASON_CAP (CLAIM_ERROR_CAP - sizeof "error applying config: ")

static char why_text[REASON_CAP + 1];

static enum status decode(struct view json, struct config *c)
{
    struct writer why = writer_of(why_text, REASON_CAP);
    memset(why_text, 0, sizeof why_text);
    enum status s = config_decode(json, c, &why);
    assert_false(why.full);
    if (s == STATUS_OK) {
        assert_string_equal(why_text, "");
    } else {
        assert_one_line(why_text);
    }
    return s;
}

static void test_accepted(void **state)
{
    static const struct {
        const char *json;
        enum config_kind kind;
        unsigned value;
        const char *version;
    } rows[] = {
        {NEURON "1}", CONFIG_NEURON, 1, "neuron.aws.com/v1"},
        {NEURON "2}", CONFIG_NEURON, 2, "neuron.aws.com/v1"},
        {" {\n \"kind\" : \"NeuronConfig\" , \"logicalNeuronCore\" : 2 ,\r\n"
         " \"apiVersion\" : \"neuron.aws.com/v1\" }\n",
         CONFIG_NEURON, 2, "neuron.aws.com/v1"},
        {"{\"apiVersion\":\"neuron.aws.com/v1alphav1\",\"kind\":\"NeuronConfig\","
         "\"logicalNeuronCore\":1}",
         CONFIG_NEURON, 1, "neuron.aws.com/v1alphav1"},
        {"{\"apiVersion\":\"resource.neuron.aws.com/v1alphav1\",\"kind\":\"NeuronConfig\","
         "\"logicalNeuronCore\":1}",
         CONFIG_NEURON, 1, "resource.neuron.aws.com/v1alphav1"},
        {"{\"apiVersion\":\"neuron.aws.com\\/v1\",\"k\\u0069nd\":\"Neuron\\u0043onfig\","
         "\"logicalNeuron\\u0043ore\":2}",
         CONFIG_NEURON, 2, "neuron.aws.com/v1"},
        {ULTRA "1}", CONFIG_ULTRASERVER, 1, "neuron.aws.com/v1"},
        {ULTRA "2}", CONFIG_ULTRASERVER, 2, "neuron.aws.com/v1"},
        {ULTRA "4}", CONFIG_ULTRASERVER, 4, "neuron.aws.com/v1"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct config c;
        if (decode(view_text(rows[i].json), &c) != STATUS_OK) {
            fail_msg("%s: %s", rows[i].json, why_text);
        }
        assert_int_equal(c.kind, rows[i].kind);
        assert_int_equal(c.value, rows[i].value);
        assert_string_equal(c.api_version, rows[i].version);
    }
}

struct refusal {
    const char *json;
    const char *why;
};

static void refused(const struct refusal *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct config c = {.kind = CONFIG_ULTRASERVER, .value = 99};
        assert_int_not_equal(decode(view_text(rows[i].json), &c), STATUS_OK);
        assert_string_equal(why_text, rows[i].why);
        assert_int_equal(c.value, 99);
        assert_int_equal(c.kind, CONFIG_ULTRASERVER);
    }
}

static void test_strict(void **state)
{
    static const struct refusal rows[] = {
        {HEAD ",\"logicalNeuronCoreCount\":2}",
         "strict decoding error: unknown field \"logicalNeuronCoreCount\"" FIELDS},
        {HEAD ",\"logicalNeuroncore\":2}",
         "strict decoding error: unknown field \"logicalNeuroncore\"" FIELDS},
        {NEURON "2,\"a\":{\"b\":[1,{}]},\"c\":null}",
         "strict decoding error: unknown field \"a\", unknown field \"c\"" FIELDS},
        {NEURON "2,\"logicalNeuronCore\":1}",
         "strict decoding error: duplicate field \"logicalNeuronCore\"" FIELDS},
        {NEURON "2,\"kind\":\"NeuronConfig\",\"x\":1}",
         "strict decoding error: duplicate field \"kind\", unknown field \"x\"" FIELDS},
        {NEURON "2,\"k\\u0069nd\":\"NeuronConfig\"}",
         "strict decoding error: duplicate field \"k\\u0069nd\"" FIELDS},
        {NEURON "2,\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1}",
         "strict decoding error: unknown field \"a\", unknown field \"b\", unknown field \"c\" "
         "and 2 more" FIELDS},
        {NEURON "2,\"a\":1,\"b\":1,\"c\":1}",
         "strict decoding error: unknown field \"a\", unknown field \"b\", unknown field "
         "\"c\"" FIELDS},
        {NEURON "2,\"metadata\":{\"name\":\"x\"}}",
         "strict decoding error: unknown field \"metadata\"" FIELDS},
        {NEURON "2,\"ultraserverMode\":4}",
         "strict decoding error: unknown field \"ultraserverMode\"" FIELDS},
        {ULTRA "2,\"logicalNeuronCore\":4}",
         "strict decoding error: unknown field \"logicalNeuronCore\"; known fields: apiVersion, "
         "kind, ultraserverMode"},
        {HEAD ",\"logicalNeuronCore\":\"2\",\"x\":1}",
         "strict decoding error: unknown field \"x\"" FIELDS},
        {NEURON "2,\"two\\nlines\\u001b \xc3\xa4 \\\"\":1}",
         "strict decoding error: unknown field \"two\\nlines\\u001b ?? \\?\"" FIELDS},
        {NEURON "2,\"\":1}", "strict decoding error: unknown field \"\"" FIELDS},
        {NEURON "2,\"0123456789012345678901234567890123456789012345678901234567890123\":1}",
         "strict decoding error: unknown field "
         "\"012345678901234567890123456789012345678901234567890123456789012...\"" FIELDS},
    };
    (void)state;
    refused(rows, COUNT(rows));
}

static void test_types_and_ranges(void **state)
{
    static const struct refusal rows[] = {
        {NEURON "\"2\"}",
         "field \"logicalNeuronCore\": expected integer, found string; write the number "
         "without quotes; supported values: 1, 2"},
        {NEURON "true}",
         "field \"logicalNeuronCore\": expected integer, found boolean; supported values: 1, 2"},
        {NEURON "false}",
         "field \"logicalNeuronCore\": expected integer, found boolean; supported values: 1, 2"},
        {NEURON "[2]}",
         "field \"logicalNeuronCore\": expected integer, found array; supported values: 1, 2"},
        {NEURON "{\"v\":2}}",
         "field \"logicalNeuronCore\": expected integer, found object; supported values: 1, 2"},
        {NEURON "2.0}",
         "field \"logicalNeuronCore\": expected integer, found number 2.0; supported values: 1, 2"},
        {NEURON "1.5}",
         "field \"logicalNeuronCore\": expected integer, found number 1.5; supported values: 1, 2"},
        {NEURON "2e0}",
         "field \"logicalNeuronCore\": expected integer, found number 2e0; supported values: 1, 2"},
        {NEURON "99999999999999999999}",
         "field \"logicalNeuronCore\": expected integer, found number 99999999999999999999; "
         "supported values: 1, 2"},
        {NEURON "0}", "logicalNeuronCore: Unsupported value: 0; supported values: 1, 2"},
        {NEURON "3}", "logicalNeuronCore: Unsupported value: 3; supported values: 1, 2"},
        {NEURON "4}", "logicalNeuronCore: Unsupported value: 4; supported values: 1, 2"},
        {NEURON "-1}", "logicalNeuronCore: Unsupported value: -1; supported values: 1, 2"},
        {NEURON "257}", "logicalNeuronCore: Unsupported value: 257; supported values: 1, 2"},
        {NEURON "9223372036854775807}",
         "logicalNeuronCore: Unsupported value: 9223372036854775807; supported values: 1, 2"},
        {HEAD "}", "logicalNeuronCore: Required value; supported values: 1, 2"},
        {NEURON "null}", "logicalNeuronCore: Required value; supported values: 1, 2"},
        {ULTRA "3}", "ultraserverMode: Unsupported value: 3; supported values: 1, 2, 4"},
        {ULTRA "\"4\"}",
         "field \"ultraserverMode\": expected integer, found string; write the number "
         "without quotes; supported values: 1, 2, 4"},
    };
    (void)state;
    refused(rows, COUNT(rows));
}

static void test_kinds_and_versions(void **state)
{
    static const struct refusal rows[] = {
        {"{}", "Object 'Kind' is missing" MISSING},
        {"{\"apiVersion\":\"neuron.aws.com/v1\",\"logicalNeuronCore\":2}",
         "Object 'Kind' is missing" MISSING},
        {"{\"apiVersion\":\"neuron.aws.com/v1\",\"kind\":null}",
         "Object 'Kind' is missing" MISSING},
        {"{\"apiVersion\":\"neuron.aws.com/v1\",\"kind\":\"\"}",
         "Object 'Kind' is missing" MISSING},
        {"{\"kind\":\"NeuronConfig\",\"logicalNeuronCore\":2}",
         "Object 'apiVersion' is missing" MISSING},
        {"{\"kind\":\"NeuronConfig\",\"Kind\":\"x\",\"apiversion\":\"neuron.aws.com/v1\"}",
         "Object 'apiVersion' is missing" MISSING},
        {"{\"apiVersion\":\"neuron.aws.com/v1\",\"kind\":\"Neuronconfig\"}",
         "no kind \"Neuronconfig\" is registered for version \"neuron.aws.com/v1\"" KNOWN},
        {"{\"apiVersion\":\"neuron.aws.com/v2\",\"kind\":\"NeuronConfig\"}",
         "no kind \"NeuronConfig\" is registered for version \"neuron.aws.com/v2\"" KNOWN},
        {"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"spec\":{}}",
         "no kind \"Pod\" is registered for version \"v1\"" KNOWN},
        {"{\"apiVersion\":\"neuron.aws.com/v1\",\"kind\":\"N\\n\xc3\xa4\"}",
         "no kind \"N\\n??\" is registered for version \"neuron.aws.com/v1\"" KNOWN},
        {"{\"apiVersion\":1,\"kind\":\"NeuronConfig\"}",
         "field \"apiVersion\": expected string, found number 1"},
        {"{\"apiVersion\":\"neuron.aws.com/v1\",\"kind\":{}}",
         "field \"kind\": expected string, found object"},
    };
    (void)state;
    refused(rows, COUNT(rows));
    struct config c;
    assert_int_equal(decode(view_text(rows[0].json), &c), PEER_MALFORMED);
    assert_int_equal(decode(view_text(rows[7].json), &c), PEER_UNSUPPORTED);
}

static void test_syntax(void **state)
{
    static const struct refusal rows[] = {
        {"", "configuration is not valid JSON, at byte 0"},
        {"logicalNeuronCore: 2", "configuration is not valid JSON, at byte 0"},
        {NEURON "2", "configuration is not valid JSON, at byte 77"},
        {NEURON "2}}", "configuration is not valid JSON, at byte 78"},
        {NEURON "02}", "configuration is not valid JSON, at byte 76"},
        {NEURON "2,}", "configuration is not valid JSON, at byte 78"},
        {"[]", "configuration is not a JSON object" OBJECT},
        {"\"x\"", "configuration is not a JSON object" OBJECT},
        {"null", "configuration is not a JSON object" OBJECT},
        {"{\"a\":[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]}",
         "configuration is nested too deeply; it has plain members only"},
    };
    (void)state;
    refused(rows, COUNT(rows));
}

/* The longest names and values at once still give one line that a claim's error can hold. */
static void test_longest_texts(void **state)
{
    static char json[OPAQUE_BYTES_MAX];
    struct writer w = writer_of(json, sizeof json);
    struct config c;
    (void)state;
    writer_text(&w, HEAD);
    for (unsigned i = 0; i < 40; i++) {
        writer_text(&w, ",\"");
        for (unsigned k = 0; k < 200; k++) {
            writer_u8(&w, (uint8_t)('a' + i % 26));
        }
        writer_text(&w, "\":1");
    }
    writer_text(&w, "}");
    assert_false(w.full);
    assert_int_equal(decode(writer_view(&w), &c), PEER_MALFORMED);
    assert_non_null(strstr(why_text, " and 37 more" FIELDS));
    w = writer_of(json, sizeof json);
    writer_text(&w, "{\"apiVersion\":\"");
    for (unsigned k = 0; k < 5000; k++) {
        writer_u8(&w, 'v');
    }
    writer_text(&w, "\",\"kind\":\"");
    for (unsigned k = 0; k < 5000; k++) {
        writer_u8(&w, 'k');
    }
    writer_text(&w, "\"}");
    assert_false(w.full);
    assert_int_equal(decode(writer_view(&w), &c), PEER_UNSUPPORTED);
    assert_non_null(strstr(why_text, KNOWN));
}

/* One changed byte of a good text never gives anything but a verdict with words. */
static void test_every_changed_byte(void **state)
{
    static const char good[] = NEURON "2}";
    char text[sizeof good];
    (void)state;
    for (size_t at = 0; at < sizeof good - 1; at++) {
        for (unsigned byte = 0; byte < 256; byte++) {
            struct config c;
            memcpy(text, good, sizeof good);
            text[at] = (char)byte;
            if (decode(view_of(text, sizeof good - 1), &c) == STATUS_OK) {
                assert_int_equal(c.kind, CONFIG_NEURON);
                assert_true(c.value == 1 || c.value == 2);
            }
        }
    }
}

/* --- against the node --- */

enum { ANY_LNC = 1 << 1 | 1 << 2, LNC_TWO = 1 << 2, NO_LNC = 0 };

static void test_check(void **state)
{
    static const struct {
        struct config config;
        unsigned lnc_allowed;
        const char *type;
        const char *why; /* NULL: allowed */
    } rows[] = {
        {{.kind = CONFIG_NEURON, .value = 1}, ANY_LNC, "trn2.48xlarge", NULL},
        {{.kind = CONFIG_NEURON, .value = 2}, ANY_LNC, "trn2.48xlarge", NULL},
        {{.kind = CONFIG_NEURON, .value = 2}, LNC_TWO, "xyz9.test", NULL},
        {{.kind = CONFIG_NEURON, .value = 1},
         LNC_TWO,
         "xyz9.test",
         "LNC value 1 is not supported by instance type xyz9.test"},
        {{.kind = CONFIG_NEURON, .value = 1},
         NO_LNC,
         "trn1.2xlarge",
         "LNC value is not configurable for instance type trn1.2xlarge" NO_LNC_REMEDY},
        {{.kind = CONFIG_NEURON, .value = 2},
         NO_LNC,
         "trn1.2xlarge",
         "LNC value is not configurable for instance type trn1.2xlarge" NO_LNC_REMEDY},
        {{.kind = CONFIG_NEURON, .value = 2},
         NO_LNC,
         "trn7.new",
         "LNC value is not configurable for instance type trn7.new" NO_LNC_REMEDY},
        {{.kind = CONFIG_NEURON, .value = 2},
         NO_LNC,
         "",
         "LNC value is not configurable for instance type (unknown)" NO_LNC_REMEDY},
        {{.kind = CONFIG_ULTRASERVER, .value = 4},
         ANY_LNC,
         "trn2.48xlarge",
         "UltraServer mode is not configurable for instance type trn2.48xlarge" NO_MODE_REMEDY},
        {{.kind = CONFIG_ULTRASERVER, .value = 1},
         NO_LNC,
         "trn7.new",
         "UltraServer mode is not configurable for instance type trn7.new" NO_MODE_REMEDY},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct writer why = writer_of(why_text, REASON_CAP);
        memset(why_text, 0, sizeof why_text);
        static const struct ultraserver none;
        enum status s =
            config_check(&rows[i].config, rows[i].lnc_allowed, &none, rows[i].type, &why);
        assert_int_equal(s, (rows[i].why == NULL) ? STATUS_OK : PEER_UNSUPPORTED);
        assert_string_equal(why_text, (rows[i].why == NULL) ? "" : rows[i].why);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accepted),
        cmocka_unit_test(test_strict),
        cmocka_unit_test(test_types_and_ranges),
        cmocka_unit_test(test_kinds_and_versions),
        cmocka_unit_test(test_syntax),
        cmocka_unit_test(test_longest_texts),
        cmocka_unit_test(test_every_changed_byte),
        cmocka_unit_test(test_check),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
