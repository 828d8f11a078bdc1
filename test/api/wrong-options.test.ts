import {
  type Database,
  InvalidArgumentError,
  ObserverError,
  observer,
  open,
  SchemaError,
  table,
  text,
  type Worker,
} from "percolatordb";
import { exportQueue, uniqueConstraint } from "percolatordb/recipes";
import { HistoryRecorder } from "percolatordb/testing";
import { expect, test } from "vitest";

// The compiler refuses most of these options. A program in JavaScript, or one that reads its
// options from a file, can still pass them. An invalid option must not act as another one: a
// misspelt `serializable` must not act as `snapshot`.

const pages = table("pages", { title: text(), words: text() });
const titles = observer("titles", pages.title, () => {});

type Call = (db: Database, option: never) => unknown;
const as = (value: unknown) => value as never;

const wrong: readonly (readonly [call: string, option: string, values: readonly unknown[], make: Call])[] = [
  [
    "db.transact",
    "isolation",
    ["serialisable", "", 1, true],
    (db, isolation) => db.transact(() => {}, { isolation }),
  ],
  ["db.begin", "isolation", ["serialisable", 1], (db, isolation) => db.begin({ isolation })],
  ["db.transact", "signal", [5, {}, "x", null], (db, signal) => db.transact(() => {}, { signal })],
  [
    "db.collect",
    "retentionMs",
    [-1, Number.NaN, Infinity, "1"],
    (db, retentionMs) => db.collect({ retentionMs }),
  ],
  ["db.check", "maxProblems", [0, -1, Number.NaN, 1.5, "1"], (db, maxProblems) => db.check({ maxProblems })],
  ["db.backfill", "range", [5, "a", null], (db, range) => db.backfill(titles, { range })],
  ["db.reach", "timeoutMs", [0, -1, Number.NaN, Infinity, "1"], (db, timeoutMs) => db.reach({ timeoutMs })],
  ["worker.stop", "timeoutMs", [-1, Number.NaN, Infinity, "1"], (db, timeoutMs) => stop(db, { timeoutMs })],
  ["db.schema", "tables", [5, "a", null, {}], (db, tables) => db.schema({ tables })],
  ["db.schema", "tabels", [5], (db, tabels) => db.schema({ tabels } as never)],
  ["open", "tables", [5, "a", null, {}], (_, tables) => open("memory:", { tables })],
  ["open", "observers", [5, "a", null, {}], (_, observers) => open("memory:", { observers })],
];

async function stop(db: Database, options: never | { timeoutMs: never }): Promise<void> {
  const worker: Worker = db.work();
  try {
    await worker.stop(options);
  } finally {
    await worker.stop();
  }
}

async function thrownBy(call: (db: Database) => unknown): Promise<Error> {
  await using db = await open("memory:", { tables: [pages], observers: [titles] });
  return await Promise.resolve()
    .then(() => call(db))
    .then(
      (): never => expect.unreachable("It was accepted."),
      (thrown: unknown) => thrown as Error,
    );
}

for (const [call, option, values, make] of wrong) {
  test.each(values)(`the option ${option} of ${call} cannot be %j`, async (value) => {
    const error = await thrownBy((db) => make(db, as(value)));
    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect(error.message).toContain(`\`${option}\``);
  });
}

const options: readonly (readonly [call: string, make: (db: Database) => unknown])[] = [
  ["worker.stop", (db) => stop(db, as({ timeout: 5 }))],
  ["range of db.backfill", (db) => db.backfill(titles, { range: as({ prefx: "a" }) })],
];

test.each(options)("%s refuses an unknown option", async (name, make) => {
  const error = await thrownBy(make);
  expect(error).toBeInstanceOf(InvalidArgumentError);
  expect(error.message).toContain(`\`${name}\` has no option`);
});

const argumentsOf: readonly (readonly [call: string, make: (db: Database) => unknown])[] = [
  ["transact", (db) => db.transact(as(undefined))],
  ["transact", (db) => db.transact(as({ onCall: true }))],
  ["on", (db) => db.on(as("comit"), () => {})],
  ["on", (db) => db.on(as("toString"), () => {})],
  ["on", (db) => db.on("transaction", as(5))],
  [
    "parked",
    (db) =>
      db
        .parked({ after: as({}) })
        [Symbol.asyncIterator]()
        .next(),
  ],
];

test.each(argumentsOf)("db.%s refuses an invalid argument", async (name, make) => {
  const error = await thrownBy(make);
  expect(error).toBeInstanceOf(InvalidArgumentError);
  expect(error.message).toContain(`\`db.${name}\``);
});

const emails = uniqueConstraint("emails", pages.title, { by: (title) => title });
const outbox = exportQueue("outbox", { value: text(), deliver: () => {} });

test.each<[item: string, options: object, message: RegExp]>([
  ["undefined", { tables: [undefined] }, /`tables\[0\]` is undefined, not a table: it may be imported from/],
  [
    "a recipe with a table",
    { tables: [pages, emails] },
    /`tables\[1\]` is .*, not a table: give its `table`/,
  ],
  ["a recipe with tables", { tables: [outbox] }, /give its `tables`, `\.\.\.tables`/],
  ["an array of tables", { tables: [outbox.tables] }, /spread the array/],
  ["an observer for a table", { tables: [titles] }, /make it with `table\(name, columns\)`/],
  ["null", { tables: [null] }, /`tables\[0\]` is null, not a table/],
  ["undefined for an observer", { observers: [undefined] }, /`observers\[0\]` is undefined, not an observer/],
  ["a recipe for an observer", { observers: [outbox] }, /not an observer: give its `observer`/],
  ["a table for an observer", { observers: [pages] }, /make it with `observer\(name, column, run\)`/],
])("open names %s among tables or observers", async (_, options, message) => {
  const error = await open("memory:", as(options)).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf("observers" in options ? ObserverError : SchemaError);
  expect((error as Error).message).toMatch(message);
});

test.each([5, undefined, pages])("db.history takes a column, not %s", async (column) => {
  expect(await thrownBy((db) => db.history(as(column), as("a")))).toBeInstanceOf(SchemaError);
});

test("the rows of `getMany` are not the characters of a string", async () => {
  await using db = await open("memory:", { tables: [pages] });
  await using snapshot = await db.snapshot();
  const recorder = new HistoryRecorder();
  const calls: ((rows: never) => Promise<unknown>)[] = [
    (rows) => db.transact((tx) => tx.getMany(pages.title, rows)),
    (rows) => snapshot.getMany(pages.title, rows),
    async (rows) => {
      for await (const _ of db.live((view) => view.getMany(pages.title, rows))) break;
    },
    (rows) => recorder.client("one").transact(db, (tx) => tx.getMany(pages.title, rows)),
  ];
  for (const call of calls) {
    for (const rows of ["ann", 5, null, undefined, {}]) {
      const error = await call(as(rows)).then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      expect(error).toBeInstanceOf(InvalidArgumentError);
      expect((error as Error).message).toMatch(/^`getMany` takes an array or another iterable of rows, not /);
    }
  }
});

test("a string in the place of a number is shown as a string", async () => {
  await using db = await open("memory:", { tables: [pages] });
  await using snapshot = await db.snapshot();
  const scan = async (limit: never) => {
    for await (const _ of snapshot.scan(pages.title, { limit })) break;
  };
  for (const call of [
    () => open("memory:", { collectEveryMs: as("5") }),
    () => db.transact(() => {}, { retries: as("5") }),
    () => db.transact(() => {}, { timeoutMs: as("5") }),
    () => scan(as("5")),
  ])
    await expect(call()).rejects.toThrow(/not "5"\.$/);
  await expect(scan(as(Object.create(null)))).rejects.toBeInstanceOf(InvalidArgumentError);
});
