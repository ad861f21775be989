/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kubeconfig, as kubectl, kind and cloud tools write it, in the YAML of yaml.h, of which JSON
 * is a part: the current context's server and credentials. Owns which keys there are (client-go's
 * v1.Config) and the parsing of one complete text in memory; opens no file, decodes no base64.
 *
 * Credentials by `exec` or `auth-provider` are refused by name. Keys that the table in kubeconfig.c
 * does not list are skipped with their values.
 *
 * Invariants:
 * I1 On failure *out is as before.
 * I2 Every value lies within the caller's room; a reason is given on failure and only then.
 * I3 Values are those that YAML 1.2, or JSON, gives them, trimmed.
 * I4 The reason is one line without control characters.
 * I5 Host and port of a server, written as an address again, are the same host and port.
 */
#ifndef KUBECONFIG_KUBECONFIG_H
#define KUBECONFIG_KUBECONFIG_H

#include "base/bytes.h"
#include "cfg/limits.h"

/* Port of an https server whose URL names none (RFC 9110 §4.2.2). */
#define HTTPS_PORT 443u

struct kubeconfig {     /* views borrow from the caller's room; empty: not given */
    struct view server; /* https://host:port */
    struct view ca_file;
    struct view ca_data; /* base64 */
    struct view cert_file;
    struct view cert_data;
    struct view key_file;
    struct view key_data;
    struct view token;
    struct view token_file;
    struct view tls_server_name;
};

/*
 * Reads the current context. Values are written to `room`, text.len bytes of the caller's that must
 * outlive *out. They are trimmed; inline data wins over a file, which is then empty; base64 may
 * hold line ends.
 *
 * On failure `why` gets one line that names the thing, its line number and the remedy, but not the
 * file, and *out is unchanged. PEER_MALFORMED: syntax, duplicate keys, values that do not go
 * together. PEER_NOT_FOUND: context, cluster or user not in the file. PEER_UNSUPPORTED: exec,
 * auth-provider, insecure, no certificate authority, proxy-url, basic authentication,
 * impersonation, a server that is not https. FULL_BUFFER: larger than KUBECONFIG_BYTES_MAX.
 */
MUST_USE enum status kubeconfig_read(struct view text, uint8_t *room, struct kubeconfig *out,
                                     struct writer *why);
/*
 * Splits "https://host[:port][/]", the scheme in either case; IPv6 hosts come in brackets and are
 * returned without. Port 443 by default. PEER_MALFORMED otherwise, a path included.
 */
MUST_USE enum status kubeconfig_server(struct view server, struct view *host, uint16_t *port);

#endif
