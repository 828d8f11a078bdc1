import { once } from "node:events";
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { type AddressInfo, connect, createServer } from "node:net";
import {
  Client,
  type ClientDuplexStream,
  type MethodDefinition,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type ServiceError,
  type sendUnaryData,
} from "@grpc/grpc-js";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Coordinators } from "../../test/support/coordinator/coordinators.js";
import { PercolatorError } from "../errors/index.js";
import { introduction } from "./security/admission.js";
import { credentialsOf } from "./security/client-credentials.js";
import { parseAddress } from "./wire/address.js";
import {
  activityReply,
  aliveReply,
  sessionReply,
  sessionRequest,
  timestampRange,
  timestampRequest,
} from "./wire/messages.js";
import { coordinatorService, healthService } from "./wire/service.js";

let all: Coordinators;

beforeEach(() => {
  all = new Coordinators();
});

afterEach(() => all.close());

/** Repeats the request if a busy machine answered it too late. */
const eventually = (check: () => Promise<void>) => vi.waitFor(check, { timeout: 60_000, interval: 10 });

const asItIs = (bytes: Buffer) => bytes;
const runs = 60;

const bytes = fc.uint8Array({ maxLength: 60 }).map((each) => Buffer.from(each));
const valid = fc.constantFrom(
  timestampRequest.encode(3),
  sessionRequest.encode({ join: { session: "s", busy: true, claims: [Buffer.from("x")] }, steps: [] }),
  sessionRequest.encode({ join: undefined, steps: [{ type: "claim", key: Buffer.from("x") }] }),
);
const answers = [
  timestampRange.encode({ first: 5, count: 1 }),
  sessionReply.encode({ epoch: "e", granted: [true] }),
  aliveReply.encode([false]),
  activityReply.encode({ epoch: "e", busyPeriods: 1, sessions: ["s"], busy: [] }),
];
const mutated = (messages: fc.Arbitrary<Buffer>) =>
  fc.tuple(messages, fc.nat(), fc.nat(255)).map(([message, place, byte]) => {
    const copy = Buffer.from(message);
    copy[place % copy.length] = byte;
    return copy;
  });
const sent = fc.array(fc.oneof(bytes, valid, mutated(valid)), { minLength: 1, maxLength: 5 });
const paths = [
  coordinatorService.timestamps,
  coordinatorService.session,
  coordinatorService.alive,
  coordinatorService.activity,
  healthService.check,
  healthService.watch,
].map(({ path }) => path);

/** Sends messages as bytes. Resolves when the stream has ended. */
async function send(client: Client, path: string, messages: readonly Buffer[]): Promise<number | undefined> {
  const stream: ClientDuplexStream<Buffer, Buffer> = client.makeBidiStreamRequest(
    path,
    asItIs,
    asItIs,
    introduction(),
    {},
  );
  const ended = new Promise<number | undefined>((resolve) => {
    stream.on("error", (error: ServiceError) => resolve(error.code));
    stream.on("end", () => resolve(undefined));
  });
  // A health watch lasts until the client stops it.
  stream.on("data", () => path === healthService.watch.path && stream.cancel());
  for (const message of messages) stream.write(message);
  stream.end();
  return await ended;
}

test("whatever bytes a coordinator receives, the stream ends and the next client is served", async () => {
  const { address } = await all.lead();
  const security = { tls: undefined, token: undefined };
  const client = new Client(`dns:${address}`, credentialsOf(security));
  const { cluster, oracle } = await all.member("witness", { addresses: [address] });
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...paths), sent, async (path, messages) => {
      await send(client, path, messages);
      await eventually(async () => expect(await cluster.alive("witness")).toBe(true));
    }),
    { numRuns: runs },
  );
  expect(await oracle.next()).toBeGreaterThan(0);
  expect(await send(client, coordinatorService.session.path, [Buffer.from([0xff])])).toBe(3);
  await eventually(async () => {
    expect((await cluster.activity())?.sessions).toEqual(new Set(["witness"]));
  });
  client.close();
});

test("a stream that does not begin with a join, or joins twice, is ended", async () => {
  const { address } = await all.lead();
  const client = new Client(`dns:${address}`, credentialsOf({ tls: undefined, token: undefined }));
  const join = sessionRequest.encode({ join: { session: "s", busy: false, claims: [] }, steps: [] });
  const step = sessionRequest.encode({ join: undefined, steps: [{ type: "busy" }] });
  expect(await send(client, coordinatorService.session.path, [step])).toBe(3);
  expect(await send(client, coordinatorService.session.path, [join, join])).toBe(3);
  expect(await send(client, coordinatorService.session.path, [join, step])).toBeUndefined();
  client.close();
});

test("a connection that is not gRPC is closed", async () => {
  const { address } = await all.lead();
  const { host, port } = parseAddress(address, "It");
  const { cluster } = all.client({ addresses: [address] });
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 500 }), async (garbage) => {
      const socket = connect({ host, port });
      socket.on("error", () => undefined);
      await once(socket, "connect");
      socket.write(garbage);
      socket.end();
      socket.resume();
      await once(socket, "close");
    }),
    { numRuns: 20 },
  );
  await eventually(async () => expect(await cluster.activity()).toBeDefined());
});

/** Calls a method with the beginning of a message whose rest never comes. Resolves to the status that ends the call. */
function begin(session: ClientHttp2Session, path: string, onClose = () => {}): Promise<string> {
  const stream = session.request({ ":method": "POST", ":path": path, "content-type": "application/grpc" });
  const beginning = Buffer.alloc(1_000);
  beginning.writeUInt32BE(8 * 2 ** 20, 1);
  stream.write(beginning);
  stream.on("error", () => undefined).on("close", onClose);
  return new Promise((resolve) => {
    const look = (headers: Readonly<Record<string, unknown>>) => {
      if (headers["grpc-status"] !== undefined) resolve(String(headers["grpc-status"]));
    };
    stream.on("response", look).on("trailers", look);
  });
}

test("a client without the token is refused before its message, and only few probes may keep theirs back", async () => {
  const { address } = await all.lead({ token: "secret" });
  const session = connectHttp2(`http://${address}`);
  const { alive, activity, timestamps, session: joining } = coordinatorService;
  for (const { path } of [alive, activity, timestamps, joining]) {
    expect(await begin(session, path)).toBe("16");
  }
  const ended: string[] = [];
  let closed = 0;
  const begun = Array.from({ length: 20 }, async (_, i) => {
    const { path } = i % 2 === 0 ? healthService.check : healthService.watch;
    ended.push(await begin(session, path, () => closed++));
  });
  await Promise.all(begun.slice(0, 4));
  const client = new Client(`dns:${address}`, credentialsOf({ tls: undefined, token: undefined }));
  const probe = healthService.check.requestSerialize({ service: "" });
  expect(await send(client, healthService.check.path, [probe])).toBeUndefined();
  const long = healthService.watch.requestSerialize({ service: "x".repeat(201) });
  expect(await send(client, healthService.watch.path, [long])).toBe(3);
  // The first of these probes has taken the place of one that waited.
  await begun[4];
  expect(ended).toEqual(Array(5).fill("8"));
  await eventually(async () => expect(closed).toBe(5));
  client.close();
  session.destroy();
});

/** A server that answers successive requests with the given byte strings. */
async function answering(replies: readonly Buffer[]): Promise<{ address: string; stop: () => void }> {
  const server = new Server();
  let next = 0;
  const reply = () => replies[next++ % replies.length]!;
  const raw = (method: MethodDefinition<never, never>) => ({
    ...method,
    requestSerialize: asItIs,
    requestDeserialize: asItIs,
    responseSerialize: asItIs,
    responseDeserialize: asItIs,
  });
  const stream = (call: ServerDuplexStream<Buffer, Buffer>) => {
    call.on("data", () => call.write(reply()));
    call.on("end", () => call.end());
    call.on("error", () => undefined);
  };
  const unary = (_: ServerUnaryCall<Buffer, Buffer>, answer: sendUnaryData<Buffer>) => answer(null, reply());
  const { timestamps, session, alive, activity } = coordinatorService as unknown as Record<
    string,
    MethodDefinition<never, never>
  >;
  server.addService(
    {
      timestamps: raw(timestamps!),
      session: raw(session!),
      alive: raw(alive!),
      activity: raw(activity!),
    },
    { timestamps: stream, session: stream, alive: unary, activity: unary },
  );
  const port = await new Promise<number>((resolve) => {
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (_, bound) => resolve(bound));
  });
  return { address: `127.0.0.1:${port}`, stop: () => server.forceShutdown() };
}

test("whatever bytes a coordinator answers with, a client gets a valid result or a named error", async () => {
  const named = (error: unknown) => expect(error).toBeInstanceOf(PercolatorError);
  const right = fc.constantFrom(...answers);
  const replies = fc.array(fc.oneof(bytes, right, mutated(right)), { minLength: 1, maxLength: 4 });
  const timestamps: unknown[] = [];
  await fc.assert(
    fc.asyncProperty(replies, async (given) => {
      const { address, stop } = await answering(given);
      const client = all.client({ addresses: [address], retryForMs: 0, attemptMs: 60_000 });
      const { oracle, cluster } = client;
      const joining = cluster.join("s").catch(named);
      const timestamp = await oracle.next().catch(named);
      if (typeof timestamp === "number") expect(Number.isSafeInteger(timestamp)).toBe(true);
      timestamps.push(timestamp);
      await Promise.resolve(oracle.latest()).catch(named);
      expect([true, false, undefined]).toContain(await cluster.alive("s"));
      await cluster.activity();
      await cluster.claim(Buffer.from("x"));
      await client.close();
      await joining;
      stop();
    }),
    { numRuns: 30, examples: answers.map((answer) => [[answer]]) },
  );
  expect(timestamps).toContain(5);
});

test("a server that takes connections and says nothing is named", async () => {
  const silent = createServer(() => undefined);
  silent.listen(0, "127.0.0.1");
  await once(silent, "listening");
  const address = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const client = all.client({ addresses: [address], attemptMs: 50, retryForMs: 0 });
  await expect(client.oracle.next()).rejects.toMatchObject({
    code: "ORACLE_UNAVAILABLE",
    message: `Asking the coordinator for timestamps at ${address} got no answer within 50 ms. Try again.`,
  });
  silent.close();
});
