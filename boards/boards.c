/* SPDX-License-Identifier: Apache-2.0 */
/* All boards: the families side by side, and the search by name. Holds no data of a board. */
#include "boards/board.h"

#include <stddef.h>
#include <string.h>

/* In front of the type's name on HyperPod nodes. */
#define HYPERPOD_PREFIX "ml."

static const struct board *const families[] = {trn1_boards, trn2_boards};

const struct board *board_at(unsigned index)
{
    unsigned left = index;
    for (size_t family = 0; family < sizeof families / sizeof families[0]; family++) {
        const struct board *row = families[family];
        for (; row->instance_type != NULL && left > 0u; row++) {
            left--;
        }
        if (row->instance_type != NULL) {
            return row;
        }
    }
    return NULL;
}

const struct board *board_find(const char *instance_type)
{
    size_t prefix = strlen(HYPERPOD_PREFIX);
    bool hyperpod = strlen(instance_type) > prefix
                    && memcmp(instance_type, HYPERPOD_PREFIX, prefix) == 0;
    const char *name = hyperpod ? instance_type + prefix : instance_type;
    const struct board *row = board_at(0);
    for (unsigned i = 1; row != NULL; i++) {
        size_t len = strlen(row->instance_type);
        if (len == strlen(name) && memcmp(row->instance_type, name, len) == 0) {
            return row;
        }
        row = board_at(i);
    }
    return NULL;
}
