/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the kubelet which pods use which claims, for `claims --pod`: one call of its PodResources
 * service, with a time limit. Holds no state. Source: k8s.io/kubelet, pkg/apis/podresources.
 */
#include <errno.h>
#include <unistd.h>

#include "cfg/identity.h"
#include "host/commands/commands_internal.h"
#include "host/pods_link.h"
#include "host/system.h"

/* Runs the call, and reads its response into m->pods. Returns 0 or an errno. */
static int list_pods(struct command_memory *m, struct grpc_out *c, const char *path)
{
    static const uint8_t empty[GRPC_PREFIX_BYTES]; /* a message without fields */
    struct view piece;
    int error = grpc_call_begin(m, c, path, POD_LIST_METHOD, view_of(empty, sizeof empty));
    error = (error == 0) ? grpc_call_next(c, &piece) : error;
    while (error == 0 && piece.len > 0u) {
        pods_feed(&m->pods, piece);
        error = grpc_call_next(c, &piece);
    }
    grpc_call_end(c);
    return error;
}

/* Writes why the list of pods is missing or not complete. `error`: result of the call. */
static void write_trouble(struct command_memory *m, const struct grpc_out *c, const char *path,
                          int error)
{
    struct view reason = writer_view(&c->call.text);
    char words[ERRNO_WORDS_CAP];
    if (m->pods_known) {
        reason = view_text("too many pods");
    } else if (error == 0 && c->call.code == 0u) {
        reason = view_text("it lists no claims");
    } else if (error != 0) {
        reason = view_text((error == EPROTO) ? "no list of pods" : errno_words(error, words));
    }
    WRITE(&m->out, AGENT_NAME ": pods that share a claim may be missing: the kubelet, at %: %\n",
          TEXT(path), SHOWN(reason));
}

enum status pods_ask(struct command_memory *m, struct view namespace_, struct writer *why)
{
    char path[SOCKET_PATH_CAP];
    struct grpc_out c = {.end_ms = clock_now_ms() + PODS_MAX_MS};
    pods_begin(&m->pods, namespace_);
    int error = pods_link_path(m->settings, path) ? list_pods(m, &c, path) : ENAMETOOLONG;
    if (pods_end(&m->pods) != STATUS_OK && error == 0) {
        error = EPROTO;
    }
    m->pods_known = error == 0 && c.call.code == 0u && m->pods.any;
    if ((m->pods_known && !m->pods.partial) || m->compares) {
        return STATUS_OK;
    }
    write_trouble(m, &c, path, error);
    return output_flush(&m->out, STDERR_FILENO, why);
}
