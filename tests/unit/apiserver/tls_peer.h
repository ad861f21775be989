/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of the TLS client share: certificates made for each run, OpenSSL's server on
 * loopback, and a client driven by poll.
 */
#ifndef TESTS_TLS_PEER_H
#define TESTS_TLS_PEER_H

#include <arpa/inet.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cfg/limits.h"
#include "host/apiserver/tls.h"
#include "tests/unit/unit.h"

/* Long enough for a machine under load; nothing waits for it when all is well. */
#define PATIENCE_MS 60000
#define PEM_CAP CA_BYTES_MAX

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
    "openssl genpkey -algorithm ED25519 -out ed.key; openssl req -config req.conf -new -key ed.key "
    "-subj /CN=api.test -out ed.csr; openssl x509 -req -in ed.csr -CA ca.pem -CAkey ca.key "
    "-CAcreateserial -days 30 -extfile ec.ext -out ed.pem\n"
    "cp ec.key many.key; cp ec.pem many.pem; for i in 1 2 3 4 5 6 7 8; do cat ec.pem ec.pem ec.pem "
    "ec.pem; done >many.chain\n"
    "leaf me prime256v1 ca extendedKeyUsage=clientAuth\n"
    "leaf mersa rsa2048 ca extendedKeyUsage=clientAuth\n"
    "leaf stranger prime256v1 other extendedKeyUsage=clientAuth\n"
    "dated expired 20200101000000Z 20210101000000Z\n"
    "dated future 20900101000000Z 20910101000000Z\n"
    "cat other.pem rsaca.pem ca.pem >bundle.pem\n"
    "for i in 1 2 3 4; do key namesake$i prime256v1; openssl req -config req.conf -x509 -new -key "
    "namesake$i.key -subj /CN=ca -days 30 -addext basicConstraints=critical,CA:TRUE "
    "-out namesake$i.pem; done; cat namesake?.pem >namesakes.pem\n"
    "openssl pkcs8 -topk8 -nocrypt -in me.key -out pkcs8.key\n"
    "{ echo a comment; openssl ecparam -name prime256v1; cat me.key me.key; } >parameters.key\n"
    "sed 's/$/\\r/' me.key >lines.key\n"
    "openssl pkcs8 -topk8 -in me.key -passout pass:secret -out locked8.key\n"
    "openssl ec -in me.key -aes128 -passout pass:secret -out locked.key\n"
    "sed '2s/./!/' me.key >garbled.key; echo garbage >garbage.key\n"
    "openssl rsa -traditional -in mersa.key -out pkcs1.key 2>/dev/null ||\n"
    "openssl rsa -in mersa.key -out pkcs1.key\n";

static inline int remove_one(const char *path, const struct stat *st, int type, struct FTW *walk)
{
    (void)st;
    (void)type;
    (void)walk;
    return remove(path);
}

static inline int make_folder(void **state)
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

static inline int remove_folder(void **state)
{
    (void)state;
    return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static char pem_text[3][PEM_CAP];

/* A file of the folder as a view with its NUL behind it, in one of three buffers. */
static inline struct view pem(const char *name, unsigned slot)
{
    char(*text)[PEM_CAP] = pem_text;
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

static inline struct tls_identity identity(const char *ca, const char *client, const char *name)
{
    char file[64];
    struct tls_identity id = {.ca_len = pem(ca, 0).len,
                              .ca_pem = (uint8_t *)pem_text[0],
                              .server_name = name,
                              .with_tls12 = true};
    if (client != NULL) {
        (void)snprintf(file, sizeof file, "%s.pem", client);
        id.cert_len = pem(file, 1).len;
        id.cert_pem = (uint8_t *)pem_text[1];
        (void)snprintf(file, sizeof file, "%s.key", client);
        id.key_len = pem(file, 2).len;
        id.key_pem = (uint8_t *)pem_text[2];
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
/* Options of a server that wants a client certificate. */
#define CLIENT_WANTED "-Verify 1 -verify_return_error -CAfile ca.pem"

/* `options`: words divided by single spaces, behind the common ones. */
static inline struct server server_start(const char *cert, const char *options)
{
    static char text[600];
    char *args[ARGS_MAX];
    unsigned count = 0;
    int ends[2];
    (void)snprintf(
        text, sizeof text, "openssl s_server -accept 127.0.0.1:0 -rev -cert %s.pem -key %s.key %s",
        cert, (strcmp(cert, "expired") == 0 || strcmp(cert, "future") == 0) ? "ec" : cert, options);
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
        /* Ends with the test, also with one that fails in the middle. */
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
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

static inline void server_stop(struct server *s)
{
    assert_int_equal(kill(s->pid, SIGKILL), 0);
    assert_int_equal(waitpid(s->pid, NULL, 0), s->pid);
    assert_int_equal(fclose(s->out), 0);
}

static inline int dial(uint16_t port)
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

static inline void wait_for(int fd, unsigned wants)
{
    if (wants == TLS_WANTS_TURN) {
        return;
    }
    assert_true(wants == TLS_WANTS_READ || wants == TLS_WANTS_WRITE);
    struct pollfd p = {.fd = fd, .events = (wants == TLS_WANTS_READ) ? POLLIN : POLLOUT};
    int n = poll(&p, 1, PATIENCE_MS);
    assert_true(n == 1);
}

/* Up to `steps` steps of the handshake; STATUS_MORE when it was not over by then. */
static inline enum status shake(int fd, unsigned steps)
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

static inline enum status start(int fd, const struct tls_identity *id)
{
    struct writer why = writer_of(why_text, sizeof why_text);
    enum status s = tls_start(fd, id, &why);
    assert_int_equal(writer_end_text(&why), STATUS_OK);
    return s;
}

static inline void end(int fd)
{
    tls_end();
    assert_int_equal(tls_pending(), 0);
    assert_int_equal(tls_arena_leak(), 0);
    assert_in_range(tls_arena_peak(), 1, TLS_ARENA_BYTES);
    assert_int_equal(close(fd), 0);
}

static inline enum status read_some(int fd, uint8_t *data, size_t cap, size_t *n)
{
    enum status s = tls_read(data, cap, n);
    while (s == STATUS_MORE) {
        wait_for(fd, tls_wants());
        s = tls_read(data, cap, n);
    }
    return s;
}

/* Writes one line and reads it back reversed: application data in both directions. */
static inline enum status talk(int fd)
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

#endif
