/* SPDX-License-Identifier: Apache-2.0 */
/* The kubelet's list of pods, as its PodResources service writes it. */
#ifndef TESTS_UNIT_KUBELET_LISTED_PODS_H
#define TESTS_UNIT_KUBELET_LISTED_PODS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/bytes.h"

static uint8_t message[256u * 1024u];
static struct writer list;

static void put(struct writer *out, unsigned field, struct view value)
{
    writer_varint(out, field << 3 | 2u);
    writer_varint(out, value.len);
    writer_append(out, value);
}

/* A container that uses a claim, beside a device and a CPU. */
static void put_container(struct writer *out, unsigned field, struct view claim)
{
    uint8_t bytes[1024];
    uint8_t resource[512];
    struct writer container = writer_of(bytes, sizeof bytes);
    struct writer used = writer_of(resource, sizeof resource);
    put(&container, 1, view_text("app"));
    put(&container, 2, view_text("\n\x01x"));
    put(&container, 3, view_text("\x01"));
    put(&used, 2, claim);
    put(&used, 3, view_text("ml"));
    put(&used, 4, view_text("\x12\x01y"));
    put(&container, 5, writer_view(&used));
    assert_false(container.full || used.full);
    put(out, field, writer_view(&container));
}

static void list_begin(void)
{
    list = writer_of(message, sizeof message);
    writer_bytes(&list, "\0\0\0\0\0", 5);
}

/* Adds a pod of which two containers use the claim; NULL: none does. */
static void list_add(const char *ns, const char *name, const char *claim)
{
    uint8_t bytes[2048];
    struct writer pod = writer_of(bytes, sizeof bytes);
    put(&pod, 1, view_text(name));
    put(&pod, 2, view_text(ns));
    for (unsigned i = 0; i < 2u && claim != NULL; i++) {
        put_container(&pod, 3, view_text(claim));
    }
    assert_false(pod.full);
    put(&list, 1, writer_view(&pod));
}

#endif
