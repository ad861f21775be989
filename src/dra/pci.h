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
 * Consumes a field of `digits` lower-case hexadecimal digits at the start of *text. Returns false
 * if the text does not start with such a field; *text and *value then have no meaning.
 */
MUST_USE bool hex_field_parse(struct view *text, unsigned digits, uint32_t *value);
/*
 * Parses a PCI address such as "0000:10:19.0" into one number: domain, bus, device and function of
 * 16, 8, 5 and 3 bits. Returns false if the text is not in the kernel's form, or is the all-zero
 * address, which means that there is no address.
 */
MUST_USE bool pci_address_parse(struct view text, uint32_t *address);
/* Writes the address as the kernel does, such as 0000:10:19.0. */
void pci_address_text(uint32_t address, char out[PCI_ADDRESS_CAP]);
/* Writes the name of the EFA device with this address in dranet's form: pci-0000-10-19-0. */
void efa_device_name(uint32_t address, char out[DEVICE_NAME_CAP]);
/* Parses the address in an EFA device's name. Returns false if the name has another form. */
MUST_USE bool efa_device_address(struct view name, uint32_t *address);

#endif
