/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credentials for the API server, read from files and environment. Never logs a secret: messages
 * name only files and fields.
 */
#include "host/apiserver/credentials.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "kubeconfig/kubeconfig.h"
#include "x509/pem.h"
#include "host/system.h"

#define TOKEN_READ_BYTES (TOKEN_CAP + 16u) /* the token, and 16 bytes for white space around it */

/*
 * Endings of an error line, with the remedy. OF_SETTINGS: a setting names the file. OF_KUBECONFIG:
 * the kubeconfig names the file. OF_POD: the file belongs to the pod's service account.
 */
#define OF_SETTINGS "; correct --kubeconfig or KUBECONFIG, or the permissions of the file"
#define OF_KUBECONFIG "; create the file, or correct its path in the kubeconfig"
#define OF_POD "; mount the pod's service account (automountServiceAccountToken)"

#define OF_LENGTH "; leave out what the agent does not need, or name another file"

/*
 * Reads a whole file. An empty file counts as missing, because another process may still be writing
 * it.
 */
static enum status read_file(const char *path, struct writer *out, const char *what,
                             const char *remedy, struct writer *why)
{
    int error = 0;
    enum status s = file_read_whole(path, out, &error);
    if (s == STATUS_OK && view_trim(writer_view(out)).len > 0u) {
        return STATUS_OK;
    }
    if (s == FULL_BUFFER) {
        WRITE(why, "% % is longer than % bytes" OF_LENGTH, TEXT(what), TEXT(path),
              NUMBER(out->cap));
        return s;
    }
    if (s == STATUS_OK) {
        WRITE(why, "% % is empty%", TEXT(what), TEXT(path), TEXT(remedy));
    } else {
        WRITE(why, "% % cannot be read: %%", TEXT(what), TEXT(path), ERRNO(error), TEXT(remedy));
    }
    return HOST_ABSENT;
}

/* --- PEM texts: CA, client certificate and key --- */

/*
 * Rejects a text that is not PEM (RFC 7468 §2). Called before a connection is opened, so that `why`
 * can name the source of the text.
 */
static enum status pem_check(const struct pem *pem, const char *what, const char *from,
                             struct writer *why)
{
    if (!pem_begins(view_of(pem->text, pem->len))) {
        WRITE(why, "% % is not PEM: it has no line -----BEGIN", TEXT(what), TEXT(from));
        return PEER_MALFORMED;
    }
    return STATUS_OK;
}

static enum status pem_from_file(struct pem *pem, const char *what, const char *path,
                                 const char *remedy, struct writer *why)
{
    struct writer w = writer_of(pem->text, pem->cap);
    enum status s = read_file(path, &w, what, remedy, why);
    if (s != STATUS_OK) {
        return s;
    }
    pem->len = w.len;
    return pem_check(pem, what, path, why);
}

static enum status pem_from_base64(struct pem *pem, const char *what, struct view data,
                                   struct writer *why)
{
    struct writer w = writer_of(pem->text, pem->cap);
    bool decoded = pem_base64(data, &w);
    pem->len = w.len;
    if (!decoded) {
        WRITE(why, "%-data in the kubeconfig is not base64; copy it again", TEXT(what));
        return PEER_MALFORMED;
    }
    if (w.full) {
        WRITE(why,
              "%-data in the kubeconfig is longer than 32 KiB; leave out what the agent does not "
              "need",
              TEXT(what));
        return FULL_BUFFER;
    }
    return pem_check(pem, what, "in the kubeconfig", why);
}

/* --- the bearer token --- */

/* Checks and stores a token. *changed: the token differs from the previous token. */
static enum status token_set(struct credentials *c, struct view raw, const char *from,
                             bool *changed, struct writer *why)
{
    struct view token = view_trim(raw);
    /*
     * a header field carries the token, so it must not contain blanks or line ends (RFC 6750 §2.1)
     */
    if (token.len == 0u || !view_is_visible(token)) {
        WRITE(
            why, "% %; create a new token", TEXT(from),
            TEXT((token.len == 0u) ? "is empty" : "contains a character that tokens do not have"));
        return PEER_MALFORMED;
    }
    if (token.len >= sizeof c->token) {
        WRITE(why, "% is longer than 4095 bytes; create a new token", TEXT(from));
        return FULL_BUFFER;
    }
    *changed = !view_is(token, c->token);
    /*
     * Erase the old token first; otherwise its last bytes would remain in the buffer if the new
     * token is shorter.
     */
    explicit_bzero(c->token, sizeof c->token);
    text_cut(c->token, sizeof c->token, token);
    return STATUS_OK;
}

static enum status token_read(struct credentials *c, bool *changed, struct writer *why)
{
    uint8_t bytes[TOKEN_READ_BYTES];
    struct writer w = writer_of(bytes, sizeof bytes);
    enum status s = read_file(c->token_file, &w, "token file", c->remedy, why);
    if (s == STATUS_OK) {
        s = token_set(c, writer_view(&w), c->token_file, changed, why);
    }
    explicit_bzero(bytes, sizeof bytes);
    return s;
}

enum status credentials_refresh(struct credentials *c, bool *changed, struct writer *why)
{
    *changed = false;
    if (c->token_file[0] == '\0') {
        return STATUS_OK;
    }
    return token_read(c, changed, why);
}

/* --- address of the API server --- */

/*
 * Sets the host, the authority, the server name and the port. The server name, for the certificate
 * check, keeps a trailing dot, as in Go, where "10.0.0.1." is not an IP address. The authority
 * omits the default port of https (RFC 9110 §4.2.3).
 */
static enum status address_set(struct credentials *c, struct view host, uint16_t port,
                               struct writer *why)
{
    struct view name = view_without_dot(host);
    if (name.len == 0u || text_copy(c->host, sizeof c->host, name) != STATUS_OK) {
        writer_text(why, "the API server's host name is empty or longer than 253 characters; "
                         "correct it, or use an IP address");
        return FULL_BUFFER;
    }
    bool v6 = view_find(host, ':') < host.len;
    struct writer w = writer_of(c->authority, sizeof c->authority);
    WRITE(&w, "%%%", TEXT(v6 ? "[" : ""), VIEW(host), TEXT(v6 ? "]" : ""));
    if (port != HTTPS_PORT) {
        WRITE(&w, ":%", NUMBER(port));
    }
    writer_close_text(&w);
    c->port = port;
    text_cut(c->server_name, sizeof c->server_name, host);
    return STATUS_OK;
}

/* --- credentials that a kubeconfig names or contains --- */

/*
 * Writes the path of the file `name` to `out`; a relative name is relative to the kubeconfig's
 * directory.
 */
static enum status path_beside(char out[PATH_CAP], const char *kubeconfig, struct view name,
                               struct writer *why)
{
    const char *slash = strrchr(kubeconfig, '/');
    struct writer w = writer_of(out, PATH_CAP);
    if (name.data[0] != '/' && slash != NULL) {
        writer_bytes(&w, kubeconfig, strlen(kubeconfig) - strlen(slash) + 1u);
    }
    writer_append(&w, name);
    if (writer_end_text(&w) != STATUS_OK) {
        out[0] = 0;
        writer_text(why, "a file name in the kubeconfig is longer than 511 bytes; move the file");
        return FULL_BUFFER;
    }
    return STATUS_OK;
}

/*
 * Loads the PEM text from source[0], which is base64 data. If source[0] is empty, loads it from the
 * file that source[1] names. If both are empty, loads nothing and returns STATUS_OK.
 */
static enum status pem_from_config(struct pem *pem, const char *what, const char *kubeconfig,
                                   const struct view source[2], struct writer *why)
{
    char path[PATH_CAP];
    if (source[0].len > 0u) {
        return pem_from_base64(pem, what, source[0], why);
    }
    if (source[1].len == 0u) {
        return STATUS_OK;
    }
    enum status s = path_beside(path, kubeconfig, source[1], why);
    return (s == STATUS_OK) ? pem_from_file(pem, what, path, OF_KUBECONFIG, why) : s;
}

static enum status pems_from_config(struct credentials *c, const char *path,
                                    const struct kubeconfig *k, struct writer *why)
{
    const struct {
        struct pem *pem;
        const char *what;
        struct view source[2];
    } rows[] = {
        {&c->ca, "certificate-authority", {k->ca_data, k->ca_file}},
        {&c->cert, "client-certificate", {k->cert_data, k->cert_file}},
        {&c->key, "client-key", {k->key_data, k->key_file}},
    };
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        enum status s = pem_from_config(rows[i].pem, rows[i].what, path, rows[i].source, why);
        if (s != STATUS_OK) {
            return s;
        }
    }
    return STATUS_OK;
}

static enum status token_from_config(struct credentials *c, const char *path,
                                     const struct kubeconfig *k, struct writer *why)
{
    bool changed = false;
    /*
     * If the kubeconfig has both a token file and a token, the agent uses the file, as client-go
     * does.
     */
    if (k->token_file.len > 0u) {
        enum status s = path_beside(c->token_file, path, k->token_file, why);
        return (s == STATUS_OK) ? token_read(c, &changed, why) : s;
    }
    return (k->token.len > 0u) ? token_set(c, k->token, "token in the kubeconfig", &changed, why)
                               : STATUS_OK;
}

static enum status server_from_config(struct credentials *c, const char *path,
                                      const struct kubeconfig *k, struct writer *why)
{
    struct view host = {0};
    uint16_t port = 0;
    if (kubeconfig_server(k->server, &host, &port) != STATUS_OK) {
        WRITE(why, "%: server is not of the form https://host:port", TEXT(path));
        return PEER_MALFORMED;
    }
    enum status s = address_set(c, host, port, why);
    if (s == STATUS_OK && k->tls_server_name.len > 0u) {
        bool fits = view_without_dot(k->tls_server_name).len < API_HOST_CAP;
        s = fits ? text_copy(c->server_name, sizeof c->server_name, k->tls_server_name)
                 : FULL_BUFFER;
        if (s != STATUS_OK) {
            WRITE(why, "%: tls-server-name is longer than 253 characters; correct it", TEXT(path));
        }
    }
    return s;
}

static enum status load_kubeconfig(struct credentials *c, const char *path, struct writer *why)
{
    struct kubeconfig k = {0};
    struct writer text = writer_of(c->pems, KUBECONFIG_BYTES_MAX);
    enum status s = read_file(path, &text, "kubeconfig", OF_SETTINGS, why);
    c->text_len = text.len;
    if (s != STATUS_OK) {
        return s;
    }
    c->remedy = OF_KUBECONFIG;
    size_t before = why->len;
    WRITE(why, "kubeconfig %: ", TEXT(path));
    s = kubeconfig_read(writer_view(&text), c->values, &k, why);
    explicit_bzero(c->pems, c->text_len);
    if (s != STATUS_OK) {
        return s;
    }
    why->len = before;
    s = server_from_config(c, path, &k, why);
    if (s == STATUS_OK) {
        s = pems_from_config(c, path, &k, why);
    }
    return (s == STATUS_OK) ? token_from_config(c, path, &k, why) : s;
}

/* --- credentials of the pod's service account --- */

/* Returns the value of an environment variable; NULL: the variable is not set. */
static const char *environment_value(const char *name)
{
    size_t len = strlen(name);
    for (char *const *row = environ; *row != NULL; row++) {
        if (strncmp(*row, name, len) == 0 && (*row)[len] == '=') {
            return &(*row)[len + 1u];
        }
    }
    return NULL;
}

static enum status load_service_account(struct credentials *c, struct writer *why)
{
    const char *host = environment_value("KUBERNETES_SERVICE_HOST");
    const char *port_text = environment_value("KUBERNETES_SERVICE_PORT");
    uint64_t port = 0;
    if (host == NULL || port_text == NULL || host[0] == '\0') {
        writer_text(why, "no API server: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are "
                         "not set; run in a pod, or give --kubeconfig");
        return PEER_NOT_FOUND;
    }
    if (view_decimal(view_text(port_text), UINT16_MAX, &port) != STATUS_OK || port == 0u) {
        WRITE(why, "KUBERNETES_SERVICE_PORT is not a port from 1 to 65535: %", TEXT(port_text));
        return PEER_MALFORMED;
    }
    enum status s = address_set(c, view_text(host), (uint16_t)port, why);
    if (s != STATUS_OK) {
        return s;
    }
    text_set(c->token_file, sizeof c->token_file, SERVICE_ACCOUNT_DIR "/token");
    c->remedy = OF_POD;
    s = pem_from_file(&c->ca, "service account CA", SERVICE_ACCOUNT_DIR "/ca.crt", OF_POD, why);
    bool changed = false;
    return (s == STATUS_OK) ? token_read(c, &changed, why) : s;
}

/* --- loading and wiping all credentials --- */

enum status credentials_load(struct credentials *c, const char *kubeconfig, struct writer *why)
{
    credentials_wipe(c);
    c->ca = (struct pem){.cap = CA_BYTES_MAX, .text = c->pems};
    c->cert = (struct pem){.cap = PEM_BYTES_MAX, .text = &c->pems[CA_BYTES_MAX]};
    c->key = (struct pem){.cap = PEM_BYTES_MAX, .text = &c->pems[CA_BYTES_MAX + PEM_BYTES_MAX]};
    explicit_bzero(c->token, sizeof c->token);
    c->token_file[0] = 0;
    bool in_cluster = kubeconfig[0] == '\0';
    enum status s = in_cluster ? load_service_account(c, why) : load_kubeconfig(c, kubeconfig, why);
    if (s != STATUS_OK) {
        credentials_wipe(c);
        return s;
    }
    ASSERT(c->host[0] != '\0' && c->port != 0u && c->ca.len > 0u);
    return STATUS_OK;
}

struct tls_identity credentials_identity(const struct credentials *c)
{
    ASSERT(c->ca.len > 0u);
    return (struct tls_identity){.ca_pem = c->ca.text,
                                 .ca_len = c->ca.len,
                                 .cert_pem = c->cert.text,
                                 .cert_len = c->cert.len,
                                 .key_pem = c->key.text,
                                 .key_len = c->key.len,
                                 .server_name = c->server_name};
}

static void pem_wipe(struct pem *pem)
{
    if (pem->len > 0u) {
        explicit_bzero(pem->text, pem->len);
    }
    pem->len = 0;
}

void credentials_wipe(struct credentials *c)
{
    ASSERT(c->text_len <= KUBECONFIG_BYTES_MAX);
    pem_wipe(&c->ca);
    pem_wipe(&c->cert);
    pem_wipe(&c->key);
    explicit_bzero(c->pems, c->text_len);
    explicit_bzero(c->values, c->text_len);
    c->text_len = 0;
}
