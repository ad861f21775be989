/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the value of a single setting by the kind of its row: number, name, path, duration, taint
 * and so on. Decides which values are valid, and writes why a value is invalid. Does not parse the
 * command line.
 */
#include <string.h>

#include "agent/settings_internal.h"
#include "base/assert.h"
#include "base/chars.h"
#include "base/ip.h"
#include "cfg/identity.h"

/* Maximum number of bytes of an invalid value that an error quotes. */
#define QUOTE_MAX 400u

/*
 * Writes the error about an invalid value: its flag or environment variable, the value, and the
 * problem.
 */
static enum status refuse_setting(const struct setting_source *source, struct writer *why,
                                  const char *problem)
{
    WRITE(why, "% ", TEXT(source->name));
    setting_quote(why, source->text);
    WRITE(why, ": %", TEXT(problem));
    return PEER_MALFORMED;
}

void setting_quote(struct writer *why, struct view text)
{
    ASSERT(why != NULL && (text.data != NULL || text.len == 0u));
    struct view shown = view_first(text, QUOTE_MAX);
    writer_u8(why, '"');
    for (size_t i = 0; i < shown.len; i++) {
        uint8_t byte = shown.data[i];
        writer_u8(why, is_control(byte) ? (uint8_t)'?' : byte);
    }
    writer_text(why, (shown.len < text.len) ? "...\"" : "\"");
}

static void *field_of(struct settings *out, const struct setting_row *row)
{
    ASSERT((size_t)row->offset + row->size <= sizeof *out);
    return (uint8_t *)out + row->offset;
}

/* --- checks of characters --- */

/*
 * Whether the character `c` may follow `before` in a subdomain: a dot only follows a letter or
 * digit, and a dash does not follow a dot.
 */
static bool subdomain_step(uint8_t before, uint8_t c)
{
    if (is_digit(c) || is_lower(c)) {
        return true;
    }
    return (c == '-' && before != '.') || (c == '.' && before != '.' && before != '-');
}

/*
 * Whether the text is a DNS-1123 subdomain as the API server checks it: labels of a-z, 0-9 and
 * inner dashes.
 */
static bool is_subdomain(struct view v)
{
    uint8_t before = (uint8_t)'.';
    for (size_t i = 0; i < v.len; i++) {
        if (!subdomain_step(before, v.data[i])) {
            return false;
        }
        before = v.data[i];
    }
    return before != '.' && before != '-';
}

/*
 * Whether the text is valid as the name part of a label key: at most 63 of [-_.0-9A-Za-z], with a
 * letter or digit at both ends.
 */
static bool is_label_name(struct view v)
{
    if (v.len == 0u || v.len > 63u) {
        return false;
    }
    for (size_t i = 0; i < v.len; i++) {
        uint8_t c = v.data[i];
        if (!is_alphanumeric(c) && c != '-' && c != '_' && c != '.') {
            return false;
        }
    }
    return is_alphanumeric(v.data[0]) && is_alphanumeric(v.data[v.len - 1u]);
}

/* --- settings that are names or texts --- */

static enum status store_text(void *field, size_t cap, const struct setting_source *source,
                              struct writer *why)
{
    if (text_copy(field, cap, source->text) == STATUS_OK) {
        return STATUS_OK;
    }
    (void)refuse_setting(source, why, "is ");
    WRITE(why, "% bytes long, the limit is %", NUMBER(source->text.len), NUMBER(cap - 1u));
    return PEER_MALFORMED;
}

static enum status store_node_name(void *field, size_t cap, const struct setting_source *source,
                                   struct writer *why)
{
    if (!is_subdomain(source->text)) {
        return refuse_setting(source, why,
                              "is not a node name: lower-case letters, digits, '-' and '.', "
                              "letters or digits at the ends");
    }
    return store_text(field, cap, source, why);
}

/* A DRA driver's name is a DNS subdomain of at most 63 characters (ResourceSlice validation). */
static enum status store_driver(void *field, size_t cap, const struct setting_source *source,
                                struct writer *why)
{
    if (view_is(source->text, DRIVER_NAME)) {
        return refuse_setting(source, why,
                              "is the driver of the Neuron devices; give another name");
    }
    if (!is_subdomain(source->text)) {
        return refuse_setting(source, why,
                              "is not a driver name: lower-case letters, digits, '-' and '.', "
                              "letters or digits at the ends");
    }
    return store_text(field, cap, source, why);
}

static enum status store_pod(void *field, size_t cap, const struct setting_source *source,
                             struct writer *why)
{
    size_t slash = view_find(source->text, '/');
    if (!is_subdomain(view_first(source->text, slash)) ||
        !is_subdomain(view_from(source->text, slash + 1u))) {
        return refuse_setting(source, why, "is not a pod; give NAMESPACE/NAME");
    }
    return store_text(field, cap, source, why);
}

static enum status store_word(struct settings *out, const struct setting_row *row,
                              const struct setting_source *source, struct writer *why)
{
    bool dots = row->kind == KIND_TEXT;
    for (size_t i = 0; i < source->text.len; i++) {
        uint8_t c = source->text.data[i];
        if (!is_alphanumeric(c) && c != '-' && !(dots && c == '.')) {
            return refuse_setting(source, why,
                                  dots ? "only letters, digits, '-' and '.' are allowed"
                                       : "only letters, digits and '-' are allowed");
        }
    }
    return store_text(field_of(out, row), row->size, source, why);
}

/* --- settings that are paths --- */

static bool is_path_text(struct view v)
{
    for (size_t i = 0; i < v.len; i++) {
        if (is_control(v.data[i])) {
            return false;
        }
    }
    return view_is_utf8(v);
}

static enum status store_file(void *field, size_t cap, const struct setting_source *source,
                              struct writer *why)
{
    if (!is_path_text(source->text)) {
        return refuse_setting(source, why, "contains bytes that are not text");
    }
    return store_text(field, cap, source, why);
}

static enum status store_kubeconfig(void *field, size_t cap, const struct setting_source *source,
                                    struct writer *why)
{
    if (view_find(source->text, ':') != source->text.len) {
        return refuse_setting(source, why,
                              "name one file; lists of files with ':' are not supported");
    }
    return store_file(field, cap, source, why);
}

/*
 * Returns the next component of a path; empty: the path has no more components. Moves *pos past the
 * component.
 */
static struct view path_part(struct view path, size_t *pos)
{
    ASSERT(*pos <= path.len);
    size_t begin = *pos;
    for (size_t i = begin; i < path.len && path.data[i] == '/'; i++) {
        begin = i + 1u;
    }
    struct view rest = view_from(path, begin);
    struct view part = view_first(rest, view_find(rest, '/'));
    *pos = begin + part.len;
    return part;
}

/*
 * Appends `path` without double slashes, trailing slashes and "." components. false: `path` has a
 * ".." component.
 */
static bool clean_path(struct view path, struct writer *out)
{
    size_t pos = 0;
    for (size_t i = 0; i < path.len && pos < path.len; i++) {
        struct view part = path_part(path, &pos);
        if (view_is(part, "..")) {
            return false;
        }
        if (part.len > 0u && !view_is(part, ".")) {
            WRITE(out, "/%", VIEW(part));
        }
    }
    if (out->len == 0u) { /* no part was written: of a part, at least the slash fits */
        writer_u8(out, '/');
    }
    return true;
}

static enum status store_folder(void *field, size_t cap, const struct setting_source *source,
                                struct writer *why)
{
    char clean[PATH_CAP];
    struct writer w = writer_of(clean, sizeof clean);
    if (!view_starts(source->text, "/") || !is_path_text(source->text)) {
        return refuse_setting(source, why, "is not an absolute path");
    }
    if (!clean_path(source->text, &w)) {
        return refuse_setting(source, why, "must not contain \"..\"");
    }
    struct setting_source cleaned = {.name = source->name, .text = writer_view(&w)};
    return store_text(field, cap, w.full ? source : &cleaned, why);
}

/* --- settings that are numbers or choices --- */

static void store_number(void *field, size_t size, uint64_t value)
{
    uint32_t word = (uint32_t)value;
    bool flag = value != 0u;
    _Static_assert(sizeof(enum log_level) == sizeof word, "enums are stored as 32 bits");
    ASSERT(size == sizeof value || size == sizeof word || (size == sizeof flag && value <= 1u));
    if (size == sizeof value) {
        memcpy(field, &value, sizeof value);
    } else if (size == sizeof word) {
        memcpy(field, &word, sizeof word);
    } else {
        memcpy(field, &flag, sizeof flag);
    }
}

static enum status store_port(void *field, size_t size, const struct setting_source *source,
                              struct writer *why)
{
    uint64_t port = 0;
    if (view_is(source->text, "-1")) {
        store_number(field, size, (uint64_t)-1);
        return STATUS_OK;
    }
    if (view_decimal(source->text, 65535, &port) != STATUS_OK) {
        return refuse_setting(source, why, "is not a port: -1 (off), 0 (any) or 1 to 65535");
    }
    store_number(field, size, port);
    return STATUS_OK;
}

static enum status store_shares(void *field, size_t size, const struct setting_source *source,
                                struct writer *why)
{
    uint64_t shares = 0;
    if (view_decimal(source->text, EFA_SHARES_MAX, &shares) != STATUS_OK || shares == 0u) {
        (void)refuse_setting(source, why, "is not a number from 1 to ");
        writer_decimal(why, EFA_SHARES_MAX);
        return PEER_MALFORMED;
    }
    store_number(field, size, shares);
    return STATUS_OK;
}

bool setting_truth(struct view text, bool *yes)
{
    *yes = view_is(text, "true") || view_is(text, "1");
    return *yes || view_is(text, "false") || view_is(text, "0");
}

static enum status store_bool(void *field, size_t size, const struct setting_source *source,
                              struct writer *why)
{
    bool yes = false;
    if (!setting_truth(source->text, &yes)) {
        return refuse_setting(source, why, "must be true or false");
    }
    store_number(field, size, yes ? 1u : 0u);
    return STATUS_OK;
}

static enum status store_choice(struct settings *out, const struct setting_row *row,
                                const struct setting_source *source, struct writer *why)
{
    for (unsigned i = 0; i < SETTING_CHOICES_MAX && row->choices[i] != NULL; i++) {
        if (view_is(source->text, row->choices[i])) {
            store_number(field_of(out, row), row->size, i);
            return STATUS_OK;
        }
    }
    (void)refuse_setting(source, why, "must be one of ");
    for (unsigned i = 0; i < SETTING_CHOICES_MAX && row->choices[i] != NULL; i++) {
        WRITE(why, "%%", TEXT((i == 0u) ? "" : ", "), TEXT(row->choices[i]));
    }
    return PEER_MALFORMED;
}

/* --- settings that are durations (as Go's time.ParseDuration, without sign) --- */

struct duration_unit {
    const char *name;
    uint64_t nanoseconds;
};

/* Each unit must precede any unit that is a prefix of its name, for example "ms" before "m". */
static const struct duration_unit duration_units[] = {
    {"ns", 1u},
    {"us", 1000u},
    {"\xc2\xb5"
     "s",
     1000u},
    {"\xce\xbc"
     "s",
     1000u},
    {"ms", 1000000u},
    {"s", 1000000000u},
    {"m", 60000000000u},
    {"h", 3600000000000u},
};
#define DURATION_UNITS (sizeof duration_units / sizeof duration_units[0])

/* Consumes the unit of a duration at *pos and returns it in nanoseconds; 0: there is no unit. */
static uint64_t duration_unit(struct view text, size_t *pos)
{
    struct view rest = view_from(text, *pos);
    for (unsigned i = 0; i < DURATION_UNITS; i++) {
        if (view_starts(rest, duration_units[i].name)) {
            *pos += strlen(duration_units[i].name);
            return duration_units[i].nanoseconds;
        }
    }
    return 0;
}

/*
 * Consumes the digits before the decimal point at *pos, and returns the number that they form. Once
 * this number exceeds INTERVAL_MAX_MS in nanoseconds, further digits do not increase it, so that it
 * cannot overflow.
 */
static uint64_t duration_whole(struct view text, size_t *pos)
{
    uint64_t value = 0;
    for (size_t i = *pos; i < text.len && is_digit(text.data[i]); i++) {
        if (value <= INTERVAL_MAX_MS * UINT64_C(1000000)) {
            value = value * 10u + (uint64_t)(text.data[i] - '0');
        }
        *pos = i + 1u;
    }
    return value;
}

/*
 * Consumes the digits after the decimal point at *pos, and returns the fraction in billionths;
 * ignores digits after the ninth.
 */
static uint64_t duration_fraction(struct view text, size_t *pos)
{
    uint64_t value = 0;
    uint64_t digit = 100000000u;
    for (size_t i = *pos; i < text.len && is_digit(text.data[i]); i++) {
        value += digit * (uint64_t)(text.data[i] - '0');
        digit /= 10u;
        *pos = i + 1u;
    }
    return value;
}

/*
 * Consumes a number and its unit, a part of a duration. false: the part is malformed or above
 * INTERVAL_MAX_MS.
 */
static bool duration_part(struct view text, size_t *pos, uint64_t *ns)
{
    size_t begin = *pos;
    uint64_t whole = duration_whole(text, pos);
    uint64_t billionths = 0;
    size_t digits = *pos - begin;
    if (*pos < text.len && text.data[*pos] == '.') {
        *pos += 1u;
        begin = *pos;
        billionths = duration_fraction(text, pos);
        digits += *pos - begin;
    }
    uint64_t unit = duration_unit(text, pos);
    if (digits == 0u || unit == 0u || whole > INTERVAL_MAX_MS * UINT64_C(1000000) / unit) {
        return false;
    }
    /*
     * In nanoseconds, every unit is a divisor or a multiple of a billion, so both divisions below
     * leave no remainder. No product exceeds 64 bits.
     */
    *ns = whole * unit;
    *ns += (unit >= 1000000000u) ? billionths * (unit / 1000000000u)
                                 : billionths / (1000000000u / unit);
    return true;
}

static bool duration_ms(struct view text, uint64_t *ms)
{
    uint64_t sum = 0;
    size_t pos = 0;
    for (size_t i = 0; i < text.len && pos < text.len; i++) {
        uint64_t part = 0;
        if (!duration_part(text, &pos, &part)) {
            return false;
        }
        sum += part;
        if (sum / 1000000u > INTERVAL_MAX_MS) {
            return false;
        }
    }
    *ms = sum / 1000000u;
    return text.len > 0u;
}

static enum status store_duration(struct settings *out, const struct setting_row *row,
                                  const struct setting_source *source, struct writer *why)
{
    uint64_t ms = 0;
    if (!duration_ms(source->text, &ms)) {
        return refuse_setting(source, why,
                              "is not a duration up to 8760h, such as 10m, 1h30m or 1.5s");
    }
    if (ms < row->least_ms) {
        (void)refuse_setting(source, why, "must be at least ");
        WRITE(why, "%ms", NUMBER(row->least_ms));
        return PEER_MALFORMED;
    }
    store_number(field_of(out, row), row->size, ms);
    return STATUS_OK;
}

/* --- settings that are taints --- */

static bool is_taint_key(struct view key)
{
    size_t slash = view_find(key, '/');
    if (slash == key.len) {
        return is_label_name(key);
    }
    return slash > 0u && slash <= 253u && is_subdomain(view_first(key, slash)) &&
           is_label_name(view_from(key, slash + 1u));
}

static enum status store_taint(struct taint *out, const struct setting_source *source,
                               struct writer *why)
{
    size_t colon = view_find(source->text, ':');
    struct view key = view_first(source->text, colon);
    struct view effect = view_from(source->text, colon + 1u);
    if (source->text.len == 0u) {
        out->key[0] = '\0';
        out->effect[0] = '\0';
        return STATUS_OK;
    }
    if (!view_is(effect, "NoSchedule") && !view_is(effect, "NoExecute")) {
        return refuse_setting(source, why, "must be key:NoSchedule or key:NoExecute, or empty");
    }
    if (!is_taint_key(key)) {
        return refuse_setting(source, why,
                              "key before ':' must be a label key, such as example.com/name");
    }
    enum status s = text_copy(out->key, sizeof out->key, key);
    ASSERT(s == STATUS_OK);
    s = text_copy(out->effect, sizeof out->effect, effect);
    ASSERT(s == STATUS_OK);
    return STATUS_OK;
}

/* --- settings that are amounts of node resources --- */

/* The node resource `name` that has no amount yet; NODE_RESOURCES: there is none. */
static unsigned find_resource(const struct node_resources *r, struct view name)
{
    unsigned i = 0;
    while (i < (unsigned)NODE_RESOURCES &&
           (!view_is(name, node_resource_name(i)) || r->quantity[i][0] != '\0')) {
        i++;
    }
    return i;
}

static const char resource_names[] =
    "must be NAME=QUANTITY,... with the names hugepages-1Gi, hugepages-2Mi and memory, each once "
    "at most";

/* Adds one NAME=QUANTITY. Returns the problem with it; NULL: there is none. */
static const char *add_resource(struct node_resources *r, struct view item)
{
    size_t equals = view_find(item, '=');
    unsigned resource = find_resource(r, view_first(item, equals));
    if (resource == (unsigned)NODE_RESOURCES) {
        return resource_names;
    }
    enum status s =
        node_quantity_parse(resource, view_from(item, equals + 1u), r->quantity[resource]);
    return (s == STATUS_OK) ? NULL
                            : "a quantity is like 320Mi, with Ki, Mi, Gi or Ti, at most 1Ti, and "
                              "whole huge pages";
}

static enum status store_resources(void *field, const struct setting_source *source,
                                   struct writer *why)
{
    struct node_resources r = {0};
    struct view rest = source->text;
    const char *problem = NULL;
    bool more = rest.len > 0u;
    for (unsigned i = 0; i < (unsigned)NODE_RESOURCES && more && problem == NULL; i++) {
        size_t comma = view_find(rest, ',');
        problem = add_resource(&r, view_first(rest, comma));
        more = comma < rest.len;
        rest = view_from(rest, comma + 1u);
    }
    if (problem == NULL && more) {
        problem = resource_names; /* each name has been given */
    }
    if (problem != NULL) {
        return refuse_setting(source, why, problem);
    }
    memcpy(field, &r, sizeof r);
    return STATUS_OK;
}

/* --- settings that are addresses --- */

static enum status store_address(void *field, size_t cap, const struct setting_source *source,
                                 struct writer *why)
{
    struct ip_address address;
    if (source->text.len > 0u && !ip_parse(source->text, &address)) {
        return refuse_setting(source, why, "is not an IP address");
    }
    return store_text(field, cap, source, why);
}

enum status setting_store(struct settings *out, const struct setting_row *row,
                          const struct setting_source *source, struct writer *why)
{
    void *field = field_of(out, row);
    switch (row->kind) {
    case KIND_NODE_NAME:
        return store_node_name(field, row->size, source, why);
    case KIND_DRIVER:
        return store_driver(field, row->size, source, why);
    case KIND_FOLDER:
        return store_folder(field, row->size, source, why);
    case KIND_FILE:
        return store_file(field, row->size, source, why);
    case KIND_KUBECONFIG:
        return store_kubeconfig(field, row->size, source, why);
    case KIND_TEXT:
    case KIND_UID:
        return store_word(out, row, source, why);
    case KIND_PORT:
        return store_port(field, row->size, source, why);
    case KIND_SHARES:
        return store_shares(field, row->size, source, why);
    case KIND_POD:
        return store_pod(field, row->size, source, why);
    case KIND_BOOL:
        return store_bool(field, row->size, source, why);
    case KIND_CHOICE:
        return store_choice(out, row, source, why);
    case KIND_DURATION:
        return store_duration(out, row, source, why);
    case KIND_ADDRESS:
        return store_address(field, row->size, source, why);
    case KIND_RESOURCES:
        return store_resources(field, source, why);
    default:
        ASSERT(row->kind == KIND_TAINT);
        return store_taint(field, source, why);
    }
}
