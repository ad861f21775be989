/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses of PCI functions: as text, as a number, and as the name of the EFA device that has one.
 * Owns these forms; knows no device. Sources: kernel's pci-sysfs.c, dranet's pkg/names.
 */
#ifndef DRA_PCI_H
#define DRA_PCI_H

#include "base/bytes.h"
#include "boards/board.h"
#include "cfg/limits.h"

/* Takes a field of `digits` hexadecimal digits in lower case off the text. False: there is none. */
MUST_USE bool hex_field_take(struct view *text, unsigned digits, uint32_t *value);
/*
 * Reads "0000:10:19.0" as domain, bus, device and function in 16, 8, 5 and 3 bits. False: it is no
 * PCI address as the kernel writes it, or the one that is all zero, which no function has here.
 */
MUST_USE bool pci_address_parse(struct view text, uint32_t *address);
/* The address in that form. */
void pci_address_text(uint32_t address, char out[PCI_ADDRESS_CAP]);
/* Name of the device as dranet forms it, pci-0000-10-19-0. */
void efa_device_name(uint32_t address, char out[DEVICE_NAME_CAP]);
/* The address that a device name stands for. False: it is no such name. */
MUST_USE bool efa_device_address(struct view name, uint32_t *address);

#endif
