import { type Database, open, type SnapshotOptions, type WorkOptions } from "percolatordb";
import { afterEach, beforeEach, expect, it } from "vitest";
import { collectGarbage } from "../../test/support/garbage.js";
import { loadSource } from "./load/loader.js";
import { observers } from "./observers/index.js";
import { search } from "./search/search.js";
import { SearchView } from "./search/view.js";
import { shards, tables } from "./tables.js";
import { crawlSource, page } from "./testing/site.js";
import { IndexWork } from "./work.js";

const [a, b] = ["https://example.org/a", "https://example.org/b"];
const site = crawlSource({ [a]: page("A", "walrus", { [b]: "otter" }), [b]: page("B", "badger") });

let db: Database;
let work: IndexWork;
const errors: unknown[] = [];
const options = { concurrency: 8, onError: (error: unknown) => errors.push(error) };

beforeEach(async () => {
  db = await open("memory:", { tables, observers });
  work = new IndexWork(db, options);
});

afterEach(async () => {
  await work.stop();
  await db.close();
  expect(errors.splice(0)).toEqual([]);
});

async function find(query: string): Promise<string[]> {
  await using view = await db.snapshot();
  return (await search(await SearchView.read(view), query)).results.map(({ url }) => url);
}

async function isMerged(): Promise<boolean> {
  await using view = await db.snapshot();
  for await (const _ of view.scan(shards.waiting)) return false;
  for await (const _ of view.scan(shards.statistics)) return true;
  return false;
}

/** A database whose `pending` first waits for `before`. */
function pendingAfter(before: () => Promise<void>): Database {
  const pending = async function* (options: Parameters<Database["pending"]>[0]) {
    await before();
    yield* db.pending(options);
  };
  const wrapped = {
    work: (options: WorkOptions) => db.work(options),
    snapshot: (options: SnapshotOptions) => db.snapshot(options),
    pending,
  };
  return wrapped as unknown as Database;
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 5));
}

it("handles links and merges without being asked", async () => {
  await loadSource(db, site);
  await until(isMerged);
  await until(async () => (await find("otter")).includes(b));
  await work.idle();
  expect(await find("otter")).toEqual([b, a]);
});

it("finishes everything if one or several callers wait for it", async () => {
  await loadSource(db, site);
  await Promise.all([work.idle(), work.idle()]);
  expect(await isMerged()).toBe(true);
  const due = [];
  for await (const each of db.pending()) due.push(each);
  expect(due).toEqual([]);
  await loadSource(db, crawlSource({ [a]: page("A", "weasel") }));
  await work.idle();
  expect(await isMerged()).toBe(true);
  expect(await find("weasel")).toEqual([a]);
  expect(await find("otter")).toEqual([]);
});

it("stops during a rest, and leaves due work to the next process", async () => {
  await loadSource(db, site);
  await work.stop();
  work = new IndexWork(db, options);
  await work.idle();
  expect(await find("otter")).toEqual([b, a]);
});

it("a wait can be aborted", async () => {
  await loadSource(db, site);
  await expect(work.idle({ signal: AbortSignal.abort(new Error("enough")) })).rejects.toThrow();
  await work.idle();
  expect(await isMerged()).toBe(true);
});

it("ends a round in time, however much work there is", async () => {
  await work.stop();
  await loadSource(db, site);
  const ended = new Promise<void>((resolve) => {
    const neverIdle = {
      idle: ({ signal }: { signal: AbortSignal }) =>
        new Promise<void>((_, reject) => {
          setTimeout(collectGarbage);
          signal.addEventListener("abort", () => {
            resolve();
            reject(signal.reason);
          });
        }),
      [Symbol.asyncDispose]: async () => {},
    };
    const wrapped = {
      work: (options: WorkOptions) => (options.observers?.length === 1 ? neverIdle : db.work(options)),
      snapshot: (options: SnapshotOptions) => db.snapshot(options),
      pending: (options: Parameters<Database["pending"]>[0]) => db.pending(options),
    };
    work = new IndexWork(wrapped as unknown as Database, options);
  });
  await ended;
});

it("reports why a round failed, and continues with the next", async () => {
  await work.stop();
  await loadSource(db, site);
  const failure = new Error("no store");
  let failed = false;
  const failing = pendingAfter(async () => {
    if (failed) return;
    failed = true;
    throw failure;
  });
  work = new IndexWork(failing, options);
  await until(async () => errors.length > 0);
  await loadSource(db, crawlSource({ [a]: page("A", "walrus", { [b]: "beaver" }) }));
  await until(async () => (await find("beaver")).includes(b));
  expect(errors.splice(0)).toEqual([failure]);
});

it("does not report failures during a stop", async () => {
  await work.stop();
  let fail: ((error: unknown) => void) | undefined;
  const asked = new Promise<void>((resolve) => {
    const failing = pendingAfter(() => {
      resolve();
      return new Promise<void>((_, reject) => {
        fail = reject;
      });
    });
    work = new IndexWork(failing, options);
  });
  await asked;
  const stopped = work.stop();
  fail!(new Error("closed"));
  await stopped;
  expect(errors).toEqual([]);
});
