/* SPDX-License-Identifier: Apache-2.0 */
/* The only instance of the agent's state (instance.c), for the frame. */
#ifndef AGENT_INSTANCE_H
#define AGENT_INSTANCE_H

struct agent;

/*
 * The driver of the Neuron devices, or of the EFA devices, joined with what each room keeps of it.
 * Writes its pointers alone: untouched pages of the tables stay non-resident.
 */
struct agent *instance_neuron(void);
struct agent *instance_efa(void);

#endif
