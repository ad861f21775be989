/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entries of replies against nanopb: what claims/replies.c writes is what the generated messages of
 * proto/dra.proto decode to and encode as, and as long as was computed before.
 */
#include "tests/unit/kubelet/agent_kubelet.h"

#include "generated/dra.pb.h"
#include "pb_encode.h"
#include "wire/decode.h"

#define DEVICES_IN_ENTRY 32u

static dra_Device devices[DEVICES_IN_ENTRY];
static unsigned count;

static bool read_device(pb_istream_t *in, const pb_field_t *field, void **arg)
{
    (void)field;
    (void)arg;
    assert_true(count < DEVICES_IN_ENTRY);
    devices[count] = (dra_Device)dra_Device_init_zero;
    return pb_decode(in, dra_Device_fields, &devices[count++]);
}

static bool write_devices(pb_ostream_t *out, const pb_field_t *field, void *const *arg)
{
    (void)arg;
    for (unsigned i = 0; i < count; i++) {
        if (!pb_encode_tag_for_field(out, field) ||
            !pb_encode_submessage(out, dra_Device_fields, &devices[i])) {
            return false;
        }
    }
    return true;
}

/* Decodes the value of an entry into `devices`, and encodes it again: the bytes are the same. */
static void check_value(struct view value)
{
    dra_NodePrepareResourceResponse m = dra_NodePrepareResourceResponse_init_zero;
    uint8_t bytes[REPLY_ENTRY_BYTES_MAX];
    pb_ostream_t out = pb_ostream_from_buffer(bytes, sizeof bytes);
    count = 0;
    m.devices.funcs.decode = read_device;
    assert_true(decode(value, dra_NodePrepareResourceResponse_fields, &m));
    m.devices.funcs.encode = write_devices;
    assert_true(pb_encode(&out, dra_NodePrepareResourceResponse_fields, &m));
    assert_true(view_equal(view_of(bytes, out.bytes_written), value));
}

/* Names of 1, 9 and 63 bytes move every length over the border of one byte to two. */
static void test_devices(void **state)
{
    (void)state;
    static char names[3][64];
    static char numbers[4][32];
    memset(names[0], 'r', 1);
    memset(names[1], 'q', 9);
    memset(names[2], 'p', 63);
    world_new();
    found_set("trn2.48xlarge", 64, 8);
    node_up();
    for (unsigned i = 1; i <= 4; i++) {
        struct api_claim *c = claim_add(i);
        c->results = i;
        for (unsigned k = 0; k < i; k++) {
            (void)snprintf(numbers[k], sizeof numbers[k], "neuron-device-%u", k * 2);
            c->result[k].request = names[k % 3];
            c->result[k].device = numbers[k];
        }
        struct view reply = prepare_now(i, 1);
        check_value(entry_of(reply, i));
        assert_int_equal(count, i);
        for (unsigned k = 0; k < count; k++) {
            assert_string_equal(devices[k].request_names[0], names[k % 3]);
            assert_string_equal(devices[k].device_name, numbers[k]);
            assert_string_equal(devices[k].pool_name, "node-a");
            assert_false(devices[k].has_share_id);
        }
        unprepare_well(i, 1);
    }
}

/* Length of the reply's entry for the record, as nanopb encodes it without its head. */
static size_t encoded_len(const struct claim_record *r)
{
    dra_NodePrepareResourcesResponse_ClaimsEntry e =
        dra_NodePrepareResourcesResponse_ClaimsEntry_init_zero;
    size_t len = 0;
    text_set(e.key, sizeof e.key, r->id.uid);
    e.has_value = true;
    e.value.devices.funcs.encode = write_devices;
    count = r->count;
    for (unsigned i = 0; i < count; i++) {
        dra_Device *d = &devices[i];
        *d = (dra_Device)dra_Device_init_zero;
        d->request_names_count = d->cdi_device_ids_count = 1;
        text_set(d->request_names[0], sizeof d->request_names[0], r->result[i].request);
        text_set(d->pool_name, sizeof d->pool_name, r->pool);
        (void)snprintf(d->device_name, sizeof d->device_name, "neuron-device-%u",
                       r->result[i].number);
        cdi_device_id(DRIVER_NEURON, r->id.uid, r->result[i].request, d->cdi_device_ids[0]);
        d->has_share_id = r->result[i].share_id[0] != '\0';
        text_set(d->share_id, sizeof d->share_id, r->result[i].share_id);
    }
    assert_true(pb_get_encoded_size(&len, dra_NodePrepareResourcesResponse_ClaimsEntry_fields, &e));
    return len;
}

static void check_length(const struct claim_record *r, size_t *encoded)
{
    size_t inner = encoded_len(r);
    size_t head = inner < 128 ? 2 : inner < 16384 ? 3 : 4;
    assert_int_equal(reply_entry_len(r->id.uid, reply_devices_len(r)), head + inner);
    *encoded = inner;
}

/* The length that is announced before an entry exists is its own, to the byte. */
static void test_lengths(void **state)
{
    (void)state;
    static struct claim_record r;
    size_t encoded = 0;
    memset(&r, 0, sizeof r);
    memset(r.id.uid, 'u', 36);
    for (unsigned pool = 1; pool < NAME_CAP; pool += 11) {
        memset(r.pool, 'n', pool);
        for (r.count = 1; r.count <= RESULTS_MAX; r.count++) {
            struct claim_result *last = &r.result[r.count - 1];
            memset(last->request, 'r', r.count * 2u - 1u);
            memset(last->share_id, 's', (r.count % 2u) * 36u);
            last->number = (uint16_t)(r.count * 2u - 1u);
            check_length(&r, &encoded);
        }
        r.count = 0;
    }
}

/* Entries around 16,384 bytes, from which on a length has three bytes, up to the longest. */
static void test_long_lengths(void **state)
{
    (void)state;
    static struct claim_record r;
    size_t encoded = 0;
    unsigned shorter = 0;
    unsigned longer = 0;
    memset(&r, 0, sizeof r);
    memset(r.id.uid, 'u', UID_CAP - 1);
    r.count = RESULTS_MAX;
    for (unsigned i = 0; i < RESULTS_MAX; i++) {
        memset(r.result[i].request, 'r', REQUEST_BASE_CAP - 1);
        memset(r.result[i].share_id, 's', 36);
        r.result[i].number = (uint16_t)i;
    }
    for (unsigned pool = 1; pool < NAME_CAP; pool++) {
        memset(r.pool, 'n', pool);
        check_length(&r, &encoded);
        shorter += (encoded < 16384) ? 1u : 0u;
        longer += (encoded >= 16384) ? 1u : 0u;
    }
    assert_true(shorter > 0 && longer > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_long_lengths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
