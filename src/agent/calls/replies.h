/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replies to prepare and unprepare calls (replies.c). Owns struct reply, the progress of a call's
 * reply, and struct reply_entry. Internal to src/agent.
 */
#ifndef AGENT_CALLS_REPLIES_H
#define AGENT_CALLS_REPLIES_H

#include "agent/agent.h"
#include "dra/claim.h"

/* Progress of the reply to one call. All zero: no byte was sent yet. */
struct reply {
    bool started;    /* the length of the message was sent */
    uint16_t at;     /* index of the operation whose entry is being sent, or is sent next */
    uint32_t offset; /* number of bytes of entry `at` already sent */
};

/*
 * The entry that was encoded last. It is kept until it is sent; if the call's peer accepts nothing
 * meanwhile, the entry of another call may overwrite it, and this entry is encoded again later.
 */
struct reply_entry {
    uint16_t call;
    uint16_t at;
    uint32_t len; /* number of bytes of the entry; 0: no entry is kept */
    uint8_t bytes[REPLY_ENTRY_BYTES_MAX];
};

/* The results of reply_send. */
enum reply_progress {
    REPLY_WAITS,    /* the reply waits until the peer has accepted bytes that were already sent */
    REPLY_COMPLETE, /* the whole reply is sent, or the call has ended */
    /* the reply cannot be completed, for example because a prepared claim is gone */
    REPLY_BROKEN
};

/* Length in bytes of a prepared claim's devices in a reply, computed without encoding them. */
uint32_t reply_devices_len(const struct claim_record *r);
/* Length in bytes of the reply entry of a claim whose devices take `devices_len` bytes. */
uint32_t reply_entry_len(const char *uid, uint32_t devices_len);
/*
 * Sends as much of the reply as the connection accepts now. Call it when all operations of the call
 * are complete.
 */
enum reply_progress reply_send(struct agent *a, unsigned call);
/* Drops the state of the reply to a call that has ended. */
void reply_end(struct agent *a, unsigned call);

#endif
