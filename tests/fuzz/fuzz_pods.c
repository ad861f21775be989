/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kubelet's list of pods as any program on its socket may send it, in pieces, and what `claims
 * --pod` prints of it. Checks I1, I2, I3, I4 and I5 of command/pods.h, I1 of command/command.h, and
 * I1 of wire/pod_list.h.
 *
 * Input: a namespace, then the gRPC response with the kubelet's list of pods
 */
#include "cfg/identity.h"
#include "command/command.h"
#include "dra/claim.h"
#include "tests/fuzz/fuzz.h"

static struct pods whole;
static struct pods pieces;
static struct claim_record record;
static char part[COMMAND_PART_BYTES];

static enum status read_response(struct pods *p, struct view namespace_, struct view response,
                                 struct fuzz_cuts cuts)
{
    pods_begin(p, namespace_);
    while (response.len > 0u) {
        size_t n = fuzz_cut(&cuts, response.len);
        uint8_t *piece = fuzz_copy(response.data, n);
        pods_feed(p, view_of(piece, n));
        free(piece);
        response = view_from(response, n);
    }
    return pods_end(p);
}

/* The claim of the pair at `at` of the list; at the end of the list an empty text. */
static const char *claim_at(const struct pods *p, size_t at)
{
    return (at < p->uses.len) ? (const char *)&p->bytes[at] : "";
}

/* How often the list has a pair. */
static unsigned times(const struct pods *p, struct view claim, const char *pod)
{
    unsigned n = 0;
    size_t at = 0;
    const char *other = pods_next(p, claim, &at);
    while (other != NULL) {
        n += strcmp(other, pod) == 0 ? 1u : 0u;
        other = pods_next(p, claim, &at);
    }
    return n;
}

static void look_pairs(const struct pods *p)
{
    size_t next = 0;
    unsigned count = 0;
    for (const char *name = claim_at(p, 0); name[0] != '\0'; name = claim_at(p, next)) {
        struct view claim = view_text(name);
        const char *pod = pods_next(p, claim, &next);
        CHECK(pod != NULL && claim_name_like(claim) && claim_name_like(view_text(pod)));
        CHECK(times(p, claim, pod) == 1u && pods_has(p, claim, view_text(pod)));
        CHECK(count < POD_USES_MAX);
        count++;
    }
    CHECK(count == p->count || p->uses.len == 0u);
    CHECK(count == 0u || p->any);
}

static void print(const struct pods *p, bool as_text, bool yaml)
{
    struct writer out = writer_of(part, sizeof part);
    struct document d = document_of(&out, yaml);
    const struct claim_shown shown = {.record = &record, .driver = DRIVER_NAME, .pods = p};
    bool more = true;
    for (unsigned i = 0; more; i++) {
        more =
            as_text ? command_claim_text(&shown, i, &out) : command_claim_document(&shown, i, &d);
        CHECK(!out.full);
        out.len = 0;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz f = fuzz_of(data, size);
    struct view namespace_ = fuzz_text(&f);
    struct view response = fuzz_rest(&f);
    enum status s = read_response(&whole, namespace_, response, fuzz_cuts_whole());
    CHECK(s == STATUS_OK || whole.uses.len == 0u);
    look_pairs(&whole);
    CHECK(read_response(&pieces, namespace_, response, fuzz_cuts_of(data, size, 1)) == s);
    CHECK(pieces.uses.len == whole.uses.len && pieces.partial == whole.partial);
    CHECK(memcmp(pieces.bytes, whole.bytes, whole.uses.len) == 0);
    text_set(record.id.name, sizeof record.id.name, claim_at(&whole, 0));
    record.count = 1;
    print(&whole, true, false);
    print(&whole, false, false);
    print(&whole, false, true);
    return 0;
}
