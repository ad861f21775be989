/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes opaque configurations strictly, in two passes over the text. The first pass finds
 * apiVersion and kind; the second checks every member against the row of the kind. Owns the table
 * of kinds and the texts that users read in pod events.
 */
#include "dra/config.h"

#include "base/assert.h"
#include "base/json.h"
#include "cfg/identity.h"

#define VALUE(n) (1u << (n))
#define KINDS ((unsigned)CONFIG_ULTRASERVER + 1u)

/* A kind of configuration. Besides apiVersion and kind, it has one field, a small integer. */
static const struct kind_row {
    const char *name;
    const char *field;
    const char *values; /* the allowed values of the field, as text */
    uint8_t mask;       /* bit n: value n is allowed */
} kind_rows[KINDS] = {
    [CONFIG_NEURON] = {"NeuronConfig", "logicalNeuronCore", "1, 2", VALUE(1) | VALUE(2)},
    [CONFIG_ULTRASERVER] = {"UltraServerConfig", "ultraserverMode", "1, 2, 4",
                            VALUE(1) | VALUE(2) | VALUE(4)},
};
enum { VALUE_LIMIT = 8 };

/* Accepted apiVersions: the released one, then two from the documentation of the beta release. */
static const char *const versions[] = {
    CONFIG_API_GROUP "/v1",
    CONFIG_API_GROUP "/v1alphav1",
    "resource." CONFIG_API_GROUP "/v1alphav1",
};
enum { VERSIONS = sizeof versions / sizeof versions[0] };

/* Indexes of a configuration's members: apiVersion, kind, and the field of its kind. */
enum { FIELD_VERSION, FIELD_KIND, FIELD_VALUE, FIELDS };

struct decoder {
    struct json_reader in;
    struct writer *why;
    const struct kind_row *row;
    const char *field_name[FIELDS];
    struct view name;         /* name of the current member */
    struct json_token value;  /* first token of the current member's value */
    struct view text[FIELDS]; /* values of apiVersion and kind; empty: absent or null */
    /* value of the kind's own field, row->field; JSON_NULL: absent or null */
    struct json_token number;
    bool seen[FIELDS];   /* members found in the second pass */
    unsigned complaints; /* number of unknown and duplicate members so far */
};

/* --- reading the members of the top object --- */

static enum status syntax_error(struct decoder *d)
{
    if (d->in.failed == FULL_BUFFER) {
        writer_text(d->why, "configuration is nested too deeply; it has plain members only");
    } else if (d->in.failed != STATUS_OK) {
        WRITE(d->why, "configuration is not valid JSON, at byte %", NUMBER(d->in.in.pos));
    } else {
        writer_text(d->why, "configuration is not a JSON object; write apiVersion, kind and the "
                            "kind's field under opaque.parameters");
    }
    return PEER_MALFORMED;
}

static enum status open_object(struct decoder *d, struct view json)
{
    json_open(&d->in, json);
    if (json_next(&d->in, &d->value) != STATUS_OK || d->value.kind != JSON_OBJECT_BEGIN) {
        return syntax_error(d);
    }
    return STATUS_OK;
}

/*
 * Reads the next member's name and the first token of its value. Sets *end if there is no next
 * member, because the object and the text have ended.
 */
static enum status next_member(struct decoder *d, bool *end)
{
    struct json_token t;
    enum status s = json_next(&d->in, &t);
    *end = s == STATUS_OK && t.kind == JSON_OBJECT_END;
    if (s != STATUS_OK) {
        return syntax_error(d);
    }
    if (*end) {
        s = json_next(&d->in, &t);
    } else {
        ASSERT(t.kind == JSON_NAME);
        d->name = t.text;
        s = json_next(&d->in, &d->value);
    }
    return (s == STATUS_OK) ? STATUS_OK : syntax_error(d);
}

static enum status skip_value(struct decoder *d)
{
    return (json_skip(&d->in, &d->value) == STATUS_OK) ? STATUS_OK : syntax_error(d);
}

static const char *found_name(enum json_kind kind)
{
    switch (kind) {
    case JSON_OBJECT_BEGIN:
        return "object";
    case JSON_ARRAY_BEGIN:
        return "array";
    case JSON_STRING:
        return "string";
    case JSON_NUMBER:
        return "number";
    default:
        /* callers handle null before this call, and no other token can begin a value */
        ASSERT(kind == JSON_TRUE || kind == JSON_FALSE);
        return "boolean";
    }
}

static enum status wrong_type(struct decoder *d, const char *field, const char *expected,
                              const struct json_token *found)
{
    WRITE(d->why, "field \"%\": expected %, found %", SHOWN(view_text(field)), TEXT(expected),
          TEXT(found_name(found->kind)));
    if (found->kind == JSON_NUMBER) {
        WRITE(d->why, " %", SHOWN(found->text));
    } else if (found->kind == JSON_STRING) {
        writer_text(d->why, "; write the number without quotes");
    } else {
        /* no remedy needed: the message already says which JSON type is expected */
    }
    return PEER_MALFORMED;
}

/* --- first pass over the text: apiVersion and kind --- */

/*
 * If the current member is apiVersion or kind, stores its value. As in Go, a later member replaces
 * an earlier one of the same name, and null leaves the stored value unchanged.
 */
static enum status parse_type(struct decoder *d)
{
    for (unsigned f = FIELD_VERSION; f <= FIELD_KIND; f++) {
        if (!json_text_is(d->name, d->field_name[f]) || d->value.kind == JSON_NULL) {
            continue;
        }
        if (d->value.kind != JSON_STRING) {
            return wrong_type(d, d->field_name[f], "string", &d->value);
        }
        d->text[f] = d->value.text;
    }
    return skip_value(d);
}

static enum status read_type(struct decoder *d, struct view json)
{
    bool end = false;
    enum status s = open_object(d, json);
    /* The loop is bounded, because each iteration consumes text. */
    while (s == STATUS_OK && !end) {
        s = next_member(d, &end);
        if (s == STATUS_OK && !end) {
            s = parse_type(d);
        }
    }
    return s;
}

/*
 * Fails because the member `name` is missing. The message asks for apiVersion and kind, because a
 * configuration that lacks one of them often lacks the other too.
 */
static enum status fail_missing(struct decoder *d, const char *name)
{
    WRITE(d->why,
          "Object '%' is missing; write apiVersion: % and kind: NeuronConfig or UltraServerConfig",
          TEXT(name), TEXT(versions[0]));
    return PEER_MALFORMED;
}

static enum status not_registered(struct decoder *d)
{
    WRITE(d->why, "no kind \"%\" is registered for version \"%\"", SHOWN(d->text[FIELD_KIND]),
          SHOWN(d->text[FIELD_VERSION]));
    writer_text(d->why, "; known: NeuronConfig, UltraServerConfig in ");
    for (unsigned i = 0; i < VERSIONS; i++) {
        WRITE(d->why, "%%", TEXT((i == 0u) ? "" : ", "), TEXT(versions[i]));
    }
    return PEER_UNSUPPORTED;
}

static enum status find_row(struct decoder *d, struct config *out)
{
    if (d->text[FIELD_KIND].len == 0u) {
        return fail_missing(d, "Kind");
    }
    if (d->text[FIELD_VERSION].len == 0u) {
        return fail_missing(d, "apiVersion");
    }
    unsigned version = 0;
    while (version < VERSIONS && !json_text_is(d->text[FIELD_VERSION], versions[version])) {
        version++;
    }
    unsigned kind = 0;
    while (kind < KINDS && !json_text_is(d->text[FIELD_KIND], kind_rows[kind].name)) {
        kind++;
    }
    if (version == VERSIONS || kind == KINDS) {
        return not_registered(d);
    }
    out->kind = (enum config_kind)kind;
    out->api_version = versions[version];
    d->row = &kind_rows[kind];
    d->field_name[FIELD_VALUE] = d->row->field;
    return STATUS_OK;
}

/* --- second pass over the text: every member, strictly --- */

static void add_complaint(struct decoder *d, const char *what)
{
    if (d->complaints < CONFIG_STRICT_ERRORS_MAX) {
        WRITE(d->why, "%% field \"%\"",
              TEXT((d->complaints == 0u) ? "strict decoding error: " : ", "), TEXT(what),
              SHOWN(d->name));
    }
    d->complaints++;
}

static enum status parse_member(struct decoder *d)
{
    unsigned f = 0;
    while (f < FIELDS && !json_text_is(d->name, d->field_name[f])) {
        f++;
    }
    if (f == FIELDS || d->seen[f]) {
        add_complaint(d, (f == FIELDS) ? "unknown" : "duplicate");
        return skip_value(d);
    }
    d->seen[f] = true;
    if (f == FIELD_VALUE) {
        d->number = d->value;
    }
    return skip_value(d);
}

static enum status end_complaints(struct decoder *d)
{
    if (d->complaints == 0u) {
        return STATUS_OK;
    }
    if (d->complaints > CONFIG_STRICT_ERRORS_MAX) {
        WRITE(d->why, " and % more", NUMBER(d->complaints - CONFIG_STRICT_ERRORS_MAX));
    }
    WRITE(d->why, "; known fields: apiVersion, kind, %", TEXT(d->row->field));
    return PEER_MALFORMED;
}

static enum status read_members(struct decoder *d, struct view json)
{
    bool end = false;
    enum status s = open_object(d, json);
    /* the loop ends, because it consumes text; read_type has checked that the text has no error */
    while (!end) {
        ASSERT(s == STATUS_OK);
        s = next_member(d, &end);
        if (!end) {
            ASSERT(s == STATUS_OK);
            s = parse_member(d);
        }
    }
    ASSERT(s == STATUS_OK);
    return end_complaints(d);
}

static enum status check_value(struct decoder *d, struct config *out)
{
    int64_t n = 0;
    bool given = d->number.kind != JSON_NULL;
    if (given && (d->number.kind != JSON_NUMBER || json_integer(d->number.text, &n) != STATUS_OK)) {
        enum status s = wrong_type(d, d->row->field, "integer", &d->number);
        WRITE(d->why, "; supported values: %", TEXT(d->row->values));
        return s;
    }
    if (given && n >= 0 && n < VALUE_LIMIT && ((d->row->mask >> (unsigned)n) & 1u) != 0u) {
        out->value = (uint8_t)n;
        return STATUS_OK;
    }
    writer_text(d->why, d->row->field);
    if (given) {
        writer_text(d->why, ": Unsupported value: ");
        writer_signed(d->why, n);
    } else {
        writer_text(d->why, ": Required value");
    }
    WRITE(d->why, "; supported values: %", TEXT(d->row->values));
    return PEER_MALFORMED;
}

enum status config_decode(struct view json, struct config *out, struct writer *why)
{
    struct decoder d = {
        .why = why, .field_name = {"apiVersion", "kind", ""}, .number = {.kind = JSON_NULL}};
    struct config c = {.kind = CONFIG_NEURON};
    enum status s = read_type(&d, json);
    if (s == STATUS_OK) {
        s = find_row(&d, &c);
    }
    if (s == STATUS_OK) {
        s = read_members(&d, json);
    }
    if (s == STATUS_OK) {
        s = check_value(&d, &c);
    }
    if (s == STATUS_OK) {
        *out = c;
    }
    return s;
}

/* --- checking a configuration against the node --- */

enum status config_check(const struct config *c, unsigned lnc_allowed,
                         const struct ultraserver *ultraserver, const char *instance_type,
                         struct writer *why)
{
    ASSERT(c->value < VALUE_LIMIT);
    if (c->kind == CONFIG_ULTRASERVER) {
        struct ultraserver_use use;
        return ultraserver_mode(ultraserver, c->value, instance_type, &use, why);
    }
    ASSERT(c->kind == CONFIG_NEURON);
    if (lnc_allowed == 0u) {
        /*
         * the message starts with the text of AWS's driver, for which users search and set alerts;
         * then the remedy follows
         */
        WRITE(why,
              "LNC value is not configurable for instance type %; remove the NeuronConfig, or use "
              "a trn2 or trn3 type",
              TEXT((instance_type[0] != '\0') ? instance_type : "(unknown)"));
        return PEER_UNSUPPORTED;
    }
    if ((lnc_allowed >> c->value & 1u) == 0u) {
        WRITE(why, "LNC value % is not supported by instance type %", NUMBER(c->value),
              TEXT(instance_type));
        return PEER_UNSUPPORTED;
    }
    return STATUS_OK;
}
