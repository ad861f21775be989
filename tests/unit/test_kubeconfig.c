/* SPDX-License-Identifier: Apache-2.0 */
/* Kubeconfig files as common tools write them, YAML scalars, refusals with their line numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/assert.h"
#include "wire/kubeconfig.h"

__attribute__((weak)) _Noreturn void assert_failed(const char *condition, const char *file,
                                                   int line)
{
    (void)fprintf(stderr, "%s:%d: %s\n", file, line, condition);
    abort();
}

static struct kubeconfig config;
static char why_text[2048];

/* The text lies in a block of exactly its size, so that the sanitizer sees every byte beyond. */
static uint8_t *block;

static enum status read_bytes(const void *text, size_t len)
{
    struct writer why = writer_of(why_text, sizeof why_text);
    free(block);
    block = malloc((len > 0) ? len : 1);
    assert_non_null(block);
    memcpy(block, text, len);
    struct writer w = writer_of(block, len);
    w.len = len;
    memset(&config, 0xa5, sizeof config);
    struct kubeconfig before = config;
    enum status s = kubeconfig_read(&w, &config, &why);
    assert_int_equal(writer_end_text(&why), STATUS_OK);
    assert_true((s == STATUS_OK) == (why.len == 0));
    assert_null(strchr(why_text, '\n'));
    if (s != STATUS_OK) {
        assert_memory_equal(&before, &config, sizeof config);
    }
    return s;
}

static void read_good(const char *text)
{
    if (read_bytes(text, strlen(text)) != STATUS_OK) {
        fail_msg("%s\nin:\n%s", why_text, text);
    }
}

static void read_bad(const char *text, enum status expected, const char *words)
{
    enum status s = read_bytes(text, strlen(text));
    if (s != expected || strstr(why_text, words) == NULL) {
        fail_msg("status %s, words \"%s\" instead of \"%s\" for:\n%s", status_name(s), why_text,
                 words, text);
    }
}

#define assert_view(v, text) assert_view_is((v), (text), #v, __LINE__)

static void assert_view_is(struct view v, const char *text, const char *what, int line)
{
    if (!view_is(v, text)) {
        fail_msg("line %d: %s is \"%.*s\", not \"%s\"", line, what, (int)v.len,
                 (const char *)v.data, text);
    }
}

/* --- what tools write --- */

/* kubectl config view --raw: keys in alphabetical order, the name behind the content. */
static const char kubectl_text[] =
    "apiVersion: v1\n"
    "clusters:\n"
    "- cluster:\n"
    "    certificate-authority-data: Q0EtT05F\n"
    "    server: https://10.0.0.1:6443\n"
    "  name: one\n"
    "- cluster:\n"
    "    certificate-authority-data: Q0EtVFdP\n"
    "    server: https://api.two.example:443\n"
    "    tls-server-name: kubernetes\n"
    "  name: two\n"
    "contexts:\n"
    "- context:\n"
    "    cluster: one\n"
    "    user: admin-one\n"
    "  name: first\n"
    "- context:\n"
    "    cluster: two\n"
    "    namespace: kube-system\n"
    "    user: admin-two\n"
    "  name: second\n"
    "current-context: second\n"
    "kind: Config\n"
    "preferences: {}\n"
    "users:\n"
    "- name: admin-one\n"
    "  user:\n"
    "    client-certificate-data: Q1JULTE=\n"
    "    client-key-data: S0VZLTE=\n"
    "- name: admin-two\n"
    "  user:\n"
    "    token: abc.def-ghi_jkl\n";

static void test_kubectl(void **state)
{
    (void)state;
    read_good(kubectl_text);
    assert_view(config.server, "https://api.two.example:443");
    assert_view(config.ca_data, "Q0EtVFdP");
    assert_view(config.tls_server_name, "kubernetes");
    assert_view(config.namespace_, "kube-system");
    assert_view(config.token, "abc.def-ghi_jkl");
    assert_view(config.cert_data, "");
    assert_view(config.key_data, "");
    assert_view(config.ca_file, "");
}

/* Same with CRLF, comments, a byte order mark, document markers and no line end at the end. */
static void test_line_ends(void **state)
{
    (void)state;
    static char text[4 * sizeof kubectl_text];
    size_t len = 0;
    static const char head[] = "\xef\xbb\xbf# made by hand\r\n---   # one document\r\n\r\n";
    memcpy(text, head, sizeof head - 1);
    len = sizeof head - 1;
    for (const char *c = kubectl_text; *c != '\0'; c++) {
        if (*c == '\n') {
            memcpy(text + len, " # x\r\n\t\r\n", 9);
            len += 9;
        } else {
            text[len++] = *c;
        }
    }
    memcpy(text + len, "...", 3);
    if (read_bytes(text, len + 3) != STATUS_OK) {
        fail_msg("%s", why_text);
    }
    assert_view(config.server, "https://api.two.example:443");
    assert_view(config.token, "abc.def-ghi_jkl");
    if (read_bytes(kubectl_text, sizeof kubectl_text - 2) != STATUS_OK) {
        fail_msg("%s", why_text);
    }
    assert_view(config.token, "abc.def-ghi_jkl");
}

static void test_kubeadm(void **state)
{
    (void)state;
    read_good("apiVersion: v1\n"
              "clusters:\n"
              "- cluster:\n"
              "    certificate-authority-data: QUJD\n"
              "    server: https://[2001:db8::1]:6443\n"
              "  name: kubernetes\n"
              "contexts:\n"
              "- context:\n"
              "    cluster: kubernetes\n"
              "    user: kubernetes-admin\n"
              "  name: kubernetes-admin@kubernetes\n"
              "current-context: kubernetes-admin@kubernetes\n"
              "kind: Config\n"
              "users:\n"
              "- name: kubernetes-admin\n"
              "  user:\n"
              "    client-certificate-data: REVG\n"
              "    client-key-data: R0hJ\n");
    assert_view(config.server, "https://[2001:db8::1]:6443");
    assert_view(config.cert_data, "REVG");
    assert_view(config.key_data, "R0hJ");
    assert_view(config.token, "");
    assert_view(config.namespace_, "");
}

/* minikube: paths, quoted times, extensions that nest as deep as any. */
static void test_minikube(void **state)
{
    (void)state;
    read_good("apiVersion: v1\n"
              "clusters:\n"
              "- cluster:\n"
              "    certificate-authority: /home/u/.minikube/ca.crt\n"
              "    extensions:\n"
              "    - extension:\n"
              "        last-update: Mon, 02 Jan 2026 15:04:05 UTC\n"
              "        provider: minikube.sigs.k8s.io\n"
              "        version: v1.35.0\n"
              "      name: cluster_info\n"
              "    server: https://192.168.49.2:8443\n"
              "  name: minikube\n"
              "contexts:\n"
              "- context:\n"
              "    cluster: minikube\n"
              "    extensions:\n"
              "    - extension:\n"
              "        last-update: Mon, 02 Jan 2026 15:04:05 UTC\n"
              "      name: context_info\n"
              "    namespace: default\n"
              "    user: minikube\n"
              "  name: minikube\n"
              "current-context: minikube\n"
              "kind: Config\n"
              "preferences: {}\n"
              "users:\n"
              "- name: minikube\n"
              "  user:\n"
              "    client-certificate: profiles/minikube/client.crt\n"
              "    client-key: /home/u/.minikube/profiles/minikube/client.key\n");
    assert_view(config.ca_file, "/home/u/.minikube/ca.crt");
    assert_view(config.cert_file, "profiles/minikube/client.crt");
    assert_view(config.key_file, "/home/u/.minikube/profiles/minikube/client.key");
}

#define EKS_ARN "arn:aws:eks:us-west-2:111122223333:cluster/trn"

/* Two users: one by a credential program, with a hint over two lines, and one by token. */
static const char eks_text[] =
    "apiVersion: v1\n"
    "clusters:\n"
    "- cluster:\n"
    "    certificate-authority-data: QUJD\n"
    "    server: https://ABC.gr7.us-west-2.eks.amazonaws.com\n"
    "  name: " EKS_ARN "\n"
    "contexts:\n"
    "- context:\n"
    "    cluster: " EKS_ARN "\n"
    "    user: " EKS_ARN "\n"
    "  name: " EKS_ARN "\n"
    "- context:\n"
    "    cluster: " EKS_ARN "\n"
    "    user: robot\n"
    "  name: by-token\n"
    "current-context: CURRENT\n"
    "users:\n"
    "- name: " EKS_ARN "\n"
    "  user:\n"
    "    exec:\n"
    "      apiVersion: client.authentication.k8s.io/v1beta1\n"
    "      args:\n"
    "      - --region\n"
    "      - us-west-2\n"
    "      - eks\n"
    "      - get-token\n"
    "      command: aws\n"
    "      env:\n"
    "      - name: AWS_PROFILE\n"
    "        value: \"a \\\"b\\\" # c\"\n"
    "      installHint: Install the aws command for use with kubectl by following\n"
    "        https://docs.aws.amazon.com/cli\n"
    "      interactiveMode: IfAvailable\n"
    "      provideClusterInfo: false\n"
    "- name: robot\n"
    "  user: {token: x}\n";

static void eks_with(const char *current, const char *robot, char *out, size_t cap)
{
    const char *at = strstr(eks_text, "CURRENT");
    const char *flow = strstr(eks_text, " {token: x}\n");
    assert_true(at != NULL && flow != NULL);
    (void)snprintf(out, cap, "%.*s%s%.*s%s", (int)(at - eks_text), eks_text, current,
                   (int)(flow - at - 7), at + 7, robot);
}

static void test_eks(void **state)
{
    (void)state;
    char text[3000];
    eks_with(EKS_ARN, "\n    token: x\n", text, sizeof text);
    read_bad(text, PEER_UNSUPPORTED,
             "user \"" EKS_ARN "\", line 20: exec: a credential program is not supported; "
             "use a client certificate, token or tokenFile");
    eks_with("by-token", "\n    token: x\n    exec: null\n", text, sizeof text);
    read_good(text);
    assert_view(config.token, "x");
    assert_view(config.server, "https://ABC.gr7.us-west-2.eks.amazonaws.com");
    eks_with("by-token", " {token: x}\n", text, sizeof text);
    read_bad(text, PEER_MALFORMED, "line 36: flow collections with content are not supported");
}

static void test_json(void **state)
{
    (void)state;
    static const char text[] =
        " \n{ \"kind\": \"Config\", \"preferences\": {},\n"
        "\"users\": [{\"name\": \"u\\u00e9\", \"user\":"
        "{\"tokenFile\": \"\\/var\\/t\\ud83d\\ude00\","
        "\"exec\": null, \"password\": \"\"}}],\n"
        "\"current-context\": \"c\\\"1\", \"contexts\": [{\"name\": \"c\\\"1\","
        "\"context\": {\"user\": \"u\xc3\xa9\", \"cluster\": \"k\", \"namespace\": null}}],\n"
        "\"clusters\": [{\"cluster\": {\"server\": \"https:\\/\\/h\","
        "\"certificate-authority-data\": \"QQ==\","
        "\"insecure-skip-tls-verify\": false}, \"name\": \"k\"}]}\n";
    read_good(text);
    assert_view(config.server, "https://h");
    assert_view(config.token_file, "/var/t\xf0\x9f\x98\x80");
    assert_view(config.ca_data, "QQ==");
    read_bad("{\"clusters\": [\n{]}", PEER_MALFORMED, "line 2: not JSON");
    read_bad("{\"a\":\n[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]}", PEER_MALFORMED,
             "line 2: nested too deeply");
    read_bad("{\"kind\": \"Config\"}", PEER_NOT_FOUND, "no current-context is set");
}

/* --- one user, to try values with --- */

/* Kubeconfig of which only the body of the user varies. */
static const char *with_user(const char *body)
{
    static char text[8192];
    int n = snprintf(text, sizeof text,
                     "current-context: c\n"
                     "contexts:\n"
                     "- name: c\n"
                     "  context:\n"
                     "    cluster: k\n"
                     "    user: u\n"
                     "clusters:\n"
                     "  - name: k\n"
                     "    cluster:\n"
                     "      server: https://h\n"
                     "      certificate-authority: ca.pem\n"
                     "users:\n"
                     "- name: u\n"
                     "  user:\n"
                     "%s",
                     body);
    assert_true(n > 0 && (size_t)n < sizeof text);
    return text;
}

struct scalar_case {
    const char *yaml; /* behind "    token: " */
    const char *value;
};

static void test_scalars(void **state)
{
    (void)state;
    static const struct scalar_case cases[] = {
        {"plain", "plain"},
        {"  spaced \t # comment", "spaced"},
        {"a#b", "a#b"},
        {"a:b::c", "a:b::c"},
        {"-dash", "-dash"},
        {"?x", "?x"},
        {":x", ":x"},
        {"it's \"so\"", "it's \"so\""},
        {"first\n      second\n\n      third", NULL},
        {"first\n      second", "first second"},
        {"\n      below", "below"},
        {"\n      'below' # x", "below"},
        {"'single ''quoted'' \\n'", "single 'quoted' \\n"},
        {"'# no comment: x'", "# no comment: x"},
        {"'two  \n\n\n     lines'", NULL},
        {"\"tab\\t\"", "tab"},
        {"\"a\\x41\\u0042\\U00000043\\/\\\\\\\"\"", "aABC/\\\""},
        {"\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80"},
        {"\"\\ud83d\"", "\xef\xbf\xbd"},
        {"\"\\ud83d\\u0041\"", "\xef\xbf\xbd" "A"},
        {"\"\\u20ac\\_\\N\"", "\xe2\x82\xac\xc2\xa0\xc2\x85"},
        {"\"joi\\\n     ned\"", "joined"},
        {"\"fol   \n     ded\"", "fol ded"},
        {"\"kept\\  \n     blank\"", "kept  blank"},
        {"\"\" # empty", ""},
        {"''", ""},
        {"~", ""},
        {"null", ""},
        {"\"null\"", "null"},
        {"", ""},
        {"# only a comment", ""},
        {"|\n      literal", "literal"},
        {"|-\n      literal\n", "literal"},
        {">\n      folded\n      line\n", "folded line"},
        {">-  # comment\n\n      folded\n", "folded"},
        {"|2\n        two more", "two more"},
        {"|+\n      keep\n\n", "keep"},
        {"|\n", ""},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char body[500];
        (void)snprintf(body, sizeof body, "    token: %s\n    unused: 1\n", cases[i].yaml);
        if (cases[i].value == NULL) {
            /* A value of several lines is none for a header field. */
            read_bad(with_user(body), PEER_MALFORMED, "token must be one line of text");
            continue;
        }
        read_good(with_user(body));
        if (!view_is(config.token, cases[i].value)) {
            fail_msg("%s gave \"%.*s\"", cases[i].yaml, (int)config.token.len,
                     (const char *)config.token.data);
        }
    }
}

/* Base64 in lines, as some tools wrap it; all three values of one user resolved in place. */
static void test_wrapped_data(void **state)
{
    (void)state;
    read_good(with_user("    client-certificate-data: |\n"
                        "      QUJD\n"
                        "      REVG\n"
                        "    client-key-data: >-\n"
                        "         R0hJ\n"
                        "         SktM\n"
                        "    client-certificate: other.pem\n"
                        "    client-key: other.key\n"
                        "    token: \"\\u0074\"\n"));
    assert_view(config.cert_data, "QUJD\nREVG");
    assert_view(config.key_data, "R0hJ SktM");
    assert_view(config.token, "t");
    assert_view(config.cert_file, "");
    assert_view(config.key_file, "");
    assert_view(config.ca_file, "ca.pem");
}

static void test_credentials(void **state)
{
    (void)state;
    read_bad(with_user("    client-certificate: c.pem\n"), PEER_MALFORMED,
             "line 13: this user has a client certificate but no client key");
    read_bad(with_user("    client-key-data: QQ==\n"), PEER_MALFORMED,
             "line 13: this user has a client key but no client certificate");
    read_bad(with_user("    auth-provider:\n      name: oidc\n"), PEER_UNSUPPORTED,
             "user \"u\", line 15: auth-provider: an auth provider is not supported");
    read_bad(with_user("    username: root\n    password: x\n"), PEER_UNSUPPORTED,
             "username: basic authentication");
    read_bad(with_user("    as-groups:\n    - system:masters\n"), PEER_UNSUPPORTED,
             "as-groups: impersonation is not supported");
    read_bad(with_user("    token:\n      nested: 1\n"), PEER_MALFORMED,
             "line 15: token must be a single value");
    read_bad(with_user("    token:\n    - 1\n"), PEER_MALFORMED, "token must be a single value");
    read_bad(with_user("    token: []\n"), PEER_MALFORMED, "token must be a single value");
    read_good(with_user("    token: a\n    tokenFile: /run/t\n    username:\n    exec: ~\n"));
    assert_view(config.token_file, "/run/t");
    read_good(with_user("    {}\n"));
    assert_view(config.token, "");
    read_good(with_user(""));
    assert_view(config.token, "");
}

/* --- references and shapes --- */

static void test_references(void **state)
{
    (void)state;
    read_bad("kind: Config\n", PEER_NOT_FOUND, "no current-context is set; choose one with");
    read_bad("current-context: \"\"\ncontexts: null\n", PEER_NOT_FOUND,
             "no current-context is set");
    read_bad("current-context: c\ncontexts: []\n", PEER_NOT_FOUND,
             "context \"c\" is not in the file");
    read_bad("current-context: c\n", PEER_NOT_FOUND, "context \"c\" is not in the file");
    read_bad("current-context: c\ncontexts:\n- name: c\n  context:\n    cluster: k\n",
             PEER_NOT_FOUND, "cluster \"k\" is not in the file");
    read_bad("current-context: c\ncontexts:\n- name: c\n", PEER_MALFORMED,
             "line 3: this context names no cluster");
    read_bad("current-context: c\ncontexts:\n- name: c\n  context: {}\n", PEER_MALFORMED,
             "line 3: this context names no cluster");
    read_bad("contexts:\n- context:\n    user: u\n    cluster: k\n  name: c\ncurrent-context: c\n"
             "clusters:\n- cluster:\n    server: https://h\n  name: k\n",
             PEER_NOT_FOUND, "user \"u\" is not in the file");
}

static void test_clusters(void **state)
{
    (void)state;
    static const char head[] = "current-context: c\ncontexts:\n- {}\n- name: c\n  context:\n"
                               "    cluster: k\n"
                               "clusters:\n- name: k\n  cluster:\n";
    static const struct scalar_case cases[] = {
        {"    certificate-authority: x\n", "line 8: this cluster has no server"},
        {"    server: http://h\n    certificate-authority: x\n",
         "line 10: server is not https://; a plain connection is not supported"},
        {"    server: https://h\n",
         "line 8: this cluster has neither certificate-authority-data nor certificate-authority"},
        {"    server: https://h\n    insecure-skip-tls-verify: true\n",
         "line 11: insecure-skip-tls-verify is not supported: the server is always verified"},
        {"    proxy-url: socks5://p\n    server: https://h\n    certificate-authority: x\n",
         "cluster \"k\", line 10: proxy-url: proxies are not supported"},
    };
    char text[1000];
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        (void)snprintf(text, sizeof text, "%s%s", head, cases[i].yaml);
        read_bad(text, (i == 0) ? PEER_MALFORMED : PEER_UNSUPPORTED, cases[i].value);
    }
    (void)snprintf(text, sizeof text,
                   "%s    server: https://h\n    certificate-authority: x\n"
                   "    insecure-skip-tls-verify: false\n    proxy-url: \"\"\n",
                   head);
    read_good(text);
    assert_view(config.ca_file, "x");
}

static void test_duplicates(void **state)
{
    (void)state;
    read_bad(with_user("    token: a\n    token: b\n"), PEER_MALFORMED,
             "line 16: token is given twice");
    read_bad("current-context: a\ncurrent-context: b\n", PEER_MALFORMED,
             "line 2: current-context is given twice");
    read_bad("users: []\nusers: []\n", PEER_MALFORMED, "line 2: users is given twice");
    read_bad("users:\n- name: a\n  name: b\n", PEER_MALFORMED, "line 3: name is given twice");
    read_bad("users:\n- user: {}\n  user: {}\n", PEER_MALFORMED, "line 3: user is given twice");
    char text[9000];
    (void)snprintf(text, sizeof text, "%s- name: u\n  user: {}\n",
                   with_user("    token: a\n"));
    read_bad(text, PEER_MALFORMED, "line 16: user of this name is given twice");
}

static void test_shapes(void **state)
{
    (void)state;
    read_bad("", PEER_MALFORMED, "line 1: this is no kubeconfig");
    read_bad("# nothing\n\n", PEER_MALFORMED, "this is no kubeconfig");
    read_bad("just text\n", PEER_MALFORMED, "line 1: this is no kubeconfig");
    read_bad("- a\n- b\n", PEER_MALFORMED, "line 1: this is no kubeconfig");
    read_bad("users: x\n", PEER_MALFORMED, "line 1: users must be a list");
    read_bad("users:\n  a: b\n", PEER_MALFORMED, "line 2: users must be a list");
    read_bad("users:\n- a\n", PEER_MALFORMED, "line 2: users: each entry must be a mapping");
    read_bad("users:\n-\n- a: b\n", PEER_MALFORMED, "line 2: users: each entry must be a mapping");
    read_bad("users:\n- user: text\n", PEER_MALFORMED, "line 2: user must be a mapping");
    read_bad("current-context: [ ]\n", PEER_MALFORMED, "line 1: flow collections with content");
    read_bad("current-context:\n  a: b\n", PEER_MALFORMED, "must be a single value");
}

/* --- syntax --- */

static void test_syntax(void **state)
{
    (void)state;
    static const struct scalar_case cases[] = {
        {"a:\n\tb: c\n", "line 2: a tab in the indentation; use spaces"},
        {"a:\n  - b\n \t- c\n", "line 3: a tab in the indentation"},
        {"a: 1\n  b: 2\n", "line 2: a value that looks like another \"key:\""},
        {"a:\n    b: 1\n  c: 2\n", "line 3: indentation that fits nothing above"},
        {"a: b: c\n", "line 1: a value that looks like another \"key:\""},
        {"a: - b\n", "line 1: a sequence begins on the line of its key"},
        {"a: &x b\n", "line 1: anchors and aliases are not supported"},
        {"a: *x\n", "line 1: anchors and aliases are not supported"},
        {"a: !!str b\n", "line 1: tags are not supported; leave the tag out"},
        {"a: {b: c}\n", "line 1: flow collections with content are not supported"},
        {"a: [1]\n", "line 1: flow collections with content are not supported"},
        {"a: %x\n", "line 1: a value that needs quotes"},
        {"a: @x\n", "line 1: a value that needs quotes"},
        {"a: \"b\nc: d\n", "line 1: a quote that is not closed"},
        {"a: 'b\n", "line 1: a quote that is not closed"},
        {"a: \"b\\", "line 1: a quote that is not closed"},
        {"a: \"b\" c\n", "line 1: unexpected text behind a value"},
        {"a: {} x\n", "line 1: unexpected text behind a value"},
        {"a: |x\n  b\n", "line 1: a block scalar that is neither"},
        {"a: |\n    b\n  c\n", "line 3: indentation less than that of the block scalar"},
        {"? a\n: b\n", "line 1: unexpected '?', ':' or '-'"},
        {"a: 1\n? b: c\n", "line 2: keys with anchors, tags or flow collections"},
        {"a: 1\nb\n", "line 2: expected \"key:\""},
        {"a: 1\n- b\n", "line 2: expected \"key:\""},
        {"a: 1\n&x b: 1\n", "line 2: keys with anchors, tags or flow collections"},
        {"a: 1\n---\nb: 1\n", "line 2: a second document; one file holds one kubeconfig"},
        {"a: 1\n...\nb: 1\n", "line 3: text behind the end of the document"},
        {"--- a: 1\n", "line 1: unexpected text behind a value"},
        {"%YAML 1.2\n---\na: 1\n", "line 1: a value that needs quotes"},
        {"a: 1\nb: \x01\n", "line 2: bytes that are no UTF-8 text"},
        {"a: \xff\n", "bytes that are no UTF-8 text"},
        {"a: b\rc: d\n", "bytes that are no UTF-8 text"},
        {"a:\n b:\n  c:\n   d:\n    e:\n     f:\n      g:\n       h:\n        i: 1\n",
         "line 9: nested too deeply for a kubeconfig"},
        {"a:\n- - - - - - - - b\n", "line 2: nested too deeply for a kubeconfig"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        read_bad(cases[i].yaml, PEER_MALFORMED, cases[i].value);
    }
}

/* Valid YAML that nobody asks for is passed over. */
static void test_passed_over(void **state)
{
    (void)state;
    static const char extra[] =
        "odd:\n"
        "  - - a\n"
        "    - b: c\n"
        "      d:\n"
        "      - e\n"
        "    -\n"
        "      f: g\n"
        "    - \"q\": r\n"
        "      'it''s' : t\n"
        "  -\n"
        "?odd: -x\n"
        "more: plain text\n"
        "  over # comment\n"
        "# a comment at column 0\n"
        "literal: |\n"
        "  - not: a list\n"
        "\n"
        "    \"\n"
        "    # no comment\n"
        "unused-null:\n"
        "users-of-old:\n"
        "- a\n"
        "- b\n"
        "colour: \"#fff\"\n"
        "url: http://a:1/?b=c&d#e\n";
    char text[9000];
    (void)snprintf(text, sizeof text, "%s%s", with_user("    token: t\n"), extra);
    read_good(text);
    assert_view(config.token, "t");
    (void)snprintf(text, sizeof text, "%s%s", extra, with_user("    token: t\n"));
    read_good(text);
    assert_view(config.token, "t");
}

static void test_names(void **state)
{
    (void)state;
    static const char form[] = "current-context: %s\n"
                               "contexts:\n- name: %s\n  context:\n    cluster: %s\n"
                               "clusters:\n- cluster:\n    server: https://h\n"
                               "    certificate-authority: x\n  name: %s\n";
    char text[8000];
    (void)snprintf(text, sizeof text, form, "\"a\\u0062\"", "'ab'", "\"x\\ty\"", "\"x\ty\"");
    read_good(text);
    char name[600];
    memset(name, 'n', sizeof name);
    name[512] = '\0';
    (void)snprintf(text, sizeof text, form, name, name, name, name);
    read_good(text);
    name[512] = 'n';
    name[513] = '\0';
    (void)snprintf(text, sizeof text, form, name, name, name, name);
    read_bad(text, PEER_MALFORMED, "line 1: current-context is longer than 512 bytes");
    read_bad("current-context: \"\\q\"\n", PEER_MALFORMED,
             "line 1: current-context has an escape that YAML does not have");
    read_bad("current-context: \"a\\nb\"\n", PEER_NOT_FOUND, "context \"a?b\" is not in the file");
}

static void test_size(void **state)
{
    (void)state;
    size_t len = KUBECONFIG_BYTES_MAX;
    char *text = malloc(len + 1);
    assert_non_null(text);
    memset(text, '#', len + 1);
    memcpy(text, kubectl_text, sizeof kubectl_text - 1);
    assert_int_equal(read_bytes(text, len), STATUS_OK);
    assert_int_equal(read_bytes(text, len + 1), FULL_BUFFER);
    assert_non_null(strstr(why_text, "larger than 64 KiB"));
    free(text);
}

/* Every beginning of good texts, and every text with one byte changed, ends in a verdict. */
static void test_damage(void **state)
{
    (void)state;
    static const uint8_t bytes[] = {'\n', ' ', '\t', ':', '-', '"', '\'', '|', '{', '#', 0, 0xff};
    char text[4000];
    const char *const seeds[] = {eks_text, kubectl_text};
    unsigned good = 0;
    for (unsigned k = 0; k < 2; k++) {
        size_t len = strlen(seeds[k]);
        for (size_t i = 0; i < len; i++) {
            good += (read_bytes(seeds[k], i) == STATUS_OK) ? 1u : 0u;
            memcpy(text, seeds[k], len);
            text[i] = (char)bytes[i % sizeof bytes];
            good += (read_bytes(text, len) == STATUS_OK) ? 1u : 0u;
        }
    }
    /* Some damage is harmless, most is not. */
    assert_in_range(good, 1, 500);
}

/* --- server addresses --- */

struct server_case {
    const char *text;
    const char *host; /* NULL: refused */
    uint16_t port;
};

static void test_server(void **state)
{
    (void)state;
    static const struct server_case cases[] = {
        {"https://10.0.0.1:6443", "10.0.0.1", 6443},
        {"https://10.0.0.1:6443/", "10.0.0.1", 6443},
        {"https://host.example", "host.example", 443},
        {"https://host.example/", "host.example", 443},
        {"https://[::1]:1", "::1", 1},
        {"https://[2001:db8::1]", "2001:db8::1", 443},
        {"https://h:65535", "h", 65535},
        {"http://h", NULL, 0},
        {"h:443", NULL, 0},
        {"", NULL, 0},
        {"https://", NULL, 0},
        {"https:///", NULL, 0},
        {"https://h:", NULL, 0},
        {"https://h:0", NULL, 0},
        {"https://h:65536", NULL, 0},
        {"https://h:1x", NULL, 0},
        {"https://h/path", NULL, 0},
        {"https://h?q", NULL, 0},
        {"https://u@h", NULL, 0},
        {"https://a b", NULL, 0},
        {"https://::1", NULL, 0},
        {"https://[::1", NULL, 0},
        {"https://[]", NULL, 0},
        {"https://[::1]x", NULL, 0},
        {"https://[h]", NULL, 0},
        {"https://[::1]:", NULL, 0},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct view host = view_text("before");
        uint16_t port = 7;
        enum status s = kubeconfig_server(view_text(cases[i].text), &host, &port);
        if ((s == STATUS_OK) != (cases[i].host != NULL)) {
            fail_msg("%s: %s", cases[i].text, status_name(s));
        }
        assert_view(host, (cases[i].host != NULL) ? cases[i].host : "before");
        assert_int_equal(port, (cases[i].host != NULL) ? cases[i].port : 7);
    }
}

static int free_block(void **state)
{
    (void)state;
    free(block);
    block = NULL;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kubectl),      cmocka_unit_test(test_line_ends),
        cmocka_unit_test(test_kubeadm),      cmocka_unit_test(test_minikube),
        cmocka_unit_test(test_eks),          cmocka_unit_test(test_json),
        cmocka_unit_test(test_scalars),      cmocka_unit_test(test_wrapped_data),
        cmocka_unit_test(test_credentials),  cmocka_unit_test(test_references),
        cmocka_unit_test(test_clusters),     cmocka_unit_test(test_duplicates),
        cmocka_unit_test(test_shapes),       cmocka_unit_test(test_syntax),
        cmocka_unit_test(test_passed_over),  cmocka_unit_test(test_names),
        cmocka_unit_test(test_size),         cmocka_unit_test(test_damage),
        cmocka_unit_test(test_server),
    };
    return cmocka_run_group_tests(tests, NULL, free_block);
}
