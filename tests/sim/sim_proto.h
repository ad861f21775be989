/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protobuf field by field: walking of complete messages and writing, for objects that the stand-ins
 * keep as bytes and hand on unchanged; and the two frames that every object comes in. Owns wire
 * types and these frames; knows no other message. Shares no code with the agent but reader and
 * writer. Pure.
 */
#ifndef TESTS_SIM_SIM_PROTO_H
#define TESTS_SIM_SIM_PROTO_H

#include "base/bytes.h"

struct sim_field {
    unsigned number;
    unsigned wire;     /* wire type */
    uint64_t value;    /* of varints */
    struct view bytes; /* content of length-delimited and fixed fields */
    struct view whole; /* tag, length and content */
};

/* Next field of a message. STATUS_MORE at its end; PEER_MALFORMED, groups included. */
MUST_USE enum status sim_field_next(struct reader *in, struct sim_field *f);
/* Last field of that number, as protobuf merges scalars; false when there is none. */
bool sim_field_find(struct view message, unsigned number, struct sim_field *f);
/* Content of the last field of that number; empty when there is none. */
struct view sim_field_bytes(struct view message, unsigned number);
uint64_t sim_field_value(struct view message, unsigned number);
/* Whether the bytes are a sequence of whole fields. */
bool sim_message_valid(struct view message);

void sim_put_value(struct writer *w, unsigned number, uint64_t value);
void sim_put_bytes(struct writer *w, unsigned number, struct view bytes);
void sim_put_text(struct writer *w, unsigned number, const char *text);
/* The tag and length of a message of `len` bytes that follows. */
void sim_put_head(struct writer *w, unsigned number, size_t len);

/*
 * An object as the API server sends it: the magic "k8s\0" and runtime.Unknown (apimachinery,
 * pkg/runtime/generated.proto).
 */
void sim_put_envelope(struct writer *w, const char *api_version, const char *kind,
                      struct view object);
/* One event of a watch: its length in four octets, then the WatchEvent with an enveloped object. */
void sim_put_watch_event(struct writer *w, const char *type, struct view object);

#endif
