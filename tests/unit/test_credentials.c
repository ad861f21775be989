/* SPDX-License-Identifier: Apache-2.0 */
/* Credentials from kubeconfig files and from the environment: what is accepted, and why the
 * rest is refused. */
#include "tests/unit/disk/host_harness.h"

#include "host/apiserver/credentials.h"

static struct credentials credentials;
static char why_text[1024];

static enum status load(const char *path)
{
    struct writer why = writer_of(why_text, sizeof why_text - 1u);
    enum status s = credentials_load(&credentials, path, &why);
    assert_false(why.full);
    why_text[why.len] = 0;
    assert_true((s == STATUS_OK) == (why.len == 0));
    assert_null(strchr(why_text, '\n'));
    return s;
}

static void assert_why(const char *part)
{
    if (strstr(why_text, part) == NULL) {
        fail_msg("\"%s\" lacks: %s", why_text, part);
    }
}

/* A kubeconfig of one context with these lines of cluster and user. */
static const char *put_config(const char *cluster, const char *user)
{
    char text[4096];
    (void)snprintf(text, sizeof text,
                   "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
                   "contexts:\n- name: c\n  context:\n    cluster: k\n    user: u\n"
                   "clusters:\n- name: k\n  cluster:\n%s"
                   "users:\n- name: u\n  user:\n%s",
                   cluster, user);
    put("etc/kubeconfig", text);
    return at("etc/kubeconfig");
}

#define SERVER "    server: https://10.0.0.1:6443\n"
#define CA_DATA "    certificate-authority-data: LS0tLS1CRUdJTiBDQQ==\n"
#define CERT_DATA "    client-certificate-data: LS0tLS1CRUdJTiBDRVJU\n"
#define KEY_DATA "    client-key-data: LS0tLS1CRUdJTiBLRVk=\n"
#define TOKEN "    token: abc.def\n"

static void assert_pem(struct view pem, const char *want)
{
    assert_int_equal(pem.len, strlen(want));
    assert_memory_equal(pem.data, want, pem.len);
}

static void test_inline(void **state)
{
    (void)state;
    assert_int_equal(load(put_config(SERVER CA_DATA, CERT_DATA KEY_DATA)), STATUS_OK);
    struct tls_identity id = credentials_identity(&credentials);
    assert_pem(view_of(id.ca_pem, id.ca_len), "-----BEGIN CA");
    assert_pem(view_of(id.cert_pem, id.cert_len), "-----BEGIN CERT");
    assert_pem(view_of(id.key_pem, id.key_len), "-----BEGIN KEY");
    assert_string_equal(id.server_name, "10.0.0.1");
    assert_string_equal(credentials.host, "10.0.0.1");
    assert_int_equal(credentials.port, 6443);
    assert_string_equal(credentials.authority, "10.0.0.1:6443");
    assert_string_equal(credentials.token, "");
}

/* Base64 of RFC 4648 §4: what is written where "%s" stands, and whether it is base64. */
static void test_base64(void **state)
{
    (void)state;
    static const struct {
        const char *data;
        bool good;
    } rows[] = {
        {"LS0tLS1CRUdJTiBDQQ==", true},      {"LS0tLS1CRUdJTiBDQUE=", true},
        {"LS0tLS1CRUdJTiBDQUFB", true},      {"LS0tLS1CRUdJTiBDQQ", false}, /* no padding */
        {"LS0tLS1CRUdJTiBDQQ=", false},                                     /* too little of it */
        {"LS0tLS1CRUdJTiBDQQ===", false},                                   /* too much */
        {"LS0tLS1CRUdJTiBDQ===", false},     /* one digit stands for no octet */
        {"LS0tLS1CRUdJTiBDQUFB====", false}, /* no digit at all */
        {"LS0tLS1CRUdJTiBDQQ==QQ==", false}, /* not at the end */
        {"LS0tLS1CRUdJTiBD-_-_", false},     /* the other alphabet */
    };
    char line[128];
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        (void)snprintf(line, sizeof line, SERVER "    certificate-authority-data: %s\n",
                       rows[i].data);
        assert_int_equal(load(put_config(line, TOKEN)), rows[i].good ? STATUS_OK : PEER_MALFORMED);
        if (!rows[i].good) {
            assert_why("certificate-authority-data in the kubeconfig is not base64; copy it again");
        }
    }
}

static void test_files_beside_the_kubeconfig(void **state)
{
    (void)state;
    put("etc/pki/ca.crt", "-----BEGIN CA of a file");
    put("etc/token", "  tok.en\n");
    assert_int_equal(load(put_config(SERVER "    certificate-authority: pki/ca.crt\n"
                                            "    tls-server-name: kubernetes\n",
                                     "    token: other\n    tokenFile: token\n")),
                     STATUS_OK);
    struct tls_identity id = credentials_identity(&credentials);
    assert_pem(view_of(id.ca_pem, id.ca_len), "-----BEGIN CA of a file");
    assert_string_equal(id.server_name, "kubernetes");
    assert_string_equal(credentials.token, "tok.en");
    assert_string_equal(credentials.token_file, at("etc/token"));
}

static void test_ipv6_authority(void **state)
{
    (void)state;
    assert_int_equal(load(put_config("    server: https://[fd00::1]\n" CA_DATA, TOKEN)), STATUS_OK);
    assert_string_equal(credentials.host, "fd00::1");
    assert_string_equal(credentials.authority, "[fd00::1]");
    assert_string_equal(credentials.token, "abc.def");
}

/* The authority is the URL's (RFC 9110 §4.2.3); the name to verify keeps a dot, as in Go. */
static void test_names_of_the_server(void **state)
{
    (void)state;
    static const struct {
        const char *cluster;
        const char *host;
        const char *server_name;
        const char *authority;
    } cases[] = {
        {"https://api.test", "api.test", "api.test", "api.test"},
        {"https://api.test:443/", "api.test", "api.test", "api.test"},
        {"https://api.test:6443", "api.test", "api.test", "api.test:6443"},
        {"https://api.test.:6443", "api.test", "api.test.", "api.test.:6443"},
        {"https://api.test.", "api.test", "api.test.", "api.test."},
        {"https://10.0.0.1.", "10.0.0.1", "10.0.0.1.", "10.0.0.1."},
        {"https://api.test..", "api.test.", "api.test..", "api.test.."}, /* no name: no address */
        {"https://[::1]:6443", "::1", "::1", "[::1]:6443"},
        {"https://10.0.0.1\n    tls-server-name: other.test.", "10.0.0.1", "other.test.",
         "10.0.0.1"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char cluster[256];
        (void)snprintf(cluster, sizeof cluster, "    server: %s\n" CA_DATA, cases[i].cluster);
        assert_int_equal(load(put_config(cluster, TOKEN)), STATUS_OK);
        assert_string_equal(credentials.host, cases[i].host);
        assert_string_equal(credentials.server_name, cases[i].server_name);
        assert_string_equal(credentials.authority, cases[i].authority);
    }
    assert_int_equal(load(put_config("    server: https://.\n" CA_DATA, TOKEN)), FULL_BUFFER);
    assert_why("host name is empty");
}

static void test_wipe(void **state)
{
    (void)state;
    static const uint8_t zeros[16];
    assert_int_equal(load(put_config(SERVER CA_DATA, CERT_DATA KEY_DATA)), STATUS_OK);
    assert_string_equal((const char *)credentials.key.text, "-----BEGIN KEY");
    size_t text_len = credentials.text_len;
    assert_true(text_len > 100);
    credentials_wipe(&credentials);
    assert_memory_equal(credentials.key.text, zeros, sizeof zeros);
    assert_int_equal(credentials.key.len, 0);
    for (size_t i = 0; i < text_len; i++) {
        assert_int_equal(credentials.values[i], 0);
    }
    assert_string_equal(credentials.authority, "10.0.0.1:6443");
}

static void test_token_rotation(void **state)
{
    (void)state;
    bool changed = true;
    struct writer why = writer_of(why_text, sizeof why_text);
    put("etc/token", "one\n");
    assert_int_equal(load(put_config(SERVER CA_DATA, "    tokenFile: token\n")), STATUS_OK);
    credentials_wipe(&credentials);
    assert_int_equal(credentials_refresh(&credentials, &changed, &why), STATUS_OK);
    assert_false(changed);
    put("etc/token", "two\n");
    assert_int_equal(credentials_refresh(&credentials, &changed, &why), STATUS_OK);
    assert_true(changed);
    assert_string_equal(credentials.token, "two");
    put("etc/token", "\n");
    assert_int_equal(credentials_refresh(&credentials, &changed, &why), HOST_ABSENT);
    assert_false(changed);
    put("etc/token", "a token\n");
    assert_int_equal(credentials_refresh(&credentials, &changed, &why), PEER_MALFORMED);
    assert_false(changed);
    assert_int_equal(unlink(at("etc/token")), 0);
    assert_int_equal(credentials_refresh(&credentials, &changed, &why), HOST_ABSENT);
    assert_string_equal(credentials.token, "two");
}

static bool holds(struct view memory, const char *text)
{
    return memmem(memory.data, memory.len, text, strlen(text)) != NULL;
}

/* Nothing of a token that was replaced stays behind a shorter one. */
static void test_old_token_is_wiped(void **state)
{
    (void)state;
    bool changed = false;
    struct view all = view_of(&credentials, sizeof credentials);
    struct writer why = writer_of(why_text, sizeof why_text);
    put("etc/token", "first-token-with-a-long-end");
    assert_int_equal(load(put_config(SERVER CA_DATA, "    tokenFile: token\n")), STATUS_OK);
    assert_true(holds(all, "long-end"));
    put("etc/token", "two");
    assert_int_equal(credentials_refresh(&credentials, &changed, &why), STATUS_OK);
    assert_true(changed);
    assert_false(holds(all, "long-end"));
    put("etc/token", "third-token-with-a-long-end");
    assert_int_equal(credentials_refresh(&credentials, &changed, &why), STATUS_OK);
    assert_int_equal(load(put_config(SERVER CA_DATA, CERT_DATA KEY_DATA)), STATUS_OK);
    assert_false(holds(all, "long-end"));
}

static void test_token_without_file_never_changes(void **state)
{
    (void)state;
    bool changed = true;
    struct writer why = writer_of(why_text, sizeof why_text);
    assert_int_equal(load(put_config(SERVER CA_DATA, TOKEN)), STATUS_OK);
    assert_int_equal(credentials_refresh(&credentials, &changed, &why), STATUS_OK);
    assert_false(changed);
    assert_int_equal(why.len, 0);
}

static void test_bad_tokens(void **state)
{
    (void)state;
    static char large[TOKEN_CAP + 1];
    memset(large, 'a', sizeof large - 1u);
    const char *path = put_config(SERVER CA_DATA, "    tokenFile: token\n");
    char kept[256];
    (void)strcpy(kept, path);
    put("etc/token", "a token\r\nx-injected: 1");
    assert_int_equal(load(kept), PEER_MALFORMED);
    assert_why("contains a character that tokens do not have");
    put("etc/token", "");
    assert_int_equal(load(kept), HOST_ABSENT);
    assert_why("etc/token is empty; create the file, or correct its path in the kubeconfig");
    put("etc/token", large);
    assert_int_equal(load(kept), FULL_BUFFER);
    assert_why("longer than 4095 bytes; create a new token");
    large[TOKEN_CAP - 1] = 0;
    put("etc/token", large);
    assert_int_equal(load(kept), STATUS_OK);
}

static void test_what_is_missing_is_named(void **state)
{
    (void)state;
    assert_int_equal(load(at("etc/kubeconfig")), HOST_ABSENT);
    assert_why("etc/kubeconfig cannot be read: no such file or directory");
    assert_why("--kubeconfig");
    assert_int_equal(load(put_config(SERVER "    certificate-authority: ca.crt\n", TOKEN)),
                     HOST_ABSENT);
    assert_why("certificate-authority");
    assert_why("etc/ca.crt cannot be read: no such file");
    assert_why("; create the file, or correct its path in the kubeconfig");
    put("etc/ca.crt", "");
    assert_int_equal(load(at("etc/kubeconfig")), HOST_ABSENT);
    assert_why("etc/ca.crt is empty; create the file");
    assert_int_equal(unlink(at("etc/ca.crt")), 0);
    make_directories("etc/ca.crt");
    assert_int_equal(load(at("etc/kubeconfig")), HOST_ABSENT);
    assert_why("etc/ca.crt cannot be read: ");
    assert_int_equal(rmdir(at("etc/ca.crt")), 0);
    put("etc/empty", " \n");
    assert_int_equal(load(at("etc/empty")), HOST_ABSENT);
    assert_why("etc/empty is empty; correct --kubeconfig");
    assert_int_equal(load(put_config(SERVER "    certificate-authority-data: '*****'\n", TOKEN)),
                     PEER_MALFORMED);
    assert_why("not base64");
    put("etc/ca.crt", "MIIB");
    assert_int_equal(load(put_config(SERVER "    certificate-authority: ca.crt\n", TOKEN)),
                     PEER_MALFORMED);
    assert_why("certificate-authority ");
    assert_why("etc/ca.crt is not PEM");
    assert_int_equal(
        load(put_config(SERVER CA_DATA, "    client-certificate-data: S0VZ\n" KEY_DATA)),
        PEER_MALFORMED);
    assert_why("client-certificate in the kubeconfig is not PEM");
    assert_int_equal(load(put_config(SERVER, TOKEN)), PEER_UNSUPPORTED);
    assert_why("etc/kubeconfig");
    assert_why("certificate-authority");
}

static void test_failure_leaves_nothing(void **state)
{
    (void)state;
    assert_int_equal(load(put_config(SERVER CA_DATA, CERT_DATA "    client-key: absent.key\n")),
                     HOST_ABSENT);
    assert_int_equal(credentials.ca.len, 0);
    assert_int_equal(credentials.cert.len, 0);
    assert_int_equal(credentials.text_len, 0);
    assert_int_equal(credentials.cert.text[0], 0);
}

/* What is too long is named with the remedy, and nothing of it stays. */
static void test_too_long(void **state)
{
    (void)state;
    static char large[KUBECONFIG_BYTES_MAX + 2];
    static char name[PATH_CAP + 1];
    char cluster[1024];
    memset(large, 'S', sizeof large - 1);
    memset(name, 'n', sizeof name - 1);
    put("etc/key", large);
    put("etc/large", large);
    assert_int_equal(load(at("etc/large")), FULL_BUFFER);
    assert_why("etc/large is longer than 65536 bytes; leave out what the agent does not need");
    assert_int_equal(load(put_config(SERVER CA_DATA, CERT_DATA "    client-key: key\n")),
                     FULL_BUFFER);
    assert_why("client-key ");
    assert_why("etc/key is longer than 32768 bytes; leave out");
    assert_int_equal(load(put_config(SERVER CA_DATA, CERT_DATA "    client-key-data: U1NT*\n")),
                     PEER_MALFORMED);
    for (size_t i = 0; i < sizeof credentials.pems; i++) {
        assert_int_equal(credentials.pems[i], 0);
    }
    (void)snprintf(cluster, sizeof cluster, SERVER "    certificate-authority: %s\n", name);
    assert_int_equal(load(put_config(cluster, TOKEN)), FULL_BUFFER);
    assert_why("a file name in the kubeconfig is longer than 511 bytes; move the file");
    (void)snprintf(cluster, sizeof cluster, "    server: https://%.254s\n" CA_DATA, name);
    assert_int_equal(load(put_config(cluster, TOKEN)), FULL_BUFFER);
    assert_why("longer than 253 characters; correct it, or use an IP address");
    (void)snprintf(cluster, sizeof cluster, SERVER CA_DATA "    tls-server-name: %.254s\n", name);
    assert_int_equal(load(put_config(cluster, TOKEN)), FULL_BUFFER);
    assert_why("tls-server-name is longer than 253 characters; correct it");
}

static void test_outside_a_cluster(void **state)
{
    (void)state;
    assert_int_equal(unsetenv("KUBERNETES_SERVICE_HOST"), 0);
    assert_int_equal(load(""), PEER_NOT_FOUND);
    assert_why("KUBERNETES_SERVICE_HOST");
    assert_why("--kubeconfig");
    assert_int_equal(setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1", 1), 0);
    assert_int_equal(setenv("KUBERNETES_SERVICE_PORT", "tcp", 1), 0);
    assert_int_equal(load(""), PEER_MALFORMED);
    assert_why("KUBERNETES_SERVICE_PORT");
    if (access("/var/run/secrets/kubernetes.io", F_OK) != 0) {
        assert_int_equal(setenv("KUBERNETES_SERVICE_PORT", "443", 1), 0);
        assert_int_equal(load(""), HOST_ABSENT);
        assert_why("serviceaccount/ca.crt cannot be read: no such file or directory; mount the "
                   "pod's service account");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOST_TEST(test_inline),
        HOST_TEST(test_base64),
        HOST_TEST(test_files_beside_the_kubeconfig),
        HOST_TEST(test_ipv6_authority),
        HOST_TEST(test_names_of_the_server),
        HOST_TEST(test_wipe),
        HOST_TEST(test_token_rotation),
        HOST_TEST(test_old_token_is_wiped),
        HOST_TEST(test_token_without_file_never_changes),
        HOST_TEST(test_bad_tokens),
        HOST_TEST(test_what_is_missing_is_named),
        HOST_TEST(test_failure_leaves_nothing),
        HOST_TEST(test_too_long),
        HOST_TEST(test_outside_a_cluster),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
