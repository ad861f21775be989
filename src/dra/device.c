/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the device table from raw texts. This file alone checks the texts; it leaves out and
 * reports each invalid text. Reads no file; knows no attribute.
 */
#include "dra/device.h"

#include "base/assert.h"
#include "base/chars.h"
#include "cfg/identity.h"
#include "dra/device_internal.h"
#include "dra/pci.h"

#include <string.h>

/* Largest accepted number of physical cores of a device; today's devices have at most eight. */
#define CORE_COUNT_MAX 255u

static const char *const issue_names[PROBE_ISSUE_KINDS] = {
    [PROBE_ISSUE_NO_MODULE] = "no-module",
    [PROBE_ISSUE_NO_DEVICES] = "no-devices",
    [PROBE_ISSUE_NO_TYPE] = "no-instance-type",
    [PROBE_ISSUE_UNKNOWN_TYPE] = "unknown-instance-type",
    [PROBE_ISSUE_UNKNOWN_FAMILY] = "unknown-instance-family",
    [PROBE_ISSUE_REFUSED_TYPE] = "refused-instance-type",
    [PROBE_ISSUE_COUNT] = "device-count",
    [PROBE_ISSUE_CORES] = "core-count",
    [PROBE_ISSUE_NEIGHBOURS] = "connected-devices",
    [PROBE_ISSUE_NO_NODE] = "no-device-node",
    [PROBE_ISSUE_DUPLICATE] = "duplicate-device",
    [PROBE_ISSUE_IGNORED] = "ignored-entries",
    [PROBE_ISSUE_VERSION] = "module-version",
    [PROBE_ISSUE_BOOT_ID] = "boot-id",
    [PROBE_ISSUE_ULTRASERVER] = "ultraserver-mode",
    [PROBE_ISSUE_LNC_CONFIG] = "logical-nc-config",
    [PROBE_ISSUE_HEALTH_FILES] = "health-files",
    [PROBE_ISSUE_NO_EFA] = "no-efa",
    [PROBE_ISSUE_EFA_COUNT] = "efa-count",
    [PROBE_ISSUE_EFA_VERBS] = "efa-without-verbs",
    [PROBE_ISSUE_EFA_UNMAPPED] = "efa-not-mapped",
    [PROBE_ISSUE_EFA_IGNORED] = "efa-ignored",
};

static const char *const issue_remedies[PROBE_ISSUE_KINDS] = {
    [PROBE_ISSUE_NO_MODULE] = "load the kernel module: modprobe neuron (aws-neuronx-dkms)",
    [PROBE_ISSUE_NO_DEVICES] =
        "run the agent on nodes with Neuron devices only; on one, see dmesg for the neuron module",
    [PROBE_ISSUE_NO_TYPE] =
        "topology, device groups and LNC are left out; give --instance-type, e.g. trn2.48xlarge",
    [PROBE_ISSUE_UNKNOWN_TYPE] =
        "topology and device groups are left out; use an agent that knows the type",
    [PROBE_ISSUE_UNKNOWN_FAMILY] =
        "topology, device groups and LNC are left out; use an agent that knows the type",
    [PROBE_ISSUE_REFUSED_TYPE] =
        "Inf1 left the kernel module in 2.25; use Inf2 or Trn, or keep the agent off these nodes",
    [PROBE_ISSUE_COUNT] =
        "see dmesg for devices that the neuron module lost, or correct --instance-type",
    [PROBE_ISSUE_CORES] =
        "see core_count of the device in --sysfs-root, or correct --instance-type",
    [PROBE_ISSUE_NEIGHBOURS] = "see connected_devices of the device in --sysfs-root",
    [PROBE_ISSUE_NO_NODE] = "left out until its device node is in --dev-root; see udev",
    [PROBE_ISSUE_DUPLICATE] = "the second is left out; see class/neuron_device in --sysfs-root",
    [PROBE_ISSUE_IGNORED] = "left out; see class/neuron_device in --sysfs-root",
    [PROBE_ISSUE_VERSION] =
        "neuronDriverVersion is left out; see module/neuron/version in --sysfs-root",
    [PROBE_ISSUE_BOOT_ID] =
        "records of claims carry none; see sys/kernel/random/boot_id in --proc-root",
    [PROBE_ISSUE_ULTRASERVER] =
        "UltraServerConfig is refused; if it stays busy for more than 10 minutes, see dmesg",
    [PROBE_ISSUE_LNC_CONFIG] =
        "ignored; write NEURON_LOGICAL_NC_CONFIG=1 or 2 for a type with LNC, or remove the file",
    [PROBE_ISSUE_HEALTH_FILES] =
        "use an agent release that knows this kernel module; until then see dmesg",
    [PROBE_ISSUE_NO_EFA] =
        "attach EFA interfaces to the instance and load the kernel module: modprobe efa",
    [PROBE_ISSUE_EFA_COUNT] =
        "the type can have another number of EFA devices: see the interfaces of the instance",
    [PROBE_ISSUE_EFA_VERBS] = "left out; load ib_uverbs, and see infiniband/uverbsN in --dev-root",
    [PROBE_ISSUE_EFA_UNMAPPED] = "its device groups are left out; use an agent that knows the type",
    [PROBE_ISSUE_EFA_IGNORED] = "left out; the agent knows 32 EFA devices a node",
};

const char *probe_issue_name(enum probe_issue_kind kind)
{
    ASSERT((unsigned)kind < (unsigned)PROBE_ISSUE_KINDS);
    ASSERT(issue_names[kind] != NULL);
    return issue_names[kind];
}

/* --- adding probe issues --- */

static void printable_cut(char *text, size_t cap, struct view value)
{
    size_t len = (value.len < cap - 1u) ? value.len : cap - 1u;
    for (size_t i = 0; i < len; i++) {
        text[i] = '?';
        if (is_printable(value.data[i])) {
            text[i] = (char)value.data[i];
        }
    }
    text[len] = '\0';
}

void probe_issue_add(struct probe_issues *issues, enum probe_issue_kind kind, uint16_t number,
                     struct view value)
{
    ASSERT((unsigned)kind < (unsigned)PROBE_ISSUE_KINDS && issue_remedies[kind] != NULL);
    if (issues->count == PROBE_ISSUES_MAX) {
        issues->more++;
        return;
    }
    struct probe_issue *f = &issues->issue[issues->count];
    f->kind = kind;
    f->number = number;
    f->remedy = issue_remedies[kind];
    printable_cut(f->text, sizeof f->text, view_trim(value));
    issues->count++;
}

void probe_issue_node(struct probe_issues *issues, enum probe_issue_kind kind, struct view value)
{
    probe_issue_add(issues, kind, PROBE_ISSUE_NO_NUMBER, value);
}

void probe_issue_count(struct probe_issues *issues, enum probe_issue_kind kind, unsigned value)
{
    char digits[sizeof "4294967295"];
    WRITE_TEXT(digits, sizeof digits, "%", NUMBER(value));
    probe_issue_node(issues, kind, view_text(digits));
}

/* --- parsing texts that describe the whole node --- */

/* The text in an array of `cap` bytes, up to its NUL if it has one, without surrounding space. */
static struct view found_text(const char *text, size_t cap)
{
    struct view all = view_of(text, cap);
    return view_trim(view_first(all, view_find(all, 0)));
}

/*
 * Copies `value`, a word of visible ASCII, to text[cap]. If the value is not such a word or does
 * not fit, empties `text` and returns false.
 */
static bool copy_word(char *text, size_t cap, struct view value)
{
    text[0] = '\0';
    for (size_t i = 0; i < value.len; i++) {
        if (!is_visible(value.data[i])) {
            return false;
        }
    }
    return value.len > 0u && text_copy(text, cap, value) == STATUS_OK;
}

static bool type_character(uint8_t byte)
{
    return is_lower(byte) || is_digit(byte) || byte == '-';
}

/*
 * Whether `value` has the form of EC2's instance types, family.size, which product names of other
 * machines do not have.
 */
static bool is_instance_type(struct view value)
{
    size_t dots = 0;
    for (size_t i = 0; i < value.len; i++) {
        if (value.data[i] == '.') {
            dots++;
        } else if (!type_character(value.data[i])) {
            return false;
        }
    }
    return dots == 1u && value.data[0] != '.' && value.data[value.len - 1u] != '.';
}

static void build_type(struct devices *d, const struct found_node *found,
                       struct probe_issues *issues)
{
    struct view name = found_text(found->product_name, sizeof found->product_name);
    struct view type = board_type(name);
    d->board = NULL;
    d->instance_type[0] = '\0';
    if (!is_instance_type(type) || !copy_word(d->instance_type, sizeof d->instance_type, type)) {
        probe_issue_node(issues, PROBE_ISSUE_NO_TYPE, name);
        return;
    }
    const struct board_family *family = board_family(d->instance_type);
    d->board = board_find(d->instance_type);
    if (family == NULL) {
        probe_issue_node(issues, PROBE_ISSUE_UNKNOWN_FAMILY, type);
    } else if (family->refused) {
        probe_issue_node(issues, PROBE_ISSUE_REFUSED_TYPE, type);
    } else if (d->board == NULL) {
        probe_issue_node(issues, PROBE_ISSUE_UNKNOWN_TYPE, type);
    }
}

static void build_version(struct devices *d, const struct found_node *found,
                          struct probe_issues *issues)
{
    struct view version = found_text(found->driver_version, sizeof found->driver_version);
    if (copy_word(d->driver_version, sizeof d->driver_version, version)) {
        return;
    }
    bool absent = version.len == 0u;
    probe_issue_node(issues, absent ? PROBE_ISSUE_NO_MODULE : PROBE_ISSUE_VERSION, version);
}

static void build_boot_id(struct devices *d, const struct found_node *found,
                          struct probe_issues *issues)
{
    struct view boot_id = found_text(found->boot_id, sizeof found->boot_id);
    if (!copy_word(d->boot_id, sizeof d->boot_id, boot_id)) {
        probe_issue_node(issues, PROBE_ISSUE_BOOT_ID, boot_id);
    }
}

/* --- parsing the texts of one device --- */

static void build_cores(const struct devices *d, struct device *device,
                        const struct found_device *found, struct probe_issues *issues)
{
    const struct board_family *family = board_family(d->instance_type);
    struct view text = found_text(found->core_count, sizeof found->core_count);
    uint64_t count = 0;
    if (view_decimal(text, CORE_COUNT_MAX, &count) != STATUS_OK) {
        count = 0;
    }
    device->core_count = (uint16_t)count;
    if (count != 0u) {
        return; /* report_cores compares the core count with the one of the instance type */
    }
    uint8_t value[SYSFS_VALUE_CAP + sizeof " instead of 255"];
    struct writer out = writer_of(value, sizeof value);
    writer_append(&out, (text.len > 0u) ? text : view_text("nothing"));
    if (d->board != NULL) {
        WRITE(&out, " instead of %", NUMBER(family->cores_per_device));
    }
    probe_issue_add(issues, PROBE_ISSUE_CORES, device->number, writer_view(&out));
}

/*
 * Sets the PCI facts of a device: whether sysfs has a function at the device's PCI address, and the
 * NUMA node and root complex of this function. The function's file numa_node says -1 if it has no
 * NUMA node.
 */
static void build_pci(struct device *device, const struct found_device *found)
{
    uint64_t node = 0;
    struct view text = found_text(found->numa_node, sizeof found->numa_node);
    device->at_pci_address = text.len > 0u;
    device->numa_node = -1;
    if (view_decimal(text, INT16_MAX, &node) == STATUS_OK) {
        device->numa_node = (int16_t)node;
    }
    (void)copy_word(device->pcie_root, sizeof device->pcie_root,
                    found_text(found->pcie_root, sizeof found->pcie_root));
}

/*
 * Whether `number` can be added to the device's neighbours: it is neither the device's own number
 * nor already one of the neighbours.
 */
static bool is_neighbour(const struct device *device, uint64_t number)
{
    for (unsigned i = 0; i < device->neighbours; i++) {
        if (device->neighbour[i] == number) {
            return false;
        }
    }
    return number != device->number;
}

/*
 * Adds the first number of a list such as "a, b, c, d" to the device's neighbours, and removes it
 * and its comma from the list. Returns false if the number is not a valid neighbour, or the list
 * ends in a comma.
 */
static bool next_neighbour(struct device *device, struct view *list)
{
    size_t comma = view_find(*list, ',');
    uint64_t number = 0;
    if (view_decimal(view_trim(view_first(*list, comma)), DEVICES_MAX - 1u, &number) != STATUS_OK) {
        return false;
    }
    if (device->neighbours == NEIGHBOURS_MAX || !is_neighbour(device, number)) {
        return false;
    }
    bool more = comma < list->len;
    *list = view_from(*list, comma + 1u);
    device->neighbour[device->neighbours] = (uint16_t)number;
    device->neighbours++;
    return !more || list->len > 0u;
}

static void build_neighbours(struct device *device, const struct found_device *found,
                             struct probe_issues *issues)
{
    struct view text = found_text(found->connected_devices, sizeof found->connected_devices);
    struct view list = text;
    bool good = true;
    device->neighbours = 0;
    while (good && list.len > 0u) {
        good = next_neighbour(device, &list);
    }
    if (!good) {
        device->neighbours = 0;
        probe_issue_add(issues, PROBE_ISSUE_NEIGHBOURS, device->number, text);
    }
}

void neuron_device_name(unsigned number, char name[DEVICE_NAME_CAP])
{
    WRITE_TEXT(name, DEVICE_NAME_CAP, DEVICE_NAME_PREFIX "%", NUMBER(number));
}

bool neuron_device_number(struct view name, uint64_t last, uint64_t *number)
{
    return view_starts(name, DEVICE_NAME_PREFIX) &&
           view_decimal(view_from(name, sizeof DEVICE_NAME_PREFIX - 1u), last, number) == STATUS_OK;
}

/* PCI address of EFA device `number` in the board's map; 0: the map has no such device. */
static uint32_t mapped_address(const struct devices *d, unsigned number)
{
    const struct efa_map *map = (d->board != NULL) ? d->board->efa : NULL;
    uint32_t address = 0;
    bool known = map != NULL && number < BOARD_GROUPED_DEVICES &&
                 pci_address_parse(view_text(map->address[number]), &address);
    return known ? address : 0u;
}

void devices_name(const struct devices *d, unsigned number, char out[DEVICE_NAME_CAP])
{
    int at = devices_numbered(d, number);
    uint32_t address = mapped_address(d, number);
    if (at >= 0) {
        text_set(out, DEVICE_NAME_CAP, d->device[at].name);
    } else if (driver_traits(d->driver)->numbered) {
        neuron_device_name(number, out);
    } else if (address != 0u) {
        efa_device_name(address, out);
    } else {
        text_set(out, DEVICE_NAME_CAP, EFA_DEVICE_PREFIX "?");
    }
}

/* --- building the device table --- */

/* Index in the table of the device with this number, or the index at which to insert it. */
static unsigned place_of(const struct devices *d, uint16_t number)
{
    unsigned place = 0;
    while (place < d->count && d->device[place].number < number) {
        place++;
    }
    return place;
}

void devices_insert(struct devices *d, const struct device *device)
{
    unsigned place = place_of(d, device->number);
    ASSERT(d->count < DEVICES_MAX && place <= d->count);
    for (unsigned i = d->count; i > place; i--) {
        d->device[i] = d->device[i - 1u];
    }
    d->device[place] = *device;
    d->count++;
}

/*
 * Whether any device node that the probe found is a character device, as on a real host. If none
 * is, plain files are accepted as device nodes, because <dev-root> then belongs to a simulation
 * whose user may not create character devices.
 */
static bool has_character_devices(const struct found_node *found)
{
    bool any = false;
    for (unsigned i = 0; i < found->count; i++) {
        any = any || found->devices[i].place.node != 0u;
    }
    return any;
}

static void add_device(struct devices *d, const struct found_device *found, bool usable,
                       struct probe_issues *issues)
{
    struct device device = {
        .number = found->number, .place = found->place, .reading = found->reading};
    unsigned place = place_of(d, found->number);
    neuron_device_name(device.number, device.name);
    if (found->number >= DEVICES_MAX) {
        /*
         * The kernel module has no minor number as high as DEVICES_MAX, and a mask of device
         * numbers has no bit for it.
         */
        probe_issue_add(issues, PROBE_ISSUE_IGNORED, found->number, view_text(device.name));
    } else if (place < d->count && d->device[place].number == found->number) {
        probe_issue_add(issues, PROBE_ISSUE_DUPLICATE, found->number, view_text(device.name));
    } else if (!usable) {
        probe_issue_add(issues, PROBE_ISSUE_NO_NODE, found->number, view_text(device.name));
    } else {
        build_cores(d, &device, found, issues);
        build_pci(&device, found);
        build_neighbours(&device, found, issues);
        devices_insert(d, &device);
    }
}

static void build_ultraserver(struct devices *d, const struct found_node *found,
                              struct probe_issues *issues)
{
    bool member = d->board != NULL && d->board->ultraserver;
    bool good = ultraserver_build(&d->ultraserver, &found->ultraserver, member);
    if (!good || d->ultraserver.electing) {
        probe_issue_node(issues, PROBE_ISSUE_ULTRASERVER,
                         view_text(d->ultraserver.electing ? "busy" : found->ultraserver.modes));
    }
}

/*
 * Sets the LNCs that a claim may ask for: those of the instance type's family. If the type has no
 * board row, they apply only if all devices have the core count of the family.
 */
static void build_lnc(struct devices *d)
{
    const struct board_family *family = board_family(d->instance_type);
    bool known = family != NULL && d->count > 0u;
    for (unsigned i = 0; i < d->count && d->board == NULL && known; i++) {
        known = d->device[i].core_count == family->cores_per_device;
    }
    d->lnc_allowed = known ? family->lnc_allowed : 0u;
}

unsigned device_core_unit(const struct devices *d, const struct device *device)
{
    const struct board_family *family = board_family(d->instance_type);
    bool known = driver_traits(d->driver)->has_cores && family != NULL && !device->node &&
                 device->core_count == family->cores_per_device;
    ASSERT(!known || device->core_count <= SHARED_CORES_MAX);
    return known ? family->lnc_default : 0u;
}

bool device_shared(const struct devices *d, const struct device *device)
{
    bool divisible = !driver_traits(d->driver)->has_cores || device_core_unit(d, device) > 0u;
    return d->shares > 1u && divisible;
}

/* Highest LNC for which lnc_allowed has a bit. */
#define LNC_MAX 7u

/*
 * Parses logical_nc_config, the file that sets the runtime's LNC for the whole host (AWS Neuron
 * SDK). Containers do not see this file, so the agent applies the file's LNC to each claim that
 * asks for none.
 */
static void build_lnc_host(struct devices *d, const struct found_node *found,
                           struct probe_issues *issues)
{
    static const char name[] = "NEURON_LOGICAL_NC_CONFIG=";
    struct view text = found_text(found->lnc_config, sizeof found->lnc_config);
    struct view left = text;
    uint64_t value = 0;
    d->lnc_host = 0;
    while (left.len > 0u && value == 0u) {
        struct view line = view_trim(view_first(left, view_find(left, '\n')));
        left = view_from(left, view_find(left, '\n') + 1u);
        if (view_starts(line, name) &&
            view_decimal(view_from(line, sizeof name - 1u), LNC_MAX, &value) != STATUS_OK) {
            value = 0;
        }
    }
    if (((unsigned)d->lnc_allowed >> value & 1u) != 0u) {
        d->lnc_host = (uint8_t)value;
    } else if (text.len > 0u) {
        probe_issue_node(issues, PROBE_ISSUE_LNC_CONFIG, text);
    }
}

static bool is_refused(const struct devices *d)
{
    const struct board_family *family = board_family(d->instance_type);
    return family != NULL && family->refused;
}

const char *devices_refusal(const struct devices *d)
{
    return is_refused(d) ? issue_remedies[PROBE_ISSUE_REFUSED_TYPE] : NULL;
}

static void report_table(const struct devices *d, const struct found_node *found,
                         struct probe_issues *issues)
{
    if (found->ignored > 0u) {
        probe_issue_count(issues, PROBE_ISSUE_IGNORED, found->ignored);
    }
    if (d->count == 0u) {
        probe_issue_count(issues, PROBE_ISSUE_NO_DEVICES, found->count);
    } else if (d->board != NULL && d->count != d->board->devices) {
        uint8_t text[sizeof "4294967295 of 4294967295 devices"];
        struct writer out = writer_of(text, sizeof text);
        WRITE(&out, "% of % devices", NUMBER(d->count), NUMBER(d->board->devices));
        probe_issue_node(issues, PROBE_ISSUE_COUNT, writer_view(&out));
    }
}

/* --- reporting wrong core counts --- */

/* Bit N: the file of device N shows the same core count as that of the device at index `at`. */
static uint64_t with_same_cores(const struct devices *d, unsigned at)
{
    uint64_t numbers = 0;
    for (unsigned i = 0; i < d->count; i++) {
        bool same = d->device[i].core_count == d->device[at].core_count;
        numbers |= same ? UINT64_C(1) << d->device[i].number : 0u;
    }
    return numbers;
}

/* Bytes of a text that has "255 instead of 255; devices ", the numbers of all devices, and NUL. */
#define CORES_TEXT_CAP (32u + DEVICE_NUMBERS_CAP)

/*
 * Reports each core count that differs from the core count of the instance type as one issue with
 * all devices that have it. build_cores has reported the counts that are not readable.
 */
static void report_cores(const struct devices *d, struct probe_issues *issues)
{
    const struct board_family *family = board_family(d->instance_type);
    for (unsigned i = 0; i < d->count && d->board != NULL; i++) {
        uint8_t text[CORES_TEXT_CAP];
        struct writer out = writer_of(text, sizeof text);
        unsigned cores = d->device[i].core_count;
        uint64_t numbers = with_same_cores(d, i);
        bool first = (unsigned)__builtin_ctzll(numbers) == d->device[i].number;
        if (cores == 0u || cores == family->cores_per_device || !first) {
            continue;
        }
        WRITE(&out, "% instead of %", NUMBER(cores), NUMBER(family->cores_per_device));
        bool alone = (numbers & (numbers - 1u)) == 0u;
        writer_text(&out, alone ? "" : "; devices ");
        device_numbers_write(&out, alone ? 0u : numbers);
        probe_issue_add(issues, PROBE_ISSUE_CORES,
                        alone ? d->device[i].number : PROBE_ISSUE_NO_NUMBER, writer_view(&out));
    }
}

/* --- reporting absent health files, and building whole tables --- */

static void judge_readings(struct devices *d)
{
    const struct board_family *family = board_family(d->instance_type);
    bool lists = family != NULL && family->lists_health;
    unsigned files = (family != NULL) ? health_files_of(view_text(d->driver_version), lists) : 0u;
    for (unsigned i = 0; i < d->count; i++) {
        device_reading_judge(&d->device[i].reading, files);
    }
}

/*
 * Reports the absent health files of all devices as one issue. The device numbers come last in the
 * text, so that only they are cut if the text is too long.
 */
static void report_health_files(const struct devices *d, struct probe_issues *issues)
{
    uint8_t text[SYSFS_VALUE_CAP + DEVICE_NUMBERS_CAP];
    struct writer out = writer_of(text, sizeof text);
    uint64_t lacking = 0;
    unsigned absent = 0;
    for (unsigned i = 0; i < d->count; i++) {
        const struct device *device = &d->device[i];
        absent |= device->reading.absent;
        lacking |= (device->reading.absent != 0u) ? UINT64_C(1) << device->number : 0u;
    }
    if (lacking == 0u) {
        return;
    }
    WRITE(&out, "health unknown: module % should have", TEXT(d->driver_version));
    for (unsigned file = 0; file < (unsigned)HEALTH_FILES; file++) {
        bool named = (absent >> file & 1u) != 0u;
        writer_text(&out, named ? " " : "");
        writer_append(&out, named ? health_file_name(file) : view_of(NULL, 0));
    }
    writer_text(&out, "; absent of devices ");
    device_numbers_write(&out, lacking);
    probe_issue_node(issues, PROBE_ISSUE_HEALTH_FILES, writer_view(&out));
}

void devices_build(struct devices *d, const struct found_node *found, struct probe_issues *issues)
{
    ASSERT(d != NULL && issues != NULL);
    ASSERT(found->count <= DEVICES_MAX);
    issues->count = 0;
    issues->more = 0;
    d->driver = DRIVER_NEURON;
    d->count = 0;
    d->counters = false;
    d->shares = 0;
    d->resources = (struct node_resources){0};
    d->unknown = found->unknown;
    build_type(d, found, issues);
    build_version(d, found, issues);
    build_boot_id(d, found, issues);
    build_ultraserver(d, found, issues);
    bool special = has_character_devices(found);
    bool refused = is_refused(d);
    for (unsigned i = 0; i < found->count && !refused; i++) {
        const struct found_device *device = &found->devices[i];
        add_device(d, device, device->node_exists && (device->place.node != 0u || !special),
                   issues);
    }
    judge_readings(d);
    report_cores(d, issues);
    report_health_files(d, issues);
    build_lnc(d);
    build_lnc_host(d, found, issues);
    if (!refused) {
        report_table(d, found, issues);
    }
    ASSERT(devices_valid(d));
}

void devices_copy(struct devices *to, const struct devices *from)
{
    ASSERT(to != from && from->count <= DEVICES_MAX);
    memcpy(to, from, offsetof(struct devices, device) + from->count * sizeof from->device[0]);
}

void devices_keep(struct devices *d, unsigned number)
{
    const struct board_family *family = board_family(d->instance_type);
    struct device device = {.number = (uint16_t)number};
    ASSERT(number < DEVICES_MAX);
    if (devices_numbered(d, number) >= 0) {
        return;
    }
    if (driver_traits(d->driver)->numbered) {
        device.core_count = (family != NULL) ? family->cores_per_device : 0u;
    } else {
        device.efa.address = mapped_address(d, number);
        device.numa_node = -1;
        device.at_pci_address = true;
        if (device.efa.address == 0u) {
            /* the EFA map has no address for the number, so the device would have no name */
            return;
        }
    }
    devices_name(d, number, device.name);
    devices_insert(d, &device);
}

bool devices_are_node(const struct devices *d)
{
    return d->ultraserver.member && d->board != NULL && d->count == d->board->devices;
}

/*
 * Adds the taints of the device `one` to the device for the whole node. The time of each taint is
 * the earliest that a device has.
 */
static void add_taints(struct device *node, const struct device *one)
{
    for (unsigned i = 0; i < (unsigned)TAINTS; i++) {
        bool has = (one->tainted & TAINT_BIT(i)) != 0u;
        bool first = (node->tainted & TAINT_BIT(i)) == 0u || one->taint_s[i] < node->taint_s[i];
        if (has && first) {
            node->taint_s[i] = one->taint_s[i];
        }
    }
    node->tainted |= one->tainted;
}

void devices_add_node(struct devices *d, bool alone)
{
    struct device node = {.name = NODE_DEVICE_NAME, .node = true};
    unsigned cores = 0;
    for (unsigned i = 0; i < d->count; i++) {
        add_taints(&node, &d->device[i]);
        cores += d->device[i].core_count;
    }
    node.core_count = (uint16_t)cores;
    bool whole = devices_are_node(d);
    d->counters = !alone && d->board != NULL && d->count <= d->board->devices;
    d->count = alone ? 0u : d->count;
    if (whole) {
        ASSERT(d->count < DEVICES_MAX);
        d->device[d->count] = node;
        d->count++;
    }
}

/* --- checking, comparing and searching tables --- */

static bool text_ends(const char *text, size_t cap)
{
    return memchr(text, '\0', cap) != NULL;
}

static bool device_valid(const struct device *device)
{
    return device->number < DEVICES_MAX && device->core_count <= CORE_COUNT_MAX &&
           device->neighbours <= NEIGHBOURS_MAX && text_ends(device->name, sizeof device->name) &&
           text_ends(device->efa.rdma_name, sizeof device->efa.rdma_name);
}

static bool node_valid(const struct devices *d)
{
    bool texts = text_ends(d->instance_type, sizeof d->instance_type) &&
                 text_ends(d->driver_version, sizeof d->driver_version) &&
                 text_ends(d->boot_id, sizeof d->boot_id);
    bool named = d->board == NULL || d->instance_type[0] != '\0';
    return texts && named && d->count <= DEVICES_MAX;
}

bool devices_valid(const struct devices *d)
{
    if (!node_valid(d)) {
        return false;
    }
    for (unsigned i = 0; i < d->count; i++) {
        bool ascends = i == 0u || d->device[i - 1u].number < d->device[i].number;
        if (!ascends || !device_valid(&d->device[i])) {
            return false;
        }
    }
    return true;
}

bool node_labels_same(const struct node_labels *a, const struct node_labels *b)
{
    ASSERT(a != NULL && b != NULL);
    bool same = text_is(a->capacity_block, b->capacity_block);
    for (unsigned i = 0; i < NETWORK_LAYERS; i++) {
        same = same && text_is(a->network_layer[i], b->network_layer[i]);
    }
    return same;
}

static bool same_node(const struct devices *a, const struct devices *b)
{
    bool same = text_is(a->instance_type, b->instance_type) &&
                text_is(a->driver_version, b->driver_version);
    return same && node_labels_same(&a->labels, &b->labels) &&
           ultraserver_same(&a->ultraserver, &b->ultraserver) && a->count == b->count;
}

static bool same_function(const struct efa_function *a, const struct efa_function *b)
{
    return a->address == b->address && a->uverbs == b->uverbs && a->subsystem == b->subsystem &&
           text_is(a->rdma_name, b->rdma_name);
}

static bool same_device(const struct device *a, const struct device *b)
{
    return a->number == b->number && a->core_count == b->core_count &&
           a->at_pci_address == b->at_pci_address && a->numa_node == b->numa_node &&
           text_is(a->pcie_root, b->pcie_root) && same_function(&a->efa, &b->efa);
}

/*
 * Compares only independent values: the board's row follows from the instance type, and the name of
 * a device follows from its number or address.
 */
bool devices_same(const struct devices *a, const struct devices *b)
{
    ASSERT(a != NULL && b != NULL);
    if (!same_node(a, b)) {
        return false;
    }
    for (unsigned i = 0; i < a->count; i++) {
        if (!same_device(&a->device[i], &b->device[i])) {
            return false;
        }
    }
    return true;
}

int devices_numbered(const struct devices *d, unsigned number)
{
    ASSERT(d->count <= DEVICES_MAX);
    for (unsigned i = 0; i < d->count; i++) {
        if (d->device[i].number == number) {
            return (int)i;
        }
    }
    return -1;
}

int devices_addressed(const struct devices *d, uint32_t address)
{
    for (unsigned i = 0; i < d->count; i++) {
        if (address != 0u && d->device[i].efa.address == address) {
            return (int)i;
        }
    }
    return -1;
}

uint64_t devices_counters(const struct devices *d, const struct device *device)
{
    uint64_t counters = 0;
    if (d->counters) {
        bool all = device == NULL || device->node;
        counters = all ? devices_numbers(d) : UINT64_C(1) << device->number;
    }
    return counters;
}

uint64_t devices_numbers(const struct devices *d)
{
    uint64_t numbers = 0;
    ASSERT(d->count <= DEVICES_MAX);
    for (unsigned i = 0; i < d->count; i++) {
        /* the device for the whole node has no number of its own */
        numbers |= d->device[i].node ? 0u : UINT64_C(1) << d->device[i].number;
    }
    return numbers;
}

void device_numbers_write(struct writer *out, uint64_t numbers)
{
    const char *comma = "";
    for (unsigned n = 0; n < DEVICES_MAX; n++) {
        if ((numbers >> n & 1u) != 0u) {
            WRITE(out, "%%", TEXT(comma), NUMBER(n));
            comma = ",";
        }
    }
}
_Static_assert(DEVICES_MAX <= 100u, "a number and a comma are at most three bytes");

int devices_find(const struct devices *d, struct view name)
{
    ASSERT(d->count <= DEVICES_MAX);
    for (unsigned i = 0; i < d->count; i++) {
        if (view_is(name, d->device[i].name)) {
            return (int)i;
        }
    }
    return -1;
}
