import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemEnvironment } from "../../../environment/index.js";
import { PercolatorError, StoreDamagedError } from "../../../errors/index.js";
import { allColumns, type Mutation, parts, type RowStore } from "../../index.js";
import { acquireFolder, releaseFolder } from "../folder/open-folders.js";
import type { SharedFolder } from "../folder/shared-folder.js";
import type { Databases } from "../record/databases.js";
import { Key, tablePrefix } from "../record/key.js";
import { flags, headerBytes, nearBytes } from "../record/layout.js";
import { sealBytes, sealed } from "../record/seal.js";
import { openLmdbStore } from "../store.js";

/**
 * Tests of damaged bytes in LMDB's databases, as a disk may leave them. LMDB itself has no
 * checksums. The damaged records have a correct checksum here, unless a test says otherwise.
 */

let folder: string;
let store: RowStore;
let shared: SharedFolder;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "percolatordb-damage-"));
  store = await openLmdbStore(folder);
  shared = await acquireFolder(
    folder,
    { readOnly: false, create: true, noReadAhead: false, mapSize: 1 << 28, maxReaders: 10 },
    systemEnvironment,
  );
});

afterAll(async () => {
  await store.close();
  await releaseFolder(shared);
  await rm(folder, { recursive: true, force: true });
});

const table = "t";
const row = Buffer.from("row");
const column = Buffer.from("column");
const prefix = tablePrefix(table);
const cellKey = () => new Key().cell(prefix, row, column);

/** Changes the data without the store's knowledge. */
function damage(change: (databases: Databases) => void): void {
  shared.databases.root.transactionSync(() => change(shared.databases));
  shared.databases.root.resetReadTxn();
}

const put = (part: Mutation["part"], timestamp: number, value: Uint8Array): Mutation => {
  return { type: "put", column, part, timestamp, value };
};

async function rewrite(mutations: readonly Mutation[]): Promise<void> {
  damage(({ cells }) => void cells.remove(cellKey()));
  const forgotten = parts.map((part): Mutation => ({ type: "delete", column, part, from: 0, to: 1e15 }));
  damage(({ versions, protocol }) => {
    for (const timestamp of [1, 2, 3]) {
      versions.remove(cellKey().version(timestamp));
      for (const code of [0x10, 0x20, 0x30]) protocol.remove(cellKey().part(code, timestamp));
    }
  });
  await store.mutate({ table, row, guards: [], mutations: [...forgotten, ...mutations] });
}

/** Every way to read or write the cell. */
const uses: readonly (() => unknown)[] = [
  () => store.readRow({ table, row, columns: [{ exact: column }], at: Number.POSITIVE_INFINITY }),
  () => store.readRow({ table, row, columns: allColumns, at: 2 }),
  () => store.readRange({ table, columns: allColumns, at: Number.POSITIVE_INFINITY }),
  () => store.readRange({ table, columns: allColumns, at: Number.POSITIVE_INFINITY, reverse: true }),
  () => store.readRaw({ table, columns: allColumns, parts }),
  () =>
    store.mutate({
      table,
      row,
      guards: [{ type: "absent", column, part: "write", from: 2 ** 52, to: 2 ** 52 + 1 }],
      mutations: [],
    }),
];

async function outcome(use: () => unknown): Promise<unknown> {
  try {
    return await use();
  } catch (error) {
    return error;
  }
}

describe("an invalid entry of a cell", () => {
  const write = flags.write;
  const header = (flag: number, ...rest: number[]) => Buffer.of(flag, 0, 0, 0, 0, 0, 0, 0, 3, ...rest);

  it.each([
    ["no bytes of a header", Buffer.of(write)],
    ["a header cut off", header(write).subarray(0, headerBytes - 1)],
    ["flags that nobody sets", header(write | 64, 1)],
    ["no flag at all", Buffer.of(0)],
    ["older writes without a newest", Buffer.of(flags.older)],
    ["a write elsewhere, and bytes here", header(write | flags.far, 1)],
    ["bytes behind a lock's flag", Buffer.of(flags.lock, 1)],
    ["a timestamp beyond all", Buffer.of(write, 255, 255, 255, 255, 255, 255, 255, 255, 1)],
  ])("gives a named error to every reader and writer: %s", async (_, entry) => {
    await rewrite([put("write", 3, Buffer.from("value"))]);
    damage(({ cells }) => void cells.put(cellKey(), sealed(cellKey(), entry)));
    for (const use of uses) expect(await outcome(use)).toBeInstanceOf(StoreDamagedError);
  });

  it("gives a named error or a well-formed answer, whatever its bytes", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 12 }), async (entry) => {
        await rewrite([put("write", 3, Buffer.from("value"))]);
        damage(({ cells }) => void cells.put(cellKey(), sealed(cellKey(), entry)));
        for (const use of uses) {
          const answer = await outcome(use);
          if (answer instanceof Error) expect(answer).toBeInstanceOf(PercolatorError);
        }
      }),
      { numRuns: 60 },
    );
  });
});

describe("a record with a changed bit", () => {
  const far = Buffer.alloc(nearBytes + 1, "f");

  it("gives a named error, wherever the bit is", async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.nat(7), async (place, bit) => {
        await rewrite([put("write", 3, Buffer.from("value"))]);
        damage(({ cells }) => {
          const record = Buffer.from(cells.getBinaryFast(cellKey())!.subarray(0, 9 + 5 + sealBytes));
          record[place % record.length]! ^= 1 << bit;
          cells.put(cellKey(), record);
        });
        for (const use of uses) expect(await outcome(use)).toBeInstanceOf(StoreDamagedError);
        const { zeroCopy } = store;
        expect(zeroCopy?.cell(table, row, row.length, column, 9)).toBeUndefined();
        const read = { table, start: undefined, end: undefined, column, at: 9, reverse: false, limit: 9 };
        expect(zeroCopy?.column(read, () => true)).toBeUndefined();
      }),
      { numRuns: 100 },
    );
  });

  it("gives a named error if it is an older version, a long one, a lock or the counter", async () => {
    await rewrite([
      put("write", 1, Buffer.from("old")),
      put("write", 3, far),
      put("lock", 3, Buffer.from("lock")),
    ]);
    const flip = (record: Buffer | undefined) => {
      const copy = Buffer.from(record!.subarray(0, record!.length));
      copy[1]! ^= 1;
      return copy;
    };
    damage(({ protocol }) => {
      const key = cellKey().part(0x10, 3);
      protocol.put(key, flip(protocol.getBinaryFast(key)));
    });
    expect(await outcome(uses[0]!)).toBeInstanceOf(StoreDamagedError);
    for (const timestamp of [1, 3]) {
      await rewrite([put("write", 1, Buffer.from("old")), put("write", 3, far)]);
      damage(({ versions }) => {
        const key = cellKey().version(timestamp);
        versions.put(key, flip(versions.getBinaryFast(key)));
      });
      const read = { table, row, columns: allColumns, at: timestamp };
      expect(await outcome(() => store.readRow(read))).toBeInstanceOf(StoreDamagedError);
    }
  });

  it("gives a named error under a key for which it was not written", async () => {
    await rewrite([put("write", 3, Buffer.from("value"))]);
    const other = Buffer.from("rov");
    const otherKey = () => new Key().cell(prefix, other, column);
    damage(({ cells }) => {
      const record = cells.getBinaryFast(cellKey())!;
      cells.put(otherKey(), Buffer.from(record.subarray(0, record.length)));
    });
    const columns = [{ exact: column }];
    expect(await outcome(() => store.readRow({ table, row: other, columns, at: 9 }))).toBeInstanceOf(
      StoreDamagedError,
    );
    expect(await outcome(() => store.readRange({ table, columns, at: 9 }))).toBeInstanceOf(StoreDamagedError);
    damage(({ cells }) => void cells.remove(otherKey()));
  });
});

describe("versions that an entry names but that are missing", () => {
  const far = Buffer.alloc(nearBytes + 1, "f");

  it("are reported, and no older one is returned in their place", async () => {
    await rewrite([put("write", 1, Buffer.from("old")), put("write", 3, far)]);
    damage(({ versions }) => void versions.remove(cellKey().version(3)));
    for (const use of uses.slice(0, 4)) {
      if (use === uses[1]) continue;
      expect(await outcome(use)).toBeInstanceOf(StoreDamagedError);
    }
  });

  it("are reported when the newest is deleted and the next should take its place", async () => {
    // A long record is in `versions`. A short one would stay in the cell's entry.
    await rewrite([put("write", 1, far), put("write", 3, Buffer.from("new"))]);
    damage(({ versions }) => void versions.remove(cellKey().version(1)));
    const mutations: Mutation[] = [{ type: "delete", column, part: "write", from: 3, to: 4 }];
    expect(await outcome(() => store.mutate({ table, row, guards: [], mutations }))).toBe("applied");
    for (const use of uses) expect(await outcome(use)).toBeInstanceOf(StoreDamagedError);
  });
});

describe("an invalid key", () => {
  const keys = fc.oneof(
    fc.uint8Array({ maxLength: 12 }),
    fc.array(fc.constantFrom(0, 1, 2, 0x61, 0xff), { maxLength: 8 }).map((list) => Uint8Array.from(list)),
  );

  it("gives a named error, or is read as some row and column, and never stops a scan", async () => {
    await rewrite([put("write", 3, Buffer.from("value"))]);
    await fc.assert(
      fc.asyncProperty(keys, async (rest) => {
        const key = () => new Key().raw(Buffer.concat([prefix, rest]));
        damage(({ cells }) => void cells.put(key(), sealed(key(), Buffer.of(flags.lock))));
        try {
          for (const use of uses.slice(2, 5)) {
            const answer = await outcome(use);
            if (answer instanceof Error) expect(answer).toBeInstanceOf(PercolatorError);
          }
        } finally {
          damage(({ cells }) => void cells.remove(key()));
        }
      }),
      { numRuns: 60 },
    );
  });
});

describe("a check of a sound folder", () => {
  // If a value becomes shorter within the transaction that wrote it, LMDB keeps all of its pages.
  it.each([
    ["two commits that share a flush", true],
    ["two flushes", false],
  ])("finds no problem if a long value became a short one: %s", async (_, together) => {
    await rewrite([]);
    const write = (timestamp: number, bytes: number) => {
      const mutations = [put("write", timestamp, Buffer.alloc(bytes, "v"))];
      return store.mutate({ table, row, guards: [], mutations });
    };
    const first = write(1, 12_000);
    if (!together) await first;
    await Promise.all([first, write(2, 60)]);
    expect(await store.verify?.()).toEqual([]);
    await write(3, 61);
    expect(await store.verify?.()).toEqual([]);
  });

  it("finds no problem, whatever was written together", async () => {
    const timestamp = fc.nat(6);
    const length = fc.constantFrom(0, 60, 1_500, 3_000, 5_000, 12_000, nearBytes, nearBytes + 1, 40_000);
    const part = fc.constantFrom<Mutation["part"]>("write", "write", "data", "lock");
    const mutation = fc.oneof(
      fc.tuple(part, timestamp, length).map(([of, at, bytes]) => put(of, at, Buffer.alloc(bytes, "v"))),
      fc
        .tuple(part, timestamp, timestamp)
        .map(
          ([of, from, more]): Mutation => ({ type: "delete", column, part: of, from, to: from + more + 1 }),
        ),
    );
    const flushes = fc.array(fc.array(mutation, { minLength: 1, maxLength: 6 }), { maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(flushes, async (each) => {
        await rewrite([]);
        for (const together of each) {
          await Promise.all(
            together.map((one) => store.mutate({ table, row, guards: [], mutations: [one] })),
          );
          expect(await store.verify?.()).toEqual([]);
        }
      }),
      { numRuns: 60 },
    );
  });
});
