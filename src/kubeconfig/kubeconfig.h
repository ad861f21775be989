/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the server and the credentials of the current context from a kubeconfig, as kubectl, kind
 * and cloud tools write it, in the YAML of yaml.h, which includes JSON. Owns the list of keys
 * (client-go's v1.Config) and the parsing of one complete text in memory; opens no file, decodes no
 * base64.
 *
 * Credentials by `exec` or `auth-provider` are refused by name. Keys outside the table in
 * kubeconfig.c are skipped with their values.
 *
 * Invariants:
 * I1 On failure *out is unchanged.
 * I2 Every value lies within the caller's room; `why` gets a reason exactly on failure.
 * I3 Values are as YAML 1.2 or JSON defines them, without the blanks at both ends.
 * I4 The reason is one line without control characters.
 * I5 If a URL is made from the host and port of a server, kubeconfig_server returns the same host
 *    and port again.
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
 * Reads the current context. The trimmed values are written to `room`: text.len bytes of the caller
 * that must outlive *out. If the kubeconfig gives inline data and also a file for one value, the
 * file name in *out is empty. Base64 may contain line ends.
 *
 * On failure *out is unchanged, and `why` gets one line with the key or entry, its line number and
 * the remedy, but without the name of the kubeconfig file:
 * - PEER_MALFORMED: syntax, duplicate keys, values that exclude each other.
 * - PEER_NOT_FOUND: the context, cluster or user is not in the kubeconfig.
 * - PEER_UNSUPPORTED: exec, auth-provider, insecure, no certificate authority, proxy-url, basic
 *   authentication, impersonation, a server that is not https.
 * - FULL_BUFFER: the text is longer than KUBECONFIG_BYTES_MAX.
 */
MUST_USE enum status kubeconfig_read(struct view text, uint8_t *room, struct kubeconfig *out,
                                     struct writer *why);
/*
 * Splits "https://host[:port][/]", with the scheme in any case. An IPv6 host is in brackets, and is
 * returned without them. The default port is 443. PEER_MALFORMED: any other form, also a URL with a
 * path.
 */
MUST_USE enum status kubeconfig_server(struct view server, struct view *host, uint16_t *port);

#endif
