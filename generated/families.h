/* SPDX-License-Identifier: Apache-2.0 */
/* Written by tools/build/generate.py from the names of the files of boards/: edit that, then run 'make generate'. */
#ifndef GENERATED_FAMILIES_H
#define GENERATED_FAMILIES_H

struct board_family;
extern const struct board_family inf1_family;
extern const struct board_family inf2_family;
extern const struct board_family trn1_family;
extern const struct board_family trn2_family;
extern const struct board_family trn3_family;

/* All of them. */
#define BOARD_FAMILIES &inf1_family, &inf2_family, &trn1_family, &trn2_family, &trn3_family

#endif
