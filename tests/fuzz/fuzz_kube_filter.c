/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The field filter with every table of the product, on messages that arrive in pieces.
 * Checks I1 to I6 of wire/kube_filter.h. The oracle is a second walk, over the whole message at
 * once and by recursion over the table, which shares no line with the filter: both must tell the
 * same records and the same verdict. Half of the inputs are messages as they come, half are
 * instructions by which a well-formed one is built along the table, which no verdict may refuse.
 *
 * Input: an API object in protobuf, or instructions that build one, and how it is cut
 */
#include "tests/fuzz/fuzz.h"
#include "wire/kube.h"

#define TELL_MAX 262144u
#define MESSAGE_MAX 65536u

/* --- what a run tells: number, truncated, length and bytes of each record --- */

struct tell {
    size_t len;
    size_t records;
    uint8_t bytes[TELL_MAX];
};

static struct tell seen;
static struct tell expected;

static void tell(struct tell *t, unsigned number, bool truncated, struct view record)
{
    CHECK(record.len <= KUBE_RECORD_BYTES_MAX);
    if (sizeof t->bytes - t->len < record.len + 4u) {
        return;
    }
    t->bytes[t->len] = (uint8_t)number;
    t->bytes[t->len + 1u] = truncated ? 1u : 0u;
    t->bytes[t->len + 2u] = (uint8_t)(record.len >> 8);
    t->bytes[t->len + 3u] = (uint8_t)record.len;
    if (record.len > 0u) {
        memcpy(t->bytes + t->len + 4u, record.data, record.len);
    }
    t->len += record.len + 4u;
    t->records++;
}

/* --- the oracle --- */

struct oracle {
    struct kube_rules rules;
    uint8_t out[KUBE_RECORD_BYTES_MAX];
    size_t used;
};

struct open {
    bool *truncated; /* of the innermost record, NULL: none is open */
    unsigned row;
};

static bool o_varint(struct view m, size_t *at, uint64_t *value)
{
    uint64_t sum = 0;
    bool fits = true;
    for (unsigned i = 0; i < 10u && *at < m.len; i++) {
        uint64_t bits = m.data[*at] & 0x7fu;
        bool last = m.data[*at] < 0x80u;
        (*at)++;
        fits = fits && bits << (7u * i) >> (7u * i) == bits;
        sum |= bits << (7u * i);
        if (last) {
            *value = sum;
            return fits;
        }
    }
    return false;
}

static const struct kube_rule *o_rule(const struct oracle *o, unsigned parent, uint64_t field,
                                      unsigned *row)
{
    const struct kube_rule *any = NULL;
    for (unsigned i = 0; i < o->rules.count; i++) {
        const struct kube_rule *r = &o->rules.rules[i];
        if (r->parent != parent) {
            continue;
        }
        if (r->field == field) {
            *row = i;
            return r;
        }
        any = (r->field == 0u) ? r : any;
    }
    *row = KUBE_ROOT;
    return any;
}

static size_t o_put_varint(uint8_t *to, uint64_t value)
{
    size_t n = 0;
    for (; value > 127u; value >>= 7) {
        to[n++] = (uint8_t)(value | 128u);
    }
    to[n++] = (uint8_t)value;
    return n;
}

/* Appends when it fits as a whole. */
static bool o_put(struct oracle *o, const uint8_t *head, size_t head_len, struct view content)
{
    if (o->used + head_len + content.len > sizeof o->out) {
        return false;
    }
    memcpy(o->out + o->used, head, head_len);
    if (content.len > 0u) {
        memcpy(o->out + o->used + head_len, content.data, content.len);
    }
    o->used += head_len + content.len;
    return true;
}

/* The longest front of at most `max` bytes that does not split a character. */
static size_t o_cut(struct view text, size_t max)
{
    size_t n = text.len < max ? text.len : max;
    size_t lead = n;
    for (unsigned i = 0; i < 4u && lead > 0u; i++) {
        lead--;
        if ((text.data[lead] & 0xc0u) != 0x80u) {
            unsigned size = text.data[lead] >= 0xf0u   ? 4u
                            : text.data[lead] >= 0xe0u ? 3u
                            : text.data[lead] >= 0xc0u ? 2u
                                                       : 1u;
            return lead + size > n ? lead : n;
        }
    }
    return n;
}

/* Keeps a length-delimited text that is cut; false: something of it is missing. */
static bool o_keep_cut(struct oracle *o, const struct kube_rule *r, struct view content)
{
    uint8_t head[24];
    size_t limit = r->limit != 0u ? r->limit : SIZE_MAX;
    size_t want = content.len < limit ? content.len : limit;
    size_t tag = o_put_varint(head, (uint64_t)r->as << 3 | 2u);
    size_t size = o_put_varint(head + tag, want);
    size_t room = sizeof o->out - o->used;
    if (room < tag + size) {
        return false;
    }
    size_t fits = want < room - tag - size ? want : room - tag - size;
    bool whole = fits == content.len;
    size_t n = whole ? fits : o_cut(content, fits);
    /* the length keeps its width: padded varint */
    for (size_t i = 0; i < size && !whole; i++) {
        head[tag + i] = (uint8_t)((n >> (7u * i) & 0x7fu) | (i + 1u < size ? 0x80u : 0u));
    }
    return o_put(o, head, tag + size, view_first(content, n)) && whole;
}

static bool o_keep(struct oracle *o, const struct kube_rule *r, unsigned wire, struct view content,
                   uint64_t value)
{
    uint8_t head[24];
    if (r->kind == KUBE_KEEP_CUT && wire == 2u) {
        return o_keep_cut(o, r, content);
    }
    size_t n = o_put_varint(head, (uint64_t)r->as << 3 | wire);
    if (wire == 0u) {
        return o_put(o, head, n + o_put_varint(head + n, value), view_of(NULL, 0));
    }
    if (wire == 2u) {
        n += o_put_varint(head + n, content.len);
    }
    bool allowed = r->limit == 0u || content.len <= r->limit;
    return allowed && o_put(o, head, n, content);
}

/* What is there of a message, and how long it says it is: a peer may end in the middle. */
struct part {
    struct view m;
    uint64_t length;
};

static bool o_message(struct oracle *o, struct part p, unsigned row, bool *truncated);

static bool o_magic(struct part *p)
{
    bool good = p->length >= 4u && p->m.len >= 4u && memcmp(p->m.data, "k8s\0", 4) == 0;
    p->m = view_from(p->m, 4);
    p->length -= p->length < 4u || p->length == UINT64_MAX ? 0u : 4u;
    return good;
}

static bool o_enter(struct oracle *o, const struct kube_rule *r, unsigned row, struct part p,
                    bool *truncated)
{
    size_t start = o->used;
    bool cut = false;
    if (r->kind == KUBE_ENVELOPE && !o_magic(&p)) {
        return false;
    }
    if (r->kind != KUBE_RECORD) {
        return o_message(o, p, row, truncated);
    }
    if (!o_message(o, p, row, &cut)) {
        return false;
    }
    tell(&expected, r->record, cut, view_of(o->out + start, o->used - start));
    o->used = start;
    return true;
}

/* Wire format of one value; false: malformed. */
static bool o_value(struct view m, size_t *at, unsigned wire, struct view *content, uint64_t *value)
{
    uint64_t len = wire == 1u ? 8u : 4u;
    *content = view_of(NULL, 0);
    if (wire == 0u) {
        return o_varint(m, at, value);
    }
    if (wire == 2u && (!o_varint(m, at, &len) || len > 0x7fffffffu)) {
        return false;
    }
    if ((wire != 1u && wire != 2u && wire != 5u) || len > m.len - *at) {
        return false;
    }
    *content = view_first(view_from(m, *at), (size_t)len);
    *at += (size_t)len;
    return true;
}

/* A value of a field without sub-rules. */
struct value {
    unsigned wire;
    struct view content;
    uint64_t number;
};

static bool o_store(struct oracle *o, const struct kube_rule *r, struct value v, bool *truncated)
{
    size_t start = o->used;
    if (r->kind == KUBE_PRESENT) {
        v = (struct value){.wire = 0, .number = 1};
    }
    bool whole = o_keep(o, r, v.wire, v.content, v.number);
    if (r->kind == KUBE_RECORD_FIELD) {
        tell(&expected, r->record, !whole, view_of(o->out + start, o->used - start));
        o->used = start;
    } else if (!whole) {
        *truncated = true;
    }
    return true;
}

/* A message in a field of the table; *at is behind its tag. */
static bool o_inner(struct oracle *o, struct part p, size_t *at, unsigned row, bool *truncated)
{
    uint64_t len = 0;
    if (!o_varint(p.m, at, &len) || len > 0x7fffffffu || len > p.length - *at) {
        return false;
    }
    struct view content = view_first(view_from(p.m, *at), (size_t)len);
    *at += content.len;
    return o_enter(o, &o->rules.rules[row], row, (struct part){content, len}, truncated);
}

/* One field; false: malformed. */
static bool o_field(struct oracle *o, struct part p, size_t *at, unsigned row, bool *truncated)
{
    uint64_t tag = 0;
    unsigned at_row = 0;
    if (!o_varint(p.m, at, &tag) || tag > UINT32_MAX || tag >> 3 == 0u) {
        return false;
    }
    struct value v = {.wire = (unsigned)(tag & 7u)};
    const struct kube_rule *r = o_rule(o, row, tag >> 3, &at_row);
    if (r != NULL && r->kind <= KUBE_RECORD) {
        return v.wire == 2u && o_inner(o, p, at, at_row, truncated);
    }
    bool good = o_value(p.m, at, v.wire, &v.content, &v.number);
    return (good && r != NULL) ? o_store(o, r, v, truncated) : good;
}

static bool o_message(struct oracle *o, struct part p, unsigned row, bool *truncated)
{
    size_t at = 0;
    while (at < p.m.len) {
        if (!o_field(o, p, &at, row, truncated)) {
            return false;
        }
    }
    return p.m.len == p.length || p.length == UINT64_MAX;
}

static bool oracle_run(struct kube_rules rules, struct view message, bool known)
{
    struct part p = {message, known ? message.len : UINT64_MAX};
    static struct oracle o;
    bool truncated = false;
    o.rules = rules;
    o.used = 0;
    expected.len = 0;
    expected.records = 0;
    if (rules.top != KUBE_ROOT && rules.rules[rules.top].kind == KUBE_ENVELOPE && !o_magic(&p)) {
        return false;
    }
    return o_message(&o, p, rules.top, &truncated);
}

/* --- the filter --- */

static struct kube_filter filter;

static enum status filter_feed(struct view piece)
{
    struct reader in = reader_of(piece);
    struct kube_record record;
    enum status s = kube_filter_next(&filter, &in, &record);
    while (s == STATUS_OK) {
        CHECK(kube_filter_valid(&filter));
        tell(&seen, record.record, record.truncated, record.message);
        s = kube_filter_next(&filter, &in, &record);
    }
    CHECK(kube_filter_valid(&filter));
    CHECK(s == PEER_MALFORMED || s == STATUS_MORE);
    if (s != STATUS_MORE) {
        struct reader again = reader_of(piece);
        CHECK(kube_filter_next(&filter, &again, &record) == s && again.pos == 0u); /* I4 */
    }
    return s;
}

static enum status filter_run(struct kube_rules rules, struct view message, bool known,
                              unsigned step)
{
    enum status s = STATUS_MORE;
    struct view rest = message;
    seen.len = 0;
    seen.records = 0;
    kube_filter_init(&filter, rules, known ? message.len : UINT64_MAX);
    if (rest.len == 0u) {
        s = filter_feed(rest);
    }
    while (rest.len > 0u && s == STATUS_MORE) {
        s = filter_feed(view_first(rest, step));
        rest = view_from(rest, step);
    }
    if (s != STATUS_MORE) {
        CHECK(kube_filter_end(&filter) == s);
        return s;
    }
    CHECK(!known || kube_filter_done(&filter) == (filter.depth == 0u));
    s = kube_filter_end(&filter);
    CHECK(s == STATUS_OK || kube_filter_end(&filter) == s);
    return s;
}

static void same_tell(void)
{
    CHECK(seen.records == expected.records && seen.len == expected.len);
    CHECK(memcmp(seen.bytes, expected.bytes, seen.len) == 0);
}

/* --- building --- */

static uint8_t message_bytes[MESSAGE_MAX];

static void build_value(struct fuzz *in, struct writer *out, uint64_t field, unsigned wire)
{
    static const uint8_t fill[2048] = {'a', 'b', 0xc3, 0xa9, 0xe2, 0x82, 0xac, 0xf0, 0x9f};
    unsigned n = fuzz_u8(in);
    writer_varint(out, field << 3 | wire);
    if (wire == 0u) {
        writer_varint(out, (n & 1u) != 0u ? fuzz_u32(in) * UINT64_C(0x100000001) : n);
    } else if (wire == 1u) {
        writer_u64(out, n);
    } else if (wire == 5u) {
        writer_u32(out, n);
    } else if (n < 192u) {
        struct view text = fuzz_bytes(in, n);
        writer_varint(out, text.len);
        writer_append(out, text);
    } else {
        size_t len = (n - 191u) * 31u + (fuzz_u8(in) & 31u);
        writer_varint(out, len);
        writer_bytes(out, fill, len);
    }
}

/* The row chosen among those of the message at `row`; KUBE_ROOT: none of them. */
static unsigned choose_row(struct kube_rules rules, unsigned row, unsigned choice)
{
    uint8_t rows[256];
    unsigned count = 0;
    for (unsigned r = 0; r < rules.count; r++) {
        if (rules.rules[r].parent == row) {
            rows[count] = (uint8_t)r;
            count++;
        }
    }
    unsigned pick = choice % (count + 1u);
    return pick == count ? KUBE_ROOT : rows[pick];
}

static size_t build_message(struct fuzz *in, struct kube_rules rules, unsigned row,
                            struct view room);

/* A message in its field: built where there is room for the longest head, then moved to it. */
static void build_inner(struct fuzz *in, struct writer *out, struct kube_rules rules, unsigned at)
{
    bool envelope = rules.rules[at].kind == KUBE_ENVELOPE;
    size_t magic = envelope ? 4u : 0u;
    uint8_t head[24];
    struct writer h = writer_of(head, sizeof head);
    if (writer_room(out) < sizeof head) {
        return;
    }
    uint8_t *inner = out->data + out->len + sizeof head;
    size_t n = build_message(in, rules, at, view_of(inner, writer_room(out) - sizeof head));
    writer_varint(&h, (uint64_t)rules.rules[at].field << 3 | 2u);
    writer_varint(&h, n + magic);
    writer_bytes(&h, "k8s", magic);
    memmove(out->data + out->len + h.len, inner, n);
    memcpy(out->data + out->len, head, h.len);
    out->len += h.len + n;
}

static void build_field(struct fuzz *in, struct writer *out, struct kube_rules rules, unsigned row)
{
    static const unsigned wires[] = {0, 1, 2, 5};
    unsigned choice = fuzz_u8(in);
    unsigned at = choose_row(rules, row, choice);
    if (at == KUBE_ROOT) {
        build_value(in, out, 256u + fuzz_u16(in), wires[choice & 3u]); /* no row's field */
    } else if (rules.rules[at].kind <= KUBE_RECORD) {
        build_inner(in, out, rules, at);
    } else {
        uint64_t field = rules.rules[at].field;
        field = (field == KUBE_ANY_FIELD) ? 200u + fuzz_u8(in) : field;
        build_value(in, out, field, (choice & 0x40u) != 0u ? 0u : 2u);
    }
}

/* A message by the table; as deep as the table is. Returns its length. */
static size_t build_message(struct fuzz *in, struct kube_rules rules, unsigned row,
                            struct view room)
{
    struct writer out = writer_of(message_bytes + (room.data - message_bytes), room.len);
    unsigned fields = fuzz_u8(in) % 12u;
    for (unsigned i = 0; i < fields && fuzz_left(in) > 0u; i++) {
        struct writer before = out;
        build_field(in, &out, rules, row);
        out = out.full ? before : out;
    }
    return out.len;
}

static struct view build(struct fuzz *in, struct kube_rules rules)
{
    bool magic = rules.top != KUBE_ROOT;
    size_t skip = magic ? 4u : 0u;
    memcpy(message_bytes, "k8s\0", 4);
    struct view room = view_of(message_bytes + skip, MESSAGE_MAX - skip);
    size_t n = build_message(in, rules, rules.top, room);
    return view_of(message_bytes, n + skip);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz in = fuzz_of(data, size);
    uint8_t how = fuzz_u8(&in);
    uint8_t what = fuzz_u8(&in);
    unsigned step = 1u + fuzz_u16(&in) % 300u;
    enum kube_shape shape = (enum kube_shape)(what % 8u);
    struct view kind = view_text((what & 0x40u) != 0u ? "Status" : "");
    struct view version = view_text((what & 0x20u) != 0u ? "resource.k8s.io/v1beta1" : "");
    struct kube_rules rules = kube_rules_of(shape, (what & 0x10u) != 0u, kind, version);
    bool built = (how & 1u) != 0u;
    bool known = (how & 2u) != 0u;
    CHECK(kube_rules_valid(rules));
    struct view message = built ? build(&in, rules) : fuzz_rest(&in);
    bool good = oracle_run(rules, message, known);
    CHECK(good || !built); /* I6 */

    CHECK((filter_run(rules, message, known, step) == STATUS_OK) == good); /* I5 */
    same_tell();
    CHECK((filter_run(rules, message, known, (unsigned)message.len + 1u) == STATUS_OK) == good);
    same_tell(); /* I1: the same for every split */
    return 0;
}
