/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A schedule of claims: its actions (claims_list.c), what the calls for each claim came to while it
 * is played (claims.c), what a second agent does (claims_pair.c), and what must hold
 * (claims_check.c). Internal to these.
 */
#ifndef TESTS_SIM_VIRTUAL_CLAIMS_H
#define TESTS_SIM_VIRTUAL_CLAIMS_H

#include "tests/sim/virtual/row.h"

#define CLAIMS 10
#define SPARE_UID "claim-uid-spare"

#define ACTIONS_MAX 48
/* Each fourth schedule has a second agent. */
#define PAIRED(seed) ((seed) % 4 == 0)

enum act {
    ACT_PREPARE,
    ACT_UNPREPARE,
    ACT_REALLOCATE, /* a claim gets another device under its UID: its pod was deleted by force */
    ACT_UNFIT,      /* it gets one that is not here: a prepare is refused, and changes nothing */
    ACT_FAULT,      /* the next call of the kubelet meets one fault of the disk */
    ACT_KILL,
    ACT_REBOOT,
    ACT_REFUSE, /* a directory can be read only, or is full, until ACT_REST */
    ACT_ROT,    /* the newest half of a claim that is held */
    ACT_ROT_OLD,
    ACT_ROT_HEADER,
    ACT_ROT_MORE, /* the newest half of a record, and other witnesses with it */
    ACT_STORE_GONE,
    ACT_STORE_ZEROS,
    ACT_STORE_CUT,
    ACT_ALL_GONE, /* store and CDI files: only the API server knows the claims */
    ACT_CDI_GONE,
    ACT_CDI_EDITED,
    ACT_API_AWAY,
    ACT_API_BACK,
    ACT_WAITING,    /* a claim is reserved for a pod that the kubelet does not prepare yet */
    ACT_FREED,      /* a claim is no longer allocated: its pod was deleted early, or by force */
    ACT_GIVEN_UP,   /* a claim goes from the API server, and the kubelet never unprepares it */
    ACT_CHECKPOINT, /* the kubelet's is absent, old or damaged until ACT_REST, or as ever */
    ACT_LIST_CUT,   /* listings of the CDI root end early until ACT_REST */
    ACT_WAIT,
    ACT_REST,
    /* with a second agent */
    ACT_SECOND,
    ACT_STOP,
    ACT_KILL_ONE,
    ACT_UPDATE,
    ACTS,
    ACTS_ALONE = ACT_SECOND
};

struct action {
    enum act act;
    uint64_t number;
    bool left_out;
};

struct list {
    unsigned count;
    struct action action[ACTIONS_MAX];
};

const char *act_name(enum act act);
/*
 * Schedules have only what tests/model/claim.pml has: processes end and nodes reboot, and store,
 * CDI files, checkpoint and API server are lost as a whole, but no disk fails and nothing is
 * damaged in part.
 */
extern bool list_modelled;
/* The schedule of the world's seed. */
void list_make(struct world *w, struct list *l);

enum known {
    UNPREPARED,
    PREPARED,
    UNKNOWN /* a call was not answered, or its record was lost by two faults */
};

struct claim {
    bool allocated; /* it is at the API server */
    bool there;     /* so it is, without an allocation */
    bool reserved;  /* there, for a pod: from before its prepare until it is unprepared */
    bool waits;     /* its pod was never prepared, but may be: who lists claims holds it */
    bool listed;    /* it was prepared, and of that only the list of claims is left */
    bool freed;     /* it waits for its unprepare, and its allocation is gone */
    bool moved;     /* it is held, and allocated another device since */
    bool unfit;     /* it is allocated a device that the node has not: it cannot be prepared */
    bool rotted;    /* its newest half, and the process has not read it since */
    bool worn;      /* its older half did */
    unsigned device;
    uint64_t given; /* PREPARED: device of the last answer, bit N; 0: which it was may be lost */
    unsigned round; /* of its UID */
    unsigned boot;  /* in which it was prepared */
    bool from_file; /* its CDI file alone was left, which does not tell what was only listed */
    enum known known;
    char name[WORLD_CLAIM_CAP];
    char uid[WORLD_CLAIM_CAP];
};

struct play {
    struct world *w;
    struct row *r;
    struct claim claim[CLAIMS];
    uint64_t number; /* of the action */
    unsigned boot;
    bool refused;       /* a directory refuses writes */
    bool store_refused; /* it is that of the store */
    bool damaged;       /* the store was changed and not read since, or cannot be repaired */
    bool cdi_damaged;   /* CDI files were changed and cannot be written again */
    bool away;
};

/*
 * Number of the device that a claim is allocated: with world_parts each is two halves, and what
 * `device` counts are these.
 */
unsigned device_number(unsigned device);
/* That of the device which the API server names for the claim, as in claim.given. */
uint64_t allocated_number(const struct claim *c);
/* The agent that has the claim store; if none has, one that runs. */
struct agent *agent_of(const struct play *p);
bool two_run(const struct play *p);
bool is_held(const struct play *p, const struct claim *c);
/* Whether no damage is known that an agent has not read since. */
bool store_sound(const struct play *p);
/* An action with a second agent. */
void pair_act(struct play *p, enum act act);
/* The claim that only the look at readiness prepares; whether it was answered well. */
bool spare(const struct play *p, bool unprepare);

/* After each action. */
void check_always(const struct play *p);
/* Nothing is wrong any more, and there was time. */
void check_rest(const struct play *p);
/* The answer to a prepare; `simple`: nothing stands in the way of a claim that was prepared. */
void check_prepared(const struct play *p, const struct claim *c, bool well, bool simple);
/* Whether the file of the store has its length, and a header. */
bool store_is_whole(void);
/*
 * A prepare was answered well: with the device that the claim is allocated now, or, while the API
 * server cannot be asked, with the one that was held. Returns its number, as in claim.given.
 */
uint64_t check_allocation(const struct play *p, const struct claim *c);

#endif
