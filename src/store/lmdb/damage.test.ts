import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemEnvironment } from "../../environment/index.js";
import { PercolatorError, StoreDamagedError } from "../../errors/index.js";
import { allColumns, type Mutation, parts, type RowStore } from "../index.js";
import type { Databases } from "./databases.js";
import { acquireFolder, releaseFolder } from "./environment.js";
import { Key, tablePrefix } from "./key.js";
import { flags, headerBytes, nearBytes } from "./layout.js";
import type { SharedFolder } from "./shared-folder.js";
import { openLmdbStore } from "./store.js";

/** Bytes of LMDB's databases as a disk may give them back: damaged. LMDB itself has no check sums. */

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

/** Changes what stands beneath the store's feet. */
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

/** Every way to come upon the cell. */
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

describe("a cell's entry that cannot be", () => {
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
  ])("is refused by name by whoever reads or writes it: %s", async (_, entry) => {
    await rewrite([put("write", 3, Buffer.from("value"))]);
    damage(({ cells }) => void cells.put(cellKey(), entry));
    for (const use of uses) expect(await outcome(use)).toBeInstanceOf(StoreDamagedError);
  });

  it("is refused by name or answered in form, whatever its bytes", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 12 }), async (entry) => {
        await rewrite([put("write", 3, Buffer.from("value"))]);
        damage(({ cells }) => void cells.put(cellKey(), entry));
        for (const use of uses) {
          const answer = await outcome(use);
          if (answer instanceof Error) expect(answer).toBeInstanceOf(PercolatorError);
        }
      }),
      { numRuns: 60 },
    );
  });
});

describe("versions that an entry names and that are gone", () => {
  const far = Buffer.alloc(nearBytes + 1, "f");

  it("are missed, and no older one is given in their place", async () => {
    await rewrite([put("write", 1, Buffer.from("old")), put("write", 3, far)]);
    damage(({ versions }) => void versions.remove(cellKey().version(3)));
    for (const use of uses.slice(0, 4)) {
      if (use === uses[1]) continue;
      expect(await outcome(use)).toBeInstanceOf(StoreDamagedError);
    }
  });

  it("are missed when the newest is deleted and the next is to take its place", async () => {
    await rewrite([put("write", 1, Buffer.from("old")), put("write", 3, Buffer.from("new"))]);
    damage(({ versions }) => void versions.remove(cellKey().version(1)));
    const mutations: Mutation[] = [{ type: "delete", column, part: "write", from: 3, to: 4 }];
    const answer = await outcome(() => store.mutate({ table, row, guards: [], mutations }));
    if (answer instanceof Error) expect(answer).toBeInstanceOf(StoreDamagedError);
    else expect(answer).toBe("applied");
  });
});

describe("a key that is none", () => {
  const keys = fc.oneof(
    fc.uint8Array({ maxLength: 12 }),
    fc.array(fc.constantFrom(0, 1, 2, 0x61, 0xff), { maxLength: 8 }).map((list) => Uint8Array.from(list)),
  );

  it("is refused by name, or read as some row and column, and never holds a scan up", async () => {
    await rewrite([put("write", 3, Buffer.from("value"))]);
    await fc.assert(
      fc.asyncProperty(keys, async (rest) => {
        const key = () => new Key().raw(Buffer.concat([prefix, rest]));
        damage(({ cells }) => void cells.put(key(), Buffer.of(flags.lock)));
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
