/* SPDX-License-Identifier: Apache-2.0 */
/* Lists all families and finds boards by name. Holds no data of a board. */
#include "boards/board.h"

#include <stddef.h>
#include <string.h>

#include "base/chars.h"
#include "generated/families.h"

/* Prefix of the type's name on HyperPod nodes. */
#define HYPERPOD_PREFIX "ml."

static const struct board_family *const families[] = {BOARD_FAMILIES};
#define FAMILIES (sizeof families / sizeof families[0])

const struct board *board_at(unsigned index)
{
    unsigned left = index;
    for (size_t i = 0; i < FAMILIES; i++) {
        if (left < families[i]->boards) {
            return &families[i]->board[left];
        }
        left -= families[i]->boards;
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

const char *board_pci_address(const struct board *board, unsigned number)
{
    const struct pci_map *pci = (board != NULL) ? board->pci : NULL;
    return (pci != NULL && number < BOARD_GROUPED_DEVICES) ? pci->address[number] : "";
}

/* Matches trn2, trn2u and trn2-ac for family trn2, but not trn20. */
static bool is_of_family(struct view name, const struct board_family *family)
{
    struct view rest = view_from(name, strlen(family->name));
    return view_starts(name, family->name) && rest.len > 0u && !is_digit(rest.data[0]);
}

const struct board_family *board_family(const char *instance_type)
{
    struct view name = board_type(view_text(instance_type));
    for (size_t i = 0; i < FAMILIES; i++) {
        if (is_of_family(name, families[i])) {
            return families[i];
        }
    }
    return NULL;
}
