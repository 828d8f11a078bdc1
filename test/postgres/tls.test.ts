import { once } from "node:events";
import { chmod, chown, copyFile, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer, type Server } from "node:net";
import { join } from "node:path";
import { TLSSocket } from "node:tls";
import { int, observer, table, text } from "percolatordb";
import { Pool } from "pg";
import { afterEach, expect, test, vi } from "vitest";
import { serverAccount, startPostgres } from "../../examples/support/postgres-server.js";
import { MadeCertificate } from "../deploy/certificates.js";
import { certificate, key } from "../support/coordinator/certificates.js";
import { openAlone } from "../support/databases.js";

let server: Server | undefined;
let connections = 0;

afterEach(() => {
  server?.close();
});

/**
 * A server that answers the request for TLS, as PostgreSQL does, and nothing else. A silent one
 * does not even begin with TLS.
 */
async function start(answer: "yes" | "no" | "silence"): Promise<string> {
  connections = 0;
  server = createServer((socket) => {
    connections++;
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
  return `postgres://postgres@127.0.0.1:${port}/postgres?schema=tls`;
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
  expect(error).toMatchObject({ code: "STORE", retryable: false });
  expect(connections, "another attempt would not help").toBe(1);
  expect(error.message).toMatch(/does not support SSL/);
});

test("a server whose certificate another authority has signed is refused with verify-full", async () => {
  const error = await rejection(`${await start("yes")}&sslmode=verify-full`);
  expect(error).toMatchObject({ code: "STORE", retryable: false });
  expect(connections, "another attempt would not help").toBe(1);
  expect(error.message).toMatch(
    /certificate.*Check the server's certificate, and `sslmode` and `sslrootcert`/,
  );
});

test("a server that accepts TLS and then says nothing is refused at the deadline, and its connection ends", async () => {
  const location = `${await start("silence")}&sslmode=require&deadlineMs=300`;
  const ended = new Promise<void>((resolve) => {
    server!.on("connection", (socket) => socket.on("close", () => resolve()));
  });
  const error = await rejection(location);
  expect(error).toMatchObject({ code: "STORE", retryable: true });
  expect(error.message).toMatch(/did not answer in time/);
  await ended;
});

/** A port that was free a moment ago. */
async function freePort(): Promise<number> {
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  const { port } = taken.address() as AddressInfo;
  taken.close();
  await once(taken, "close");
  return port;
}

const documents = table("documents", { contents: text(), length: int() });
const measure = observer("measure", documents.contents, (tx, { row, value }) =>
  tx.set(documents.length, row, value?.length ?? 0),
);

test("on a server that demands TLS, every connection is encrypted", async () => {
  const port = await freePort();
  const made = new MadeCertificate(["localhost"]);
  const settings = ["fsync=off", "shared_buffers=32MB", `port=${port}`, "listen_addresses=127.0.0.1"];
  const server = await startPostgres({ settings });
  const admin = new Pool({ host: server.host, port, user: "postgres", database: "postgres", max: 1 });
  try {
    const data = join(server.host, "data");
    const account = await serverAccount();
    for (const [from, name] of [
      [made.certFile, "server.crt"],
      [made.keyFile, "server.key"],
    ] as const) {
      await copyFile(from, join(data, name));
      await chmod(join(data, name), 0o600);
      if (account !== undefined) await chown(join(data, name), account.uid, account.gid);
    }
    const rules = join(data, "pg_hba.conf");
    await writeFile(rules, "local all all trust\nhostssl all all 127.0.0.1/32 trust\n");
    await admin.query("alter system set ssl = on");
    await admin.query("select pg_reload_conf()");
    const place = `postgres://postgres@localhost:${port}/postgres?schema=tls&deadlineMs=20000`;
    const trusting = `${place}&sslmode=verify-full&sslrootcert=${made.certFile}`;
    await using db = await openAlone(trusting, { tables: [documents], observers: [measure] });
    await using other = await openAlone(trusting, { tables: [documents], observers: [measure] });
    await using _ = db.work();
    await other.transact((tx) => tx.set(documents.contents, "a", "four"));
    await vi.waitFor(
      async () => expect(await other.transact((tx) => tx.get(documents.length, "a"))).toBe(4),
      { timeout: 60_000, interval: 20 },
    );
    const { rows } = await admin.query<{ ssl: boolean }>(
      "select s.ssl from pg_stat_ssl s join pg_stat_activity a using (pid) where a.client_addr is not null",
    );
    // Two stores, and a worker that listens.
    expect(rows.length).toBeGreaterThan(2);
    expect(rows.filter(({ ssl }) => !ssl)).toEqual([]);
    expect((await rejection(`${place}&sslmode=disable`)).message).toMatch(
      /no pg_hba\.conf entry .*no encryption/,
    );
    // An authority that the client does not know.
    expect((await rejection(`${place}&sslmode=verify-full`)).message).toMatch(/certificate/);
    // The name is not that of the certificate.
    const elsewhere = trusting.replace("@localhost", "@127.0.0.1");
    expect((await rejection(elsewhere)).message).toMatch(/altnames|Hostname/);
  } finally {
    await admin.end();
    await server.stop();
    made.remove();
  }
});
