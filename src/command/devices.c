/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows the node's devices as text (a table, and a grid with the claims that hold them) or as a
 * JSON or YAML document.
 */
#include "command/command.h"

#include <string.h>

#include "base/assert.h"
#include "cfg/identity.h"
#include "command/command_internal.h"

#define COLOUR_RED 1u /* ANSI colour red (31); used only for unhealthy devices */
/* Claims use the ANSI colours 32 to 36, which are readable on black and on white. */
#define COLOUR_CLAIMS 2u
#define COLOURS 5u
#define COLUMN_GAP 2u
#define LETTERS 26u
/*
 * Width of a terminal, which no line exceeds, and maximum width of the health column, in
 * characters.
 */
#define TEXT_COLUMNS 80u
#define HEALTH_COLUMN_MOST 26u
#define INDENT "      " /* start of each continuation line of a line that was too wide */
#define INDENT_COLUMNS (sizeof INDENT - 1u)
/* Size of a buffer for " and 65535 other claims", the longest text about other claims. */
#define OTHERS_CAP 32u
/* Shown instead of a claim's name if it is unknown whether a claim holds the device. */
#define HOLDER_UNKNOWN "?"

/*
 * Health of a device. The verdict of a running agent comes from all readings since the start of the
 * agent; without an agent, a command has only a single reading, which shows less.
 */
enum device_health {
    DEVICE_HEALTHY,
    DEVICE_UNKNOWN,
    DEVICE_UNHEALTHY,
    DEVICE_UNREADABLE, /* the device's file core_count is unreadable */
    DEVICE_GONE,
    DEVICE_HEALTHS
};
static const char *const health_names[DEVICE_HEALTHS] = {[DEVICE_HEALTHY] = "healthy",
                                                         [DEVICE_UNKNOWN] = "unknown",
                                                         [DEVICE_UNHEALTHY] = "unhealthy",
                                                         [DEVICE_UNREADABLE] = "unreadable",
                                                         [DEVICE_GONE] = "gone"};
/* Size of a buffer for the longest health name, a separator, and the reasons. */
#define HEALTH_COLUMN_CAP (HEALTH_TEXT_CAP + 16u)

void command_hold(struct inventory *v, uint64_t numbers, const struct claim_id *id, const char *pod)
{
    for (unsigned i = 0; i < DEVICES_MAX; i++) {
        if ((numbers >> i & 1u) == 0u) {
            continue;
        }
        struct holder *h = &v->holder[i];
        h->others = (uint16_t)(h->others + ((h->claim[0] != '\0') ? 1u : 0u));
        WRITE_TEXT(h->claim, sizeof h->claim, "%/%", TEXT(id->namespace_), TEXT(id->name));
        text_set(h->pod, sizeof h->pod, pod);
    }
}

/* Returns the device with this number, or NULL if the kernel does not show the device. */
static const struct device *device_of(const struct inventory *v, unsigned number)
{
    int found = devices_numbered(&v->devices, number);
    return (found < 0) ? NULL : &v->devices.device[found];
}

static bool is_held(const struct inventory *v, unsigned number)
{
    ASSERT(number < DEVICES_MAX);
    return v->holder[number].claim[0] != '\0';
}

static bool is_same(const struct inventory *v, unsigned x, unsigned y)
{
    return text_is(v->holder[x].claim, v->holder[y].claim);
}

static bool is_efa(const struct inventory *v)
{
    return v->devices.driver == DRIVER_EFA;
}

/* Differences between the table of Neuron devices and the table of EFA devices. */
static const struct form {
    const char *before; /* text before the table; before the second table, an empty line */
    const char *longest_name;
    const char *column; /* heading of the table's second column */
    size_t column_width;
    const char *noun;
    const char *remedy; /* text: what an operator must do about an unhealthy device */
    const char *list;   /* name of the array of devices in the JSON or YAML output */
    const char *issue_list;
} forms[DRIVERS] = {
    [DRIVER_NEURON] = {"", DEVICE_NAME_PREFIX "10", "CORES", 7, "device",
                       "delete its pods and reset it, or replace the instance", "devices",
                       "issues"},
    [DRIVER_EFA] = {"\n", EFA_DEVICE_PREFIX "0000-00-00-0", "NEURON", 8, "EFA device",
                    "see dmesg, and restart or replace the instance", "efaDevices", "efaIssues"},
};

static const struct form *form_of(const struct inventory *v)
{
    return &forms[v->devices.driver];
}

/* Whether the board's EFA map pairs EFA device `number` with Neuron device `neuron`. */
static bool belongs_to(const struct inventory *v, unsigned number, unsigned neuron)
{
    const struct board *board = v->devices.board;
    const struct efa_map *map = (board != NULL) ? board->efa : NULL;
    return map != NULL && number < BOARD_GROUPED_DEVICES &&
           text_is(map->address[number], map->address[neuron]);
}

/*
 * Sets `text` to the numbers of the Neuron devices that the board's EFA map pairs with an EFA
 * device, as "0,1"; empty: the board has no such map, or the map lacks the EFA device.
 */
static void neurons_text(const struct inventory *v, unsigned number, char text[DEVICE_NAME_CAP])
{
    struct writer w = writer_of(text, DEVICE_NAME_CAP);
    for (unsigned i = 0; i < BOARD_GROUPED_DEVICES; i++) {
        if (belongs_to(v, number, i)) {
            WRITE(&w, "%%", TEXT((w.len > 0u) ? "," : ""), NUMBER(i));
        }
    }
    writer_close_text(&w);
}

/* Whether the output lists the device: the board or the kernel has it, or a claim holds it. */
static bool is_listed(const struct inventory *v, unsigned number)
{
    bool known = v->devices.board != NULL && !is_efa(v);
    unsigned expected = known ? v->devices.board->devices : 0u;
    return number < expected || device_of(v, number) != NULL || is_held(v, number);
}

static const struct device_verdict *verdict_on(const struct inventory *v, const struct device *d)
{
    ASSERT(d->number < DEVICES_MAX);
    return &v->verdict[d->number];
}

/*
 * The reasons why a device is unhealthy: those of the agent, and those that the device's files in
 * sysfs show now, which the agent may not have read yet.
 */
static uint32_t reasons_of(const struct inventory *v, const struct device *d)
{
    return d->reading.reasons | verdict_on(v, d)->reasons;
}

/* Health of a device; `d` is NULL if the kernel does not show the device. */
static enum device_health health_read(const struct inventory *v, const struct device *d)
{
    static const enum device_health of[3] = {[HEALTH_UNKNOWN] = DEVICE_UNKNOWN,
                                             [HEALTH_HEALTHY] = DEVICE_HEALTHY,
                                             [HEALTH_UNHEALTHY] = DEVICE_UNHEALTHY};
    if (d == NULL) {
        return DEVICE_GONE;
    }
    if (d->core_count == 0u && !is_efa(v)) {
        return DEVICE_UNREADABLE;
    }
    if (reasons_of(v, d) != 0u) {
        return DEVICE_UNHEALTHY;
    }
    if (v->verdicts == VERDICTS_OF_FILES) {
        return of[device_reading_health(&d->reading)];
    }
    return verdict_on(v, d)->given ? of[verdict_on(v, d)->state] : DEVICE_UNKNOWN;
}

/*
 * Whether the agent keeps the device unhealthy although the device's files in sysfs no longer show
 * an error.
 */
static bool is_waiting(const struct inventory *v, const struct device *d)
{
    return health_read(v, d) == DEVICE_UNHEALTHY && d->reading.reasons == 0u &&
           verdict_on(v, d)->waits;
}

static enum device_health health_of(const struct inventory *v, unsigned number)
{
    return health_read(v, device_of(v, number));
}

static bool is_bad(const struct inventory *v, unsigned number)
{
    return health_of(v, number) > DEVICE_UNKNOWN;
}

/* Why the health of a device is unknown. */
enum unknown_reason {
    UNKNOWN_VERDICT, /* no agent gives a verdict, and the device's files show no error now */
    UNKNOWN_UNSEEN,  /* the agent has not probed the device yet */
    /* the agent could not read files of the device at its last probe, but they can be read now */
    UNKNOWN_BEFORE,
    UNKNOWN_PORT,
    UNKNOWN_ABSENT,
    UNKNOWN_BLIND,
    /* the kernel module counts errors, but does not list the device's bad components */
    UNKNOWN_COUNTERS,
    UNKNOWN_MODULE,
    UNKNOWN_REASONS
};

/* Why the health of a device is unknown although its files show that it is healthy. */
static enum unknown_reason unknown_verdict(const struct inventory *v, const struct device *d)
{
    if (v->verdicts == VERDICTS_MISSING) {
        return UNKNOWN_VERDICT;
    }
    return verdict_on(v, d)->given ? UNKNOWN_BEFORE : UNKNOWN_UNSEEN;
}

static enum unknown_reason unknown_reason(const struct inventory *v, const struct device *d)
{
    enum unknown_reason reason = UNKNOWN_MODULE;
    if (device_reading_health(&d->reading) == HEALTH_HEALTHY) {
        reason = unknown_verdict(v, d);
    } else if (is_efa(v)) {
        reason = UNKNOWN_PORT;
    } else if (d->reading.absent != 0u) {
        reason = UNKNOWN_ABSENT;
    } else if (d->reading.blind) {
        reason = UNKNOWN_BLIND;
    } else if (d->reading.counted != 0u) {
        reason = UNKNOWN_COUNTERS;
    } else {
        /*
         * UNKNOWN_MODULE remains the reason, because kernel modules before 2.24 have no health
         * files
         */
    }
    return reason;
}

static void write_unknown(const struct inventory *v, enum unknown_reason reason, struct writer *out)
{
    static const char *const texts[UNKNOWN_REASONS] = {
        [UNKNOWN_VERDICT] = "its files show no error, but the agent's verdict is not available",
        [UNKNOWN_UNSEEN] = "the agent has not read its files yet",
        [UNKNOWN_BEFORE] = "the agent could not read its files, or it was being reset",
        [UNKNOWN_PORT] = "the state of its port cannot be read",
        [UNKNOWN_ABSENT] = "a file that the module should have is absent",
        [UNKNOWN_BLIND] = "its files cannot be read, or it is being reset",
        [UNKNOWN_COUNTERS] = " has only error counters, ",
        [UNKNOWN_MODULE] = " has no health files"};
    bool counters = reason == UNKNOWN_COUNTERS;
    if (counters || reason == UNKNOWN_MODULE) {
        const char *version = v->devices.driver_version;
        WRITE(out, "kernel module %", TEXT((version[0] != '\0') ? version : "of unknown version"));
    }
    writer_text(out, texts[reason]);
    if (counters) {
        writer_text(out, (v->verdicts == VERDICTS_OF_AGENT) ? "and the agent sees none rise"
                                                            : "which only the agent can judge");
    }
}

void command_health_text(const struct inventory *v, const struct device *d, struct writer *out)
{
    enum device_health health = health_read(v, d);
    writer_text(out, health_names[health]);
    if (health == DEVICE_UNHEALTHY) {
        writer_text(out, ": ");
        device_health_text(out, HEALTH_UNHEALTHY, reasons_of(v, d));
    }
}

static void health_text(const struct inventory *v, unsigned number, char text[HEALTH_COLUMN_CAP])
{
    struct writer w = writer_of(text, HEALTH_COLUMN_CAP);
    command_health_text(v, device_of(v, number), &w);
    writer_close_text(&w);
}

/* Whether the device has the lowest number of all devices of the claim that holds it. */
static bool is_first(const struct inventory *v, unsigned number)
{
    bool first = is_held(v, number);
    for (unsigned i = 0; i < number && first; i++) {
        first = !is_same(v, i, number);
    }
    return first;
}

/*
 * Rank, from 0, of the claim that holds the device. Claims are ranked by their lowest device
 * number.
 */
static unsigned order_of(const struct inventory *v, unsigned number)
{
    unsigned n = 0;
    for (unsigned i = 0; i < number && !is_same(v, i, number); i++) {
        n += is_first(v, i) ? 1u : 0u;
    }
    return n;
}

/* --- text output of the command `devices` --- */

static size_t column_width(size_t width, const char *text)
{
    size_t len = view_text(text).len + COLUMN_GAP;
    return (len > width) ? len : width;
}

/* Widths of the table's columns in characters; a row is at most TEXT_COLUMNS wide. */
struct columns {
    size_t name;
    size_t health;
    size_t claim;
    size_t pod;
};

static const char *pod_of(const struct holder *h)
{
    return (h->pod[0] != '\0') ? h->pod : "-";
}

/*
 * Sets `text` to the number of claims beside h->claim that hold shares of the device, as " +2";
 * empty: there are none.
 */
static void others_short(const struct holder *h, char text[OTHERS_CAP])
{
    text[0] = '\0';
    if (h->others > 0u) {
        WRITE_TEXT(text, OTHERS_CAP, " +%", NUMBER(h->others));
    }
}

/*
 * Length of the longest claim name in the table or, if `pods`, of the longest pod name with the
 * number of other claims that follows it.
 */
static size_t longest(const struct inventory *v, bool pods)
{
    char others[OTHERS_CAP];
    size_t most = view_text("CLAIM").len;
    for (unsigned i = 0; i < DEVICES_MAX; i++) {
        const struct holder *h = &v->holder[i];
        others_short(h, others);
        size_t len = view_text(pods ? pod_of(h) : h->claim).len;
        len += pods ? view_text(others).len : 0u;
        most = (len > most) ? len : most;
    }
    return most;
}

/*
 * Computes the widths of the columns. The health column is as wide as its longest text, but at most
 * HEALTH_COLUMN_MOST. Names of claims and pods share the remaining width: if they do not fit, each
 * of the two columns gets half of that width, or what the other column leaves. The legend, JSON and
 * YAML show the names in full.
 */
static struct columns columns_of(const struct inventory *v)
{
    char text[HEALTH_COLUMN_CAP];
    struct columns c = {.name = column_width(0, form_of(v)->longest_name),
                        .health = column_width(0, health_names[DEVICE_HEALTHY])};
    for (unsigned i = 0; i < DEVICES_MAX; i++) {
        if (is_listed(v, i)) {
            health_text(v, i, text);
            c.health = column_width(c.health, text);
        }
    }
    c.health = (c.health < HEALTH_COLUMN_MOST) ? c.health : HEALTH_COLUMN_MOST;
    size_t rest = TEXT_COLUMNS - c.name - form_of(v)->column_width - c.health;
    size_t pod = longest(v, true);
    size_t most = (rest > pod + rest / 2u) ? rest - pod : rest / 2u;
    c.claim = longest(v, false) + COLUMN_GAP;
    c.claim = (c.claim < most) ? c.claim : most;
    c.pod = rest - c.claim;
    return c;
}

/*
 * Largest length up to `most` (which is less than v.len) at which the text can be cut without
 * cutting a UTF-8 character or an escape that writer_safe wrote.
 */
static size_t cut_length(struct view v, size_t most)
{
    size_t n = most;
    while (n > 0u && (v.data[n] & 0xc0u) == 0x80u) {
        n--;
    }
    for (size_t back = 1; back < sizeof "\\x1b" - 1u && back <= n; back++) {
        if (view_starts(view_from(v, n - back), "\\x")) {
            return n - back;
        }
    }
    return n;
}

/* Writes `text` in at most `most` characters; a longer text is cut, and ends in "~". */
static void write_cut(struct writer *out, const char *text, size_t most)
{
    size_t before = out->len;
    WRITE(out, "%", SAFE(text));
    if (out->len - before > most) {
        out->len = before + cut_length(view_from(writer_view(out), before), most - 1u);
        writer_text(out, "~");
    }
}

/* Writes one cell of the table in `width` characters, including the gap after the cell. */
static void write_padded(struct writer *out, const char *text, size_t width)
{
    size_t before = out->len;
    write_cut(out, text, width - COLUMN_GAP);
    for (size_t i = out->len - before; i < width; i++) {
        writer_text(out, " ");
    }
}

static void write_head(const struct inventory *v, struct writer *out)
{
    struct columns c = columns_of(v);
    writer_text(out, form_of(v)->before);
    write_padded(out, "NAME", c.name);
    write_padded(out, form_of(v)->column, form_of(v)->column_width);
    write_padded(out, "HEALTH", c.health);
    write_padded(out, "CLAIM", c.claim);
    writer_text(out, "POD\n");
}

static void write_colour(const struct inventory *v, unsigned number, struct writer *out)
{
    if (v->colour) {
        WRITE(out, ANSI_ESCAPE "[1;3%m", NUMBER(number));
    }
}

static void colour_end(const struct inventory *v, struct writer *out)
{
    writer_text(out, v->colour ? ANSI_ESCAPE "[0m" : "");
}

/* Sets `text` to the number of cores of a device; empty: the number is unknown. */
static void cores_text(const struct inventory *v, unsigned number, char text[DEVICE_NAME_CAP])
{
    const struct device *d = device_of(v, number);
    text[0] = '\0';
    if (d != NULL && d->core_count > 0u) {
        WRITE_TEXT(text, DEVICE_NAME_CAP, "%", NUMBER(d->core_count));
    }
}

/*
 * Writes the pod of the claim that holds a device, and how many other claims hold shares of the
 * device: " and 2 other claims" or, if that does not fit into `width`, " +2".
 */
static void write_pod(const struct holder *h, size_t width, struct writer *out)
{
    char others[OTHERS_CAP] = {0};
    const char *pod = pod_of(h);
    if (h->others > 0u) {
        WRITE_TEXT(others, sizeof others, " and % other claim%", NUMBER(h->others),
                   TEXT((h->others == 1u) ? "" : "s"));
    }
    if (h->others > 0u && view_text(pod).len + view_text(others).len > width) {
        others_short(h, others);
    }
    write_cut(out, pod, width - view_text(others).len);
    WRITE(out, "%\n", TEXT(others));
}

static void write_row(const struct inventory *v, unsigned number, struct writer *out)
{
    char text[DEVICE_NAME_CAP];
    char health[HEALTH_COLUMN_CAP];
    const struct holder *h = &v->holder[number];
    struct columns c = columns_of(v);
    devices_name(&v->devices, number, text);
    write_padded(out, text, c.name);
    if (is_efa(v)) {
        neurons_text(v, number, text);
    } else {
        cores_text(v, number, text);
    }
    write_padded(out, (text[0] != '\0') ? text : "-", form_of(v)->column_width);
    bool red = is_bad(v, number);
    if (red) {
        write_colour(v, COLOUR_RED, out);
    }
    health_text(v, number, health);
    write_padded(out, health, c.health);
    if (red) {
        colour_end(v, out);
    }
    /*
     * The row of a free device has no claim column, so that the row stays short even if another
     * device's claim has a long name.
     */
    if (is_held(v, number)) {
        write_padded(out, h->claim, c.claim);
    } else if (v->holders_unknown) {
        write_padded(out, HOLDER_UNKNOWN, c.claim);
    } else {
        /* leave the column out, because no claim holds the device */
    }
    write_pod(h, c.pod, out);
}

/* --- the grid, the legend and the other lines below the table of devices --- */

static void insert_text(struct writer *out, size_t at, const char *text)
{
    struct view v = view_text(text);
    ASSERT(at <= out->len);
    size_t moved = out->len - at;
    writer_append(out, v); /* extends `out` by v.len bytes, which are overwritten below */
    ASSERT(!out->full);
    memmove(&out->data[at + v.len], &out->data[at], moved);
    memcpy(&out->data[at], v.data, v.len);
}

/*
 * Whether the byte `c` makes a line one column wider on the terminal. The bytes of an ANSI escape
 * for a colour do not, and of the bytes of a UTF-8 character only the first one does. *escape: the
 * byte before `c` is inside an ANSI escape; the function updates this for the next byte.
 */
static bool takes_column(uint8_t c, bool *escape)
{
    bool inside = *escape || c == (uint8_t)ANSI_ESCAPE[0];
    *escape = inside && c != (uint8_t)'m';
    return !inside && (c & 0xc0u) != 0x80u; /* 0x80 to 0xbf is a later byte of a UTF-8 character */
}

/*
 * Breaks a line: replaces the space at offset `space` by a line end or, if `space` is 0, inserts a
 * line end at offset `at`. Inserts INDENT after the line end. Returns the offset of the line end.
 */
static size_t break_line(struct writer *out, size_t space, size_t at)
{
    if (space == 0u) {
        insert_text(out, at, "\n" INDENT);
        return at;
    }
    out->data[space] = (uint8_t)'\n';
    insert_text(out, space + 1u, INDENT);
    return space;
}

/*
 * Breaks each line of `out` behind offset `from` that is wider than TEXT_COLUMNS: at the last space
 * that fits or, if the line has no such space, inside a word.
 */
static void wrap_lines(struct writer *out, size_t from)
{
    bool escape = false;
    size_t column = 0;
    /*
     * offset of the last space at which the current line can be broken; 0: there is no such space
     */
    size_t space = 0;
    size_t i = from;
    while (i < out->len) {
        uint8_t c = out->data[i];
        column += takes_column(c, &escape) ? 1u : 0u;
        if (c == (uint8_t)'\n') {
            column = 0;
            space = 0;
        } else if (column > TEXT_COLUMNS) {
            i = break_line(out, space, i);
            column = 0;
            space = 0;
        } else if (c == (uint8_t)' ' && column > INDENT_COLUMNS) {
            space = i;
        } else {
            /* nothing to do: the line still fits, and cannot be broken at this byte */
        }
        i++;
    }
}

static void write_letter(const struct inventory *v, unsigned number, struct writer *out)
{
    unsigned order = order_of(v, number);
    write_colour(v, COLOUR_CLAIMS + order % COLOURS, out);
    writer_u8(out, (uint8_t)('A' + order % LETTERS));
    colour_end(v, out);
}

static void write_cell(const struct inventory *v, unsigned number, struct writer *out)
{
    bool good = !is_bad(v, number);
    bool held = is_held(v, number);
    bool one_mark = good || !held;
    WRITE(out, "  %%%", TEXT((number < 10u) ? " " : ""), NUMBER(number), TEXT(one_mark ? " " : ""));
    if (!good) {
        write_colour(v, COLOUR_RED, out);
        writer_text(out, "!");
        colour_end(v, out);
    }
    if (held) {
        write_letter(v, number, out);
    } else {
        writer_text(out, good ? (v->holders_unknown ? HOLDER_UNKNOWN : ".") : "");
    }
}

/*
 * The logical NeuronCore configuration (LNC) that applies if a claim requests none. 0: the instance
 * type has no configurable LNC.
 */
static unsigned lnc_of(const struct devices *d)
{
    unsigned lnc = (d->lnc_allowed != 0u) ? board_family(d->instance_type)->lnc_default : 0u;
    return (d->lnc_host != 0u) ? d->lnc_host : lnc;
}

/*
 * Whether the board's EFA map assigns one EFA device to several Neuron devices. If so, a claim for
 * as many EFA devices as Neuron devices stays pending.
 */
static bool is_shared(const struct inventory *v)
{
    bool shared = false;
    for (unsigned i = 0; is_efa(v) && i < BOARD_GROUPED_DEVICES * BOARD_GROUPED_DEVICES; i++) {
        unsigned number = i / BOARD_GROUPED_DEVICES;
        unsigned neuron = i % BOARD_GROUPED_DEVICES;
        shared = shared || (number != neuron && belongs_to(v, number, neuron));
    }
    return shared;
}

static void write_number_of(const struct inventory *v, struct writer *out)
{
    WRITE(out, ": % %%", NUMBER(v->devices.count), TEXT(form_of(v)->noun),
          TEXT((v->devices.count == 1u) ? "" : "s"));
}

static void write_summary(const struct inventory *v, struct writer *out)
{
    unsigned held = 0;
    unsigned bad = 0;
    for (unsigned i = 0; i < DEVICES_MAX; i++) {
        held += is_held(v, i) ? 1u : 0u;
        bad += (is_listed(v, i) && is_bad(v, i)) ? 1u : 0u;
    }
    WRITE(out, "\n%",
          TEXT((v->devices.instance_type[0] != '\0') ? v->devices.instance_type
                                                     : "unknown instance type"));
    write_number_of(v, out);
    WRITE(out, ", %% held", TEXT(v->holders_unknown ? "at least " : ""), NUMBER(held));
    if (bad > 0u) {
        WRITE(out, ", % unhealthy or gone", NUMBER(bad));
    }
    if (lnc_of(&v->devices) > 0u) {
        WRITE(out, ", LNC %%", NUMBER(lnc_of(&v->devices)),
              TEXT((v->devices.lnc_host > 0u) ? " by logical_nc_config" : ""));
    }
    writer_text(out, "\n");
}

/* Writes one line for each reason why the health of devices is unknown. */
static void write_unknowns(const struct inventory *v, struct writer *out)
{
    for (unsigned reason = 0; reason < (unsigned)UNKNOWN_REASONS; reason++) {
        unsigned count = 0;
        for (unsigned i = 0; i < v->devices.count; i++) {
            const struct device *d = &v->devices.device[i];
            bool is = health_read(v, d) == DEVICE_UNKNOWN &&
                      unknown_reason(v, d) == (enum unknown_reason)reason;
            count += is ? 1u : 0u;
        }
        if (count > 0u) {
            WRITE(out, "health of % %% is unknown:\n  ", NUMBER(count), TEXT(form_of(v)->noun),
                  TEXT((count == 1u) ? "" : "s"));
            write_unknown(v, (enum unknown_reason)reason, out);
            writer_text(out, "\n");
        }
    }
}

/*
 * Text about an unhealthy device whose files show no error any more: what the agent waits for
 * before the device counts as healthy.
 */
#define WAITING "its files show no error now; the agent waits for more readings without errors"

/*
 * Writes one line for each device that the agent keeps unhealthy although its files show no error,
 * and for each whose memory stays in use; and one line if the agent gave no verdicts.
 */
static void write_verdicts(const struct inventory *v, struct writer *out)
{
    for (unsigned i = 0; i < v->devices.count; i++) {
        const struct device *d = &v->devices.device[i];
        if (is_waiting(v, d)) {
            WRITE(out, "% still counts as unhealthy:\n  " WAITING "\n", TEXT(d->name));
        }
        if (verdict_on(v, d)->memory_held) {
            WRITE(out, "% has memory in use, but no claim; run \"check\"\n", TEXT(d->name));
        }
    }
    if (v->drain.len > 0u) {
        WRITE(out, "%\n", VIEW(v->drain));
    }
    if (v->verdicts == VERDICTS_MISSING && v->verdicts_missing.len > 0u) {
        WRITE(out, "the agent's verdict is not available:\n  %\n", VIEW(v->verdicts_missing));
    }
}

static const char *plural(unsigned count)
{
    return (count == 1u) ? "" : "s";
}

/*
 * Writes one line for each reason why a claim may hold a device although the table of devices shows
 * no claim for that device.
 */
static void write_doubts(const struct inventory *v, struct writer *out)
{
    if (v->holders_unknown) {
        writer_text(out, "?  the claim store cannot be read: a claim may hold the device\n");
    }
    if (v->damaged_slots > 0u) {
        WRITE(out, "% slot% damaged in the claim store: devices without a claim may be held\n",
              NUMBER(v->damaged_slots), TEXT((v->damaged_slots == 1u) ? " is" : "s are"));
    }
    if (v->witnesses > 0u) {
        WRITE(out, "% claim% recorded only in CDI files, not in the claim store; run \"check\"\n",
              NUMBER(v->witnesses), TEXT((v->witnesses == 1u) ? " is" : "s are"));
    }
    if (v->cdi_unlisted) {
        writer_text(out, "the CDI root cannot be read: devices without a claim may be held\n");
    }
    if (v->cdi_unread > 0u) {
        WRITE(out, "% CDI file% cannot be read: devices without a claim may be held; see\n  %\n",
              NUMBER(v->cdi_unread), TEXT(plural(v->cdi_unread)), SAFE(v->cdi_file));
    }
}

static void write_grid(const struct inventory *v, struct writer *out)
{
    const struct board *board = v->devices.board;
    write_summary(v, out);
    write_unknowns(v, out);
    write_verdicts(v, out);
    write_doubts(v, out);
    unsigned rows = (board != NULL && !is_efa(v)) ? board->grid_rows : 0u;
    for (unsigned x = 0; x < rows; x++) {
        writer_text(out, (x == 0u) ? "\n" : "");
        for (unsigned y = 0; y < board->grid_columns; y++) {
            write_cell(v, x * board->grid_columns + y, out);
        }
        writer_text(out, "\n");
    }
    writer_text(out, (rows > 0u) ? "\n   .  free     !  unhealthy or gone\n" : "");
    writer_text(out, is_shared(v)
                         ? "\n   Neuron devices share an EFA device: a claim for as many EFA"
                           " devices as\n   Neuron devices of one devicegroup4_id, 8 or 16"
                           " stays pending.\n"
                         : "");
}

/*
 * Writes the line of the legend for the claim that holds the device with this number. If the line
 * is too wide, it is broken between the namespace and the name of the claim, or before the pod, so
 * that names which fit a line stay whole.
 */
static void write_legend(const struct inventory *v, unsigned number, struct writer *out)
{
    const struct holder *h = &v->holder[number];
    writer_text(out, "   ");
    write_letter(v, number, out);
    writer_text(out, "  ");
    size_t begin = out->len;
    /*
     * Offset at which the line would start if it had no escapes for colours, so that out->len -
     * line is the width of the line in columns: three spaces, a letter and two spaces take as many
     * columns as INDENT.
     */
    size_t line = begin - INDENT_COLUMNS;
    WRITE(out, "%", SAFE(h->claim));
    if (out->len - line >= TEXT_COLUMNS) { /* one column stays free for the comma before the pod */
        line = break_line(out, 0, begin + view_find(view_text(h->claim), '/') + 1u) + 1u;
    }
    if (h->pod[0] != '\0') {
        size_t comma = out->len;
        WRITE(out, ", pod %", SAFE(h->pod));
        size_t at = (out->len - line > TEXT_COLUMNS) ? comma + 1u : 0u;
        if (at > 0u) {
            (void)break_line(out, at, 0);
        }
    }
    writer_text(out, "\n");
}

void command_issue(const struct probe_issue *issue, struct writer *out)
{
    writer_text(out, probe_issue_name(issue->kind));
    if (issue->number != PROBE_ISSUE_NO_NUMBER) {
        WRITE(out, ", " DEVICE_NAME_PREFIX "%", NUMBER(issue->number));
    }
    if (issue->text[0] != '\0') {
        WRITE(out, " \"%\"", TEXT(issue->text));
    }
    WRITE(out, ": %", TEXT(issue->remedy));
}

bool command_unhealthy(const struct inventory *v, unsigned number, struct writer *out)
{
    char name[DEVICE_NAME_CAP];
    char health[HEALTH_COLUMN_CAP];
    bool gone = health_of(v, number) == DEVICE_GONE;
    /*
     * If the probe found no device at all, the kernel module is at fault. One issue of the probe
     * reports that, so missing devices are not reported one by one.
     */
    bool shown = is_held(v, number) || v->devices.count > 0u;
    if (!is_listed(v, number) || !is_bad(v, number) || !shown) {
        return false;
    }
    devices_name(&v->devices, number, name);
    health_text(v, number, health);
    bool waits = !gone && is_waiting(v, device_of(v, number));
    WRITE(out, "% is %%; %", TEXT(name), TEXT(health),
          TEXT(gone ? ": the kernel does not show it" : ""),
          TEXT(waits ? WAITING : form_of(v)->remedy));
    return true;
}

/*
 * Numbers of the parts of the text output: the head, a row per device number, the grid, a line of
 * the legend per device number, the issues.
 */
enum {
    PART_ROWS = 1,
    PART_GRID = PART_ROWS + DEVICES_MAX,
    PART_LEGEND,
    PART_ISSUES = PART_LEGEND + DEVICES_MAX
};

/*
 * Writes one part of the text output that follows the rows of the table: the grid, a line of the
 * legend, or an issue.
 */
static void write_below(const struct inventory *v, unsigned part, struct writer *out)
{
    if (part == (unsigned)PART_GRID) {
        write_grid(v, out);
    } else if (part >= (unsigned)PART_ISSUES) {
        writer_text(out, (part == (unsigned)PART_ISSUES) ? "\n" : "");
        command_issue(&v->issues.issue[part - PART_ISSUES], out);
        writer_text(out, "\n");
    } else if (!is_efa(v) && is_first(v, part - PART_LEGEND)) {
        write_legend(v, part - PART_LEGEND, out);
    } else {
        /*
         * Nothing to write, because the legend has one line for each claim, written for the first
         * device of the claim.
         */
    }
}

bool command_devices_text(const struct inventory *v, unsigned part, struct writer *out)
{
    unsigned parts = v->rows_only ? (unsigned)PART_GRID : (unsigned)PART_ISSUES + v->issues.count;
    if (part >= parts) {
        return false;
    }
    if (part >= (unsigned)PART_GRID) {
        size_t before = out->len;
        write_below(v, part, out);
        wrap_lines(out, before);
    } else if (part > 0u && is_listed(v, part - PART_ROWS)) {
        write_row(v, part - PART_ROWS, out);
    } else if (part == 0u && !v->rows_only) {
        write_head(v, out);
    } else {
        /*
         * Nothing to write, because the output does not list the device, or --no-headers omits the
         * head of the table.
         */
    }
    ASSERT(!out->full);
    return true;
}

/* --- JSON and YAML output of the command `devices` --- */

/*
 * Writes members of a JSON or YAML object: the Neuron devices of an EFA device, and the EFA
 * device's RDMA name and uverbs number.
 */
static void efa_document(const struct inventory *v, unsigned number, struct document *d)
{
    const struct device *device = device_of(v, number);
    document_array_begin(d, "neuronDevices");
    for (unsigned i = 0; i < BOARD_GROUPED_DEVICES; i++) {
        if (belongs_to(v, number, i)) {
            char name[DEVICE_NAME_CAP];
            neuron_device_name(i, name);
            document_element(d, view_text(name));
        }
    }
    document_array_end(d);
    if (device != NULL && device->efa.rdma_name[0] != '\0') {
        document_text(d, "rdmaDevice", device->efa.rdma_name);
        document_number(d, "uverbs", device->efa.uverbs);
    }
}

void command_health_document(const struct inventory *v, const struct device *device,
                             struct document *d)
{
    document_text(d, "health", health_names[health_read(v, device)]);
    char reasons[HEALTH_TEXT_CAP];
    struct writer w = writer_of(reasons, sizeof reasons);
    if (health_read(v, device) == DEVICE_UNKNOWN) {
        write_unknown(v, unknown_reason(v, device), &w);
    } else if (device != NULL && reasons_of(v, device) != 0u) {
        device_health_text(&w, HEALTH_UNHEALTHY, reasons_of(v, device));
    } else {
        return;
    }
    writer_close_text(&w);
    document_text(d, "reasons", reasons);
    if (is_waiting(v, device)) {
        document_bool(d, "withoutErrorsNow", true);
    }
}

static void device_document(const struct inventory *v, unsigned number, struct document *d)
{
    char name[DEVICE_NAME_CAP];
    const struct device *device = device_of(v, number);
    const struct holder *h = &v->holder[number];
    devices_name(&v->devices, number, name);
    document_object_begin(d);
    document_text(d, "name", name);
    if (is_efa(v)) {
        efa_document(v, number, d);
    } else {
        document_number(d, "number", number);
        document_number(d, "cores", (device != NULL) ? device->core_count : 0u);
    }
    command_health_document(v, device, d);
    if (device != NULL && verdict_on(v, device)->memory_held) {
        document_bool(d, "memoryHeld", true);
    }
    if (is_held(v, number)) {
        document_bool(d, "held", true);
        document_text(d, "claim", h->claim);
    } else if (v->holders_unknown) {
        document_text(d, "claim", HOLDER_UNKNOWN);
    } else {
        document_bool(d, "held", false);
    }
    if (h->others > 0u) {
        document_number(d, "otherClaims", h->others);
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

/*
 * Starts the JSON or YAML document of the command `devices`. The inventory of the EFA devices only
 * adds its members to the document that the Neuron devices started.
 */
static void start_document(const struct inventory *v, struct document *d)
{
    if (!is_efa(v)) {
        document_object_begin(d);
        document_text(d, "instanceType", v->devices.instance_type);
        document_text(d, "neuronDriverVersion", v->devices.driver_version);
        if (lnc_of(&v->devices) > 0u) {
            document_number(d, "logicalNeuronCore", lnc_of(&v->devices));
        }
        if (v->drain.len > 0u) {
            char text[HOST_TEXT_CAP];
            text_cut(text, sizeof text, v->drain);
            document_text(d, "drain", text);
        }
    }
    if (v->verdicts == VERDICTS_MISSING && v->verdicts_missing.len > 0u) {
        char text[HOST_TEXT_CAP];
        text_cut(text, sizeof text, v->verdicts_missing);
        document_text(d, is_efa(v) ? "efaVerdictsMissing" : "verdictsMissing", text);
    }
    document_array_begin(d, form_of(v)->list);
}

static void end_document(const struct inventory *v, struct document *d)
{
    document_array_end(d);
    if (!v->efa || is_efa(v)) {
        document_object_end(d);
        document_end(d);
    }
}

bool command_devices_document(const struct inventory *v, unsigned part, struct document *d)
{
    unsigned issues = PART_ROWS + DEVICES_MAX + 1u;
    unsigned last = issues + v->issues.count;
    if (part == 0u) {
        start_document(v, d);
    } else if (part < (unsigned)PART_GRID) {
        if (is_listed(v, part - PART_ROWS)) {
            device_document(v, part - PART_ROWS, d);
        }
    } else if (part == (unsigned)PART_GRID) {
        document_array_end(d);
        document_array_begin(d, form_of(v)->issue_list);
    } else if (part < last) {
        issue_document(&v->issues.issue[part - issues], d);
    } else if (part == last) {
        end_document(v, d);
    } else {
        return false;
    }
    ASSERT(!d->json.out->full);
    return true;
}
