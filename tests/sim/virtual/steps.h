/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Observes the steps that each claim of a schedule makes, for a comparison with
 * tests/model/claim.pml: what the API server, the agent that has the store, the store, the CDI root
 * and the kubelet's last answer say of it, before and after. Owns what was observed; changes
 * nothing. Without steps_begin every function returns at once.
 *
 * A state is written as seven characters; `-` in the place of a letter: not so.
 *   - f a r x   API server: never created; free; allocated a device of this node; reserved for a
 *               pod; deleted
 *   . e h g     agent: none has the store open; slot empty; held; freeing
 *   C D         a record, as the next process reads it; as a loss of power leaves it
 *   F T         a CDI file; a tombstone
 *   P           the last reply to the kubelet says that the claim is prepared
 */
#ifndef TESTS_SIM_VIRTUAL_STEPS_H
#define TESTS_SIM_VIRTUAL_STEPS_H

#include "tests/sim/virtual/world.h"

/* Who made a step. */
enum actor {
    STEP_AGENT,
    STEP_CLUSTER,
    STEP_KUBELET,
    STEP_FAULT, /* a process ends, the node reboots, something is lost */
    STEP_KILL,  /* a process ends within a call of the files port, which may have had its effect */
    ACTORS
};

/* Observes from now on, in memory that all processes of the simulator share. */
void steps_begin(void);
/* A schedule begins on this node: no claim is known. */
void steps_schedule(struct world *w);
/* The port that an agent gets, in place of `files`. */
const struct files *steps_port(const struct files *files);
/* Compares every claim with what was observed last; what differs is a step of this actor. */
void steps_see(enum actor actor);
/* The same, at the end of a step of an agent: quick if that touched nothing. */
void steps_see_step(void);
/* A slot of the ledger moved. */
void steps_moved(void);
/* A process is about to be killed, and was. */
void steps_killed(void);
void steps_ended(void);
/* The claim is stored at the API server. */
void steps_claim(const char *name, const char *uid, bool allocated, bool reserved);
void steps_claim_deleted(const char *name);
/* The kubelet calls for the claim, and is answered. */
void steps_call(const char *uid, bool unprepare);
void steps_answered(bool well);
/* Writes each step once: who, before, after, how often, seed of the first. false: it cannot. */
bool steps_write(const char *path);

#endif
