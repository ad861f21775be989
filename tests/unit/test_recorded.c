/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What real kubelets and API servers sent (tests/vectors/recorded), replayed through the engines:
 * HTTP/2 and gRPC as a server; HTTP/2, responses and field filter as a client. However the octets
 * are cut, the engines read the same and send the same; and both are what is expected.
 */
#include "tests/unit/apiserver/kube_harness.h"
#include "tests/unit/wire/recorded.h"
#include "wire/grpc.h"

#define SENT_MAX 16384

/* What the engine under test read and sent during one replay. */
struct outcome {
    struct transcript understood;
    size_t sent;
    uint8_t bytes[SENT_MAX];
};

static struct outcome first;
static struct outcome other;
static struct outcome *now_in;

static void begin_outcome(struct outcome *o)
{
    o->understood.len = 0;
    o->understood.text[0] = '\0';
    o->sent = 0;
    now_in = o;
}

static void understood(const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    assert_in_range(n, 0, (int)sizeof text - 1);
    note(&now_in->understood, text);
}

/* Everything that the engine has to say leaves at once. */
static void drain(struct h2 *c, bool keep)
{
    struct view out = h2_tx_data(c);
    if (keep && out.len > 0) {
        assert_in_range(out.len, 0, SENT_MAX - now_in->sent);
        memcpy(now_in->bytes + now_in->sent, out.data, out.len);
        now_in->sent += out.len;
    }
    h2_tx_commit(c, out.len);
}

/* Takes all events of the engine; STATUS_MORE, or why its connection ended. */
static enum status take_turn(const struct h2 *c);

/* The recorded peer says octets, in pieces. */
static void peer_says(struct h2 *c, struct view bytes)
{
    while (bytes.len > 0) {
        assert_int_equal(take_turn(c), STATUS_MORE);
        struct writer room = h2_rx_space(c);
        struct view piece = view_first(view_first(bytes, cut_next()), room.cap);
        assert_true(piece.len > 0);
        memcpy(room.data, piece.data, piece.len);
        h2_rx_commit(c, piece.len);
        bytes = view_from(bytes, piece.len);
    }
    assert_int_equal(take_turn(c), STATUS_MORE);
}

static void peer_goes(struct h2 *c)
{
    h2_rx_end(c);
    assert_int_equal(take_turn(c), PEER_CLOSED);
    understood("CLOSED\n");
}

/* --- our servers: what kubelets say --- */

static struct grpc_server server;
static struct grpc_buffers buffers;

/* Fields of a message, those of the messages in it after a brace. */
static void note_message(struct view message, unsigned depth)
{
    struct reader in = reader_of(message);
    while (reader_left(&in) > 0) {
        struct reader field = in;
        uint64_t tag = 0;
        uint64_t len = 0;
        struct view inner;
        assert_int_equal(reader_varint(&field, &tag), STATUS_OK);
        if (depth > 0 && (tag & 7) == 2) {
            assert_int_equal(reader_varint(&field, &len), STATUS_OK);
            assert_int_equal(reader_consume(&field, (size_t)len, &inner), STATUS_OK);
            note(&now_in->understood, "{");
            note_message(inner, depth - 1);
            note(&now_in->understood, "}");
            in = field;
        } else {
            note_field(&now_in->understood, &in);
            note(&now_in->understood, reader_left(&in) > 0 ? " " : "");
        }
    }
}

/* Known methods get an answer, others the one that an owner gives them. */
static void answer_call(const struct grpc_event *e)
{
    bool claims = memmem(e->path.data, e->path.len, ".DRAPlugin/Node", 15) != NULL;
    bool known = claims || view_starts(e->path, "/pluginregistration.Registration/");
    understood("CALL %.*s ", (int)e->path.len, (const char *)e->path.data);
    note_message(e->message, claims ? 1 : 0);
    note(&now_in->understood, "\n");
    struct view reply = view_text("an answer of the owner's");
    enum status s = known ? grpc_reply_all(&server, e->call, reply)
                          : grpc_finish(&server, e->call, GRPC_UNIMPLEMENTED, "unknown method");
    assert_int_equal(s, STATUS_OK);
}

static enum status server_turn(void)
{
    struct grpc_event e;
    enum status s = grpc_next(&server, 1000, &e);
    while (s == STATUS_OK) {
        if (e.kind == GRPC_EVENT_CALL) {
            answer_call(&e);
        } else {
            assert_int_equal(e.kind, GRPC_EVENT_WRITABLE); /* no call was lost */
        }
        s = grpc_next(&server, 1000, &e);
    }
    drain(&server.h2, true);
    return s;
}

static void kubelet_goes(void)
{
    assert_int_equal(grpc_calls_open(&server), 0);
    peer_goes(&server.h2);
}

static void replay_kubelet(struct outcome *o, unsigned way)
{
    begin_outcome(o);
    cutting_begin(way);
    memset(&buffers, 0, sizeof buffers);
    for (unsigned i = 0; i < recorded.steps; i++) {
        const struct recorded_step *s = &recorded.step[i];
        if (s->kind == STEP_CONNECTION) {
            if (i > 0) {
                kubelet_goes();
            }
            grpc_init(&server, &buffers, NULL, 0, 1000);
        } else {
            assert_int_equal(s->kind, STEP_SAY);
            peer_says(&server.h2, view_of(recorded.bytes + s->from, s->len));
        }
    }
    kubelet_goes();
}

/* --- our client: what API servers say --- */

#define ASKED_MAX 64

static struct {
    struct h2 h2;
    struct h2_stream streams[H2_CLIENT_STREAMS];
    uint8_t rx[H2_CLIENT_RX_BYTES];
    uint8_t tx[H2_CLIENT_TX_BYTES];
    uint8_t field[H2_CLIENT_FIELD_BYTES];
    uint8_t scratch[H2_CLIENT_FIELD_BYTES];
    unsigned asked;
    struct kube_response answer[ASKED_MAX];
} client;

static void client_begin(void)
{
    struct h2_memory memory = H2_MEMORY_OF(&client, H2_CLIENT_WINDOW);
    memory.connection_window = H2_CLIENT_CONNECTION_WINDOW;
    client.asked = 0;
    h2_init(&client.h2, H2_CLIENT, &memory, 1000);
}

static bool has(const struct recorded_step *s, const char *text)
{
    return strstr(s->path, text) != NULL;
}

static enum kube_shape slice_shape(const struct recorded_step *s)
{
    if (has(s, "/resourceslices?")) {
        return has(s, "watch=true") ? KUBE_SHAPE_SLICE_WATCH : KUBE_SHAPE_SLICE_LIST;
    }
    return strcmp(s->method, "DELETE") == 0 ? KUBE_SHAPE_STATUS : KUBE_SHAPE_SLICE;
}

static enum kube_shape shape_of(const struct recorded_step *s)
{
    if (strcmp(s->path, KUBE_RESOURCE_GROUP_PATH) == 0) {
        return KUBE_SHAPE_GROUP;
    }
    if (has(s, "/api/v1/nodes")) {
        return has(s, "watch=true") ? KUBE_SHAPE_NODE_WATCH : KUBE_SHAPE_NODE;
    }
    if (has(s, "/resourceslices")) {
        return slice_shape(s);
    }
    return strcmp(s->method, "GET") == 0 ? KUBE_SHAPE_CLAIM : KUBE_SHAPE_STATUS;
}

static void client_ask(const struct recorded_step *s)
{
    uint32_t stream = 0;
    bool body = strcmp(s->method, "GET") != 0;
    const struct kube_request request = {
        .method = s->method,
        .path = view_text(s->path),
        .authority = view_text("127.0.0.1:6443"),
        .token = view_text("a token"),
        .watch = has(s, "watch=true"),
        .has_body = body,
        .body_len = 4,
    };
    assert_in_range(client.asked, 0, ASKED_MAX - 1);
    assert_int_equal(h2_open(&client.h2, client.asked, &stream), STATUS_OK);
    assert_int_equal(stream, s->stream);
    kube_response_init(&client.answer[client.asked], shape_of(s));
    client.asked++;
    assert_int_equal(kube_request_send(&client.h2, stream, &request), STATUS_OK);
    if (body) {
        assert_int_equal(h2_data(&client.h2, stream, view_text("k8s."), true), STATUS_OK);
    }
    drain(&client.h2, false);
    understood("ASK %u %s\n", stream, s->method);
}

static void client_body(uint32_t stream, struct kube_response *a, struct view data)
{
    struct reader in = reader_of(data);
    struct kube_record record;
    enum status s = kube_response_next(a, &in, &record);
    while (s == STATUS_OK) {
        understood("%u ", stream);
        note_record(&now_in->understood, &record);
        s = kube_response_next(a, &in, &record);
    }
    assert_int_equal(s, STATUS_MORE);
}

static void client_event(const struct h2_event *e)
{
    struct kube_response *a = &client.answer[e->tag];
    switch (e->kind) {
    case H2_EVENT_FIELD:
        if (!e->trailers) {
            kube_response_field(a, e->name, e->value);
        }
        break;
    case H2_EVENT_HEADERS_END:
        understood("%u HTTP %u\n", e->stream, a->http_status);
        break;
    case H2_EVENT_DATA:
        client_body(e->stream, a, e->data);
        break;
    case H2_EVENT_RESET:
        understood("%u RESET %u\n", e->stream, e->code);
        break;
    case H2_EVENT_GOAWAY:
        understood("GOAWAY %u\n", e->code);
        break;
    case H2_EVENT_PING_ACK:
    case H2_EVENT_WRITABLE:
        break;
    }
    bool may_end = e->kind == H2_EVENT_DATA || e->kind == H2_EVENT_HEADERS_END;
    if (may_end && e->end_stream) {
        understood("%u END %s\n", e->stream, status_name(kube_response_end(a)));
    }
}

static enum status client_turn(void)
{
    struct h2_event e;
    enum status s = h2_next(&client.h2, &e);
    while (s == STATUS_OK) {
        client_event(&e);
        s = h2_next(&client.h2, &e);
    }
    drain(&client.h2, false); /* WINDOW_UPDATEs are as the pieces come */
    return s;
}

static enum status take_turn(const struct h2 *c)
{
    return c == &server.h2 ? server_turn() : client_turn();
}

static void replay_api(struct outcome *o, unsigned way)
{
    begin_outcome(o);
    cutting_begin(way);
    for (unsigned i = 0; i < recorded.steps; i++) {
        const struct recorded_step *s = &recorded.step[i];
        if (s->kind == STEP_CONNECTION) {
            if (i > 0) {
                peer_goes(&client.h2);
            }
            client_begin();
        } else if (s->kind == STEP_ASK) {
            client_ask(s);
        } else if (s->kind == STEP_RESET) {
            h2_reset(&client.h2, s->stream, H2_CANCEL);
            drain(&client.h2, false);
        } else {
            peer_says(&client.h2, view_of(recorded.bytes + s->from, s->len));
        }
    }
    peer_goes(&client.h2);
}

/* --- the same in every split --- */

typedef void replay(struct outcome *o, unsigned way);

static void check_all_cuts(replay *run_one, const char *release, const char *name)
{
    recorded_load(release, name);
    run_one(&first, 0);
    for (unsigned way = 1; way < 2u + RANDOM_CUTS; way++) {
        run_one(&other, way);
        if (strcmp(first.understood.text, other.understood.text) != 0) {
            fail_msg("%s/%s, cut %u: not\n%s\nbut\n%s", release, name, way, first.understood.text,
                     other.understood.text);
        }
        assert_int_equal(first.sent, other.sent);
        assert_memory_equal(first.bytes, other.bytes, first.sent);
    }
}

/* The text of the first replay after `before`, up to one of the characters `ends`. */
static const char *found(const char *before, const char *ends)
{
    static char text[256];
    const char *at = strstr(first.understood.text, before);
    if (at == NULL) {
        fail_msg("no %s in\n%s", before, first.understood.text);
        return "";
    }
    at += strlen(before);
    (void)snprintf(text, sizeof text, "%.*s", (int)strcspn(at, ends), at);
    return text;
}

static void expect(const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    (void)found(text, "");
}

/* --- and what was meant --- */

static void test_registration(void **state)
{
    const struct releases releases = releases_find();
    (void)state;
    for (unsigned i = 0; i < releases.count; i++) {
        check_all_cuts(replay_kubelet, releases.name[i], "registration.txt");
        expect("CALL /pluginregistration.Registration/GetInfo \n");
        expect("CALL /pluginregistration.Registration/NotifyRegistrationStatus 1=#1\n");
        assert_true(first.sent > 0);
    }
}

/* 8-4-4-4-12 hexadecimal digits */
static void check_uid(const char *uid)
{
    assert_int_equal(strlen(uid), 36);
    for (size_t i = 0; i < 36; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        assert_true(dash ? uid[i] == '-' : isxdigit((unsigned char)uid[i]) != 0);
    }
}

/* Prepared by the kubelet, read from the API server, unprepared: one claim with one device. */
static void test_claim(void **state)
{
    const struct releases releases = releases_find();
    char uid[64];
    char name[256];

    (void)state;
    for (unsigned i = 0; i < releases.count; i++) {
        const char *release = releases.name[i];
        const char *version = release_version(release);
        check_all_cuts(replay_kubelet, release, "dra.txt");
        (void)snprintf(uid, sizeof uid, "%s", found("NodePrepareResources {1=default 2=", " }"));
        (void)snprintf(name, sizeof name, "%s", found(uid, "}"));
        check_uid(uid);
        assert_int_equal(strncmp(name, " 3=single-device-neurons-", 25), 0);
        expect("CALL /k8s.io.kubelet.pkg.apis.dra.%s.DRAPlugin/NodePrepareResources {", version);
        expect("CALL /k8s.io.kubelet.pkg.apis.dra.%s.DRAPlugin/NodeUnprepareResources "
               "{1=default 2=%s%s}\n",
               version, uid, name);

        check_all_cuts(replay_api, release, "api.txt");
        expect("TYPE{1=resource.k8s.io/%s 2=ResourceClaim}\n", version);
        expect("META{1=%s ", name + 3);
        expect(" 2=default 3=%s ", uid);
        expect("RESULT{1=neurons 2=neuron.aws.com 3=neuron-node-0 4=neuron-device-0}\n");
        expect("ALLOCATION{}\n");
    }
}

static void test_slice(void **state)
{
    const struct releases releases = releases_find();
    (void)state;
    for (unsigned i = 0; i < releases.count; i++) {
        const char *release = releases.name[i];
        const char *version = release_version(release);
        check_all_cuts(replay_api, release, "api.txt");
        expect("VERSION{1=resource.k8s.io/%s}\n", version);
        expect("TYPE{1=resource.k8s.io/%s 2=ResourceSliceList}\n", version);
        expect(" HTTP 201\n");
        expect("TYPE{1=resource.k8s.io/%s 2=ResourceSlice}\n", version);
        expect("NAME{1=neuron-device-0}\n");
        expect("SPEC{1=neuron.aws.com 2=neuron-node-0 3=#1 4=#1 5=neuron-node-0");
        expect("WATCH{1=ADDED}\n");
        expect("LABEL{1=topology.k8s.aws/network-node-layer-1 2=");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_registration),
        cmocka_unit_test(test_claim),
        cmocka_unit_test(test_slice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
