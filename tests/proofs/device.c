/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of sysfs, of any length, and any table of devices that devices_valid allows. */
#include "dra_stubs.h"

static size_t ghost; /* any index of a text: what holds for it, holds for all */

#include "dra/device.c"

void proof_device_printable(void)
{
    char text[SYSFS_VALUE_CAP];
    struct view value = any_view(ANY_LENGTH);
    size_t len = value.len < sizeof text - 1u ? value.len : sizeof text - 1u;
    ghost = any_length(ANY_LENGTH);
    printable_cut(text, sizeof text, value);
    CHECK(text[len] == '\0');
    CHECK(ghost >= len || (text[ghost] >= ' ' && text[ghost] <= '~'));
}

void proof_device_word(void)
{
    char text[ATTRIBUTE_VALUE_CAP];
    struct view value = any_view(ANY_LENGTH);
    bool good = copy_word(text, sizeof text, value);
    CHECK(good ? (value.len > 0u && value.len < sizeof text) : text[0] == '\0');
}

void proof_device_type(void)
{
    struct view value = any_view(ANY_LENGTH);
    CHECK(!is_instance_type(value) || value.len >= 3u);
}

void proof_device_neighbour(void)
{
    struct device device;
    struct view list = any_view(ANY_LENGTH);
    struct view rest = list;
    uint64_t number = 0;
    ASSUME(device.neighbours <= NEIGHBOURS_MAX);
    bool good = next_neighbour(&device, &rest);
    CHECK(device.neighbours <= NEIGHBOURS_MAX && view_within(rest, list));
    CHECK(!good || (device.neighbours > 0u && rest.len < list.len));
    CHECK(!good || device.neighbour[device.neighbours - 1u] < DEVICES_MAX);
    uint64_t last = any_u64();
    bool named = neuron_device_number(list, last, &number);
    CHECK(named ? number <= last : number == 0u);
}

/* The names of a table end in NUL inside their arrays: devices_valid. */
bool stub_name_is(struct view a, const char *text)
{
    stub_check_view(a);
    CHECK(__CPROVER_r_ok(text, DEVICE_NAME_CAP));
    return any_bool();
}

void proof_device_find(void)
{
    static struct devices table; /* its names matter to no check */
    table.count = any_u16();
    ASSUME(table.count <= DEVICES_MAX); /* devices_valid */
    int at = devices_find(&table, any_view(ANY_LENGTH));
    CHECK(at >= -1 && at < (int)table.count);
}
