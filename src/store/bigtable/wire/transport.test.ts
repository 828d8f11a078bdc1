import { once } from "node:events";
import { createServer, type Http2Session } from "node:http2";
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net";
import { Client, credentials, Metadata, status } from "@grpc/grpc-js";
import { afterEach, expect, it, vi } from "vitest";
import { mutateRow } from "./rpc.js";
import { Transport } from "./transport.js";

const ended: (() => void)[] = [];

afterEach(() => {
  for (const end of ended.splice(0)) end();
});

/** Opens a connection by a request that is not answered. Returns the server's session. */
async function connection(): Promise<Http2Session> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const transport = new Transport({ address, credentials: credentials.createInsecure(), connections: 1 });
  const request = { tableName: "t", rowKey: Buffer.from("r"), mutations: [] };
  const arrived = new Promise<Http2Session>((resolve) =>
    server.once("stream", (stream) => resolve(stream.session!)),
  );
  transport.ask(mutateRow, request, { metadata: new Metadata(), deadlineMs: 60_000 }, () => undefined);
  const session = await arrived;
  ended.push(() => {
    transport.close();
    session.destroy();
    server.close();
  });
  return session;
}

it("has flow-control windows of megabytes", async () => {
  const { remoteSettings, state } = await connection();
  expect(remoteSettings.initialWindowSize).toBeGreaterThanOrEqual(4 << 20);
  expect(state.remoteWindowSize).toBeGreaterThanOrEqual(4 << 20);
});

/**
 * A server that accepts connections and first sends nothing on them. Later it answers each call.
 */
async function silentServer() {
  const sockets = new Set<Socket>();
  const http = createServer();
  http.on("stream", (stream) => {
    stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    stream.end(Buffer.alloc(5));
  });
  const server = createTcpServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  ended.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
    http.close();
  });
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    connections: () => sockets.size,
    speak() {
      server.removeAllListeners("connection").on("connection", (socket) => http.emit("connection", socket));
      for (const socket of sockets) http.emit("connection", socket);
    },
  };
}

it("answers calls that wait on a connection even if another one has replaced it", async () => {
  const server = await silentServer();
  const { address } = server;
  const transport = new Transport({ address, credentials: credentials.createInsecure(), connections: 1 });
  ended.push(() => transport.close());
  const request = { tableName: "t", rowKey: Buffer.from("r"), mutations: [] };
  const call = (deadlineMs: number) =>
    transport.unary(mutateRow, request, { metadata: new Metadata(), deadlineMs });
  const patient = call(60_000);
  // After two deadlines without an answer in between, the connection counts as dead, and the next
  // call opens another one.
  await expect(call(50)).rejects.toMatchObject({ code: status.DEADLINE_EXCEEDED });
  await expect(call(50)).rejects.toMatchObject({ code: status.DEADLINE_EXCEEDED });
  const later = call(60_000);
  while (server.connections() < 2) await new Promise((resolve) => setImmediate(resolve));
  server.speak();
  expect(await Promise.all([patient, later])).toEqual([{}, {}]);
});

it("closes a replaced connection when its last call has ended", async () => {
  const server = await silentServer();
  const { address } = server;
  const transport = new Transport({ address, credentials: credentials.createInsecure(), connections: 1 });
  ended.push(() => transport.close());
  const request = { tableName: "t", rowKey: Buffer.from("r"), mutations: [] };
  const closed = vi.spyOn(Client.prototype, "close");
  ended.push(() => closed.mockRestore());
  const call = (deadlineMs: number) =>
    transport.unary(mutateRow, request, { metadata: new Metadata(), deadlineMs });
  const patient = call(60_000);
  for (const _ of [1, 2]) await expect(call(50)).rejects.toThrow();
  expect(closed).toHaveBeenCalledTimes(0);
  server.speak();
  await patient;
  expect(closed).toHaveBeenCalledTimes(1);
});
