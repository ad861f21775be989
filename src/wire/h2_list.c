/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules of one header list, RFC 9113 §8.2 and §8.3: which fields may stand where.
 * Pure; owns the memory that the rules need (struct h2_list) and no field.
 */
#include "base/assert.h"
#include "base/chars.h"
#include "wire/h2_internal.h"

/* Bits of `pseudo` of struct h2_list. */
#define PSEUDO_METHOD 0x01u
#define PSEUDO_SCHEME 0x02u
#define PSEUDO_AUTHORITY 0x04u
#define PSEUDO_PATH 0x08u
#define PSEUDO_STATUS 0x10u

void h2_list_begin(struct h2_list *list, uint8_t kind)
{
    ASSERT(kind == H2_LIST_REQUEST || kind == H2_LIST_RESPONSE || kind == H2_LIST_TRAILERS);
    *list = (struct h2_list){.kind = kind};
}

/* §8.2.1: no controls, no space, no upper case, nothing from DEL on, a colon only in front. */
static bool name_valid(struct view name)
{
    ASSERT(name.len == 0u || name.data != NULL);
    for (size_t i = 0; i < name.len; i++) {
        uint8_t o = name.data[i];
        if (o <= 0x20u || o >= 0x7fu || is_upper(o) || (o == ':' && i > 0u)) {
            return false;
        }
    }
    return name.len > 0u;
}

static bool is_blank(uint8_t octet)
{
    return octet == ' ' || octet == '\t';
}

/* §8.2.1: no NUL, CR or LF; no space or tab at either end. */
static bool value_valid(struct view value)
{
    ASSERT(value.len == 0u || value.data != NULL);
    for (size_t i = 0; i < value.len; i++) {
        uint8_t o = value.data[i];
        if (o == 0x00u || o == '\n' || o == '\r') {
            return false;
        }
    }
    return value.len == 0u || (!is_blank(value.data[0]) && !is_blank(value.data[value.len - 1u]));
}

static bool method_valid(struct h2_list *list, struct view value)
{
    ASSERT((list->pseudo & PSEUDO_METHOD) != 0u);
    list->is_connect = view_is(value, "CONNECT");
    return value.len > 0u;
}

static bool scheme_valid(struct h2_list *list, struct view value)
{
    (void)list;
    return value.len > 0u;
}

static bool authority_valid(struct h2_list *list, struct view value)
{
    (void)list;
    (void)value;
    return true; /* kubelets send a percent-encoded socket path, "localhost" or nothing */
}

/* §8.3.1: absolute, or "*" of OPTIONS. */
static bool path_valid(struct h2_list *list, struct view value)
{
    (void)list;
    return view_starts(value, "/") || view_is(value, "*");
}

/* §8.3.2: three digits (RFC 9110 §15); 101 does not exist in HTTP/2 (§8.6). */
static bool status_valid(struct h2_list *list, struct view value)
{
    ASSERT(list->kind == H2_LIST_RESPONSE && list->status == 0u);
    uint64_t status;
    if (value.len != 3u || view_decimal(value, 999, &status) != STATUS_OK) {
        return false;
    }
    list->status = (uint16_t)status;
    return status >= 100u && status != 101u;
}

static const struct {
    const char *name;
    uint8_t kind;
    uint8_t bit;
    bool (*valid)(struct h2_list *list, struct view value);
} pseudo_fields[] = {
    {":method", H2_LIST_REQUEST, PSEUDO_METHOD, method_valid},
    {":scheme", H2_LIST_REQUEST, PSEUDO_SCHEME, scheme_valid},
    {":authority", H2_LIST_REQUEST, PSEUDO_AUTHORITY, authority_valid},
    {":path", H2_LIST_REQUEST, PSEUDO_PATH, path_valid},
    {":status", H2_LIST_RESPONSE, PSEUDO_STATUS, status_valid},
};
#define PSEUDO_FIELDS (sizeof pseudo_fields / sizeof pseudo_fields[0])

/* §8.3: known, of this kind of list, once, before all regular fields. */
static bool pseudo_field(struct h2_list *list, struct view name, struct view value)
{
    ASSERT(name.len > 0u && name.data[0] == ':');
    for (size_t i = 0; i < PSEUDO_FIELDS; i++) {
        if (!view_is(name, pseudo_fields[i].name)) {
            continue;
        }
        uint8_t bit = pseudo_fields[i].bit;
        bool allowed = pseudo_fields[i].kind == list->kind && (list->pseudo & bit) == 0u;
        list->pseudo |= bit;
        return allowed && !list->regular && pseudo_fields[i].valid(list, value);
    }
    return false;
}

/* §8.2.2 */
static bool connection_specific(struct view name)
{
    static const char *const names[] = {"connection", "proxy-connection", "keep-alive",
                                        "transfer-encoding", "upgrade"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (view_is(name, names[i])) {
            return true;
        }
    }
    return false;
}

/* §8.1.1; a repeated content-length must have the same value (RFC 9110 §8.6). */
static bool content_length(struct h2_list *list, struct view value)
{
    ASSERT(list->kind != H2_LIST_TRAILERS);
    uint64_t length;
    if (view_decimal(value, INT64_MAX, &length) != STATUS_OK) {
        return false;
    }
    bool same = !list->has_length || list->length == length;
    list->has_length = true;
    list->length = length;
    return same;
}

static bool regular_field(struct h2_list *list, struct view name, struct view value)
{
    ASSERT(name.len > 0u && name.data[0] != ':');
    list->regular = true;
    if (connection_specific(name)) {
        return false;
    }
    if (view_is(name, "te")) {
        return view_is(value, "trailers");
    }
    if (view_is(name, "content-length") && list->kind != H2_LIST_TRAILERS) {
        return content_length(list, value);
    }
    return true;
}

bool h2_list_field(struct h2_list *list, struct view name, struct view value)
{
    ASSERT(list->kind <= H2_LIST_TRAILERS);
    if (!name_valid(name) || !value_valid(value)) {
        return false;
    }
    return name.data[0] == ':' ? pseudo_field(list, name, value) : regular_field(list, name, value);
}

/* §8.3.1, §8.5 */
static bool request_complete(const struct h2_list *list)
{
    ASSERT(list->kind == H2_LIST_REQUEST);
    unsigned mandatory = PSEUDO_METHOD | PSEUDO_SCHEME | PSEUDO_PATH;
    if (list->is_connect) {
        return list->pseudo == (PSEUDO_METHOD | PSEUDO_AUTHORITY);
    }
    return (list->pseudo & mandatory) == mandatory;
}

bool h2_list_end(const struct h2_list *list)
{
    ASSERT(list->kind <= H2_LIST_TRAILERS);
    if (list->kind == H2_LIST_REQUEST) {
        return request_complete(list);
    }
    return list->kind == H2_LIST_TRAILERS || list->pseudo == PSEUDO_STATUS;
}
