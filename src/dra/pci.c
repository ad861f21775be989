/* SPDX-License-Identifier: Apache-2.0 */
/* Converts PCI addresses between the kernel's form and the names of EFA devices; see pci.h. */
#include "dra/pci.h"

#include "base/chars.h"
#include "cfg/identity.h"

/*
 * Fields of an address (domain, bus, device, function): the number of digits and bits of each
 * field, and the separator after the field.
 */
#define PCI_FIELDS 4u
static const struct {
    uint8_t digits;
    uint8_t bits;
    uint8_t after; /* separator after the field in sysfs; NUL after the last field */
} pci_fields[PCI_FIELDS] = {
    {4, 16, (uint8_t)':'}, {2, 8, (uint8_t)':'}, {2, 5, (uint8_t)'.'}, {1, 3, 0}};

/* --- parsing and writing addresses and names --- */

bool hex_field_parse(struct view *text, unsigned digits, uint32_t *value)
{
    bool good = text->len >= digits;
    *value = 0;
    for (unsigned i = 0; good && i < digits; i++) {
        uint8_t byte = text->data[i];
        good = is_hex_digit(byte) && (is_digit(byte) || is_lower(byte));
        *value = *value << 4u | (good ? hex_value(byte) : 0u);
    }
    *text = view_from(*text, digits);
    return good;
}

/* Removes the separator `after`, unless it is NUL, from *text. Returns false if it is not there. */
static bool skip_separator(struct view *text, uint8_t after)
{
    bool there = after == 0u || (text->len > 0u && text->data[0] == after);
    *text = view_from(*text, (after == 0u) ? 0u : 1u);
    return there;
}

/*
 * Parses an address whose fields are separated by `separator`. If `separator` is NUL, expects the
 * separators of sysfs.
 */
static bool parse_address(struct view text, uint8_t separator, uint32_t *address)
{
    struct view left = text;
    uint32_t all = 0;
    for (unsigned i = 0; i < PCI_FIELDS; i++) {
        uint32_t value = 0;
        uint8_t after = pci_fields[i].after;
        after = (separator != 0u && after != 0u) ? separator : after;
        if (!hex_field_parse(&left, pci_fields[i].digits, &value) ||
            value >> pci_fields[i].bits != 0u || !skip_separator(&left, after)) {
            return false;
        }
        all = all << pci_fields[i].bits | value;
    }
    if (left.len > 0u || all == 0u) {
        return false;
    }
    *address = all;
    return true;
}

static void write_fields(struct writer *out, uint8_t separator, uint32_t address)
{
    unsigned left = 32u;
    for (unsigned i = 0; i < PCI_FIELDS; i++) {
        uint8_t after = (separator == 0u) ? pci_fields[i].after : separator;
        left -= pci_fields[i].bits;
        uint32_t value = address >> left & ((UINT32_C(1) << pci_fields[i].bits) - 1u);
        writer_hex(out, value, pci_fields[i].digits);
        if (pci_fields[i].after != 0u) {
            writer_u8(out, after);
        }
    }
}

bool pci_address_parse(struct view text, uint32_t *address)
{
    return parse_address(text, 0u, address);
}

void pci_address_text(uint32_t address, char out[PCI_ADDRESS_CAP])
{
    struct writer w = writer_of(out, PCI_ADDRESS_CAP);
    write_fields(&w, 0u, address);
    writer_close_text(&w);
}

void efa_device_name(uint32_t address, char out[DEVICE_NAME_CAP])
{
    struct writer w = writer_of(out, DEVICE_NAME_CAP);
    writer_text(&w, EFA_DEVICE_PREFIX);
    write_fields(&w, (uint8_t)'-', address);
    writer_close_text(&w);
}

bool efa_device_address(struct view name, uint32_t *address)
{
    return view_starts(name, EFA_DEVICE_PREFIX) &&
           parse_address(view_from(name, sizeof EFA_DEVICE_PREFIX - 1u), (uint8_t)'-', address);
}
