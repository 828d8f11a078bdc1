import { once } from "node:events";
import { type AddressInfo, createServer, type Server } from "node:net";
import { TLSSocket } from "node:tls";
import { open } from "percolatordb";
import { afterEach, expect, test } from "vitest";
import { certificate, key } from "../support/coordinator/certificates.js";

let server: Server | undefined;

afterEach(() => {
  server?.close();
});

/** A server that answers the request for TLS, as PostgreSQL does, and nothing else. */
async function start(hasTls: boolean): Promise<string> {
  server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => {
      socket.write(hasTls ? "S" : "N");
      if (hasTls)
        new TLSSocket(socket, { isServer: true, cert: certificate, key }).on("error", () => undefined);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return `postgres://postgres@127.0.0.1:${port}/postgres?schema=tls&deadlineMs=300`;
}

async function rejection(location: string): Promise<Error & { readonly code?: string }> {
  return await open(location).then(
    () => {
      throw new Error("It was opened.");
    },
    (error: Error) => error,
  );
}

test("a server without TLS is refused if the location requires TLS", async () => {
  const error = await rejection(`${await start(false)}&sslmode=require`);
  expect(error).toMatchObject({ code: "STORE" });
  expect(error.message).toMatch(/does not support SSL/);
});

test("a server whose certificate another authority has signed is refused with verify-full", async () => {
  const error = await rejection(`${await start(true)}&sslmode=verify-full`);
  expect(error).toMatchObject({ code: "STORE" });
  expect(error.message).toMatch(/certificate/);
});
