/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of the claim store: header copies, halves and records, as they come and with sums that fit
 * what was changed. Checks I1 to I7 of dra/store.h.
 *
 * Input: header copies, halves and records of the claim store
 */
#include "base/crc32c.h"
#include "dra/store.h"
#include "tests/fuzz/fuzz.h"

static struct claim_record record;
static struct claim_record again;
static uint8_t first[STORE_RECORD_MAX];
static uint8_t second[STORE_HALF_BYTES];

/* --- records --- */

static struct view encode(const struct claim_record *r, uint8_t *room)
{
    struct writer out = writer_of(room, STORE_RECORD_MAX);
    CHECK(store_record_encode(r, &out) == STATUS_OK);
    return writer_view(&out);
}

/* A newer version's record: a field that nobody knows stands at its end. */
static void newer(struct view bytes, uint8_t field)
{
    uint8_t room[STORE_RECORD_MAX + 16u];
    struct writer out = writer_of(room, sizeof room);
    writer_append(&out, bytes);
    writer_varint(&out, (UINT64_C(40) + field) << 3 | 2u);
    writer_u8(&out, 3);
    writer_bytes(&out, "new", 3);
    CHECK(store_record_decode(writer_view(&out), &again) == STATUS_OK);
    CHECK(memcmp(&again, &record, sizeof record) == 0); /* I6 */
}

/* Names of requests and shares go into CDI files: of these characters only. */
static void look_names(const struct claim_record *r)
{
    static const char name[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-";
    CHECK(r->count >= 1u && r->count <= RESULTS_MAX);
    for (unsigned i = 0; i < r->count; i++) {
        const struct claim_result *c = &r->result[i];
        CHECK(c->request[0] != '\0' && c->request[strspn(c->request, name)] == '\0');
        CHECK(c->share_id[strspn(c->share_id, name)] == '\0' && c->number < DEVICES_MAX);
    }
}

static void try_record(struct view bytes)
{
    static const struct claim_record nothing;
    struct store_outline outline;
    bool outlined = store_outline_decode(bytes, &outline) == STATUS_OK;
    memset(&record, 0x5a, sizeof record);
    if (store_record_decode(bytes, &record) != STATUS_OK) {
        CHECK(memcmp(&record, &nothing, sizeof record) == 0);
        return;
    }
    CHECK(claim_record_valid(&record));                            /* I4 */
    CHECK(!outlined || outline.numbers == claim_numbers(&record)); /* I7 */
    look_names(&record);
    struct view once = encode(&record, first);
    CHECK(store_record_decode(once, &again) == STATUS_OK);
    CHECK(memcmp(&again, &record, sizeof record) == 0); /* I5 */
    CHECK(store_outline_decode(once, &outline) == STATUS_OK);
    CHECK(outline.numbers == claim_numbers(&record) &&
          memcmp(&outline.id, &record.id, sizeof outline.id) == 0);
    CHECK(view_equal(once, encode(&again, second)));
    newer(once, (uint8_t)bytes.len);
    struct writer small = writer_of(second, once.len - 1u);
    CHECK(store_record_encode(&record, &small) == FULL_BUFFER && small.len == 0u);
}

/* --- halves --- */

static void try_half(struct view bytes, unsigned slot)
{
    struct store_half h;
    store_half_read(bytes, slot, &h);
    if (h.state == STORE_HALF_DAMAGED) {
        CHECK(h.sequence == 0u && h.record.len == 0u);
        return;
    }
    CHECK((h.state == STORE_HALF_FREE) == (h.record.len == 0u));
    CHECK(h.record.len <= STORE_RECORD_MAX && STORE_HALF_HEADER + h.record.len <= bytes.len);
    struct writer out = writer_of(second, sizeof second);
    store_half_write(&out, slot, h.sequence, h.record);
    CHECK(view_equal(writer_view(&out), view_first(bytes, out.len))); /* I1 */
    struct store_half other;
    store_half_read(bytes, (slot + 1u) % CLAIMS_MAX, &other);
    CHECK(other.state == STORE_HALF_DAMAGED); /* I3: it belongs to its slot alone */
    if (h.state == STORE_HALF_RECORD) {
        try_record(h.record);
    }
}

/* A half with a sum that fits; then any change of one byte is damage. */
static void try_written(struct fuzz *in)
{
    unsigned slot = fuzz_u8(in);
    uint64_t sequence = (uint64_t)fuzz_u32(in) << 32 | fuzz_u32(in);
    size_t at = fuzz_u16(in);
    uint8_t change = fuzz_u8(in);
    uint8_t bytes[STORE_HALF_BYTES];
    struct writer out = writer_of(bytes, sizeof bytes);
    store_half_write(&out, slot, sequence, view_first(fuzz_rest(in), STORE_RECORD_MAX));
    try_half(writer_view(&out), slot);
    struct store_half h;
    store_half_read(view_first(writer_view(&out), at % out.len), slot, &h);
    CHECK(h.state == STORE_HALF_DAMAGED); /* I2: torn */
    bytes[at % out.len] ^= change;
    store_half_read(writer_view(&out), slot, &h);
    CHECK((h.state == STORE_HALF_DAMAGED) == (change != 0u)); /* I2: changed */
}

/* --- headers --- */

static void try_header(struct fuzz *in, bool mend)
{
    uint8_t bytes[64] = {0};
    struct view given = fuzz_bytes(in, sizeof bytes);
    struct store_header h = {.generation = 99};
    if (given.len > 0u) {
        memcpy(bytes, given.data, given.len);
    }
    if (mend && given.len >= STORE_HEADER_WRITTEN) {
        uint32_t sum = crc32c(0, view_of(bytes, STORE_HEADER_WRITTEN - 4u));
        struct writer w = writer_of(bytes + STORE_HEADER_WRITTEN - 4u, 4);
        writer_u32(&w, sum);
    }
    enum status s = store_header_read(view_of(bytes, given.len), &h);
    if (s != STATUS_OK) {
        CHECK(s == HOST_DAMAGED || s == PEER_UNSUPPORTED);
        CHECK(h.generation == 99u);
        return;
    }
    struct writer out = writer_of(second, sizeof second);
    store_header_write(&out, &h);
    struct store_header back = {0};
    CHECK(store_header_read(writer_view(&out), &back) == STATUS_OK);
    CHECK(back.generation == h.generation); /* I1 */
}

static void try_pick(struct fuzz *in)
{
    struct store_half halves[2];
    for (unsigned i = 0; i < 2u; i++) {
        halves[i].state = (enum store_half_state)(fuzz_u8(in) % 3u);
        halves[i].sequence = halves[i].state == STORE_HALF_DAMAGED ? 0u : fuzz_u8(in);
    }
    int pick = store_pick(halves);
    CHECK(pick >= -1 && pick <= 1);
    if (pick < 0) {
        CHECK(halves[0].state == STORE_HALF_DAMAGED && halves[1].state == STORE_HALF_DAMAGED);
        return;
    }
    const struct store_half *other = &halves[1 - pick];
    CHECK(halves[pick].state != STORE_HALF_DAMAGED);
    CHECK(other->state == STORE_HALF_DAMAGED || other->sequence <= halves[pick].sequence);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz in = fuzz_of(data, size);
    uint8_t how = fuzz_u8(&in);
    switch (how % 6u) {
    case 0:
    case 1:
        try_header(&in, (how % 6u) == 1u);
        break;
    case 2:
        try_half(view_first(view_from(view_of(data, size), 2), STORE_HALF_BYTES), fuzz_u8(&in));
        break;
    case 3:
        try_written(&in);
        break;
    case 4:
        try_pick(&in);
        break;
    default:
        try_record(view_first(fuzz_rest(&in), STORE_RECORD_MAX));
        break;
    }
    return 0;
}
