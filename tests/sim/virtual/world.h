/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One node in one process on a virtual clock: the whole agent, the models of kubelet and API
 * server, the network between them, the disk and the devices. Owns time: it jumps from one thing
 * that is due to the next, so that a day takes a moment; equal seeds give equal runs. The agent is
 * driven as src/host/loop.c does: stepped when bytes came, while its output moves, and at
 * agent_deadline.
 */
#ifndef TESTS_SIM_VIRTUAL_WORLD_H
#define TESTS_SIM_VIRTUAL_WORLD_H

#include <limits.h>

#include "agent/agent.h"
#include "tests/sim/apiserver/sim_api.h"
#include "tests/sim/kubelet/sim_kubelet.h"
#include "tests/sim/virtual/tally.h"

#define NODE_NAME "node-a"
#define OTHER_NODE "node-b"
/* --pod-uid of the second agent; it is part of the names of its sockets. */
#define SECOND_UID "5ec0d000-0000-4000-8000-000000000002"
#define OTHER_DRIVER "gpu.example.com"
#define WALL_MS(now_ms) (UINT64_C(1700000000000) + (now_ms))
/* Bytes that the network holds of what the agent sent: more than the agent has under way. */
#define WIRE_BYTES 262144
#define WORLD_LOG_BYTES 65536
/* Claims that are prepared from the start: some stay, some are given back while things go wrong. */
#define HELD_CLAIMS 8
/* Objects of others that nobody may touch. */
#define FOREIGN_SLICES 3
/* Names and UIDs of claims here. */
#define WORLD_CLAIM_CAP 48
#define NEVER UINT64_MAX

/* The path to the API server. */
enum net {
    NET_OPEN,
    NET_REFUSED,   /* connections are refused; open ones were reset */
    NET_SILENT,    /* nobody answers a connection; open ones move no byte any more */
    NET_MUTE,      /* connections are accepted, and then nothing comes */
    NET_RESETTING, /* connections are reset NET_RESET_MS after they began */
    NET_ONE_WAY,   /* what the agent sends arrives, nothing comes back */
    NET_SLOW,      /* NET_SLOW_BYTES each NET_SLOW_MS in each direction */
    NET_STATES
};
#define NET_RESET_MS 700u
#define NET_SLOW_MS 100u
#define NET_SLOW_BYTES 600u
/* How long the host waits for a connection (API_CONNECT_MS), and when it reads the token again. */
#define NET_CONNECT_MS 10000u
#define NET_TOKEN_MS 60000u
/* How often the host looks at the node: more seldom than the real one, for the sake of speed. */
#define NODE_LOOK_MS 20000u

struct foreign {
    char name[NAME_CAP];
    const char *driver;
    const char *node;
    uint64_t version; /* that the world saw last */
};

struct answered { /* the kubelet's last call of a driver */
    bool asked;   /* and not answered yet */
    bool done;
    unsigned call; /* its number at the kubelet */
    bool well;     /* every claim of it */
    char text[512];
};

struct world {
    /*
     * In a rolling update a second agent runs on the node. It is another world, of which the
     * process counts, its connections and its settings; all else is that of the first.
     */
    struct world *first;  /* of the second: that one; NULL: this is the first */
    struct world *second; /* NULL: there is none */
    struct agent *agent;  /* NULL: no process runs */
    bool with_efa;        /* its processes have the driver of the EFA devices, too (world_efa) */
    struct agent *efa;    /* that driver; NULL: no process runs, or it has none */
    bool efa_open;        /* it has opened its sockets, as it does at once with --efa */
    struct settings settings;
    struct found_node found;
    struct found_efas efas;
    uint64_t seed;
    uint64_t random;
    uint64_t now_ms;
    bool poked; /* the host told something: a step is due */
    bool exited;
    uint64_t steps; /* of the agent, of all its processes */
    /* the path to the API server */
    enum net net;
    int link;            /* number at the model, -1: not connected */
    bool connecting;     /* the host waits for a connection */
    uint64_t connect_ms; /* when it gives up */
    uint64_t opened_ms;
    uint64_t slow_ms; /* NET_SLOW: when bytes move again */
    size_t slow_out;  /* NET_SLOW: bytes that may still move now */
    size_t slow_in;
    uint64_t token_ms;
    char token[32];        /* that lies in the agent's token file */
    char known_token[32];  /* that the agent was told last */
    char server_token[32]; /* that the API server lets in */
    size_t wire_len;
    uint8_t wire[WIRE_BYTES]; /* sent by the agent, not arrived */
    /* the kubelet */
    bool kubelet_up;
    int kubelet_link[SIM_LINKS_MAX]; /* the agent's link of each of the kubelet's, -1: none */
    int efa_link[SIM_LINKS_MAX];     /* that of the EFA driver */
    unsigned registered;             /* times */
    struct answered answered;
    struct answered efa_answered;
    /* the cluster */
    const char *node_uid;
    const char *layers[3];  /* labels of the Node; NULL: not there */
    const char *type_label; /* instance type; NULL: not there */
    uint64_t look_ms;       /* when the host looks at the node again */
    uint64_t beat_ms;       /* when the kubelet writes the Node's status again */
    unsigned beats;
    struct foreign foreign[FOREIGN_SLICES];
    unsigned two_owners;     /* steps after which both agents had the claim store */
    unsigned foreign_writes; /* of slices, by an agent that had not */
    struct tally tally;
    size_t log_len;
    char log[WORLD_LOG_BYTES];
};

extern struct sim_api world_api;
extern struct sim_kubelet world_kubelet;

/* --- world.c: time --- */

/* A new node, with nothing running: an API server, a kubelet, a trn2.48xlarge. */
void world_new(struct world *w, uint64_t seed);
/* There may be a second agent on the node of `w`; none of both runs. */
void world_pair(struct world *w, struct world *second);
/* Address of the EFA device that belongs to a Neuron device here. */
uint32_t world_efa_address(unsigned number);
/* All EFA devices of the node's type are there. */
void world_efa_devices(struct world *w);
/* The agent of `w` gets --efa, and the node the EFA devices of its type; before it starts. */
void world_efa(struct world *w);
/* The world that has the node: the first. */
struct world *world_node(struct world *w);
/* Everything that happens at this moment. */
void world_settle(struct world *w);
/* Lets time pass. */
void world_pass(struct world *w, uint64_t ms);
/* A number below `bound`. */
uint64_t world_random(struct world *w, uint64_t bound);

/* --- host.c: what the host and the network do --- */

/* A new process of the agent; an old one is killed before. */
void world_start(struct world *w);
void world_kill(struct world *w);
/* SIGTERM; whether the process has ended within `ms`. */
bool world_stop(struct world *w, uint64_t ms);
/* The path becomes so; `cut`: the connection that stands is reset. */
void world_net(struct world *w, enum net net, bool cut);
/* The transport of the API connection ends. */
void world_cut(struct world *w, const char *why);
/* The token in the file and at the API server becomes another one. */
void world_token(struct world *w, const char *token);
/* GOAWAY with a last stream below every one that is under way: none of them was looked at. */
void world_goaway_below(struct world *w);
/* One turn of the host: orders and log; whether an order was carried out. */
bool world_host_turn(struct world *w);
/* Moves bytes between agent and API server; whether any moved. */
bool world_host_bytes(struct world *w);
/* What only time does: connections given up, resets, tokens read again. */
void world_host_time(struct world *w);
uint64_t world_host_deadline(const struct world *w);
/* Puts a line of the simulator's own into the log, so that it tells what happened when. */
void world_note(struct world *w, const char *what, const char *detail);
/* Prints the last lines of the agent's log. */
void world_show_log(const struct world *w, unsigned lines);

/* --- node.c: kubelet, devices, objects --- */

bool world_node_turn(struct world *w);
void world_node_time(struct world *w);
uint64_t world_node_deadline(const struct world *w);
/* Claims that the scheduler allocated, one per device from 0 on. */
void claims_put(void);
/* No device: the claim is there, and not allocated. */
#define WORLD_NO_DEVICE UINT_MAX
/* Claims of world_claim_put take half of the cores of their device, instead of a device. */
extern bool world_parts;
/* So that they do, or not, and the agent shares devices. Before world_pair. */
void world_parted(struct world *w, bool parts);
/* A claim of namespace "ml" is allocated one device; it is created, or replaced. */
void world_claim_put(const char *name, const char *uid, unsigned device, bool reserved);
void world_claim_delete(const char *name);
/* The same of one device of each driver; `efa` is the number of an EFA device. */
void world_claim_put_both(const char *name, const char *uid, unsigned device, unsigned efa);
/* The kubelet calls a driver for one claim, and does not wait; false: it is not connected. */
bool world_ask(struct world *w, enum driver_kind driver, bool unprepare, const char *name,
               const char *uid);
/* The kubelet calls for one claim; whether it was answered well at once. */
bool world_call(struct world *w, bool unprepare, const char *name, const char *uid);
/* The kubelet begins anew and deletes all slices of the node, as it does at its start. */
void world_kubelet_restart(struct world *w, bool wipe);
/* The kubelet looks for sockets, or does not. */
void world_kubelet_up(struct world *w, bool up);
/* The kubelet sees the registration socket of the EFA driver, or not any more. */
void world_efa_socket(struct world *w, bool up);
/* The EFA driver of a process without --efa is over. */
void world_efa_ended(struct world *w);
/* Deletes every slice of the node, whoever made it; others make theirs again at once. */
void world_wipe(struct world *w);
/* Prepares (or gives back) claim `index` of HELD_CLAIMS; whether it was answered well at once. */
bool world_prepare(struct world *w, unsigned index);
bool world_unprepare(struct world *w, unsigned index);
/* Whether the agent holds claim `index`. */
bool world_holds(const struct world *w, unsigned index);
/* The devices that the next look at the node finds; `told`: it happens now. */
void world_devices(struct world *w, unsigned count, bool told);
/* A look at the node finds the devices that w->found and w->efas have. */
void world_efas_found(struct world *w);
/* One device is not there any more; the agent is told. */
void world_device_gone(struct world *w, unsigned number);
/* The unhealthy_components of a device hold this text from now on; the agent is told. */
void world_device_says(struct world *w, unsigned number, const char *components);
/* The look at the devices fails, as when sysfs cannot be read. */
void world_look_fails(struct world *w);
void world_node_put(struct world *w);
/* The Node is made anew with another UID. */
void world_node_again(struct world *w, const char *uid);

/* --- stored.c: what the API server stores --- */

/* Size of the agent's one instance. */
extern const size_t agent_bytes;
/* A second instance: agent_init of another copy of agent.c. */
struct agent *second_init(const struct settings *settings, const struct files *files, uint64_t seed,
                          uint64_t now_ms, uint64_t wall_ms);

struct agent *second_add_efa(struct agent *a, const struct files *files);

/*
 * Whether no held claim waits for its look at the API server for longer than this, which is more
 * than the longest backoff and the time limit of a look together.
 */
#define LOOK_WAITS_MS 120000u
bool world_looks_fair(const struct world *w);
/* Whether the process of this world has the claim store, or that of the EFA driver. */
bool world_owns(const struct world *w);
bool world_owns_efa(const struct world *w);

/* Whether stored slices are the wanted ones and the agent knows; `why`: what is not. Never NULL. */
bool world_well(struct world *w, const char **why);
/* How many slices of ours are stored, and the least and largest generation of them. */
unsigned stored_slices(uint64_t *least, uint64_t *most);
/* How many devices are stored with a taint. */
unsigned stored_taints(void);
/* One of ours; NULL: none. */
struct sim_object *stored_one(void);
/* By hand: each value of an attribute is changed; the slice is doubled; old-style name. */
bool stored_edit(struct world *w);
bool stored_double(struct world *w, const char *name);
/* Whether no foreign slice was touched. */
bool foreign_well(const struct world *w);
void foreign_put(struct world *w);

#endif
