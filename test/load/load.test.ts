import { type Database, LoadError, loadPart, observer, type Snapshot, table, text } from "percolatordb";
import { describe, expect, test } from "vitest";
import { engines, withDatabase } from "../support/databases.js";
import { patienceMs, pause } from "../support/waiting.js";
import { contentsOf, crawl, documents, observersOf, partsOf, type Site, sortedAfter, tables } from "./app.js";

const site: Site = new Map(
  Array.from({ length: 30 }, (_, index) => [
    `https://site/${index}`,
    {
      contents: `page ${index % 7}${index % 10 === 3 ? " long".repeat(200) : ""}`,
      links: { [`https://site/${(index * 7) % 30}`]: `anchor ${index}`, elsewhere: "x" },
    },
  ]),
);

/** The site with long pages. Several of them fill a batch. */
const longSite: Site = new Map(
  [...site].map(([url, { contents, links }]) => [url, { contents: contents.padEnd(60_000, "."), links }]),
);

/** Parts of the long site whose first source stops after `count` rows, until `go` is called. */
function paused(count: number) {
  let go!: () => void;
  let reached!: () => void;
  const mayGo = new Promise<void>((resolve) => (go = resolve));
  const isReached = new Promise<void>((resolve) => (reached = resolve));
  const [first, ...rest] = partsOf(longSite);
  const rows = first!.rows;
  const stopping = loadPart(documents, async function* (after) {
    let left = count;
    for await (const row of rows(after) as Iterable<never>) {
      if (left-- === 0) {
        reached();
        await mayGo;
      }
      yield row;
    }
  });
  return { parts: [stopping, ...rest], go, isReached };
}

async function countRows(view: Pick<Snapshot, "scan">): Promise<number> {
  let count = 0;
  for await (const _ of view.scan(documents)) count++;
  return count;
}

/** Resolves when the store has the first batch of a load of the long site. */
async function firstStored(db: Database, row = "https://site/0"): Promise<void> {
  const end = performance.now() + patienceMs;
  while ((await db.inspect(documents, row)).length === 0) {
    expect(performance.now()).toBeLessThan(end);
    await pause(2);
  }
}

async function fail(run: Promise<unknown>): Promise<Error> {
  return run.then(
    () => new Error("it did not fail"),
    (error) => error as Error,
  );
}

describe.each(engines)("$store, commit $commit", (variant) => {
  const withApp = (use: (db: Database, runs: { count: number }) => Promise<void>) => {
    const runs = { count: 0 };
    const observers = observersOf(runs);
    return withDatabase(variant, { tables, observers }, (db) => use(db, runs));
  };

  test("a load makes what transactions and observers make, and leaves nothing due", async () => {
    let expected: unknown;
    await withApp(async (db) => {
      await crawl(db, site);
      await db.drain();
      expected = await contentsOf(db);
    });
    await withApp(async (db, runs) => {
      const report = await db.load("first", partsOf(site));
      expect(report).toMatchObject({ published: true, rows: 71 });
      expect(await contentsOf(db)).toEqual(expected);
      for await (const due of db.pending()) expect.unreachable(JSON.stringify(due));
      await db.drain();
      expect(runs.count).toBe(0);
      expect(await db.check()).toEqual([]);
      expect((await db.load("first", partsOf(site))).published).toBe(false);
      expect(await db.loads()).toMatchObject([{ name: "first", state: "published", rows: report.rows }]);
    });
  });

  test("observers take over: later changes see the loaded values as previous ones", async () => {
    const next = new Map(site);
    next.delete("https://site/3");
    next.set("https://site/4", { contents: "changed", links: {} });
    let expected: unknown;
    await withApp(async (db) => {
      await crawl(db, next);
      await db.drain();
      expected = await contentsOf(db);
    });
    await withApp(async (db, runs) => {
      await db.load("first", partsOf(site));
      await crawl(db, next, site);
      await db.drain();
      expect(runs.count).toBeGreaterThan(0);
      expect(await contentsOf(db)).toEqual(expected);
      expect(await db.check()).toEqual([]);
    });
  });

  test("nobody sees a row or writes one before all are stored", async () => {
    await withApp(async (db) => {
      const { parts, go, isReached } = paused(20);
      const before = await db.snapshot();
      const loading = db.load("first", parts);
      await isReached;
      await firstStored(db);
      const during = await db.snapshot();
      const open = await db.begin();
      const serializable = await db.begin({ isolation: "serializable" });
      expect(await serializable.get(documents.contents, "https://site/0")).toBeUndefined();
      serializable.set(table("other", { value: text() }).value, "a", "b");
      expect(await countRows(during)).toBe(0);
      const refused = await fail(db.transact((tx) => tx.set(documents.contents, "https://site/0", "mine")));
      expect(refused).toBeInstanceOf(LoadError);
      expect(refused.message).toContain('row "https://site/0" of "documents"');
      expect(await db.check()).toEqual([]);
      expect(await db.history(documents.contents, "https://site/0")).toEqual([]);
      go();
      await loading;
      expect(await countRows(during)).toBe(0);
      expect(await during.get(documents.contents, "https://site/0")).toBeUndefined();
      expect(await open.get(documents.contents, "https://site/0")).toBeUndefined();
      open.set(documents.contents, "https://site/0", "mine");
      expect(await fail(open.commit())).toMatchObject({ code: "CONFLICT" });
      expect(await fail(serializable.commit())).toMatchObject({ code: "CONFLICT" });
      await using after = await db.snapshot();
      expect(await countRows(after)).toBe(30);
      const [entry] = await db.history(documents.contents, "https://site/0");
      await using at = await db.snapshot({ at: entry!.commitTimestamp });
      expect(await countRows(at)).toBe(30);
      await using justBefore = await db.snapshot({ at: entry!.commitTimestamp - 1 });
      expect(await countRows(justBefore)).toBe(0);
      before.close();
      during.close();
    });
  });

  test("an observer that writes into the range waits for the load, and is not parked", async () => {
    const notes = table("notes", { text: text() });
    const copy = observer(
      "copy",
      notes.text,
      (tx, { row, value }) => tx.set(documents.contents, row, value ?? ""),
      { attempts: 1 },
    );
    const observers = [...observersOf({ count: 0 }), copy];
    await withDatabase(variant, { tables: [...tables, notes], observers }, async (db) => {
      const { parts, go, isReached } = paused(20);
      const loading = db.load("first", parts);
      await isReached;
      await firstStored(db);
      const failed = new Promise<unknown>((resolve) => {
        db.on("run", ({ outcome, error }) => outcome === "failed" && resolve(error));
      });
      await db.transact((tx) => tx.set(notes.text, "https://site/note", "noted"));
      await using _worker = db.work();
      expect(await failed).toBeInstanceOf(LoadError);
      go();
      await loading;
      await db.drain();
      for await (const parked of db.parked()) expect.unreachable(parked.error.message);
      await using after = await db.snapshot();
      expect(await after.get(documents.contents, "https://site/note")).toBe("noted");
    });
  });

  test.each(["aborted", "failed"])("a load that was %s continues after its last stored row", async (how) => {
    await withApp(async (db) => {
      const stop = new AbortController();
      const [first, ...rest] = partsOf(longSite);
      let count = 0;
      let waited = false;
      const stopping = loadPart(documents, async function* (after) {
        for await (const row of first!.rows(after) as Iterable<never>) {
          if (count++ === 20) {
            await firstStored(db);
            waited = true;
            if (how === "failed") throw new RangeError("the source failed");
            stop.abort();
          }
          yield row;
        }
      });
      const error = await fail(db.load("first", [stopping, ...rest], { signal: stop.signal }));
      expect(waited).toBe(true);
      if (how === "failed") expect(error).toBeInstanceOf(RangeError);
      else expect(error).toMatchObject({ code: "ABORTED" });
      const [left] = await db.loads();
      expect(left).toMatchObject({ state: "loading", publishedAt: undefined });
      expect(left!.rows).toBeGreaterThan(0);

      // The source is asked only for the rows after those, which need not be what it would have returned.
      const asked: (string | undefined)[] = [];
      const fewer = new Map([...longSite].filter(([url]) => url <= "https://site/0" || !url.endsWith("7")));
      const stored = sortedAfter(longSite, undefined).slice(0, left!.rows);
      const [next, ...others] = partsOf(fewer);
      const continuing = loadPart(documents, (after) => {
        asked.push(after);
        return next!.rows(after) as Iterable<never>;
      });
      await db.load("first", [continuing, ...others]);
      expect(asked).toEqual([stored.at(-1)![0]]);
      const whole = new Map([...stored, ...sortedAfter(fewer, stored.at(-1)![0])]);
      const loaded = (await contentsOf(db)) as { documents: [string, unknown][] };
      expect(loaded.documents.map(([row]) => row)).toEqual([...whole.keys()]);
      await db.drain();
      expect(await db.check()).toEqual([]);
    });
  });

  test("a load whose rows came out of order after some were stored must be discarded", async () => {
    await withApp(async (db) => {
      const [first, ...rest] = partsOf(longSite);
      const disordered = loadPart(documents, async function* (after) {
        const rows = [...(first!.rows(after) as Iterable<never>)];
        yield* rows.slice(1, 20);
        await firstStored(db, "https://site/1");
        yield rows[0]!;
      });
      const error = await fail(db.load("first", [disordered, ...rest]));
      expect(error.message).toMatch(/"documents".*ascending key order/);
      expect((await db.loads())[0]!.rows).toBeGreaterThan(0);
      const refused = await fail(db.load("first", partsOf(longSite)));
      expect(refused).toBeInstanceOf(LoadError);
      expect(refused.message).toContain("came out of order");
      await db.discardLoad("first");
      await db.load("first", partsOf(longSite));
      await using snapshot = await db.snapshot();
      expect(await countRows(snapshot)).toBe(longSite.size);
    });
  });

  test("a discarded load leaves nothing", async () => {
    await withApp(async (db) => {
      const rows = [
        { row: "a", value: { contents: "1" } },
        { row: "c", value: { contents: "2" } },
        { row: "b", value: { contents: "3" } },
      ];
      const error = await fail(db.load("first", [loadPart(documents, () => rows)]));
      expect(error).toMatchObject({ code: "INVALID_KEY" });
      expect(error.message).toMatch(/"documents".*"b" came after row "c"/);
      expect(await fail(db.transact((tx) => tx.set(documents.contents, "z", "1")))).toBeInstanceOf(LoadError);
      await db.discardLoad("first");
      expect(await db.loads()).toEqual([]);
      expect(await db.inspect(documents, "a")).toEqual([]);
      await db.transact((tx) => tx.set(documents.contents, "z", "1"));
      const refused = await fail(db.load("first", partsOf(site)));
      expect(refused).toBeInstanceOf(LoadError);
      expect(refused.message).toContain('row "z" of "documents"');
      expect(await db.loads()).toEqual([]);
      await db.transact((tx) => tx.set(documents.contents, "y", "1"));
    });
  });

  test("a range is loaded beside rows of the same table", async () => {
    await withApp(async (db) => {
      await db.transact((tx) => tx.set(documents.contents, "z", "old"));
      const [first] = partsOf(site);
      const part = loadPart(documents, (after) => first!.rows(after) as never, { start: "h", end: "i" });
      await db.load("first", [part]);
      await using snapshot = await db.snapshot();
      expect(await countRows(snapshot)).toBe(31);
      const outside = loadPart(
        documents,
        () => sortedAfter(new Map([["b", 0]]), undefined).map(([row]) => ({ row, value: {} })),
        { start: "c", end: "d" },
      );
      expect((await fail(db.load("second", [outside]))).message).toContain("outside the range");
    });
  });
});
