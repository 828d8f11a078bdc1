import { type Database, open } from "percolatordb";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Overview, TransactionShown } from "../../src/dashboard/api/index.js";
import { ask, pages, served, tables, titles } from "./pipeline.js";

let db: Database;

beforeEach(async () => {
  db = await open("memory:", { tables, observers: [titles], collectEveryMs: 0 });
});

afterEach(async () => {
  await db.close();
});

interface StreamEvent {
  readonly event: string;
  readonly data: unknown;
}

/** Yields the events of a stream. Ends when `signal` is aborted. */
async function watch(url: string, signal: AbortSignal) {
  const response = await fetch(new URL("api/stream", url), { signal });
  const events: StreamEvent[] = [];
  const over = (async () => {
    let rest = "";
    const decoder = new TextDecoder();
    for await (const chunk of response.body!) {
      const parts = (rest + decoder.decode(chunk, { stream: true })).split("\n\n");
      rest = parts.pop()!;
      for (const part of parts) {
        const found = /^event: (.*)\ndata: (.*)$/.exec(part);
        if (found !== null) events.push({ event: found[1]!, data: JSON.parse(found[2]!) });
      }
    }
  })().catch(() => undefined);
  const of = <T>(name: string) => events.filter(({ event }) => event === name).map(({ data }) => data as T);
  return { response, events, of, over };
}

const soon = (check: () => void) => vi.waitFor(check, { timeout: 30_000, interval: 10 });

test("sends the state every second, and the transactions that ended", async () => {
  await using dashboard = await served(db);
  const ending = new AbortController();
  const stream = await watch(dashboard.url, ending.signal);
  expect(stream.response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
  await soon(() => expect(stream.of<Overview>("overview").length).toBeGreaterThan(0));
  await db.transact((tx) => tx.set(pages.body, "a", "x"), { label: "load" });
  await soon(() => {
    const told = stream.of<TransactionShown[]>("transactions").flat();
    expect(told.map(({ label }) => label)).toContain("load");
    expect(stream.of<Overview>("overview").at(-1)?.pending.count).toBe(1);
  });
  ending.abort();
  await stream.over;
});

test("reads once for all viewers, and not at all without viewers", async () => {
  await using dashboard = await served(db);
  const looks = vi.spyOn(db, "status");
  const ending = new AbortController();
  const streams = await Promise.all([1, 2, 3, 4].map(() => watch(dashboard.url, ending.signal)));
  await soon(() => {
    for (const stream of streams) expect(stream.of("overview").length).toBeGreaterThanOrEqual(2);
  });
  const events = streams[0]!.of("overview").length;
  expect(looks.mock.calls.length).toBeLessThanOrEqual(events + 1);
  ending.abort();
  await Promise.all(streams.map(({ over }) => over));
  // The server notices a moment later that the clients have gone.
  let quietSince = -1;
  while (quietSince !== looks.mock.calls.length) {
    quietSince = looks.mock.calls.length;
    await new Promise((resolve) => setTimeout(resolve, 1_300));
  }
  looks.mockRestore();
});

test("ends with the server, and has a limit of viewers", async () => {
  const dashboard = await served(db);
  const ending = new AbortController();
  const streams = await Promise.all(Array.from({ length: 32 }, () => watch(dashboard.url, ending.signal)));
  const refused = await ask(new URL("api/stream", dashboard.url));
  expect([refused.status, JSON.parse(refused.text)]).toMatchObject([503, { code: "TOO_MANY" }]);
  await dashboard.server.close();
  await Promise.all(streams.map(({ over }) => over));
});

test("a failure of the store is reported, and the stream continues", async () => {
  await using dashboard = await served(db);
  const failing = vi.spyOn(db, "status").mockRejectedValueOnce(new Error("a secret of the store"));
  const ending = new AbortController();
  const stream = await watch(dashboard.url, ending.signal);
  await soon(() => {
    expect(stream.of("failure")).toMatchObject([{ code: "INTERNAL" }]);
    expect(stream.of("overview").length).toBeGreaterThan(0);
  });
  expect(JSON.stringify(stream.events)).not.toContain("secret");
  failing.mockRestore();
  ending.abort();
  await stream.over;
});
