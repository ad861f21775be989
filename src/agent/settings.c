/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the command line and the environment. Finds the command and, for each setting, the flag or
 * environment variable that sets it; derives paths from the settings. settings_value.c parses
 * single values.
 */
#include "agent/settings.h"

#include <string.h>

#include "agent/settings_internal.h"
#include "base/assert.h"
#include "base/chars.h"
#include "base/suggest.h"
#include "cfg/identity.h"

/*
 * For each row of the table of flags: the value that the user gave, and the flag or environment
 * variable that gave it. A name of NULL means that neither gave a value, so the default applies.
 */
struct given {
    struct setting_source source[SETTINGS_COUNT];
};

struct words {
    const char *const *args;
    unsigned count;
    unsigned next;
};

/* --- reading settings from the environment --- */

static void parse_variable(struct given *given, struct view entry)
{
    size_t equals = view_find(entry, '=');
    struct view name = view_first(entry, equals);
    struct view value = view_from(entry, equals + 1u);
    if (equals == entry.len) {
        return;
    }
    for (unsigned i = 0; i < SETTINGS_COUNT; i++) {
        const struct setting_row *row = setting_row(i);
        /*
         * An empty environment variable is valid for a taint, and means no taint. For any other
         * setting it counts as not set, because charts write an empty value where no value is
         * given.
         */
        bool counts = row->variable != NULL && (value.len > 0u || row->kind == KIND_TAINT);
        /* Of two environment entries with the same name, the first one is used, as by getenv(3). */
        if (counts && given->source[i].name == NULL && view_is(name, row->variable)) {
            given->source[i] = (struct setting_source){.name = row->variable, .text = value};
        }
    }
}

static void parse_environment(struct given *given, const char *const *env)
{
    for (unsigned i = 0; i < ENVIRONMENT_MAX && env[i] != NULL; i++) {
        parse_variable(given, view_text(env[i]));
    }
}

/* --- reading settings from the command line --- */

/*
 * Writes an error: the text `what`, the wrong word in quotes, and the known word that `meant`
 * suggests instead.
 */
static enum status refuse_word(struct writer *why, const char *what, const struct suggestion *meant)
{
    writer_text(why, what);
    setting_quote(why, meant->word);
    suggestion_write(meant, why);
    writer_text(why, "; see --help");
    return PEER_MALFORMED;
}

/*
 * Other names of flags. klog's -v is another name of --log-level: if both are given, the last one
 * takes effect, as for any flag that is given twice.
 */
static const struct alias {
    const char *name;
    const char *flag;
} aliases[] = {
    {"-o", "--output"}, {"-w", "--watch"}, {"-v", "--log-level"}, {"--v", "--log-level"}};
enum { ALIASES = sizeof aliases / sizeof aliases[0] };

/*
 * Returns the flag whose name or alias is `name`. Returns "" if there is no such flag; then `meant`
 * may suggest a similar one.
 */
static const char *flag_of(struct view name, struct suggestion *meant)
{
    for (unsigned i = 0; i < (unsigned)ALIASES; i++) {
        if (view_is(name, aliases[i].name)) {
            return aliases[i].flag;
        }
    }
    for (unsigned i = 0; i < SETTINGS_COUNT; i++) {
        if (view_is(name, setting_row(i)->flag)) {
            return setting_row(i)->flag;
        }
        suggestion_try(meant, setting_row(i)->flag);
    }
    return "";
}

/* Index of the flag's row in the table of flags; SETTINGS_COUNT: there is no such flag. */
static unsigned index_of(const char *flag)
{
    unsigned i = 0;
    while (i < SETTINGS_COUNT && !text_is(flag, setting_row(i)->flag)) {
        i++;
    }
    return i;
}

/*
 * Whether the word is a short flag with a value directly after its letter, as in -ojson and -v4.
 * All other words with one dash, such as -output and -output=json, are names of flags and may be
 * misspelt.
 */
static bool has_joined_value(struct view word)
{
    bool output = view_starts(word, "-o") && word.len > 2u && !view_starts(word, "-ou") &&
                  view_find(word, '=') == word.len;
    return output || (view_starts(word, "-v") && word.len > 2u && is_digit(word.data[2]));
}

/*
 * Reads the value of a flag from the next word. A switch (true or false) needs no value: without
 * one it means true, and this function consumes the next word only if that word is true, false, 1
 * or 0. Values may start with one dash (-1), flags start with two. Returns false if the value is
 * missing.
 */
static bool next_value(struct words *words, const struct setting_row *row, struct view *value)
{
    bool any = words->next < words->count;
    struct view next = any ? view_text(words->args[words->next]) : view_text("");
    bool yes = false;
    if (row->kind == KIND_BOOL && !(any && setting_truth(next, &yes))) {
        *value = view_text("true");
        return true;
    }
    *value = next;
    words->next++;
    return any && !view_starts(next, "--");
}

/*
 * Replaces klog's verbosity, a decimal number, by the value of --log-level that corresponds to it.
 * Returns false if *value is not a number from 0 to KLOG_VERBOSITY_MAX.
 */
static bool verbosity_level(const struct setting_row *row, struct view *value)
{
    uint64_t n = 0;
    if (view_decimal(*value, KLOG_VERBOSITY_MAX, &n) != STATUS_OK) {
        return false;
    }
    *value = view_text(row->choices[(n >= KLOG_DEBUG_VERBOSITY) ? LOG_DEBUG : LOG_INFO]);
    return true;
}

static enum status parse_flag(struct given *given, struct words *words, struct writer *why)
{
    struct view word = view_text(words->args[words->next]);
    size_t equals = view_find(word, '=');
    bool joined = has_joined_value(word);
    struct view name = view_first(word, joined ? 2u : equals);
    struct view value = view_from(word, joined ? 2u : equals + 1u);
    struct suggestion meant = suggestion_of(name);
    const char *flag = flag_of(name, &meant);
    unsigned at = index_of(flag);
    words->next++;
    if (at == SETTINGS_COUNT) {
        return refuse_word(why, "unknown flag ", &meant);
    }
    const struct setting_row *row = setting_row(at);
    if (!joined && equals == word.len && !next_value(words, row, &value)) {
        WRITE(why, "% needs a value; see --help", VIEW(name));
        return PEER_MALFORMED;
    }
    if (view_ends(name, "-v") && !verbosity_level(row, &value)) {
        WRITE(why, "% ", VIEW(name));
        setting_quote(why, value);
        writer_text(why, ": must be a number, as of klog: from 4 on like --log-level=debug");
        return PEER_MALFORMED;
    }
    given->source[at] = (struct setting_source){.name = flag, .text = value};
    return STATUS_OK;
}

static enum status parse_command(struct view word, enum settings_command *command,
                                 struct writer *why)
{
    struct suggestion meant = suggestion_of(word);
    for (unsigned i = 0; i < (unsigned)COMMANDS; i++) {
        if (view_is(word, command_rows[i].name)) {
            *command = (enum settings_command)i;
            return STATUS_OK;
        }
        suggestion_try(&meant, command_rows[i].name);
    }
    return refuse_word(why, "unknown command ", &meant);
}

static void write_operands(struct writer *out, const struct command_row *row)
{
    for (unsigned i = 0; i < COMMAND_OPERANDS_MAX && row->operand[i] != NULL; i++) {
        WRITE(out, "%%", TEXT((i == 0u) ? "" : " or "), TEXT(row->operand[i]));
    }
}

/* Parses the operand of a command that accepts only certain words. */
static enum status parse_choice(struct settings *out, const struct command_row *row,
                                struct view word, struct writer *why)
{
    struct suggestion meant = suggestion_of(word);
    for (unsigned i = 0; i < COMMAND_OPERANDS_MAX && row->operand[i] != NULL; i++) {
        if (view_is(word, row->operand[i])) {
            text_set(out->operand, sizeof out->operand, row->operand[i]);
            return STATUS_OK;
        }
        suggestion_try(&meant, row->operand[i]);
    }
    WRITE(why, "% takes ", TEXT(row->name));
    write_operands(why, row);
    return refuse_word(why, ", not ", &meant);
}

static enum status parse_operand(struct settings *out, struct view word, struct writer *why)
{
    const struct command_row *row = &command_rows[out->command];
    struct suggestion meant = suggestion_of(word);
    if (row->operand[0] != NULL && out->operand[0] == '\0') {
        return parse_choice(out, row, word, why);
    }
    if (row->directory != NULL && word.len > 0u && out->operand[0] == '\0') {
        if (text_copy(out->operand, sizeof out->operand, word) == STATUS_OK) {
            return STATUS_OK;
        }
        WRITE(why, "%: the path is too long", TEXT(row->name));
        return PEER_MALFORMED;
    }
    return refuse_word(why, "unexpected argument ", &meant);
}

/*
 * Whether the word is a flag. The word "-" is not a flag: as operand of `bundle` it stands for
 * standard output.
 */
static bool is_flag(struct view word)
{
    return view_starts(word, "-") && word.len > 1u;
}

/* Stores the command that `help COMMAND` or `version --help` must explain. */
static enum status parse_topic(const struct words *words, struct settings *out, struct writer *why)
{
    bool any = words->next + 1u < words->count;
    struct view next = any ? view_text(words->args[words->next + 1u]) : view_text("");
    if (out->command == COMMAND_VERSION && (view_is(next, "--help") || view_is(next, "-h"))) {
        out->command = COMMAND_HELP;
        out->topic = COMMAND_VERSION;
    } else if (out->command == COMMAND_HELP && any) {
        return parse_command(next, &out->topic, why);
    }
    return STATUS_OK;
}

static enum status parse_word(struct given *given, struct words *words, bool *seen,
                              struct settings *out, struct writer *why)
{
    struct view word = view_text(words->args[words->next]);
    enum status s = STATUS_OK;
    if (view_is(word, "--help") || view_is(word, "-h")) {
        out->topic = *seen ? out->command : COMMAND_HELP;
        out->command = COMMAND_HELP;
    } else if (view_is(word, "--version")) {
        out->command = COMMAND_VERSION;
    } else if (is_flag(word)) {
        return parse_flag(given, words, why);
    } else if (*seen) {
        s = parse_operand(out, word, why);
    } else {
        s = parse_command(word, &out->command, why);
        *seen = true;
        s = (s == STATUS_OK) ? parse_topic(words, out, why) : s;
    }
    words->next++;
    return s;
}

/* Checks that the command has an operand if it needs one. */
static enum status operand_check(const struct settings *out, struct writer *why)
{
    const struct command_row *row = &command_rows[out->command];
    if ((row->operand[0] == NULL && row->directory == NULL) || out->operand[0] != '\0') {
        return STATUS_OK;
    }
    const char *directory = (row->directory != NULL) ? row->directory : "";
    WRITE(why, "% needs %", TEXT(row->name), TEXT(directory));
    write_operands(why, row);
    writer_text(why, "; see --help");
    return PEER_MALFORMED;
}

/* Whether the command is `help` or `version`, which ignore all words after them. */
static bool only_prints(enum settings_command command)
{
    return command == COMMAND_HELP || command == COMMAND_VERSION;
}

static enum status parse_words(struct given *given, struct words *words, struct settings *out,
                               struct writer *why)
{
    bool seen = false;
    for (unsigned i = 0; i < words->count && words->next < words->count; i++) {
        enum status s = parse_word(given, words, &seen, out, why);
        if (s != STATUS_OK || only_prints(out->command)) {
            return s;
        }
    }
    return operand_check(out, why);
}

/* --- storing and deriving values of settings --- */

static enum status store_all(struct settings *out, const struct given *given, struct writer *why)
{
    for (unsigned i = 0; i < SETTINGS_COUNT; i++) {
        const struct setting_row *row = setting_row(i);
        struct setting_source source = given->source[i];
        if (source.name == NULL && row->default_value == NULL) {
            continue;
        }
        if (source.name == NULL) {
            source =
                (struct setting_source){.name = row->flag, .text = view_text(row->default_value)};
        }
        enum status s = setting_store(out, row, &source, why);
        if (s != STATUS_OK) {
            return s;
        }
    }
    return STATUS_OK;
}

/*
 * If `path` was not given, sets it to `name` in the parent of the plugins directory; this parent is
 * /var/lib/kubelet by default.
 */
static enum status derive_beside(const struct settings *out, char path[PATH_CAP], const char *name,
                                 const char *flag, struct writer *why)
{
    if (path[0] != '\0') {
        return STATUS_OK;
    }
    size_t slash = 0;
    for (size_t i = 0; out->plugins_dir[i] != '\0'; i++) {
        slash = (out->plugins_dir[i] == '/') ? i : slash;
    }
    struct writer w = writer_of(path, PATH_CAP);
    writer_bytes(&w, out->plugins_dir, slash);
    WRITE(&w, "/%", TEXT(name));
    if (writer_end_text(&w) != STATUS_OK) {
        WRITE(why, "--kubelet-plugins-directory-path leaves no room for % next to it; give %",
              TEXT(name), TEXT(flag));
        return PEER_MALFORMED;
    }
    return STATUS_OK;
}

struct socket_name {
    const char *what;
    const char *folder_flag;
    const char *folder;
    const char *before_uid; /* the part of the socket's path between `folder` and "-<pod UID>" */
    const char *after_uid;
};

static enum status derive_socket(char path[SOCKET_PATH_CAP], const struct socket_name *name,
                                 const char *pod_uid, struct writer *why)
{
    uint8_t whole[PATH_CAP + UID_CAP + 64u];
    struct writer w = writer_of(whole, sizeof whole);
    WRITE(&w, "%%%%%", TEXT((strlen(name->folder) == 1u) ? "" : name->folder),
          TEXT(name->before_uid), TEXT((pod_uid[0] == '\0') ? "" : "-"), TEXT(pod_uid),
          TEXT(name->after_uid));
    ASSERT(!w.full);
    if (text_copy(path, SOCKET_PATH_CAP, writer_view(&w)) == STATUS_OK) {
        return STATUS_OK;
    }
    WRITE(why, "% ", TEXT(name->what));
    setting_quote(why, writer_view(&w));
    WRITE(why, " is % bytes long, the limit of unix sockets is %; give a shorter %", NUMBER(w.len),
          NUMBER(SOCKET_PATH_CAP - 1u), TEXT(name->folder_flag));
    return PEER_MALFORMED;
}

static enum status derive_sockets(const struct settings *out, struct driver *driver,
                                  struct writer *why)
{
    char before[DRIVER_CAP + 1u];
    char stem[DRIVER_CAP + sizeof SERVICE_SOCKET_STEM + 2u];
    WRITE_TEXT(before, sizeof before, "/%", TEXT(driver->name));
    WRITE_TEXT(stem, sizeof stem, "/%/" SERVICE_SOCKET_STEM, TEXT(driver->name));
    const struct socket_name registration = {
        .what = "registration socket",
        .folder_flag = "--kubelet-registrar-directory-path",
        .folder = out->registrar_dir,
        .before_uid = before,
        .after_uid = REGISTRATION_SOCKET_SUFFIX,
    };
    const struct socket_name service = {
        .what = "service socket",
        .folder_flag = "--kubelet-plugins-directory-path",
        .folder = out->plugins_dir,
        .before_uid = stem,
        .after_uid = SERVICE_SOCKET_SUFFIX,
    };
    enum status s = derive_socket(driver->registration_socket, &registration, out->pod_uid, why);
    if (s == STATUS_OK) {
        s = derive_socket(driver->service_socket, &service, out->pod_uid, why);
    }
    return s;
}

static enum status derive_driver(struct settings *out, enum driver_kind kind, struct writer *why)
{
    struct driver *d = &out->driver[kind];
    d->kind = kind;
    d->shares = (kind == DRIVER_EFA) ? out->efa_share : out->share_cores ? SHARED_CORES_MAX : 1u;
    if (kind == DRIVER_EFA) {
        d->resources = out->efa_node_resources;
    }
    return derive_sockets(out, d, why);
}

/*
 * Derives the name, the socket paths and the number of claims that may share a device, for both
 * drivers, from the settings. Without --efa, a name that is too long for the socket paths of the
 * EFA driver is accepted, because no earlier run with --efa can have used it.
 */
static enum status derive_drivers(struct settings *out, struct writer *why)
{
    text_set(out->driver[DRIVER_NEURON].name, DRIVER_CAP, DRIVER_NAME);
    text_set(out->driver[DRIVER_EFA].name, DRIVER_CAP, out->efa_driver);
    enum status s = derive_driver(out, DRIVER_NEURON, why);
    if (s != STATUS_OK) {
        return s;
    }
    size_t before = why->len;
    s = derive_driver(out, DRIVER_EFA, why);
    if (s != STATUS_OK && !out->efa) {
        out->driver[DRIVER_EFA].service_socket[0] = '\0';
        why->len = before;
        s = STATUS_OK;
    }
    return s;
}

bool settings_source(const struct settings_input *in, unsigned index, struct writer *out)
{
    struct given given;
    struct words words = {.args = in->args, .count = in->count, .next = 0};
    if (index >= SETTINGS_COUNT) {
        return false;
    }
    memset(&given, 0, sizeof given);
    while (words.next < words.count) {
        if (is_flag(view_text(words.args[words.next]))) {
            /* parse_flag moves `words` past the flag and its value */
            enum status s = parse_flag(&given, &words, out);
            ASSERT(s == STATUS_OK); /* settings_parse has already accepted the flag and its value */
        } else {
            words.next++;
        }
    }
    parse_environment(&given, in->env);
    const struct setting_row *row = setting_row(index);
    const struct setting_source *source = &given.source[index];
    const char *otherwise = (row->default_value != NULL) ? row->default_value : row->default_text;
    const char *name = (source->name != NULL) ? source->name : "default";
    struct view value = (source->name != NULL) ? source->text : view_text(otherwise);
    WRITE(out, "%=%   # %", TEXT(row->flag), SHOWN_LONG(value, PATH_CAP), TEXT(name));
    if (source->name != NULL) {
        WRITE(out, ", default: %", TEXT(otherwise));
    }
    writer_text(out, "\n");
    return true;
}

/* Derives the paths that depend on other settings. */
static enum status derive_paths(struct settings *out, struct writer *why)
{
    enum status s = derive_beside(out, out->device_plugins_dir, "device-plugins",
                                  "--kubelet-device-plugins-directory-path", why);
    if (s == STATUS_OK) {
        s = derive_beside(out, out->kubelet_state, "dra_manager_state", "--kubelet-state-file",
                          why);
    }
    return (s == STATUS_OK) ? derive_drivers(out, why) : s;
}

/*
 * Refuses a flag that has no environment variable, such as --watch or --pod, for a command that
 * does not read it, because the user expects the flag to have an effect. Other flags that a command
 * does not read are ignored, so that the same list of flags serves all commands.
 */
static enum status interactive_check(const struct settings *out, const struct given *given,
                                     struct writer *why)
{
    for (unsigned i = 0; i < SETTINGS_COUNT; i++) {
        const struct setting_row *row = setting_row(i);
        bool reads = (row->readers >> (unsigned)out->command & 1u) != 0u;
        if (row->variable == NULL && given->source[i].name != NULL && !reads) {
            const char *name = command_rows[out->command].name;
            WRITE(why, "% has no effect with %; see % --help", TEXT(row->flag), TEXT(name),
                  TEXT(name));
            return PEER_MALFORMED;
        }
    }
    return STATUS_OK;
}

enum status settings_parse(struct settings *out, const char *const *args, unsigned count,
                           const char *const *env, struct writer *why)
{
    struct given given;
    struct words words = {.args = args, .count = count, .next = 0};
    ASSERT(out != NULL && env != NULL && why != NULL);
    memset(&given, 0, sizeof given);
    memset(out, 0, sizeof *out);
    text_set(out->taint[TAINT_DRAIN].key, sizeof out->taint[TAINT_DRAIN].key, DRAIN_KEY);
    text_set(out->taint[TAINT_DRAIN].effect, sizeof out->taint[TAINT_DRAIN].effect, "NoSchedule");
    out->topic = COMMAND_HELP;
    enum status s = parse_words(&given, &words, out, why);
    if (s != STATUS_OK || only_prints(out->command)) {
        return s;
    }
    parse_environment(&given, env);
    s = store_all(out, &given, why);
    s = (s == STATUS_OK) ? interactive_check(out, &given, why) : s;
    if (s == STATUS_OK && out->command == COMMAND_RUN && out->node_name[0] == '\0') {
        writer_text(why, "run needs the node's name: give --node-name or set NODE_NAME");
        s = PEER_MALFORMED;
    }
    return (s == STATUS_OK) ? derive_paths(out, why) : s;
}
