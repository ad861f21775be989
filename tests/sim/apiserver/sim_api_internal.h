/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the API server model share: sim_api.c has connections and streams,
 * sim_api_path.c reads requests, sim_api_serve.c answers them, sim_api_answer.c writes answers,
 * sim_api_watch.c feeds watches, sim_api_valid.c judges slices, sim_api_event.c takes Events and
 * patches, sim_api_fault.c lets things go wrong. Nobody else includes it.
 */
#ifndef TESTS_SIM_SIM_API_INTERNAL_H
#define TESTS_SIM_SIM_API_INTERNAL_H

#include "tests/sim/apiserver/sim_api.h"

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
void sim_answer_bytes(struct sim_stream *s, unsigned http, const char *type, struct view bytes);
/* What the stream was answered is taken back; nothing of it was sent. */
void sim_answer_withdraw(struct sim_stream *s);
/* A Status of failure; `text` may be empty where the reason has words of its own. */
void sim_answer_failure(struct sim_api *a, struct sim_stream *s, unsigned http, const char *text);
void sim_answer_deleted(struct sim_api *a, struct sim_stream *s, const struct sim_object *o);
/* Writes an object as this stream wants it, in its envelope. `o` NULL: a bookmark. */
void sim_put_object(struct sim_api *a, const struct sim_stream *s, const struct sim_object *o,
                    struct writer *w);
/* Writes the Status of an expired watch in its envelope. */
void sim_put_expired(struct sim_api *a, struct writer *w);
/* Whether a list or watch shows the object. */
bool sim_selected(const struct sim_api *a, const struct sim_stream *s, const struct sim_object *o);
/* Writes an object that is not stored, in the envelope of its kind. */
void sim_answer_raw(struct sim_stream *s, unsigned http, const char *api_version, const char *kind,
                    struct view raw);

/* --- sim_api_serve.c --- */

/* Answers a request whose path was read. */
void sim_serve(struct sim_api *a, struct sim_stream *s);
/*
 * Takes the object out of the body's envelope; 0, or the HTTP status of what is wrong with it.
 * `api_version` NULL: any.
 */
unsigned sim_open_body(const struct sim_stream *s, const char *api_version, const char *kind,
                       struct view *raw);

/* --- sim_api_event.c --- */

void sim_serve_event(struct sim_api *a, struct sim_stream *s);
void sim_serve_claim_status(struct sim_api *a, struct sim_stream *s);

/* --- sim_api_fault.c --- */

/* Whether this fault meets the request. */
bool sim_fault_meets(const struct sim_api *a, enum sim_fault_kind kind, const struct sim_stream *s);
/* The request is complete: serves it, or what the faults make of it. */
void sim_request(struct sim_api *a, struct sim_connection *c, struct sim_stream *s);
/* The client reset the stream. */
void sim_request_cancelled(struct sim_api *a, struct sim_connection *c, struct sim_stream *s);
struct sim_api_event sim_event_of(const struct sim_stream *s);
/* Another object of the kind than `o`; `o` itself when there is none. */
const struct sim_object *sim_other_object(const struct sim_api *a, const struct sim_object *o);

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
