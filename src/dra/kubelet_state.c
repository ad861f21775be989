/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the kubelet's checkpoint byte by byte; see kubelet_state.h. */
#include "dra/kubelet_state.h"

#include <string.h>

#include "base/assert.h"

/* Values of `place`: positions in the outer JSON text of the checkpoint. */
enum { OUTER_HEAD, OUTER_DATA, OUTER_MIDDLE, OUTER_SUM, OUTER_END };
/*
 * Value of `depth`, the number of open JSON objects and arrays, in an element of
 * ClaimInfoStateList: the object of the data, the list and the element are open.
 */
#define ELEMENT_DEPTH 3u
/* Value of `depth` in the object DriverState of an element; its member names are driver names. */
#define DRIVERS_DEPTH 4u
#define DEPTH_MAX 16u
/*
 * Value of `escape` just after a backslash; lower values are the number of \u digits still to read.
 */
#define ESCAPE_KIND 5u

static const char outer_head[] = "{\"Data\":\"";
static const char outer_middle[] = ",\"Checksum\":";
static const char data_head[] = "{\"kind\":\"DRACheckpoint\",\"apiVersion\":\""
                                "checkpoint.dra.kubelet.k8s.io/v1\",\"ClaimInfoStateList\":";

void kubelet_state_begin(struct kubelet_state *k, const char *driver)
{
    ASSERT(k != NULL);
    memset(k, 0, sizeof *k);
    k->crc = UINT32_MAX;
    k->driver = view_text(driver);
}

/* --- parsing the data, which is JSON that Go wrote --- */

static uint32_t crc_add(uint32_t crc, uint8_t byte)
{
    uint32_t sum = crc ^ byte;
    for (unsigned bit = 0; bit < 8u; bit++) {
        sum = (sum >> 1) ^ ((sum & 1u) != 0u ? 0xedb88320u : 0u);
    }
    return sum;
}

/* Whether the position is directly in a list element, or among its drivers. */
static bool in_named(const struct kubelet_state *k)
{
    return k->depth == ELEMENT_DEPTH || (k->depth == DRIVERS_DEPTH && k->member == MEMBER_DRIVERS);
}

/* Consumes a byte of a string. `text` is full if the string is too long for any of its uses. */
static void string_byte(struct kubelet_state *k, uint8_t byte)
{
    if (in_named(k) && k->len < sizeof k->text) {
        k->text[k->len] = (char)byte;
        k->len++;
    }
}

/*
 * Copies the string that just ended to a field of `cap` bytes. Returns false if the string cannot
 * be a name or UID: it is empty, does not fit, or has a backslash.
 */
static bool take_text(const struct kubelet_state *k, char *field, size_t cap)
{
    bool good = k->len > 0u && k->len < cap && memchr(k->text, '\\', k->len) == NULL;
    if (good) {
        memcpy(field, k->text, k->len);
        field[k->len] = '\0';
    }
    return good;
}

/* Stores the string that just ended as the claim's UID; fails if the element already has a UID. */
static void take_uid(struct kubelet_state *k)
{
    bool good = !k->has_uid && take_text(k, k->claim.id.uid, sizeof k->claim.id.uid);
    k->failed = good ? STATUS_OK : PEER_MALFORMED;
    k->has_uid = true;
}

/* Ends a string; if it is a claim's UID, name or namespace, copies it to the claim. */
static void string_end(struct kubelet_state *k)
{
    struct claim_id *id = &k->claim.id;
    k->in_string = false;
    if (k->depth != ELEMENT_DEPTH || k->member == MEMBER_OTHER) {
        return;
    }
    if (k->member == MEMBER_UID) {
        take_uid(k);
    } else if (k->member == MEMBER_NAME) {
        (void)take_text(k, id->name, sizeof id->name);
    } else if (k->member == MEMBER_NAMESPACE) {
        (void)take_text(k, id->namespace_, sizeof id->namespace_);
    } else {
        /* ignores a string as the value of "DriverState": only an object can name drivers */
    }
    k->member = MEMBER_OTHER;
}

static void in_string(struct kubelet_state *k, uint8_t byte)
{
    bool escaped = k->backslash;
    k->backslash = byte == (uint8_t)'\\' && !escaped;
    if (byte == (uint8_t)'"' && !escaped) {
        string_end(k);
    } else {
        string_byte(k, byte);
    }
}

static void open_container(struct kubelet_state *k)
{
    k->failed = (k->depth < DEPTH_MAX) ? STATUS_OK : PEER_MALFORMED;
    k->depth++;
    if (k->depth == ELEMENT_DEPTH) {
        memset(&k->claim, 0, sizeof k->claim);
        k->has_uid = false;
        k->member = MEMBER_OTHER;
    }
    if (k->depth == DRIVERS_DEPTH && k->member == MEMBER_UID) {
        k->failed = PEER_MALFORMED; /* a UID must be a string */
    }
}

static void close_container(struct kubelet_state *k)
{
    /* depth is above 0: the data starts with an object, and data_byte refuses bytes after it */
    ASSERT(k->depth > 0u);
    bool element = k->depth == ELEMENT_DEPTH;
    bool good = !element || (k->has_uid && k->member != MEMBER_UID);
    k->failed = good ? STATUS_OK : PEER_MALFORMED;
    k->depth = (uint8_t)(k->depth - (good ? 1u : 0u));
    k->claim_due = good && element;
    k->data_ended = good && k->depth == 0u;
}

/* Finds out which member of an element the string that just ended names. */
static enum kubelet_member member_named(struct view name)
{
    static const char *const names[KUBELET_MEMBERS] = {[MEMBER_OTHER] = "",
                                                       [MEMBER_UID] = "ClaimUID",
                                                       [MEMBER_NAME] = "ClaimName",
                                                       [MEMBER_NAMESPACE] = "Namespace",
                                                       [MEMBER_DRIVERS] = "DriverState"};
    unsigned at = (unsigned)KUBELET_MEMBERS - 1u;
    while (at > 0u && !view_is(name, names[at])) {
        at--;
    }
    return (enum kubelet_member)at;
}

/*
 * Called at a colon, which shows that the last string is a name. Sets k->member if the string names
 * a member of an element, and claim.of_driver if the string is the name of the caller's driver.
 */
static void name_end(struct kubelet_state *k)
{
    struct view name = view_of((const uint8_t *)k->text, k->len);
    if (k->depth == ELEMENT_DEPTH) {
        k->member = member_named(name);
    } else if (in_named(k)) {
        k->claim.of_driver = k->claim.of_driver || view_equal(name, k->driver);
    } else {
        /* ignores the name, which is neither that of a member of an element nor of a driver */
    }
}

/* Consumes a byte of the data that is outside a string. */
static void structure_byte(struct kubelet_state *k, uint8_t byte)
{
    switch (byte) {
    case '"':
        k->in_string = true;
        k->len = 0;
        break;
    case '{':
    case '[':
        open_container(k);
        break;
    case '}':
    case ']':
        close_container(k);
        break;
    case ':':
        name_end(k);
        break;
    default:
        if (k->depth == ELEMENT_DEPTH) {
            /* the byte is a comma, or part of a value without quotes, which cannot be a UID */
            k->failed = (k->member == MEMBER_UID) ? PEER_MALFORMED : STATUS_OK;
            k->member = MEMBER_OTHER;
        }
        break;
    }
}

static void data_byte(struct kubelet_state *k, uint8_t byte)
{
    if (k->failed != STATUS_OK) {
        /* keep the first failure: an earlier byte of the same escape may already have failed */
        return;
    }
    k->crc = crc_add(k->crc, byte);
    if (k->data_ended) {
        k->failed = PEER_MALFORMED;
    } else if (k->head < sizeof data_head - 1u) {
        k->failed = (byte == (uint8_t)data_head[k->head]) ? STATUS_OK : PEER_UNSUPPORTED;
        k->head++;
        k->depth = 1;
    } else if (k->in_string) {
        in_string(k, byte);
    } else {
        structure_byte(k, byte);
    }
}

/* --- parsing the outer JSON text --- */

/*
 * Passes a code point to data_byte as UTF-8. The code point is in the basic multilingual plane,
 * because Go escapes no others.
 */
static void data_point(struct kubelet_state *k, uint32_t point)
{
    if (point < 0x80u) {
        data_byte(k, (uint8_t)point);
    } else if (point < 0x800u) {
        data_byte(k, (uint8_t)(0xc0u | point >> 6));
        data_byte(k, (uint8_t)(0x80u | (point & 0x3fu)));
    } else if (point < 0xd800u || point > 0xdfffu) {
        data_byte(k, (uint8_t)(0xe0u | point >> 12));
        data_byte(k, (uint8_t)(0x80u | (point >> 6 & 0x3fu)));
        data_byte(k, (uint8_t)(0x80u | (point & 0x3fu)));
    } else {
        k->failed = PEER_MALFORMED;
    }
}

static void escape_kind(struct kubelet_state *k, uint8_t byte)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";
    const char *at = memchr(from, byte, sizeof from - 1u);
    k->escape = 0;
    if (at != NULL) {
        data_byte(k, (uint8_t)to[at - from]);
    } else if (byte == (uint8_t)'u') {
        k->escape = 4;
        k->escaped = 0;
    } else {
        k->failed = PEER_MALFORMED;
    }
}

static void escape_digit(struct kubelet_state *k, uint8_t byte)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = memchr(digits, byte, sizeof digits - 1u);
    if (at == NULL) {
        k->failed = PEER_MALFORMED;
        return;
    }
    ptrdiff_t value = at - digits;
    k->escaped = k->escaped << 4 | (uint32_t)value;
    k->escape--;
    if (k->escape == 0u) {
        data_point(k, k->escaped);
    }
}

static void outer_data(struct kubelet_state *k, uint8_t byte)
{
    if (k->escape == ESCAPE_KIND) {
        escape_kind(k, byte);
    } else if (k->escape > 0u) {
        escape_digit(k, byte);
    } else if (byte == (uint8_t)'\\') {
        k->escape = ESCAPE_KIND;
    } else if (byte == (uint8_t)'"') {
        k->failed = k->data_ended ? STATUS_OK : PEER_MALFORMED;
        k->place = OUTER_MIDDLE;
        k->matched = 0;
    } else if (byte < 0x20u) {
        k->failed = PEER_MALFORMED;
    } else {
        data_byte(k, byte);
    }
}

/*
 * Consumes a byte of the outer object's fixed `text`; `next`: the value of `place` after the text.
 */
static void outer_fixed(struct kubelet_state *k, uint8_t byte, const char *text, uint8_t next)
{
    k->failed = (byte == (uint8_t)text[k->matched]) ? STATUS_OK : PEER_UNSUPPORTED;
    k->matched++;
    if (text[k->matched] == '\0') {
        k->place = next;
        k->matched = 0;
    }
}

static void outer_sum(struct kubelet_state *k, uint8_t byte)
{
    if (byte >= (uint8_t)'0' && byte <= (uint8_t)'9' && k->sum <= UINT32_MAX) {
        uint8_t digit = (uint8_t)(byte - (uint8_t)'0');
        k->sum = k->sum * 10u + digit;
        k->matched++;
    } else if (byte == (uint8_t)'}' && k->matched > 0u) {
        k->place = OUTER_END;
    } else {
        k->failed = PEER_MALFORMED;
    }
}

static void outer_byte(struct kubelet_state *k, uint8_t byte)
{
    switch (k->place) {
    case OUTER_HEAD:
        outer_fixed(k, byte, outer_head, OUTER_DATA);
        break;
    case OUTER_DATA:
        outer_data(k, byte);
        break;
    case OUTER_MIDDLE:
        outer_fixed(k, byte, outer_middle, OUTER_SUM);
        break;
    case OUTER_SUM:
        outer_sum(k, byte);
        break;
    default:
        k->failed = PEER_MALFORMED; /* fails because bytes follow the end of the checkpoint */
        break;
    }
}

const struct kubelet_claim *kubelet_state_next(struct kubelet_state *k, struct reader *in)
{
    uint8_t byte = 0;
    k->claim_due = false;
    /* The loop ends, because each iteration consumes a byte. */
    while (k->failed == STATUS_OK && !k->claim_due && reader_u8(in, &byte) == STATUS_OK) {
        outer_byte(k, byte);
    }
    return (k->failed == STATUS_OK && k->claim_due) ? &k->claim : NULL;
}

enum status kubelet_state_end(const struct kubelet_state *k)
{
    if (k->failed != STATUS_OK) {
        return k->failed;
    }
    bool whole = k->place == OUTER_END && k->sum == (uint64_t)(k->crc ^ UINT32_MAX);
    return whole ? STATUS_OK : PEER_MALFORMED;
}
