/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the addresses of the API server's host: an IP literal at once, otherwise from /etc/hosts,
 * otherwise from the name servers of /etc/resolv.conf over UDP. Never blocks: getaddrinfo(3) is not
 * used, because musl's version allocates and blocks. Owns one UDP socket during a query. Search
 * domains are not applied, because server names in kubeconfigs are complete. TCP is not used: if a
 * server truncates a response (TC) before the first address, the next server is tried.
 *
 * Invariants:
 * I1 An IP literal is its own address; no server is queried.
 * I2 The first API_ADDRESSES_MAX lines of /etc/hosts with the name are used, from the first to the
 *    last.
 * I3 While a query runs, there are 1 to NAMESERVERS_MAX name servers.
 */
#ifndef HOST_APISERVER_RESOLVER_H
#define HOST_APISERVER_RESOLVER_H

#include "wire/dns.h"

/* One resolution of a name; about 9 KiB. */
struct resolver {
    char name[API_HOST_CAP];
    int fd;            /* descriptor of the UDP socket; -1: no query is running */
    uint16_t id;       /* id of the A query; the AAAA query has the next number */
    unsigned answered; /* answered queries; bit 0: A, bit 1: AAAA */
    bool refused;      /* a name server answered with an error, or is unreachable */
    unsigned tries;    /* number of tries so far; each try queries one name server */
    uint64_t try_ms;   /* when to try the next name server */
    unsigned servers;
    struct ip_address server[NAMESERVERS_MAX];
    struct ip_addresses found;
    uint8_t file[RESOLVER_FILE_BYTES_MAX];
};

/*
 * Starts to resolve `host`. Before the first call, set r->fd to -1; no other member of *r needs a
 * value. STATUS_OK: r->found has at least one address. STATUS_MORE: call resolver_step when r->fd
 * is readable, or at r->try_ms. PEER_MALFORMED: `host` is not a host name. HOST_*: a socket cannot
 * be opened.
 */
MUST_USE enum status resolver_start(struct resolver *r, struct view host, uint64_t now_ms);
/*
 * Continues the resolution; returns the verdicts of resolver_start and two more. PEER_NOT_FOUND:
 * the name has no address. PEER_TIMEOUT: no server sent a usable response.
 */
MUST_USE enum status resolver_step(struct resolver *r, uint64_t now_ms);
/* Closes the socket; r->found keeps its addresses. */
void resolver_end(struct resolver *r);

#endif
