/* SPDX-License-Identifier: Apache-2.0 */
/* Opens and polls the files hw_error_event; see error_events.h. */
#include "host/node/error_events.h"

#include <unistd.h>

#include "base/assert.h"
#include "host/node/reading.h"

void error_events_begin(struct error_events *e)
{
    e->follows = false;
    e->armed_ms = 0;
    for (unsigned i = 0; i < DEVICES_MAX; i++) {
        e->fd[i] = -1;
    }
}

static void close_file(struct error_events *e, unsigned i)
{
    if (e->fd[i] >= 0) {
        (void)close(e->fd[i]);
    }
    e->fd[i] = -1;
}

void error_events_end(struct error_events *e)
{
    for (unsigned i = 0; i < DEVICES_MAX; i++) {
        close_file(e, i);
    }
    e->follows = false;
}

void error_events_follow(struct error_events *e, const char *sysfs_root, const struct probe *p)
{
    ASSERT(p->found.count <= DEVICES_MAX);
    if (!p->known || (e->follows && e->listing == p->listing)) {
        return;
    }
    error_events_end(e);
    e->follows = true;
    for (unsigned i = 0; i < p->found.count; i++) {
        e->number[i] = p->found.devices[i].number;
        e->fd[i] = probe_open_errors(sysfs_root, e->number[i]);
        /*
         * If another reader is reading this device's files, this reader must not open
         * hw_error_event now. After a later probe, this function opens the files of all devices
         * again.
         */
        e->follows = reading_of(READING_DEVICE, e->number[i]) && e->follows;
    }
    e->listing = p->listing;
}

void error_events_interest(const struct error_events *e, struct pollfd *slots, uint64_t now_ms)
{
    for (unsigned i = 0; i < DEVICES_MAX; i++) {
        int fd = (now_ms >= e->armed_ms) ? e->fd[i] : -1;
        slots[i] = (struct pollfd){.fd = fd, .events = POLLPRI};
    }
}

uint64_t error_events_armed_ms(const struct error_events *e)
{
    return e->armed_ms;
}

bool error_events_poll(struct error_events *e, const char *sysfs_root, const struct pollfd *slots,
                       uint64_t now_ms)
{
    bool news = false;
    for (unsigned i = 0; i < DEVICES_MAX; i++) {
        if (e->fd[i] >= 0 && slots[i].fd == e->fd[i] && slots[i].revents != 0) {
            /*
             * Open and read hw_error_event again before the next probe, so that an error during the
             * probe is reported too.
             */
            close_file(e, i);
            e->fd[i] = probe_open_errors(sysfs_root, e->number[i]);
            e->armed_ms = now_ms + ERROR_EVENT_GAP_MS;
            news = true;
        }
    }
    return news;
}
