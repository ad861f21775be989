/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of src/agent/pods for all drivers: the kubelet's list of pods. Only the files of this
 * folder and agent/state.h include this header.
 */
#ifndef AGENT_PODS_ROOM_H
#define AGENT_PODS_ROOM_H

#include "agent/pods/claim_pods.h"
#include "dra/claim.h"
#include "wire/grpc_client.h"
#include "wire/pod_list.h"

/* A pod that uses a held claim. */
struct claim_pod {
    uint16_t slot;  /* slot of the claim in the ledger of the driver */
    uint16_t name;  /* where the pod's name is in pod_table.bytes */
    uint8_t driver; /* enum driver_kind */
};

/* The pods of one list. */
struct pod_table {
    /* when the call began: the list is not used for claims that were prepared later */
    uint64_t began_ms;
    uint16_t count;
    struct claim_pod pod[CLAIM_PODS_MAX];
    struct writer names; /* the pods' names, each with its NUL */
    uint8_t bytes[CLAIM_PODS_BYTES];
};

/* Progress of a call. */
enum pod_call {
    POD_CALL_NONE,
    POD_CALL_DUE,        /* the host must connect; claim_pods_order returns that order */
    POD_CALL_CONNECTING, /* the host has the order to connect */
    POD_CALL_RUNNING,
    POD_CALL_ENDED /* the result waits until no page of metrics is being sent */
};

/* What the last call gave. */
enum pod_result {
    POD_RESULT_NONE, /* no call has ended yet */
    POD_RESULT_COMPLETE,
    POD_RESULT_PARTIAL, /* pairs of a claim and a pod are missing */
    POD_RESULT_EMPTY,   /* the kubelet lists no claims, and never did */
    POD_RESULT_FAILED,  /* the call failed */
    POD_RESULT_ABSENT,  /* the host cannot connect */
    POD_RESULTS
};

/* The list that is shown, and the call that reads the next one. */
struct claim_pods {
    enum pod_call call;
    enum pod_result result; /* what the list that is shown is */
    enum pod_result next;   /* POD_CALL_ENDED: what the call gave */
    bool closes;            /* the host must close the connection */
    bool busy;              /* events of received bytes are left to handle */
    const char *lacks;      /* why the call has left out a pair of a claim and a pod; or NULL */
    bool any;               /* a list of this process had a claim */
    uint64_t next_ms;       /* earliest time of the next call, and latest to show the last one */
    uint64_t end_ms;        /* time limit of the call */
    uint32_t received;      /* number of bytes that arrived for the call */
    uint32_t version;       /* number of lists that were shown */
    unsigned shown;         /* index of the table that is shown; the call fills the other one */
    struct pod_table table[2];
    char why[CLAIM_ERROR_CAP]; /* why `next` is not POD_RESULT_COMPLETE */
    struct grpc_client client;
    struct pod_list list;
    struct h2 h2;
    struct h2_stream streams[1];
    uint8_t rx[POD_LIST_RX_BYTES];
    uint8_t tx[POD_LIST_TX_BYTES];
    uint8_t field[POD_LIST_FIELD_BYTES];
    uint8_t scratch[POD_LIST_FIELD_BYTES];
};

#endif
