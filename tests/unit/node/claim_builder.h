/* SPDX-License-Identifier: Apache-2.0 */
/* A claim under way on a node, as the tests of its results and configurations drive it. */
#ifndef TESTS_CLAIM_BUILDER_H
#define TESTS_CLAIM_BUILDER_H

#include "claim_harness.h"

static struct devices devices;
static struct claim_builder b;

static inline int setup(void **state)
{
    (void)state;
    fill_devices(&devices, &trn2, 0, 16);
    memset(&b, 0xaa, sizeof b);
    claim_begin(&b, &devices, DRIVER_NAME, "node-1", &wanted);
    return 0;
}

static inline int setup_trn1(void **state)
{
    (void)state;
    fill_devices(&devices, &trn1, 0, 1);
    claim_begin(&b, &devices, DRIVER_NAME, "node-1", &wanted);
    return 0;
}

static inline struct claim_result_in result_of(const char *request, const char *device)
{
    return (struct claim_result_in){
        .request = view_text(request),
        .driver = view_text(DRIVER_NAME),
        .pool = view_text("node-1"),
        .device = view_text(device),
    };
}

static inline void add(const char *request, const char *device)
{
    struct claim_result_in in = result_of(request, device);
    claim_result_add(&b, &in);
}

static inline void add_admin(const char *request, const char *device)
{
    struct claim_result_in in = result_of(request, device);
    in.admin_access = true;
    claim_result_add(&b, &in);
}

static inline enum status end(void)
{
    claim_meta(&b, view_text(UID));
    claim_allocated(&b);
    return claim_end(&b);
}

static inline void refused(const char *why)
{
    assert_int_not_equal(end(), STATUS_OK);
    assert_one_line(b.why);
    assert_string_equal(b.why, why);
    assert_int_equal(claim_end(&b), b.failed);
}

static inline void prepared(void)
{
    if (end() != STATUS_OK) {
        fail_msg("refused: %s", b.why);
    }
    assert_true(claim_record_valid(&b.record));
}

#endif
