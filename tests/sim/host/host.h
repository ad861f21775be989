/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the programs sim-kubelet and sim-apiserver share: clock, commands by lines on stdin, answers
 * by lines on stdout. Owns the text of one line; a program ends when its stdin does, so that none
 * outlives the one who started it.
 */
#ifndef TESTS_SIM_HOST_HOST_H
#define TESTS_SIM_HOST_HOST_H

#include "base/bytes.h"

/* One command: an object in hexadecimal. Longer ones end the program. */
#define HOST_LINE_BYTES 524288
/* Words of one command: a call of the kubelet names 64 claims by three words each. */
#define HOST_WORDS_MAX 200

struct host_words {
    char *at[HOST_WORDS_MAX];
    unsigned count;
};

uint64_t host_now_ms(void);
uint64_t host_now_s(void);
/* Reads what stands on stdin, at most one buffer; false at its end. */
bool host_read(void);
/* Next complete line, split at spaces; valid until the next host_read. */
bool host_command(struct host_words *words);
/* Writes one line; ends the program when nobody reads. */
void host_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Writes a line of the text, a space and the bytes in hexadecimal ("-": none). */
void host_say_bytes(const char *text, struct view bytes);
/* Decodes hexadecimal; false when it is none or has no room. */
bool host_bytes(const char *hex, struct writer *out);
/* Value of --name in the arguments, or `otherwise`; ends the program on an unknown argument. */
const char *host_option(int argc, char **argv, const char *name, const char *otherwise);
/* Every argument must be one of the names (NULL ends them) with a value; else exit 2. */
void host_usage(int argc, char **argv, const char *const *names);
_Noreturn void host_fail(const char *what);
/* Milliseconds for poll(2) until `at_ms`, at most an hour. */
int host_wait_ms(uint64_t at_ms);

#endif
