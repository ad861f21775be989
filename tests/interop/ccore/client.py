#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""gRPC's C core as a client of the agent and of the engine, by Debian's python3-grpcio.

Owns the cases as this client is used; their names are those of tests/conformance/interop_clients_test.go, which
starts it and answers what it asks.
"""

import concurrent.futures
import json
import pathlib
import sys
import threading
import time

import grpc

PATIENCE = 20.0
DEVICES = 16  # of the agent's node
GET_INFO = "/pluginregistration.Registration/GetInfo"
NOTIFY = "/pluginregistration.Registration/NotifyRegistrationStatus"
PREPARE = "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources"
UNPREPARE = "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodeUnprepareResources"
CHECK = "/grpc.health.v1.Health/Check"
WATCH = "/grpc.health.v1.Health/Watch"
ODD = "no room: 100 % of \u20ac \u2603 \U0001F600 %41\n\tend"

AT = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
REGISTRATION = grpc.insecure_channel("unix:" + AT["Registration"])
SERVICE = grpc.insecure_channel("unix:" + AT["Service"])
HEALTH = grpc.insecure_channel(AT["Health"])
ENGINE = grpc.insecure_channel("unix:" + AT["Engine"])


class Wrong(Exception):
    """What a case found."""


def call(channel, method, request=b"", **options):
    options.setdefault("timeout", PATIENCE)
    return channel.unary_unary(method)(request, **options)


def stream(channel, method, request=b"", timeout=PATIENCE):
    return channel.unary_stream(method)(request, timeout=timeout)


def fails(code, words, function):
    """Calls the function, which must fail so; the error."""
    try:
        function()
    except grpc.RpcError as error:
        if error.code() != code or words not in (error.details() or ""):
            raise Wrong(f"{error.code()} {error.details()!r} instead of {code} {words!r}") from error
        return error
    raise Wrong(f"no error instead of {code}")


def ask(what):
    """Has the test do something, and waits until it is done."""
    print("ask", what, flush=True)
    line = sys.stdin.readline()
    if line != "yes\n":
        raise Wrong(line.strip())


# --- messages ---


def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out) + bytes([n])


def field(number, value):
    return varint(number << 3 | 2) + varint(len(value)) + value


def claims(*names):
    return b"".join(field(1, field(1, AT[n]["Namespace"].encode()) + field(2, AT[n]["UID"].encode()) +
                          field(3, AT[n]["Name"].encode())) for n in names)


def padded(request, size):
    """A valid request of exactly this size: the rest is an unknown field."""
    for n in range(size - len(request), -1, -1):
        more = field(15, bytes(n))
        if len(request) + len(more) == size:
            return request + more
    raise ValueError(size)


def read_varint(message, at):
    n = shift = 0
    while True:
        n |= (message[at] & 127) << shift
        shift += 7
        at += 1
        if message[at - 1] < 128:
            return n, at


def fields(message, number):
    """The values of one field of bytes; other kinds than varints and bytes are not expected."""
    found, at = [], 0
    while at < len(message):
        key, at = read_varint(message, at)
        length, at = read_varint(message, at)
        if key & 7 == 2:
            if key >> 3 == number:
                found.append(message[at:at + length])
            at += length
    return found


def entry(reply, name):
    """(devices, error) of the reply's entry of a claim."""
    for e in fields(reply, 1):
        if fields(e, 1) == [AT[name]["UID"].encode()]:
            value = fields(e, 2)[0]
            return len(fields(value, 1)), b"".join(fields(value, 2)).decode()
    raise Wrong(f"no entry of claim {name} in {reply!r}")


def expect(good, what):
    if not good:
        raise Wrong(what)


def unprepare(request=None, **options):
    reply = call(SERVICE, UNPREPARE, claims("Good") if request is None else request, **options)
    expect(len(fields(reply, 1)) == 1 and AT["Good"]["UID"].encode() in reply, f"reply {reply!r}")


def parallel(n, function):
    with concurrent.futures.ThreadPoolExecutor(n) as pool:
        for done in [pool.submit(function, i) for i in range(n)]:
            done.result()


# --- cases against the agent ---


def case_get_info():
    reply = call(REGISTRATION, GET_INFO, wait_for_ready=True)
    expect(fields(reply, 2) == [AT["Driver"].encode()] and fields(reply, 4), f"reply {reply!r}")


def case_notify():
    call(REGISTRATION, NOTIFY, b"\x08\x01")


def case_prepare():
    for _ in range(2):  # the second time nothing is fetched
        expect(entry(call(SERVICE, PREPARE, claims("Good")), "Good") == (1, ""), "prepare failed")
    unprepare()


def case_prepare_refused():
    devices, text = entry(call(SERVICE, PREPARE, claims("Absent")), "Absent")
    expect(devices == 0 and "not found" in text, text)


def case_health():
    expect(call(HEALTH, CHECK, field(1, b"liveness")) == b"\x08\x01", "not serving")
    fails(grpc.StatusCode.NOT_FOUND, "", lambda: call(HEALTH, CHECK, field(1, b"other")))


def reported(method):
    """The first report of the devices' health, then the client has enough."""
    reports = stream(SERVICE, method)
    expect(len(fields(next(reports), 1)) == DEVICES, f"{method}: not {DEVICES} devices")
    reports.cancel()
    fails(grpc.StatusCode.CANCELLED, "", lambda: next(reports))


def watch(channel, name, state, **options):
    """A health stream of the agent, its first state read."""
    states = stream(channel, WATCH, field(1, name), **options)
    told(states, state)
    return states


def told(states, state):
    message = next(states)
    expect(message == bytes([8, state]), f"{message!r} instead of state {state}")


def case_health_stream():
    """The agent's own health stream: each state as it comes, beside others, until the client has enough."""
    ready = watch(HEALTH, b"readiness", 1)
    running = [ready, watch(HEALTH, b"other", 3), watch(SERVICE, b"liveness", 1)]
    for state in (2, 1, 2, 1):  # the kubelet's word decides
        call(REGISTRATION, NOTIFY, bytes([8, state % 2]))
        told(ready, state)
    for _ in range(50):
        states = watch(HEALTH, b"", 1)
        states.cancel()
        fails(grpc.StatusCode.CANCELLED, "", lambda s=states: next(s))
    states = watch(HEALTH, b"", 1, timeout=0.2)
    fails(grpc.StatusCode.DEADLINE_EXCEEDED, "", lambda: next(states))

    def more():
        while True:  # one connection has so many at most
            running.append(watch(HEALTH, b"", 1))

    fails(grpc.StatusCode.RESOURCE_EXHAUSTED, "", more)
    for states in running:
        states.cancel()
        fails(grpc.StatusCode.CANCELLED, "", lambda s=states: next(s))


def case_resource_health():
    reported("/v1alpha1.DRAResourceHealth/NodeWatchResources")
    reported("/v1.DRAResourceHealth/NodeWatchResources")


def case_cancel():
    running = SERVICE.unary_unary(PREPARE).future(claims("Slow"), timeout=PATIENCE)
    ask("fetching")
    running.cancel()
    expect(running.code() == grpc.StatusCode.CANCELLED, running.code())
    call(SERVICE, PREPARE)


def case_client_deadline():
    fails(grpc.StatusCode.DEADLINE_EXCEEDED, "", lambda: call(SERVICE, PREPARE, claims("Slow"), timeout=0.3))
    call(SERVICE, PREPARE)


def case_server_deadline():
    """The server sees a deadline that this side does not keep."""
    running = SERVICE.unary_unary(PREPARE).future(claims("Slow"), metadata=(("grpc-timeout", "300m"),))
    timer = threading.Timer(PATIENCE, running.cancel)
    timer.start()
    try:
        fails(grpc.StatusCode.DEADLINE_EXCEEDED, "deadline exceeded", running.result)
    finally:
        timer.cancel()


def case_largest_message():
    unprepare(padded(claims("Good"), AT["MessageMax"]))
    fails(grpc.StatusCode.RESOURCE_EXHAUSTED, "request message is too large",
          lambda: unprepare(padded(claims("Good"), AT["MessageMax"] + 1)))
    unprepare()


def case_four_mib():
    for size in ((4 << 20) - 1, 4 << 20, (4 << 20) + 1):
        request = padded(claims("Good"), size)
        fails(grpc.StatusCode.RESOURCE_EXHAUSTED, "request message is too large", lambda r=request: unprepare(r))
        unprepare()


def case_many_calls():
    parallel(100, lambda i: call(SERVICE, PREPARE) if i % 2 else unprepare())


def case_compressed():
    # What is not smaller compressed goes as it is.
    request = padded(claims("Good"), 2000)
    fails(grpc.StatusCode.UNIMPLEMENTED, "compressed messages are not supported",
          lambda: unprepare(request, compression=grpc.Compression.Gzip))
    unprepare()


def case_metadata():
    pairs = (("some-bin", bytes(range(256))), ("some-bin", b""), ("some-text", 'a, b;c="d"'))
    for _ in range(3):  # literal, then from the table
        unprepare(metadata=pairs)


def case_restart():
    """The restarted agent is met by the next call, which does not have to wait for anything.

    The channel is watched meanwhile: it reads its sockets only while somebody wants to know something.
    """
    left = threading.Event()

    def see(state):
        if state != grpc.ChannelConnectivity.READY:
            left.set()

    SERVICE.subscribe(see)
    states = watch(HEALTH, b"readiness", 1)
    ask("restart")
    expect(left.wait(PATIENCE), "the channel did not see the agent go")
    told(states, 2)
    fails(grpc.StatusCode.UNAVAILABLE, "stopping", lambda: next(states))
    unprepare()
    SERVICE.unsubscribe(see)


def case_restart_under_calls():
    """Calls that go on while the agent is restarted: each is answered, by the old one or by the new.

    A call that this library was writing when the old one ended fails here alone: it does not read the GOAWAY that
    waits in the socket, and repeats nothing.
    """
    over = threading.Event()

    def go_on():
        while not over.is_set():
            try:
                unprepare(wait_for_ready=True)
            except grpc.RpcError as error:
                if error.details() not in ("Broken pipe", "Socket closed", "Connection reset by peer"):
                    raise

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        running = [pool.submit(go_on) for _ in range(4)]
        try:
            ask("restart")
        finally:
            over.set()
        for r in running:
            r.result()


# --- cases against the engine ---


def case_status_text():
    for text in (ODD, "", "plain"):
        error = fails(grpc.StatusCode.NOT_FOUND, "",
                      lambda t=text: call(ENGINE, "/engine/Status", t.encode(), wait_for_ready=True))
        expect(error.details() == text, f"{error.details()!r} instead of {text!r}")


def replies(sizes):
    messages = list(stream(ENGINE, "/engine/Stream", sizes.encode()))
    expect(" ".join(str(len(m)) for m in messages) == sizes, f"not the messages of {sizes}")
    for i, m in enumerate(messages):
        expect(m == bytes([ord("a") + i]) * len(m), f"message {i} of {sizes} is damaged")


def case_stream():
    replies("0 1 255 16384 100000 0 7")


def case_four_mib_reply():
    replies("4194303")
    replies("4194304")
    fails(grpc.StatusCode.RESOURCE_EXHAUSTED, "", lambda: replies("4194305"))
    replies("1")


def case_many_replies():
    parallel(100, lambda _: replies("1 40000 3"))


def case_watch():
    """A health service that streams: what it says at once, what changes, and the end by cancellation."""
    before = call(ENGINE, "/engine/Gone")[0]
    states = stream(ENGINE, WATCH)
    expect(next(states) == b"\x08\x01", "not serving")
    call(ENGINE, "/engine/Change")
    expect(next(states) == b"\x08\x02", "no change")
    states.cancel()
    fails(grpc.StatusCode.CANCELLED, "", lambda: next(states))
    end = time.monotonic() + PATIENCE
    while call(ENGINE, "/engine/Gone")[0] != (before + 1) % 256:
        expect(time.monotonic() < end, "the server did not see the cancellation")
        time.sleep(0.01)


def case_goaway():
    """GOAWAY again and again: what runs ends as it should, what is new finds another connection."""
    for _ in range(5):
        states = stream(ENGINE, WATCH)
        next(states)
        parallel(20, lambda n: call(ENGINE, "/engine/Drain" if n == 10 else "/engine/Echo"))
        call(ENGINE, "/engine/Finish")
        expect(not list(states), "more than one state")


CASES = {
    "GetInfo": case_get_info,
    "Notify": case_notify,
    "prepare": case_prepare,
    "prepare refused": case_prepare_refused,
    "health": case_health,
    "health stream": case_health_stream,
    "resource health stream": case_resource_health,
    "sockets": lambda: ask("sockets"),
    "cancel": case_cancel,
    "deadline of the client": case_client_deadline,
    "deadline of the server": case_server_deadline,
    "largest message": case_largest_message,
    "4 MiB": case_four_mib,
    "100 calls": case_many_calls,
    "compressed": case_compressed,
    "metadata": case_metadata,
    "same sockets": lambda: ask("same sockets"),
    "restart": case_restart,
    "restart under calls": case_restart_under_calls,
    "status text": case_status_text,
    "stream": case_stream,
    "4 MiB reply": case_four_mib_reply,
    "100 streams": case_many_replies,
    "watch": case_watch,
    "GOAWAY": case_goaway,
}


def main():
    for name, case in CASES.items():
        try:
            case()
        except (Wrong, grpc.RpcError) as error:
            print(f"failed {name}: {str(error)!r}", flush=True)
        else:
            print(f"passed {name}", flush=True)


if __name__ == "__main__":
    main()
