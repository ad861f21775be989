/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opaque configurations of claims. Checks I1 to I4 of dra/config.h. The oracle decides by jansson's
 * tree of the text alone: object, its three members, what they hold, and whether one comes twice.
 *
 * Input: an opaque configuration of a claim, JSON
 * Links: -ljansson
 */
#include "boards/board.h"
#include "dra/config.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/json_oracle.h"

static char why_text[4096];

/* Errors end in pod events: one line of printable ASCII. */
static void check_line(struct view why)
{
    CHECK(why.len > 0u);
    for (size_t i = 0; i < why.len; i++) {
        CHECK(why.data[i] >= ' ' && why.data[i] <= '~');
    }
}

#ifndef FUZZ_ALONE

static bool member_is(const json_t *object, const char *name, const char *value)
{
    const json_t *member = json_object_get(object, name);
    return json_string_length(member) == strlen(value) &&
           strcmp(json_string_value(member), value) == 0;
}

static bool version_known(const json_t *object)
{
    return member_is(object, "apiVersion", "neuron.aws.com/v1") ||
           member_is(object, "apiVersion", "neuron.aws.com/v1alphav1") ||
           member_is(object, "apiVersion", "resource.neuron.aws.com/v1alphav1");
}

/* Whether the value is one of those allowed; *value gets it. */
static bool value_known(const json_t *object, bool neuron, int64_t *value)
{
    const json_t *n = json_object_get(object, neuron ? "logicalNeuronCore" : "ultraserverMode");
    *value = json_integer_value(n);
    return json_is_integer(n) && (*value == 1 || *value == 2 || (*value == 4 && !neuron));
}

/* A good configuration by jansson's tree; members that come twice are refused when it is read. */
static bool expected(struct view text, struct config *c)
{
    json_error_t error;
    const char *bytes = (text.len == 0u) ? "" : (const char *)text.data;
    if (view_find(text, 0) < text.len) {
        return false; /* RFC 8259 allows no NUL anywhere; jansson takes one outside of strings */
    }
    json_t *object = json_loadb(bytes, text.len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    bool neuron = member_is(object, "kind", "NeuronConfig");
    bool ultra = member_is(object, "kind", "UltraServerConfig");
    int64_t value = 0;
    bool good = object != NULL && json_object_size(object) == 3u && version_known(object) &&
                (neuron || ultra) && value_known(object, neuron, &value);
    c->kind = neuron ? CONFIG_NEURON : CONFIG_ULTRASERVER;
    c->value = (uint8_t)value;
    json_decref(object);
    return good;
}

#endif

static void judge(struct view text, bool good, const struct config *c)
{
    struct config want = *c;
    bool taken = good && text.len > 0u;
#ifndef FUZZ_ALONE
    taken = expected(text, &want);
#endif
    CHECK(taken == good); /* I3 */
    CHECK(!good || (want.kind == c->kind && want.value == c->value));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = fuzz_copy(data, size);
    struct view text = view_of(copy, size);
    struct config c = {.kind = CONFIG_ULTRASERVER, .api_version = "before", .value = 99};
    struct writer why = writer_of(why_text, sizeof why_text);
    enum status s = config_decode(text, &c, &why);
    if (s == STATUS_OK) {
        CHECK(why.len == 0u && c.value >= 1u && c.value <= 4u);
        const char *type = (size & 1u) != 0u ? "trn2.48xlarge" : "trn1.2xlarge";
        unsigned allowed = board_family(type)->lnc_allowed;
        struct ultraserver nodes = {.member = (size & 2u) != 0u,
                                    .electing = (size & 4u) != 0u,
                                    .modes = (uint8_t)(size & 0x1eu)};
        enum status fits = config_check(&c, allowed, &nodes, "some.type", &why);
        CHECK(fits == STATUS_OK || fits == PEER_UNSUPPORTED);
        CHECK((fits == STATUS_OK) == (why.len == 0u)); /* I4 */
    } else {
        CHECK(s == PEER_MALFORMED || s == PEER_UNSUPPORTED);
        CHECK(c.value == 99u && c.kind == CONFIG_ULTRASERVER); /* I1 */
        /* I2: all of it reaches the event, with what claim_config_add puts before and after it */
        CHECK(!why.full && why.len <= CLAIM_ERROR_CAP - 156u);
        check_line(writer_view(&why));
    }
    judge(text, s == STATUS_OK, &c);
    free(copy);
    return 0;
}
