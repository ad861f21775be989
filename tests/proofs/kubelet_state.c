/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kubelet's checkpoint: one byte, and one string of the data, from any state that `sound`
 * allows, and `sound` again after it; by induction, a checkpoint of any length.
 */
#include "stubs.h"

#include "dra/kubelet_state.c"

static struct kubelet_state state;

/* Of the copied bytes, whose content is any, the last one shows that they end inside a field. */
void *stub_copy(void *to, const void *from, size_t n)
{
    CHECK(n > 0u && __CPROVER_r_ok(from, n) && __CPROVER_w_ok(to, n));
    ((uint8_t *)to)[n - 1u] = any_u8();
    return to;
}

/* The position in the outer text fits its place. */
static bool place_sound(const struct kubelet_state *k)
{
    switch (k->place) {
    case OUTER_HEAD:
        return k->sum == 0u && k->matched < sizeof outer_head - 1u;
    case OUTER_DATA:
        return k->sum == 0u;
    case OUTER_MIDDLE:
        return k->sum == 0u && k->matched < sizeof outer_middle - 1u;
    case OUTER_SUM:
        return k->sum <= UINT64_C(10) * UINT32_MAX + 9u;
    default:
        return k->place == OUTER_END;
    }
}

/* The digits of \u that were read have as many bits. */
static bool escape_sound(const struct kubelet_state *k)
{
    return k->escape <= ESCAPE_KIND && (k->escape == 0u || k->escape == ESCAPE_KIND ||
                                        k->escaped >> 4u * (4u - k->escape) == 0u);
}

/* The last byte of each text is its NUL, or comes after it. */
static bool texts_end(const struct claim_id *id)
{
    return id->uid[UID_CAP - 1u] == '\0' && id->name[NAME_CAP - 1u] == '\0' &&
           id->namespace_[NAMESPACE_CAP - 1u] == '\0';
}

/* The depth fits the part of the data that was read. */
static bool depth_sound(const struct kubelet_state *k)
{
    bool open = k->head < sizeof data_head - 1u || k->data_ended || k->depth > 0u;
    bool ended = !k->data_ended || k->depth == 0u;
    bool start = k->head > 0u || (k->depth == 0u && !k->data_ended);
    return open && ended && start && k->depth <= DEPTH_MAX;
}

/*
 * What kubelet_state_begin establishes and each byte keeps while nothing failed; a failure is
 * sticky (I2), so that no byte is taken after it.
 */
static bool sound(const struct kubelet_state *k)
{
    return place_sound(k) && texts_end(&k->claim.id) && escape_sound(k) && depth_sound(k) &&
           k->head <= sizeof data_head - 1u && k->len <= sizeof k->text &&
           (unsigned)k->member < (unsigned)KUBELET_MEMBERS;
}

/* Any state in which the next byte is taken. */
static struct kubelet_state *any_state(void)
{
    struct kubelet_state any;
    state = any;
    state.driver = any_view(ANY_LENGTH);
    state.data_ended = any_bool();
    state.in_string = any_bool();
    state.backslash = any_bool();
    state.has_uid = any_bool();
    state.claim_due = false; /* kubelet_state_next clears it before it takes a byte */
    state.claim.of_driver = any_bool();
    ASSUME(sound(&state) && state.failed == STATUS_OK);
    ASSUME(state.matched < ANY_LENGTH); /* digits of a sum, of which a file has no more */
    return &state;
}

static void check_state(const struct kubelet_state *k)
{
    CHECK(!k->claim_due || (k->failed == STATUS_OK && k->has_uid));
    CHECK(k->failed == STATUS_OK || k->failed == PEER_MALFORMED || k->failed == PEER_UNSUPPORTED);
    CHECK(k->failed != STATUS_OK || sound(k));
    CHECK(k->len <= sizeof k->text);
}

/* Proof kubelet_data. */
void stub_data_byte(struct kubelet_state *k, uint8_t byte)
{
    (void)byte;
    if (k->failed != STATUS_OK) {
        return;
    }
    CHECK(sound(k));
    k->failed = any_bool() ? STATUS_OK : any_bool() ? PEER_MALFORMED : PEER_UNSUPPORTED;
    k->head = any_u8();
    k->depth = any_u8();
    k->data_ended = any_bool();
    k->len = any_u16();
    k->has_uid = any_bool();
    k->claim_due = k->failed == STATUS_OK && k->has_uid && any_bool();
    ASSUME(k->len <= sizeof k->text && (k->failed != STATUS_OK || sound(k)));
}

/*
 * Proof kubelet_byte: the state stays sound. The loop that calls this reads nothing of the state
 * but what changes here.
 */
void stub_outer_byte(struct kubelet_state *k, uint8_t byte)
{
    (void)byte;
    CHECK(k->failed == STATUS_OK && sound(k));
    k->failed = any_bool() ? STATUS_OK : any_bool() ? PEER_MALFORMED : PEER_UNSUPPORTED;
    k->claim_due = k->failed == STATUS_OK && any_bool();
}

void proof_kubelet_data(void)
{
    struct kubelet_state *k = any_state();
    data_byte(k, any_u8());
    check_state(k);
}

void proof_kubelet_byte(void)
{
    struct kubelet_state *k = any_state();
    outer_byte(k, any_u8());
    check_state(k);
}

void proof_kubelet_next(void)
{
    struct kubelet_state *k = any_state();
    struct reader in = any_reader(ANY_LENGTH);
    size_t before = in.pos;
    const struct kubelet_claim *claim = kubelet_state_next(k, &in);
    CHECK(in.pos >= before && in.pos <= in.len);
    CHECK(claim == NULL || (claim == &k->claim && k->failed == STATUS_OK));
    CHECK(claim != NULL || k->failed != STATUS_OK || in.pos == in.len);
    enum status s = kubelet_state_end(k);
    CHECK(s == STATUS_OK || s == PEER_MALFORMED || s == PEER_UNSUPPORTED);
    CHECK(s != STATUS_OK || k->place == OUTER_END);
}

/* I2: a failure is sticky, and no byte is taken after it. */
void proof_kubelet_failed(void)
{
    struct kubelet_state *k = any_state();
    struct reader in = any_reader(ANY_LENGTH);
    size_t before = in.pos;
    k->failed = any_bool() ? PEER_MALFORMED : PEER_UNSUPPORTED;
    enum status failed = k->failed;
    CHECK(kubelet_state_next(k, &in) == NULL && in.pos == before);
    CHECK(kubelet_state_end(k) == failed);
}

void proof_kubelet_begin(void)
{
    struct kubelet_state k;
    kubelet_state_begin(&k, "neuron.aws.com");
    CHECK(sound(&k) && k.failed == STATUS_OK);
    CHECK(kubelet_state_end(&k) == PEER_MALFORMED);
}
