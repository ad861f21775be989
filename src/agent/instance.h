/* SPDX-License-Identifier: Apache-2.0 */
/* The only instance of the agent's state (instance.c), used by the frame. */
#ifndef AGENT_INSTANCE_H
#define AGENT_INSTANCE_H

struct agent;

/*
 * Return the driver of the Neuron devices, or of the EFA devices, with its pointers to the state of
 * each room. These functions write only the pointers: untouched pages of the tables stay
 * non-resident.
 */
struct agent *instance_neuron(void);
struct agent *instance_efa(void);

#endif
