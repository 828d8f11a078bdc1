import { afterEach, expect, test } from "vitest";
import { type Database, open } from "../database/index.js";
import { ConflictError } from "../errors/index.js";
import type { EventMap } from "../events/index.js";
import { observer } from "../observer/index.js";
import { family, parsePath, signal, table, text } from "../schema/index.js";

const pages = table("pages", { body: text(), title: text(), links: family(text()), look: signal() });
const titles = observer("titles", pages.body, async (tx, { row, value }) => {
  await tx.get(pages.title, row);
  tx.set(pages.title, row, value ?? "");
});

type Told = EventMap["transaction"];

let db: Database | undefined;
afterEach(async () => {
  await db?.close();
  db = undefined;
});

async function listen(options: Parameters<typeof open>[1] = {}) {
  db = await open("memory:", { tables: [pages], collectEveryMs: 0, ...options });
  const told: Told[] = [];
  const stop = db.on("transaction", (event) => told.push(event));
  return { db, told, stop };
}

const columns = (cells: Told["read"]) =>
  cells.map(({ row, column }) => `${Buffer.from(row)}/${parsePath(column).name}`);

const steps = ({ spans }: Told) => spans.filter(({ kind }) => kind === "step").map(({ name }) => name);

test("a transaction reports its reads and writes, and its steps with their times", async () => {
  const { db, told } = await listen();
  await db.transact(
    async (tx) => {
      await tx.get(pages.body, "a");
      await tx.getMany(pages.title, ["b", "c"]);
      for await (const _ of tx.entries(pages.links, "d")) throw new Error("none is there");
      tx.set(pages.body, "a", "x");
      tx.set(pages.links.at("q"), "e", "y");
    },
    { label: "load" },
  );
  const [event] = told;
  expect(event).toMatchObject({
    outcome: "committed",
    label: "load",
    phases: 1,
    reads: 4,
    cells: 2,
    hints: 0,
  });
  expect(event!.commitTimestamp).toBeGreaterThan(event!.startTimestamp);
  expect(columns(event!.read)).toEqual(["a/body", "b/title", "c/title", "d/links"]);
  expect(columns(event!.written)).toEqual(["a/body", "e/links"]);
  expect(steps(event!)).toEqual(["one-phase-commit"]);
  for (const { fromMs, toMs } of event!.spans) {
    expect(fromMs).toBeGreaterThanOrEqual(0);
    expect(toMs).toBeGreaterThanOrEqual(fromMs);
    expect(toMs).toBeLessThanOrEqual(event!.durationMs);
  }
});

test("a two-phase commit reports each step with its cell", async () => {
  const { db, told } = await listen({ commit: "two-phase" });
  await db.transact((tx) => {
    tx.set(pages.body, "a", "x");
    tx.set(pages.body, "b", "x");
  });
  const [event] = told;
  expect(event?.phases).toBe(2);
  expect(steps(event!).filter((name) => name === "prewrite").length).toBe(2);
  expect(steps(event!)).toEqual(expect.arrayContaining(["commit-timestamp", "commit-primary"]));
  const prewritten = event!.spans.flatMap(({ name, cell }) => (name === "prewrite" ? [cell!] : []));
  expect(columns(prewritten).sort()).toEqual(["a/body", "b/body"]);
});

test("scans are reported by their pages, and those of a whole table without a column", async () => {
  const { db, told } = await listen();
  await db.transact((tx) => {
    for (const row of ["a", "b", "c"]) tx.set(pages.body, row, "x");
  });
  await db.transact(async (tx) => {
    for await (const _ of tx.scan(pages.body));
    for await (const _ of tx.scan(pages));
  });
  const event = told[1]!;
  expect(columns(event.read)).toEqual(["a/body", "b/body", "c/body", "a/", "b/", "c/"]);
  expect(event.spans.map(({ name }) => name)).toEqual(["scan", "scan"]);
  expect(event).toMatchObject({ commitTimestamp: undefined, phases: undefined, outcome: "committed" });
});

test("a conflict names the cell by its bytes, and the winner", async () => {
  const { db, told } = await listen();
  const loser = await db.begin({ label: "loser" });
  await db.transact((tx) => tx.set(pages.body, "a", "x"), { label: "winner" });
  loser.set(pages.body, "a", "y");
  await expect(loser.commit()).rejects.toThrow(ConflictError);
  const [winner, lost] = told;
  expect(lost).toMatchObject({
    outcome: "conflict",
    label: "loser",
    commitTimestamp: undefined,
    error: undefined,
  });
  expect(lost?.conflict?.winnerTimestamp).toBe(winner?.commitTimestamp);
  expect(columns([lost!.conflict!.cell!])).toEqual(["a/body"]);
});

test("an abandoned transaction reports what it would have written", async () => {
  const { db, told } = await listen();
  const failure = new Error("mine");
  const failing = db.transact(
    (tx) => {
      tx.set(pages.body, "a", "x");
      throw failure;
    },
    { retries: 0 },
  );
  await expect(failing).rejects.toBe(failure);
  expect(told[0]).toMatchObject({ outcome: "rolled back", cells: 1, error: failure });
});

test("an observer's run has its cause, and no protocol record among its cells", async () => {
  const { db, told } = await listen({ observers: [titles] });
  await db.transact((tx) => tx.set(pages.body, "a", "x"));
  await db.drain();
  const [change, run] = told;
  expect(columns(change!.hinted)).toEqual(["a/body"]);
  expect(change?.hints).toBe(1);
  expect(run?.cause).toMatchObject({ observer: "titles", commitTimestamp: change?.commitTimestamp });
  expect(columns(run!.read)).toEqual(["a/body", "a/title"]);
  expect(columns(run!.written)).toEqual(["a/title"]);
  expect(run?.cells).toBe(2);
});

test("lists are limited, counts are not", async () => {
  const { db, told } = await listen();
  const rows = Array.from({ length: 300 }, (_, index) => `r${index}`);
  await db.transact(async (tx) => {
    await tx.getMany(pages.body, rows);
    for (const row of rows) tx.set(pages.body, row, "x");
  });
  const [event] = told;
  expect([event?.reads, event?.cells]).toEqual([300, 300]);
  expect([event?.read.length, event?.written.length, event?.spans.length]).toEqual([64, 64, 97]);
  expect(steps(event!)).toEqual(["one-phase-commit"]);
});

test("a transaction that began before there was a listener, or ended after it, is not reported", async () => {
  db = await open("memory:", { tables: [pages], collectEveryMs: 0 });
  const early = await db.begin();
  const told: Told[] = [];
  const stop = db.on("transaction", (event) => told.push(event));
  early.set(pages.body, "a", "x");
  await early.commit();
  expect(told).toEqual([]);
  await db.transact((tx) => tx.set(pages.body, "b", "x"));
  expect(told.length).toBe(1);
  stop();
  await db.transact((tx) => tx.set(pages.body, "c", "x"));
  expect(told.length).toBe(1);
});
