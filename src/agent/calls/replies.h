/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replies to prepare and unprepare calls (replies.c). Owns struct reply, where the reply of a call
 * stands, and struct reply_entry. Internal to src/agent.
 */
#ifndef AGENT_CALLS_REPLIES_H
#define AGENT_CALLS_REPLIES_H

#include "agent/agent.h"
#include "dra/claim.h"

/* How much of the reply to one call is sent. All zero: nothing. */
struct reply {
    bool started;    /* the length of the whole message was sent */
    uint16_t at;     /* operation of the call whose entry is next, or under way */
    uint32_t offset; /* bytes of that entry that were sent */
};

/*
 * The entry that was encoded last. It is kept until it is sent, unless another call needs the room
 * first because the peer of this one takes nothing.
 */
struct reply_entry {
    uint16_t call;
    uint16_t at;
    uint32_t len; /* 0: none */
    uint8_t bytes[REPLY_ENTRY_BYTES_MAX];
};

/* What reply_send achieved. */
enum reply_progress {
    REPLY_WAITS,    /* for the peer to take what was sent */
    REPLY_COMPLETE, /* all is sent, or the call is gone */
    REPLY_BROKEN    /* the length that was announced cannot be kept: a prepared claim is gone */
};

/* Bytes of the entry of a prepared claim in a reply, found without encoding it. */
uint32_t reply_entry_len(const struct claim_record *r);
/* Sends as much as there is room for of the reply to a call whose operations are all complete. */
enum reply_progress reply_send(struct agent *a, unsigned call);
/* The call is over: drops what is kept for its reply. */
void reply_end(struct agent *a, unsigned call);

#endif
