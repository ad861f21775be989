/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the files of class/neuron_device on UltraServer nodes, and translates between the number
 * of nodes that a claim asks for and the modes of kernel module and runtime; see ultraserver.h.
 */
#include "dra/ultraserver.h"

#include <string.h>

#include "base/assert.h"
#include "base/chars.h"

/* Numbers of the UltraServer modes in the kernel module and in NEURON_RT_ULTRASERVER_MODE. */
enum { MODE_FOUR_NODES = 1, MODE_TWO_HORIZONTAL = 2, MODE_TWO_VERTICAL = 3, MODE_ONE_NODE = 4 };
_Static_assert((unsigned)MODE_ONE_NODE == ULTRASERVER_MODE_MAX, "the highest mode");

/* Text of the UltraServer's files in class/neuron_device while the nodes still elect a leader. */
static const char busy[] = "busy";

static struct view text_of(const char text[ULTRASERVER_TEXT_CAP])
{
    struct view all = view_of(text, ULTRASERVER_TEXT_CAP);
    return view_trim(view_first(all, view_find(all, 0)));
}

/* --- parsing the files of class/neuron_device --- */

/*
 * Removes the first mode from *list, and sets its bit in *modes. Returns false if the list is not
 * valid.
 */
static bool next_mode(uint8_t *modes, struct view *list)
{
    uint64_t mode = 0;
    size_t comma = view_find(*list, ',');
    struct view word = view_trim(view_first(*list, comma));
    bool more = comma < list->len;
    *list = view_from(*list, comma + 1u);
    if (view_decimal(word, ULTRASERVER_MODE_MAX, &mode) != STATUS_OK || (more && list->len == 0u)) {
        return false;
    }
    /* the number 0 in the list means that no mode is set */
    *modes = (uint8_t)(*modes | ((mode > 0u) ? 1u << mode : 0u));
    return true;
}

/*
 * Parses a list of modes, the text of the file ultraserver_mode. Returns false if the text is not
 * such a list. An empty text is valid: older kernel modules write an empty line on types that they
 * treat as standard, not as nodes of an UltraServer.
 */
static bool build_modes(struct ultraserver *u, struct view list)
{
    bool good = true;
    u->electing = u->electing || view_is(list, busy);
    /* The loop is bounded, because each iteration consumes text. */
    while (list.len > 0u && good && !u->electing) {
        good = next_mode(&u->modes, &list);
    }
    u->modes = good ? u->modes : 0u;
    return good;
}

static bool is_server_id(struct view id)
{
    bool zero = true;
    bool good = id.len == SERVER_ID_CAP - 1u;
    for (size_t i = 0; i < id.len; i++) {
        uint8_t c = id.data[i];
        good = good && is_hex_digit(c);
        zero = zero && c == (uint8_t)'0';
    }
    return good && !zero; /* an id of zeros means that the node belongs to no set */
}

/*
 * Sets the node's place in a set only if both ids are valid, because the id of the set is useless
 * without the id of the node.
 */
static void build_place(struct ultraserver_place *place, struct view server_id, struct view node_id)
{
    uint64_t node = 0;
    if (is_server_id(server_id) && view_decimal(node_id, UINT8_MAX, &node) == STATUS_OK) {
        enum status s = text_copy(place->server_id, sizeof place->server_id, server_id);
        ASSERT(s == STATUS_OK);
        place->node_id = (uint8_t)node;
    }
}

bool ultraserver_build(struct ultraserver *u, const struct found_ultraserver *found, bool member)
{
    memset(u, 0, sizeof *u);
    u->member = member;
    if (!member) {
        return true;
    }
    for (unsigned i = 0; i < (unsigned)ULTRASERVER_SIZES; i++) {
        u->electing = u->electing || view_is(text_of(found->node_id[i]), busy) ||
                      view_is(text_of(found->server_id[i]), busy);
        build_place(&u->place[i], text_of(found->server_id[i]), text_of(found->node_id[i]));
        if (u->place[i].server_id[0] == '\0') {
            build_place(&u->place[i], text_of(found->group_id), text_of(found->group_node_id));
        }
    }
    return build_modes(u, text_of(found->modes));
}

static bool same_place(const struct ultraserver_place *a, const struct ultraserver_place *b)
{
    return a->node_id == b->node_id && text_is(a->server_id, b->server_id);
}

bool ultraserver_same(const struct ultraserver *a, const struct ultraserver *b)
{
    bool same = a->member == b->member && a->electing == b->electing && a->modes == b->modes;
    for (unsigned i = 0; i < (unsigned)ULTRASERVER_SIZES; i++) {
        same = same && same_place(&a->place[i], &b->place[i]);
    }
    return same;
}

/* --- choosing a mode for the nodes that a claim requests --- */

/*
 * Returns a mode that the kernel module offers for this number of nodes; 0: the module offers no
 * such mode.
 */
static uint8_t mode_for(const struct ultraserver *u, unsigned nodes)
{
    static const uint8_t of_nodes[ULTRASERVER_NODES_MAX + 1u][2] = {
        [1] = {MODE_ONE_NODE, MODE_ONE_NODE},
        /* for two nodes, prefers the vertical mode, as AWS's init script does */
        [2] = {MODE_TWO_VERTICAL, MODE_TWO_HORIZONTAL},
        [4] = {MODE_FOUR_NODES, MODE_FOUR_NODES}};
    ASSERT(nodes <= ULTRASERVER_NODES_MAX);
    for (unsigned i = 0; i < 2u; i++) {
        uint8_t mode = of_nodes[nodes][i];
        ASSERT(mode != 0u);
        if (((unsigned)u->modes >> mode & 1u) != 0u) {
            return mode;
        }
    }
    return 0;
}

/*
 * Appends the sizes of node sets that the kernel module offers, as "1 or 2"; false: the module
 * offers no set. The text does not show the module's mode numbers, which mislead: its mode 4 is a
 * set of one node.
 */
static bool write_offered(const struct ultraserver *u, const char *before, struct writer *why)
{
    const char *comma = before;
    for (unsigned nodes = 1; nodes <= ULTRASERVER_NODES_MAX; nodes *= 2u) {
        if (mode_for(u, nodes) != 0u) {
            WRITE(why, "%%", TEXT(comma), NUMBER(nodes));
            comma = " or ";
        }
    }
    return comma != before;
}

static void write_not_offered(const struct ultraserver *u, unsigned nodes, struct writer *why)
{
    static const char *const counts[ULTRASERVER_NODES_MAX + 1u] = {
        [1] = "one node", [2] = "two nodes", [4] = "four nodes"};
    WRITE(why, "ultraserverMode % (%) is not possible on this node now; possible: ", NUMBER(nodes),
          TEXT(counts[nodes]));
    if (!write_offered(u, "", why)) {
        writer_text(why, "none");
    }
    writer_text(why, ". Check the links between the nodes");
    if (write_offered(u, ", or ask for ", why)) {
        writer_text(why, ".");
    } else {
        writer_text(why, " and the log of the kernel module (dmesg).");
    }
}

enum status ultraserver_mode(const struct ultraserver *u, unsigned nodes, const char *instance_type,
                             struct ultraserver_use *use, struct writer *why)
{
    uint8_t mode = mode_for(u, nodes);
    memset(use, 0, sizeof *use);
    if (!u->member) {
        WRITE(why,
              "UltraServer mode is not configurable for instance type %; remove the "
              "UltraServerConfig, or use a node of an UltraServer, such as trn2u.48xlarge",
              TEXT((instance_type[0] != '\0') ? instance_type : "(unknown)"));
        return PEER_UNSUPPORTED;
    }
    if (u->electing) {
        writer_text(why, "the nodes of the UltraServer are still finding each other (the kernel "
                         "module reports busy, for up to 10 minutes); the kubelet tries again");
        return PEER_UNSUPPORTED;
    }
    if (mode == 0u) {
        write_not_offered(u, nodes, why);
        return PEER_UNSUPPORTED;
    }
    use->mode = mode;
    if (nodes > 1u) {
        use->place = u->place[(nodes > 2u) ? ULTRASERVER_QUAD : ULTRASERVER_PAIR];
    }
    return STATUS_OK;
}

bool ultraserver_use_valid(const struct ultraserver_use *use)
{
    struct view id = view_text(use->place.server_id);
    bool placed = id.len > 0u;
    bool good = use->place.node_id == 0u;
    if (placed) {
        good = use->mode != 0u && is_server_id(id);
    }
    return good && use->mode <= ULTRASERVER_MODE_MAX;
}

bool ultraserver_use_same(const struct ultraserver_use *a, const struct ultraserver_use *b)
{
    return a->mode == b->mode && same_place(&a->place, &b->place);
}
