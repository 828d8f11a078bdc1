import { describe, expect, test } from "vitest";
import { countHints } from "../../../test/support/observer/context.js";
import { documents, length, words } from "../../../test/support/observer/documents.js";
import { TestEnvironment } from "../../../test/support/observer/environment.js";
import { databasesOf } from "../../../test/support/observer/started.js";
import { AbortedError, ConflictError, ObserverError, SchemaError } from "../../errors/index.js";
import { definition, family, int, signal, table, text } from "../../schema/index.js";
import type { RangeRead } from "../../store/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { type Observer, observer } from "../index.js";

const start = databasesOf({}, { mayFail: true });

const nothing = () => {};

describe("the registry", () => {
  test("records tables and observers, and recognizes them", async () => {
    const store = memoryStore();
    await start({ store, observers: [length], tables: [documents] });
    const second = await start({ store });
    const view = await second.registry.fresh();
    expect([...view.tables.keys()]).toEqual(["documents"]);
    expect(view.observers.get("length")?.record).toMatchObject({
      table: "documents",
      column: "contents",
      kind: "column",
      version: 1,
      backfills: [],
    });
    expect(view.observers.get("length")!.record.since).toBeGreaterThan(0);
  });

  test("writes nothing if everything is known", async () => {
    const store = memoryStore();
    await start({ store, observers: [length, words] });
    const before = await store.atomic!.counter();
    await start({ store, observers: [words, length, length], tables: [documents, documents] });
    expect(await store.atomic!.counter()).toBe(before);
  });

  test("records a table at its first use, alone or at the same time as others", async () => {
    const db = await start({});
    const tables = Array.from({ length: 8 }, (_, index) => table(`t${index}`, { a: int() }));
    await Promise.all(tables.map((each, index) => db.transact((tx) => tx.set(each.a, "row", index))));
    const view = await db.registry.fresh();
    expect([...view.tables.keys()].sort()).toEqual(tables.map((each) => each[definition].name));
  });

  test("new columns are added; another kind or codec of a known one is refused, and nothing changes", async () => {
    const db = await start({ tables: [table("notes", { a: text(), f: family(int()) })] });
    await db.registry.register([table("notes", { a: text(), b: int() })], []);
    const before = await db.store.atomic!.counter();
    const clash = db.registry.register([table("notes", { a: signal(), c: text() })], []);
    await expect(clash).rejects.toThrow(SchemaError);
    await expect(clash).rejects.toThrow(
      "column notes.a is recorded as column of text, but declared as signal",
    );
    await expect(db.transact((tx) => tx.set(table("notes", { b: text() }).b, "row", "x"))).rejects.toThrow(
      "column notes.b is recorded as column of int, but declared as column of text",
    );
    expect(await db.store.atomic!.counter()).toBe(before);
    const columns = (await db.registry.fresh()).tables.get("notes")!.columns;
    expect(columns.map((column) => column.name)).toEqual(["a", "f", "b"]);
  });

  test("two observers of one name are refused", async () => {
    const other = observer("length", documents.length, nothing);
    await expect(start({ observers: [length, other] })).rejects.toThrow(
      'Two observers are named "length" (of documents.contents and of documents.length)',
    );
    const db = await start({ observers: [length] });
    const clash = db.registry.register([], [other]);
    await expect(clash).rejects.toThrow(ObserverError);
    await expect(clash).rejects.toThrow(
      "is registered for the column documents.contents, so it cannot watch",
    );
  });

  test("a higher version is recorded, a lower one refused", async () => {
    const make = (version: number) => observer("versioned", documents.contents, nothing, { version });
    const db = await start({ observers: [make(2)] });
    const since = (await db.registry.fresh()).observers.get("versioned")!.record.since;
    await db.registry.register([], [make(3)]);
    const { record } = (await db.registry.fresh()).observers.get("versioned")!;
    expect(record).toMatchObject({ version: 3, since });
    await expect(db.registry.register([], [make(2)])).rejects.toThrow(
      "registered in version 3, but this program has the older version 2",
    );
  });

  test("a view's guards are the same objects until something changes, and then no longer hold", async () => {
    const db = await start({ observers: [length] });
    const view = await db.registry.fresh();
    expect((await db.registry.fresh()).guards).toBe(view.guards);
    const holds = async () => (await db.store.atomic!.commit({ rows: [view.guards] })).answer === "applied";
    expect(await holds()).toBe(true);
    const other = await start({ store: db.store, observers: [words] });
    expect(await holds()).toBe(false);
    expect((await db.registry.fresh()).guards).not.toBe(view.guards);
    expect((await db.registry.fresh()).observers.size).toBe(2);
    expect(other.failures).toEqual([]);
  });

  test("a writer with an old view writes the hints of an observer that was registered meanwhile", async () => {
    const writer = await start({ tables: [documents] });
    await writer.transact((tx) => tx.set(documents.contents, "a", "x"));
    await start({ store: writer.store, observers: [length] });
    await writer.transact((tx) => tx.set(documents.contents, "b", "x"));
    expect(await countHints(writer.store)).toEqual({ length: 1 });
  });

  test("knows which columns are observed", async () => {
    const anchors = observer("anchors", documents.anchors, nothing);
    const poke = observer("poke", documents.poke, nothing);
    const db = await start({ observers: [length, words, anchors, poke] });
    const view = await db.registry.fresh();
    const observed = (path: string, name = "documents") => view.observed(name, Buffer.from(path));
    expect(["contents", "anchors\0", "anchors\0x", "poke"].map((path) => observed(path))).toEqual([
      true,
      true,
      true,
      true,
    ]);
    expect(
      ["content", "contents2", "contents\0x", "anchors", "anchors2\0x", "~ack\0length\0contents", ""].map(
        (path) => observed(path),
      ),
    ).toEqual([false, false, false, false, false, false, false]);
    expect(observed("contents", "other")).toBe(false);
    const names = (path: string) => view.observersOf("documents", Buffer.from(path)).map((each) => each.name);
    expect(names("contents")).toEqual(["length", "words"]);
    expect(names("poke")).toEqual([]);
  });

  test("many processes may register at once", async () => {
    const store = memoryStore();
    const make = (index: number) =>
      observer(`o${index}`, table(`t${index % 3}`, { [`c${index}`]: int() })[`c${index}`]!, nothing);
    await Promise.all(Array.from({ length: 12 }, (_, index) => start({ store, observers: [make(index)] })));
    const view = await (await start({ store })).registry.fresh();
    expect(view.observers.size).toBe(12);
    expect([...view.tables.values()].flatMap((each) => each.columns)).toHaveLength(12);
  });
});

describe("the registry on a store of one-row mutations", () => {
  const oracleOf = () => {
    let last = 0;
    return { next: async () => ++last, latest: () => last };
  };

  test("keeps what it read for the declared time, and serves the full protocol", async () => {
    const store = memoryStore({ atomicBatches: false });
    const oracle = oracleOf();
    const options = { store, oracle, commit: "two-phase", cacheMs: 30 } as const;
    const writer = await start({ ...options, tables: [documents] });
    const worker = await start({ ...options, observers: [length] });
    await new Promise((resolve) => setTimeout(resolve, 60));
    await writer.transact((tx) => tx.set(documents.contents, "a", "four"));
    expect(await countHints(store)).toEqual({ length: 1 });
    await worker.pool.drain();
    expect(await writer.transact((tx) => tx.get(documents.length, "a"))).toBe(4);
    expect(await countHints(store)).toEqual({});
  });
});

test.each([
  ["with atomic batches nobody waits", memoryStore({ remote: true })],
  ["with one-row mutations", memoryStore({ atomicBatches: false })],
])("until all processes know an observer on a server, %s", async (_, store) => {
  const environment = new TestEnvironment();
  let last = 0;
  const oracle = { next: async () => ++last, latest: () => last };
  const options = { environment, store, oracle, commit: "two-phase", cacheMs: 1_000 } as const;
  const { registry } = await start({ ...options, observers: [length] });
  let isKnown = false;
  const known = registry.untilAllKnown([length]).then(() => {
    isKnown = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(isKnown).toBe(store.atomic !== undefined);
  await environment.advance(2_000);
  await known;
});

describe("many callers whose view of the registry is too old", () => {
  /**
   * Opens a store of one-row mutations with a clock, and counts how often the whole registry was
   * read.
   */
  async function aging() {
    const environment = new TestEnvironment();
    const store = memoryStore({ atomicBatches: false, environment });
    const counted = { reads: 0 };
    const readAtOnce = store.readRange.bind(store);
    store.readRange = async (read: RangeRead) => {
      if (Buffer.from(read.start?.row ?? "").toString() === "registry/") counted.reads++;
      await Promise.resolve();
      return readAtOnce(read);
    };
    let last = 0;
    const oracle = { next: async () => ++last, latest: () => last };
    const options = { environment, store, oracle, commit: "two-phase", cacheMs: 1_000 } as const;
    const db = await start({ ...options, observers: [length] });
    const change = async (observers: readonly Observer[]) => db.registry.register([], observers);
    return { environment, counted, registry: db.registry, change };
  }

  test("share one read of it", async () => {
    const { environment, counted, registry } = await aging();
    await environment.advance(2_000);
    counted.reads = 0;
    const views = await Promise.all(Array.from({ length: 64 }, async () => registry.fresh()));
    expect(counted.reads).toBe(1);
    expect(new Set(views).size).toBe(1);
    await environment.advance(2_000);
    await registry.fresh();
    expect(counted.reads).toBe(2);
  });

  test("read it again after the machine slept, though the monotonic clock stood still", async () => {
    const { environment, counted, registry } = await aging();
    await registry.fresh();
    counted.reads = 0;
    await registry.fresh();
    expect(counted.reads).toBe(0);
    const wakesAt = environment.now() + 7_200_000;
    environment.now = () => wakesAt;
    await registry.fresh();
    expect(counted.reads).toBe(1);
  });

  test("but not a read that began before their own change", async () => {
    const { environment, registry, change } = await aging();
    await environment.advance(2_000);
    const [before] = [registry.fresh(), await change([words])];
    expect((await registry.fresh()).observers.has("words")).toBe(true);
    await before;
    expect((await registry.fresh()).observers.has("words")).toBe(true);
  });
});

test("a transaction that is aborted between two attempts does not run again, and throws", async () => {
  const { registry } = await start({ environment: new TestEnvironment() });
  const controller = new AbortController();
  let attempts = 0;
  const trying = registry.retrying(async () => {
    attempts++;
    controller.abort("enough");
    throw new ConflictError("It conflicts.");
  }, controller.signal);
  await expect(trying).rejects.toThrow(AbortedError);
  await expect(trying).rejects.toMatchObject({ cause: "enough" });
  expect(attempts).toBe(1);
});

describe("observer()", () => {
  const declare = (options: object) => () => observer("o", documents.contents, nothing, options);

  test.each([
    [{ attempts: 0 }, "`attempts` must be a whole number from 1"],
    [{ attempts: 1.5 }, "`attempts`"],
    [{ backoff: { initialMs: -1 } }, "`backoff.initialMs`"],
    [{ backoff: { initialMs: 10, maximumMs: 5 } }, "`backoff.maximumMs` must be a number from 10"],
    [{ timeoutMs: 0 }, "`timeoutMs`"],
    [{ timeoutMs: "5" }, "`timeoutMs`"],
    [{ concurrency: 0 }, "`concurrency`"],
    [{ isolation: "none" }, "`isolation`"],
    [{ priority: Number.NaN }, "`priority`"],
    [{ version: 0 }, "`version`"],
    [{ version: 2 ** 31 }, "`version`"],
  ])("refuses %j", (options, message) => {
    expect(declare(options)).toThrow(ObserverError);
    expect(declare(options)).toThrow(message);
  });

  test("has defaults, and is frozen", () => {
    const made = observer("o", documents.contents, nothing);
    expect(made).toMatchObject({
      name: "o",
      attempts: 5,
      backoff: { initialMs: 100, maximumMs: 60_000 },
      timeoutMs: 60_000,
      isolation: "snapshot",
      priority: 0,
      version: 1,
    });
    expect(Object.isFrozen(made)).toBe(true);
    expect(
      observer("o", documents.contents, nothing, { timeoutMs: Number.POSITIVE_INFINITY }).timeoutMs,
    ).toBe(Number.POSITIVE_INFINITY);
  });

  test("refuses invalid targets and invalid names", () => {
    expect(() => observer("o", "contents" as never, nothing)).toThrow(
      "must watch a column, a family or a signal",
    );
    expect(() => observer("o", documents.anchors.at("x"), nothing)).toThrow("watch the family");
    expect(() => observer("o", documents.contents, 5 as never)).toThrow("`run` must be a function");
    expect(() => observer("two words", documents.contents, nothing)).toThrow(SchemaError);
    expect(() => observer("x".repeat(65), documents.contents, nothing)).toThrow(SchemaError);
  });
});
