import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Part } from "../../cell.js";
import type { Guard, Mutation, RowStore } from "../../index.js";
import { memoryStore } from "../../memory/index.js";
import { openLmdbStore } from "../store.js";
import {
  inlineLength,
  noInlineHistory,
  placeBelow,
  recordAt,
  recordsBelow,
  withNewer,
  withoutInterval,
} from "./inline-history.js";

const text = (value: Uint8Array) => Buffer.from(value).toString();
const three = [1, 5, 9].reduce(
  (inline, timestamp) => withNewer(inline, timestamp, Buffer.from(`at ${timestamp}`)),
  noInlineHistory,
);

describe("older write records in a cell's entry", () => {
  it("are found at or below a timestamp, newest first", () => {
    const below = (at: number) => {
      const place = placeBelow(three, 0, three.length, at);
      return place < 0 ? undefined : text(recordAt(three, place, three.length).value);
    };
    expect([0, 1, 4, 5, 8, 9, 10].map(below)).toEqual([
      undefined,
      "at 1",
      "at 1",
      "at 5",
      "at 5",
      "at 9",
      "at 9",
    ]);
    expect([...recordsBelow(three, 8)].map(({ timestamp }) => timestamp)).toEqual([5, 1]);
    expect([...recordsBelow(noInlineHistory, 8)]).toEqual([]);
    expect(three).toHaveLength(3 * inlineLength(4));
  });

  it("lose the records of an interval", () => {
    const timestamps = (from: number, to: number) =>
      [...recordsBelow(withoutInterval(three, from, to), 100)].map(({ timestamp }) => timestamp);
    expect(timestamps(5, 9)).toEqual([9, 1]);
    expect(timestamps(0, 100)).toEqual([]);
    expect(withoutInterval(three, 2, 5)).toBe(three);
  });

  it("are refused if they are truncated", () => {
    expect(() => [...recordsBelow(three.subarray(0, three.length - 1), 0)]).toThrow(/cut off/);
    expect(() => placeBelow(three.subarray(0, 5), 0, 5, 100)).toThrow(/cut off/);
  });
});

const column = Buffer.from("c");
const most = 12;
const timestamp = fc.integer({ min: 0, max: most });
const part: fc.Arbitrary<Part> = fc.constantFrom("write", "write", "write", "lock");
/**
 * Lengths around each limit: 384 bytes for the older records in an entry, each with a head of 10
 * bytes; 1,024 bytes for the newest record in an entry that also has older ones; 16,384 bytes for
 * any record in an entry.
 */
const length = fc.constantFrom(0, 1, 30, 180, 374, 375, 1_024, 1_025, 16_384, 16_385);
const put = fc.record({ part, timestamp, length }).map(
  ({ part, timestamp, length }): Mutation => ({
    type: "put",
    column,
    part,
    timestamp,
    value: Buffer.alloc(length, timestamp + 1),
  }),
);
const remove = fc
  .record({ part, from: timestamp, to: timestamp })
  .map(({ part, from, to }): Mutation => ({ type: "delete", column, part, from, to }));
const guard = fc.oneof(
  fc
    .record({ part, from: timestamp, to: timestamp })
    .map(({ part, from, to }): Guard => ({ type: "absent", column, part, from, to })),
  fc.record({ part, at: timestamp }).map(({ part, at }): Guard => ({ type: "present", column, part, at })),
);
const request = fc.record({
  guards: fc.array(guard, { maxLength: 1 }),
  mutations: fc.array(fc.oneof({ weight: 4, arbitrary: put }, { weight: 1, arbitrary: remove }), {
    minLength: 1,
    maxLength: 3,
  }),
});

describe("cells that are written and deleted at any timestamps", () => {
  let folder: string;
  let stores: readonly RowStore[];
  let lmdb: Awaited<ReturnType<typeof openLmdbStore>>;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "percolatordb-beside-"));
    lmdb = await openLmdbStore(folder, { durability: "none" });
    stores = [lmdb, memoryStore()];
  });

  afterAll(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await rm(folder, { recursive: true });
  });

  /** Everything that a store shows of a row: reads at each timestamp, and a raw read. */
  async function shown(store: RowStore, row: Uint8Array): Promise<unknown> {
    const columns = [{ exact: column }];
    const views = [];
    for (let at = 0; at <= most + 1; at++) {
      const page = await store.readRow({ table: "t", row, columns, at });
      const range = { start: { row }, end: { row: Buffer.concat([row, Buffer.of(0)]) } };
      const scanned = await store.readRange({ table: "t", columns, at, ...range });
      const cells = page.cells.map((cell) => ({
        lock: cell.lock && text(cell.lock.value),
        write: cell.write && [cell.write.timestamp, text(cell.write.value)],
        latest: cell.latest,
      }));
      views.push(cells);
      expect(scanned.rows.flatMap((each) => each.cells.map((cell) => cell.write?.timestamp))).toEqual(
        page.cells.map((cell) => cell.write?.timestamp),
      );
    }
    const end = { row: Buffer.concat([row, Buffer.of(0)]) };
    const raw = await store.readRaw({ table: "t", columns, parts: ["write", "lock"], start: { row }, end });
    const versions = raw.rows.flatMap(({ cells }) => cells.flatMap(({ versions }) => versions));
    return { views, versions: versions.map(({ part, timestamp, value }) => [part, timestamp, text(value)]) };
  }

  it("are the same as in memory", async () => {
    let number = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(request, { minLength: 1, maxLength: 14 }), async (requests) => {
        const row = Buffer.from(`row ${++number}`);
        for (const each of requests) {
          const answers = await Promise.all(
            stores.map((store) => store.mutate({ table: "t", row, ...each })),
          );
          expect(answers[0]).toBe(answers[1]);
        }
        const [stored, expected] = await Promise.all(stores.map((store) => shown(store, row)));
        expect(stored).toEqual(expected);
      }),
      { numRuns: 200 },
    );
  });

  it("take one entry while they are short, and move to other entries together", async () => {
    const row = Buffer.from("short");
    const write = (timestamp: number) =>
      lmdb.mutate({
        table: "t",
        row,
        guards: [],
        mutations: [{ type: "put", column, part: "write", timestamp, value: Buffer.alloc(100) }],
      });
    const versions = async () => (await lmdb.statistics()).versions!;
    const before = await versions();
    for (let timestamp = 1; timestamp <= 4; timestamp++) await write(timestamp);
    expect((await versions()) - before).toBe(0);
    await write(5);
    expect((await versions()) - before).toBe(3);
  });
});
