/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command lines and environments: words one a line, then "NAME=value" one a line. Checks I1 to I5
 * of agent/settings.h; durations are read a second time in long double.
 *
 * Input: words of a command line, then lines of an environment
 */
#include <math.h>

#include "agent/settings.h"
#include "agent/settings_internal.h"
#include "tests/fuzz/fuzz.h"

#define WORDS_MAX 24u
#define WORD_BYTES 700u

static char why_text[8192];
static char words[2u * WORDS_MAX][WORD_BYTES];
static struct settings settings;
static struct settings again;

static const char *take_word(struct fuzz *in, char *word)
{
    struct view rest = view_of(in->data + in->pos, fuzz_left(in));
    struct view line = fuzz_bytes(in, view_find(rest, (uint8_t)'\n'));
    (void)fuzz_u8(in);
    text_cut(word, WORD_BYTES, line);
    return word;
}

/* One line of what a terminal shows; where the user wrote UTF-8, it is. */
static void check_line(struct view why)
{
    CHECK(why.len > 0u && why.len < 2u * WORD_BYTES);
    for (size_t i = 0; i < why.len; i++) {
        CHECK(why.data[i] >= ' ' && why.data[i] != 0x7fu); /* I1 */
    }
}

/*
 * How errors start that name no flag by its long name: the word itself follows, or its short form
 * is named as the user gave it.
 */
static const char *const other_starts[] = {"unknown ", "unexpected ", "-o ", "-v ", "--v ", "-w "};

/* I2: an error names the flag or variable it is about, or the word nobody knows. */
static bool names_its_cause(const char *why)
{
    bool named = strstr(why, " socket ") != NULL;
    for (unsigned i = 0; i < sizeof other_starts / sizeof other_starts[0]; i++) {
        named = named || strstr(why, other_starts[i]) == why;
    }
    for (unsigned i = 0; i < (unsigned)COMMANDS; i++) {
        named = named || strstr(why, command_rows[i].name) == why;
    }
    for (unsigned i = 0; i < SETTINGS_COUNT; i++) {
        named = named || strstr(why, setting_row(i)->flag) != NULL ||
                (setting_row(i)->variable != NULL && strstr(why, setting_row(i)->variable) != NULL);
    }
    return named;
}

/* --- one duration --- */

static long double unit_of(const char **at)
{
    static const struct {
        const char *name;
        long double ms;
    } units[] = {{"ns", 1e-6L}, {"us", 1e-3L}, {"\xc2\xb5s", 1e-3L}, {"\xce\xbcs", 1e-3L},
                 {"ms", 1.0L},  {"s", 1e3L},   {"m", 6e4L},          {"h", 3.6e6L}};
    for (unsigned i = 0; i < sizeof units / sizeof units[0]; i++) {
        size_t len = strlen(units[i].name);
        if (strncmp(*at, units[i].name, len) == 0) {
            *at += len;
            return units[i].ms;
        }
    }
    return 0.0L;
}

/* Milliseconds of a Go duration without sign; negative: it is none. */
static long double duration_of(const char *text)
{
    long double sum = 0.0L;
    const char *at = text;
    while (*at != '\0') {
        char *end = NULL;
        size_t digits = strspn(at, "0123456789");
        size_t point = at[digits] == '.' ? 1u : 0u;
        size_t behind = strspn(at + digits + point, "0123456789") * point;
        char number[WORD_BYTES];
        memcpy(number, at, digits + point + behind);
        number[digits + point + behind] = '\0';
        at += digits + point + behind;
        long double unit = unit_of(&at);
        if (digits + behind == 0u || unit <= 0.0L) {
            return -1.0L;
        }
        sum += strtold(number, &end) * unit;
        CHECK(*end == '\0');
    }
    return (text[0] == '\0') ? -1.0L : sum;
}

static void try_duration(const char *text)
{
    static const char *const env[] = {NULL};
    const char *const args[] = {"--node-name=n", "--reconcile-interval", text};
    struct writer why = writer_of(why_text, sizeof why_text);
    long double ms = duration_of(text);
    bool flag = strncmp(text, "--", 2) == 0;
    bool taken = settings_parse(&again, args, 3, env, &why) == STATUS_OK;
    /* what lies within a millisecond of a bound may go either way */
    bool sure = ms < 0.0L || fabsl(ms - 1000.0L) > 1.0L;
    sure = sure && fabsl(ms - (long double)INTERVAL_MAX_MS) > 1.0L && !flag;
    bool good = ms >= 1000.0L && ms <= (long double)INTERVAL_MAX_MS;
    CHECK(!sure || taken == good); /* I4 */
    CHECK(!taken || fabsl((long double)again.reconcile_ms - ms) <= 1.0L);
}

/* --- a run of good settings says the same again --- */

static void put_flag(char *out, const char *flag, const char *value)
{
    struct writer w = writer_of(out, WORD_BYTES);
    writer_text(&w, flag);
    writer_text(&w, "=");
    writer_text(&w, value);
    CHECK(writer_end_text(&w) == STATUS_OK);
}

static void put_number(char *out, const char *flag, int64_t number, const char *unit)
{
    char text[40];
    struct writer w = writer_of(text, sizeof text);
    writer_signed(&w, number);
    writer_text(&w, unit);
    CHECK(writer_end_text(&w) == STATUS_OK);
    put_flag(out, flag, text);
}

static const char *word_of(bool value)
{
    return value ? "true" : "false";
}

#define POD_FLAG 33u
_Static_assert(SETTINGS_COUNT == 43u, "put_texts and put_others write every setting");

static void put_texts(char (*out)[WORD_BYTES])
{
    const struct settings *s = &settings;
    put_flag(out[0], "--node-name", s->node_name);
    put_flag(out[1], "--kubeconfig", s->kubeconfig);
    put_flag(out[2], "--cdi-root", s->cdi_root);
    put_flag(out[3], "--kubelet-registrar-directory-path", s->registrar_dir);
    put_flag(out[4], "--kubelet-plugins-directory-path", s->plugins_dir);
    put_flag(out[5], "--pod-uid", s->pod_uid);
    put_flag(out[6], "--kubelet-device-plugins-directory-path", s->device_plugins_dir);
    put_flag(out[7], "--sysfs-root", s->sysfs_root);
    put_flag(out[8], "--proc-root", s->proc_root);
    put_flag(out[9], "--dev-root", s->dev_root);
    put_flag(out[10], "--instance-type", s->instance_type);
    put_flag(out[11], "--device-numbering", s->zero_numbering ? "zero" : "host");
    put_flag(out[12], "--claim-status", word_of(s->claim_status));
}

static void put_taint(char *out, const char *flag, const struct taint *taint)
{
    char text[400] = "";
    struct writer w = writer_of(text, sizeof text);
    writer_text(&w, taint->key);
    writer_text(&w, taint->key[0] != '\0' ? ":" : "");
    writer_text(&w, taint->effect);
    CHECK(writer_end_text(&w) == STATUS_OK);
    put_flag(out, flag, text);
}

static void put_resources(char *out, const char *flag, const struct node_resources *r)
{
    char text[120] = "";
    struct writer w = writer_of(text, sizeof text);
    for (unsigned i = 0; i < (unsigned)NODE_RESOURCES; i++) {
        if (r->quantity[i][0] != '\0') {
            WRITE(&w, "%%=%", TEXT((w.len > 0u) ? "," : ""), TEXT(node_resource_name(i)),
                  TEXT(r->quantity[i]));
        }
    }
    CHECK(writer_end_text(&w) == STATUS_OK);
    put_flag(out, flag, text);
}

static void put_others(char (*out)[WORD_BYTES])
{
    static const char *const levels[] = {
        [LOG_ERROR] = "error", [LOG_WARN] = "warn", [LOG_INFO] = "info", [LOG_DEBUG] = "debug"};
    static const char *const ultra[] = {"auto", "node", "both", "devices"};
    static const char *const outputs[] = {
        [OUTPUT_TEXT] = "text", [OUTPUT_JSON] = "json", [OUTPUT_YAML] = "yaml"};
    const struct settings *s = &settings;
    put_taint(out[13], "--unhealthy-taint", &s->taint[TAINT_UNHEALTHY]);
    put_flag(out[14], "--ultraserver-devices", ultra[s->ultraserver]);
    put_flag(out[15], "--log-level", levels[s->log_level]);
    put_flag(out[16], "--log-format", s->log_format == LOG_JSON ? "json" : "text");
    put_number(out[17], "--healthcheck-port", s->healthcheck_port, "");
    put_number(out[18], "--metrics-port", s->metrics_port, "");
    put_number(out[19], "--reconcile-interval", (int64_t)s->reconcile_ms, "ms");
    put_number(out[20], "--health-interval", (int64_t)s->health_ms, "ms");
    put_flag(out[21], "--healthcheck-bind-address", s->healthcheck_address);
    put_flag(out[22], "--metrics-bind-address", s->metrics_address);
    put_flag(out[23], "--sandbox", word_of(s->sandbox));
    put_flag(out[24], "--board", s->board);
    put_flag(out[25], "--output", outputs[s->output]);
    put_flag(out[26], "--neuron-config-directory-path", s->neuron_dir);
    put_flag(out[27], "--efa", word_of(s->efa));
    put_flag(out[28], "--efa-driver-name", s->efa_driver);
    put_number(out[29], "--efa-share", s->efa_share, "");
    put_flag(out[30], "--device-metadata", word_of(s->device_metadata));
    put_flag(out[31], "--share-cores", word_of(s->share_cores));
    put_flag(out[32], "--device-metrics", word_of(s->device_metrics));
    put_flag(out[POD_FLAG], "--pod", s->pod);
    put_flag(out[34], "--tls-min-version", (s->tls_min == TLS_MIN_1_2) ? "1.2" : "1.3");
    put_flag(out[35], "--kubelet-state-file", s->kubelet_state);
    put_flag(out[36], "--check-device-memory", word_of(s->check_device_memory));
    put_flag(out[37], "--require-consecutive", word_of(s->require_consecutive));
    put_flag(out[38], "--neuron-monitor-metrics", word_of(s->neuron_monitor_metrics));
    put_flag(out[39], "--no-headers", word_of(s->no_headers));
    put_flag(out[40], "--watch", word_of(s->watch));
    put_taint(out[41], "--memory-held-taint", &s->taint[TAINT_MEMORY_HELD]);
    put_resources(out[42], "--efa-node-resources", &s->efa_node_resources);
}

/* Whether the command takes the flag: it refuses one without a variable that it does not read. */
static bool is_taken(const char *word)
{
    size_t len = strcspn(word, "=");
    unsigned i = 0;
    while (strlen(setting_row(i)->flag) != len || strncmp(setting_row(i)->flag, word, len) != 0) {
        i++;
    }
    const struct setting_row *row = setting_row(i);
    return row->variable != NULL || (row->readers >> (unsigned)settings.command & 1u) != 0u;
}

/* I3: written out, every value reads back as it is. */
static void round_trip(void)
{
    static char out[SETTINGS_COUNT][WORD_BYTES];
    static const char *const env[] = {NULL};
    const char *args[SETTINGS_COUNT + 2u];
    unsigned count = SETTINGS_COUNT;
    struct writer why = writer_of(why_text, sizeof why_text);
    put_texts(out);
    put_others(out);
    for (unsigned i = 0; i < SETTINGS_COUNT; i++) {
        args[i] = is_taken(out[i]) ? out[i] : out[1];
    }
    if (settings.node_name[0] == '\0') {
        args[0] = out[1]; /* only run needs it, and an empty one is refused */
    }
    if (settings.pod[0] == '\0') {
        args[POD_FLAG] = out[1]; /* the same */
    }
    args[count++] = command_rows[settings.command].name;
    if (settings.operand[0] != '\0') {
        args[count++] = settings.operand;
    }
    CHECK(settings_parse(&again, args, count, env, &why) == STATUS_OK);
    CHECK(memcmp(&again, &settings, sizeof again) == 0);
    CHECK(settings.driver[DRIVER_NEURON].registration_socket[0] == '/' &&
          settings.driver[DRIVER_NEURON].service_socket[0] == '/'); /* I5 */
    CHECK(strstr(settings.cdi_root, "//") == NULL && strlen(settings.cdi_root) < PATH_CAP);
}

/* The text of --help, in rooms of its promised size; that of all commands names every flag. */
static void look_help(void)
{
    static char text[2049];
    unsigned flags = 0;
    unsigned parts = 0;
    struct writer w = writer_of(text, sizeof text);
    while (settings_help(&w, settings.topic, parts)) {
        CHECK(writer_end_text(&w) == STATUS_OK);
        flags += (parts > 0u && parts <= SETTINGS_COUNT &&
                  strstr(text, setting_row(parts - 1u)->flag) != NULL)
                     ? 1u
                     : 0u;
        parts++;
        w = writer_of(text, sizeof text);
    }
    bool all = command_rows[settings.topic].example == NULL;
    CHECK((flags == SETTINGS_COUNT) == all && w.len == 0u);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz in = fuzz_of(data, size);
    struct writer why = writer_of(why_text, sizeof why_text);
    const char *args[WORDS_MAX];
    const char *env[WORDS_MAX + 1u];
    unsigned count = fuzz_u8(&in) % WORDS_MAX;
    unsigned variables = 0;
    for (unsigned i = 0; i < count; i++) {
        args[i] = take_word(&in, words[i]);
    }
    while (variables < WORDS_MAX && fuzz_left(&in) > 0u) {
        env[variables] = take_word(&in, words[WORDS_MAX + variables]);
        variables++;
    }
    env[variables] = NULL;
    enum status s = settings_parse(&settings, args, count, env, &why);
    if (s != STATUS_OK) {
        CHECK(s == PEER_MALFORMED && writer_end_text(&why) == STATUS_OK);
        check_line(writer_view(&why));
        CHECK(names_its_cause(why_text)); /* I2 */
    } else if (settings.command != COMMAND_HELP && settings.command != COMMAND_VERSION) {
        CHECK(why.len == 0u);
        round_trip();
    } else {
        look_help();
    }
    try_duration(count > 0u ? args[count - 1u] : "");
    return 0;
}
