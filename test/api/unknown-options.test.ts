import {
  type Database,
  InvalidArgumentError,
  ObserverError,
  observer,
  open,
  table,
  text,
} from "percolatordb";
import { expect, test } from "vitest";

const pages = table("pages", { title: text() });
const wrong = { retrys: 3 } as never;

const calls: Readonly<Record<string, (db: Database) => unknown>> = {
  "db.transact": (db) => db.transact(() => {}, wrong),
  "db.begin": (db) => db.begin(wrong),
  "db.snapshot": (db) => db.snapshot(wrong),
  "db.work": (db) => db.work(wrong),
  "db.drain": (db) => db.drain(wrong),
  "db.idle": (db) => db.idle(wrong),
  "db.pending": (db) => db.pending(wrong),
  "db.parked": (db) => db.parked(wrong),
  "db.backfill": (db) => db.backfill("titles", wrong),
  "db.unregister": (db) => db.unregister("titles", wrong),
  "db.collect": (db) => db.collect(wrong),
  "db.check": (db) => db.check(wrong),
  "db.history": (db) => db.history(pages.title, "a", wrong),
  scan: (db) => db.transact((tx) => tx.scan(pages, wrong)),
  open: () => open("memory:", wrong),
  "table pages": () => table("pages", { title: text() }, wrong),
};

test.each(Object.entries(calls))(
  "%s refuses an unknown option, and names the known ones",
  async (name, call) => {
    await using db = await open("memory:");
    const error = await Promise.resolve()
      .then(() => call(db))
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect((error as Error).message).toContain(`\`${name}\` has no option \`retrys\`. It takes \``);
  },
);

test("so does an observer", () => {
  expect(() => observer("titles", pages.title, () => {}, wrong)).toThrow(ObserverError);
  expect(() => observer("titles", pages.title, () => {}, wrong)).toThrow(
    /has no option `retrys`. It takes `attempts`/,
  );
  const misspelt = { backoff: { initalMs: 1 } } as never;
  expect(() => observer("titles", pages.title, () => {}, misspelt)).toThrow(
    /has no option `backoff.initalMs`. It takes `backoff.initialMs`/,
  );
  expect(() => observer("titles", pages.title, () => {}, { backoff: null as never })).toThrow(ObserverError);
});

test("an option that is undefined counts as not given", async () => {
  await using db = await open("memory:", { retrys: undefined } as never);
  await db.transact(() => {}, { retries: undefined });
});
