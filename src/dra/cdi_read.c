/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the claim record back from the annotations of a CDI file. If the claim store is damaged,
 * the CDI file still shows that the claim was prepared. Checks everything, because the file may be
 * damaged or changed. Ignores unknown annotations and members, because a newer version of the agent
 * may have written them.
 */
#include <string.h>

#include "base/json.h"
#include "base/assert.h"
#include "dra/cdi_internal.h"
#include "dra/pci.h"
#include "dra/claim.h"

/* Annotations that occur at most once in a CDI file. */
enum {
    KEY_NAMESPACE,
    KEY_NAME,
    KEY_UID,
    KEY_POOL,
    KEY_BOOT_ID,
    KEY_NUMBERING,
    KEY_NODE_DEVICES,
    KEY_MODE,
    KEY_SERVER_ID,
    KEY_NODE_ID,
    KEY_METADATA,
    KEYS
};
/* Every CDI file has the annotations before KEY_NODE_DEVICES; the others are optional. */
#define KEYS_NEEDED KEY_NODE_DEVICES
/* Members of the JSON object that describes an allocation result. */
enum {
    MEMBER_REQUEST,
    MEMBER_DEVICE,
    MEMBER_ADMIN_ACCESS,
    MEMBER_SHARE_ID,
    MEMBER_LOGICAL_NEURON_CORE,
    MEMBER_ULTRASERVER_MODE,
    MEMBER_CORES,
    MEMBER_NUMBER,
    MEMBER_UVERBS,
    MEMBERS
};

static const char *const keys[KEYS] = {[KEY_NAMESPACE] = ANNOTATION("claim-namespace"),
                                       [KEY_NAME] = ANNOTATION("claim-name"),
                                       [KEY_UID] = ANNOTATION("claim-uid"),
                                       [KEY_POOL] = ANNOTATION("pool"),
                                       [KEY_BOOT_ID] = ANNOTATION("boot-id"),
                                       [KEY_NUMBERING] = ANNOTATION("device-numbering"),
                                       [KEY_NODE_DEVICES] = ANNOTATION("node-devices"),
                                       [KEY_MODE] = ANNOTATION("ultraserver-mode"),
                                       [KEY_SERVER_ID] = ANNOTATION("ultraserver-server-id"),
                                       [KEY_NODE_ID] = ANNOTATION("ultraserver-node-id"),
                                       [KEY_METADATA] = ANNOTATION("device-metadata")};
static const char *const members[MEMBERS] = {[MEMBER_REQUEST] = "request",
                                             [MEMBER_DEVICE] = "device",
                                             [MEMBER_ADMIN_ACCESS] = "adminAccess",
                                             [MEMBER_SHARE_ID] = "shareID",
                                             [MEMBER_LOGICAL_NEURON_CORE] = "logicalNeuronCore",
                                             [MEMBER_ULTRASERVER_MODE] = "ultraserverMode",
                                             [MEMBER_CORES] = "cores",
                                             [MEMBER_NUMBER] = "number",
                                             [MEMBER_UVERBS] = "uverbs"};

/* Position in a JSON object whose members are read one by one. */
struct members_reader {
    struct json_reader in;
    struct view name;
    struct json_token value; /* first token of the member's value */
    unsigned seen;           /* bit n: name n of the caller's list of names has already been read */
};

/* Reads the opening brace of an object. false: the next value is not an object. */
static bool object_opens(struct json_reader *in)
{
    struct json_token t;
    return json_next(in, &t) == STATUS_OK && t.kind == JSON_OBJECT_BEGIN;
}

/*
 * Reads the next member's name and the first token of its value. Returns false if the object ended
 * or the text is malformed.
 */
static bool next_member(struct members_reader *m)
{
    struct json_token t;
    if (json_next(&m->in, &t) != STATUS_OK || t.kind != JSON_NAME) {
        return false;
    }
    m->name = t.text;
    return json_next(&m->in, &m->value) == STATUS_OK;
}

/*
 * Returns the index in `names` of the current member's name; `count`: the name is not in the list.
 * If the object already had this member, the JSON reader fails.
 */
static unsigned member_of(struct members_reader *m, const char *const *names, unsigned count)
{
    unsigned at = 0;
    while (at < count && !view_is(m->name, names[at])) {
        at++;
    }
    unsigned bit = (at < count) ? 1u << at : 0u;
    if ((m->seen & bit) != 0u) {
        m->in.failed = PEER_MALFORMED;
    }
    m->seen |= bit;
    return at;
}

/* --- parsing values of members --- */

static bool parse_text(const struct json_token *value, char *to, size_t cap)
{
    struct writer out = writer_of(to, cap);
    if (value->kind != JSON_STRING || json_unescape(value->text, &out) != STATUS_OK) {
        return false;
    }
    struct view text = writer_view(&out);
    return view_find(text, 0) == text.len && writer_end_text(&out) == STATUS_OK;
}

static bool parse_small(const struct json_token *value, uint8_t *to)
{
    uint64_t n = 0;
    bool ok = value->kind == JSON_NUMBER && view_decimal(value->text, UINT8_MAX, &n) == STATUS_OK;
    *to = (uint8_t)n;
    return ok;
}

static bool parse_bool(const struct json_token *value, bool *to)
{
    *to = value->kind == JSON_TRUE;
    return *to || value->kind == JSON_FALSE;
}

static bool parse_number(const struct json_token *value, uint16_t *to)
{
    uint64_t n = 0;
    bool ok = value->kind == JSON_NUMBER && view_decimal(value->text, UINT16_MAX, &n) == STATUS_OK;
    *to = (uint16_t)n;
    return ok;
}

/*
 * Parses a device name. The name of an EFA device does not contain the device's number; the member
 * "number" does.
 */
static bool parse_device(const struct json_token *value, struct claim_result *to)
{
    uint64_t n = 0;
    bool text = value->kind == JSON_STRING;
    to->node = text && view_is(value->text, NODE_DEVICE_NAME);
    if (to->node || (text && efa_device_address(value->text, &to->efa_address))) {
        return true;
    }
    bool ok = text && neuron_device_number(value->text, DEVICES_MAX - 1u, &n);
    to->number = (uint16_t)n;
    return ok;
}

/* --- parsing allocation results --- */

static bool parse_member(struct members_reader *m, struct claim_result *to)
{
    switch (member_of(m, members, MEMBERS)) {
    case MEMBER_REQUEST:
        return parse_text(&m->value, to->request, sizeof to->request);
    case MEMBER_DEVICE:
        return parse_device(&m->value, to);
    case MEMBER_ADMIN_ACCESS:
        return parse_bool(&m->value, &to->admin_access);
    case MEMBER_SHARE_ID:
        return parse_text(&m->value, to->share_id, sizeof to->share_id);
    case MEMBER_LOGICAL_NEURON_CORE:
        return parse_small(&m->value, &to->logical_neuron_core);
    case MEMBER_ULTRASERVER_MODE:
        return parse_small(&m->value, &to->ultraserver_mode);
    case MEMBER_CORES:
        return parse_small(&m->value, &to->cores);
    case MEMBER_NUMBER:
        return to->efa_address != 0u && parse_number(&m->value, &to->number);
    case MEMBER_UVERBS:
        return to->efa_address != 0u && parse_number(&m->value, &to->uverbs);
    default:
        return json_skip(&m->in, &m->value) == STATUS_OK;
    }
}

/* Whether the text ends after the outermost object, whose end was just read. */
static bool text_ends(struct json_reader *in)
{
    struct json_token t;
    bool ends = json_next(in, &t) == STATUS_OK;
    /* the JSON reader accepts nothing after the outermost value */
    ASSERT(!ends || t.kind == JSON_END);
    return ends;
}

/* Parses the annotation of an allocation result, whose value is a string that contains JSON. */
static bool parse_result(const struct json_token *value, struct claim_record *r)
{
    char text[RESULT_VALUE_CAP];
    struct members_reader m = {.seen = 0};
    if (r->count >= RESULTS_MAX || !parse_text(value, text, sizeof text)) {
        return false;
    }
    struct claim_result *to = &r->result[r->count];
    json_open(&m.in, view_text(text));
    bool ok = object_opens(&m.in);
    while (ok && next_member(&m)) { /* each iteration consumes text, so the loop ends */
        ok = parse_member(&m, to);
    }
    r->count++;
    unsigned needed = 1u << (unsigned)MEMBER_REQUEST | 1u << (unsigned)MEMBER_DEVICE;
    return ok && text_ends(&m.in) && (m.seen & needed) == needed;
}

/*
 * Whether `name` is the key of the annotation of result number `count`, the next one; the
 * annotations of the results must come in order, from 0.
 */
static bool is_next_result(struct view name, unsigned count)
{
    char key[RESULT_KEY_CAP];
    struct writer w = writer_of(key, sizeof key);
    WRITE(&w, ANNOTATION("result-") "%", NUMBER(count));
    return view_equal(name, writer_view(&w));
}

/* --- parsing the annotations and the file --- */

/* Parses the annotation device-numbering: "host", "zero" or "zero+N". */
static bool parse_numbering(const struct json_token *value, struct claim_record *r)
{
    static const char word[] = "zero";
    uint64_t n = 0;
    r->zero_numbering = value->kind == JSON_STRING && view_starts(value->text, word);
    if (!r->zero_numbering) {
        return value->kind == JSON_STRING && view_is(value->text, "host");
    }
    struct view rest = view_from(value->text, sizeof word - 1u);
    bool ok =
        rest.len == 0u || (rest.data[0] == '+' &&
                           view_decimal(view_from(rest, 1u), DEVICES_MAX - 1u, &n) == STATUS_OK);
    r->first_number = (uint8_t)n;
    return ok;
}

/* Parses a list of device numbers such as "0,1,2" into a mask. */
static bool parse_numbers(struct view list, uint64_t *numbers)
{
    struct view rest = list;
    bool good = rest.len > 0u;
    for (unsigned i = 0; i < DEVICES_MAX && good && rest.len > 0u; i++) {
        uint64_t n = 0;
        size_t comma = view_find(rest, ',');
        good = view_decimal(view_first(rest, comma), DEVICES_MAX - 1u, &n) == STATUS_OK;
        *numbers |= UINT64_C(1) << n;
        rest = view_from(rest, comma + 1u);
    }
    return good && rest.len == 0u;
}

/* Parses a string that contains a decimal number. */
static bool parse_decimal(const struct json_token *value, uint8_t *to)
{
    uint64_t n = 0;
    bool ok = value->kind == JSON_STRING && view_decimal(value->text, UINT8_MAX, &n) == STATUS_OK;
    *to = (uint8_t)n;
    return ok;
}

static bool parse_annotation(struct members_reader *m, struct claim_record *r)
{
    switch (member_of(m, keys, KEYS)) {
    case KEY_NAMESPACE:
        return parse_text(&m->value, r->id.namespace_, sizeof r->id.namespace_);
    case KEY_NAME:
        return parse_text(&m->value, r->id.name, sizeof r->id.name);
    case KEY_UID:
        return parse_text(&m->value, r->id.uid, sizeof r->id.uid);
    case KEY_POOL:
        return parse_text(&m->value, r->pool, sizeof r->pool);
    case KEY_BOOT_ID:
        return parse_text(&m->value, r->boot_id, sizeof r->boot_id);
    case KEY_NUMBERING:
        return parse_numbering(&m->value, r);
    case KEY_NODE_DEVICES:
        return m->value.kind == JSON_STRING && parse_numbers(m->value.text, &r->node_devices);
    case KEY_MODE:
        return parse_decimal(&m->value, &r->ultraserver.mode);
    case KEY_SERVER_ID:
        return parse_text(&m->value, r->ultraserver.place.server_id, SERVER_ID_CAP);
    case KEY_NODE_ID:
        return parse_decimal(&m->value, &r->ultraserver.place.node_id);
    case KEY_METADATA:
        r->metadata = true;
        return parse_text(&m->value, r->pod_claim, sizeof r->pod_claim);
    default:
        break;
    }
    if (is_next_result(m->name, r->count)) {
        return parse_result(&m->value, r);
    }
    bool result = view_starts(m->name, ANNOTATION("result-"));
    return !result && json_skip(&m->in, &m->value) == STATUS_OK;
}

/* Parses the annotations, whose opening brace was already read. */
static bool parse_annotations(struct json_reader *in, struct claim_record *r)
{
    struct members_reader m = {.in = *in};
    bool ok = true;
    while (ok && next_member(&m)) {
        ok = parse_annotation(&m, r);
    }
    *in = m.in;
    unsigned needed = (1u << (unsigned)KEYS_NEEDED) - 1u;
    return ok && m.in.failed == STATUS_OK && (m.seen & needed) == needed;
}

static bool parse_kind(const struct json_token *value, enum driver_kind *driver)
{
    bool known = false;
    for (unsigned i = 0; i < DRIVERS && value->kind == JSON_STRING && !known; i++) {
        *driver = (enum driver_kind)i;
        known = view_is(value->text, driver_traits(*driver)->cdi_kind);
    }
    return known;
}

static bool parse_file(struct view file, struct claim_record *r)
{
    static const char *const top[] = {"kind", "annotations"};
    struct members_reader m = {.seen = 0};
    json_open(&m.in, file);
    bool ok = object_opens(&m.in);
    while (ok && next_member(&m)) {
        unsigned at = member_of(&m, top, 2);
        if (at == 0u) {
            ok = parse_kind(&m.value, &r->driver);
        } else if (at == 1u) {
            ok = m.value.kind == JSON_OBJECT_BEGIN && parse_annotations(&m.in, r);
        } else {
            ok = json_skip(&m.in, &m.value) == STATUS_OK;
        }
    }
    return ok && text_ends(&m.in) && m.seen == 3u && claim_record_valid(r);
}

enum status cdi_read(struct view file, struct claim_record *r)
{
    memset(r, 0, sizeof *r);
    if (!parse_file(file, r)) {
        memset(r, 0, sizeof *r);
        return HOST_DAMAGED;
    }
    return STATUS_OK;
}
