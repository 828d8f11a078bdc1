import { once } from "node:events";
import { createServer, type Http2Session } from "node:http2";
import type { AddressInfo } from "node:net";
import { credentials, Metadata } from "@grpc/grpc-js";
import { afterEach, expect, it } from "vitest";
import { mutateRow } from "./rpc.js";
import { Transport } from "./transport.js";

const ended: (() => void)[] = [];

afterEach(() => {
  for (const end of ended.splice(0)) end();
});

/** Opens a connection by a request, which is not answered; what the server knows of it. */
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

it("lets megabytes come before this process has to say that it has taken them", async () => {
  const { remoteSettings, state } = await connection();
  expect(remoteSettings.initialWindowSize).toBeGreaterThanOrEqual(4 << 20);
  expect(state.remoteWindowSize).toBeGreaterThanOrEqual(4 << 20);
});
