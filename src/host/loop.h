/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The main loop: waits for events, moves bytes between descriptors and the agent's links, steps the
 * agent, executes its orders and writes its log. Owns every descriptor of the process and the only
 * instance of host state; decides nothing about protocols or the domain.
 */
#ifndef HOST_LOOP_H
#define HOST_LOOP_H

#include "agent/settings.h"

/*
 * Runs the agent until SIGTERM or SIGINT, then stops cleanly and returns STATUS_OK. Other statuses:
 * the agent cannot start, or cannot continue, and `why` gets one line with the reason and the
 * remedy. `settings` is borrowed. Call once.
 */
MUST_USE enum status host_run(const struct settings *settings, struct writer *why);
/*
 * Runs the command given in `settings` (any command except `run`) until it ends. *no: the command
 * succeeded, but the exit code must be 1 (commands.h). PEER_MALFORMED: the usage is wrong. Other
 * failures: the command cannot run. On failure `why` gets one line. Call once.
 */
MUST_USE enum status host_command(const struct settings *settings,
                                  const struct settings_input *input, bool *no, struct writer *why);

#endif
