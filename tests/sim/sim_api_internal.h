/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the API server model share: sim_api.c has connections and streams,
 * sim_api_path.c reads requests, sim_api_serve.c answers them, sim_api_answer.c writes answers,
 * sim_api_watch.c feeds watches, sim_api_valid.c judges slices. Nobody else includes it.
 */
#ifndef TESTS_SIM_SIM_API_INTERNAL_H
#define TESTS_SIM_SIM_API_INTERNAL_H

#include "tests/sim/sim_api.h"

/* --- sim_api_path.c --- */

/* What the stream's path names and asks; SIM_TARGET_NONE when it is served by nobody. */
void sim_path_read(const struct sim_api *a, struct sim_stream *s);
/* One field of a request's head. */
void sim_field_read(const struct sim_api *a, struct sim_stream *s, struct view name,
                    struct view value);
const char *sim_version_name(enum sim_version version);
/* "resourceslices" and so on; kind as in "ResourceSlice". */
const char *sim_resource_of(enum sim_kind kind);
const char *sim_kind_name(enum sim_kind kind);
/* apiVersion of an object as it is served. */
const char *sim_api_version(enum sim_kind kind, enum sim_version version);

/* --- sim_api_answer.c --- */

void sim_answer_object(struct sim_api *a, struct sim_stream *s, unsigned http,
                       const struct sim_object *o);
void sim_answer_list(struct sim_api *a, struct sim_stream *s);
void sim_answer_group(struct sim_api *a, struct sim_stream *s);
void sim_answer_text(struct sim_stream *s, unsigned http, const char *text);
/* A Status of failure; `text` may be empty where the reason has words of its own. */
void sim_answer_failure(struct sim_api *a, struct sim_stream *s, unsigned http, const char *text);
void sim_answer_deleted(struct sim_api *a, struct sim_stream *s, const struct sim_object *o);
/* Writes an object as this stream wants it, in its envelope. `o` NULL: a bookmark. */
void sim_put_object(struct sim_api *a, const struct sim_stream *s, const struct sim_object *o,
                    struct writer *w);
/* Writes the Status of an expired watch in its envelope. */
void sim_put_expired(struct sim_api *a, struct writer *w);
bool sim_selected(const struct sim_selector *selector, const struct sim_object *o);

/* --- sim_api_serve.c --- */

/* The request is complete: answers it. */
void sim_serve(struct sim_api *a, struct sim_stream *s);

/* --- sim_api_watch.c --- */

void sim_watch_begin(struct sim_api *a, struct sim_stream *s);
void sim_watch_turn(struct sim_api *a, struct sim_stream *s);
uint64_t sim_watch_deadline(const struct sim_stream *s);

/* --- sim_api_valid.c --- */

/* Whether a slice (v1 layout) may be stored; else `why` gets the server's words. */
bool sim_slice_valid(struct view body, struct writer *why);
/* Whether what must not change is the same in both. */
bool sim_slice_same_identity(struct view before, struct view after);

#endif
