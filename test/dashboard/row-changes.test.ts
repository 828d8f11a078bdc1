import { type Database, open } from "percolatordb";
import { liveResponse } from "percolatordb/live";
import { live } from "percolatordb/live/client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ask, pages, served, tables } from "./pipeline.js";

let db: Database;

beforeEach(async () => {
  db = await open("memory:", { tables, collectEveryMs: 0 });
});

afterEach(async () => {
  await db.close();
});

const soon = (check: () => void) => vi.waitFor(check, { timeout: 30_000, interval: 10 });
const pathOf = (row: string) => `api/row/live?table=pages&row=${encodeURIComponent(row)}`;

test("a page that follows a row hears of each of its changes, and of no others", async () => {
  await using dashboard = await served(db);
  const heard: number[] = [];
  const states: string[] = [];
  const subscription = live<number>(new URL(pathOf("a"), dashboard.url).href, {
    onValue: ({ value }) => void heard.push(value),
    onState: (state) => void states.push(state),
  });
  await soon(() => expect(heard).toHaveLength(1));
  for (let change = 1; change <= 3; change++) {
    await db.transact((tx) => tx.set(pages.body, "b", `${change}`));
    const written = await db.transact((tx) => {
      tx.set(pages.links.at("x"), "a", `${change}`);
      return tx;
    });
    await soon(() => expect(heard.at(-1)).toBeGreaterThanOrEqual(written.commitTimestamp!));
    expect(heard).toHaveLength(1 + change);
  }
  await dashboard[Symbol.asyncDispose]();
  await soon(() => expect(states.at(-1)).toBe("waiting"));
  subscription.close();
});

test("a wrong table or row is refused, and a foreign host as everywhere", async () => {
  await using dashboard = await served(db);
  const answers = await Promise.all([
    ask(new URL("api/row/live?table=none&row=a", dashboard.url)),
    ask(new URL("api/row/live?table=pages", dashboard.url)),
    ask(new URL(pathOf("a"), dashboard.url), { method: "POST" }),
    ask(new URL(pathOf("a"), dashboard.url), { headers: { host: "elsewhere.example" } }),
    ask(new URL(pathOf("a"), dashboard.url), { headers: { "last-event-id": "nonsense" } }),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([404, 400, 405, 421, 400]);
});

test("the live clients of the program take no place of a page", async () => {
  await using dashboard = await served(db);
  const ending = new AbortController();
  const { signal } = ending;
  for (let client = 0; client < 100; client++) {
    await liveResponse(
      db,
      (snapshot) => snapshot.get(pages.body, "a"),
      new Request("http://app.example", { signal }),
    );
  }
  const answer = await fetch(new URL(pathOf("a"), dashboard.url));
  expect(answer.status).toBe(200);
  await answer.body?.cancel();
  ending.abort();
});

test("HEAD takes no place of a page that follows a row", async () => {
  await using dashboard = await served(db);
  const url = new URL(pathOf("a"), dashboard.url);
  for (let times = 0; times < 100; times++) await ask(url, { method: "HEAD" });
  const answer = await fetch(url);
  expect(answer.status).toBe(200);
  await answer.body?.cancel();
});
