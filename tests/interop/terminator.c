/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS by OpenSSL in front of a plain port on loopback: what an API server's own TLS library never
 * does can be had here. Owns TLS and the bytes between; knows no HTTP/2. A process a connection.
 *
 *   terminator CERT KEY VERSION GROUPS PORT     VERSION 1.2, 1.3; GROUPS as in "P-384"
 *
 * stdin:   update (KeyUpdate), ticket, renegotiate: on every connection; its end ends all
 * stdout:  listening PORT | connection VERSION CIPHER hellos N resumed N | did WHAT
 *          | alert NAME | closed (by close_notify) | cut
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CHILDREN_MAX 64
#define PIECE_BYTES 16384
#define LINE_BYTES 64
#define LOOK_MS 20

static pid_t children[CHILDREN_MAX];
static unsigned child_count;
static unsigned hellos;
static volatile sig_atomic_t asked;

static const struct {
    const char *word;
    int number;
} commands[] = {{"update\n", SIGUSR1}, {"ticket\n", SIGUSR2}, {"renegotiate\n", SIGHUP}};

static _Noreturn void fail(const char *what)
{
    (void)fprintf(stderr, "terminator: %s: %s\n", what, strerror(errno));
    ERR_print_errors_fp(stderr);
    exit(1);
}

/* Lines of several processes stay whole: each is one write. */
static void say(const char *words, const char *more)
{
    char line[256];
    int n = snprintf(line, sizeof line, "%s%s\n", words, more);
    if (n < 0 || write(STDOUT_FILENO, line, (size_t)n) != n) {
        exit(1);
    }
}

/* --- OpenSSL --- */

static int choose_h2(SSL *tls, const unsigned char **out, unsigned char *out_len,
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

static void see_alert(const SSL *tls, int where, int value)
{
    (void)tls;
    if ((where & SSL_CB_READ_ALERT) == SSL_CB_READ_ALERT) {
        say("alert ", SSL_alert_desc_string_long(value));
    }
}

static void see_hello(int sent, int version, int type, const void *data, size_t len, SSL *tls,
                      void *argument)
{
    const unsigned char *bytes = data;
    (void)version;
    (void)tls;
    (void)argument;
    bool hello =
        sent == 0 && type == SSL3_RT_HANDSHAKE && len > 0 && bytes[0] == SSL3_MT_CLIENT_HELLO;
    hellos += hello ? 1u : 0u;
}

static SSL_CTX *context_new(char **argv)
{
    int version = strcmp(argv[3], "1.2") == 0 ? TLS1_2_VERSION : TLS1_3_VERSION;
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    if (context == NULL || SSL_CTX_use_certificate_chain_file(context, argv[1]) != 1 ||
        SSL_CTX_use_PrivateKey_file(context, argv[2], SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_set_min_proto_version(context, version) != 1 ||
        SSL_CTX_set_max_proto_version(context, version) != 1 ||
        SSL_CTX_set1_groups_list(context, argv[4]) != 1) {
        fail("context");
    }
    SSL_CTX_set_alpn_select_cb(context, choose_h2, NULL);
    SSL_CTX_set_info_callback(context, see_alert);
    SSL_CTX_set_msg_callback(context, see_hello);
    /* After a record without data the loop looks at the other side again. */
    SSL_CTX_clear_mode(context, SSL_MODE_AUTO_RETRY);
    return context;
}

/* --- one connection --- */

static void on_signal(int number)
{
    asked = number;
}

static void obey(SSL *tls)
{
    int number = asked;
    int done = 0;
    asked = 0;
    if (number == SIGUSR1) {
        done = SSL_key_update(tls, SSL_KEY_UPDATE_REQUESTED) == 1 && SSL_do_handshake(tls) == 1;
    } else if (number == SIGUSR2) {
        done = SSL_new_session_ticket(tls) == 1 && SSL_do_handshake(tls) == 1;
    } else if (number == SIGHUP) {
        done = SSL_renegotiate(tls) == 1 && SSL_do_handshake(tls) >= 0;
    }
    if (number != 0) {
        say("did ", done == 1 ? "it" : "not");
    }
}

static void write_all(int fd, const char *bytes, ssize_t n)
{
    while (n > 0) {
        ssize_t sent = write(fd, bytes, (size_t)n);
        if (sent <= 0) {
            exit(0);
        }
        bytes += sent;
        n -= sent;
    }
}

/* What OpenSSL can give now, to the plain side. */
static void inward(SSL *tls, int plain)
{
    char piece[PIECE_BYTES];
    do {
        int n = SSL_read(tls, piece, sizeof piece);
        int why = SSL_get_error(tls, n);
        if (n > 0) {
            write_all(plain, piece, n);
        } else if (why != SSL_ERROR_WANT_READ) {
            say(why == SSL_ERROR_ZERO_RETURN ? "closed" : "cut", "");
            exit(0);
        }
    } while (SSL_has_pending(tls) == 1 && SSL_pending(tls) > 0);
}

static void outward(SSL *tls, int plain)
{
    char piece[PIECE_BYTES];
    ssize_t n = read(plain, piece, sizeof piece);
    if (n <= 0 || SSL_write(tls, piece, (int)n) != n) {
        (void)SSL_shutdown(tls);
        exit(0);
    }
}

static struct sockaddr_in loopback(uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

static _Noreturn void serve(SSL_CTX *context, int fd, uint16_t port)
{
    struct sockaddr_in address = loopback(port);
    int plain = socket(AF_INET, SOCK_STREAM, 0);
    SSL *tls = SSL_new(context);
    char line[LINE_BYTES];
    for (unsigned i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        (void)signal(commands[i].number, on_signal);
    }
    if (plain < 0 || connect(plain, (struct sockaddr *)&address, sizeof address) != 0 ||
        tls == NULL || SSL_set_fd(tls, fd) != 1) {
        fail("connect");
    }
    if (SSL_accept(tls) != 1) {
        say("refused", "");
        exit(0);
    }
    (void)snprintf(line, sizeof line, "%s %s hellos %u resumed %d", SSL_get_version(tls),
                   SSL_get_cipher_name(tls), hellos, SSL_session_reused(tls));
    say("connection ", line);
    for (;;) {
        struct pollfd polled[] = {{.fd = fd, .events = POLLIN}, {.fd = plain, .events = POLLIN}};
        (void)poll(polled, 2, LOOK_MS);
        obey(tls);
        if (polled[0].revents != 0) {
            inward(tls, plain);
        }
        if (polled[1].revents != 0) {
            outward(tls, plain);
        }
    }
}

/* --- the listener --- */

static int listen_any(uint16_t *port)
{
    struct sockaddr_in address = loopback(0);
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, len) != 0 || listen(fd, 16) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &len) != 0) {
        fail("listen");
    }
    *port = ntohs(address.sin_port);
    return fd;
}

static void tell_children(int number)
{
    for (unsigned i = 0; i < child_count; i++) {
        (void)kill(children[i], number);
    }
}

/* false: standard input ended. */
static bool command(void)
{
    char line[LINE_BYTES];
    if (fgets(line, sizeof line, stdin) == NULL) {
        return false;
    }
    for (unsigned i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (strcmp(line, commands[i].word) == 0) {
            tell_children(commands[i].number);
        }
    }
    return true;
}

static void connection(SSL_CTX *context, int listener, uint16_t port)
{
    int one = 1;
    int fd = accept(listener, NULL, NULL);
    if (fd < 0 || child_count == CHILDREN_MAX) {
        fail("accept");
    }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    pid_t pid = fork();
    if (pid == 0) {
        (void)close(listener);
        serve(context, fd, port);
    }
    children[child_count++] = pid;
    (void)close(fd);
}

int main(int argc, char **argv)
{
    uint16_t port = 0;
    char text[LINE_BYTES];
    bool open = true;
    if (argc != 6) {
        (void)fprintf(stderr, "usage: terminator CERT KEY VERSION GROUPS PORT\n");
        return 2;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    SSL_CTX *context = context_new(argv);
    int listener = listen_any(&port);
    (void)snprintf(text, sizeof text, "%u", (unsigned)port);
    say("listening ", text);
    while (open) {
        struct pollfd polled[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                                  {.fd = listener, .events = POLLIN}};
        (void)poll(polled, 2, -1);
        if (polled[1].revents != 0) {
            connection(context, listener, (uint16_t)strtoul(argv[5], NULL, 10));
        }
        open = polled[0].revents == 0 || command();
    }
    tell_children(SIGTERM);
    return 0;
}
