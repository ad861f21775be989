/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim-apiserver: the API server model over TCP on loopback with TLS by OpenSSL, another
 * implementation than the agent's. Owns descriptors and TLS only; what is answered is sim_api's.
 *
 *   sim-apiserver --cert FILE --key FILE --token TOKEN [--serve v1,v1beta2,v1beta1]
 *
 * stdin:   put node|claim|slice HEX | delete node|claim|slice NAMESPACE NAME ("-": none)
 *          show nodes|claims|slices
 * stdout:  listening PORT
 *          request METHOD PATH CODE, for each request of a client
 *          object HEX (of `show`), done | failed TEXT, for each command
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "tests/sim/host/host.h"
#include "tests/sim/apiserver/sim_api.h"

#define BACKLOG 16
#define OTHER_FDS 2

struct client {
    int fd; /* -1: free */
    SSL *tls;
    bool shaken; /* the handshake is complete */
    bool ended;  /* nothing comes or goes any more */
    int number;  /* at sim_api; valid once shaken */
    short wants; /* events of poll(2) that TLS waits for */
};

static struct sim_api api;
static struct client client[SIM_CONNECTIONS_MAX];
static SSL_CTX *context;

static _Noreturn void tls_fail(const char *what)
{
    ERR_print_errors_fp(stderr);
    errno = EINVAL;
    host_fail(what);
}

/* --- TLS --- */

static int choose_protocol(SSL *tls, const unsigned char **out, unsigned char *out_len,
                           const unsigned char *in, unsigned in_len, void *argument)
{
    static const unsigned char h2[] = "\x02h2";
    unsigned char *chosen = NULL;
    (void)tls;
    (void)argument;
    if (SSL_select_next_proto(&chosen, out_len, h2, sizeof h2 - 1, in, in_len) !=
        OPENSSL_NPN_NEGOTIATED) {
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    }
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

static void tls_setup(const char *cert, const char *key)
{
    context = SSL_CTX_new(TLS_server_method());
    if (context == NULL || SSL_CTX_use_certificate_chain_file(context, cert) != 1 ||
        SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1) {
        tls_fail(cert);
    }
    (void)SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    (void)SSL_CTX_set_mode(context,
                           SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_alpn_select_cb(context, choose_protocol, NULL);
}

/* What a call that did not succeed waits for; nothing: the client is gone. */
static void not_now(struct client *c, int result)
{
    int error = SSL_get_error(c->tls, result);
    if (error == SSL_ERROR_WANT_READ) {
        c->wants = POLLIN;
    } else if (error == SSL_ERROR_WANT_WRITE) {
        c->wants = POLLIN | POLLOUT;
    } else {
        c->ended = true;
    }
    ERR_clear_error();
}

/* --- clients --- */

static void client_close(struct client *c)
{
    SSL_free(c->tls);
    (void)close(c->fd);
    c->fd = -1;
}

static void client_accept(int listener)
{
    int on = 1;
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    for (unsigned i = 0; i < SIM_CONNECTIONS_MAX && fd >= 0; i++) {
        struct client *c = &client[i];
        if (c->fd >= 0) {
            continue;
        }
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        *c = (struct client){.fd = fd, .tls = SSL_new(context), .wants = POLLIN, .number = -1};
        if (c->tls == NULL || SSL_set_fd(c->tls, fd) != 1) {
            tls_fail("connection");
        }
        return;
    }
    if (fd >= 0) {
        (void)close(fd);
    }
}

static bool shake(struct client *c)
{
    int result = SSL_accept(c->tls);
    if (result != 1) {
        not_now(c, result);
        return false;
    }
    c->shaken = true;
    c->number = sim_api_open(&api);
    c->ended = c->number < 0;
    return !c->ended;
}

static bool read_client(struct client *c)
{
    struct writer w = sim_api_rx(&api, (unsigned)c->number);
    size_t n = 0;
    if (writer_room(&w) == 0) {
        return false;
    }
    int result = SSL_read_ex(c->tls, w.data + w.len, writer_room(&w), &n);
    if (result == 1) {
        sim_api_rx_commit(&api, (unsigned)c->number, n);
        return true;
    }
    not_now(c, result);
    if (c->ended) {
        sim_api_end(&api, (unsigned)c->number);
    }
    return c->ended;
}

static bool write_client(struct client *c)
{
    struct view v = sim_api_tx(&api, (unsigned)c->number);
    size_t n = 0;
    if (v.len == 0 || c->ended) {
        return false;
    }
    int result = SSL_write_ex(c->tls, v.data, v.len, &n);
    if (result == 1) {
        sim_api_tx_commit(&api, (unsigned)c->number, n);
        return true;
    }
    not_now(c, result);
    return false;
}

static bool client_in(struct client *c)
{
    if (c->fd < 0 || c->ended) {
        return false;
    }
    return c->shaken ? read_client(c) : shake(c);
}

static bool client_out(struct client *c)
{
    if (c->fd < 0) {
        return false;
    }
    if (!c->shaken || c->number < 0) {
        if (c->ended) {
            client_close(c);
        }
        return false;
    }
    bool moved = write_client(c);
    if (sim_api_done(&api, (unsigned)c->number)) {
        client_close(c);
    }
    return moved;
}

/* --- commands --- */

static bool kind_of(const char *word, enum sim_kind *kind)
{
    static const char *const names[SIM_KINDS] = {"node", "claim", "slice"};
    for (unsigned i = 0; i < SIM_KINDS; i++) {
        if (strncmp(word, names[i], strlen(names[i])) == 0) {
            *kind = (enum sim_kind)i;
            return true;
        }
    }
    return false;
}

static void tell(enum status s)
{
    if (s == STATUS_OK) {
        host_say("done");
    } else {
        host_say("failed %s", status_name(s));
    }
}

static void put(enum sim_kind kind, const char *hex)
{
    static uint8_t bytes[SIM_REQUEST_BYTES];
    struct writer w = writer_of(bytes, sizeof bytes);
    tell(host_bytes(hex, &w) ? sim_api_put(&api, kind, writer_view(&w)) : PEER_MALFORMED);
}

static void show(enum sim_kind kind)
{
    static uint8_t bytes[SIM_REQUEST_BYTES];
    for (unsigned i = 0; i < api.store.top; i++) {
        const struct sim_object *o = &api.store.object[i];
        struct writer w = writer_of(bytes, sizeof bytes);
        if (o->state == SIM_LIVE && o->kind == kind) {
            sim_object_write(o, SIM_V1, &w);
            ASSERT(!w.full);
            host_say_bytes("object", writer_view(&w));
        }
    }
    host_say("done");
}

static void command(const struct host_words *words)
{
    enum sim_kind kind = SIM_NODE;
    const char *verb = words->count > 0 ? words->at[0] : "";
    if (words->count < 2 || !kind_of(words->at[1], &kind)) {
        host_say("failed unknown command");
    } else if (strcmp(verb, "put") == 0 && words->count == 3) {
        put(kind, words->at[2]);
    } else if (strcmp(verb, "delete") == 0 && words->count == 4) {
        const char *ns = strcmp(words->at[2], "-") == 0 ? "" : words->at[2];
        tell(sim_api_delete(&api, kind, ns, words->at[3]));
    } else if (strcmp(verb, "show") == 0) {
        show(kind);
    } else {
        host_say("failed unknown command");
    }
}

/* --- the loop --- */

static void turn(void)
{
    struct sim_api_event e;
    bool moved = true;
    while (moved) {
        moved = false;
        for (unsigned i = 0; i < SIM_CONNECTIONS_MAX; i++) {
            moved = client_in(&client[i]) || moved;
        }
        sim_api_step(&api, host_now_ms(), host_now_s());
        while (sim_api_next(&api, &e) == STATUS_OK) {
            host_say("request %s %s %u", e.method, e.path, e.http);
        }
        for (unsigned i = 0; i < SIM_CONNECTIONS_MAX; i++) {
            moved = client_out(&client[i]) || moved;
        }
    }
}

static void wait_for(int listener, struct pollfd *fds)
{
    fds[0] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
    fds[1] = (struct pollfd){.fd = listener, .events = POLLIN};
    for (unsigned i = 0; i < SIM_CONNECTIONS_MAX; i++) {
        fds[OTHER_FDS + i] = (struct pollfd){.fd = client[i].fd, .events = client[i].wants};
        client[i].wants = POLLIN;
    }
    int wait = host_wait_ms(sim_api_deadline(&api));
    if (poll(fds, OTHER_FDS + SIM_CONNECTIONS_MAX, wait) < 0 && errno != EINTR) {
        host_fail("poll");
    }
}

static int listen_on_loopback(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&at, sizeof at) != 0 ||
        listen(fd, BACKLOG) != 0 || getsockname(fd, (struct sockaddr *)&at, &len) != 0) {
        host_fail("listen on 127.0.0.1");
    }
    host_say("listening %u", (unsigned)ntohs(at.sin_port));
    return fd;
}

int main(int argc, char **argv)
{
    static const char *const options[] = {"--cert", "--key", "--token", "--serve", NULL};
    struct pollfd fds[OTHER_FDS + SIM_CONNECTIONS_MAX];
    struct host_words words;
    host_usage(argc, argv, options);
    const char *serve = host_option(argc, argv, "--serve", "v1,v1beta2,v1beta1");
    const struct sim_api_config config = {
        .token = host_option(argc, argv, "--token", ""),
        .serves = {strncmp(serve, "v1,", 3) == 0 || strcmp(serve, "v1") == 0,
                   strstr(serve, "v1beta2") != NULL, strstr(serve, "v1beta1") != NULL},
        .seed = host_now_s(),
    };
    (void)signal(SIGPIPE, SIG_IGN); /* OpenSSL writes without MSG_NOSIGNAL */
    for (unsigned i = 0; i < SIM_CONNECTIONS_MAX; i++) {
        client[i].fd = -1;
    }
    tls_setup(host_option(argc, argv, "--cert", ""), host_option(argc, argv, "--key", ""));
    sim_api_init(&api, &config, host_now_ms());
    int listener = listen_on_loopback();
    for (;;) {
        turn();
        wait_for(listener, fds);
        if (fds[1].revents != 0) {
            client_accept(listener);
        }
        if (fds[0].revents != 0 && !host_read()) {
            return 0;
        }
        while (host_command(&words)) {
            command(&words);
        }
    }
}
