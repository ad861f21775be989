/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole tree of sysfs, proc and dev in a folder of its own: the input puts good and odd things
 * into places of it, with looks between them. Checks I1 to I5 of dra/device.h against the tree,
 * which is read a second time by stat(2), fopen(3) and strtoul(3), rules R1 to R3 of dra/health.h,
 * that a look leaves no descriptor open, that a look at an unchanged tree says the same, and that
 * what one look after the other knows becomes what a first look would.
 *
 * Input: a script: files put into a tree of sysfs, proc and dev, and looks at it
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dra/device.h"
#include "dra/issue.h"
#include "host/node/probe.h"
#include "host/node/telemetry.h"
#include "tests/fuzz/fuzz.h"

/* Things that are put into the tree between two looks, and looks. */
#define THINGS_MAX 24u
#define LOOKS_MAX 3u
#define LOOK_MS 5000u
/* Descriptors below this one are counted: the lowest free ones are taken. */
#define DESCRIPTORS 32
#define PATH_BYTES 256u
/* More than a value may have. */
#define TEXT_BYTES 600u
#define FILLED 0x80u
#define CLASS "sys/class/neuron_device"

static char tree[64];
static struct settings settings;
static struct probe probe;
static struct probe first;
static struct devices table;
static struct devices other;
static struct probe_issues issues;
static struct health_track tracks[DEVICES_MAX];
static struct telemetry telemetry;

/* --- the tree --- */

static const char *at(const char *rest)
{
    static char paths[2][PATH_BYTES];
    static unsigned next;
    char *path = paths[next++ % 2u];
    CHECK(snprintf(path, PATH_BYTES, "%s/%s", tree, rest) < (int)PATH_BYTES);
    return path;
}

/* nftw(3) is not instrumented: what it hands in would count as never written. */
#ifdef __clang__
__attribute__((no_sanitize("memory")))
#endif
static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    return (ftw->level > 0) ? remove(path) : 0;
}

static void remove_all(const char *path)
{
    (void)nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    (void)remove(path);
}

static void end_tree(void)
{
    remove_all(tree);
}

static void set_root(char root[PATH_CAP], const char *name)
{
    text_set(root, PATH_CAP, at(name));
}

static void begin_tree(void)
{
    if (tree[0] == '\0') {
        const char *folder = (access("/dev/shm", W_OK) == 0) ? "/dev/shm" : "/tmp";
        (void)snprintf(tree, sizeof tree, "%s/neuron-dra-fuzz-XXXXXX", folder);
        CHECK(mkdtemp(tree) != NULL && atexit(end_tree) == 0);
        set_root(settings.sysfs_root, "sys");
        set_root(settings.proc_root, "proc");
        set_root(settings.dev_root, "dev");
        settings.device_metrics = true;
        settings.neuron_monitor_metrics = true;
    }
    remove_all(at("sys"));
    remove_all(at("proc"));
    remove_all(at("dev"));
    CHECK(mkdir(at("sys"), 0755) == 0 && mkdir(at("proc"), 0755) == 0);
    CHECK(mkdir(at("dev"), 0755) == 0);
}

/* The folders above a path; where something else stands in the place of one, it stays. */
static void make_above(const char *rest)
{
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s", at(rest));
    for (char *slash = strchr(path + strlen(tree) + 1, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0755);
        *slash = '/';
    }
}

static void put_bytes(const char *path, const char *bytes, size_t len)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_CLOEXEC, 0644);
    if (fd >= 0) {
        CHECK(write(fd, bytes, len) == (ssize_t)len);
        CHECK(close(fd) == 0);
    }
}

/* A text of the input; with FILLED in its length, so many bytes more of its first one. */
static void put_text(struct fuzz *in, const char *path)
{
    char bytes[TEXT_BYTES];
    uint8_t how = fuzz_u8(in);
    struct view text = fuzz_bytes(in, how & 0x3fu);
    size_t len = ((how & FILLED) != 0u && text.len > 0u) ? 256u - text.len / 2u : 0u;
    memset(bytes, (text.len > 0u) ? text.data[0] : 0, sizeof bytes);
    if (text.len > 0u) {
        memcpy(bytes + len, text.data, text.len);
    }
    put_bytes(path, bytes, len + text.len);
}

static void put_thing(struct fuzz *in, const char *rest)
{
    const char *path = at(rest);
    const char *name = strrchr(path, '/') + 1;
    uint8_t what = fuzz_u8(in) % 16u;
    make_above(rest);
    if (what != 0u) {
        remove_all(path);
    }
    if (what == 1u) {
        (void)mkdir(path, 0755);
    } else if (what == 2u) {
        (void)mkfifo(path, 0644);
    } else if (what == 3u) {
        (void)symlink("nowhere", path);
    } else if (what == 4u) {
        (void)symlink(name, path);
    } else if (what == 5u) {
        (void)symlink("/dev/null", path);
    } else if (what == 6u) {
        (void)symlink("neuron1", path);
    } else if (what != 7u) {
        put_text(in, path);
    } else {
        /* nothing stands there */
    }
}

/* What the module makes for a device that is well. */
static void put_good(unsigned n)
{
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, CLASS "/neuron%u/core_count", n);
    make_above(path);
    put_bytes(at(path), "8\n", 2);
    (void)snprintf(path, sizeof path, CLASS "/neuron%u/connected_devices", n);
    put_bytes(at(path), "12, 3\n", 6);
    (void)snprintf(path, sizeof path, "dev/neuron%u", n);
    put_bytes(at(path), "", 0);
}

/* Another number for the device: its folder is moved. */
static void renumber(unsigned from, unsigned to)
{
    char path[PATH_BYTES];
    char old[PATH_BYTES];
    (void)snprintf(path, sizeof path, CLASS "/neuron%u", from);
    (void)snprintf(old, sizeof old, "%s", at(path));
    (void)snprintf(path, sizeof path, CLASS "/neuron%u", to);
    (void)rename(old, at(path));
}

#define STATS "stats/hardware/"
static const char *const of_device[] = {
    "",
    "/core_count",
    "/connected_devices",
    "/reset",
    "/" STATS "health_status/unhealthy_components",
    "/" STATS "health_status/hw_error_event",
    "/" STATS "sram_ecc_uncorrected",
    "/" STATS "mem_ecc_uncorrected",
    "/" STATS "mem_ecc_repairable_uncorrected",
};
/* Files added later: a further one comes last, so that old inputs mean what they meant. */
static const char *const of_device_later[] = {
    "/stats/power/utilization",
    "/neuron_core1/stats/status/timeout/total",
};
#define LATER_FIRST 26u
#define LATER_FILES (sizeof of_device_later / sizeof of_device_later[0])
#define THINGS 32u
_Static_assert(THINGS - LATER_FIRST > LATER_FILES, "the last number is a look");
#define DEVICE_FILES (sizeof of_device / sizeof of_device[0])
static const char *const of_node[] = {
    "sys/devices/virtual/dmi/id/product_name",
    "sys/module/neuron/version",
    "proc/sys/kernel/random/boot_id",
    CLASS,
    CLASS "/neuron01",
    CLASS "/ultraserver_mode",
    "sys/bus/pci/devices/0000:cc:00.0/numa_node",
    "sys/bus/pci/devices/0000:b5:00.0/numa_node",
    "sys/bus/pci/devices/0000:b6:00.0",
};
#define NODE_FILES (sizeof of_node / sizeof of_node[0])

/* One thing; false: the input wants a look now. */
static bool change(struct fuzz *in)
{
    char path[PATH_BYTES];
    uint8_t which = fuzz_u8(in) % THINGS;
    if (which < DEVICE_FILES) {
        unsigned n = fuzz_u8(in) % (DEVICES_MAX + 2u);
        (void)snprintf(path, sizeof path, CLASS "/neuron%u%s", n, of_device[which]);
        put_thing(in, path);
    } else if (which < DEVICE_FILES + NODE_FILES) {
        put_thing(in, of_node[which - DEVICE_FILES]);
    } else if (which < 20u) {
        (void)snprintf(path, sizeof path, "dev/neuron%u", fuzz_u8(in) % (DEVICES_MAX + 2u));
        put_thing(in, path);
    } else if (which < 24u) {
        put_good(fuzz_u8(in) % DEVICES_MAX);
    } else if (which < LATER_FIRST) {
        unsigned from = fuzz_u8(in) % DEVICES_MAX;
        renumber(from, fuzz_u8(in) % DEVICES_MAX);
    } else if (which < LATER_FIRST + LATER_FILES) {
        unsigned n = fuzz_u8(in) % (DEVICES_MAX + 2u);
        (void)snprintf(path, sizeof path, CLASS "/neuron%u%s", n,
                       of_device_later[which - LATER_FIRST]);
        put_thing(in, path);
    } else {
        return false;
    }
    return true;
}

/* --- second opinions --- */

/* A value as fopen(3) reads it, or NULL: nobody can. `odd`: it has a NUL, or fills its room. */
static const char *value_of(unsigned number, const char *file, bool *odd)
{
    static char text[SYSFS_VALUE_CAP + 1u];
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, CLASS "/neuron%u%s", number, file);
    int fd = open(at(path), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        return NULL;
    }
    ssize_t n = read(fd, text, SYSFS_VALUE_CAP);
    CHECK(close(fd) == 0);
    if (n < 0) {
        return NULL;
    }
    size_t begin = 0;
    size_t len = (size_t)n;
    while (len > 0u && memchr(" \t\r\n", text[len - 1u], 5) != NULL) {
        len--;
    }
    while (begin < len && memchr(" \t\r\n", text[begin], 5) != NULL) {
        begin++;
    }
    *odd = n == (ssize_t)SYSFS_VALUE_CAP || memchr(text + begin, 0, len - begin) != NULL;
    memmove(text, text + begin, len - begin);
    text[len - begin] = '\0';
    return text;
}

static unsigned long cores_of(unsigned number)
{
    bool odd = false;
    const char *text = value_of(number, "/core_count", &odd);
    if (text == NULL || odd || *text == '\0' || strspn(text, "0123456789") != strlen(text)) {
        return 0;
    }
    text += strspn(text, "0");
    unsigned long count = (strlen(text) > 9u) ? 256u : strtoul(text, NULL, 10);
    return (count > 255u) ? 0u : count;
}

static bool is_folder(unsigned number)
{
    char path[PATH_BYTES];
    struct stat st;
    (void)snprintf(path, sizeof path, CLASS "/neuron%u", number);
    return stat(at(path), &st) == 0 && S_ISDIR(st.st_mode);
}

/* 0: there is no node; 1: something else stands there; 2: a character device. */
static unsigned node_of(unsigned number)
{
    char path[PATH_BYTES];
    struct stat st;
    (void)snprintf(path, sizeof path, "dev/neuron%u", number);
    if (stat(at(path), &st) != 0) {
        return 0;
    }
    return S_ISCHR(st.st_mode) ? 2u : 1u;
}

static enum health parts_say(unsigned number)
{
    bool odd = false;
    const char *text = value_of(number, "/" STATS "health_status/unhealthy_components", &odd);
    if (text == NULL || (!odd && strcmp(text, "busy") == 0)) {
        return HEALTH_UNKNOWN;
    }
    bool silent = !odd && strspn(text, ", \t\r\n") == strlen(text);
    return silent ? HEALTH_HEALTHY : HEALTH_UNHEALTHY;
}

static enum health reset_says(unsigned number)
{
    bool odd = false;
    const char *text = value_of(number, "/reset", &odd);
    if (text == NULL || odd || strlen(text) != 1u) {
        return HEALTH_HEALTHY;
    }
    return (*text == '0') ? HEALTH_UNKNOWN : (*text == '2') ? HEALTH_UNHEALTHY : HEALTH_HEALTHY;
}

/* A number of a version, which ends at a '.' or with the text; over 99999: it is none. */
static unsigned long version_part(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    bool whole = digits > 0u && (text[digits] == '.' || text[digits] == '\0');
    return whole ? strtoul(text, NULL, 10) : ULONG_MAX;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Whether the module makes the folder health_status for devices of this type. */
static bool lists_components(const char *type)
{
    static const char *const families[] = {"trn2", "trn3"};
    bool lists = false;
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
        lists = lists || begins(type, families[i]);
    }
    return lists;
}

/* How many of the files below the module of this version has on this type, as far as is known. */
static unsigned files_known(void)
{
    const char *dot = strchr(table.driver_version, '.');
    unsigned long major = version_part(table.driver_version);
    unsigned long minor = (dot != NULL) ? version_part(dot + 1) : ULONG_MAX;
    bool listing = lists_components(table.instance_type);
    if (major < 2u || major > 99999u || minor > 99999u) {
        return 0;
    }
    minor += (major > 2u) ? 30u : 0u; /* all that 2.30 has */
    unsigned files = (minor >= 24u) ? 4u : 0u;
    return (listing && minor >= 30u) ? 5u : files;
}

/* R5: the type is known, and one file that its module has since this version does not exist. */
static bool lacks_file(unsigned number)
{
    static const char *const files[] = {
        "/reset",
        "/" STATS "sram_ecc_uncorrected",
        "/" STATS "mem_ecc_uncorrected",
        "/" STATS "mem_ecc_repairable_uncorrected",
        "/" STATS "health_status/unhealthy_components",
    };
    bool lacks = false;
    unsigned known = (board_family(table.instance_type) != NULL) ? files_known() : 0u;
    for (unsigned i = 0; i < known; i++) {
        char path[PATH_BYTES];
        (void)snprintf(path, sizeof path, CLASS "/neuron%u%s", number, files[i]);
        int fd = open(at(path), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        lacks = lacks || (fd < 0 && errno == ENOENT);
        CHECK(fd < 0 || close(fd) == 0);
    }
    return lacks;
}

static bool either(enum health one, enum health two, enum health health)
{
    return one == health || two == health;
}

/* R1, R3 and R5: healthy is only what has all its files and what each that can be read calls so. */
static void same_health(const struct device *d)
{
    enum health parts = parts_say(d->number);
    enum health reset = reset_says(d->number);
    bool by_reset = (d->reading.reasons & HEALTH_REASON_RESET) != 0u;
    bool by_parts = (d->reading.reasons & ~(uint32_t)HEALTH_REASON_RESET) != 0u;
    enum health wanted = either(parts, reset, HEALTH_UNKNOWN) ? HEALTH_UNKNOWN : HEALTH_HEALTHY;
    wanted = lacks_file(d->number) ? HEALTH_UNKNOWN : wanted;
    wanted = either(parts, reset, HEALTH_UNHEALTHY) ? HEALTH_UNHEALTHY : wanted;
    CHECK(by_reset == (reset == HEALTH_UNHEALTHY));
    CHECK(by_parts == (parts == HEALTH_UNHEALTHY));
    CHECK(device_reading_health(&d->reading) == wanted);
}

/* How many folders of devices there are; *special: a node of one is a character device. */
static unsigned count_folders(bool *special)
{
    unsigned folders = 0;
    for (unsigned n = 0; n < DEVICES_MAX + 2u; n++) {
        bool is = is_folder(n);
        folders += is ? 1u : 0u;
        *special = *special || (is && node_of(n) == 2u);
    }
    return folders;
}

/* I2 and I3, as long as no device was left out for want of room. */
static void same_table(void)
{
    unsigned count = 0;
    bool special = false;
    if (count_folders(&special) > DEVICES_MAX) {
        return;
    }
    for (unsigned n = 0; n < DEVICES_MAX; n++) {
        bool is = is_folder(n) && node_of(n) >= (special ? 2u : 1u);
        int index = devices_numbered(&table, n);
        CHECK((index >= 0) == is);
        if (is) {
            const struct device *d = &table.device[index];
            CHECK(d->core_count == cores_of(n));
            same_health(d);
            count++;
        }
    }
    CHECK(count == table.count);
}

/* --- what a look says --- */

static void look_issues(void)
{
    CHECK(issues.count <= PROBE_ISSUES_MAX);
    for (unsigned i = 0; i < issues.count; i++) {
        CHECK(issues.issue[i].remedy[0] != '\0');
        for (const char *c = issues.issue[i].text; *c != '\0'; c++) {
            CHECK(*c >= ' ' && *c <= '~'); /* I4 */
        }
    }
}

static void look_attributes(void)
{
    static struct attributes all;
    for (unsigned i = 0; i < table.count; i++) {
        device_attributes(&table, i, &all);
        CHECK(device_name_issue(&table.device[i]) == ISSUE_NONE);
        for (unsigned k = 0; k < all.count; k++) {
            CHECK(attribute_issue(&all.attribute[k]) == ISSUE_NONE); /* I5 */
            CHECK(k == 0u || strcmp(all.attribute[k - 1u].key, all.attribute[k].key) < 0);
        }
    }
}

static bool equal_counters(const struct device_reading *a, const struct device_reading *b)
{
    return a->counted == b->counted && memcmp(a->ecc, b->ecc, sizeof a->ecc) == 0;
}

/*
 * Whether two readings have the same counters. While unhealthy_components can be read, only a
 * complete reading has any (rule R2 of dra/health.h): one of the two may have none then.
 */
static bool same_counters(const struct device_reading *a, const struct device_reading *b)
{
    bool none = a->counted == 0u || b->counted == 0u;
    return equal_counters(a, b) || (a->listed && none);
}

/* Readings of `table` with counters, beside a list: complete ones, as those of a first look are. */
static void same_complete(void)
{
    for (unsigned i = 0; i < table.count; i++) {
        const struct device_reading *r = &table.device[i].reading;
        int index = devices_numbered(&other, table.device[i].number);
        if (r->listed && r->counted != 0u && index >= 0) {
            CHECK(equal_counters(r, &other.device[index].reading));
        }
    }
}

static bool same_readings(const struct device_reading *a, const struct device_reading *b)
{
    bool same = a->reasons == b->reasons && a->listed == b->listed && a->known == b->known &&
                a->blind == b->blind && a->unread == b->unread && a->absent == b->absent;
    return same && same_counters(a, b);
}

static bool same_tables(const struct devices *a, const struct devices *b)
{
    bool same = devices_same(a, b) && strcmp(a->boot_id, b->boot_id) == 0;
    for (unsigned i = 0; same && i < a->count; i++) {
        same = same_readings(&a->device[i].reading, &b->device[i].reading) &&
               a->device[i].neighbours == b->device[i].neighbours &&
               memcmp(&a->device[i].place, &b->device[i].place, sizeof a->device[i].place) == 0;
    }
    return same;
}

static unsigned open_descriptors(void)
{
    unsigned count = 0;
    for (int fd = 0; fd < DESCRIPTORS; fd++) {
        count += (fcntl(fd, F_GETFD) >= 0) ? 1u : 0u;
    }
    return count;
}

/* A look, which leaves no descriptor open; false: the class could not be read. */
static bool look_once(struct probe *p, struct devices *d)
{
    unsigned before = open_descriptors();
    int failed = probe_node(&settings, p);
    CHECK(open_descriptors() == before);
    CHECK(failed == 0 || failed == ELOOP);
    if (failed == 0) {
        devices_build(d, &p->found, &issues);
        CHECK(devices_valid(d)); /* I1 */
    }
    return failed == 0;
}

static void take_health(uint64_t now_ms)
{
    for (unsigned i = 0; i < table.count; i++) {
        const struct device *d = &table.device[i];
        struct health_track *h = &tracks[d->number];
        (void)device_health_apply(h, &d->reading, now_ms);
        CHECK((h->state == (uint8_t)HEALTH_UNHEALTHY) == (h->reasons != 0u));
        CHECK(h->state != (uint8_t)HEALTH_HEALTHY || d->reading.known);
        /* what is wrong now counts at once */
        CHECK((d->reading.reasons & ~h->reasons) == 0u);
    }
}

/* What a turn has read; no value is beyond what a series can have. */
static void look_values(void)
{
    unsigned before = open_descriptors();
    for (unsigned i = 0; i < probe.found.count; i++) {
        telemetry_read(&settings, &probe.found, &telemetry);
    }
    CHECK(open_descriptors() == before);
    for (unsigned i = 0; i < DEVICES_MAX * TELEMETRY_VALUES; i++) {
        uint64_t kept = telemetry.value[i / TELEMETRY_VALUES][i % TELEMETRY_VALUES];
        int64_t value = 0;
        bool known = telemetry_known(kept, &value);
        bool power = i % TELEMETRY_VALUES == TELEMETRY_POWER;
        CHECK(!known || (value >= 0 && (!power || value <= 1009)));
    }
}

static void look(uint64_t now_ms)
{
    bool seen = look_once(&probe, &table);
    memset(&first, 0, sizeof first);
    CHECK(look_once(&first, &other) == seen);
    if (!seen) {
        return;
    }
    take_health(now_ms);
    /* all files are read again within a turn */
    for (unsigned i = 0; i < first.found.count + 2u; i++) {
        CHECK(look_once(&probe, &table));
        same_complete();
    }
    CHECK(same_tables(&table, &other));
    CHECK(look_once(&first, &other) && same_tables(&table, &other));
    same_table();
    look_values();
    look_issues();
    look_attributes();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz in = fuzz_of(data, size);
    begin_tree();
    memset(&probe, 0, sizeof probe);
    memset(&table, 0, sizeof table);
    memset(&other, 0, sizeof other);
    memset(tracks, 0, sizeof tracks);
    memset(&telemetry, 0, sizeof telemetry);
    for (unsigned i = 1; i <= LOOKS_MAX && (i == 1u || fuzz_left(&in) > 0u); i++) {
        bool more = true;
        for (unsigned k = 0; k < THINGS_MAX && more && fuzz_left(&in) > 0u; k++) {
            more = change(&in);
        }
        look(i * (uint64_t)LOOK_MS);
    }
    return 0;
}
