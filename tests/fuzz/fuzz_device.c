/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What sysfs, DMI and procfs may hold: texts of a node and of its devices become the device table,
 * its attributes, and the comparison with a stored slice. Checks I1 to I6 of dra/device.h. Lists of
 * neighbours and core counts are read a second time by strtoul(3).
 *
 * Input: texts of sysfs, DMI and procfs for a node and its devices
 */
#include "cfg/identity.h"
#include "dra/device.h"
#include "dra/issue.h"
#include "dra/slice.h"
#include "tests/fuzz/fuzz.h"

static struct found_node found;
static struct devices table;
static struct devices again;
static struct probe_issues issues;

/* Up to a newline, as a file would hold it; the array may be filled to its end. */
static void take_text(struct fuzz *in, char text[SYSFS_VALUE_CAP])
{
    struct view rest = view_of(in->data + in->pos, fuzz_left(in));
    struct view line = fuzz_bytes(in, view_find(rest, (uint8_t)'\n'));
    (void)fuzz_u8(in);
    line = view_first(line, SYSFS_VALUE_CAP);
    memset(text, 0, SYSFS_VALUE_CAP);
    if (line.len > 0u) {
        memcpy(text, line.data, line.len);
    }
}

static void find_node(struct fuzz *in)
{
    memset(&found, 0, sizeof found);
    uint8_t how = fuzz_u8(in);
    found.ignored = how >> 5;
    take_text(in, found.product_name);
    take_text(in, found.driver_version);
    take_text(in, found.boot_id);
    unsigned count = (how & 31u) + ((how & 32u) != 0u ? 40u : 0u);
    for (unsigned i = 0; i < count && i < DEVICES_MAX && fuzz_left(in) > 0u; i++) {
        struct found_device *d = &found.devices[i];
        uint8_t number = fuzz_u8(in);
        d->number = (number == 255u) ? fuzz_u16(in) : number & 127u;
        d->node_exists = number < 200u;
        d->place.node = ((how & 64u) != 0u) ? number & 3u : 0u;
        take_text(in, d->core_count);
        take_text(in, d->connected_devices);
        found.count++;
    }
    struct found_ultraserver *u = &found.ultraserver;
    text_cut(u->modes, sizeof u->modes, fuzz_text(in));
    for (unsigned i = 0; i < ULTRASERVER_SIZES; i++) {
        text_cut(u->node_id[i], sizeof u->node_id[i], fuzz_text(in));
        text_cut(u->server_id[i], sizeof u->server_id[i], fuzz_text(in));
    }
    text_cut(u->group_node_id, sizeof u->group_node_id, fuzz_text(in));
    text_cut(u->group_id, sizeof u->group_id, fuzz_text(in));
}

/* --- second opinions --- */

static const char *trimmed(const char *raw, char *text)
{
    size_t len = strnlen(raw, SYSFS_VALUE_CAP);
    size_t begin = 0;
    while (len > 0u && strchr(" \t\r\n", raw[len - 1u]) != NULL) {
        len--;
    }
    while (begin < len && strchr(" \t\r\n", raw[begin]) != NULL) {
        begin++;
    }
    memcpy(text, raw + begin, len - begin);
    text[len - begin] = '\0';
    return text;
}

/* A number of digits alone, at most `max`; -1: none. */
static long number_of(const char *text, size_t len, unsigned long max)
{
    char digits[SYSFS_VALUE_CAP + 1u];
    memcpy(digits, text, len);
    digits[len] = '\0';
    if (len == 0u || strspn(digits, "0123456789") != len) {
        return -1;
    }
    digits[strspn(digits, "0") == len ? 1u : len] = '\0';
    const char *significant = digits + strspn(digits, "0");
    if (strlen(significant) > 9u || strtoul(digits, NULL, 10) > max) {
        return -1;
    }
    return (long)strtoul(digits, NULL, 10);
}

/* Neighbours as a list of distinct other numbers; -1: it is none. */
static int neighbours_of(const char *raw, uint16_t self, uint16_t out[NEIGHBOURS_MAX])
{
    char text[SYSFS_VALUE_CAP + 1u];
    char part[SYSFS_VALUE_CAP + 1u];
    int count = 0;
    const char *at = trimmed(raw, text);
    bool more = *at != '\0';
    while (more) {
        char piece[SYSFS_VALUE_CAP + 1u] = {0};
        size_t len = strcspn(at, ",");
        memcpy(piece, at, len);
        (void)trimmed(piece, part);
        long n = number_of(part, strlen(part), DEVICES_MAX - 1u);
        for (int i = 0; i < count; i++) {
            n = (out[i] == n) ? -1 : n;
        }
        if (n < 0 || n == self || count == (int)NEIGHBOURS_MAX) {
            return -1;
        }
        out[count] = (uint16_t)n;
        count++;
        more = at[len] == ',';
        at += len + (more ? 1u : 0u);
    }
    return count;
}

static void same_device(const struct device *d, const struct found_device *f)
{
    char text[SYSFS_VALUE_CAP + 1u];
    uint16_t list[NEIGHBOURS_MAX];
    const char *cores = trimmed(f->core_count, text);
    long count = number_of(cores, strlen(cores), 255);
    CHECK(d->core_count == (count < 0 ? 0 : count)); /* I3 */
    int neighbours = neighbours_of(f->connected_devices, d->number, list);
    CHECK(d->neighbours == (neighbours < 0 ? 0 : neighbours));
    for (int i = 0; i < neighbours; i++) {
        CHECK(d->neighbour[i] == list[i]);
    }
}

/* A node that is no character device is none where another one is. */
static bool has_node(const struct found_device *d, bool special)
{
    return d->node_exists && (!special || d->place.node != 0u);
}

/* I2: a device is there exactly when one with its number and a node was found; the first counts. */
static void same_table(void)
{
    unsigned count = 0;
    bool special = false;
    for (unsigned i = 0; i < found.count; i++) {
        special = special || found.devices[i].place.node != 0u;
    }
    for (unsigned number = 0; number < DEVICES_MAX; number++) {
        const struct found_device *f = NULL;
        for (unsigned i = 0; i < found.count && f == NULL; i++) {
            bool is = found.devices[i].number == number && has_node(&found.devices[i], special);
            f = is ? &found.devices[i] : NULL;
        }
        if (f == NULL) {
            continue;
        }
        CHECK(count < table.count && table.device[count].number == number);
        same_device(&table.device[count], f);
        CHECK(devices_find(&table, view_text(table.device[count].name)) == (int)count);
        count++;
    }
    CHECK(count == table.count);
}

/* --- issues and attributes --- */

static void look_issues(void)
{
    CHECK(issues.count <= PROBE_ISSUES_MAX);
    CHECK(issues.more == 0u || issues.count == PROBE_ISSUES_MAX);
    for (unsigned i = 0; i < issues.count; i++) {
        const struct probe_issue *f = &issues.issue[i];
        CHECK(probe_issue_name(f->kind)[0] != '\0' && f->remedy[0] != '\0');
        CHECK(memchr(f->text, 0, sizeof f->text) != NULL);
        for (const char *c = f->text; *c != '\0'; c++) {
            CHECK(*c >= ' ' && *c <= '~'); /* I4 */
        }
    }
}

static void look_attributes(unsigned index)
{
    static struct attributes all;
    device_attributes(&table, index, &all);
    CHECK(all.count <= ATTRIBUTES_MAX);
    for (unsigned i = 0; i < all.count; i++) {
        CHECK(attribute_issue(&all.attribute[i]) == ISSUE_NONE); /* I5 */
        CHECK(i == 0u || strcmp(all.attribute[i - 1u].key, all.attribute[i].key) < 0);
    }
    device_attributes_left_out(&table, index, &all);
    for (unsigned i = 0; i < all.count; i++) {
        enum issue issue = attribute_issue(&all.attribute[i]);
        CHECK(issue != ISSUE_NONE && issue_text(issue)[0] != '\0');
    }
    CHECK(device_name_issue(&table.device[index]) == ISSUE_NONE);
}

/* What a claim for a set of nodes would get is what the files say, or a refusal. */
static void look_ultraserver(void)
{
    char text[CLAIM_ERROR_CAP];
    struct ultraserver_use use;
    for (unsigned nodes = 1; nodes <= 4u; nodes *= 2u) {
        struct writer why = writer_of(text, sizeof text);
        enum status s = ultraserver_mode(&table.ultraserver, nodes, "some.type", &use, &why);
        CHECK(ultraserver_use_valid(&use) && (s == STATUS_OK) == (why.len == 0u));
        CHECK((s == STATUS_OK) == (use.mode != 0u) && !why.full);
        CHECK(use.mode == 0u || (table.ultraserver.modes >> use.mode & 1u) != 0u);
        CHECK(use.place.server_id[0] == '\0' || strlen(use.place.server_id) == 16u);
    }
}

/* --- slices --- */

/* The counters that a stored device takes, and one that is changed. */
static bool compare_counters(struct slice_compare *c, unsigned index, unsigned change)
{
    uint64_t counters = devices_counters(&table, &table.device[index]);
    bool changed = table.counters && index == change;
    for (unsigned i = 0; i < table.count; i++) {
        const struct device *d = &table.device[i];
        bool takes = !d->node && (counters >> d->number & 1u) != 0u;
        bool other = changed && d->number == change;
        if (takes != other && !d->node) {
            slice_compare_counter(c, d->name, "1");
        }
    }
    slice_compare_counters(c, "devices");
    return changed && devices_numbered(&table, change) >= 0;
}

/* A stored slice that tells devices [first, last) and one change: the comparison sees it. */
static void compare(unsigned first, unsigned last, unsigned change)
{
    static struct slice_compare c;
    static struct attributes all;
    unsigned said = 0;
    bool changed = false;
    slice_compare_begin(&c, &table);
    for (unsigned i = first; i < last; i++) {
        device_attributes(&table, i, &all);
        slice_compare_name(&c, view_text(table.device[i].name));
        for (unsigned k = 0; k < all.count; k++, said++) {
            struct attribute a = all.attribute[k];
            if (said == change) {
                a.number ^= 1;
                a.text[0] = (char)(a.text[0] ^ 1);
                changed = true;
            }
            slice_compare_attribute(&c, &a);
        }
        changed = compare_counters(&c, i, change) || changed;
        bool extra = said == change && !changed;
        slice_compare_device(&c, table.shares > 1u, extra);
        changed = changed || extra;
    }
    CHECK(slice_compare_end(&c) == !changed); /* I6 */
}

static void take_labels(struct fuzz *in)
{
    struct node_labels *l = &table.labels;
    for (unsigned i = 0; i < NETWORK_LAYERS; i++) {
        text_cut(l->network_layer[i], sizeof l->network_layer[i], fuzz_text(in));
    }
    text_cut(l->capacity_block, sizeof l->capacity_block, fuzz_text(in));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz in = fuzz_of(data, size);
    memset(&table, 0, sizeof table);
    uint8_t change = fuzz_u8(&in);
    take_labels(&in);
    find_node(&in);
    devices_build(&table, &found, &issues);
    CHECK(devices_valid(&table)); /* I1 */
    same_table();
    look_issues();
    for (unsigned i = 0; i < table.count; i++) {
        look_attributes(i);
    }
    if (table.count > 0u) {
        unsigned first = change % table.count;
        compare(first, table.count, UINT32_MAX);
        compare(first, first + 1u, change / 4u);
    }
    look_ultraserver();
    again = table;
    devices_build(&again, &found, &issues);
    CHECK(devices_same(&table, &again) && node_labels_same(&table.labels, &again.labels));
    bool whole = devices_are_node(&table);
    unsigned single = table.count;
    devices_add_node(&table, false);
    CHECK(table.count == single + (whole ? 1u : 0u));
    compare(0, table.count, change);
    table = again;
    devices_add_node(&table, true);
    CHECK(table.count == (whole ? 1u : 0u));
    if (whole) {
        look_attributes(0);
        compare(0, 1u, change / 4u);
    }
    return 0;
}
