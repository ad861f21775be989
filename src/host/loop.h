/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop: waits, moves bytes between descriptors and the agent's links, steps the agent, carries
 * out its orders, writes out its log. Owns every descriptor of the process and its one instance of
 * host state; decides nothing about the protocol or the domain.
 */
#ifndef HOST_LOOP_H
#define HOST_LOOP_H

#include "agent/settings.h"

/*
 * Runs until SIGTERM or SIGINT has been answered by a clean stop: STATUS_OK. Otherwise `why` gets
 * one line that names what cannot be had and the remedy. `settings` is borrowed. Once per process.
 */
MUST_USE enum status host_run(const struct settings *settings, struct writer *why);

#endif
