/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Address of the API server, its CA and the client's credentials: from a kubeconfig, or from the
 * service account of the pod. Owns the buffers of these texts; keys and certificates never stay in
 * them after credentials_wipe.
 */
#ifndef HOST_APISERVER_CREDENTIALS_H
#define HOST_APISERVER_CREDENTIALS_H

#include "base/bytes.h"
#include "cfg/limits.h"
#include "host/apiserver/tls.h"

/* Where a pod has its token and CA (Kubernetes, "Configure Service Accounts for Pods"). */
#define SERVICE_ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"

/* One PEM text; `len` in bytes, without its NUL. */
struct pem {
    size_t len;
    size_t cap;    /* of `text`, with its NUL */
    uint8_t *text; /* part of the credentials' pems; ends in NUL if len > 0 */
};

/* One instance of about 400 KiB; pages that no credential reaches are never touched. */
struct credentials {
    uint16_t port;
    char host[API_HOST_CAP]; /* without a dot at its end, IPv6 without brackets */
    char server_name[API_HOST_CAP +
                     1u]; /* name that the certificate must have, perhaps with that dot */
    char authority[API_HOST_CAP + 8u]; /* of the URL: IPv6 in brackets, a port other than 443 */
    const char *remedy;                /* static: where the files below should come from */
    char token_file[PATH_CAP];         /* empty: the token does not change */
    char token[TOKEN_CAP];             /* empty: none */
    struct pem ca;
    struct pem cert;
    struct pem key;
    size_t text_len; /* of the kubeconfig */
    /* The kubeconfig's text first, PEM texts after it is read. */
    uint8_t pems[CA_BYTES_MAX + 2u * PEM_BYTES_MAX];
    uint8_t values[KUBECONFIG_BYTES_MAX]; /* of its keys */
};

/*
 * Loads everything, in place of what was loaded before. `kubeconfig` empty:
 * KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT and the mounted service account. On failure
 * `why` gets one line with the file, the problem and the remedy; what was loaded is wiped.
 * HOST_ABSENT: a file is missing, cannot be read or is empty; it may be there later. FULL_BUFFER:
 * longer than its room. PEER_MALFORMED, PEER_UNSUPPORTED, PEER_NOT_FOUND: as in kubeconfig.h, or
 * not base64, PEM, a token or a port; the variables are not set.
 */
MUST_USE enum status credentials_load(struct credentials *c, const char *kubeconfig,
                                      struct writer *why);
/* For tls_start; valid until credentials_wipe. */
struct tls_identity credentials_identity(const struct credentials *c);
/* Overwrites keys, certificates and the kubeconfig's text; address and token stay. */
void credentials_wipe(struct credentials *c);
/*
 * Reads the token file again, if there is one: *changed tells whether the token is another one. On
 * failure the old token stays and `why` gets one line. HOST_ABSENT: the file is missing, cannot be
 * read or is empty; FULL_BUFFER: longer than TOKEN_CAP; PEER_MALFORMED: not a token.
 */
MUST_USE enum status credentials_refresh(struct credentials *c, bool *changed, struct writer *why);

#endif
