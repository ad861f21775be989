/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the server and the credentials of the current context from a kubeconfig, as kubectl, kind
 * and cloud tools write it. The text is in the YAML subset of yaml.h, which includes JSON. Owns the
 * list of keys (client-go's v1.Config) and the parsing of one complete text in memory; opens no
 * file, decodes no base64.
 *
 * Refuses the credentials `exec` and `auth-provider`, and names the key in the reason. Skips keys
 * that are not in the table of kubeconfig.c, with their values.
 *
 * Invariants:
 * I1 On failure *out is unchanged.
 * I2 Every value lies within the caller's buffer `room`; `why` gets a reason on failure, and only
 *    then.
 * I3 Values are as YAML 1.2 or JSON defines them, without the blanks at both ends.
 * I4 The reason is one line without control characters.
 * I5 Round trip: if a URL is made from a host and port that kubeconfig_server returned, the
 *    function returns the same host and port for that URL.
 */
#ifndef KUBECONFIG_KUBECONFIG_H
#define KUBECONFIG_KUBECONFIG_H

#include "base/bytes.h"
#include "cfg/limits.h"

/* Port of an https server whose URL has none (RFC 9110 §4.2.2). */
#define HTTPS_PORT 443u

/* Server and credentials: views into the caller's buffer; empty: not in the kubeconfig. */
struct kubeconfig {
    struct view server; /* https://host:port */
    struct view ca_file;
    struct view ca_data; /* base64 of the authorities' certificates */
    struct view cert_file;
    struct view cert_data;
    struct view key_file;
    struct view key_data;
    struct view token;
    struct view token_file;
    struct view tls_server_name;
};

/*
 * Reads the current context. Writes the trimmed values to `room`, which has text.len bytes and must
 * outlive *out. If the kubeconfig gives inline data and also a file for one value, the file name in
 * *out is empty. Base64 may contain line ends.
 *
 * On failure *out is unchanged, and `why` gets one line with the key or entry, its line number and
 * the remedy, but without the name of the kubeconfig file:
 * - PEER_MALFORMED: syntax, a duplicate key, a value of the wrong kind, a context without a
 *   cluster, a cluster without a server, or a client certificate without its key or the reverse.
 * - PEER_NOT_FOUND: no current-context is set, or the context, cluster or user is not in the
 *   kubeconfig.
 * - PEER_UNSUPPORTED: exec, auth-provider, insecure-skip-tls-verify, no certificate authority,
 *   proxy-url, basic authentication, impersonation, a server that is not https.
 * - FULL_BUFFER: the text is longer than KUBECONFIG_BYTES_MAX.
 */
MUST_USE enum status kubeconfig_read(struct view text, uint8_t *room, struct kubeconfig *out,
                                     struct writer *why);
/*
 * Splits "https://host[:port][/]"; the scheme may be in any letter case. An IPv6 address must be in
 * brackets, which *host omits. The default port is 443. PEER_MALFORMED: any other form, such as a
 * URL with a path.
 */
MUST_USE enum status kubeconfig_server(struct view server, struct view *host, uint16_t *port);

#endif
