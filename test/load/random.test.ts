import fc from "fast-check";
import { bytes, family, int, loadPart, observer, open, table, text } from "percolatordb";
import { openLmdbStore } from "percolatordb/lmdb";
import { memoryStore } from "percolatordb/memory";
import { expect, test } from "vitest";
import { temporaryFolder } from "../support/databases.js";

/** A column that begins with another's name, and a family between them. */
const things = table("things", { a: text(), ab: int(), b: family(bytes()), c: text() });

const qualifier = fc.constantFrom("", "a", "\0", "\u{ffff}", "\u{10000}", "é");
const length = fc.constantFrom(0, 1, 63, 64, 65, 1_100, 17_000);
const cells = fc.record(
  {
    a: length.map((size) => "v".repeat(size)),
    ab: fc.integer(),
    b: fc.array(
      fc.tuple(
        qualifier,
        length.map((size) => Buffer.alloc(size, 7)),
      ),
      { maxLength: 4 },
    ),
    c: fc.string(),
  },
  { requiredKeys: [] },
);
const key = fc.string({ unit: "binary", maxLength: 6 }).filter((row) => Buffer.from(row).toString() === row);
const rows = fc.uniqueArray(fc.tuple(key, cells), { selector: ([row]) => row, maxLength: 60 });

/** Rows before whose encoding the source fails, one for each call. */
const interruptions = fc.array(fc.nat(60), { maxLength: 3 });

test.each(["memory", "lmdb"])(
  "random rows and interruptions, against a model: %s",
  async (kind) => {
    await fc.assert(
      fc.asyncProperty(rows, interruptions, fc.boolean(), async (given, stops, watches) => {
        const folder = await temporaryFolder();
        try {
          const store = kind === "memory" ? memoryStore() : await openLmdbStore(folder.path);
          let runs = 0;
          const observers = watches ? [observer("count", things.b, () => void runs++)] : [];
          await using db = await open(store, { tables: [things], observers });
          const sorted = given
            .map(([row, { b, ...value }]) => ({
              row,
              value: b === undefined ? value : { ...value, b: new Map(b) },
            }))
            .sort((one, other) => Buffer.compare(Buffer.from(one.row), Buffer.from(other.row)));
          const load = (stop: number) =>
            db.load("random", [
              loadPart(things, function* (after) {
                const from = after === undefined ? 0 : sorted.findIndex(({ row }) => row === after) + 1;
                for (const [index, row] of sorted.entries()) {
                  if (index === stop) throw new RangeError("stopped");
                  if (index >= from) yield row;
                }
              }),
            ]);
          for (const stop of stops)
            await load(stop).catch((error) => expect(error).toBeInstanceOf(RangeError));
          await load(Number.POSITIVE_INFINITY);
          await db.drain();
          expect(runs).toBe(0);
          expect(await db.check()).toEqual([]);
          await using snapshot = await db.snapshot();
          const found: unknown[] = [];
          for await (const { row, value } of snapshot.scan(things)) found.push([row, shown(value)]);
          const expected = sorted.map(({ row, value }) => [row, shown(value)] as const);
          expect(found).toEqual(expected.filter(([, value]) => Object.keys(value).length > 0));
          for (const { row, value } of sorted.slice(0, 3))
            expect(await snapshot.get(things.a, row)).toBe(value.a);
        } finally {
          await folder.remove();
        }
      }),
      { numRuns: kind === "memory" ? 60 : 25 },
    );
  },
  120_000,
);

/** The cells of a row in one form, without empty families. */
function shown(value: object): Record<string, unknown> {
  const plain: Record<string, unknown> = {};
  for (const [name, cell] of Object.entries(value)) {
    if (!(cell instanceof Map)) plain[name] = cell;
    else if (cell.size > 0) {
      const found = [...(cell as Map<string, Uint8Array>)].map(([at, each]) => [
        at,
        Buffer.from(each).toString("hex"),
      ]);
      plain[name] = found.sort(([one], [other]) => Buffer.compare(Buffer.from(one!), Buffer.from(other!)));
    }
  }
  return plain;
}
