/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses of PCI functions: as text, as a number, and as the name of an EFA device. Owns these
 * forms; knows no device. Sources: kernel's pci-sysfs.c, dranet's pkg/names.
 */
#ifndef DRA_PCI_H
#define DRA_PCI_H

#include "base/bytes.h"
#include "boards/board.h"
#include "cfg/limits.h"

/*
 * Consumes a field of `digits` lower-case hexadecimal digits from the text. false: no such field.
 */
MUST_USE bool hex_field_parse(struct view *text, unsigned digits, uint32_t *value);
/*
 * Parses "0000:10:19.0" into domain, bus, device and function of 16, 8, 5 and 3 bits. false: not a
 * PCI address as the kernel writes it, or the all-zero address, which stands for none.
 */
MUST_USE bool pci_address_parse(struct view text, uint32_t *address);
/* Writes the address as the kernel does, such as 0000:10:19.0. */
void pci_address_text(uint32_t address, char out[PCI_ADDRESS_CAP]);
/* Writes the device name in dranet's form, pci-0000-10-19-0. */
void efa_device_name(uint32_t address, char out[DEVICE_NAME_CAP]);
/* Parses the address out of a device name. false: not such a name. */
MUST_USE bool efa_device_address(struct view name, uint32_t *address);

#endif
