/* SPDX-License-Identifier: Apache-2.0 */
/* The command `bundle`: writes a directory of files to attach to a problem report. */
#ifndef HOST_COMMANDS_BUNDLE_H
#define HOST_COMMANDS_BUNDLE_H

#include "host/commands/commands.h"

/*
 * Writes the files of the bundle; `input` is the source of the settings. Returns the same statuses
 * as commands_print, or PEER_MALFORMED if the directory of the bundle is not empty. Sets
 * m->answer_no if a file of the bundle is missing.
 */
MUST_USE enum status bundle_write(struct command_memory *m, const struct settings_input *input,
                                  struct writer *why);

#endif
