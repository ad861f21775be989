/* SPDX-License-Identifier: Apache-2.0 */
/* The only instance of the agent's state (instance.c); the frame uses it. */
#ifndef AGENT_INSTANCE_H
#define AGENT_INSTANCE_H

struct agent;

/*
 * instance_neuron returns the driver of the Neuron devices, instance_efa that of the EFA devices.
 * In the returned driver, the pointers to its state are set. These functions write only the
 * pointers, because pages of the tables that nothing has written use no memory.
 */
struct agent *instance_neuron(void);
struct agent *instance_efa(void);

#endif
