/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The address of the API server, its CA and the client's credentials, from a kubeconfig or from the
 * pod's service account. Owns the buffers for all of them; credentials_wipe erases keys and
 * certificates.
 */
#ifndef HOST_APISERVER_CREDENTIALS_H
#define HOST_APISERVER_CREDENTIALS_H

#include "base/bytes.h"
#include "cfg/limits.h"
#include "host/apiserver/tls.h"

/* Where a pod has its token and CA (Kubernetes, "Configure Service Accounts for Pods"). */
#define SERVICE_ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"

/* One PEM text; `len` in bytes, without the final NUL. */
struct pem {
    size_t len;
    size_t cap;    /* size of the buffer `text`, including the byte for the NUL */
    uint8_t *text; /* points into struct credentials; NUL-terminated if len > 0 */
};

/*
 * The credentials for the API server. The agent has one instance of this struct, of about 400 KiB;
 * the parts of its buffers that receive no credential are never written, so they occupy no physical
 * memory.
 */
struct credentials {
    uint16_t port;
    /*
     * name or address of the API server, without a trailing dot; an IPv6 address without brackets
     */
    char host[API_HOST_CAP];
    /* Name of the API server for the check of its certificate; keeps a trailing dot. */
    char server_name[API_HOST_CAP + 1u];
    /* host and port of the API server; an IPv6 address in brackets; omits port 443 */
    char authority[API_HOST_CAP + 8u];
    const char *remedy; /* static text: how an operator provides a missing file */
    /* path of the token file; empty: there is none, so `token` never changes */
    char token_file[PATH_CAP];
    char token[TOKEN_CAP]; /* bearer token; empty: there is none */
    struct pem ca;
    struct pem cert;
    struct pem key;
    size_t text_len; /* number of bytes of the kubeconfig in `pems` */
    /* Holds the text of the kubeconfig until it is parsed, then the PEM texts. */
    uint8_t pems[CA_BYTES_MAX + 2u * PEM_BYTES_MAX];
    uint8_t values[KUBECONFIG_BYTES_MAX]; /* values of the kubeconfig's keys */
};

/*
 * Loads all credentials and replaces the previous ones. If `kubeconfig` is empty, uses
 * KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT and the mounted service account. On failure
 * `why` gets one line with the file, the problem and the remedy, and all keys and certificates are
 * wiped. HOST_ABSENT: a file is missing, unreadable or empty, and may appear later. FULL_BUFFER: a
 * value exceeds its buffer. PEER_MALFORMED, PEER_UNSUPPORTED, PEER_NOT_FOUND: the kubeconfig is
 * invalid (kubeconfig.h), a value is not base64, PEM, a token or a port, or the environment
 * variables are not set.
 */
MUST_USE enum status credentials_load(struct credentials *c, const char *kubeconfig,
                                      struct writer *why);
/* Returns the credentials for tls_start; valid until credentials_wipe. */
struct tls_identity credentials_identity(const struct credentials *c);
/*
 * Overwrites keys, certificates and the kubeconfig's text; keeps the address of the API server and
 * the token.
 */
void credentials_wipe(struct credentials *c);
/*
 * Reads the token file again, if one is configured. *changed: the token has changed. On failure the
 * old token stays and `why` gets one line. HOST_ABSENT: the file is missing, unreadable or empty.
 * FULL_BUFFER: the token is longer than TOKEN_CAP. PEER_MALFORMED: the content is not a token.
 */
MUST_USE enum status credentials_refresh(struct credentials *c, bool *changed, struct writer *why);

#endif
