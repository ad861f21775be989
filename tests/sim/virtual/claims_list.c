/* SPDX-License-Identifier: Apache-2.0 */
/* What a schedule of claims can have, and how often; see claims.h. */
#include "tests/sim/virtual/claims.h"

static const struct {
    const char *name;
    unsigned weight;
} acts[ACTS] = {
    [ACT_PREPARE] = {"prepare", 24},
    [ACT_UNPREPARE] = {"unprepare", 12},
    [ACT_REALLOCATE] = {"a claim is allocated again", 3},
    [ACT_UNFIT] = {"a claim is allocated what is not here", 2},
    [ACT_FAULT] = {"the disk fails once in the next call", 8},
    [ACT_KILL] = {"the agent is killed", 5},
    [ACT_REBOOT] = {"the node reboots", 2},
    [ACT_REFUSE] = {"a directory refuses writes", 3},
    [ACT_ROT] = {"the newest half of a record rots", 2},
    [ACT_ROT_OLD] = {"an older half rots", 1},
    [ACT_ROT_MORE] = {"several witnesses of a claim are damaged", 3},
    [ACT_ROT_HEADER] = {"the header rots", 1},
    [ACT_STORE_GONE] = {"the store is removed", 1},
    [ACT_STORE_ZEROS] = {"the store is zeroed", 1},
    [ACT_STORE_CUT] = {"the store is cut", 1},
    [ACT_ALL_GONE] = {"store and CDI directory are emptied", 2},
    [ACT_CDI_GONE] = {"the CDI directory is emptied", 2},
    [ACT_CDI_EDITED] = {"a CDI file is edited", 1},
    [ACT_API_AWAY] = {"the API server is away", 2},
    [ACT_API_BACK] = {"the API server is back", 2},
    [ACT_WAITING] = {"a pod waits", 4},
    [ACT_FREED] = {"a claim is deallocated", 4},
    [ACT_GIVEN_UP] = {"a claim is gone without unprepare", 2},
    [ACT_CHECKPOINT] = {"the kubelet's checkpoint changes", 3},
    [ACT_LIST_CUT] = {"listings end early", 1},
    [ACT_WAIT] = {"time passes", 6},
    [ACT_REST] = {"rest", 3},
    [ACT_SECOND] = {"another agent starts", 16},
    [ACT_STOP] = {"one of two agents is stopped", 5},
    [ACT_KILL_ONE] = {"one of two agents is killed", 6},
    [ACT_UPDATE] = {"an update to another agent, with calls", 3},
};

bool list_modelled;

static unsigned weight_of(enum act act)
{
    static const bool beyond[ACTS] = {
        [ACT_UNFIT] = true,       [ACT_REFUSE] = true,    [ACT_ROT] = true,
        [ACT_ROT_OLD] = true,     [ACT_ROT_MORE] = true,  [ACT_ROT_HEADER] = true,
        [ACT_STORE_ZEROS] = true, [ACT_STORE_CUT] = true, [ACT_CDI_EDITED] = true,
        [ACT_LIST_CUT] = true};
    return (list_modelled && beyond[act]) ? 0u : acts[act].weight;
}

const char *act_name(enum act act)
{
    return acts[act].name;
}

void list_make(struct world *w, struct list *l)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < (PAIRED(w->seed) ? ACTS : ACTS_ALONE); i++) {
        sum += weight_of((enum act)i);
    }
    *l = (struct list){.count = 8u + (unsigned)world_random(w, ACTIONS_MAX - 8u)};
    for (unsigned i = 0; i < l->count; i++) {
        uint64_t at = world_random(w, sum);
        unsigned act = 0;
        while (at >= weight_of((enum act)act)) {
            at -= weight_of((enum act)act);
            act++;
        }
        l->action[i] = (struct action){.act = (enum act)act, .number = world_random(w, UINT32_MAX)};
    }
}
