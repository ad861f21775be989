/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kubeconfig, as kubectl, kind and cloud tools write it (block-style YAML) or as JSON: the current
 * context's server and credentials. Owns the parsing of one complete text in memory; opens no file,
 * decodes no base64.
 *
 * Accepted YAML: block mappings and sequences by indentation (dashes at or under the column of
 * their key), plain, single- and double-quoted scalars, literal and folded block scalars, comments,
 * `---`, empty flow values `{}` and `[]`, `null` and `~`. Anything else (anchors, tags, flow
 * collections with content, tabs as indentation) is refused with its line number. Credentials by
 * `exec` or `auth-provider` are refused by name. Keys that nobody here asks for are passed over.
 *
 * Invariants:
 * I1 On failure *out is as before.
 * I2 What is found lies within the text; a reason is given on failure and then alone.
 * I3 Values are those that YAML 1.2, or JSON, gives them, trimmed.
 * I4 The reason is one line without control characters.
 * I5 Host and port of a server, written as an address again, are the same host and port.
 */
#ifndef WIRE_KUBECONFIG_H
#define WIRE_KUBECONFIG_H

#include "base/bytes.h"
#include "cfg/limits.h"

struct kubeconfig {     /* views borrow from the text handed in; empty: not given */
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
    struct view namespace_;
};

/*
 * Reads the current context. Values are trimmed; inline data wins over a file, which is then empty;
 * base64 may hold line ends. `text` is written to (escapes are resolved in place), is of no other
 * use afterwards, and must outlive *out.
 *
 * On failure `why` gets one line that names the thing, its line number and the remedy, but not the
 * file, and *out is unchanged. PEER_MALFORMED: syntax, duplicate keys, values that do not go
 * together. PEER_NOT_FOUND: context, cluster or user not in the file. PEER_UNSUPPORTED: exec,
 * auth-provider, insecure, no certificate authority, proxy-url, basic authentication,
 * impersonation, a server that is not https. FULL_BUFFER: larger than KUBECONFIG_BYTES_MAX.
 */
MUST_USE enum status kubeconfig_read(const struct writer *text, struct kubeconfig *out,
                                     struct writer *why);
/*
 * Splits "https://host[:port][/]"; IPv6 hosts come in brackets and are returned without. Port 443
 * by default. PEER_MALFORMED otherwise, a path included.
 */
MUST_USE enum status kubeconfig_server(struct view server, struct view *host, uint16_t *port);

#endif
