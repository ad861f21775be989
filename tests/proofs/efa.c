/* SPDX-License-Identifier: Apache-2.0 */
/* Targets of links in class/infiniband_verbs, of any length. */
#include "dra_stubs.h"

static size_t slash; /* index of a '/' in the path, which the caller of split_last promises */

#include "dra/efa.c"

/* Proof efa_split: the last slash of a path that has one of those of "../../devices/". */
struct view stub_split_last(struct view *path)
{
    static const uint8_t slashes[] = {2, 5, 13};
    bool has = false;
    size_t at = any_length(ANY_LENGTH);
    stub_check_view(*path);
    ASSUME(at >= 1u && at <= path->len && path->data[at - 1u] == (uint8_t)'/');
    for (unsigned i = 0; i < sizeof slashes; i++) {
        bool here = path->len > slashes[i] && path->data[slashes[i]] == (uint8_t)'/';
        has = has || here;
        ASSUME(!here || at > slashes[i]);
    }
    CHECK(has);
    struct view last = view_from(*path, at);
    *path = view_first(*path, at - 1u);
    return last;
}

/* Proof pci_address. */
bool stub_pci_address_parse(struct view text, uint32_t *address)
{
    stub_check_view(text);
    uint32_t found = any_u32();
    bool good = found != 0u && any_bool();
    *address = good ? found : *address;
    return good;
}

void proof_efa_split(void)
{
    struct view whole = any_view(ANY_LENGTH);
    struct view path = whole;
    slash = any_length(ANY_LENGTH);
    ASSUME(slash < path.len && path.data[slash] == (uint8_t)'/');
    struct view last = split_last(&path);
    CHECK(view_within(path, whole) && view_within(last, whole));
    CHECK(path.len >= slash && path.len + 1u + last.len == whole.len);
}

void proof_efa_link(void)
{
    char root[PCIE_ROOT_CAP];
    struct view link = any_view(ANY_LENGTH);
    uint32_t before = any_u32();
    uint32_t address = before;
    root[PCIE_ROOT_CAP - 1u] = '\0';
    bool good = efa_link_parse(link, any_view(ANY_LENGTH), &address, root);
    CHECK(good ? address != 0u : (address == before && root[0] == '\0'));
}
