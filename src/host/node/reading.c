/* SPDX-License-Identifier: Apache-2.0 */
/* Records which file of sysfs this process is reading; see reading.h. */
#include "host/node/reading.h"

#include <string.h>

static struct {
    /* where this process records what it reads; NULL: this process is not a reader */
    struct reading_note *note;
    const struct reading_left_out *left_out;
} the_reading;

void reading_here(struct reading_note *note, const struct reading_left_out *left_out)
{
    the_reading.note = note;
    the_reading.left_out = left_out;
}

bool reading_of(enum reading_kind kind, uint32_t id)
{
    bool may = true;
    if (the_reading.note != NULL) {
        the_reading.note->of = (struct reading_subject){.kind = (uint32_t)kind, .id = id};
        for (unsigned i = 0; i < the_reading.left_out->count; i++) {
            const struct reading_subject *of = &the_reading.left_out->of[i];
            may = may && !(of->kind == (uint32_t)kind && of->id == id);
        }
    }
    return may;
}

void reading_begins(const char *path)
{
    if (the_reading.note != NULL) {
        struct view name = view_text(path);
        size_t last = sizeof the_reading.note->file - 1u;
        name = view_from(name, (name.len > last) ? name.len - last : 0u);
        text_cut(the_reading.note->file, sizeof the_reading.note->file, name);
        the_reading.note->step++;
    }
}

void reading_ends(void)
{
    if (the_reading.note != NULL) {
        the_reading.note->step++;
    }
}
