/* SPDX-License-Identifier: Apache-2.0 */
/* Names and quantities of node resources; see node_resource.h. Holds no state. */
#include "dra/node_resource.h"

#include "base/assert.h"
#include "cfg/limits.h"

static const struct {
    char name[NODE_RESOURCE_NAME_CAP];
    uint8_t page_bits; /* an amount is a multiple of 2 to this power: a huge page, or 1 KiB */
} resources[NODE_RESOURCES] = {
    [NODE_HUGEPAGES_1GI] = {"hugepages-1Gi", 30},
    [NODE_HUGEPAGES_2MI] = {"hugepages-2Mi", 21},
    [NODE_MEMORY] = {"memory", 10},
};

/* The units of a quantity: each is 1024 times the one before it, and the first is 1024 bytes. */
static const char units[][3] = {"Ki", "Mi", "Gi", "Ti"};
#define UNITS (sizeof units / sizeof units[0])
#define UNIT_BITS 10u

const char *node_resource_name(unsigned resource)
{
    ASSERT(resource < (unsigned)NODE_RESOURCES);
    return resources[resource].name;
}

enum status node_quantity_parse(unsigned resource, struct view text,
                                char quantity[NODE_QUANTITY_CAP])
{
    unsigned unit = 0;
    uint64_t number = 0;
    while (unit + 1u < UNITS && !view_ends(text, units[unit])) {
        unit++;
    }
    unsigned bits = UNIT_BITS * (unit + 1u);
    struct view digits = view_first(text, text.len - 2u);
    if (!view_ends(text, units[unit]) ||
        view_decimal(digits, NODE_RESOURCE_BYTES_MAX >> bits, &number) != STATUS_OK) {
        return PEER_MALFORMED;
    }
    uint64_t page = UINT64_C(1) << resources[resource].page_bits;
    if (number == 0u || (number << bits) % page != 0u) {
        return PEER_MALFORMED;
    }
    while (unit + 1u < UNITS && number % 1024u == 0u) {
        number >>= UNIT_BITS;
        unit++;
    }
    struct writer out = writer_of(quantity, NODE_QUANTITY_CAP);
    writer_decimal(&out, number);
    writer_text(&out, units[unit]);
    writer_close_text(&out);
    return STATUS_OK;
}
