/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entry point of the program: reads the settings, runs the agent or a command, and returns one
 * of these exit codes:
 * - every command: 2 the usage is wrong
 * - probe, check: 0 the answer is yes; 1 the answer is no, or the command failed
 * - bundle: 0 all files are written; 1 a file is missing, or the command failed
 * - reservations: 0 no claim is reserved; 1 some claims are reserved; 2 unknown
 * - `run` and all other commands: 0 a signal stopped the agent, or the command succeeded; 1 failure
 *
 * Each failure prints one line on stderr.
 */
#include <unistd.h>

#include "agent/settings.h"
#include "base/assert.h"
#include "cfg/identity.h"
#include "host/loop.h"
#include "host/relro.h"
#include "host/sandbox.h"
#include "host/system.h"

enum { EXIT_STOPPED = 0, EXIT_CANNOT_RUN = 1, EXIT_USAGE = 2, EXIT_UNKNOWN = 2 };
#define WHY_BYTES 2048u

static int print_text(const struct writer *w)
{
    int error = 0;
    ASSERT(!w->full);
    enum status s = descriptor_write(STDOUT_FILENO, writer_view(w), -1, &error);
    return (s == STATUS_OK) ? EXIT_STOPPED : EXIT_CANNOT_RUN;
}

static int print_refusal(struct view why, int exit_code)
{
    uint8_t bytes[WHY_BYTES + 64u];
    struct writer w = writer_of(bytes, sizeof bytes);
    int error = 0;
    ASSERT(why.len <= WHY_BYTES);
    writer_text(&w, AGENT_NAME ": ");
    w.cap--; /* keep room for the newline */
    size_t shown = writer_safe(&w, why, false);
    ASSERT(shown <= why.len);
    w.cap++;
    writer_text(&w, "\n");
    enum status s = descriptor_write(STDERR_FILENO, writer_view(&w), -1, &error);
    return (s == STATUS_OK || exit_code != EXIT_STOPPED) ? exit_code : EXIT_CANNOT_RUN;
}

/*
 * print_help and print_version must not be inlined, because their buffers would then be on main's
 * stack while the agent runs.
 */
__attribute__((noinline)) static int print_help(enum settings_command topic)
{
    uint8_t bytes[WHY_BYTES];
    struct writer w = writer_of(bytes, sizeof bytes);
    int exit_code = EXIT_STOPPED;
    for (unsigned part = 0; exit_code == EXIT_STOPPED && settings_help(&w, topic, part); part++) {
        exit_code = print_text(&w);
        w.len = 0;
    }
    return exit_code;
}

static void print_limit(struct writer *w, const char *name, uint64_t value)
{
    WRITE(w, "  %: %\n", TEXT(name), NUMBER(value));
}

__attribute__((noinline)) static int print_version(void)
{
    uint8_t bytes[WHY_BYTES];
    struct writer w = writer_of(bytes, sizeof bytes);
    writer_text(&w, AGENT_NAME " " AGENT_VERSION "\nbuild: " BUILD_ID "\nlimits:\n");
    print_limit(&w, "devices of a node", DEVICES_MAX);
    print_limit(&w, "claims prepared at one time", CLAIMS_MAX);
    print_limit(&w, "claims in one call", CLAIMS_PER_CALL_MAX);
    print_limit(&w, "results of a claim", RESULTS_MAX);
    print_limit(&w, "bytes of one opaque configuration", OPAQUE_BYTES_MAX);
    print_limit(&w, "connections to each socket", SERVICE_LINKS);
    print_limit(&w, "streams of a connection", H2_SERVER_STREAMS);
    print_limit(&w, "claim requests in flight", FETCHES_MAX);
    return print_text(&w);
}

static int run_command(const struct settings *settings, const struct settings_input *input,
                       struct writer *why)
{
    bool no = false;
    enum status s = host_command(settings, input, &no, why);
    if (s != STATUS_OK) {
        int cannot = (settings->command == COMMAND_RESERVATIONS) ? EXIT_UNKNOWN : EXIT_CANNOT_RUN;
        return print_refusal(writer_view(why), (s == PEER_MALFORMED) ? EXIT_USAGE : cannot);
    }
    return no ? EXIT_CANNOT_RUN : EXIT_STOPPED;
}

int main(int argc, char **argv)
{
    static struct settings settings;
    uint8_t bytes[WHY_BYTES];
    struct writer why = writer_of(bytes, sizeof bytes);
    if (relro_protect() != STATUS_OK) {
        return print_refusal(
            view_text("constants cannot be made read-only; mprotect is blocked here"),
            EXIT_CANNOT_RUN);
    }
    if (sandbox_guard_memory() != STATUS_OK) {
        return print_refusal(
            view_text("core files cannot be ruled out; setrlimit or prctl is blocked "
                      "here"),
            EXIT_CANNOT_RUN);
    }
    /*
     * Ignore the program name in argv[0], because the container image has the binary under two
     * names.
     */
    const struct settings_input input = {.args = (const char *const *)argv + ((argc > 0) ? 1 : 0),
                                         .count = (argc > 0) ? (unsigned)argc - 1u : 0u,
                                         .env = (const char *const *)environ};
    if (settings_parse(&settings, input.args, input.count, input.env, &why) != STATUS_OK) {
        return print_refusal(writer_view(&why), EXIT_USAGE);
    }
    switch (settings.command) {
    case COMMAND_VERSION:
        return print_version();
    case COMMAND_HELP:
        return print_help(settings.topic);
    case COMMAND_RUN:
        break;
    default:
        return run_command(&settings, &input, &why);
    }
    if (host_run(&settings, &why) != STATUS_OK) {
        return print_refusal(writer_view(&why), EXIT_CANNOT_RUN);
    }
    return EXIT_STOPPED;
}
