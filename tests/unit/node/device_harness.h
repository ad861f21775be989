/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One found node, the table that is built from it, its issues, and its attributes as lines of a
 * golden file: what tests of the device table share.
 */
#ifndef TESTS_DEVICE_HARNESS_H
#define TESTS_DEVICE_HARNESS_H

#include "board_vectors.h"

static struct found_node found;
static struct devices devices;
static struct probe_issues issues;

static void build(void)
{
    memset(&devices, 0, sizeof devices);
    labels_set(&devices);
    devices_build(&devices, &found, &issues);
    assert_true(devices_valid(&devices));
}

__attribute__((unused)) static void build_type(const char *type)
{
    found_board(&found, board_find(type));
    build();
}

/* --- attributes as text --- */

static void value_text(const struct attribute *a, char *text, size_t cap)
{
    switch (a->type) {
    case ATTRIBUTE_INT:
        (void)snprintf(text, cap, "int %lld", (long long)a->number);
        break;
    case ATTRIBUTE_BOOL:
        (void)snprintf(text, cap, "bool %s", (a->number != 0) ? "true" : "false");
        break;
    case ATTRIBUTE_STRING:
        (void)snprintf(text, cap, "string %s", a->text);
        break;
    case ATTRIBUTE_VERSION:
        (void)snprintf(text, cap, "version %s",
                       (strcmp(a->text, AGENT_VERSION) == 0) ? "AGENT_VERSION" : a->text);
        break;
    case ATTRIBUTE_CAPACITY:
        (void)snprintf(text, cap, "capacity %s", a->text);
        break;
    }
}

/* "<type> <value>" of one attribute of one device, or "absent". */
__attribute__((unused)) static const char *attribute(unsigned index, const char *key)
{
    static char text[128];
    struct attributes all;
    device_attributes(&devices, index, &all);
    (void)snprintf(text, sizeof text, "absent");
    for (unsigned i = 0; i < all.count; i++) {
        if (strcmp(all.attribute[i].key, key) == 0) {
            value_text(&all.attribute[i], text, sizeof text);
        }
    }
    return text;
}

/* The lines of a golden file; `start`: of attributes whose names start so. */
__attribute__((unused)) static const char *attributes_text(const char *start)
{
    static char text[GOLDEN_BYTES_MAX];
    size_t len = 0;
    for (unsigned index = 0; index < devices.count; index++) {
        struct attributes all;
        char whose[8];
        (void)snprintf(whose, sizeof whose, "%u", devices.device[index].number);
        device_attributes(&devices, index, &all);
        for (unsigned i = 0; i < all.count; i++) {
            char value[128];
            if (strncmp(all.attribute[i].key, start, strlen(start)) != 0) {
                continue;
            }
            value_text(&all.attribute[i], value, sizeof value);
            len += (size_t)snprintf(text + len, sizeof text - len, "%s %s %s\n",
                                    devices.device[index].node ? "node" : whose,
                                    all.attribute[i].key, value);
            assert_in_range(len, 1, sizeof text - 2);
        }
    }
    return text;
}

__attribute__((unused)) static bool has_issue(enum probe_issue_kind kind, uint16_t number)
{
    for (unsigned i = 0; i < issues.count; i++) {
        if (issues.issue[i].kind == kind && issues.issue[i].number == number) {
            return true;
        }
    }
    return false;
}

#endif
