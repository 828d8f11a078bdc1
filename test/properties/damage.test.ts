import fc from "fast-check";
import { type Database, open, PercolatorError } from "percolatordb";
import { memoryStore } from "percolatordb/memory";
import { StepHooks } from "percolatordb/testing";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { modelObservers } from "./model/observers.js";
import { gather } from "./model/perform.js";
import { derived, docs, pairs } from "./model/tables.js";
import { SteppedEnvironment } from "./support/environment.js";
import { runs } from "./support/runs.js";
import { imageOf, type StoredVersion, storeOf } from "./support/store-image.js";

/** Databases with some changed bytes in the store. */

const tables = [docs, pairs, derived];
const tableNames = ["docs", "pairs", "derived", "~system", "~hints", "~parked"];
const rows = ["a", "b", "c", "d", "e"] as const;
const long = "long ".repeat(50);

let image: readonly StoredVersion[];

const settings = { tables, observers: modelObservers(() => {}), collectEveryMs: 0, lockTtlMs: 500 };

/**
 * Short and long values, older versions, deletions, statuses, hints, parked changes, a session, and
 * leftover locks.
 */
async function builtImage(): Promise<readonly StoredVersion[]> {
  const environment = new SteppedEnvironment(true);
  const store = memoryStore({ environment });
  const hooks = new StepHooks();
  const options = { ...settings, environment, hooks, retentionMs: 3_600_000, commit: "two-phase" } as const;
  const db = await open(store, options);
  await db.transact((tx) => {
    for (const row of rows) tx.set(docs.title, row, `title of ${row}`);
    tx.set(docs.tags.at("q"), "a", long);
    tx.set(docs.tags.at("r"), "a", "short");
    tx.set(pairs.value, ["a", 1], { a: [1, "x"] });
  });
  await db.transact((tx) => {
    tx.set(docs.title, "b", "!bad");
    tx.set(docs.title, "c", long);
    tx.delete(docs.title, "d");
    tx.notify(docs.poke, "a");
  });
  await db.drain();
  const worker = db.work({ observers: ["count"] });
  await db.transact((tx) => tx.set(docs.title, "a", "another title"));
  await new Promise<void>((stopped) => {
    hooks.once("commit-primary", () => {
      stopped();
      return new Promise(() => {});
    });
    void db.transact((tx) => {
      tx.set(docs.size, "e", 5);
      tx.set(docs.size, "d", 6);
    });
  });
  const found = await imageOf(store, tableNames);
  await worker.stop();
  return [...found, publishedSnapshot(environment)];
}

/** The record that a process with an open snapshot leaves. No other record has this format. */
function publishedSnapshot(environment: SteppedEnvironment): StoredVersion {
  const text = JSON.stringify({
    oldest: Math.floor(environment.now() * 1_000) - 1,
    expires: environment.now() + 1e9,
  });
  const value = Buffer.concat([Buffer.from([4, 0, 0, 0, 0, 0, 0, 0, 0]), Buffer.from(text)]);
  const [row, column] = [Buffer.from("active/other"), Buffer.from("oldest")];
  return { table: "~system", row, column, part: "write", timestamp: 1, value };
}

beforeAll(async () => {
  image = await builtImage();
});

/** Ways to damage stored bytes. */
type Damage =
  | { readonly how: "cut"; readonly at: number }
  | { readonly how: "other byte"; readonly at: number; readonly byte: number }
  | { readonly how: "other bytes"; readonly bytes: Uint8Array }
  | { readonly how: "longer"; readonly bytes: Uint8Array }
  | { readonly how: "gone" };

const damages: fc.Arbitrary<Damage> = fc.oneof(
  fc.nat().map((at) => ({ how: "cut" as const, at })),
  fc.tuple(fc.nat(), fc.nat({ max: 255 })).map(([at, byte]) => ({ how: "other byte" as const, at, byte })),
  fc
    .tuple(fc.nat({ max: 30 }), fc.nat({ max: 255 }))
    .map(([at, byte]) => ({ how: "other byte" as const, at, byte })),
  fc.uint8Array({ maxLength: 40 }).map((bytes) => ({ how: "other bytes" as const, bytes })),
  fc.uint8Array({ minLength: 1, maxLength: 4 }).map((bytes) => ({ how: "longer" as const, bytes })),
  fc.constant({ how: "gone" as const }),
);

function damaged(value: Uint8Array, damage: Damage): Uint8Array | undefined {
  const copy = Buffer.from(value);
  switch (damage.how) {
    case "cut":
      return copy.subarray(0, damage.at % Math.max(1, copy.length));
    case "other byte":
      if (copy.length > 0) copy[damage.at % copy.length] = damage.byte;
      return copy;
    case "other bytes":
      return damage.bytes;
    case "longer":
      return Buffer.concat([copy, damage.bytes]);
    case "gone":
      return undefined;
  }
}

function withDamage(at: number, damage: Damage): readonly StoredVersion[] {
  return image.flatMap((version, index) => {
    if (index !== at) return [version];
    const value = damaged(version.value, damage);
    return value === undefined ? [] : [{ ...version, value }];
  });
}

/**
 * Returns the result of a call, or the code of its error. An error that is not of the package fails
 * the test.
 */
async function outcome<T>(use: () => Promise<T>): Promise<{ readonly answer?: T; readonly code?: string }> {
  const seconds = 20;
  let timer: NodeJS.Timeout | undefined;
  const hangs = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`nothing after ${seconds} s: ${use}`)), seconds * 1_000);
  });
  try {
    return { answer: await Promise.race([use(), hangs]) };
  } catch (error) {
    if (!(error instanceof PercolatorError)) throw error;
    expect(error.code, error.message).not.toBe("INTERNAL");
    return { code: error.code };
  } finally {
    clearTimeout(timer);
  }
}

const anHourMs = 3_600_000;

/** Makes every call that a program may make on a database, one after another. */
function calls(
  db: Database,
  soon: () => AbortSignal,
  timeoutMs: number,
): readonly (() => Promise<unknown>)[] {
  const snapshot = async <T>(use: (view: Awaited<ReturnType<Database["snapshot"]>>) => Promise<T>) => {
    await using view = await db.snapshot({ signal: soon() });
    return await use(view);
  };
  const signal = soon;
  return [
    ...rows.map((row) => () => snapshot((view) => view.get(docs.title, row))),
    ...rows.map((row) => () => db.inspect(docs, row)),
    ...rows.map((row) => () => db.history(docs.title, row)),
    () => snapshot((view) => gather(view.scan(docs))),
    () => snapshot((view) => gather(view.scan(docs.title, { reverse: true }))),
    () => snapshot((view) => gather(view.entries(docs.tags, "a"))),
    () => snapshot((view) => gather(view.scan(pairs))),
    () => snapshot((view) => view.row(docs, "a")),
    () => gather(db.locks()),
    () => gather(db.pending()),
    () => gather(db.parked()),
    () => db.status(),
    () => db.tables(),
    () => db.observers(),
    () => db.check(),
    () => db.transact((tx) => tx.set(docs.title, "e", "new"), { timeoutMs }),
    () =>
      db.transact(async (tx) => tx.deleteRow(docs, "b"), {
        timeoutMs,
        retries: 3,
        isolation: "serializable",
      }),
    () => db.drain({ signal: signal() }),
    () => db.backfill("measure", { signal: signal() }),
    () => db.collect({ retentionMs: 0, signal: signal() }),
    () => db.check(),
    () => db.collect({ retentionMs: anHourMs, signal: signal() }),
  ];
}

/** Opens a damaged database and makes every call. Returns the codes of the errors. */
async function askEverything(
  given: readonly StoredVersion[],
  patienceMs: number,
): Promise<ReadonlySet<string>> {
  const environment = new SteppedEnvironment(true);
  const store = await storeOf(given, environment);
  const codes = new Set<string>();
  const opened = await outcome(() => open(store, { ...settings, environment }));
  if (opened.answer === undefined) return new Set([opened.code!]);
  const db = opened.answer;
  const strays: unknown[] = [];
  db.on("backgroundFailure", ({ error }) => {
    if (!(error instanceof PercolatorError)) strays.push(error);
  });
  const soon = () => {
    const controller = new AbortController();
    environment.setTimer(() => controller.abort(), patienceMs, { background: true });
    return controller.signal;
  };
  for (const call of calls(db, soon, patienceMs)) {
    const { code } = await outcome(call);
    if (code !== undefined) codes.add(code);
  }
  await outcome(() => db.close());
  expect(strays).toEqual([]);
  return codes;
}

describe("damaged stored bytes", () => {
  test("the image holds every kind of record", () => {
    const kinds = new Set(image.map(({ table, part }) => `${table} ${part}`));
    for (const kind of [
      "docs write",
      "docs data",
      "docs lock",
      "docs txn",
      "~hints write",
      "~parked write",
    ]) {
      expect(kinds).toContain(kind);
    }
    const systemRows = image
      .filter(({ table }) => table === "~system")
      .map(({ row }) => Buffer.from(row).toString());
    for (const start of ["registry/table/", "registry/observer/", "session/", "active/", "retention"]) {
      expect(
        systemRows.some((row) => row.startsWith(start)),
        start,
      ).toBe(true);
    }
  });

  test("without damage every call is answered", async () => {
    expect([...(await askEverything(image, 2_000_000))]).toEqual([]);
  });

  test("every call is answered or gets a named error, and none hangs", async () => {
    const property = fc.asyncProperty(fc.nat(), damages, async (which, damage) => {
      await askEverything(withDamage(which % image.length, damage), 5_000);
    });
    await fc.assert(property, runs(30));
  });

  test("an unreadable session counts as dead: its work is done by others, and it is removed", async () => {
    const isSession = ({ row }: StoredVersion) => Buffer.from(row).toString().startsWith("session/");
    const at = image.findIndex(isSession);
    for (const damage of [{ how: "cut", at: 0 } as const, { how: "cut", at: 20 } as const]) {
      const environment = new SteppedEnvironment(true);
      const store = await storeOf(withDamage(at, damage), environment);
      await using db = await open(store, { ...settings, environment });
      await db.drain();
      expect(await gather(db.pending())).toEqual([]);
      // A worker that runs long enough to see that the session sends no heartbeat removes it.
      await using _ = db.work();
      await vi.waitFor(
        async () => {
          const standing = (await imageOf(store, ["~system"])).filter(isSession);
          expect(standing.some(({ row }) => Buffer.compare(row, image[at]!.row) === 0)).toBe(false);
        },
        { timeout: 60_000, interval: 10 },
      );
    }
  });

  const writes = () =>
    image.flatMap((version, index) =>
      version.table === "docs" && version.part === "write" && version.value.length > 9 ? [index] : [],
    );

  async function expectSameOrFailed(damaged: readonly StoredVersion[]) {
    const [sound, unsound] = [await answers(image), await answers(damaged)];
    for (const [index, answer] of unsound.entries())
      if (answer.code === undefined) expect(answer).toEqual(sound[index]);
  }

  test("a damaged header never changes a value into another one", async () => {
    const header = fc.oneof(
      fc.nat({ max: 8 }).map((at): Damage => ({ how: "cut", at })),
      fc
        .tuple(fc.nat({ max: 8 }), fc.nat({ max: 255 }))
        .map(([at, byte]): Damage => ({ how: "other byte", at, byte })),
    );
    const property = fc.asyncProperty(fc.nat(), header, async (which, damage) => {
      const indexes = writes();
      await expectSameOrFailed(withDamage(indexes[which % indexes.length]!, damage));
    });
    await fc.assert(property, runs(40));
  });

  test("no flag of a header makes a value disappear", async () => {
    for (const index of writes()) {
      for (let byte = 0; byte < 16; byte++)
        await expectSameOrFailed(withDamage(index, { how: "other byte", at: 0, byte }));
    }
  });
});

/** Returns the results of reading the documents. */
async function answers(given: readonly StoredVersion[]) {
  const environment = new SteppedEnvironment(true);
  await using db = await open(await storeOf(given, environment), { ...settings, environment });
  await using snapshot = await db.snapshot();
  const titles = await Promise.all(rows.map((row) => outcome(() => snapshot.get(docs.title, row))));
  const scanned = await outcome(() => gather(snapshot.scan(docs.title)));
  return [...titles, scanned, await outcome(() => gather(snapshot.entries(docs.tags, "a")))];
}
