/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kubelet's checkpoint: which claims it has, in any pieces, and that nothing else is taken for
 * one.
 */
#include <string.h>

#include "dra/kubelet_state.h"
#include "unit.h"

/* As kubelet 1.36.3 writes it. */
static const char empty[] =
    "{\"Data\":\"{\\\"kind\\\":\\\"DRACheckpoint\\\",\\\"apiVersion\\\":"
    "\\\"checkpoint.dra.kubelet.k8s.io/v1\\\",\\\"ClaimInfoStateList\\\":null}\","
    "\"Checksum\":4010664294}";
static const char two[] =
    "{\"Data\":\"{\\\"kind\\\":\\\"DRACheckpoint\\\",\\\"apiVersion\\\":\\\"checkpoint.d"
    "ra.kubelet.k8s.io/v1\\\",\\\"ClaimInfoStateList\\\":[{\\\"ClaimUID\\\":\\\"c1a10000"
    "-0000-4000-8000-000000000000\\\",\\\"ClaimName\\\":\\\"claim-0\\\",\\\"Namespace\\\""
    ":\\\"ml\\\",\\\"PodUIDs\\\":{\\\"pod-0\\\":{}},\\\"DriverState\\\":{\\\"a\\\\u003cb"
    "\\\\u003e\\\\u0026\\\\u2028\\\\\\\"ClaimUID\\\\\\\":\\\\\\\"x\\\":{\\\"Devices\\\":"
    "null},\\\"neuron.aws.com\\\":{\\\"Devices\\\":[{\\\"PoolName\\\":\\\"node-a\\\",\\\""
    "DeviceName\\\":\\\"neuron-device-0\\\",\\\"ShareID\\\":null,\\\"RequestNames\\\":[\\\""
    "req\\\"],\\\"CDIDeviceIDs\\\":[\\\"neuron.aws.com/claim=x-req\\\"]}]}}},{\\\"ClaimU"
    "ID\\\":\\\"c1a10000-0000-4000-8000-000000000001\\\",\\\"ClaimName\\\":\\\"claim-1\\\""
    ",\\\"Namespace\\\":\\\"ml\\\",\\\"PodUIDs\\\":{\\\"pod-0\\\":{},\\\"pod-1\\\":{}},\\\""
    "DriverState\\\":{\\\"neuron.aws.com\\\":{\\\"Devices\\\":[{\\\"PoolName\\\":\\\"nod"
    "e-a\\\",\\\"DeviceName\\\":\\\"neuron-device-1\\\",\\\"ShareID\\\":\\\"5a\\\",\\\"R"
    "equestNames\\\":null,\\\"CDIDeviceIDs\\\":null}]}}}]}\",\"Checksum\":2640470015}";

static struct kubelet_claim found[4];
static unsigned count;

static enum status parse(struct view text, size_t piece)
{
    struct kubelet_state k;
    kubelet_state_begin(&k, "neuron.aws.com");
    count = 0;
    while (text.len > 0u) {
        struct reader in = reader_of(view_first(text, piece));
        const struct kubelet_claim *c = kubelet_state_next(&k, &in);
        while (c != NULL) {
            assert_true(count < 4u);
            found[count] = *c;
            count++;
            c = kubelet_state_next(&k, &in);
        }
        text = view_from(text, piece < text.len ? piece : text.len);
    }
    return kubelet_state_end(&k);
}

static void test_claims(void **state)
{
    (void)state;
    for (size_t piece = 1; piece <= sizeof two; piece++) {
        assert_int_equal(parse(view_text(empty), piece), STATUS_OK);
        assert_int_equal(count, 0);
        assert_int_equal(parse(view_text(two), piece), STATUS_OK);
        assert_int_equal(count, 2);
        assert_string_equal(found[0].id.uid, "c1a10000-0000-4000-8000-000000000000");
        assert_string_equal(found[1].id.uid, "c1a10000-0000-4000-8000-000000000001");
        for (unsigned i = 0; i < 2u; i++) {
            assert_string_equal(found[i].id.namespace_, "ml");
            assert_string_equal(found[i].id.name, (i == 0u) ? "claim-0" : "claim-1");
            assert_true(found[i].of_driver);
        }
    }
}

/* Cut anywhere, or with any byte changed, it proves nothing. */
static void test_damage(void **state)
{
    static char bytes[sizeof two];
    (void)state;
    for (size_t n = 0; n < sizeof two - 1u; n++) {
        assert_int_not_equal(parse(view_of(two, n), 4096), STATUS_OK);
        for (unsigned bit = 0; bit < 8u; bit++) {
            memcpy(bytes, two, sizeof two);
            bytes[n] = (char)((unsigned char)bytes[n] ^ 1u << bit);
            assert_int_not_equal(parse(view_of(bytes, sizeof two - 1u), 4096), STATUS_OK);
        }
    }
    memcpy(bytes, two, sizeof two);
    bytes[sizeof two - 1u] = ' ';
    assert_int_not_equal(parse(view_of(bytes, sizeof two), 4096), STATUS_OK);
}

/* A version that is not known, and the format of Kubernetes 1.31. */
static void test_other_formats(void **state)
{
    static const char *const texts[] = {
        "{\"Data\":\"{\\\"kind\\\":\\\"DRACheckpoint\\\",\\\"apiVersion\\\":\\\"checkpoint.d"
        "ra.kubelet.k8s.io/v2\\\",\\\"ClaimInfoStateList\\\":null}\",\"Checksum\":1241877002"
        "}",
        "{\"Data\":\"{\\\"kind\\\":\\\"DRACheckpoint\\\",\\\"apiVersion\\\":\\\"checkpoint.d"
        "ra.kubelet.k8s.io/v1\\\",\\\"ClaimInfoStateList\\\":[{\\\"ClaimUID\\\":\\\"\\\",\\\""
        "ClaimName\\\":\\\"\\\",\\\"Namespace\\\":\\\"\\\",\\\"PodUIDs\\\":null,\\\"DriverSt"
        "ate\\\":null}]}\",\"Checksum\":2777953924}",
        "{\"Data\":\"{\\\"kind\\\":\\\"DRACheckpoint\\\",\\\"apiVersion\\\":\\\"checkpoint.d"
        "ra.kubelet.k8s.io/v1\\\",\\\"ClaimInfoStateList\\\":[{\\\"ClaimName\\\":\\\"x\\\"}]"
        "}\",\"Checksum\":3084455575}",
        "{\"Data\":\"{\\\"kind\\\":\\\"DRACheckpoint\\\",\\\"apiVersion\\\":\\\"checkpoint.d"
        "ra.kubelet.k8s.io/v1\\\",\\\"ClaimInfoStateList\\\":[{\\\"ClaimUID\\\":7}]}\",\"Che"
        "cksum\":3252833701}",
        "{\"Data\":\"{\\\"kind\\\":\\\"DRACheckpoint\\\",\\\"apiVersion\\\":\\\"checkpoint.d"
        "ra.kubelet.k8s.io/v1\\\",\\\"ClaimInfoStateList\\\":[{\\\"ClaimUID\\\":\\\"a\\\",\\\""
        "ClaimUID\\\":\\\"b\\\"}]}\",\"Checksum\":2504818297}",
        "{\"Data\":\"{\\\"kind\\\":\\\"DRACheckpoint\\\",\\\"apiVersion\\\":\\\"checkpoint.d"
        "ra.kubelet.k8s.io/v1\\\",\\\"ClaimInfoStateList\\\":null}{}\",\"Checksum\":11919888"
        "65}",
        "{\"v\":1,\"checksum\":123,\"entries\":[{\"DriverName\":\"x\",\"ClaimUID\":\"a\"}]}",
        "{}",
        "null",
    };
    (void)state;
    for (unsigned i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_int_not_equal(parse(view_text(texts[i]), 4096), STATUS_OK);
    }
    assert_int_equal(parse(view_text(texts[0]), 4096), PEER_UNSUPPORTED);
}

/* The first of the two bytes of an escaped character fails: the second one does not undo that. */
static void test_first_failure_stays(void **state)
{
    static const char text[] =
        "{\"Data\":\"{\\\"kind\\\":\\\"DRACheckpoint\\\",\\\"apiVersion\\\":\\\"checkpoint.d"
        "ra.kubelet.k8s.io/v1\\\","
        "\\\"ClaimInfoStateList\\\"\\u00e9null}\",\"Checksum\":3430672144}";
    (void)state;
    assert_int_equal(parse(view_text(text), 4096), PEER_UNSUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_claims),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_other_formats),
        cmocka_unit_test(test_first_failure_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
