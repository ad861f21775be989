/* SPDX-License-Identifier: Apache-2.0 */
/* The command `bundle`: a directory of files for a report of a problem (bundle.c). */
#ifndef HOST_COMMANDS_BUNDLE_H
#define HOST_COMMANDS_BUNDLE_H

#include "host/commands/commands.h"

/*
 * Writes the files; `input`: the source of the settings. Returns the results of commands_print;
 * sets m->answer_no when a file is missing. PEER_MALFORMED: the directory is not empty.
 */
MUST_USE enum status bundle_write(struct command_memory *m, const struct settings_input *input,
                                  struct writer *why);

#endif
