/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a claim on one node, for Spin: README.md in this folder says what each part stands for, what is left out,
 * and how to read a counterexample. Names of functions in comments are those of src/agent.
 *
 * Each STEP is one change that a crash, a reboot or another process can come before or after. Nothing inside a STEP can be
 * interrupted. tools/model/model.py sets the constants below, and collects the steps when STEPS is defined.
 */
#define UIDS 2 /* claims, each with a UID of its own; there are two devices */
#ifndef CLAIMS
#define CLAIMS 2 /* 1: claim 1 is never created, so that more faults can be searched */
#endif
#ifndef FAULTS
#define FAULTS 1 /* crashes, reboots, losses and deletions by force, all together; ENDLESS: any number */
#endif
#define ENDLESS 9
#ifndef UPDATES
#define UPDATES 1 /* times that a second agent starts beside the first; ENDLESS: any number */
#endif
#ifndef SAME_NAME
#define SAME_NAME 0 /* 1: claim 1 is created with the name of claim 0, after that one is deleted */
#endif
#ifndef FIXED_ORDER
#define FIXED_ORDER 0 /* 1: with LIVENESS, the agent does its jobs in one order, so that more claims can be searched */
#endif

/* --- a record: as the store, a CDI file and the memory of an agent have it; 0: none --- */
#define DEV(r) ((r) & 3)            /* the device, 1 or 2 */
#define OLD 4                       /* not prepared in this boot of the node */
#define REBUILT 8                   /* from the list of the API server; the kubelet has not asked for it since */
#define FILE_OF(r) ((r) & ~REBUILT) /* a CDI file does not record whether the claim was rebuilt */

/* --- a claim at the API server --- */
#define ABSENT 0    /* not created yet */
#define FREE 1      /* not allocated */
#define ALLOCATED 2 /* the scheduler chose a device of this node */
#define RESERVED 3  /* besides, a pod is to use it */
#define DELETED 4   /* for good: a claim with this name has another UID */

/* --- a slot in the memory of an agent --- */
#define EMPTY 0
#define HELD 1
#define FREEING 2

/* --- a call of the kubelet --- */
#define NO_CALL 0
#define PREPARE 1
#define UNPREPARE 2
#define ANSWERED 3
#define REFUSED 4

/* --- the pod of a claim on this node, as the kubelet knows it --- */
#define NO_POD 0
#define STARTING 1
#define RUNNING 2
#define ENDING 3 /* the claim is to be unprepared */

#define NOBODY 2

/* The API server and the scheduler. */
byte api[UIDS];
byte api_dev[UIDS];
bool api_up = true;

/* The disk: `cached` is what a process reads, `flushed` what a loss of power leaves. */
bool store = true;          /* there is a file */
bool list_flag;             /* its header asks for the list of claims */
byte cached[UIDS];
byte flushed[UIDS];

/* The CDI root, in memory. */
byte cdi[UIDS];
bool tombstone[UIDS];

/* The kubelet. `listed` is its checkpoint on the disk, `newer` that it was written after the claim's last prepare. */
bool listed[UIDS];
bool newer[UIDS];
bool checkpoint = true;     /* there is a file */
byte call[UIDS];
byte pod[UIDS];
byte used[UIDS];            /* the device that a container has open; 0: none runs */

/* Two agents. */
byte owner = NOBODY;        /* who has LOCK_OWNER */
byte next_owner = NOBODY;   /* who has LOCK_NEXT */
bool runs[2];
bool killed[2];
bool had[2];                /* this process has owned the store before */
typedef memory {
    bool open;              /* ledger.usable */
    bool unlisted;          /* ledger.unlisted */
    bool seen;              /* reconcile.unseen is false: the CDI root was listed */
    bool dirty;             /* ledger.dirty: this process wrote a record, and has not flushed it */
    bool listing;           /* the list is under way; `list` is what it will say */
    byte list[UIDS];
    byte slot[UIDS];
    byte record[UIDS];
    bool gone[UIDS];        /* claim_check.gone */
};
memory mem[2];

/* Records of the kubelet's calls, which only the properties read. */
byte given[UIDS];           /* the last answer was a prepare with this device, and still binds the agent; 0: not so */
bool this_boot[UIDS];       /* and that was in this boot */
#ifdef STEPS
bool told[UIDS];            /* the last answer was a prepare, whether it binds the agent or not */
#endif
bool ended[UIDS];           /* the last answer was an unprepare that went well */
bool forgotten[UIDS];       /* a container runs that the kubelet does not protect: unprepared, or its checkpoint was lost */

/*
 * The claim that the agent works for, + 1; 0: for none. The pod and the API object of the other claim stand still
 * meanwhile, because what they do changes nothing that this work reads: it makes the search smaller.
 */
byte busy_for;
#define MAY_MOVE (busy_for == 0 || busy_for == x + 1)

byte faults = FAULTS;
byte updates = UPDATES;
#define FAULT_HAPPENS faults = (faults == ENDLESS -> ENDLESS : faults - 1)
#define UPDATE_HAPPENS updates = (updates == ENDLESS -> ENDLESS : updates - 1)

/* --- steps --- */
#ifdef STEPS
c_decl {
\#include "steps.h"
}
#define BEFORE c_code { STEPS_BEFORE; }
#define AFTER_AGENT c_code { STEPS_AFTER('A'); }
#define AFTER_KUBELET c_code { STEPS_AFTER('K'); }
#define AFTER_CLUSTER c_code { STEPS_AFTER('C'); }
#define AFTER_FAULT c_code { STEPS_AFTER('F'); }
#define STEP(who, what) d_step { BEFORE; what; AFTER_##who }
#define WHEN(guard, who, what) d_step { guard; BEFORE; what; AFTER_##who }
#else
#define STEP(who, what) d_step { what }
#define WHEN(guard, who, what) d_step { guard; what }
#endif

/* By this record the claim is over. */
#define OVER(x, r) (api[x] == DELETED || (((r) & REBUILT) && api[x] == FREE))
/* The agent holds a claim that is over, as the API server answers. */
#define IS_OVER(x, i) (mem[i].slot[x] == HELD && OVER(x, mem[i].record[x]))
#ifdef STEPS
#define TELL(x, well) told[x] = well
#else
#define TELL(x, well) skip
#endif
/*
 * No memory was left when the store was lost, so the list of claims is asked for. What was unprepared may come back with
 * it while a pod has it reserved, unless its tombstone says so.
 */
#define NO_WITNESS(x) ended[x] = ended[x] && tombstone[x]
/* What was answered does not bind the agent any more. */
#define ACQUIT(x) given[x] = 0; this_boot[x] = false

#define SLOT mem[me].slot
#define RECORD mem[me].record
#define IS_HELD(x) (SLOT[x] == HELD)
#define DIRTY mem[me].dirty
#define WRITE(x, entry) cached[x] = entry; mem[me].dirty = true
#define FLUSH flushed[0] = cached[0]; flushed[1] = cached[1]; mem[me].dirty = false
#define OTHER(x) (1 - (x))
/* Another claim that holds this device, by a record of this boot, or of an earlier one. */
#define RIVAL(x, d) (IS_HELD(OTHER(x)) && DEV(RECORD[OTHER(x)]) == (d))
#define STALE_RIVAL(x, d) (RIVAL(x, d) && (RECORD[OTHER(x)] & OLD))
#define FIRM_RIVAL(x, d) (RIVAL(x, d) && !(RECORD[OTHER(x)] & OLD))

/*
 * --- properties that are looked at when something happens ---
 *
 * A counterexample names the property: these are always false, and stand in each assertion beside what has to hold.
 */
hidden byte answer_is_lost;      /* a prepare was answered well, and nothing holds the claim's device for it */
hidden byte device_is_shared;    /* two living claims have one device, or two agents the store */
hidden byte device_is_in_use;    /* a claim is released, or its device given away, while a pod may use it */
hidden byte claim_comes_back;    /* an unprepared claim is held again */

/* A prepare is answered well: the claim survives a loss of power, and the container runtime finds its device. */
#define CHECK_ANSWER(x) \
    assert((flushed[x] && DEV(flushed[x]) == DEV(RECORD[x])) || answer_is_lost); \
    assert((cdi[x] && DEV(cdi[x]) == DEV(RECORD[x])) || answer_is_lost); \
    assert(!(given[OTHER(x)] == DEV(RECORD[x]) && this_boot[OTHER(x)]) || device_is_shared); \
    assert(used[OTHER(x)] != DEV(RECORD[x]) || device_is_in_use)

/* The agent releases a claim by itself: no container has it open, and no answer stands that the kubelet knows. */
#define CHECK_RELEASE(x) \
    assert(used[x] == 0 || forgotten[x] || device_is_in_use); \
    assert(!(given[x] && this_boot[x] && listed[x]) || device_is_in_use)

/* An agent that is open, and waits for no list, holds what was answered, and nothing that was unprepared. */
#define KNOWS(i) (mem[i].open && mem[i].seen && !mem[i].unlisted && store)
#define LOST(i, x) (KNOWS(i) && given[x] && !(mem[i].slot[x] == HELD && DEV(mem[i].record[x]) == given[x]))
/* Nor does it leave out a claim whose CDI file is there, even before the list of claims. */
#define LEFT_OUT(i, x) (mem[i].open && mem[i].seen && store && busy_for == 0 && given[x] && DEV(cdi[x]) == given[x] && \
    mem[i].slot[x] != HELD)
#define BACK(i, x) (KNOWS(i) && ended[x] && call[x] != UNPREPARE && mem[i].slot[x] == HELD)
#define TWO_OWNERS (mem[0].open && mem[1].open)

/* --- an agent: the ledger --- */

#define SET_FREEING(x) SLOT[x] = FREEING; RECORD[x] = 0; mem[me].gone[x] = false; newer[x] = false
/* release_slot */
inline release(x)
{
    if
    :: cdi[x] ->
        STEP(AGENT, SET_FREEING(x); tombstone[x] = true; cdi[x] = 0); /* cdi_bury */
        STEP(AGENT, WRITE(x, 0))
    :: else ->
        STEP(AGENT, SET_FREEING(x));
        STEP(AGENT, WRITE(x, 0));
        if
        :: mem[me].unlisted -> STEP(AGENT, tombstone[x] = true) /* cdi_mark_gone */
        :: else
        fi
    fi
}

/* settle_slot: the release is on the disk */
inline settle(x)
{
    if
    :: SLOT[x] == FREEING && tombstone[x] && !mem[me].unlisted -> STEP(AGENT, tombstone[x] = false)
    :: else
    fi;
    if
    :: SLOT[x] == FREEING -> STEP(AGENT, SLOT[x] = EMPTY)
    :: else
    fi
}

/* ledger_sync */
inline sync()
{
    if
    :: DIRTY -> STEP(AGENT, FLUSH)
    :: else
    fi;
    settle(0);
    settle(1)
}

/* ledger_adopt: the record alone */
inline write_record(x, entry)
{
    STEP(AGENT, WRITE(x, entry); SLOT[x] = HELD; RECORD[x] = entry; newer[x] = false)
}

inline ensure_cdi(x)
{
    if
    :: cdi[x] != FILE_OF(RECORD[x]) -> STEP(AGENT, cdi[x] = FILE_OF(RECORD[x]))
    :: else
    fi
}

/* --- an agent: the kubelet's calls --- */

inline answer_prepare(x)
{
    d_step {
        if
        :: call[x] == PREPARE ->
            CHECK_ANSWER(x);
#ifdef STEPS
            BEFORE;
#endif
            call[x] = ANSWERED;
            TELL(x, true);
            given[x] = DEV(RECORD[x]);
            this_boot[x] = true;
            ended[x] = false;
#ifdef STEPS
            AFTER_KUBELET
#endif
        :: else /* the kubelet has ended the call */
        fi;
        d = 0;
        busy_for = 0
    }
}

inline refuse(x)
{
    d_step {
        if
        :: call[x] == PREPARE -> call[x] = REFUSED
        :: else
        fi;
        d = 0;
        busy_for = 0
    }
}

/* prepare_known: the record answers */
inline prepare_known(x)
{
    if
    :: FIRM_RIVAL(x, DEV(RECORD[x])) -> refuse(x)
    :: !FIRM_RIVAL(x, DEV(RECORD[x])) && (RECORD[x] & REBUILT) && api_up && used[OTHER(x)] == DEV(RECORD[x]) ->
        refuse(x) /* device_memory_check */
    :: else ->
        newer[x] = false;
        if /* reconcile_prepared_again */
        :: RECORD[x] & (OLD | REBUILT) ->
            STEP(AGENT, cdi[x] = DEV(RECORD[x]));
            write_record(x, DEV(RECORD[x]))
        :: else
        fi;
        ensure_cdi(x);
        sync();
        answer_prepare(x)
    fi
}

/* prepare_new: with the device d of the API server */
inline prepare_new(x)
{
    if
    :: FIRM_RIVAL(x, d) -> refuse(x)
    :: !FIRM_RIVAL(x, d) && used[OTHER(x)] == d -> refuse(x) /* device_memory_check */
    :: else ->
        d_step {
            if
            :: IS_HELD(x) && DEV(RECORD[x]) != d && given[x] -> /* it is allocated another device than it has here */
                assert(used[x] == 0 || device_is_in_use); /* by the containers of the pod before */
                ACQUIT(x)
            :: else
            fi
        }
        STEP(AGENT, cdi[x] = d);
        if
        :: STALE_RIVAL(x, d) ->
            CHECK_RELEASE(OTHER(x));
            ACQUIT(OTHER(x));
            release(OTHER(x))
        :: else
        fi;
        write_record(x, d);
        newer[x] = false;
        if
        :: tombstone[x] -> STEP(AGENT, tombstone[x] = false)
        :: else
        fi;
        sync();
        answer_prepare(x)
    fi
}

/* prepare_step */
inline prepare(x)
{
    if
    :: d_step { IS_HELD(x) && api_up && api[x] >= ALLOCATED && api[x] != DELETED && api_dev[x] != DEV(RECORD[x]) ->
        d = api_dev[x] };
        prepare_new(x)
    :: IS_HELD(x) && api_up && api[x] == FREE -> refuse(x)
    :: IS_HELD(x) && (!api_up || api[x] == DELETED || (api[x] >= ALLOCATED && api_dev[x] == DEV(RECORD[x]))) ->
        prepare_known(x)
    :: d_step { !IS_HELD(x) && !mem[me].unlisted && mem[me].seen && api_up && (api[x] == ALLOCATED || api[x] == RESERVED) ->
        d = api_dev[x] };
        prepare_new(x)
    :: !IS_HELD(x) && (mem[me].unlisted || !mem[me].seen || !api_up || api[x] < ALLOCATED || api[x] == DELETED) ->
        refuse(x)
    fi
}

/*
 * unprepare_step while the store is lost and the agent has not found that out: the file goes first.
 * The write to the store then finds it absent; what follows is remake, and unprepare of a slot that
 * is FREEING.
 */
inline unprepare_unstored(x)
{
    if
    :: cdi[x] -> STEP(AGENT, SET_FREEING(x); tombstone[x] = true; cdi[x] = 0)
    :: else -> STEP(AGENT, SET_FREEING(x))
    fi;
    busy_for = 0
}

/* unprepare_step, which asks nobody */
inline unprepare(x)
{
    if
    :: IS_HELD(x) -> release(x)
    :: SLOT[x] == EMPTY && mem[me].unlisted -> /* remove_unread */
        STEP(AGENT, tombstone[x] = true; cdi[x] = 0)
    :: SLOT[x] == EMPTY && !mem[me].unlisted ->
        if
        :: cdi[x] -> STEP(AGENT, cdi[x] = 0)
        :: else
        fi;
        if
        :: tombstone[x] -> STEP(AGENT, tombstone[x] = false)
        :: else
        fi
    :: SLOT[x] == FREEING && mem[me].unlisted && !tombstone[x] -> /* remove_again */
        STEP(AGENT, tombstone[x] = true; cdi[x] = 0)
    :: SLOT[x] == FREEING && !(mem[me].unlisted && !tombstone[x])
    fi;
    sync();
    d_step {
        if
        :: call[x] == UNPREPARE -> call[x] = ANSWERED; ended[x] = true
        :: else
        fi;
        busy_for = 0
    }
}

/* --- an agent: recovery --- */

/* may_release: a witness says that the kubelet will not unprepare the claim */
#define MAY_RELEASE(x) ((RECORD[x] & OLD) || (checkpoint && !listed[x] && newer[x]))

/* answered_gone: the second such answer releases the claim */
inline look(x)
{
    if
    :: IS_OVER(x, me) ->
        if
        :: !mem[me].gone[x] -> mem[me].gone[x] = true
        :: d_step { mem[me].gone[x] && MAY_RELEASE(x) ->
            CHECK_RELEASE(x);
            ACQUIT(x) };
            release(x)
        :: mem[me].gone[x] && !MAY_RELEASE(x) /* withhold_claim */
        fi
    :: else -> mem[me].gone[x] = false
    fi;
    busy_for = 0
}

#define LOOK_DUE(x) (IS_HELD(x) && (IS_OVER(x, me) || mem[me].gone[x])) /* other answers change nothing */

/* handle_files and check_slot: one claim of a later round */
inline files(x)
{
    if
    :: IS_HELD(x) && tombstone[x] && cdi[x] -> STEP(AGENT, tombstone[x] = false)
    :: IS_HELD(x) && cdi[x] != FILE_OF(RECORD[x]) -> STEP(AGENT, cdi[x] = FILE_OF(RECORD[x]))
    :: SLOT[x] == EMPTY && cdi[x] -> STEP(AGENT, cdi[x] = 0) /* discard_file */
    :: SLOT[x] == FREEING && cdi[x] -> STEP(AGENT, tombstone[x] = true; cdi[x] = 0)
    :: SLOT[x] == EMPTY && !cdi[x] && tombstone[x] && !DIRTY && !mem[me].unlisted ->
        STEP(AGENT, tombstone[x] = false) /* is_past */
    :: else
    fi;
    busy_for = 0
}
#define FILES_DUE(x) ((IS_HELD(x) && (cdi[x] != FILE_OF(RECORD[x]) || tombstone[x])) || \
    (!IS_HELD(x) && cdi[x]) || (SLOT[x] == EMPTY && tombstone[x] && !DIRTY && !mem[me].unlisted))

/* adopt_claim of rebuild.c: what the list says of one claim */
inline adopt_listed(x)
{
    if
    :: !IS_HELD(x) && !tombstone[x] && !RIVAL(x, mem[me].list[x]) ->
        STEP(AGENT, cdi[x] = mem[me].list[x]);
        write_record(x, (mem[me].list[x] | REBUILT));
        newer[x] = false
    :: else
    fi;
    mem[me].list[x] = 0;
    busy_for = 0
}

/* handle_files while the store is opened: one claim */
inline adopt_file(x)
{
    if
#ifdef STEPS
    /* in the simulator no file is lost between its reading and the record */
    :: WHEN(cdi[x] && SLOT[x] == EMPTY, AGENT,
        WRITE(x, cdi[x]); SLOT[x] = HELD; RECORD[x] = cdi[x]; newer[x] = false)
#else
    :: d_step { cdi[x] && SLOT[x] == EMPTY -> d = cdi[x] };
        STEP(AGENT, WRITE(x, d); SLOT[x] = HELD; RECORD[x] = d; newer[x] = false; d = 0)
#endif
    :: else
    fi;
    if
    :: tombstone[x] && IS_HELD(x) && cdi[x] -> STEP(AGENT, tombstone[x] = false)
    :: tombstone[x] && IS_HELD(x) && !cdi[x] -> release(x)
    :: else
    fi
}

#define LOAD(x) \
    RECORD[x] = cached[x]; \
    SLOT[x] = (cached[x] -> HELD : EMPTY); \
    newer[x] = false

/* ledger_open, then reconcile_opened */
inline open_store()
{
    if
    :: !store -> STEP(AGENT, store = true; list_flag = true; NO_WITNESS(0); NO_WITNESS(1))
    :: else
    fi;
    STEP(AGENT, LOAD(0); LOAD(1); mem[me].unlisted = list_flag; mem[me].open = true; had[me] = true);
    /* flush_doubted: the process cannot tell whether what it reads was flushed; a flush that changes nothing is left out */
    if
    :: cached[0] != flushed[0] || cached[1] != flushed[1] -> STEP(AGENT, FLUSH)
    :: else
    fi;
    adopt_file(0);
    adopt_file(1);
    mem[me].seen = true
}

/* create_again: a store that is gone is made again from memory */
inline remake()
{
    STEP(AGENT, mem[me].open = false);
    STEP(AGENT,
        store = true;
        list_flag = mem[me].unlisted;
        cached[0] = (IS_HELD(0) -> RECORD[0] : 0);
        cached[1] = (IS_HELD(1) -> RECORD[1] : 0);
        FLUSH);
    STEP(AGENT, mem[me].open = true);
    adopt_file(0);
    adopt_file(1)
}

#define FORGET(i) \
    mem[i].open = false; mem[i].unlisted = false; mem[i].seen = false; mem[i].dirty = false; mem[i].listing = false; \
    mem[i].list[0] = 0; mem[i].list[1] = 0; mem[i].slot[0] = EMPTY; mem[i].slot[1] = EMPTY; \
    mem[i].record[0] = 0; mem[i].record[1] = 0; mem[i].gone[0] = false; mem[i].gone[1] = false

/* ledger_retire */
inline hand_over()
{
    sync();
    STEP(AGENT, FORGET(me); owner = NOBODY; next_owner = OTHER(me); done = 0)
}

/* --- an agent --- */

#define MINE (owner == me)
#define MAY_OWN (runs[me] && owner == NOBODY && (next_owner == NOBODY || next_owner == me))
#define LIST_OF(x) (api[x] == RESERVED -> api_dev[x] : 0)
#define LIST_DUE (mem[me].unlisted && !mem[me].listing && api_up)
#define LIST_ANSWER mem[me].list[0] = LIST_OF(0); mem[me].list[1] = LIST_OF(1); mem[me].listing = true
#define LIST_READ (mem[me].listing && !mem[me].list[0] && !mem[me].list[1])
#define SYNC_DUE (DIRTY || SLOT[0] == FREEING || SLOT[1] == FREEING)
#define UNSTORED_DUE(x) (!store && call[x] == UNPREPARE && IS_HELD(x))
#define HANDOVER_DUE (runs[OTHER(me)] && !had[OTHER(me)])
#define PREPARE_DUE(x) (call[x] == PREPARE)
#define UNPREPARE_DUE(x) (call[x] == UNPREPARE)
#define ANSWER_DUE(x) (LOOK_DUE(x) && api_up)
#ifdef LIVENESS
/*
 * The agent does its jobs in any order, each as often as it likes: `done` has a bit for each that it has done since the
 * last `turn`, and `turn` is true once when no other is due. With FIXED_ORDER it does one after the other, and `done` is
 * the next.
 */
bool turn;
#define JOBS 12
#if FIXED_ORDER
#define UNDONE(n, due) (done == n && (due))
#define JOB(n, due, claim) d_step { store && UNDONE(n, due) -> done = n + 1; busy_for = claim }
#define ALL_DONE (done == JOBS)
#else
#define UNDONE(n, due) ((due) && !(done & (1 << n)))
#define JOB(n, due, claim) d_step { store && (due) -> done = done | (1 << n); busy_for = claim }
#define ALL_DONE true
#endif
#define NONE_DUE (!UNDONE(0, PREPARE_DUE(0)) && !UNDONE(1, PREPARE_DUE(1)) && !UNDONE(2, UNPREPARE_DUE(0)) && \
    !UNDONE(3, UNPREPARE_DUE(1)) && !UNDONE(4, ANSWER_DUE(0)) && !UNDONE(5, ANSWER_DUE(1)) && \
    !UNDONE(6, FILES_DUE(0)) && !UNDONE(7, FILES_DUE(1)) && !UNDONE(8, SYNC_DUE) && !LIST_DUE && \
    !UNDONE(9, mem[me].list[0]) && !UNDONE(10, mem[me].list[1]) && !UNDONE(11, LIST_READ) && !HANDOVER_DUE)
#else
#define JOB(n, due, claim) d_step { store && (due) -> busy_for = claim }
#endif

/* ledger_listed */
inline end_list()
{
    sync();
    STEP(AGENT, mem[me].unlisted = false; mem[me].listing = false; list_flag = false)
}

proctype agent(byte me)
{
    byte d = 0;
    short done = 0; /* see `turn` */
again:
    {
        do
        :: d_step { MAY_OWN -> owner = me; next_owner = NOBODY } ->
            open_store();
            do
            :: !store -> remake()
            :: d_step { UNSTORED_DUE(0) -> busy_for = 1 } -> unprepare_unstored(0)
            :: d_step { UNSTORED_DUE(1) -> busy_for = 2 } -> unprepare_unstored(1)
            :: JOB(0, PREPARE_DUE(0), 1) -> prepare(0)
            :: JOB(1, PREPARE_DUE(1), 2) -> prepare(1)
            :: JOB(2, UNPREPARE_DUE(0), 1) -> unprepare(0)
            :: JOB(3, UNPREPARE_DUE(1), 2) -> unprepare(1)
            :: JOB(4, ANSWER_DUE(0), 1) -> look(0)
            :: JOB(5, ANSWER_DUE(1), 2) -> look(1)
            :: JOB(6, FILES_DUE(0), 1) -> files(0)
            :: JOB(7, FILES_DUE(1), 2) -> files(1)
            :: JOB(8, SYNC_DUE, 0) -> sync()
            :: d_step { store && LIST_DUE -> LIST_ANSWER }
            :: JOB(9, mem[me].list[0], 1) -> adopt_listed(0)
            :: JOB(10, mem[me].list[1], 2) -> adopt_listed(1)
            :: JOB(11, LIST_READ, 0) -> end_list()
            :: store && HANDOVER_DUE -> hand_over(); break
#ifdef LIVENESS
            :: d_step { store && NONE_DUE && ALL_DONE -> done = 0; turn = true } -> turn = false
#if FIXED_ORDER
            :: d_step { store && NONE_DUE && !ALL_DONE -> done++ }
#endif
#endif
            od
        od
    } unless { killed[me] };
    d_step { killed[me] = false; d = 0; done = 0 };
    goto again
}

/* --- the kubelet --- */

/* Whether it matters when the checkpoint was written. */
#define WITNESSED(x) (IS_OVER(x, 0) || IS_OVER(x, 1))
#define WRITES newer[0] = WITNESSED(0); newer[1] = WITNESSED(1); checkpoint = true

#define CALLS_ANEW (call[x] == NO_CALL && busy_for == 0) /* the agent drops what is left of a call that ended */

/* What the kubelet and the container runtime do for the pod of one claim. */
proctype kubelet(byte x)
{
    do
    :: WHEN(MAY_MOVE && pod[x] == NO_POD && api[x] == RESERVED && api_up && used[x] == 0, KUBELET, pod[x] = STARTING)
    /* prepare: the checkpoint first */
    :: d_step { pod[x] == STARTING && CALLS_ANEW ->
        listed[x] = true;
        WRITES;
        call[x] = PREPARE;
        ended[x] = false }
    :: d_step { MAY_MOVE && call[x] == ANSWERED && pod[x] == STARTING ->
        call[x] = NO_CALL;
        if
        :: cdi[x] -> used[x] = DEV(cdi[x]); pod[x] = RUNNING; assert(used[x] != used[OTHER(x)] || device_is_shared)
        :: else
        fi }
    :: d_step { MAY_MOVE && call[x] == REFUSED -> call[x] = NO_CALL }
    /* the pod ends, and its containers before the unprepare; one that was deleted by force may leave its containers */
    :: d_step { MAY_MOVE && pod[x] == RUNNING -> used[x] = 0; forgotten[x] = false; pod[x] = (listed[x] -> ENDING : NO_POD) }
    :: d_step { MAY_MOVE && pod[x] == STARTING && call[x] == NO_CALL -> pod[x] = (listed[x] -> ENDING : NO_POD) }
    :: WHEN(pod[x] == ENDING && CALLS_ANEW, KUBELET,
        call[x] = UNPREPARE; TELL(x, false); forgotten[x] = (used[x] != 0); ACQUIT(x))
    :: d_step { MAY_MOVE && call[x] == ANSWERED && pod[x] == ENDING ->
        call[x] = NO_CALL; pod[x] = NO_POD; listed[x] = false; WRITES }
    /* a container that outlived its pod */
    :: d_step { MAY_MOVE && used[x] && pod[x] != RUNNING -> used[x] = 0; forgotten[x] = false }
    od
}

/* The kubelet writes its checkpoint for claims of other drivers, too. */
proctype checkpoint_writer()
{
    do
    :: d_step { !checkpoint || (WITNESSED(0) && !newer[0]) || (WITNESSED(1) && !newer[1]) -> WRITES }
    od
}

/* --- the cluster --- */

/* Nothing on the node knows a claim that the store lost, and the API server does not name it any more. */
#define EXCUSE(x) \
    if \
    :: given[x] && !cdi[x] && !cached[x] && (!store || list_flag) && mem[0].slot[x] != HELD && mem[1].slot[x] != HELD && \
        !(api[x] == RESERVED && api_dev[x] == given[x]) -> ACQUIT(x) \
    :: else \
    fi
#define EXCUSES EXCUSE(0); EXCUSE(1)

/* Controllers and scheduler: one claim. A device is allocated to one claim at a time; claim 1 never gets device 2. */
proctype cluster(byte x)
{
    do
    :: WHEN(MAY_MOVE && api[x] == ABSENT && (x == 0 || !SAME_NAME || api[0] == DELETED), CLUSTER, api[x] = FREE)
    :: WHEN(MAY_MOVE && api[x] == FREE && api_dev[OTHER(x)] != 1, CLUSTER, api[x] = ALLOCATED; api_dev[x] = 1; newer[x] = false)
    :: WHEN(MAY_MOVE && x == 0 && api[x] == FREE && api_dev[OTHER(x)] != 2, CLUSTER, api[x] = ALLOCATED; api_dev[x] = 2; newer[x] = false)
    :: WHEN(MAY_MOVE && api[x] == ALLOCATED, CLUSTER, api[x] = RESERVED)
    /* the pod is over */
    :: WHEN(MAY_MOVE && api[x] == RESERVED && pod[x] == NO_POD, CLUSTER, api[x] = ALLOCATED; EXCUSES)
    :: WHEN(MAY_MOVE && api[x] == ALLOCATED && pod[x] == NO_POD, CLUSTER, api[x] = FREE; api_dev[x] = 0; EXCUSES)
    :: WHEN(MAY_MOVE && api[x] == FREE, CLUSTER, api[x] = DELETED; EXCUSES)
    /* the pod is deleted by force: the kubelet hears of it, and its containers may live on */
    :: WHEN(MAY_MOVE && api[x] == RESERVED && pod[x] != NO_POD && call[x] == NO_CALL && faults, CLUSTER,
        FAULT_HAPPENS; api[x] = FREE; api_dev[x] = 0; pod[x] = (listed[x] -> ENDING : NO_POD); EXCUSES)
    od
}

/* --- what goes wrong --- */

#define CRASH(i) FORGET(i); killed[i] = true; had[i] = false; \
    busy_for = (owner == i -> 0 : busy_for); \
    owner = (owner == i -> NOBODY : owner); next_owner = (next_owner == i -> NOBODY : next_owner)
/* A tombstone that the list of claims was to heed goes: what was unprepared may be taken in, until it is deallocated. */
#define LIST_ASKED (list_flag || mem[0].unlisted || mem[1].unlisted)
#define NO_TOMBSTONE(x) ended[x] = (tombstone[x] && LIST_ASKED -> false : ended[x]); tombstone[x] = false
/*
 * The page of the claim was written back before the power went, or was not. The CDI root is in memory: it goes, too.
 */
#define REBOOT_PAGE(x, kept) \
    flushed[x] = (kept -> cached[x] : flushed[x]); \
    flushed[x] = (flushed[x] -> flushed[x] | OLD : 0); \
    cached[x] = flushed[x]; \
    NO_TOMBSTONE(x); \
    cdi[x] = 0; used[x] = 0; call[x] = NO_CALL; this_boot[x] = false; forgotten[x] = false; \
    pod[x] = (pod[x] == RUNNING -> STARTING : pod[x]); \
    pod[x] = (api[x] != RESERVED && pod[x] == STARTING -> (listed[x] -> ENDING : NO_POD) : pod[x])
#define REBOOT(kept0, kept1) FAULT_HAPPENS; CRASH(0); CRASH(1); REBOOT_PAGE(0, kept0); REBOOT_PAGE(1, kept1); EXCUSES
#define BUSY (call[0] == PREPARE || call[0] == UNPREPARE || call[1] == PREPARE || call[1] == UNPREPARE)
/* An opening that finds the store gone begins again. */
#define OPENING ((owner == 0 && !mem[0].seen) || (owner == 1 && !mem[1].seen))
/* The kubelet restarts with a checkpoint that does not list the claim. */
#define FORGETS(x) \
    listed[x] = false; \
    call[x] = NO_CALL; \
    forgotten[x] = (used[x] != 0); \
    pod[x] = (pod[x] == ENDING -> NO_POD : pod[x])

proctype trouble()
{
    do
    :: WHEN(faults && runs[0] && !killed[0], FAULT, FAULT_HAPPENS; CRASH(0))
    :: WHEN(faults && runs[1] && !killed[1], FAULT, FAULT_HAPPENS; CRASH(1))
    :: WHEN(faults, FAULT, REBOOT(false, false))
    :: WHEN(faults && cached[0] != flushed[0], FAULT, REBOOT(true, false))
    :: WHEN(faults && cached[1] != flushed[1], FAULT, REBOOT(false, true))
    /* the loss of each witness; while a call runs the store is not lost, see README.md */
    :: WHEN(faults && store && busy_for == 0 && !OPENING, FAULT, FAULT_HAPPENS; store = false; list_flag = false;
        cached[0] = 0; flushed[0] = 0; cached[1] = 0; flushed[1] = 0; EXCUSES)
    :: WHEN(faults && (cdi[0] || cdi[1] || tombstone[0] || tombstone[1]) && busy_for == 0, FAULT, FAULT_HAPPENS;
        NO_TOMBSTONE(0); NO_TOMBSTONE(1); cdi[0] = 0; cdi[1] = 0; EXCUSES)
    :: d_step { faults && checkpoint -> FAULT_HAPPENS; FORGETS(0); FORGETS(1); checkpoint = false }
    :: d_step { faults && api_up -> FAULT_HAPPENS; api_up = false }
    /* the kubelet restarts, and repeats its calls */
    :: d_step { faults && BUSY -> FAULT_HAPPENS; call[0] = NO_CALL; call[1] = NO_CALL }
    /* a rolling update; the first agent ends, or the second one does */
    :: d_step { updates && !runs[1] -> UPDATE_HAPPENS; runs[1] = true }
    :: WHEN(runs[0] && runs[1] && owner == 1 && !killed[0], FAULT, runs[0] = false; CRASH(0))
    :: WHEN(runs[0] && runs[1] && owner == 0 && !killed[1], FAULT, runs[1] = false; CRASH(1))
    od
}

proctype api_returns()
{
    do
    :: d_step { !api_up -> api_up = true }
    od
}

init {
    atomic {
        runs[0] = true;
        run agent(0);
        run agent(1);
        run kubelet(0);
        run cluster(0);
        if
        :: CLAIMS == 2 -> run kubelet(1); run cluster(1)
        :: CLAIMS == 1
        fi;
        run checkpoint_writer();
        run api_returns();
        run trouble()
    }
}

#ifndef LIVENESS
/* Looked at in every state. */
active proctype always()
{
    do
    :: d_step { LOST(0, 0) || LOST(0, 1) || LOST(1, 0) || LOST(1, 1) -> assert(answer_is_lost) }
    :: d_step { LEFT_OUT(0, 0) || LEFT_OUT(0, 1) || LEFT_OUT(1, 0) || LEFT_OUT(1, 1) -> assert(answer_is_lost) }
    :: d_step { BACK(0, 0) || BACK(0, 1) || BACK(1, 0) || BACK(1, 1) -> assert(claim_comes_back) }
    :: d_step { TWO_OWNERS -> assert(device_is_shared) }
    od
}
#else
/*
 * A claim that is over is released in the end. Over: deleted at the API server, or rebuilt from the list, not prepared
 * since and deallocated; unprepared or forgotten by the kubelet; and no container left. Assumed: from some time on the API
 * server answers, and again and again the agent has done each of its jobs that is due (`turn`) while the kubelet's
 * checkpoint is newer than the claim's prepare.
 */
#define LEFT_OVER(x, i) (mem[i].slot[x] == HELD && OVER(x, mem[i].record[x]))
#define UNRELEASED(x) (api_up && pod[x] == NO_POD && !listed[x] && used[x] == 0 && call[x] == NO_CALL && \
    (LEFT_OVER(x, 0) || LEFT_OVER(x, 1) || (cached[x] && OVER(x, cached[x])) || (cdi[x] && api[x] == DELETED)))
#define TURN(x) (turn && checkpoint && (!WITNESSED(x) || newer[x]))

never {
    do
    :: true
    :: UNRELEASED(0) -> goto waits_0
    :: UNRELEASED(1) -> goto waits_1
    od;
waits_0:
    do
    :: UNRELEASED(0)
    :: UNRELEASED(0) && TURN(0) -> goto accept_0
    od;
accept_0:
    if
    :: UNRELEASED(0) -> goto begun_0
    fi;
begun_0:
    do
    :: UNRELEASED(0) && turn
    :: UNRELEASED(0) && !turn -> goto waits_0
    od;
waits_1:
    do
    :: UNRELEASED(1)
    :: UNRELEASED(1) && TURN(1) -> goto accept_1
    od;
accept_1:
    if
    :: UNRELEASED(1) -> goto begun_1
    fi;
begun_1:
    do
    :: UNRELEASED(1) && turn
    :: UNRELEASED(1) && !turn -> goto waits_1
    od
}
#endif
