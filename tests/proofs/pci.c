/* SPDX-License-Identifier: Apache-2.0 */
/* PCI addresses in texts of any length. */
#include "stubs.h"

#include "dra/pci.c"

void proof_pci_field(void)
{
    struct view text = any_view(ANY_LENGTH);
    struct view rest = text;
    unsigned digits = any_unsigned();
    uint32_t value;
    ASSUME(digits >= 1u && digits <= 4u); /* pci_fields, and parse_id of efa.c */
    bool good = hex_field_parse(&rest, digits, &value);
    CHECK(view_within(rest, text));
    CHECK(!good || (rest.len == text.len - digits && value >> 4u * digits == 0u));
}

void proof_pci_address(void)
{
    struct view text = any_view(ANY_LENGTH);
    uint32_t before = any_u32();
    uint32_t address = before;
    bool good = any_bool() ? pci_address_parse(text, &address) : efa_device_address(text, &address);
    CHECK(good ? address != 0u : address == before);
}
