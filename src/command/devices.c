/* SPDX-License-Identifier: Apache-2.0 */
/* The node's devices as a table, as a grid with who holds what, and as a document. */
#include "command/command.h"

#include "base/assert.h"
#include "cfg/identity.h"

#define COLOURS 6u /* of a terminal that are readable on black and on white: 31 to 36 */
#define NAME_COLUMN 18u
#define CORES_COLUMN 7u
#define STATE_COLUMN 7u
#define LETTERS 26u

void command_hold(struct inventory *v, uint64_t numbers, const struct claim_id *id, const char *pod)
{
    for (unsigned i = 0; i < DEVICES_MAX; i++) {
        if ((numbers >> i & 1u) == 0u) {
            continue;
        }
        struct holder *h = &v->holder[i];
        struct writer w = writer_of(h->claim, sizeof h->claim);
        writer_text(&w, id->namespace_);
        writer_text(&w, "/");
        writer_text(&w, id->name);
        enum status ended = writer_end_text(&w);
        ASSERT(ended == STATUS_OK);
        text_set(h->pod, sizeof h->pod, pod);
    }
}

static const struct holder *holder_of(const struct inventory *v, unsigned index)
{
    ASSERT(index < v->devices.count);
    return &v->holder[v->devices.device[index].number];
}

static bool is_held(const struct inventory *v, unsigned index)
{
    return holder_of(v, index)->claim[0] != '\0';
}

static bool is_same(const struct holder *x, const struct holder *y)
{
    return view_is(view_text(x->claim), y->claim);
}

/* Whether no device before this one is held by the same claim. */
static bool is_first(const struct inventory *v, unsigned index)
{
    bool first = is_held(v, index);
    for (unsigned i = 0; i < index && first; i++) {
        first = !is_same(holder_of(v, i), holder_of(v, index));
    }
    return first;
}

/* Which of the claims it is, in the order of their lowest devices. */
static unsigned order_of(const struct inventory *v, unsigned index)
{
    unsigned n = 0;
    for (unsigned i = 0; i < index && !is_same(holder_of(v, i), holder_of(v, index)); i++) {
        n += is_first(v, i) ? 1u : 0u;
    }
    return n;
}

static unsigned held_count(const struct inventory *v)
{
    unsigned n = 0;
    for (unsigned i = 0; i < v->devices.count; i++) {
        n += is_held(v, i) ? 1u : 0u;
    }
    return n;
}

/* --- text --- */

static void padded(struct writer *out, const char *text, size_t width)
{
    struct view v = view_text(text);
    writer_append(out, v);
    for (size_t i = v.len; i < width; i++) {
        writer_text(out, " ");
    }
}

static void number_padded(struct writer *out, unsigned value, unsigned width)
{
    char text[16];
    struct writer w = writer_of(text, sizeof text);
    writer_decimal(&w, value);
    enum status ended = writer_end_text(&w);
    ASSERT(ended == STATUS_OK);
    padded(out, text, width);
}

static size_t claim_column(const struct inventory *v)
{
    size_t width = sizeof "CLAIM";
    for (unsigned i = 0; i < v->devices.count; i++) {
        size_t len = view_text(holder_of(v, i)->claim).len;
        width = (len > width) ? len : width;
    }
    return width + 2u;
}

static void write_head(const struct inventory *v, struct writer *out)
{
    padded(out, "NAME", NAME_COLUMN);
    padded(out, "CORES", CORES_COLUMN);
    padded(out, "STATE", STATE_COLUMN);
    padded(out, "CLAIM", claim_column(v));
    writer_text(out, "POD\n");
}

static void write_row(const struct inventory *v, unsigned index, struct writer *out)
{
    const struct device *d = &v->devices.device[index];
    const struct holder *h = holder_of(v, index);
    bool held = is_held(v, index);
    padded(out, d->name, NAME_COLUMN);
    number_padded(out, d->core_count, CORES_COLUMN);
    padded(out, held ? "held" : "free", STATE_COLUMN);
    padded(out, held ? h->claim : "-", claim_column(v));
    writer_text(out, (h->pod[0] != '\0') ? h->pod : "-");
    writer_text(out, "\n");
}

static void letter(const struct inventory *v, unsigned index, struct writer *out)
{
    unsigned order = order_of(v, index);
    if (v->colour) {
        writer_text(out, "\033"
                         "[1;3");
        writer_decimal(out, 1u + order % COLOURS);
        writer_text(out, "m");
    }
    writer_u8(out, (uint8_t)('A' + order % LETTERS));
    writer_text(out, v->colour ? "\033"
                                 "[0m"
                               : "");
}

static void write_cell(const struct inventory *v, unsigned number, struct writer *out)
{
    int index = devices_numbered(&v->devices, number);
    writer_text(out, (number < 10u) ? "   " : "  ");
    writer_decimal(out, number);
    writer_text(out, " ");
    if (index < 0) {
        writer_text(out, "!"); /* the board has it, the node does not */
    } else if (is_held(v, (unsigned)index)) {
        letter(v, (unsigned)index, out);
    } else {
        writer_text(out, ".");
    }
}

static void write_grid(const struct inventory *v, struct writer *out)
{
    const struct board *board = v->devices.board;
    writer_text(out, "\n");
    writer_text(out, (v->devices.instance_type[0] != '\0') ? v->devices.instance_type
                                                           : "unknown instance type");
    writer_text(out, ", ");
    writer_decimal(out, held_count(v));
    writer_text(out, " of ");
    writer_decimal(out, v->devices.count);
    writer_text(out, " devices held\n");
    unsigned rows = (board != NULL) ? board->grid_rows : 0u;
    for (unsigned x = 0; x < rows; x++) {
        writer_text(out, (x == 0u) ? "\n" : "");
        for (unsigned y = 0; y < board->grid_columns; y++) {
            write_cell(v, x * board->grid_columns + y, out);
        }
        writer_text(out, "\n");
    }
    writer_text(out, (rows > 0u) ? "\n   .  free     !  missing\n" : "");
}

static void write_legend(const struct inventory *v, unsigned index, struct writer *out)
{
    const struct holder *h = holder_of(v, index);
    if (!is_first(v, index)) {
        return;
    }
    writer_text(out, "   ");
    letter(v, index, out);
    writer_text(out, "  ");
    writer_text(out, h->claim);
    if (h->pod[0] != '\0') {
        writer_text(out, ", pod ");
        writer_text(out, h->pod);
    }
    writer_text(out, "\n");
}

void command_issue(const struct probe_issue *issue, struct writer *out)
{
    writer_text(out, probe_issue_name(issue->kind));
    if (issue->number != PROBE_ISSUE_NO_NUMBER) {
        writer_text(out, ", " DEVICE_NAME_PREFIX);
        writer_decimal(out, issue->number);
    }
    if (issue->text[0] != '\0') {
        writer_text(out, " \"");
        writer_text(out, issue->text);
        writer_text(out, "\"");
    }
    writer_text(out, ": ");
    writer_text(out, issue->remedy);
}

bool command_devices_text(const struct inventory *v, unsigned part, struct writer *out)
{
    unsigned count = v->devices.count;
    unsigned grid = count + 1u;
    unsigned issues = grid + count + 1u;
    if (part == 0u) {
        write_head(v, out);
    } else if (part < grid) {
        write_row(v, part - 1u, out);
    } else if (part == grid) {
        write_grid(v, out);
    } else if (part < issues) {
        write_legend(v, part - grid - 1u, out);
    } else if (part < issues + v->issues.count) {
        writer_text(out, (part == issues) ? "\n" : "");
        command_issue(&v->issues.issue[part - issues], out);
        writer_text(out, "\n");
    } else {
        return false;
    }
    ASSERT(!out->full);
    return true;
}

/* --- document --- */

static void device_document(const struct inventory *v, unsigned index, struct document *d)
{
    const struct device *device = &v->devices.device[index];
    const struct holder *h = holder_of(v, index);
    document_object_begin(d);
    document_text(d, "name", device->name);
    document_number(d, "number", device->number);
    document_number(d, "cores", device->core_count);
    document_bool(d, "held", is_held(v, index));
    if (is_held(v, index)) {
        document_text(d, "claim", h->claim);
    }
    if (h->pod[0] != '\0') {
        document_text(d, "pod", h->pod);
    }
    document_object_end(d);
}

static void issue_document(const struct probe_issue *issue, struct document *d)
{
    char text[HOST_TEXT_CAP];
    struct writer w = writer_of(text, sizeof text);
    command_issue(issue, &w);
    ASSERT(!w.full);
    document_element(d, writer_view(&w));
}

bool command_devices_document(const struct inventory *v, unsigned part, struct document *d)
{
    unsigned count = v->devices.count;
    unsigned last = count + 2u + v->issues.count;
    if (part == 0u) {
        document_object_begin(d);
        document_text(d, "instanceType", v->devices.instance_type);
        document_text(d, "neuronDriverVersion", v->devices.driver_version);
        document_array_begin(d, "devices");
    } else if (part <= count) {
        device_document(v, part - 1u, d);
    } else if (part == count + 1u) {
        document_array_end(d);
        document_array_begin(d, "issues");
    } else if (part < last) {
        issue_document(&v->issues.issue[part - count - 2u], d);
    } else if (part == last) {
        document_array_end(d);
        document_object_end(d);
        document_end(d);
    } else {
        return false;
    }
    ASSERT(!d->json.out->full);
    return true;
}
