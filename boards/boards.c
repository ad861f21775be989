/* SPDX-License-Identifier: Apache-2.0 */
/* All boards: the families side by side, and the search by name. Holds no data of a board. */
#include "boards/board.h"

#include <stddef.h>
#include <string.h>

#include "base/bytes.h"

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
    struct view name = view_text(instance_type);
    if (view_starts(name, HYPERPOD_PREFIX)) {
        name = view_from(name, strlen(HYPERPOD_PREFIX));
    }
    unsigned at = 0;
    const struct board *row = board_at(at);
    while (row != NULL && !view_is(name, row->instance_type)) {
        at++;
        row = board_at(at);
    }
    return row;
}
