/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the record of one claim from its allocation, and checks it. Owns the order of the checks
 * and the texts of refusals. Only the first failure is kept; later failures are ignored.
 */
#include "dra/claim.h"

#include "dra/pci.h"

#include <string.h>

#include "base/assert.h"
#include "base/chars.h"
#include "cfg/identity.h"

/* --- checking names --- */

/*
 * Whether a text has the common form of labels, UIDs and names: letters, digits, '-' and, if
 * `dots`, also '.', with a letter or digit at both ends.
 */
static bool name_like(struct view v, bool dots)
{
    for (size_t i = 0; i < v.len; i++) {
        uint8_t c = v.data[i];
        bool inner = c == '-' || (dots && c == '.');
        bool end = i == 0u || i + 1u == v.len;
        if (!is_alphanumeric(c) && (end || !inner)) {
            return false;
        }
    }
    return v.len > 0u;
}

static enum status bad_name(const char *what, const char *text, const char *rule,
                            struct writer *why)
{
    WRITE(why, "% \"%\" is not valid: it needs %, letters or digits at both ends", TEXT(what),
          SHOWN(view_text(text)), TEXT(rule));
    return PEER_MALFORMED;
}

bool claim_uid_like(const char *uid)
{
    return name_like(view_text(uid), false);
}

bool claim_label_like(struct view text)
{
    return name_like(text, false) && text.len < NAMESPACE_CAP;
}

bool claim_name_like(struct view text)
{
    return name_like(text, true);
}

enum status claim_id_check(const struct claim_id *id, struct writer *why)
{
    static const char label_rule[] = "letters, digits and '-'";
    if (!claim_uid_like(id->uid)) {
        return bad_name("claim UID", id->uid, label_rule, why);
    }
    if (!name_like(view_text(id->namespace_), false)) {
        return bad_name("claim namespace", id->namespace_, label_rule, why);
    }
    if (!name_like(view_text(id->name), true)) {
        return bad_name("claim name", id->name, "letters, digits, '-' and '.'", why);
    }
    return STATUS_OK;
}

/* --- checking, comparing and reading records --- */

static bool share_like(struct view v)
{
    return v.len == 0u || name_like(v, false);
}

/*
 * Whether two results are for the same device. EFA devices are compared by PCI address, because the
 * number of an EFA device may change when the agent restarts.
 */
static bool same_place(const struct claim_result *p, const struct claim_result *q)
{
    bool efa = p->efa_address != 0u || q->efa_address != 0u;
    return efa ? p->efa_address == q->efa_address : p->number == q->number;
}

/*
 * Whether the result at index `at` has the same configuration as the earlier results of its
 * request. The configurations must be equal, because all devices of one request form one CDI
 * device, which has one environment.
 */
static bool configured_alike(const struct claim_record *r, unsigned at)
{
    const struct claim_result *x = &r->result[at];
    for (unsigned i = 0; i < at; i++) {
        const struct claim_result *y = &r->result[i];
        bool same = x->logical_neuron_core == y->logical_neuron_core &&
                    x->ultraserver_mode == y->ultraserver_mode;
        if (!same && text_is(x->request, y->request)) {
            return false;
        }
    }
    return true;
}

uint8_t claim_cores(const struct claim_record *r)
{
    return (r->count == 1u) ? r->result[0].cores : 0u;
}

/*
 * Whether the cores are adjacent and form whole logical cores of this LNC, as required for
 * NEURON_RT_VISIBLE_CORES, which is a range of logical cores.
 */
static bool cores_valid(unsigned cores, unsigned lnc)
{
    unsigned unit = (lnc != 0u) ? lnc : 1u;
    unsigned first = (unsigned)__builtin_ctz(cores);
    unsigned count = claim_numbers_count(cores);
    return cores >> first == (1u << count) - 1u && first % unit == 0u && count % unit == 0u;
}

/*
 * Whether the result has no `cores`, or its `cores` are a valid part of a device. For a valid part,
 * the result is a share and the only result of its claim, the device has number 0 in the container,
 * and the cores form a range.
 */
static bool part_valid(const struct claim_record *r, const struct claim_result *result)
{
    bool alone = driver_traits(r->driver)->has_cores && r->count == 1u && r->zero_numbering &&
                 r->first_number == 0u;
    bool share = result->share_id[0] != '\0' && !result->admin_access && !result->node;
    return result->cores == 0u ||
           (alone && share && cores_valid(result->cores, result->logical_neuron_core));
}

/*
 * Whether the result's device fits the driver: only an EFA device has a PCI address and a uverbs
 * number, and no EFA device stands for the whole node. Also checks the cores of the result
 * (part_valid).
 */
static bool place_valid(const struct claim_record *r, const struct claim_result *result)
{
    bool none = result->efa_address == 0u && result->uverbs == 0u;
    bool numbered = driver_traits(r->driver)->numbered;
    bool place = numbered ? none : result->efa_address != 0u && !result->node;
    return place && part_valid(r, result);
}

static bool result_valid(const struct claim_record *r, unsigned at)
{
    const struct claim_result *result = &r->result[at];
    bool node = result->number == 0u && r->node_devices != 0u;
    bool device = result->number < DEVICES_MAX && (!result->node || node) && place_valid(r, result);
    return name_like(view_text(result->request), false) &&
           share_like(view_text(result->share_id)) && device && configured_alike(r, at);
}

/*
 * Whether the record has node_devices and an UltraServer mode exactly when a result needs them. The
 * CDI file and the store keep these values only with such a result.
 */
static bool node_facts_valid(const struct claim_record *r)
{
    bool node = false;
    bool mode = false;
    for (unsigned i = 0; i < r->count; i++) {
        node = node || r->result[i].node;
        mode = mode || r->result[i].ultraserver_mode != 0u;
    }
    bool devices = r->node_devices != 0u;
    bool translated = r->ultraserver.mode != 0u;
    return ultraserver_use_valid(&r->ultraserver) && node == devices && mode == translated;
}

uint64_t claim_all_numbers(const struct claim_record *r)
{
    uint64_t numbers = 0;
    for (unsigned i = 0; i < r->count; i++) {
        numbers |= claim_result_numbers(r, i);
    }
    return numbers;
}

bool claim_consecutive(const struct claim_record *r)
{
    uint64_t numbers = driver_traits(r->driver)->numbered ? claim_numbers(r) : 0u;
    uint64_t from_first = (numbers != 0u) ? numbers >> (unsigned)__builtin_ctzll(numbers) : 0u;
    return (from_first & (from_first + 1u)) == 0u;
}

unsigned claim_numbers_count(uint64_t numbers)
{
    unsigned count = 0;
    for (uint64_t left = numbers; left != 0u; left &= left - 1u) {
        count++;
    }
    return count;
}

/*
 * Whether all device numbers in a container are below DEVICES_MAX, which is also the limit of the
 * device numbers on the host.
 */
static bool numbering_valid(const struct claim_record *r)
{
    unsigned devices = claim_numbers_count(claim_all_numbers(r));
    return r->first_number == 0u || (r->zero_numbering && r->first_number + devices <= DEVICES_MAX);
}

static bool texts_valid(const struct claim_record *r)
{
    struct writer discarded = writer_of(0, 0);
    bool names = claim_id_check(&r->id, &discarded) == STATUS_OK &&
                 name_like(view_text(r->pool), true) && view_is_visible(view_text(r->boot_id));
    bool template =
        r->pod_claim[0] == '\0' || (r->metadata && claim_label_like(view_text(r->pod_claim)));
    return names && template;
}

bool claim_record_valid(const struct claim_record *r)
{
    bool kind = r->consumer.kind < (uint8_t)CONSUMER_KINDS;
    if (!texts_valid(r) || !kind || r->count == 0u || r->count > RESULTS_MAX) {
        return false;
    }
    for (unsigned i = 0; i < r->count; i++) {
        if (!result_valid(r, i)) {
            return false;
        }
    }
    return node_facts_valid(r) && numbering_valid(r);
}

void claim_record_copy(struct claim_record *to, const struct claim_record *from)
{
    ASSERT(from->count <= RESULTS_MAX);
    if (to != from) {
        size_t results = from->count * sizeof from->result[0];
        memcpy(to, from, offsetof(struct claim_record, result) + results);
    }
}

uint64_t claim_result_numbers(const struct claim_record *r, unsigned at)
{
    ASSERT(at < RESULTS_MAX && r->result[at].number < DEVICES_MAX);
    return r->result[at].node ? r->node_devices : UINT64_C(1) << r->result[at].number;
}

uint64_t claim_container_numbers(const struct claim_record *r)
{
    uint64_t numbers = claim_all_numbers(r);
    ASSERT(numbers != 0u);
    if (claim_cores(r) != 0u) {
        return UINT64_MAX;
    }
    if (r->zero_numbering) {
        numbers = (UINT64_MAX >> (DEVICES_MAX - claim_numbers_count(numbers))) << r->first_number;
    }
    return numbers;
}

void claim_device_name(const struct claim_result *result, char out[DEVICE_NAME_CAP])
{
    if (result->efa_address != 0u) {
        efa_device_name(result->efa_address, out);
    } else if (result->node) {
        text_set(out, DEVICE_NAME_CAP, NODE_DEVICE_NAME);
    } else {
        neuron_device_name(result->number, out);
    }
}

uint64_t claim_numbers(const struct claim_record *r)
{
    uint64_t mask = 0;
    ASSERT(r->count <= RESULTS_MAX);
    for (unsigned i = 0; i < r->count; i++) {
        mask |= r->result[i].admin_access ? 0u : claim_result_numbers(r, i);
    }
    return mask;
}

bool claim_shares(const struct claim_record *r)
{
    bool shares = true;
    for (unsigned i = 0; i < r->count; i++) {
        shares = shares && (r->result[i].admin_access || r->result[i].share_id[0] != '\0');
    }
    return shares;
}

bool claim_joins(const struct claim_record *r)
{
    return claim_shares(r) && (!driver_traits(r->driver)->has_cores || claim_cores(r) != 0u);
}

static bool same_device(const struct claim_result *p, const struct claim_result *q)
{
    return same_place(p, q) && p->node == q->node && p->admin_access == q->admin_access &&
           p->uverbs == q->uverbs &&
           claim_numbers_count(p->cores) == claim_numbers_count(q->cores) &&
           text_is(p->request, q->request) && text_is(p->share_id, q->share_id);
}

bool claim_devices_same(const struct claim_record *x, const struct claim_record *y)
{
    bool same = x->count == y->count && x->node_devices == y->node_devices;
    for (unsigned i = 0; i < x->count && same; i++) {
        same = same_device(&x->result[i], &y->result[i]);
    }
    return same;
}

bool claim_results_same(const struct claim_record *x, const struct claim_record *y)
{
    bool same = claim_devices_same(x, y) && ultraserver_use_same(&x->ultraserver, &y->ultraserver);
    for (unsigned i = 0; i < x->count && same; i++) {
        same = x->result[i].logical_neuron_core == y->result[i].logical_neuron_core &&
               x->result[i].ultraserver_mode == y->result[i].ultraserver_mode;
    }
    return same;
}

uint8_t claim_logical_neuron_core(const struct claim_record *r)
{
    uint8_t lnc = 0;
    for (unsigned i = 0; i < r->count && lnc == 0u; i++) {
        lnc = r->result[i].logical_neuron_core;
    }
    return lnc;
}

/* --- starting a record, and failures of a claim --- */

void claim_begin(struct claim_builder *b, const struct devices *devices, const char *driver,
                 const char *pool, const struct claim_id *wanted)
{
    memset(b, 0, sizeof *b);
    b->devices = devices;
    b->ultraserver = devices->ultraserver;
    b->driver = driver;
    b->record.driver = devices->driver;
    b->pool = pool;
    b->wanted = wanted;
    b->record.id = *wanted;
    text_set(b->record.pool, sizeof b->record.pool, pool);
    text_set(b->record.boot_id, sizeof b->record.boot_id, devices->boot_id);
}

/*
 * Starts the text of a failure. Only the first failure is kept; the text of a later one is dropped.
 */
static struct writer begin_failure(struct claim_builder *b, enum status s)
{
    ASSERT(s != STATUS_OK);
    if (b->failed != STATUS_OK) {
        return writer_of(0, 0);
    }
    b->failed = s;
    memset(b->why, 0, sizeof b->why);
    return writer_of(b->why, sizeof b->why - 1u); /* keeps room for the terminating NUL */
}

static struct writer claim_failure(struct claim_builder *b, enum status s)
{
    struct writer why = begin_failure(b, s);
    WRITE(&why, "claim %/%", TEXT(b->wanted->namespace_), TEXT(b->wanted->name));
    return why;
}

#define ALLOCATE_AGAIN "; delete the pod to have the claim allocated again"

void claim_malformed(struct claim_builder *b, const char *what)
{
    struct writer why = claim_failure(b, PEER_MALFORMED);
    WRITE(&why, " has a malformed allocation: %" ALLOCATE_AGAIN, TEXT(what));
}

/* Fails the claim because it has a configuration that no claim of this driver may have. */
static void refuse_config(struct claim_builder *b, const char *what)
{
    struct writer why = claim_failure(b, PEER_MALFORMED);
    WRITE(&why,
          " has a malformed allocation: %; remove the configuration from the claim or its "
          "DeviceClass",
          TEXT(what));
}

void claim_meta(struct claim_builder *b, struct view uid)
{
    b->seen_meta = true;
    b->is_wanted = view_is(uid, b->wanted->uid);
    if (b->is_wanted) {
        return;
    }
    struct writer why = claim_failure(b, PEER_NOT_FOUND);
    WRITE(&why, " got replaced: UID % was asked for, the API server has UID %",
          SHOWN(view_text(b->wanted->uid)), SHOWN(uid));
}

/* --- adding allocation results --- */

/*
 * Whether `device` is a name that this node has published or may have published: that of a Neuron
 * device of the board (if the board is unknown, of any number), or that of an EFA device.
 */
static bool was_published(const struct devices *d, struct view device)
{
    uint64_t number = 0;
    uint64_t last = ((d->board != NULL) ? d->board->devices : DEVICES_MAX) - 1u;
    return driver_traits(d->driver)->numbered ? neuron_device_number(device, last, &number)
                                              : view_starts(device, EFA_DEVICE_PREFIX);
}

static void unknown_device(struct claim_builder *b, struct view device)
{
    const struct devices *d = b->devices;
    struct writer why = begin_failure(b, PEER_NOT_FOUND);
    if (!d->unknown && was_published(d, device)) {
        WRITE(&why, "%" DEVICE_GONE_TEXT, SHOWN(device));
        return;
    }
    WRITE(&why, "device % not found on node %", SHOWN(device), TEXT(b->pool));
    if (d->unknown) {
        writer_text(&why, ": its devices are not known, the sysfs root cannot be read");
        return;
    }
    if (view_is(device, NODE_DEVICE_NAME) && d->ultraserver.member) {
        WRITE(
            &why,
            ": it needs all devices of the instance type, and only % are here (see dmesg); delete "
            "the pod to get another node",
            NUMBER(d->count));
        return;
    }
    WRITE(&why, "; devices here: %", TEXT((d->count == 0u) ? "none" : d->device[0].name));
    if (d->count > 1u) {
        WRITE(&why, " ... %", TEXT(d->device[d->count - 1u].name));
    }
    writer_text(&why, "; delete the pod to get one that exists");
}

static void foreign_pool(struct claim_builder *b, const struct claim_result_in *in)
{
    struct writer why = begin_failure(b, PEER_NOT_FOUND);
    WRITE(
        &why,
        "device % is allocated from pool %, the pool of this node is %; delete the pod and create "
        "it without spec.nodeName, or check --node-name of the agent",
        SHOWN(in->device), SHOWN(in->pool), TEXT(b->pool));
}

static void fail_duplicate(struct claim_builder *b, const struct claim_result_in *in)
{
    struct writer why = claim_failure(b, PEER_MALFORMED);
    WRITE(&why, " has a malformed allocation: device % is allocated to it twice" ALLOCATE_AGAIN,
          SHOWN(in->device));
}

static bool held_twice(const struct claim_record *r, const struct claim_result *next)
{
    for (unsigned i = 0; i < r->count; i++) {
        const struct claim_result *have = &r->result[i];
        bool shared = have->share_id[0] != '\0' && next->share_id[0] != '\0' &&
                      !text_is(have->share_id, next->share_id);
        bool exempt = have->admin_access || next->admin_access || shared;
        bool same = have->node || next->node || same_place(have, next);
        if (same && !exempt) {
            return true;
        }
    }
    return false;
}

/* Whether `v` has the form of a request name, "req" or "req/sub". */
static bool request_like(struct view v)
{
    size_t slash = view_find(v, '/');
    bool plain = slash == v.len;
    return name_like(view_first(v, slash), false) &&
           (plain || name_like(view_from(v, slash + 1u), false));
}

/*
 * Copies the request names and the share ID of an allocation result. Returns false if one of them
 * violates the rules of the API.
 */
static bool copy_names(struct claim_builder *b, const struct claim_result_in *in,
                       struct claim_result *r)
{
    struct view base = view_first(in->request, view_find(in->request, '/'));
    char *full = b->request[b->record.count];
    return request_like(in->request) && share_like(in->share_id) &&
           text_copy(full, REQUEST_CAP, in->request) == STATUS_OK &&
           text_copy(r->request, sizeof r->request, base) == STATUS_OK &&
           text_copy(r->share_id, sizeof r->share_id, in->share_id) == STATUS_OK;
}

void claim_capacity(struct claim_builder *b, struct view key, struct view value)
{
    uint64_t n = 0;
    if (view_is(key, CORES_CAPACITY)) {
        enum status s = view_decimal(value, UINT8_MAX, &n);
        status_ignore(s, "what is no small number is no part of a device");
        b->cores = (uint8_t)n;
    }
}

/*
 * Returns the provisional cores of the result `in`: if it is a part of a device, as many of the
 * device's lowest cores as it consumes; otherwise 0. Clears b->cores, so that the next result does
 * not get this core count.
 */
static uint8_t part_of(struct claim_builder *b, const struct claim_result_in *in, int device)
{
    unsigned cores = b->cores;
    b->cores = 0;
    bool part = device >= 0 && in->share_id.len > 0u && !in->admin_access &&
                cores < b->devices->device[device].core_count && cores < SHARED_CORES_MAX;
    return (uint8_t)(part ? (1u << cores) - 1u : 0u);
}

/*
 * Adds a result. `device`: index of the result's device in the table; negative: the result is for
 * the device that stands for the whole node.
 */
static void add_device(struct claim_builder *b, const struct claim_result_in *in, int device)
{
    ASSERT(b->record.count < RESULTS_MAX && device < (int)b->devices->count);
    struct claim_result *r = &b->record.result[b->record.count];
    r->node = device < 0;
    r->number = r->node ? 0u : b->devices->device[device].number;
    r->efa_address = r->node ? 0u : b->devices->device[device].efa.address;
    r->uverbs = r->node ? 0u : b->devices->device[device].efa.uverbs;
    r->admin_access = in->admin_access;
    r->cores = part_of(b, in, device);
    if (r->node) {
        b->record.node_devices = devices_numbers(b->devices);
    }
    if (!copy_names(b, in, r)) {
        claim_malformed(b, "a request name or share ID of its results is not valid");
    } else if (held_twice(&b->record, r)) {
        fail_duplicate(b, in);
    } else {
        b->record.count++;
    }
}

void claim_result_add(struct claim_builder *b, const struct claim_result_in *in)
{
    if (b->failed != STATUS_OK || !view_is(in->driver, b->driver)) {
        b->cores = 0; /* drops the core count of this result, because the result is ignored */
        return;
    }
    if (b->configs > 0u) {
        /*
         * A configuration applies only to results that were added before; the API server sends all
         * results before the configurations.
         */
        claim_malformed(b, "results follow the configuration");
        return;
    }
    if (!view_is(in->pool, b->pool)) {
        foreign_pool(b, in);
        return;
    }
    int at = devices_find(b->devices, in->device);
    bool node = view_is(in->device, NODE_DEVICE_NAME) && devices_are_node(b->devices);
    if (at < 0 && !node) {
        unknown_device(b, in->device);
    } else if (b->record.count >= RESULTS_MAX) {
        claim_malformed(b, "it has more results than the API allows");
    } else {
        add_device(b, in, at);
    }
}

/* --- applying configurations --- */

enum { SOURCE_CLASS = 1, SOURCE_CLAIM = 2 };

/* Whether `name` covers the request: "req" covers "req" and "req/sub" (KEP-4816). */
static bool name_covers(struct view name, struct view request)
{
    struct view base = view_first(request, view_find(request, '/'));
    return view_equal(name, request) || view_equal(name, base);
}

/* Bit i: the configuration entry applies to result i. */
static uint32_t covered_results(const struct claim_builder *b, const struct claim_config_in *in)
{
    uint32_t mask = 0;
    ASSERT(b->record.count <= RESULTS_MAX && in->requests <= CONFIG_REQUESTS_MAX);
    for (unsigned r = 0; r < b->record.count; r++) {
        bool applies = in->requests == 0u;
        for (unsigned i = 0; i < in->requests && !applies; i++) {
            applies = name_covers(in->request[i], view_text(b->request[r]));
        }
        mask |= applies ? UINT32_C(1) << r : 0u;
    }
    return mask;
}
_Static_assert(RESULTS_MAX <= 32u, "one bit for each result");

/*
 * Called when the configuration `c` overrules `before`, the value that an earlier configuration
 * gave to result `r`. Remembers `before` if both configurations name requests, or if neither does.
 * `named`: `c` names requests.
 */
static void remember_overruled(struct claim_builder *b, unsigned r, const struct config *c,
                               uint8_t before, bool named)
{
    uint32_t bit = UINT32_C(1) << r;
    unsigned kind = (unsigned)c->kind;
    if (before != c->value) {
        bool was_named = (b->named[kind] & bit) != 0u;
        b->overruled[kind][r] = (named == was_named) ? before : 0u;
    }
    b->named[kind] = named ? b->named[kind] | bit : b->named[kind] & ~bit;
}

static void apply_config(struct claim_builder *b, uint32_t mask, const struct config *c,
                         uint8_t source, bool named)
{
    bool neuron = c->kind == CONFIG_NEURON;
    for (unsigned r = 0; r < b->record.count; r++) {
        struct claim_result *result = &b->record.result[r];
        uint8_t *value = neuron ? &result->logical_neuron_core : &result->ultraserver_mode;
        uint8_t *from = neuron ? &b->lnc_source[r] : &b->mode_source[r];
        const char **version = neuron ? &b->lnc_version[r] : &b->mode_version[r];
        if ((mask >> r & 1u) != 0u && source >= *from) {
            remember_overruled(b, r, c, (source == *from) ? *value : 0u, named);
            *value = c->value;
            *from = source;
            *version = c->api_version;
        }
    }
}

static enum status read_config(struct claim_builder *b, const struct claim_config_in *in,
                               uint32_t mask, struct config *c, struct writer *why)
{
    if (in->truncated || in->parameters.len > OPAQUE_BYTES_MAX) {
        WRITE(why, "configuration is longer than % bytes", NUMBER(OPAQUE_BYTES_MAX));
        return FULL_BUFFER;
    }
    enum status s = config_decode(in->parameters, c, why);
    if (s != STATUS_OK) {
        return s;
    }
    s = config_check(c, b->devices->lnc_allowed, &b->ultraserver, b->devices->instance_type, why);
    if (s != STATUS_OK) {
        b->refused = *c;
        b->refused_result = (unsigned)__builtin_ctz(mask);
    }
    return s;
}

/*
 * Appends to a failure text which configuration is at fault, because a claim can have several: its
 * own and those of its class.
 */
static void write_which(const struct claim_builder *b, const struct claim_config_in *in,
                        struct writer *why)
{
    WRITE(why, " (config[%] of the allocation, %, ", NUMBER(b->configs - 1u), SHOWN(in->source));
    if (in->requests == 0u) {
        writer_text(why, "all requests)");
        return;
    }
    WRITE(why, "request %", SHOWN(in->request[0]));
    if (in->requests > 1u) {
        WRITE(why, " and % more", NUMBER(in->requests - 1u));
    }
    writer_text(why, ")");
}

static void read_and_apply(struct claim_builder *b, const struct claim_config_in *in, uint32_t mask,
                           uint8_t source)
{
    static const char before[] = "error applying config: ";
    char text[CLAIM_ERROR_CAP - sizeof before];
    struct writer reason = writer_of(text, sizeof text);
    struct config c;
    enum status s = read_config(b, in, mask, &c, &reason);
    if (s == STATUS_OK) {
        apply_config(b, mask, &c, source, in->requests > 0u);
        return;
    }
    struct writer why = begin_failure(b, s);
    writer_text(&why, before);
    writer_append(&why, writer_view(&reason));
    write_which(b, in, &why);
}

static void unknown_source(struct claim_builder *b, struct view source)
{
    struct writer why = claim_failure(b, PEER_UNSUPPORTED);
    WRITE(&why, " has a configuration from unknown source \"%\"; known: FromClass, FromClaim",
          SHOWN(source));
}

void claim_config_add(struct claim_builder *b, const struct claim_config_in *in)
{
    b->configs++;
    if (b->failed != STATUS_OK) {
        return;
    }
    if (in->driver.len == 0u) {
        /*
         * A later API may add other kinds of configuration. If the agent ignored one, it would
         * prepare the claim wrongly, so it refuses the claim.
         */
        refuse_config(b, "a configuration is not opaque, other kinds are not supported");
        return;
    }
    if (!view_is(in->driver, b->driver)) {
        return;
    }
    if (!driver_traits(b->record.driver)->configurable) {
        refuse_config(b, "EFA devices take no configuration");
        return;
    }
    /*
     * the request names of a truncated entry may be incomplete, so the entry may apply to any
     * result
     */
    uint32_t mask = in->truncated ? UINT32_MAX : covered_results(b, in);
    if (mask == 0u) {
        return;
    }
    if (view_is(in->source, "FromClass")) {
        read_and_apply(b, in, mask, SOURCE_CLASS);
    } else if (view_is(in->source, "FromClaim")) {
        read_and_apply(b, in, mask, SOURCE_CLAIM);
    } else {
        unknown_source(b, in->source);
    }
}

/* --- completing the record --- */

void claim_consumer(struct claim_builder *b, struct view resource, struct view name,
                    struct view uid)
{
    struct claim_consumer c = {.kind = CONSUMER_POD};
    bool pod = view_is(resource, "pods");
    bool known = pod || view_is(resource, "podgroups");
    bool good = known && name_like(name, true) && name_like(uid, false) &&
                text_copy(c.name, sizeof c.name, name) == STATUS_OK &&
                text_copy(c.uid, sizeof c.uid, uid) == STATUS_OK;
    c.kind = pod ? CONSUMER_POD : CONSUMER_POD_GROUP;
    b->consumers = (b->consumers == 0u) ? 1u : 2u;
    if (good && b->record.consumer.uid[0] == '\0') {
        b->record.consumer = c;
    }
}

const char *claim_consumer_name(enum claim_consumer_kind kind)
{
    return (kind == CONSUMER_POD) ? "Pod" : "PodGroup";
}

void claim_allocated(struct claim_builder *b)
{
    b->allocated = true;
}

/*
 * Called after the claim's whole object was read. Returns why the claim cannot be prepared; NULL:
 * it can be prepared.
 */
static const char *incomplete_reason(const struct claim_builder *b)
{
    if (!b->seen_meta) {
        return " has no metadata in the API server's response";
    }
    if (!b->allocated) {
        return " is not allocated: delete the pod, and create it without spec.nodeName, so that "
               "the scheduler allocates the claim";
    }
    if (b->record.count == 0u) {
        return " has no allocation result of driver ";
    }
    for (unsigned i = 0; i < b->record.count; i++) {
        if (!configured_alike(&b->record, i)) {
            return " configures the devices of one request differently; use one request for each "
                   "setting";
        }
    }
    return 0;
}

/*
 * Translates the number of nodes that the claim requests into a mode of its UltraServer. All
 * results that request a number must request the same one, because a node is in only one set of
 * nodes at a time.
 */
static void apply_mode(struct claim_builder *b)
{
    struct claim_record *r = &b->record;
    unsigned nodes = 0;
    const char *request = "";
    for (unsigned i = 0; i < r->count; i++) {
        unsigned asked = r->result[i].ultraserver_mode;
        if (nodes != 0u && asked != 0u && asked != nodes) {
            struct writer why = claim_failure(b, PEER_UNSUPPORTED);
            WRITE(&why,
                  " asks for two UltraServer modes; give all of its requests the same "
                  "ultraserverMode: request % asks for %, request % for %",
                  TEXT(request), NUMBER(nodes), TEXT(r->result[i].request), NUMBER(asked));
        }
        request = (asked != 0u) ? r->result[i].request : request;
        nodes = (asked != 0u) ? asked : nodes;
    }
    if (nodes == 0u || b->failed != STATUS_OK) {
        return;
    }
    struct writer discarded = writer_of(NULL, 0);
    enum status s = ultraserver_mode(&b->ultraserver, nodes, b->devices->instance_type,
                                     &r->ultraserver, &discarded);
    ASSERT(s == STATUS_OK); /* read_config has already checked this mode */
}

/* Applies `host`, the LNC in logical_nc_config, if no result of the claim has an LNC. */
static void apply_host_lnc(struct claim_record *r, uint8_t host)
{
    uint8_t asked = claim_logical_neuron_core(r);
    for (unsigned i = 0; i < r->count && asked == 0u; i++) {
        r->result[i].logical_neuron_core = host;
    }
}

static void no_part(struct claim_builder *b, const char *what)
{
    struct writer why = claim_failure(b, PEER_REFUSED);
    WRITE(&why, " asks for a part of a device's cores %", TEXT(what));
}

/*
 * Number of NeuronCores in the smallest part of the device. 0: claims cannot share the device, or a
 * probe that ran after the result was read did not find the device.
 */
static unsigned core_unit(const struct devices *d, unsigned number)
{
    int at = devices_numbered(d, number);
    return (at >= 0) ? device_core_unit(d, &d->device[at]) : 0u;
}

/*
 * Checks and configures a part of a device. The runtime numbers cores by the container's devices
 * and LNC, so a part must be the claim's only device and use the runtime's default LNC, like every
 * other part of the device.
 */
static void apply_part(struct claim_builder *b)
{
    struct claim_record *r = &b->record;
    struct claim_result *part = NULL;
    for (unsigned i = 0; i < r->count; i++) {
        part = (r->result[i].cores != 0u) ? &r->result[i] : part;
    }
    if (part == NULL) {
        return;
    }
    unsigned unit = core_unit(b->devices, part->number);
    b->zero_numbering = true;
    if (r->count > 1u) {
        no_part(b, "beside other devices; ask for it in a claim of its own");
    } else if (unit == 0u || claim_numbers_count(part->cores) % unit != 0u) {
        no_part(b, "that is not a multiple of the published step; allocate it again");
    } else if (unit > 1u && part->logical_neuron_core == 1u) {
        no_part(b, "with logicalNeuronCore 1; ask for 2, or for all cores");
    } else if (unit > 1u) {
        part->logical_neuron_core = (uint8_t)unit;
    }
}

enum status claim_end(struct claim_builder *b)
{
    b->ended = true;
    if (b->failed == STATUS_OK) {
        apply_part(b);
    }
    if (b->failed == STATUS_OK) {
        apply_mode(b);
        apply_host_lnc(&b->record, b->devices->lnc_host);
    }
    if (b->failed != STATUS_OK) {
        return b->failed;
    }
    const char *what = incomplete_reason(b);
    if (what != NULL) {
        bool elsewhere = b->allocated && b->record.count == 0u;
        struct writer why = claim_failure(b, PEER_REFUSED);
        WRITE(&why, "%%%", TEXT(what), TEXT(elsewhere ? b->driver : ""),
              TEXT(elsewhere ? ALLOCATE_AGAIN : ""));
        return b->failed;
    }
    b->record.zero_numbering = b->zero_numbering;
    ASSERT(claim_record_valid(&b->record));
    return STATUS_OK;
}

void claim_keep_lnc(struct claim_builder *b, const struct claim_record *before)
{
    struct claim_record *r = &b->record;
    bool keep = text_is(before->boot_id, r->boot_id) && claim_devices_same(before, r);
    for (unsigned i = 0; i < r->count && keep; i++) {
        keep = b->lnc_source[i] == 0u;
    }
    for (unsigned i = 0; i < r->count && keep; i++) {
        r->result[i].logical_neuron_core = before->result[i].logical_neuron_core;
    }
}
