/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What must hold of the whole agent (agent/agent.h, I1 to I8) whatever its peers say: looked at in
 * all octets that it sends, all lines that it logs and the claims that it holds. Owns what was
 * promised to kubelets; knows nothing of the script.
 */
#ifndef TESTS_FUZZ_AGENT_CHECKS_H
#define TESTS_FUZZ_AGENT_CHECKS_H

#include "tests/fuzz/agent_world.h"
#include "tests/fuzz/fuzz_frame.h"

#define CALLS_TOLD 8u     /* answers under way on one connection whose octets are kept */
#define ANSWER_KEPT 4096u /* of one answer: a few claims */
#define UIDS_MAX 16u
/* What a peer gets without asking, per octet that it says, and per second: generous bounds. */
#define OUTPUT_FREE 65536u
#define OUTPUT_PER_OCTET 4096u
#define OUTPUT_PER_SECOND 1024u

/* --- claims of which kubelets were told, by UID --- */

struct uids {
    unsigned count;
    char uid[UIDS_MAX][UID_CAP];
};

/* An answer on one stream of a connection. */
struct told_call {
    uint32_t stream; /* 0: free */
    size_t len;
    uint8_t bytes[ANSWER_KEPT];
};

/* What the agent said on one connection. */
struct told {
    uint64_t out;
    uint64_t in;
    uint64_t begun_ms;
    uint32_t left; /* of the frame under way */
    unsigned have;
    uint8_t head[FRAME_HEAD];
    unsigned next; /* the entry that is used next */
    struct told_call call[CALLS_TOLD];
};

struct reopened {
    bool due; /* the next step opens the store again */
    bool held[CLAIMS_MAX];
    uint64_t sum;
};

static struct uids promised;   /* answered "prepared", and not unprepared since */
static struct uids unprepared; /* at any time */
static struct told told[LINKS_TOTAL];
static struct reopened reopened;
static uint64_t released; /* claims that this process released by itself */

static int uids_find(const struct uids *u, struct view uid)
{
    for (unsigned i = 0; i < u->count; i++) {
        if (view_is(uid, u->uid[i])) {
            return (int)i;
        }
    }
    return -1;
}

static void uids_add(struct uids *u, struct view uid)
{
    if (uids_find(u, uid) < 0 && u->count < UIDS_MAX) {
        text_cut(u->uid[u->count], UID_CAP, uid);
        u->count++;
    }
}

static void uids_remove(struct uids *u, struct view uid)
{
    int at = uids_find(u, uid);
    if (at >= 0) {
        u->count--;
        memmove(u->uid[at], u->uid[u->count], UID_CAP);
    }
}

/* --- answers --- */

static bool has_text(struct view v, const char *text)
{
    return v.len > 0u && memmem(v.data, v.len, text, strlen(text)) != NULL;
}

/* I3: who is told that a claim is prepared finds it held. */
static void told_prepared(struct view uid)
{
    char text[UID_CAP];
    text_cut(text, sizeof text, uid);
    if (!agent->ledger->usable) {
        return;
    }
    bool held = ledger_find(agent, text) >= 0;
    CHECK(held || uids_find(&unprepared, uid) >= 0);
    if (held) {
        uids_add(&promised, uid);
    }
}

/* A message of which the prefix was cut off: prepared is a claim with devices. */
static void told_message(struct view message)
{
    struct reader in = reader_of(message);
    struct sim_field f;
    while (sim_field_next(&in, &f) == STATUS_OK) {
        struct view uid = sim_field_bytes(f.bytes, 1);
        struct view devices = sim_field_bytes(sim_field_bytes(f.bytes, 2), 1);
        if (f.number == 1u && f.wire == 2u && uid.len > 0u && uid.len < UID_CAP &&
            has_text(devices, "neuron.aws.com/claim=")) {
            told_prepared(uid);
        }
    }
}

static struct told_call *told_call_of(struct told *t, uint32_t stream)
{
    for (unsigned i = 0; i < CALLS_TOLD; i++) {
        if (t->call[i].stream == stream) {
            return &t->call[i];
        }
    }
    struct told_call *c = &t->call[t->next];
    t->next = (t->next + 1u) % CALLS_TOLD;
    c->stream = stream;
    c->len = 0;
    return c;
}

/* Octets of a DATA frame. */
static void told_data(struct told *t, uint32_t stream, struct view data)
{
    struct told_call *c = told_call_of(t, stream);
    data = view_first(data, ANSWER_KEPT - c->len);
    if (data.len > 0u) {
        memcpy(c->bytes + c->len, data.data, data.len);
    }
    c->len += data.len;
    struct reader in = reader_of(view_of(c->bytes, c->len));
    struct view message;
    uint32_t len = 0;
    uint8_t flag = 0;
    if (reader_u8(&in, &flag) == STATUS_OK && reader_u32(&in, &len) == STATUS_OK && flag == 0u &&
        reader_consume(&in, len, &message) == STATUS_OK) {
        told_message(message);
        c->stream = 0;
    }
}

/* What the kubelet's connections carry to it, frame by frame. */
static void told_frames(struct told *t, struct view out)
{
    while (out.len > 0u) {
        if (t->left == 0u) {
            t->head[t->have] = out.data[0];
            t->have++;
            out = view_from(out, 1);
            if (t->have == FRAME_HEAD) {
                t->have = 0;
                t->left = (uint32_t)t->head[0] << 16 | (uint32_t)t->head[1] << 8 | t->head[2];
            }
        } else {
            struct view piece = view_first(out, t->left);
            if (t->head[3] == 0u) {
                told_data(t, (uint32_t)t->head[7] << 8 | t->head[8], piece);
            }
            t->left -= (uint32_t)piece.len;
            out = view_from(out, piece.len);
        }
    }
}

/* A connection begins. */
static void told_begin(unsigned link)
{
    struct told *t = &told[link];
    t->out = 0;
    t->in = 0;
    t->begun_ms = world.now_ms;
    t->left = 0;
    t->have = 0;
    t->next = 0;
    for (unsigned i = 0; i < CALLS_TOLD; i++) {
        t->call[i].stream = 0;
    }
}

static void check_input(unsigned link, size_t n)
{
    told[link].in += n;
}

static void check_output(unsigned link, struct view bytes)
{
    struct told *t = &told[link];
    t->out += bytes.len;
    if (link == LINK_API) {
        return;
    }
    uint64_t seconds = (world.now_ms - t->begun_ms) / 1000u;
    CHECK(!has_text(bytes, TOKEN_MARK));                                                   /* I5 */
    CHECK(t->out <= OUTPUT_FREE + t->in * OUTPUT_PER_OCTET + seconds * OUTPUT_PER_SECOND); /* I6 */
    if (link >= REGISTRATION_LINKS && link < REGISTRATION_LINKS + SERVICE_LINKS) {
        told_frames(t, bytes);
    }
}

/* --- lines --- */

static struct view value_of(struct view line, const char *key)
{
    const uint8_t *at = (line.len > 0u) ? memmem(line.data, line.len, key, strlen(key)) : NULL;
    if (at == NULL) {
        return view_of(NULL, 0);
    }
    struct view v = view_from(line, (size_t)(at - line.data) + strlen(key));
    const uint8_t *end = memchr(v.data, ' ', v.len);
    return (end == NULL) ? v : view_first(v, (size_t)(end - v.data));
}

static void check_line(struct view line)
{
    CHECK(!has_text(line, TOKEN_MARK)); /* I5 */
    if (has_text(line, "event=claim_unprepared ")) {
        struct view uid = value_of(line, " claim_uid=");
        uids_remove(&promised, uid);
        uids_add(&unprepared, uid);
    }
}

/* FUZZ_TRACE=1 in the environment shows the log of a run. */
static void show_lines(struct view lines)
{
    static int wanted = -1;
    wanted = (wanted < 0) ? getenv("FUZZ_TRACE") != NULL : wanted;
    if (wanted > 0) {
        (void)fprintf(stderr, "%.*s", (int)lines.len, (const char *)lines.data);
    }
}

static void check_log(struct view lines)
{
    show_lines(lines);
    while (lines.len > 0u) {
        const uint8_t *end = memchr(lines.data, '\n', lines.len);
        CHECK(end != NULL); /* whole lines only */
        size_t n = (size_t)(end - lines.data);
        check_line(view_first(lines, n));
        lines = view_from(lines, n + 1u);
    }
}

/* --- claims --- */

/* The UIDs that are held, slot by slot, of slots that were held when the process was killed. */
static uint64_t held_sum(void)
{
    struct fuzz_sum sum = fuzz_sum_of();
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        const struct ledger_entry *e = &agent->ledger->entry[i];
        if (e->state == LEDGER_HELD && reopened.held[i]) {
            fuzz_sum_u64(&sum, i);
            fuzz_sum_view(&sum, view_text(agent->ledger->id[i].uid));
        }
    }
    return sum.value;
}

/* The process is about to be killed between two steps. */
static void expect_same_claims(void)
{
    reopened.due =
        agent->ledger->usable && agent->ledger->freeing == 0u && disk.fault == FAULT_NONE;
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        reopened.held[i] = agent->ledger->entry[i].state == LEDGER_HELD;
    }
    reopened.sum = reopened.due ? held_sum() : 0u;
}

/* The process was killed in a step: an unprepare that was under way may be done or not. */
static void forget_unprepares(void)
{
    for (unsigned i = 0; i < OPERATIONS_MAX; i++) {
        const struct operation *o = &agent->calls->operation[i];
        if (o->state != OPERATION_FREE && agent->calls->call[o->call].unprepare) {
            uids_remove(&promised, view_text(o->id.uid));
            uids_add(&unprepared, view_text(o->id.uid));
        }
    }
}

/*
 * I7: a fetch that belongs to no operation, nor to a page of the list of claims, would keep its
 * place from every later call.
 */
static void check_fetches(void)
{
    unsigned used = 0;
    unsigned owned = agent->recovery->rebuild.running ? 1u : 0u;
    for (unsigned i = 0; i < FETCHES_MAX; i++) {
        used += (agent->claim->fetch[i].state != FETCH_FREE) ? 1u : 0u;
    }
    for (unsigned i = 0; i < OPERATIONS_MAX; i++) {
        owned += (agent->calls->operation[i].state == OPERATION_FETCHING) ? 1u : 0u;
    }
    CHECK(used == owned);
}

/* Claims that the API server disowned, or that gave way after a reboot: as good as unprepared. */
static void forget_released(void)
{
    bool more = agent->report->count[LOG_ID_CLAIM_RELEASED] > released;
    released = agent->report->count[LOG_ID_CLAIM_RELEASED]; /* 0 in a new process */
    if (!more) {
        return;
    }
    for (unsigned left = promised.count; left > 0u; left--) {
        const char *uid = promised.uid[left - 1u];
        if (ledger_find(agent, uid) < 0) {
            uids_add(&unprepared, view_text(uid));
            uids_remove(&promised, view_text(uid));
        }
    }
}

/* I4: a new process holds what the old one held; it may take in more. */
static void check_step(void)
{
    check_fetches();
    forget_released();
    if (reopened.due) {
        reopened.due = false;
        CHECK(!agent->ledger->usable || held_sum() == reopened.sum);
    }
}

/* I3 */
static void check_promises(void)
{
    char name[CDI_FILE_NAME_CAP];
    for (unsigned i = 0; i < promised.count && agent->ledger->usable; i++) {
        CHECK(ledger_find(agent, promised.uid[i]) >= 0);
        cdi_file_name(DRIVER_NEURON, promised.uid[i], name);
        CHECK(disk_find(FILES_CDI, name) != NULL);
    }
}

#endif
