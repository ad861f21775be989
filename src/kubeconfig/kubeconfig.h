/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kubeconfig, as written by kubectl, kind and cloud tools, in the YAML of yaml.h, which includes
 * JSON: the current context's server and credentials. Owns the list of keys (client-go's v1.Config)
 * and the parsing of one complete text in memory; opens no file, decodes no base64.
 *
 * Credentials by `exec` or `auth-provider` are refused by name. Keys outside the table in
 * kubeconfig.c are skipped with their values.
 *
 * Invariants:
 * I1 On failure *out is unchanged.
 * I2 Every value lies within the caller's room; there is a reason exactly on failure.
 * I3 Values are those that YAML 1.2, or JSON, gives them, trimmed.
 * I4 The reason is one line without control characters.
 * I5 Host and port of a server, written as an address again, are the same host and port.
 */
#ifndef KUBECONFIG_KUBECONFIG_H
#define KUBECONFIG_KUBECONFIG_H

#include "base/bytes.h"
#include "cfg/limits.h"

/* Port of an https server whose URL has none (RFC 9110 §4.2.2). */
#define HTTPS_PORT 443u

struct kubeconfig {     /* views borrowed from the caller's room; empty: not given */
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
 * Reads the current context. Values are written to `room`, text.len bytes of the caller that must
 * outlive *out. They are trimmed; inline data wins over a file, which is then empty; base64 may
 * contain line ends.
 *
 * On failure `why` gets one line with the key or entry, its line number and the remedy, but without
 * the file name, and *out is unchanged. PEER_MALFORMED: syntax, duplicate keys, values that exclude
 * each other. PEER_NOT_FOUND: context, cluster or user not in the file. PEER_UNSUPPORTED: exec,
 * auth-provider, insecure, no certificate authority, proxy-url, basic authentication,
 * impersonation, a server that is not https. FULL_BUFFER: larger than KUBECONFIG_BYTES_MAX.
 */
MUST_USE enum status kubeconfig_read(struct view text, uint8_t *room, struct kubeconfig *out,
                                     struct writer *why);
/*
 * Splits "https://host[:port][/]", with the scheme in any case; IPv6 hosts come in brackets and are
 * returned without. Port 443 by default. PEER_MALFORMED: any other form, also with a path.
 */
MUST_USE enum status kubeconfig_server(struct view server, struct view *host, uint16_t *port);

#endif
