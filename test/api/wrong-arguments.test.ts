import * as api from "percolatordb";
import { type Database, open, PercolatorError, type Transaction } from "percolatordb";
import * as backups from "percolatordb/backup";
import { openBigtableStore } from "percolatordb/bigtable";
import { connectCoordinator } from "percolatordb/coordinator";
import { dashboardHandler, serveDashboard, serveMetrics } from "percolatordb/dashboard";
import * as postgres from "percolatordb/postgres";
import * as recipes from "percolatordb/recipes";
import { simulate } from "percolatordb/testing";
import { expect, test } from "vitest";

/**
 * A program in JavaScript, or one with a cast, may pass anything. Each call gets, in place of each
 * argument, values of every other type. It may accept the value, if it is one that fits, and
 * otherwise refuses it with an error of the package: not with what the first property of `undefined`
 * happens to say.
 */

const { family, feed, int, observer, signal, table, text, tuple } = api;
const pages = table("pages", { title: text(), size: int(), words: family(int()), changed: signal() });
const visits = table("visits", { by: text() }, { key: tuple(text(), int()) });
const titles = observer("titles", pages.title, () => {});
const titleFeed = feed("titles", [pages.title]);
const indexed = { by: text(), of: (title: string) => [title] };
const byTitle = recipes.exactIndex("by-title", pages.title, indexed);

const titlesOf = recipes.eventualIndex("titles-of", pages.title, indexed);
const unique = recipes.uniqueConstraint("unique", pages.title, { by: (title: string) => title });
const counts = recipes.combiningCounter("counts");
const exports = recipes.exportQueue("exports", { value: text(), deliver: () => {} });
const mails = recipes.schedule("mails", { value: text(), fire: () => {} });
const rates = recipes.rateLimit("rates", { perSecond: 1 });
const spread = recipes.spreadTable("spread", { n: int() });
const bySize = recipes.derive("by-size", {
  from: pages,
  reads: ["size"],
  index: ({ size }) => (size === undefined ? [] : [[size]]),
  key: [int()],
});
const sizes = recipes.derive("sizes", { from: pages, reads: ["size"], count: true });
const options = {
  tables: [
    pages,
    visits,
    byTitle.table,
    titlesOf.table,
    unique.table,
    ...counts.tables,
    ...exports.tables,
    ...mails.tables,
    rates.table,
    spread.table,
  ],
  observers: [titles],
  feeds: [titleFeed],
  derivations: [bySize, sizes],
};

const garbage: readonly (readonly [name: string, value: unknown])[] = [
  ["undefined", undefined],
  ["null", null],
  ["0", 0],
  ["NaN", Number.NaN],
  ["an empty text", ""],
  // As a location it leaves no folder behind.
  ["a text", "memory:"],
  ["true", true],
  ["an object", {}],
  ["an array", []],
  ["an array of null", [null]],
  ["a function", () => {}],
  ["a symbol", Symbol("s")],
  ["a bigint", 5n],
  ["an invalid date", new Date(Number.NaN)],
  ["an object with a wrong name", { name: 5 }],
  ["an object without a prototype", Object.create(null)],
  ["a generator", function* () {}],
  ["a promise", Promise.resolve(1)],
];

type Call = readonly [
  name: string,
  args: readonly unknown[],
  of: (db: Database, tx: Transaction) => (...args: never[]) => unknown,
];

const ofDatabase = (name: keyof Database, ...args: unknown[]): Call => [
  `db.${name.toString()}`,
  args,
  (db) => (db[name] as () => unknown).bind(db),
];
const ofTransaction = (name: keyof Transaction, ...args: unknown[]): Call => [
  `tx.${name.toString()}`,
  args,
  (_, tx) => (tx[name] as () => unknown).bind(tx),
];
const of = (name: string, called: unknown, ...args: unknown[]): Call => [
  name,
  args,
  () => called as () => unknown,
];

/** A recipe's call, whose first argument is a transaction, or a database. */
const ofRecipe = (name: string, recipe: object, method: string, ...args: unknown[]): Call => [
  name,
  [undefined, ...args],
  (db, tx) =>
    (first, ...rest) =>
      Reflect.get(recipe, method).call(recipe, first ?? (ofDatabases.has(method) ? db : tx), ...rest),
];
const ofDatabases = new Set(["rebuild", "backfill", "fireDue", "acquire"]);

const aborted = AbortSignal.abort();
const parked = { observer: "titles", table: "pages", row: "r", column: "title" };
const meter = { createHistogram: () => ({ record: () => {} }) };
const tracer = { startSpan: () => ({}) };
const source = { on: () => () => {} };

const calls: readonly Call[] = [
  ofDatabase("transact", async () => {}, {}),
  ofDatabase("begin", {}),
  ofDatabase("snapshot", {}),
  ofDatabase("work", {}),
  ofDatabase("drain", {}),
  ofDatabase("idle", {}),
  ofDatabase("settled", 1, { signal: aborted }),
  ofDatabase("pending", {}),
  ofDatabase("parked", {}),
  ofDatabase("retry", parked),
  ofDatabase("discard", parked),
  ofDatabase("backfill", titles, {}),
  ofDatabase("migrate", [pages], {}),
  ofDatabase("schema", { tables: [pages] }),
  ofDatabase("drop", { table: "visits" }, {}),
  ofDatabase("release", { table: "visits" }),
  ofDatabase("unregister", "titles", {}),
  ofDatabase("load", "first", [], {}),
  ofDatabase("discardLoad", "first", {}),
  ofDatabase("changes", titleFeed, { signal: aborted }),
  ofDatabase("follow", titleFeed, { signal: aborted }),
  ofDatabase("live", (tx: Transaction) => tx.get(pages.title, "r"), { signal: aborted }),
  ofDatabase("watch", pages, { signal: aborted }),
  ofDatabase("removeFeed", "titles", {}),
  ofDatabase("history", pages.title, "r", {}),
  ofDatabase("inspect", pages, "r"),
  ofDatabase("locks", {}),
  ofDatabase("resolve", {}),
  ofDatabase("collect", {}),
  ofDatabase("check", {}),
  ofDatabase("on", "commit", () => {}),
  ofDatabase("reach", {}),
  ofTransaction("get", pages.title, "r"),
  ofTransaction("get", visits.by, ["r", 1]),
  ofTransaction("row", pages, "r"),
  ofTransaction("getMany", pages.title, ["r"]),
  ofTransaction("set", pages.title, "r", "v"),
  ofTransaction("delete", pages.title, "r"),
  ofTransaction("deleteRow", pages, "r"),
  ofTransaction("notify", pages.changed, "r"),
  ofTransaction("scan", pages, {}),
  ofTransaction("scan", visits.by, { prefix: ["r"] }),
  ofTransaction("entries", pages.words, "r", {}),
  ofTransaction("onCommit", () => {}),
  ofRecipe("counts.add", counts, "add", "k", 1),
  ofRecipe("counts.get", counts, "get", "k"),
  ofRecipe("exports.add", exports, "add", "k", "v"),
  ofRecipe("exports.waiting", exports, "waiting", "k"),
  ofRecipe("exports.entries", exports, "entries", "k"),
  ofRecipe("exports.skip", exports, "skip", "k", 1),
  ofRecipe("byTitle.find", byTitle, "find", "v", {}),
  ofRecipe("byTitle.range", byTitle, "range", {}),
  ofRecipe("byTitle.set", byTitle, "set", "r", "v"),
  ofRecipe("byTitle.delete", byTitle, "delete", "r"),
  ofRecipe("titlesOf.find", titlesOf, "find", "v", {}),
  ofRecipe("unique.set", unique, "set", "r", "v"),
  ofRecipe("unique.delete", unique, "delete", "r"),
  ofRecipe("unique.find", unique, "find", "v"),
  ofRecipe("unique.findByKey", unique, "findByKey", "v"),
  ofRecipe("rates.take", rates, "take", "k", {}),
  ofRecipe("mails.at", mails, "at", "k", 4e12, "v"),
  ofRecipe("mails.after", mails, "after", "k", 1_000, "v"),
  ofRecipe("mails.cancel", mails, "cancel", "k"),
  ofRecipe("mails.get", mails, "get", "k"),
  ofRecipe("mails.parked", mails, "parked"),
  ofRecipe("mails.retry", mails, "retry", "k"),
  ofRecipe("mails.discard", mails, "discard", "k"),
  ofRecipe("spread.scan", spread, "scan", spread.table.n, {}),
  ofRecipe("bySize.find", bySize, "find", [1], {}),
  ofRecipe("sizes.recompute", sizes, "recompute"),
  ofRecipe("sizes.compare", sizes, "compare", {}),
  ofRecipe("byTitle.rebuild", byTitle, "rebuild", {}),
  ofRecipe("sizes.backfill", sizes, "backfill", {}),
  ofRecipe("mails.fireDue", mails, "fireDue", {}),
  ofRecipe("rates.acquire", rates, "acquire", "k", {}),
  of("spread.row", spread.row.bind(spread), "k"),
  of("open", open, "memory:", {}),
  of("table", table, "other", { title: text() }, {}),
  of("tuple", tuple, text(), int()),
  of("observer", observer, "words", pages.title, () => {}, {}),
  of("batchObserver", api.batchObserver, "words", pages.title, () => {}, {}),
  of("rowObservers", api.rowObservers, "words", [pages.title], () => {}, {}),
  of("family", family, int()),
  of("json", api.json, undefined, {}),
  of("oneOf", api.oneOf, "a", "b"),
  of("compressed", api.compressed, text(), {}),
  of("codec", api.codec, { encode: () => "", decode: () => "" }),
  of("storedAs", api.storedAs, "t", text()),
  of("feed", feed, "words", [pages.title], {}),
  of("loadPart", api.loadPart, pages, () => []),
  of("formatValue", api.formatValue, text(), "x"),
  of("parseValue", api.parseValue, text(), "x"),
  of("isObserver", api.isObserver, titles),
  of("traceDatabase", api.traceDatabase, source, tracer, {}),
  of("measureDatabase", api.measureDatabase, source, meter, {}),
  ["clearRange", [pages, {}, {}], (db) => recipes.clearRange.bind(undefined, db)],
  of("clearRange of a wrong database", recipes.clearRange, {}),
  of("columnWriter", recipes.columnWriter, byTitle),
  of("combineQueue", recipes.combineQueue, "q", { value: int(), update: int(), combine: () => 0 }),
  of("combiningCounter", recipes.combiningCounter, "q", {}),
  of("derive", recipes.derive, "d", { from: pages, count: true }),
  of("eventualIndex", recipes.eventualIndex, "i", pages.title, indexed, {}),
  of("exactIndex", recipes.exactIndex, "i", pages.title, indexed),
  of("exportQueue", recipes.exportQueue, "q", { value: text(), deliver: () => {} }),
  of("isLookup", recipes.isLookup, byTitle),
  of("rateLimit", recipes.rateLimit, "r", { perSecond: 1 }),
  of("schedule", recipes.schedule, "s", { value: text(), fire: () => {} }),
  of("spreadTable", recipes.spreadTable, "t", { n: int() }, {}),
  of("uniqueConstraint", recipes.uniqueConstraint, "u", pages.title, { by: (v: string) => v }),
];

/**
 * What each call throws, or what its promise or its first step rejects with. They are made one after the
 * other. Those that wait for something end with the database.
 */
async function thrownBy(
  calls: readonly ((db: Database, tx: Transaction) => unknown)[],
): Promise<readonly unknown[]> {
  const db = await open("memory:", options);
  const thrown: Promise<unknown>[] = [];
  for (const call of calls) {
    const tx = await db.begin();
    thrown.push(firstOf(call, db, tx).catch((error: unknown) => error));
    for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
    await tx.rollback().catch(() => undefined);
  }
  await db.close();
  return await Promise.all(thrown);
}

async function firstOf<Args extends readonly unknown[]>(
  call: (...args: Args) => unknown,
  ...args: Args
): Promise<unknown> {
  const returned = call(...args);
  const { [Symbol.asyncIterator]: iterate } = (returned ?? {}) as Partial<AsyncIterable<unknown>>;
  const value = await (iterate === undefined ? returned : iterate.call(returned).next());
  return value instanceof Error ? value : undefined;
}

const isExpected = (error: unknown) => error === undefined || error instanceof PercolatorError;

test.each(calls)(
  "%s takes no value of another type, or refuses it by an error of the package",
  async (_, args, of) => {
    const unexpected: string[] = [];
    for (const [index] of args.entries()) {
      const thrown = await thrownBy(
        garbage.map(
          ([, value]) =>
            (db, tx) =>
              of(db, tx)(...(args.with(index, value) as never[])),
        ),
      );
      for (const [n, [name]] of garbage.entries()) {
        if (!isExpected(thrown[n])) unexpected.push(`argument ${index + 1}, ${name}: ${thrown[n]}`);
      }
    }
    expect(unexpected).toEqual([]);
  },
);

/** Calls with the right arguments that fail: nothing is there that they could change, or they were aborted. */
const failing =
  /^(db\.(drop|release|discardLoad|resolve|load|settled|retry|discard|changes|follow|live|watch|collect)|clearRange of a wrong database)$/;

test("the right arguments are taken", async () => {
  const refused: string[] = [];
  for (const [name, args, of] of calls) {
    const [error] = await thrownBy([(db, tx) => of(db, tx)(...(args as never[]))]);
    if (error !== undefined && !failing.test(name)) refused.push(`${name}: ${error}`);
  }
  expect(refused).toEqual([]);
});

const firsts: Readonly<Record<string, (first: never) => unknown>> = {
  open,
  backup: (first) => backups.backup(first, "backups"),
  "backup, of its place": (first) => backups.backup("data", first),
  followBackup: (first) => backups.followBackup(first, "backups"),
  listBackups: backups.listBackups,
  verifyBackups: backups.verifyBackups,
  compact: (first) => backups.compact(first, "copy"),
  restore: (first) => backups.restore(first, "data"),
  "restore, of its folder": (first) => backups.restore("backups", first),
  openBigtableStore,
  openPostgresStore: postgres.openPostgresStore,
  attachTables: (first) => postgres.attachTables(first, []),
  detachTable: (first) => postgres.detachTable(first, "orders"),
  attachedTables: (first) => postgres.attachedTables(first, []),
  postgresViews: (first) => postgres.postgresViews(first, []),
  dropPostgresViews: postgres.dropPostgresViews,
  dashboardHandler,
  serveDashboard,
  serveMetrics,
  connectCoordinator,
  simulate,
};

test.each(Object.entries(firsts))("%s says what it takes, and what it got", async (name, call) => {
  // As a variable of the environment that is not set.
  for (const missing of [undefined, null, 5, Symbol("s"), {}]) {
    const error = await firstOf(call, missing as never).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(PercolatorError);
    const { message } = error as Error;
    if (missing === undefined) expect(message).toContain("undefined");
    // An error that names a call names this one.
    const named = /^`(\w+)` takes/.exec(message)?.[1];
    expect(named ?? name).toBe(name);
  }
});

test("a generator is refused, since its body would not run", async () => {
  await using db = await open("memory:", { tables: [pages] });
  const notRun = function* () {};
  await expect(db.transact(notRun as never)).rejects.toThrow("a generator, whose body would not run");
  expect(() => observer("words", pages.title, notRun as never)).toThrow(
    "a generator, whose body would not run",
  );
});
