/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the reserved claims that the API server lists; see reservations.h. The agent's code
 * handles the connection, its retries and its time limits; this file passes bytes and the time to
 * that code, and executes its orders. It discards the agent's log, because the command reports a
 * failure in one line at the end.
 */
#include "host/commands/reservations.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/time.h"
#include "host/commands/commands.h"
#include "host/system.h"
#include "host/apiserver/tls.h"

static void orders_carry_out(struct reservations_memory *m, uint64_t now_ms)
{
    enum agent_order order = agent_next_order(m->agent);
    for (unsigned n = 0; n <= (unsigned)ORDER_EXIT && order != ORDER_NONE; n++) {
        if (order == ORDER_CONNECT_API) {
            apilink_start(&m->api, now_ms);
        } else if (order == ORDER_READ_TOKEN) {
            apilink_read_token(&m->api);
        } else if (order == ORDER_CLOSE_API) {
            apilink_end(&m->api);
        } else {
            /*
             * ignore the other orders, because they concern server sockets and drivers, which this
             * process does not have
             */
        }
        order = agent_next_order(m->agent);
    }
}

/*
 * Waits for the API server or the next time limit, passes received bytes to the agent, and returns
 * the current time in milliseconds.
 */
static uint64_t wait_turn(struct reservations_memory *m, bool at_once)
{
    short events = 0;
    struct pollfd slot = {.fd = apilink_interest(&m->api, &events)};
    uint64_t now_ms = clock_now_ms();
    uint64_t due_ms = earlier(reservations_deadline(m->agent, &m->list), m->end_ms);
    due_ms = earlier(due_ms, apilink_deadline(&m->api));
    bool go_on = at_once || apilink_eager(&m->api) || due_ms <= now_ms;
    uint64_t wait_ms = go_on ? 0u : due_ms - now_ms;
    slot.events = events;
    int ready = poll(&slot, 1, (int)wait_ms);
    ASSERT(ready >= 0 || errno == EINTR || errno == ENOMEM);
    now_ms = clock_now_ms();
    agent_time(m->agent, now_ms, clock_wall_ms());
    if (ready <= 0) {
        slot.revents = 0; /* if poll(2) fails, it does not set revents */
    }
    apilink_turn(&m->api, slot.revents, now_ms);
    return now_ms;
}

/*
 * Runs the agent until a claim is read or the list has ended. RESERVATIONS_WAIT: the time limit of
 * the command has passed.
 */
static enum reservations_state next_claim(struct reservations_memory *m)
{
    uint64_t now_ms = clock_now_ms();
    enum reservations_state state = reservations_step(m->agent, &m->list);
    while (state == RESERVATIONS_WAIT && now_ms < m->end_ms) {
        orders_carry_out(m, now_ms);
        bool moved = apilink_write(&m->api);
        agent_log_written(m->agent, agent_log(m->agent).len);
        now_ms = wait_turn(m, moved);
        state = reservations_step(m->agent, &m->list);
    }
    return state;
}

static enum status print_claim(struct reservations_memory *m, struct writer *why)
{
    if (m->output == OUTPUT_TEXT) {
        command_reservation_text(&m->list.claim, &m->out);
    } else {
        command_reservation_document(&m->list.claim, &m->document);
    }
    return output_flush(&m->out, STDOUT_FILENO, why);
}

static void print_begin(struct reservations_memory *m)
{
    m->out = writer_of(m->part, sizeof m->part);
    m->document = document_of(&m->out, m->output == OUTPUT_YAML);
    if (m->output != OUTPUT_TEXT) {
        document_object_begin(&m->document);
        document_array_begin(&m->document, "reservations");
    }
}

static enum status print_end(struct reservations_memory *m, const struct settings *settings,
                             struct writer *why)
{
    if (m->output == OUTPUT_TEXT) {
        command_reservations_end(m->list.found, settings->efa ? settings->efa_driver : NULL,
                                 &m->out);
    } else {
        document_array_end(&m->document);
        document_object_end(&m->document);
        document_end(&m->document);
    }
    return output_flush(&m->out, STDOUT_FILENO, why);
}

/*
 * Writes the error line of the command `reservations`. SHOWN_LONG cuts and escapes the server's
 * text, which may be long and contain line ends.
 */
static void write_trouble(const struct reservations_memory *m, struct writer *why)
{
    WRITE(why, "the reserved claims cannot be read: %%",
          SHOWN_LONG(view_text(reservations_trouble(m->agent, &m->list)), CLAIM_ERROR_CAP),
          TEXT(reservations_remedy(m->agent, &m->list)));
}

static enum status print_all(struct reservations_memory *m, const struct settings *settings,
                             struct writer *why)
{
    print_begin(m);
    enum status s = STATUS_OK;
    enum reservations_state state = next_claim(m);
    while (s == STATUS_OK && state == RESERVATIONS_CLAIM) {
        s = print_claim(m, why);
        state = next_claim(m);
    }
    if (s != STATUS_OK) {
        return s;
    }
    if (state == RESERVATIONS_END) {
        return print_end(m, settings, why);
    }
    write_trouble(m, why);
    return PEER_REFUSED;
}

enum status reservations_print(struct reservations_memory *m, const struct settings *settings,
                               bool *some, struct writer *why)
{
    /* a files port without functions, because this process prepares no claim */
    static const struct files none;
    uint64_t now_ms = clock_now_ms();
    ASSERT(m->agent == NULL);
    if (tls_setup() != STATUS_OK) {
        writer_text(why, "the kernel provides no random numbers; see getrandom(2)");
        return HOST_IO;
    }
    /*
     * A missing credentials file ends the command at once, because a user is waiting for the
     * output.
     */
    enum status s = credentials_load(&m->api.credentials, settings->kubeconfig, why);
    credentials_wipe(&m->api.credentials);
    if (s != STATUS_OK) {
        return s;
    }
    m->output = settings->output;
    m->end_ms = now_ms + RESERVATIONS_LIMIT_MS;
    m->agent = agent_init(settings, &none, random_seed(), now_ms, clock_wall_ms());
    apilink_init(&m->api, m->agent, settings);
    reservations_init(m->agent, &m->list);
    s = print_all(m, settings, why);
    apilink_close(&m->api);
    *some = m->list.found > 0u;
    return s;
}
