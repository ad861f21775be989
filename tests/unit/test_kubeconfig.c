/* SPDX-License-Identifier: Apache-2.0 */
/* Kubeconfig files as common tools write them, what must go together, what is refused and why. */
#include "tests/unit/apiserver/kubeconfig_text.h"

/* --- what tools write --- */

/* kubectl config view --raw: keys in alphabetical order, the name behind the content. */
static const char kubectl_text[] = "apiVersion: v1\n"
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
    read_good(text);
    assert_view(config.token, "x");
}

/* k3s: JSON-like order of its own, one name for all; a certificate in one long line. */
static void test_k3s(void **state)
{
    (void)state;
    read_good(
        "apiVersion: v1\n"
        "clusters:\n"
        "- cluster:\n"
        "    certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUJkekNDQVIy\n"
        "    server: https://127.0.0.1:6443\n"
        "  name: default\n"
        "contexts:\n"
        "- context:\n"
        "    cluster: default\n"
        "    user: default\n"
        "  name: default\n"
        "current-context: default\n"
        "kind: Config\n"
        "preferences: {}\n"
        "users:\n"
        "- name: default\n"
        "  user:\n"
        "    client-certificate-data: Q0VSVA==\n"
        "    client-key-data: S0VZ\n");
    assert_view(config.server, "https://127.0.0.1:6443");
    assert_view(config.cert_data, "Q0VSVA==");
}

/* Rancher: quoted values, lists deeper than their keys, base64 folded by a backslash. */
static void test_rancher(void **state)
{
    (void)state;
    read_good("apiVersion: v1\n"
              "kind: Config\n"
              "clusters:\n"
              "- name: \"local\"\n"
              "  cluster:\n"
              "    server: \"https://rancher.example/\"\n"
              "    certificate-authority-data: \"LS0tLS1CRUdJTiBDRVJUSUZJQ0FUR\\\n"
              "      S0tLS0tCk1JSUJ2akNDQVdPZ0F3SUJBZ0lCQURBS0JnZ3Foa2\\\n"
              "      pPUFFRREFqQg==\"\n"
              "\n"
              "users:\n"
              "- name: \"local\"\n"
              "  user:\n"
              "    token: \"kubeconfig-user-abcde:secret\"\n"
              "\n"
              "\n"
              "contexts:\n"
              "- name: \"local\"\n"
              "  context:\n"
              "    user: \"local\"\n"
              "    cluster: \"local\"\n"
              "\n"
              "current-context: \"local\"\n");
    assert_view(config.server, "https://rancher.example/");
    assert_view(config.ca_data, "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUJ2akNDQVdPZ0F3SUJBZ0lCQU"
                                "RBS0JnZ3Foa2pPUFFRREFqQg==");
    assert_view(config.token, "kubeconfig-user-abcde:secret");
}

/* kind, as another tool writes it again: in flow style, with a directive, a host in upper case. */
static void test_flow(void **state)
{
    (void)state;
    read_good("%YAML 1.2\n"
              "---\n"
              "{apiVersion: v1, kind: Config, preferences: { },\n"
              "clusters: [{name: kind-a, cluster: {server: HTTPS://127.0.0.1:41817,\n"
              "  certificate-authority-data: QUJD}}, # the only one\n"
              "  ],\n"
              "contexts: [ {context: {cluster: kind-a, user: 'kind-a'}, name: \"kind-a\"} ],\n"
              "current-context: kind-a\n"
              ", users: [{name: kind-a, user: {client-certificate-data: REVG,\n"
              "\tclient-key-data: R0hJ, token: plain over\n"
              "    two lines, exec: }}]}\n"
              "---\n");
    assert_view(config.server, "HTTPS://127.0.0.1:41817");
    assert_view(config.ca_data, "QUJD");
    assert_view(config.key_data, "R0hJ");
    assert_view(config.token, "plain over two lines");
}

/* kubectl config view --raw -o json: four blanks per level, empty values written out. */
static void test_kubectl_json(void **state)
{
    (void)state;
    read_good(
        "{\n"
        "    \"kind\": \"Config\",\n"
        "    \"apiVersion\": \"v1\",\n"
        "    \"preferences\": {},\n"
        "    \"clusters\": [\n"
        "        {\n"
        "            \"name\": \"one\",\n"
        "            \"cluster\": {\n"
        "                \"server\": \"https://10.0.0.1:6443\",\n"
        "                \"certificate-authority-data\": \"QUJD\",\n"
        "                \"extensions\": [\n"
        "                    {\n"
        "                        \"name\": \"cluster_info\",\n"
        "                        \"extension\": {\"a\": [[], {}, \"]}\", -1.5e3, null, true]}\n"
        "                    }\n"
        "                ]\n"
        "            }\n"
        "        }\n"
        "    ],\n"
        "    \"users\": [\n"
        "        {\n"
        "            \"name\": \"admin\",\n"
        "            \"user\": {\n"
        "                \"client-certificate-data\": \"REVG\",\n"
        "                \"client-key-data\": \"R0hJ\"\n"
        "            }\n"
        "        }\n"
        "    ],\n"
        "    \"contexts\": [\n"
        "        {\n"
        "            \"name\": \"admin@one\",\n"
        "            \"context\": {\n"
        "                \"cluster\": \"one\",\n"
        "                \"user\": \"admin\"\n"
        "            }\n"
        "        }\n"
        "    ],\n"
        "    \"current-context\": \"admin@one\"\n"
        "}\n");
    assert_view(config.server, "https://10.0.0.1:6443");
    assert_view(config.cert_data, "REVG");
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
    read_bad("{\"clusters\": [\n{]}", PEER_MALFORMED, "line 2: a value that needs quotes");
    read_bad("{\"clusters\":\n[{}, {}\n", PEER_MALFORMED, "line 2: this bracket is not closed");
    read_bad("{\"a\":\n[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]}", PEER_NOT_FOUND,
             "no current-context is set");
    read_bad("{\"kind\": \"Config\"}", PEER_NOT_FOUND, "no current-context is set");
}

/* --- credentials --- */

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
    static const struct text_case cases[] = {
        {"    certificate-authority: x\n", "line 8: this cluster has no server"},
        {"    server: http://h\n    certificate-authority: x\n",
         "line 8: the server of this cluster is not https://; a plain connection is not"},
        {"    server: https://h\n",
         "line 8: this cluster has neither certificate-authority-data nor certificate-authority"},
        {"    server: https://h\n    insecure-skip-tls-verify: true\n",
         "cluster \"k\", line 11: insecure-skip-tls-verify: the server is always verified"},
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
    (void)snprintf(text, sizeof text, "%s- name: u\n  user: {}\n", with_user("    token: a\n"));
    read_bad(text, PEER_MALFORMED, "line 16: user of this name is given twice");
}

static void test_shapes(void **state)
{
    (void)state;
    read_bad("", PEER_MALFORMED, "line 1: this is not a kubeconfig");
    read_bad("# nothing\n\n", PEER_MALFORMED, "this is not a kubeconfig");
    read_bad("just text\n", PEER_MALFORMED, "line 1: this is not a kubeconfig");
    read_bad("- a\n- b\n", PEER_MALFORMED, "line 1: this is not a kubeconfig");
    read_bad("users: x\n", PEER_MALFORMED, "line 1: users must be a list");
    read_bad("users:\n  a: b\n", PEER_MALFORMED, "line 2: users must be a list");
    read_bad("users:\n- a\n", PEER_MALFORMED, "line 2: users: each entry must be a mapping");
    read_bad("users:\n-\n- a: b\n", PEER_MALFORMED, "line 2: users: each entry must be a mapping");
    read_bad("users:\n- user: text\n", PEER_MALFORMED, "line 2: user must be a mapping");
    read_bad("current-context: [ ]\n", PEER_MALFORMED, "line 1: current-context must be a single");
    read_bad("[]\n", PEER_MALFORMED, "line 1: this is not a kubeconfig");
    read_bad("current-context:\n  a: b\n", PEER_MALFORMED, "must be a single value");
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
        {"HTTPS://Host.example:6443", "Host.example", 6443},
        {"Https://h", "h", 443},
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
        {"https://*.x", NULL, 0},
        {"https://h*", NULL, 0},
        {"https://a_b-c.d", "a_b-c.d", 443},
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kubectl),      cmocka_unit_test(test_line_ends),
        cmocka_unit_test(test_kubeadm),      cmocka_unit_test(test_minikube),
        cmocka_unit_test(test_eks),          cmocka_unit_test(test_json),
        cmocka_unit_test(test_credentials),  cmocka_unit_test(test_references),
        cmocka_unit_test(test_clusters),     cmocka_unit_test(test_duplicates),
        cmocka_unit_test(test_shapes),       cmocka_unit_test(test_names),
        cmocka_unit_test(test_size),         cmocka_unit_test(test_damage),
        cmocka_unit_test(test_server),       cmocka_unit_test(test_k3s),
        cmocka_unit_test(test_rancher),      cmocka_unit_test(test_flow),
        cmocka_unit_test(test_kubectl_json),
    };
    return cmocka_run_group_tests(tests, NULL, free_block);
}
