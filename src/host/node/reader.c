/* SPDX-License-Identifier: Apache-2.0 */
/* The reader process, which reads sysfs; see reader.h. Only that process runs this code. */
#include "host/node/reader.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/assert.h"
#include "dra/core_memory.h"
#include "host/node/efa_probe.h"
#include "host/node/error_events.h"
#include "host/sandbox.h"
#include "host/system.h"
#include "host/node/telemetry.h"

struct reading_process {
    const struct settings *settings;
    struct reader_page *page;
    int fd;
    bool ended; /* the agent's process has ended */
    struct error_events errors;
};

static void send_byte(struct reading_process *r, uint8_t byte)
{
    r->ended = r->ended || write(r->fd, &byte, sizeof byte) != (ssize_t)sizeof byte;
}

/* --- the tasks of the reader process --- */

static void run_probe(struct reading_process *r)
{
    const struct settings *s = r->settings;
    struct sysfs_probe *l = &r->page->result;
    struct found_node *found = &l->probe.found;
    l->error = probe_node(s, &l->probe);
    found->unknown = l->error != 0;
    found->count = (l->error != 0) ? 0u : found->count;
    if (s->device_metrics || s->neuron_monitor_metrics) {
        telemetry_read(s, found, &l->telemetry);
    }
    l->efa_error = r->page->efas ? efas_probe(s, &l->efas) : 0;
}

static int64_t memory_counter(const char *sysfs_root, unsigned number, unsigned core, unsigned file)
{
    char value[SYSFS_VALUE_CAP];
    uint64_t bytes = 0;
    int error = probe_memory(sysfs_root, number, core, core_memory_path(file), value);
    if (error != 0) {
        return -(int64_t)error;
    }
    bool good = view_decimal(view_trim(view_text(value)), INT64_MAX, &bytes) == STATUS_OK;
    return good ? (int64_t)bytes : -(int64_t)EIO;
}

/* Reads the counters of the base line only if the core uses any memory. */
static int64_t core_memory(const char *sysfs_root, unsigned number, unsigned core)
{
    int64_t bytes[CORE_MEMORY_FILES] = {0};
    bytes[CORE_MEMORY_TOTAL] = memory_counter(sysfs_root, number, core, CORE_MEMORY_TOTAL);
    if (bytes[CORE_MEMORY_TOTAL] <= 0) {
        return bytes[CORE_MEMORY_TOTAL];
    }
    for (unsigned i = (unsigned)CORE_MEMORY_DRIVER; i < (unsigned)CORE_MEMORY_FILES; i++) {
        bytes[i] = memory_counter(sysfs_root, number, core, i);
    }
    return (int64_t)core_memory_of_processes(bytes);
}

/*
 * Reads the memory use of each core. If the file of one core is absent, the kernel module has no
 * such files, so this function does not try to open the files of the remaining cores.
 */
static void device_memory(struct reading_process *r, unsigned number)
{
    int64_t *memory = r->page->memory[number];
    bool may = reading_of(READING_DEVICE, number);
    int64_t value = 0;
    for (unsigned core = 0; core < TELEMETRY_CORES_MAX; core++) {
        if (!may) {
            value = -(int64_t)EBUSY;
        } else if (value != -(int64_t)ENOENT) {
            value = core_memory(r->settings->sysfs_root, number, core);
        }
        memory[core] = value;
    }
}

static void read_ultraserver(struct reading_process *r)
{
    struct reader_page *page = r->page;
    bool may = reading_of(READING_NODE, 0);
    page->ultraserver_error =
        may ? probe_ultraserver(r->settings->sysfs_root, &page->ultraserver) : EBUSY;
}

static void run_task(struct reading_process *r)
{
    const struct reader_page *page = r->page;
    if (page->task == (uint32_t)READER_PROBE) {
        run_probe(r);
        /*
         * Open the files hw_error_event before answering, because the agent treats a reader that
         * has answered as idle.
         */
        error_events_follow(&r->errors, r->settings->sysfs_root, &page->result.probe);
    }
    for (unsigned n = 0; n < DEVICES_MAX && page->task == (uint32_t)READER_MEMORY; n++) {
        if ((page->numbers >> n & 1u) != 0u) {
            device_memory(r, n);
        }
    }
    if (page->task == (uint32_t)READER_ULTRASERVER) {
        read_ultraserver(r);
    }
    send_byte(r, READER_ANSWER);
}

/* --- main loop of the reader process --- */

static void receive_question(struct reading_process *r)
{
    uint8_t byte = 0;
    ssize_t n = read(r->fd, &byte, sizeof byte);
    r->ended = n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
    if (n > 0) {
        run_task(r);
    }
}

static void run_turn(struct reading_process *r)
{
    struct pollfd slots[1u + DEVICES_MAX];
    uint64_t now_ms = clock_now_ms();
    uint64_t armed_ms = error_events_armed_ms(&r->errors);
    /*
     * Time limit for poll(2), in milliseconds: the rest of the time in which error events are
     * ignored, at most ERROR_EVENT_GAP_MS. If that time is over, this value is not used, and
     * poll(2) waits without a limit.
     */
    uint64_t wait_ms = armed_ms - now_ms;
    slots[0] = (struct pollfd){.fd = r->fd, .events = POLLIN};
    error_events_interest(&r->errors, &slots[1], now_ms);
    if (poll(slots, 1u + DEVICES_MAX, (armed_ms > now_ms) ? (int)wait_ms : -1) <= 0) {
        return;
    }
    if (r->page->forget) {
        r->page->forget = false;
        error_events_end(&r->errors);
        probe_close(&r->page->result.probe);
    }
    /*
     * Handle error events before starting a probe, so that errors during the probe are reported as
     * new events.
     */
    if (error_events_poll(&r->errors, r->settings->sysfs_root, &slots[1], clock_now_ms())) {
        send_byte(r, READER_EVENT);
    }
    if (slots[0].revents != 0) {
        receive_question(r);
    }
}

/*
 * Enters the sandbox: from then on, the reader process may read files below three directories (all
 * files if there is a kubeconfig), and may write no file.
 */
static void restrict_self(const struct settings *s)
{
    char text[HOST_TEXT_CAP];
    struct writer discarded = writer_of(text, sizeof text);
    struct writer wide = writer_of(NULL, 0);
    struct stat st;
    bool in_pod = s->kubeconfig[0] == '\0';
    /*
     * Add a rule for neuron_dir only if it exists. Most nodes do not have it, and a rule for an
     * absent directory would apply to its parent.
     */
    bool configured = path_stat(s->neuron_dir, &st) == 0;
    const struct sandbox_paths paths = {
        .write = {NULL, NULL, NULL, NULL},
        .read = {in_pod ? s->sysfs_root : "/", s->proc_root, NULL},
        .fixed = {configured ? s->neuron_dir : NULL, NULL, NULL},
        .reader = true,
    };
    sandbox_enter(&paths, &discarded, &wide);
}

void reader_run(const struct settings *settings, struct reader_page *page, int fd)
{
    struct reading_process r = {.settings = settings, .page = page, .fd = fd};
    bool named = prctl(PR_SET_NAME, "neuron-dra-read") == 0;
    /*
     * Make the kernel kill this process when the agent ends, because a reader that hangs cannot end
     * itself.
     */
    bool bound = prctl(PR_SET_PDEATHSIG, SIGKILL) == 0;
    ASSERT(named && bound);
    error_events_begin(&r.errors);
    reading_here(&page->note, &page->left_out);
    if (settings->sandbox) {
        restrict_self(settings);
    }
    while (!r.ended) {
        run_turn(&r);
    }
    _exit(0);
}
