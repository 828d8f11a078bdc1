// The runtime's own server, and its own `fetch`.
import { open } from "percolatordb";
import { liveQuery, liveResponse, toNode } from "percolatordb/live";
import { live } from "percolatordb/live/client";
import { documents, measure, same } from "./app.mjs";

const db = await open("memory:", { observers: [measure] });
const query = liveQuery((snapshot) => snapshot.get(documents.length, "a"));
const answer = (request) => liveResponse(db, query, request);

async function serve() {
  if (globalThis.Bun !== undefined) {
    const server = Bun.serve({ port: 0, hostname: "127.0.0.1", idleTimeout: 0, fetch: answer });
    return { port: server.port, stop: () => server.stop(true) };
  }
  if (globalThis.Deno !== undefined) {
    const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, answer);
    return { port: server.addr.port, stop: () => server.shutdown() };
  }
  const { createServer } = await import("node:http");
  const server = createServer(toNode(answer));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { port: server.address().port, stop: () => server.close() };
}

const { port, stop } = await serve();
const working = db.work();
const seen = [];
for await (const { value } of live(`http://127.0.0.1:${port}/`)) {
  seen.push(value ?? null);
  if (value === 4) break;
  if (seen.length === 1) await db.transact((tx) => tx.set(documents.body, "a", "abcd"));
}
same([seen[0], seen.at(-1)], [null, 4]);
await working.stop();
await db.close();
stop();
