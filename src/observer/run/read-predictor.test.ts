import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openTest, type TestDatabase } from "../../../test/support/observer/context.js";
import { Metrics, type MetricsSnapshot } from "../../events/index.js";
import type { Oracle } from "../../oracle/index.js";
import { int, table, text } from "../../schema/index.js";
import type { RowRead, RowStore } from "../../store/index.js";
import { memoryStore } from "../../store/memory/index.js";
import type { Transaction } from "../../transaction/index.js";
import { batchObserver, observer } from "../index.js";

const pages = table("pages", {
  body: text(),
  contents: text(),
  title: text(),
  words: int(),
  large: text(),
});
const sites = table("sites", { name: text(), owner: text(), visits: int() });

/** What the observer reads in addition to its change. Each test sets it. */
let reads: (tx: Transaction, row: string) => Promise<unknown>;

const index = observer(
  "index",
  pages.contents,
  async (tx, { row }) => {
    await reads(tx, row);
    tx.set(sites.visits, "all", 1);
  },
  // A failed run is not repeated during a test.
  { backoff: { initialMs: 3_600_000, maximumMs: 3_600_000 } },
);

const batched = batchObserver("batched", pages.body, (tx, changes) =>
  Promise.all(changes.map(({ row }) => Promise.all([tx.get(pages.title, row), tx.get(pages.words, row)]))),
);

let db: TestDatabase;
let metrics: Metrics;
let asked: RowRead[];

beforeEach(async () => {
  const store = memoryStore({ atomicBatches: false, inlineBytes: 1_000_000 });
  asked = [];
  const readRow: RowStore["readRow"] = (read) => {
    asked.push(read);
    return Promise.resolve(store.readRow(read));
  };
  let last = 0;
  const oracle: Oracle = { next: async () => ++last, latest: () => last };
  const distant = new Proxy(store, {
    get: (target, name) => {
      if (name === "readRow") return readRow;
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  db = await openTest({
    store: distant,
    oracle,
    commit: "two-phase",
    observers: [index, batched],
    tables: [pages, sites],
  });
  metrics = new Metrics(db.context.events);
  reads = async () => {};
});

afterEach(() => db.close());

/** Runs the due changes, and leaves those that failed. */
async function lookOnce({ pool }: TestDatabase): Promise<void> {
  const worker = pool.work({ concurrency: 1 });
  await worker.scan();
  await pool.board.whenOnlyDelayed();
  await worker.stop();
}

/** Runs the observer on a page. Returns the columns of each request for a row of a table. */
async function run(row: string, of = "pages"): Promise<string[]> {
  return runAfter((tx) => tx.set(pages.contents, row, `contents of ${row}`), of);
}

async function runAfter(write: (tx: Transaction) => void, of = "pages"): Promise<string[]> {
  await db.transact(write);
  await db.context.background.settled();
  asked.length = 0;
  const { completed } = db.pool.board;
  await lookOnce(db);
  expect(db.pool.board.completed).toBe(completed + 1);
  await db.context.background.settled();
  return asked
    .filter(({ table: name }) => name === of)
    .map(({ columns }) =>
      columns
        .map((column) => `${Buffer.from("exact" in column ? column.exact : column.start)}`)
        .filter((column) => !column.startsWith("~"))
        .join(" "),
    );
}

function prefetched(): MetricsSnapshot["observers"][string]["prefetch"] {
  return metrics.snapshot().observers.index!.prefetch;
}

describe("a run of an observer", () => {
  test("prefetches the columns of its row that the previous run read, in its first request", async () => {
    reads = (tx, row) => Promise.all([tx.get(pages.title, row), tx.get(pages.words, row)]);
    expect(await run("a")).toEqual(["contents", "title", "words"]);
    expect(prefetched()).toEqual({ hits: 0, misses: 2, wasted: 0 });
    expect(await run("b")).toEqual(["contents title words"]);
    expect(prefetched()).toEqual({ hits: 2, misses: 2, wasted: 0 });
  });

  test("of several changes prefetches the columns of each row", async () => {
    const runOf = (rows: readonly string[]) =>
      runAfter((tx) => {
        for (const row of rows) tx.set(pages.body, row, "x");
      });
    expect((await runOf(["a", "b", "c"])).sort()).toEqual(
      ["body", "title", "words"].flatMap((name) => [name, name, name]),
    );
    expect(await runOf(["d", "e", "f"])).toEqual(Array(3).fill("body title words"));
  });

  test("reads the same values as without prefetching", async () => {
    await db.transact((tx) => {
      for (const row of ["a", "b"]) tx.set(pages.title, row, `title of ${row}`);
    });
    const titles: unknown[] = [];
    reads = async (tx, row) => titles.push(await tx.get(pages.title, row));
    await run("a");
    await run("b");
    expect(titles).toEqual(["title of a", "title of b"]);
    expect(prefetched().hits).toBe(1);
  });

  test("no longer prefetches what the last four runs did not read, and counts it as wasted until then", async () => {
    reads = (tx, row) => tx.get(pages.title, row);
    for (let round = 0; round < 20; round++) await run(`a${round}`);
    reads = (tx, row) => tx.get(pages.words, row);
    const requests: string[] = [];
    for (let round = 0; round < 5; round++) requests.push((await run(`b${round}`))[0]!);
    expect(requests).toEqual([
      "contents title",
      "contents title",
      "contents title",
      "contents title",
      "contents words",
    ]);
    expect(prefetched().wasted).toBe(4);
  });

  test("prefetches columns of other rows that were read together, whichever comes first", async () => {
    reads = async (tx, row) => {
      await tx.get(sites.name, `site of ${row}`);
      await tx.get(sites.owner, `site of ${row}`);
    };
    expect(await run("a", "sites")).toEqual(["name", "owner"]);
    expect(await run("b", "sites")).toEqual(["name owner"]);
    reads = (tx, row) => tx.get(sites.owner, `site of ${row}`);
    expect(await run("c", "sites")).toEqual(["name owner"]);
  });

  test("prefetches nothing of rows of which it reads one column", async () => {
    const columns = [sites.name, sites.owner] as const;
    for (let round = 0; round < 6; round++) {
      reads = (tx) => tx.getMany(columns[round % 2]!, ["x", "y", "z"]);
      expect(await run(`a${round}`, "sites")).toHaveLength(3);
    }
    expect(prefetched()).toEqual({ hits: 0, misses: 0, wasted: 0 });
  });

  test("prefetches at most 256 KiB, by the size of the cells", async () => {
    await db.transact((tx) => {
      for (const row of ["a", "b"]) {
        tx.set(pages.large, row, "x".repeat(300_000));
        tx.set(pages.title, row, "title");
      }
    });
    reads = (tx, row) => Promise.all([tx.get(pages.large, row), tx.get(pages.title, row)]);
    await run("a");
    expect(await run("b")).toEqual(["contents title", "large"]);
  });

  test("learns nothing from a failed run", async () => {
    reads = async (tx, row) => {
      await tx.get(pages.title, row);
      throw new Error("no");
    };
    await run("a");
    reads = async () => {};
    expect(await run("b")).toEqual(["contents"]);
  });
});

test("a run on a store in this process prefetches nothing", async () => {
  const near = await openTest({ observers: [index], tables: [pages, sites] });
  const counted = new Metrics(near.context.events);
  reads = (tx, row) => tx.get(pages.title, row);
  for (const row of ["a", "b"]) {
    await near.transact((tx) => tx.set(pages.contents, row, "x"));
    await lookOnce(near);
  }
  expect(counted.snapshot().observers.index!.prefetch).toEqual({ hits: 0, misses: 0, wasted: 0 });
  await near.close();
});
