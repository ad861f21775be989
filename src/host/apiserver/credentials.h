/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Address of the API server, its CA and the client's credentials: from a kubeconfig, or from the
 * pod's service account. Owns the buffers of these texts; credentials_wipe erases keys and
 * certificates from them.
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
    size_t cap;    /* room in `text`, including its NUL */
    uint8_t *text; /* a part of the credentials' pems; ends in NUL if len > 0 */
};

/* One instance of about 400 KiB; pages without credentials stay untouched. */
struct credentials {
    uint16_t port;
    char host[API_HOST_CAP]; /* without a trailing dot; IPv6 without brackets */
    char server_name[API_HOST_CAP +
                     1u]; /* name for the certificate check, with a trailing dot if given */
    char authority[API_HOST_CAP + 8u]; /* of the URL: IPv6 in brackets, a port other than 443 */
    const char *remedy;                /* static: how to provide the files below */
    char token_file[PATH_CAP];         /* empty: the token does not change */
    char token[TOKEN_CAP];             /* empty: none */
    struct pem ca;
    struct pem cert;
    struct pem key;
    size_t text_len; /* length of the kubeconfig */
    /* Holds the kubeconfig's text, and after its parsing the PEM texts. */
    uint8_t pems[CA_BYTES_MAX + 2u * PEM_BYTES_MAX];
    uint8_t values[KUBECONFIG_BYTES_MAX]; /* values of the kubeconfig's keys */
};

/*
 * Loads everything, replacing what was loaded before. `kubeconfig` empty: KUBERNETES_SERVICE_HOST,
 * KUBERNETES_SERVICE_PORT and the mounted service account. On failure `why` gets one line with the
 * file, the problem and the remedy, and loaded values are wiped. HOST_ABSENT: a file is missing,
 * unreadable or empty, and may appear later. FULL_BUFFER: a value exceeds its room. PEER_MALFORMED,
 * PEER_UNSUPPORTED, PEER_NOT_FOUND: as in kubeconfig.h, or not base64, PEM, a token or a port; the
 * variables are not set.
 */
MUST_USE enum status credentials_load(struct credentials *c, const char *kubeconfig,
                                      struct writer *why);
/* For tls_start; valid until credentials_wipe. */
struct tls_identity credentials_identity(const struct credentials *c);
/* Overwrites keys, certificates and the kubeconfig's text; address and token stay. */
void credentials_wipe(struct credentials *c);
/*
 * Reads the token file again, if there is one; *changed: the token has changed. On failure the old
 * token stays and `why` gets one line. HOST_ABSENT: the file is missing, unreadable or empty;
 * FULL_BUFFER: longer than TOKEN_CAP; PEER_MALFORMED: not a token.
 */
MUST_USE enum status credentials_refresh(struct credentials *c, bool *changed, struct writer *why);

#endif
