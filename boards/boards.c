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

struct view board_type(struct view name)
{
    return view_from(name, view_starts(name, HYPERPOD_PREFIX) ? strlen(HYPERPOD_PREFIX) : 0u);
}

const struct board *board_find(const char *instance_type)
{
    struct view name = board_type(view_text(instance_type));
    unsigned at = 0;
    const struct board *row = board_at(at);
    while (row != NULL && !view_is(name, row->instance_type)) {
        at++;
        row = board_at(at);
    }
    return row;
}
