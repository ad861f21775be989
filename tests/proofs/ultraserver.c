/* SPDX-License-Identifier: Apache-2.0 */
/* The files of class/neuron_device: each text has the real maximum of ULTRASERVER_TEXT_CAP. */
#include "dra_stubs.h"

#include "dra/ultraserver.c"

/* I1 of ultraserver.h, for one place. */
static void check_place(const struct ultraserver_place *place)
{
    size_t at = any_length(SERVER_ID_CAP - 2u);
    bool none = place->server_id[0] == '\0';
    CHECK(none ? place->node_id == 0u : is_hex_digit((uint8_t)place->server_id[at]));
    CHECK(none || place->server_id[SERVER_ID_CAP - 1u] == '\0');
}

void proof_ultraserver_modes(void)
{
    struct ultraserver u = {.electing = any_bool()};
    bool good = build_modes(&u, any_view(ANY_LENGTH));
    CHECK((u.modes & ~(2u * (1u << ULTRASERVER_MODE_MAX) - 2u)) == 0u);
    CHECK(good || u.modes == 0u);
}

void proof_ultraserver_place(void)
{
    struct ultraserver_place place = {.node_id = 0};
    build_place(&place, any_view(ULTRASERVER_TEXT_CAP), any_view(ULTRASERVER_TEXT_CAP));
    check_place(&place);
}

void proof_ultraserver_id(void)
{
    struct view id = any_view(ANY_LENGTH);
    CHECK(!is_server_id(id) || id.len == SERVER_ID_CAP - 1u);
}

void proof_ultraserver_build(void)
{
    struct found_ultraserver found;
    struct ultraserver u;
    bool member = any_bool();
    bool good = ultraserver_build(&u, &found, member);
    CHECK(u.member == member && (member || (good && u.modes == 0u && !u.electing)));
    CHECK((u.modes & ~(2u * (1u << ULTRASERVER_MODE_MAX) - 2u)) == 0u);
    CHECK(good || u.modes == 0u);
}
