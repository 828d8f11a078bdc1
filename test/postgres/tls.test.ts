import { once } from "node:events";
import { type AddressInfo, createServer, type Server } from "node:net";
import { TLSSocket } from "node:tls";
import { afterEach, expect, test } from "vitest";
import { certificate, key } from "../support/coordinator/certificates.js";
import { openAlone } from "../support/databases.js";

let server: Server | undefined;

afterEach(() => {
  server?.close();
});

/**
 * A server that answers the request for TLS, as PostgreSQL does, and nothing else. A silent one
 * does not even begin with TLS.
 */
async function start(answer: "yes" | "no" | "silence"): Promise<string> {
  server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => {
      socket.write(answer === "no" ? "N" : "S");
      if (answer === "yes")
        new TLSSocket(socket, { isServer: true, cert: certificate, key }).on("error", () => undefined);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return `postgres://postgres@127.0.0.1:${port}/postgres?schema=tls&deadlineMs=300`;
}

async function rejection(location: string): Promise<Error & { readonly code?: string }> {
  return await openAlone(location).then(
    () => {
      throw new Error("It was opened.");
    },
    (error: Error) => error,
  );
}

test("a server without TLS is refused if the location requires TLS", async () => {
  const error = await rejection(`${await start("no")}&sslmode=require`);
  expect(error).toMatchObject({ code: "STORE" });
  expect(error.message).toMatch(/does not support SSL/);
});

test("a server whose certificate another authority has signed is refused with verify-full", async () => {
  const error = await rejection(`${await start("yes")}&sslmode=verify-full`);
  expect(error).toMatchObject({ code: "STORE" });
  expect(error.message).toMatch(/certificate/);
});

test("a server that accepts TLS and then says nothing is refused at the deadline, and its connection ends", async () => {
  const location = `${await start("silence")}&sslmode=require`;
  const ended = new Promise<void>((resolve) => {
    server!.on("connection", (socket) => socket.on("close", () => resolve()));
  });
  const error = await rejection(location);
  expect(error).toMatchObject({ code: "STORE", retryable: true });
  expect(error.message).toMatch(/did not answer in time/);
  await ended;
});
