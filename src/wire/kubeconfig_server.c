/* SPDX-License-Identifier: Apache-2.0 */
/* The server address of a kubeconfig: "https://", host and port (RFC 3986 §3.2). */
#include <string.h>

#include "base/assert.h"
#include "wire/kubeconfig.h"

#define HTTPS_PORT 443u

static const char name_bytes[] = "abcdefghijklmnopqrstuvwxyz"
                                 "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
static const char ipv6_bytes[] = "abcdefABCDEF0123456789:.";

static bool is_host(struct view host, bool bracketed)
{
    const char *allowed = bracketed ? ipv6_bytes : name_bytes;
    size_t count = (bracketed ? sizeof ipv6_bytes : sizeof name_bytes) - 1u;
    for (size_t i = 0; i < host.len; i++) {
        if (memchr(allowed, host.data[i], count) == NULL) {
            return false;
        }
    }
    return host.len > 0u;
}

/* Divides "[host]:port" or "host:port"; *port is empty when there is none. */
static enum status split(struct view text, struct view *host, struct view *port)
{
    bool bracketed = view_starts(text, "[");
    struct view inner = view_from(text, bracketed ? 1u : 0u);
    *host = view_first(inner, view_find(inner, bracketed ? (uint8_t)']' : (uint8_t)':'));
    struct view behind = view_from(inner, host->len);
    if (!is_host(*host, bracketed) || (bracketed && behind.len == 0u)) {
        return PEER_MALFORMED;
    }
    behind = view_from(behind, bracketed ? 1u : 0u);
    *port = view_from(behind, 1);
    if (behind.len > 0u && (behind.data[0] != ':' || port->len == 0u)) {
        return PEER_MALFORMED;
    }
    return STATUS_OK;
}

enum status kubeconfig_server(struct view server, struct view *host, uint16_t *port)
{
    ASSERT(host != NULL && port != NULL);
    struct view name;
    struct view digits;
    uint64_t number = HTTPS_PORT;
    if (!view_starts(server, "https://")) {
        return PEER_MALFORMED;
    }
    struct view rest = view_from(server, sizeof "https://" - 1u);
    rest = view_first(rest, rest.len - (view_ends(rest, "/") ? 1u : 0u));
    if (split(rest, &name, &digits) != STATUS_OK) {
        return PEER_MALFORMED;
    }
    if (digits.len > 0u && (view_decimal(digits, 65535, &number) != STATUS_OK || number == 0u)) {
        return PEER_MALFORMED;
    }
    *host = name;
    *port = (uint16_t)number;
    return STATUS_OK;
}
