// SPDX-License-Identifier: Apache-2.0

// grpc-js as a client of the agent and of the engine. It owns the cases as grpc-js is used; their names
// are those of tests/conformance/interop_clients_test.go, which starts it and answers what it asks.
"use strict";

const fs = require("fs");
const readline = require("readline");
const grpc = require("@grpc/grpc-js");

const patience = 20000; // milliseconds
const devices = 16; // of the agent's node
const getInfo = "/pluginregistration.Registration/GetInfo";
const notify = "/pluginregistration.Registration/NotifyRegistrationStatus";
const prepare = "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources";
const unprepare = "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodeUnprepareResources";
const check = "/grpc.health.v1.Health/Check";
const watch = "/grpc.health.v1.Health/Watch";
const odd = "no room: 100 % of \u20ac \u2603 \u{1F600} %41\n\tend";

const at = JSON.parse(fs.readFileSync(process.argv[2], "utf8"));
const dial = (target) => new grpc.Client(target, grpc.credentials.createInsecure());
const registration = dial("unix:" + at.Registration);
const service = dial("unix:" + at.Service);
const health = dial(at.Health);
const engine = dial("unix:" + at.Engine);

const asIs = (bytes) => bytes;
const soon = () => Date.now() + patience;
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

// begin starts a unary call; its reply is call.reply.
function begin(client, method, request = Buffer.alloc(0), options = {}, metadata = new grpc.Metadata()) {
  let call;
  const reply = new Promise((resolve, reject) => {
    call = client.makeUnaryRequest(method, asIs, asIs, request, metadata, { deadline: soon(), ...options },
      (error, value) => (error ? reject(error) : resolve(value)));
  });
  reply.catch(() => {}); // who waits for it sees it
  return { call, reply };
}

const call = (...args) => begin(...args).reply;

function waiting() {
  const metadata = new grpc.Metadata();
  metadata.setOptions({ waitForReady: true });
  return metadata;
}

const stream = (client, method, request = Buffer.alloc(0), deadline = soon()) =>
  client.makeServerStreamRequest(method, asIs, asIs, request, new grpc.Metadata(), { deadline });

async function all(replies) {
  const messages = [];
  for await (const m of replies) {
    messages.push(m);
  }
  return messages;
}

async function fails(code, words, promise) {
  let error;
  try {
    await promise;
  } catch (e) {
    error = e;
  }
  if (!error || error.code !== code || !error.details.includes(words)) {
    throw new Error(`${error ? error.message : "no error"} instead of ${code} ${words}`);
  }
  return error;
}

function expect(good, what) {
  if (!good) {
    throw new Error(what);
  }
}

const input = readline.createInterface({ input: process.stdin });
const lines = input[Symbol.asyncIterator]();

// ask has the test do something, and waits until it is done.
async function ask(what) {
  console.log("ask " + what);
  const { value } = await lines.next();
  expect(value === "yes", value);
}

// --- messages ---

function varint(n) {
  const out = [];
  for (; n > 127; n = Math.floor(n / 128)) {
    out.push((n % 128) + 128);
  }
  return Buffer.from([...out, n]);
}

const field = (number, value) => Buffer.concat([varint(number * 8 + 2), varint(value.length), Buffer.from(value)]);

const claims = (...names) => Buffer.concat(names.map((n) => field(1, Buffer.concat([
  field(1, at[n].Namespace), field(2, at[n].UID), field(3, at[n].Name)]))));

// padded is a valid request of exactly this size: the rest is an unknown field.
function padded(request, size) {
  for (let n = size - request.length; n >= 0; n--) {
    const more = field(15, Buffer.alloc(n));
    if (request.length + more.length === size) {
      return Buffer.concat([request, more]);
    }
  }
  throw new Error("no such size");
}

function readVarint(message, from) {
  let n = 0;
  let i = from;
  for (let unit = 1; ; unit *= 128) {
    n += (message[i] % 128) * unit;
    if (message[i++] < 128) {
      return [n, i];
    }
  }
}

// fields returns the values of one field of bytes; other kinds than varints and bytes are not expected.
function fields(message, number) {
  const found = [];
  for (let i = 0; i < message.length;) {
    let key, length;
    [key, i] = readVarint(message, i);
    [length, i] = readVarint(message, i);
    if (key % 8 === 2) {
      if (key >> 3 === number) {
        found.push(message.subarray(i, i + length));
      }
      i += length;
    }
  }
  return found;
}

// entry is what the reply says of one claim.
function entry(reply, name) {
  for (const e of fields(reply, 1)) {
    if (fields(e, 1)[0].toString() === at[name].UID) {
      const value = fields(e, 2)[0];
      return { devices: fields(value, 1).length, text: fields(value, 2).join("") };
    }
  }
  throw new Error(`no entry of claim ${name}`);
}

async function unprepared(request = claims("Good"), ...rest) {
  const reply = await call(service, unprepare, request, ...rest);
  expect(fields(reply, 1).length === 1 && reply.includes(at.Good.UID), `reply ${reply.toString("hex")}`);
}

const parallel = (n, run) => Promise.all([...Array(n).keys()].map(run));

// --- cases ---

// reported reads the first report of the devices' health, and has enough.
async function reported(method) {
  const call = stream(service, method);
  const reports = call[Symbol.asyncIterator]();
  const found = fields(await next(reports), 1).length;
  expect(found === devices, `${method}: ${found} devices`);
  await cancelled({ call, states: reports });
}

async function replies(sizes) {
  const messages = await all(stream(engine, "/engine/Stream", Buffer.from(sizes)));
  expect(messages.map((m) => m.length).join(" ") === sizes, `not the messages of ${sizes}`);
  messages.forEach((m, i) => expect(m.equals(Buffer.alloc(m.length, "a".charCodeAt(0) + i)), `message ${i} is damaged`));
}

// next is the next message of a stream.
const next = async (iterator) => (await iterator.next()).value;

async function told(watched, state) {
  const message = await next(watched.states);
  expect(message && message.equals(Buffer.from([8, state])), `${message} instead of state ${state}`);
}

// watchIt begins a health stream of the agent and reads its first state.
async function watchIt(client, name, state, deadline) {
  const call = stream(client, watch, field(1, name), deadline);
  const watched = { call, states: call[Symbol.asyncIterator]() };
  await told(watched, state);
  return watched;
}

async function cancelled(watched) {
  watched.call.cancel();
  await fails(grpc.status.CANCELLED, "", watched.states.next());
}

const cases = {
  async "GetInfo"() {
    const reply = await call(registration, getInfo, undefined, {}, waiting());
    expect(fields(reply, 2).join("") === at.Driver && fields(reply, 4).length > 0, `reply ${reply}`);
  },
  async "Notify"() {
    await call(registration, notify, Buffer.from([8, 1]));
  },
  async "prepare"() {
    for (let i = 0; i < 2; i++) { // the second time nothing is fetched
      const { devices, text } = entry(await call(service, prepare, claims("Good")), "Good");
      expect(devices === 1 && text === "", text);
    }
    await unprepared();
  },
  async "prepare refused"() {
    const { devices, text } = entry(await call(service, prepare, claims("Absent")), "Absent");
    expect(devices === 0 && text.includes("not found"), text);
  },
  async "health"() {
    const reply = await call(health, check, field(1, "liveness"));
    expect(reply.equals(Buffer.from([8, 1])), "not serving");
    await fails(grpc.status.NOT_FOUND, "", call(health, check, field(1, "other")));
  },
  // The agent's own health stream: each state as it comes, beside others, until the client has enough.
  async "health stream"() {
    const ready = await watchIt(health, "readiness", 1);
    const running = [ready, await watchIt(health, "other", 3), await watchIt(service, "liveness", 1)];
    for (const state of [2, 1, 2, 1]) { // the kubelet's word decides
      await call(registration, notify, Buffer.from([8, state % 2]));
      await told(ready, state);
    }
    for (let i = 0; i < 50; i++) {
      await cancelled(await watchIt(health, "", 1));
    }
    const short = await watchIt(health, "", 1, Date.now() + 200);
    await fails(grpc.status.DEADLINE_EXCEEDED, "", short.states.next());
    await fails(grpc.status.RESOURCE_EXHAUSTED, "", (async () => {
      for (;;) { // one connection has so many at most
        running.push(await watchIt(health, "", 1));
      }
    })());
    await Promise.all(running.map(cancelled));
  },
  async "resource health stream"() {
    await reported("/v1alpha1.DRAResourceHealth/NodeWatchResources");
    await reported("/v1.DRAResourceHealth/NodeWatchResources");
  },
  async "sockets"() {
    await ask("sockets");
  },
  async "cancel"() {
    const running = begin(service, prepare, claims("Slow"));
    await ask("fetching");
    running.call.cancel();
    await fails(grpc.status.CANCELLED, "", running.reply);
    await call(service, prepare);
  },
  async "deadline of the client"() {
    await fails(grpc.status.DEADLINE_EXCEEDED, "",
      call(service, prepare, claims("Slow"), { deadline: Date.now() + 300 }));
    await call(service, prepare);
  },
  // The server sees a deadline that this side does not keep.
  async "deadline of the server"() {
    const metadata = new grpc.Metadata();
    metadata.set("grpc-timeout", "300m");
    const running = begin(service, prepare, claims("Slow"), { deadline: Infinity }, metadata);
    const timer = setTimeout(() => running.call.cancel(), patience);
    await fails(grpc.status.DEADLINE_EXCEEDED, "deadline exceeded", running.reply);
    clearTimeout(timer);
  },
  async "largest message"() {
    await unprepared(padded(claims("Good"), at.MessageMax));
    await fails(grpc.status.RESOURCE_EXHAUSTED, "request message is too large",
      unprepared(padded(claims("Good"), at.MessageMax + 1)));
    await unprepared();
  },
  async "4 MiB"() {
    for (const size of [4194303, 4194304, 4194305]) {
      await fails(grpc.status.RESOURCE_EXHAUSTED, "request message is too large",
        unprepared(padded(claims("Good"), size)));
      await unprepared();
    }
  },
  async "100 calls"() {
    await parallel(100, (i) => (i % 2 ? call(service, prepare) : unprepared()));
  },
  async "compressed"() {
    const client = new grpc.Client("unix:" + at.Service, grpc.credentials.createInsecure(),
      { "grpc.default_compression_algorithm": grpc.compressionAlgorithms.gzip });
    await fails(grpc.status.UNIMPLEMENTED, "compressed messages are not supported",
      call(client, unprepare, claims("Good")));
    client.close();
    await unprepared();
  },
  async "metadata"() {
    const metadata = new grpc.Metadata();
    metadata.add("some-bin", Buffer.from([...Array(256).keys()]));
    metadata.add("some-bin", Buffer.alloc(0));
    metadata.add("some-text", 'a, b;c="d"');
    for (let i = 0; i < 3; i++) { // literal, then from the table
      await unprepared(undefined, {}, metadata);
    }
  },
  async "same sockets"() {
    await ask("same sockets");
  },
  // The restarted agent is met by the next call, which does not have to wait for anything.
  async "restart"() {
    const ready = await watchIt(health, "readiness", 1);
    await ask("restart");
    await told(ready, 2);
    await fails(grpc.status.UNAVAILABLE, "stopping", ready.states.next());
    await unprepared();
  },
  // Calls that go on while the agent is restarted: each is answered, by the old one or by the new.
  async "restart under calls"() {
    let over = false;
    const running = parallel(4, async () => {
      while (!over) {
        await unprepared(undefined, {}, waiting());
      }
    });
    running.catch(() => {});
    try {
      await ask("restart");
    } finally {
      over = true;
    }
    await running;
  },
  async "status text"() {
    for (const text of [odd, "", "plain"]) {
      const error = await fails(grpc.status.NOT_FOUND, "",
        call(engine, "/engine/Status", Buffer.from(text), {}, waiting()));
      expect(error.details === text, `${JSON.stringify(error.details)} instead of ${JSON.stringify(text)}`);
    }
  },
  async "stream"() {
    await replies("0 1 255 16384 100000 0 7");
  },
  async "4 MiB reply"() {
    await replies("4194303");
    await replies("4194304");
    await fails(grpc.status.RESOURCE_EXHAUSTED, "", replies("4194305"));
    await replies("1");
  },
  async "100 streams"() {
    await parallel(100, () => replies("1 40000 3"));
  },
  // A health service that streams: what it says at once, what changes, and the end by cancellation.
  async "watch"() {
    const before = (await call(engine, "/engine/Gone"))[0];
    const running = stream(engine, watch);
    const states = running[Symbol.asyncIterator]();
    expect((await next(states)).equals(Buffer.from([8, 1])), "not serving");
    await call(engine, "/engine/Change");
    expect((await next(states)).equals(Buffer.from([8, 2])), "no change");
    running.cancel();
    await fails(grpc.status.CANCELLED, "", states.next());
    for (const end = soon(); (await call(engine, "/engine/Gone"))[0] !== (before + 1) % 256; await sleep(10)) {
      expect(Date.now() < end, "the server did not see the cancellation");
    }
  },
  // GOAWAY again and again: what runs ends as it should, what is new finds another connection.
  async "GOAWAY"() {
    for (let i = 0; i < 5; i++) {
      const states = stream(engine, watch)[Symbol.asyncIterator]();
      await next(states);
      await parallel(20, (n) => call(engine, n === 10 ? "/engine/Drain" : "/engine/Echo"));
      await call(engine, "/engine/Finish");
      expect((await states.next()).done, "more than one state");
    }
  },
};

async function main() {
  for (const [name, run] of Object.entries(cases)) {
    try {
      await run();
      console.log("passed " + name);
    } catch (error) {
      console.log(`failed ${name}: ${JSON.stringify(error.message)}`);
    }
  }
  process.exit(0);
}

main();
