/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The TLS client against OpenSSL's server on loopback, with certificates made for each run: what is
 * accepted, what is refused and in which words, and that the arena gets everything back.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <mbedtls/platform_time.h>
#include <mbedtls/platform_util.h>

#include "base/assert.h"
#include "cfg/limits.h"
#include "host/tls.h"

__attribute__((weak)) _Noreturn void assert_failed(const char *condition, const char *file,
                                                   int line)
{
    (void)fprintf(stderr, "%s:%d: %s\n", file, line, condition);
    abort();
}

/* Long enough for a machine under load; nothing waits for it when all is well. */
#define PATIENCE_MS 60000
#define PEM_CAP 32768

static char folder[] = "/tmp/test_tls.XXXXXX";
static char why_text[1024];

/* --- certificates --- */

/* One script, so that one process makes them all. $1 is the folder. */
static const char make_certificates[] =
    "set -eu; cd \"$1\"; exec >openssl.log 2>&1\n"
    "ec=ec:ec.conf; printf '[req]\\ndistinguished_name=dn\\n[dn]\\n' >req.conf\n"
    "key() { case $2 in rsa*) openssl genpkey -quiet -algorithm RSA -pkeyopt "
    "rsa_keygen_bits:${2#rsa} -out $1.key 2>/dev/null || openssl genpkey -algorithm RSA -pkeyopt "
    "rsa_keygen_bits:${2#rsa} -out $1.key;; *) openssl ecparam -genkey -noout -name $2 -out "
    "$1.key;; esac; }\n"
    "authority() { key $1 $2; openssl req -config req.conf -x509 -new -key $1.key -subj /CN=$1 "
    "-days 30 -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign "
    "-out $1.pem; }\n"
    "leaf() { key $1 $2; openssl req -config req.conf -new -key $1.key -subj /CN=api.test "
    "-out $1.csr; printf '%s\\n' \"$4\" >$1.ext; openssl x509 -req -in $1.csr -CA $3.pem -CAkey "
    "$3.key -CAcreateserial -days 30 -extfile $1.ext -out $1.pem; }\n"
    "dated() { : >$1.db; rm -f $1.db.*; printf '[ca]\\ndefault_ca=d\\n[d]\\ndatabase=%s.db\\n"
    "new_certs_dir=.\\nserial=%s.no\\ndefault_md=sha256\\npolicy=p\\n[p]\\ncommonName=supplied\\n' "
    "$1 $1 >$1.conf; echo 77 >$1.no; openssl ca -batch -notext -config $1.conf -in ec.csr -cert "
    "ca.pem -keyfile ca.key -extfile ec.ext -startdate $2 -enddate $3 -out $1.pem; }\n"
    "good='subjectAltName=DNS:api.test,DNS:*.wild.test,IP:127.0.0.1,IP:::1'\n"
    "authority ca prime256v1; authority rsaca rsa2048; authority other secp384r1\n"
    "leaf ec prime256v1 ca \"$good\"; leaf ec384 secp384r1 ca \"$good\"\n"
    "leaf rsa rsa2048 rsaca \"$good\"\n"
    "leaf wrong prime256v1 ca subjectAltName=DNS:else.test,IP:10.0.0.9\n"
    "leaf nosan prime256v1 ca extendedKeyUsage=serverAuth\n"
    "leaf clientonly prime256v1 ca \"$good\n"
    "extendedKeyUsage=clientAuth\"\n"
    "leaf me prime256v1 ca extendedKeyUsage=clientAuth\n"
    "leaf mersa rsa2048 ca extendedKeyUsage=clientAuth\n"
    "leaf stranger prime256v1 other extendedKeyUsage=clientAuth\n"
    "dated expired 20200101000000Z 20210101000000Z\n"
    "dated future 20900101000000Z 20910101000000Z\n"
    "cat other.pem rsaca.pem ca.pem >bundle.pem\n";

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *walk)
{
    (void)st;
    (void)type;
    (void)walk;
    return remove(path);
}

static int make_folder(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    pid_t pid = fork();
    if (pid == 0) {
        (void)execl("/bin/sh", "sh", "-c", make_certificates, "make", folder, (char *)NULL);
        _exit(127);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (status != 0) {
        print_error("openssl could not make the certificates: see %s/openssl.log\n", folder);
        return -1;
    }
    return (tls_setup() == STATUS_OK) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* A file of the folder as a view with its NUL behind it, in one of three buffers. */
static struct view pem(const char *name, unsigned slot)
{
    static char text[3][PEM_CAP];
    char path[200];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t n = fread(text[slot], 1, PEM_CAP - 1, file);
    assert_true(n > 0 && n < PEM_CAP - 1);
    assert_int_equal(fclose(file), 0);
    text[slot][n] = '\0';
    return view_of(text[slot], n);
}

static struct tls_identity identity(const char *ca, const char *client, const char *name)
{
    char file[64];
    struct tls_identity id = {.ca_pem = pem(ca, 0), .server_name = name};
    if (client != NULL) {
        (void)snprintf(file, sizeof file, "%s.pem", client);
        id.cert_pem = pem(file, 1);
        (void)snprintf(file, sizeof file, "%s.key", client);
        id.key_pem = pem(file, 2);
    }
    return id;
}

/* --- the server --- */

struct server {
    pid_t pid;
    FILE *out;
    uint16_t port;
};

#define ARGS_MAX 40

/* `options`: words divided by single spaces, behind the common ones. */
static struct server server_start(const char *cert, const char *options)
{
    static char text[600];
    char *args[ARGS_MAX];
    unsigned count = 0;
    int ends[2];
    (void)snprintf(text, sizeof text,
                   "openssl s_server -accept 127.0.0.1:0 -rev -cert %s.pem -key %s.key %s", cert,
                   (strcmp(cert, "expired") == 0 || strcmp(cert, "future") == 0) ? "ec" : cert,
                   options);
    char *rest = text;
    for (char *word = strsep(&rest, " "); word != NULL; word = strsep(&rest, " ")) {
        assert_true(count < ARGS_MAX - 1);
        if (word[0] != '\0') {
            args[count++] = word;
        }
    }
    args[count] = NULL;
    assert_int_equal(pipe(ends), 0);
    struct server s = {.pid = fork()};
    if (s.pid == 0) {
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)close(ends[0]);
        (void)close(ends[1]);
        int null = open("/dev/null", O_RDWR);
        (void)dup2(null, STDIN_FILENO);
        (void)dup2(null, STDERR_FILENO);
        if (chdir(folder) == 0) {
            (void)execvp(args[0], args);
        }
        _exit(127);
    }
    assert_int_equal(close(ends[1]), 0);
    s.out = fdopen(ends[0], "r");
    assert_non_null(s.out);
    char line[300];
    unsigned port = 0;
    while (port == 0 && fgets(line, sizeof line, s.out) != NULL) {
        (void)sscanf(line, "ACCEPT 127.0.0.1:%u", &port);
    }
    s.port = (uint16_t)port;
    assert_true(s.port != 0);
    return s;
}

static void server_stop(struct server *s)
{
    assert_int_equal(kill(s->pid, SIGKILL), 0);
    assert_int_equal(waitpid(s->pid, NULL, 0), s->pid);
    assert_int_equal(fclose(s->out), 0);
}

static int dial(uint16_t port)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons(port),
                             .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof to), 0);
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    return fd;
}

/* --- driving the client --- */

static void wait_for(int fd, unsigned wants)
{
    assert_true(wants == TLS_WANTS_READ || wants == TLS_WANTS_WRITE);
    struct pollfd p = {.fd = fd, .events = (wants == TLS_WANTS_READ) ? POLLIN : POLLOUT};
    int n = poll(&p, 1, PATIENCE_MS);
    assert_true(n == 1);
}

/* Up to `steps` steps of the handshake; STATUS_MORE when it was not over by then. */
static enum status shake(int fd, unsigned steps)
{
    struct writer why = writer_of(why_text, sizeof why_text);
    enum status s = STATUS_MORE;
    why_text[0] = '\0';
    for (unsigned i = 0; i < steps && s == STATUS_MORE; i++) {
        if (i > 0) {
            wait_for(fd, tls_wants());
        }
        why.len = 0;
        s = tls_handshake(&why);
        assert_int_equal(writer_end_text(&why), STATUS_OK);
        assert_true((s == STATUS_OK || s == STATUS_MORE) == (why.len == 0));
    }
    return s;
}

#define ALL_STEPS 1000

static enum status start(int fd, const struct tls_identity *id)
{
    struct writer why = writer_of(why_text, sizeof why_text);
    enum status s = tls_start(fd, id, &why);
    assert_int_equal(writer_end_text(&why), STATUS_OK);
    return s;
}

static void end(int fd)
{
    tls_end();
    assert_int_equal(tls_pending(), 0);
    assert_int_equal(tls_arena_leak(), 0);
    assert_in_range(tls_arena_peak(), 1, TLS_ARENA_BYTES);
    assert_int_equal(close(fd), 0);
}

static enum status read_some(int fd, uint8_t *data, size_t cap, size_t *n)
{
    enum status s = tls_read(data, cap, n);
    while (s == STATUS_MORE) {
        wait_for(fd, tls_wants());
        s = tls_read(data, cap, n);
    }
    return s;
}

/* Writes one line and reads it back reversed: application data in both directions. */
static enum status talk(int fd)
{
    uint8_t answer[64];
    size_t n = 0;
    size_t got = 0;
    enum status s = tls_write(view_text("stressed\n"), &n);
    if (s != STATUS_OK) {
        return s;
    }
    assert_int_equal(n, 9);
    while (got < 9) {
        s = read_some(fd, answer + got, sizeof answer - got, &n);
        if (s != STATUS_OK) {
            return s;
        }
        got += n;
    }
    assert_int_equal(got, 9);
    assert_memory_equal(answer, "desserts\n", 9);
    return STATUS_OK;
}

struct row {
    const char *cert;    /* of the server */
    const char *options; /* of the server, besides -alpn h2 */
    const char *ca;
    const char *client; /* NULL: no client certificate */
    const char *name;
    enum status expected;
    const char *words; /* within the reason of a failure */
};

static void try_row(const struct row *row)
{
    char options[300];
    (void)snprintf(options, sizeof options, "-alpn h2 %s", row->options);
    struct server server = server_start(row->cert, options);
    struct tls_identity id = identity(row->ca, row->client, row->name);
    int fd = dial(server.port);
    enum status s = start(fd, &id);
    if (s == STATUS_OK) {
        s = shake(fd, ALL_STEPS);
    }
    if (s == STATUS_OK) {
        s = talk(fd);
        struct writer why = writer_of(why_text, sizeof why_text);
        tls_explain(&why);
        assert_int_equal(writer_end_text(&why), STATUS_OK);
    }
    end(fd);
    server_stop(&server);
    if (s != row->expected || strstr(why_text, row->words) == NULL) {
        fail_msg("%s %s %s: %s, \"%s\"", row->cert, row->options, row->name, status_name(s),
                 why_text);
    }
}

#define DIFFERENT "the server's certificate cannot be trusted: "
#define CLIENT_WANTED "-Verify 1 -verify_return_error -CAfile ca.pem"

static void test_accepted(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"ec", "-tls1_3", "ca.pem", NULL, "api.test", STATUS_OK, ""},
        {"ec", "-tls1_2", "ca.pem", NULL, "api.test", STATUS_OK, ""},
        {"rsa", "-tls1_3", "rsaca.pem", NULL, "api.test", STATUS_OK, ""},
        {"rsa", "-tls1_2", "rsaca.pem", NULL, "api.test", STATUS_OK, ""},
        {"ec384", "", "ca.pem", NULL, "api.test", STATUS_OK, ""},
        {"ec", "", "bundle.pem", NULL, "a.wild.test", STATUS_OK, ""},
        {"ec", "", "ca.pem", NULL, "127.0.0.1", STATUS_OK, ""},
        {"rsa", "-tls1_2", "rsaca.pem", NULL, "::1", STATUS_OK, ""},
        /* The key share is for X25519: these groups ask for a HelloRetryRequest. */
        {"ec", "-tls1_3 -groups P-256", "ca.pem", NULL, "api.test", STATUS_OK, ""},
        {"ec", "-tls1_3 -groups P-384", "ca.pem", NULL, "127.0.0.1", STATUS_OK, ""},
        {"ec", "-ciphersuites TLS_CHACHA20_POLY1305_SHA256", "ca.pem", NULL, "api.test",
         STATUS_OK, ""},
        {"ec", "-num_tickets 8", "ca.pem", NULL, "api.test", STATUS_OK, ""},
        {"ec", "-tls1_3 " CLIENT_WANTED, "ca.pem", "me", "api.test", STATUS_OK, ""},
        {"ec", "-tls1_2 " CLIENT_WANTED, "ca.pem", "me", "api.test", STATUS_OK, ""},
        {"ec", "-tls1_3 " CLIENT_WANTED, "ca.pem", "mersa", "api.test", STATUS_OK, ""},
        {"ec", "-tls1_2 " CLIENT_WANTED, "ca.pem", "mersa", "api.test", STATUS_OK, ""},
        /* Asked for, but not required. */
        {"ec", "-verify 1 -CAfile ca.pem", "ca.pem", NULL, "api.test", STATUS_OK, ""},
    };
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        try_row(&rows[i]);
    }
}

static void test_refused(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"ec", "", "other.pem", NULL, "api.test", PEER_UNTRUSTED,
         DIFFERENT "it is not signed by the given certificate authority"},
        {"ec", "-tls1_2", "other.pem", NULL, "127.0.0.1", PEER_UNTRUSTED,
         DIFFERENT "it is not signed by the given certificate authority"},
        {"ec", "", "ca.pem", NULL, "else.test", PEER_UNTRUSTED,
         DIFFERENT "it does not list else.test among its subject alternative names"},
        {"ec", "-tls1_2", "ca.pem", NULL, "a.b.wild.test", PEER_UNTRUSTED,
         DIFFERENT "it does not list a.b.wild.test"},
        {"wrong", "", "ca.pem", NULL, "127.0.0.1", PEER_UNTRUSTED,
         DIFFERENT "it does not list 127.0.0.1"},
        {"wrong", "-tls1_2", "ca.pem", NULL, "::1", PEER_UNTRUSTED,
         DIFFERENT "it does not list ::1"},
        /* The name is the subject's common name, and nowhere else. */
        {"nosan", "", "ca.pem", NULL, "api.test", PEER_UNTRUSTED,
         DIFFERENT "it does not list api.test"},
        {"expired", "", "ca.pem", NULL, "api.test", PEER_UNTRUSTED, DIFFERENT "it has expired"},
        {"expired", "-tls1_2", "other.pem", NULL, "x.test", PEER_UNTRUSTED,
         DIFFERENT "it has expired; it is not signed by the given certificate authority; "
                   "it does not list x.test"},
        {"future", "", "ca.pem", NULL, "api.test", PEER_UNTRUSTED,
         DIFFERENT "it is not valid yet; check the clock of this node"},
        {"clientonly", "", "ca.pem", NULL, "api.test", PEER_UNTRUSTED,
         DIFFERENT "it is not meant for servers"},
        {"ec", "-tls1_3 " CLIENT_WANTED, "ca.pem", NULL, "api.test", PEER_REFUSED,
         "the server requires a client certificate, and none is configured"},
        {"ec", "-tls1_2 " CLIENT_WANTED, "ca.pem", NULL, "api.test", PEER_UNSUPPORTED,
         "it wants a client certificate"},
        {"ec", "-tls1_3 " CLIENT_WANTED, "ca.pem", "stranger", "api.test", PEER_REFUSED,
         "the server does not accept our client certificate"},
        {"ec", "-tls1_2 " CLIENT_WANTED, "ca.pem", "stranger", "api.test", PEER_REFUSED,
         "the server does not accept our client certificate"},
        {"ec", "-tls1_2 -cipher ECDHE-ECDSA-AES128-SHA", "ca.pem", NULL, "api.test",
         PEER_UNSUPPORTED, "neither TLS 1.2 nor 1.3 with a cipher of ours"},
    };
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        try_row(&rows[i]);
    }
}

/* --- what else a server can do --- */

static void test_no_alpn(void **state)
{
    (void)state;
    static const char *const options[] = {"-tls1_3", "-tls1_2", "-alpn http/1.1"};
    for (unsigned i = 0; i < 3; i++) {
        struct server server = server_start("ec", options[i]);
        struct tls_identity id = identity("ca.pem", NULL, "api.test");
        int fd = dial(server.port);
        assert_int_equal(start(fd, &id), STATUS_OK);
        assert_int_equal(shake(fd, ALL_STEPS), PEER_UNSUPPORTED);
        assert_non_null(strstr(why_text, "does not offer HTTP/2 (ALPN h2)"));
        /* Failures stay. */
        assert_int_equal(shake(fd, 1), PEER_UNSUPPORTED);
        end(fd);
        server_stop(&server);
    }
}

/* A peer that answers the ClientHello with `answer` and closes. */
static enum status shake_with(const void *answer, size_t len)
{
    struct tls_identity id = identity("ca.pem", NULL, "api.test");
    uint8_t hello[2000];
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    assert_int_equal(start(ends[0], &id), STATUS_OK);
    assert_int_equal(shake(ends[0], 1), STATUS_MORE);
    assert_int_equal(tls_wants(), TLS_WANTS_READ);
    ssize_t n = read(ends[1], hello, sizeof hello);
    assert_in_range(n, 100, sizeof hello);
    assert_int_equal(hello[0], 22);
    assert_int_equal(write(ends[1], answer, len), (ssize_t)len);
    assert_int_equal(close(ends[1]), 0);
    enum status s = shake(ends[0], ALL_STEPS);
    end(ends[0]);
    return s;
}

static void test_odd_answers(void **state)
{
    (void)state;
    static const char plain[] = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\n\r\n";
    static const uint8_t part[] = {22, 3, 3, 0, 80, 2, 0, 0, 76};
    static const uint8_t old_version[] = {21, 3, 1, 0, 2, 2, 70};
    static const uint8_t unknown_alert[] = {21, 3, 3, 0, 2, 2, 99};
    static const uint8_t huge[] = {22, 3, 3, 0xff, 0xff, 2, 0, 0, 76};
    assert_int_equal(shake_with(plain, sizeof plain - 1), PEER_PROTOCOL);
    assert_non_null(strstr(why_text, "is not TLS; is this the https port"));
    assert_int_equal(shake_with("", 0), PEER_CLOSED);
    assert_string_equal(why_text, "the server closed the connection");
    assert_int_equal(shake_with(part, sizeof part), PEER_CLOSED);
    assert_int_equal(shake_with(old_version, sizeof old_version), PEER_UNSUPPORTED);
    assert_non_null(strstr(why_text, "neither TLS 1.2 nor 1.3"));
    assert_int_equal(shake_with(unknown_alert, sizeof unknown_alert), PEER_PROTOCOL);
    assert_string_equal(why_text, "the server ended TLS with alert 99");
    assert_int_equal(shake_with(huge, sizeof huge), PEER_PROTOCOL);
}

/* The server's name is in the ClientHello, an address is not (RFC 6066 §3). */
static void test_sni(void **state)
{
    (void)state;
    static const char *const names[] = {"api.test", "127.0.0.1", "::1"};
    for (unsigned i = 0; i < 3; i++) {
        struct tls_identity id = identity("ca.pem", NULL, names[i]);
        uint8_t hello[2000];
        int ends[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
        assert_int_equal(start(ends[0], &id), STATUS_OK);
        assert_int_equal(shake(ends[0], 1), STATUS_MORE);
        ssize_t n = read(ends[1], hello, sizeof hello);
        assert_true(n > 0);
        bool sent = memmem(hello, (size_t)n, names[i], strlen(names[i])) != NULL;
        assert_int_equal(sent, i == 0);
        end(ends[0]);
        assert_int_equal(close(ends[1]), 0);
    }
}

/* --- identities --- */

static void expect_unusable(const struct tls_identity *id, const char *words)
{
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    assert_int_equal(start(ends[0], id), PEER_MALFORMED);
    if (strstr(why_text, words) == NULL) {
        fail_msg("\"%s\" instead of \"%s\"", why_text, words);
    }
    end(ends[0]);
    assert_int_equal(close(ends[1]), 0);
}

static void test_identities(void **state)
{
    (void)state;
    char name[300];
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    struct tls_identity id = identity("ca.pem", "me", "api.test");
    id.ca_pem = view_text("no certificate");
    expect_unusable(&id, "the certificate authority is no readable PEM certificate");
    id.ca_pem = view_text("");
    expect_unusable(&id, "no certificate authority is given");
    id = identity("ca.pem", "me", "api.test");
    id.cert_pem = view_text("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    expect_unusable(&id, "the client certificate is no readable PEM certificate");
    id = identity("ca.pem", "me", "api.test");
    id.key_pem = view_text("garbage");
    expect_unusable(&id, "the client key is no PEM key");
    id.key_pem = pem("ec384.key", 2);
    expect_unusable(&id, "the client key does not belong to the client certificate");
    id.key_pem = pem("mersa.key", 2);
    expect_unusable(&id, "the client key does not belong to the client certificate");
    id = identity("ca.pem", NULL, name);
    expect_unusable(&id, "the server's name is empty or longer than 255 bytes");
    id = identity("ca.pem", NULL, "");
    expect_unusable(&id, "the server's name is empty");
}

/* A bundle that the arena cannot hold is refused in words, and the next session works. */
static void test_exhausted(void **state)
{
    (void)state;
    static char bundle[PEM_CAP];
    struct tls_identity id = identity("rsaca.pem", NULL, "api.test");
    size_t len = 0;
    while (len + id.ca_pem.len < sizeof bundle) {
        memcpy(bundle + len, id.ca_pem.data, id.ca_pem.len);
        len += id.ca_pem.len;
    }
    id.ca_pem = view_of(bundle, len);
    struct server server = server_start("ec", "-alpn h2");
    int fd = dial(server.port);
    assert_int_equal(start(fd, &id), FULL_BUFFER);
    assert_non_null(strstr(why_text, "need more memory than the 72 KiB set aside for TLS"));
    id = identity("ca.pem", NULL, "api.test");
    assert_int_equal(start(fd, &id), STATUS_OK);
    assert_int_equal(shake(fd, ALL_STEPS), STATUS_OK);
    end(fd);
    server_stop(&server);
}

/* --- data --- */

#define LINE_BYTES 64
#define LINES 4000

/* Line `i` as it is sent, or as the server gives it back. */
static void make_line(uint8_t line[LINE_BYTES], unsigned i, bool reversed)
{
    char text[LINE_BYTES + 1];
    (void)snprintf(text, sizeof text, "%063u\n", i * 2654435761u);
    for (unsigned k = 0; k < LINE_BYTES; k++) {
        line[k] = (uint8_t)((reversed && k < LINE_BYTES - 1) ? text[LINE_BYTES - 2 - k] : text[k]);
    }
}

static unsigned check_lines(const uint8_t *data, size_t *have, unsigned next)
{
    uint8_t line[LINE_BYTES];
    size_t used = 0;
    while (*have - used >= LINE_BYTES) {
        make_line(line, next++, true);
        assert_memory_equal(data + used, line, LINE_BYTES);
        used += LINE_BYTES;
    }
    memmove((uint8_t *)(uintptr_t)data, data + used, *have - used);
    *have -= used;
    return next;
}

/*
 * 256 KiB through narrow buffers to a server that stops reading while nobody reads from it, so that
 * writes are cut short and taken up again.
 */
static void exchange(int fd)
{
    static uint8_t out[LINES * LINE_BYTES];
    static uint8_t in[8192];
    size_t sent = 0;
    size_t have = 0;
    unsigned next = 0;
    unsigned stops = 0;
    for (unsigned i = 0; i < LINES; i++) {
        make_line(out + (size_t)i * LINE_BYTES, i, false);
    }
    while (next < LINES) {
        size_t n = 0;
        enum status s = STATUS_MORE;
        if (sent < sizeof out) {
            size_t len = (sizeof out - sent < 10000) ? sizeof out - sent : 10000;
            s = tls_write(view_of(out + sent, len), &n);
            sent += (s == STATUS_OK) ? n : 0;
        }
        if (s == STATUS_OK) {
            continue;
        }
        assert_int_equal(s, STATUS_MORE);
        stops += (sent < sizeof out) ? 1u : 0u;
        s = tls_read(in + have, sizeof in - have, &n);
        if (s == STATUS_MORE) {
            short events = (sent < sizeof out) ? POLLIN | POLLOUT : POLLIN;
            struct pollfd p = {.fd = fd, .events = events};
            assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
            continue;
        }
        assert_int_equal(s, STATUS_OK);
        have += n;
        next = check_lines(in, &have, next);
    }
    assert_int_equal(sent, sizeof out);
    assert_true(stops > 0);
}

static void test_exchange(void **state)
{
    (void)state;
    static const char *const options[] = {"-alpn h2 -tls1_3", "-alpn h2 -tls1_2"};
    for (unsigned i = 0; i < 2; i++) {
        struct server server = server_start("ec", options[i]);
        struct tls_identity id = identity("ca.pem", NULL, "api.test");
        int narrow = 4096;
        int fd = dial(server.port);
        assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &narrow, sizeof narrow), 0);
        assert_int_equal(start(fd, &id), STATUS_OK);
        assert_int_equal(shake(fd, ALL_STEPS), STATUS_OK);
        exchange(fd);
        end(fd);
        server_stop(&server);
    }
}

/* Decrypted bytes that did not fit the caller's buffer are announced. */
static void test_pending(void **state)
{
    (void)state;
    struct server server = server_start("ec", "-alpn h2");
    struct tls_identity id = identity("ca.pem", NULL, "api.test");
    uint8_t byte = 0;
    size_t n = 0;
    int fd = dial(server.port);
    assert_int_equal(tls_pending(), 0);
    assert_int_equal(start(fd, &id), STATUS_OK);
    assert_int_equal(shake(fd, ALL_STEPS), STATUS_OK);
    assert_int_equal(tls_write(view_text("12345\n"), &n), STATUS_OK);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(read_some(fd, &byte, 1, &n), STATUS_OK);
        assert_int_equal(byte, "54321\n"[i]);
        assert_int_equal(tls_pending(), 5 - i);
    }
    end(fd);
    server_stop(&server);
}

/* The server's close_notify, and its death. */
static void test_close(void **state)
{
    (void)state;
    uint8_t data[16];
    size_t n = 0;
    for (unsigned i = 0; i < 2; i++) {
        struct server server = server_start("ec", "-alpn h2");
        struct tls_identity id = identity("ca.pem", NULL, "api.test");
        int fd = dial(server.port);
        assert_int_equal(start(fd, &id), STATUS_OK);
        assert_int_equal(shake(fd, ALL_STEPS), STATUS_OK);
        assert_int_equal(talk(fd), STATUS_OK);
        if (i == 0) {
            /* What -rev takes as the end of the conversation. */
            assert_int_equal(tls_write(view_text("CLOSE\n"), &n), STATUS_OK);
        } else {
            server_stop(&server);
        }
        assert_int_equal(read_some(fd, data, sizeof data, &n), PEER_CLOSED);
        assert_int_equal(tls_read(data, sizeof data, &n), PEER_CLOSED);
        assert_int_equal(tls_write(view_text("x"), &n), PEER_CLOSED);
        end(fd);
        if (i == 0) {
            server_stop(&server);
        }
    }
}

/* --- life --- */

/* Sessions one after the other on one arena, many of them given up at every stage. */
static void test_many(void **state)
{
    (void)state;
    struct server server = server_start("rsa", "-alpn h2 " CLIENT_WANTED);
    struct tls_identity id = identity("rsaca.pem", "me", "api.test");
    unsigned good = 0;
    for (unsigned i = 0; i < 60; i++) {
        int fd = dial(server.port);
        assert_int_equal(start(fd, &id), STATUS_OK);
        enum status s = shake(fd, (i % 3 == 0) ? ALL_STEPS : i % 7);
        if (s == STATUS_OK) {
            good++;
            assert_int_equal(talk(fd), STATUS_OK);
        } else {
            assert_int_equal(s, STATUS_MORE);
        }
        end(fd);
    }
    assert_in_range(good, 20, 60);
    server_stop(&server);
}

/* A second start ends the first session. */
static void test_restart(void **state)
{
    (void)state;
    struct server server = server_start("ec", "-alpn h2");
    struct tls_identity id = identity("ca.pem", NULL, "api.test");
    int first = dial(server.port);
    int second = dial(server.port);
    assert_int_equal(start(first, &id), STATUS_OK);
    assert_int_equal(start(second, &id), STATUS_OK);
    assert_int_equal(tls_arena_leak(), 0);
    assert_int_equal(close(first), 0);
    /* The server talks to one client at a time: the first one is gone now. */
    assert_int_equal(shake(second, ALL_STEPS), STATUS_OK);
    assert_int_equal(talk(second), STATUS_OK);
    end(second);
    tls_end();
    server_stop(&server);
}

/* The calendar against the C library's, day by day and at both sides of each midnight. */
static void test_calendar(void **state)
{
    (void)state;
    for (int64_t day = 0; day < 400 * 366; day += 7) {
        for (int64_t shift = -1; shift <= 1; shift++) {
            mbedtls_time_t t = (mbedtls_time_t)(day * 86400 + shift);
            struct tm ours;
            struct tm theirs;
            if (t < 0) {
                assert_null(mbedtls_platform_gmtime_r(&t, &ours));
                continue;
            }
            assert_ptr_equal(mbedtls_platform_gmtime_r(&t, &ours), &ours);
            assert_non_null(gmtime_r(&t, &theirs));
            assert_true(ours.tm_year == theirs.tm_year && ours.tm_mon == theirs.tm_mon &&
                        ours.tm_mday == theirs.tm_mday && ours.tm_hour == theirs.tm_hour &&
                        ours.tm_min == theirs.tm_min && ours.tm_sec == theirs.tm_sec);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accepted),  cmocka_unit_test(test_refused),
        cmocka_unit_test(test_no_alpn),   cmocka_unit_test(test_odd_answers),
        cmocka_unit_test(test_sni),       cmocka_unit_test(test_identities),
        cmocka_unit_test(test_exhausted), cmocka_unit_test(test_exchange),
        cmocka_unit_test(test_pending),   cmocka_unit_test(test_close),
        cmocka_unit_test(test_many),      cmocka_unit_test(test_restart),
        cmocka_unit_test(test_calendar),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
