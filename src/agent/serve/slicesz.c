/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the pages /slicesz and /slicesz.json, see slicesz.h. */
#include "agent/serve/slicesz.h"

#include "agent/frame.h"
#include "agent/publish/listing.h"
#include "base/assert.h"

_Static_assert(SLICE_PART_BYTES <= CDI_BYTES_MAX, "a part fits where it is made");

enum { STAGE_NOTES, STAGE_START, STAGE_SLICES, STAGE_END, STAGES };

void slicesz_begin(const struct agent *a, struct slicesz *s, bool yaml)
{
    *s = (struct slicesz){.document = document_of(NULL, yaml),
                          .stage = yaml ? STAGE_NOTES : STAGE_START,
                          .version = {listing_version(a)}};
    s->version[1] = (a->next != NULL) ? listing_version(a->next) : 0u;
}

bool slicesz_outdated(const struct agent *a, const struct slicesz *s)
{
    uint32_t second = (a->next != NULL) ? listing_version(a->next) : 0u;
    return s->version[0] != listing_version(a) || s->version[1] != second;
}

/* Whether the page shows a list of slices; if not, it shows a single slice. */
static bool is_list(const struct agent *a)
{
    return a->next != NULL || listing_slices(a) > 1u;
}

/*
 * Writes note number `index` about the slices of driver `d` as a comment line of the page; an empty
 * note adds no line. false: the driver has fewer notes.
 */
static bool write_note(const struct agent *d, unsigned index, struct writer *out)
{
    struct writer line = *out;
    writer_text(&line, "# ");
    size_t before = line.len;
    if (!listing_note(d, index, &line)) {
        return false;
    }
    if (line.len > before) {
        writer_text(&line, "\n");
        *out = line;
    }
    return true;
}

/*
 * If the page is a list, writes the start of the list (STAGE_START) or its end (STAGE_END). At
 * STAGE_END, also ends the document.
 */
static void write_frame(const struct agent *a, unsigned stage, struct document *d)
{
    if (is_list(a) && stage == (unsigned)STAGE_START) {
        slice_list_begin(d);
    } else if (is_list(a)) {
        slice_list_end(d);
    } else {
        /* a single slice is the whole document, without a list around it */
    }
    if (stage == (unsigned)STAGE_END) {
        document_end(d);
    }
}

/*
 * Writes the part of the page at position `s`. false: the driver at this position has no further
 * part in this stage of the page.
 */
static bool write_part(const struct agent *a, const struct slicesz *s, struct document *d)
{
    const struct agent *driver = (s->driver == 0u) ? a : a->next;
    bool framed = s->stage == (uint8_t)STAGE_START || s->stage == (uint8_t)STAGE_END;
    if (framed && s->driver == 0u && s->part == 0u) {
        write_frame(a, s->stage, d);
        return true;
    }
    if (framed || driver == NULL) {
        return false;
    }
    return (s->stage == (uint8_t)STAGE_NOTES) ? write_note(driver, s->part, d->json.out)
                                              : listing_part(driver, s->part, d);
}

/* Advances the position to the next driver or, after the last driver, to the next stage. */
static void next_stage(struct slicesz *s)
{
    bool last = s->driver + 1u == DRIVERS;
    s->driver = last ? 0u : (uint8_t)(s->driver + 1u);
    s->stage = (uint8_t)(s->stage + (last ? 1u : 0u));
    s->part = 0;
}

bool slicesz_write(struct agent *a, struct slicesz *s, struct writer *out)
{
    ASSERT(!slicesz_outdated(a, s));
    /*
     * The loop ends, because each iteration writes bytes, stops, or advances to the next of the
     * STAGES times DRIVERS combinations of stage and driver.
     */
    while (s->stage < (uint8_t)STAGES && writer_room(out) > 0u) {
        struct document d = s->document;
        struct writer made = writer_of(a->scratch.body, sizeof a->scratch.body);
        d.json.out = &made;
        if (!write_part(a, s, &d)) {
            next_stage(s);
            continue;
        }
        if (s->stage == (uint8_t)STAGE_NOTES && made.len > writer_room(out)) {
            break; /* send a comment line whole, because its text may change before the next call */
        }
        struct view rest = view_from(writer_view(&made), s->offset);
        struct view piece = view_first(rest, writer_room(out));
        writer_append(out, piece);
        s->offset += (uint32_t)piece.len;
        if (piece.len == rest.len) {
            s->part++;
            s->offset = 0;
            s->document = d;
            s->document.json.out = NULL;
        }
    }
    return s->stage == (uint8_t)STAGES;
}
