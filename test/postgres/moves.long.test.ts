import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import {
  bigint,
  boolean,
  bytes,
  codec,
  compressed,
  type Database,
  date,
  family,
  float,
  int,
  json,
  observer,
  oneOf,
  open,
  signal,
  table,
  text,
  tuple,
} from "percolatordb";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { CommandLine } from "../support/command-line.js";
import { type Emulator, startEmulator } from "../support/emulator/index.js";
import { newPlace, type PostgresPlace, removePlace } from "../support/postgres/index.js";

const reversed = codec<string>({
  encode: (value) => Buffer.from([...value].reverse().join("")),
  decode: (stored) => [...Buffer.from(stored).toString()].reverse().join(""),
});

const values = table("values", {
  text: text(),
  int: int(),
  float: float(),
  boolean: boolean(),
  date: date(),
  bigint: bigint(),
  oneOf: oneOf("red", "green"),
  json: json<{ readonly of: readonly unknown[] }>(),
  bytes: bytes(),
  custom: reversed,
  compressed: compressed(text()),
  labels: family(text()),
  sizes: family(float()),
});
const visits = table(
  "visits",
  { seconds: float() },
  { key: tuple(text(), int(), float(), boolean(), bytes()) },
);
const documents = table("documents", {
  body: text(),
  anchors: family(text()),
  size: int(),
  rescore: signal(),
});
const empty = table("empty", { value: text() });
const tables = [values, visits, documents, empty];

/** Observers that say which rows they run on. Those of a source fail on the rows that they park. */
function observersThat(fail: boolean) {
  const runs: string[] = [];
  const run = (name: string, row: string) => {
    if (fail && row.startsWith("parked")) throw new Error("Not now.");
    runs.push(`${name} ${row}`);
  };
  const options = { attempts: 1 };
  const observers = [
    observer(
      "measure",
      documents.body,
      (tx, { row, value }) => {
        run("measure", row);
        tx.set(documents.size, row, value?.length ?? 0);
      },
      options,
    ),
    observer(
      "anchors",
      documents.anchors,
      (_, { row, qualifier }) => run(`anchors ${qualifier}`, row),
      options,
    ),
    observer("rescore", documents.rescore, (_, { row }) => run("rescore", row), options),
  ];
  return { observers, runs };
}

const stores = ["folder", "postgres", "bigtable"] as const;
type Store = (typeof stores)[number];

const directions = stores.flatMap((from) => stores.filter((to) => to !== from).map((to) => ({ from, to })));

let emulator: Emulator;
let cli: CommandLine;
const places: PostgresPlace[] = [];
let prefixes = 0;

beforeAll(async () => {
  emulator = await startEmulator();
  vi.stubEnv("BIGTABLE_EMULATOR_HOST", emulator.host);
});

beforeEach(async () => {
  cli = await CommandLine.create();
});

afterAll(async () => {
  vi.unstubAllEnvs();
  await Promise.all([emulator.stop(), ...places.map((place) => removePlace(place))]);
});

/** The location of a new database. */
async function locationOn(store: Store): Promise<string> {
  if (store === "bigtable") return `bigtable://project/instance?prefix=moved${++prefixes}`;
  if (store === "folder") return join(cli.folder, `data${++prefixes}`);
  const place = await newPlace();
  places.push(place);
  return place.location;
}

const coordinatorOf = (location: string) => (location.startsWith("bigtable:") ? "auto" : undefined);

function openHere(location: string, observers = observersThat(false).observers): Promise<Database> {
  const coordinator = coordinatorOf(location);
  const options = { tables, observers, collectEveryMs: 0 };
  return open(location, coordinator === undefined ? options : { ...options, coordinator });
}

async function run(...[command, location, ...more]: [string, string, ...string[]]) {
  const coordinator = coordinatorOf(location);
  const flags = coordinator === undefined ? [] : ["--coordinator", coordinator];
  const outcome = await cli.run([command, location, ...more, ...flags]);
  expect(outcome).toMatchObject({ code: 0, stderr: "" });
  return outcome;
}

/** Fills a database: every codec, families, composite keys, old versions, deleted rows, due and parked changes. */
async function fill(location: string): Promise<void> {
  {
    const db = await openHere(location, observersThat(true).observers);
    await db.transact((tx) => {
      tx.set(values.text, "a", "old");
      tx.set(values.text, "deleted", "gone");
      tx.set(documents.body, "handled", "four");
      tx.set(documents.body, "parked", "five!");
      tx.set(documents.anchors.at("https://x.example/"), "parked anchor", "x");
      tx.notify(documents.rescore, "parked signal");
    });
    await db.drain();
    await db.transact((tx) => {
      tx.set(values.text, "a", "ä\n𝄞\0");
      tx.set(values.int, "a", Number.MIN_SAFE_INTEGER);
      tx.set(values.float, "a", -0);
      tx.set(values.float, "", Number.NaN);
      tx.set(values.float, "z", Number.NEGATIVE_INFINITY);
      tx.set(values.boolean, "a", false);
      tx.set(values.date, "a", new Date("1969-12-31T23:59:59.999Z"));
      tx.set(values.bigint, "a", -(2n ** 100n));
      tx.set(values.oneOf, "a", "green");
      tx.set(values.json, "a", { of: [null, 1.5, "\u2028", { deep: [] }] });
      tx.set(values.bytes, "a", Buffer.from([0, 255, 10]));
      tx.set(values.bytes, "large", Buffer.alloc(3_000_000, 7));
      tx.set(values.custom, "a", "abc");
      tx.set(values.compressed, "a", "again and ".repeat(1_000));
      tx.set(values.labels.at(""), "a", "nothing");
      tx.set(values.labels.at("é/\0"), "a", "");
      for (let index = 0; index < 2_100; index++) tx.set(values.sizes.at(`q${index}`), "wide", index / 4);
      tx.delete(values.text, "deleted");
      tx.set(visits.seconds, ["home\0", -1, Number.POSITIVE_INFINITY, true, Buffer.from([0])], 1.5);
      tx.set(visits.seconds, ["home\0", 1, -2.5, false, Buffer.from([255])], 2.5);
      tx.set(visits.seconds, ["", 0, 0, false, Buffer.alloc(0)], 3.5);
      tx.set(documents.body, "due", "three");
      tx.set(documents.anchors.at("y"), "due anchor", "y");
      tx.notify(documents.rescore, "due signal");
    });
    await db.close();
  }
}

const due = [
  "anchors https://x.example/ parked anchor",
  "anchors y due anchor",
  "measure due",
  "measure parked",
  "rescore due signal",
  "rescore parked signal",
];

/** Everything that scans show. */
async function contents(db: Database) {
  await using snapshot = await db.snapshot();
  return await Promise.all(
    tables.map(async (each) => {
      const rows = [];
      for await (const row of snapshot.scan(each)) rows.push(row);
      return rows;
    }),
  );
}

test.each(directions)("an export of $from moves a database to $to", async ({ from, to }) => {
  const [source, target] = [await locationOn(from), await locationOn(to)];
  await fill(source);
  const before = await openHere(source, []).then(async (db) => {
    const all = await contents(db);
    await db.close();
    return all;
  });
  expect(before.map((rows) => rows.length)).toEqual([5, 3, 5, 0]);

  await run("export", source, "all.jsonl.gz");
  await run("import", target, "all.jsonl.gz");
  await run("export", target, "again.jsonl");
  const lines = (await run("export", source)).lines.filter((line) => line.startsWith('{"table":'));
  const again = (await readFile(join(cli.folder, "again.jsonl"), "utf8")).split("\n");
  expect(again.filter((line) => line.startsWith('{"table":'))).toEqual(lines);

  const { observers, runs } = observersThat(false);
  const db = await openHere(target, observers);
  try {
    // `toEqual` takes seconds for large values.
    expect(isDeepStrictEqual(await contents(db), before)).toBe(true);
    expect([...(await db.tables()).keys()]).toEqual(
      expect.arrayContaining(["values", "visits", "documents", "empty"]),
    );
    // Old versions and deleted rows are not in an export.
    expect((await db.history(values.text, "a")).map(({ value }) => value)).toEqual(["ä\n𝄞\0"]);
    expect(await db.history(values.text, "deleted")).toEqual([]);
    await db.drain();
    expect(runs.sort()).toEqual(due);
    expect(await db.transact((tx) => tx.getMany(documents.size, ["due", "parked", "handled"]))).toEqual([
      5, 5, 4,
    ]);
    expect(await db.check()).toEqual([]);
  } finally {
    await db.close();
  }
});
