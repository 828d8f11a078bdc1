/**
 * Measures the capacity of one LMDB transaction on a small file system for different numbers of
 * free bytes. Prints for each number: how many long values fit together, how many of these fit
 * before the data file was extended, and how many short values fit after them. It also prints
 * whether a deleted cell and a process record still fit then. Then it begins again, and prints how
 * many blocks of a bulk load fit, and whether short values and a deleted cell fit after them.
 */
import { readFileSync, rmSync, statfsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CellBlock } from "../../src/store/index.js";
import { openLmdbStore } from "../../src/store/lmdb/index.js";
import type { Task } from "../../src/store/lmdb/write/draft/request.js";
import { Room } from "../../src/store/lmdb/write/room.js";
import { systemTable } from "../../src/transaction/index.js";

const [root, longBytes, ...freeBytes] = process.argv.slice(2) as [string, string, ...string[]];
const data = join(root, "data", "data.mdb");
const ballast = join(root, "ballast");
const shortBytes = 100;
const most = 10_000;
const cellsOfBlock = 3;

const column = Buffer.from("c");
const put = (bytes: number, table = "t"): Task => {
  const value = Buffer.alloc(bytes, 1);
  const mutations = [{ type: "put", column, part: "write", timestamp: 1, value } as const];
  return { type: "commit", batch: { rows: [{ table, row: Buffer.from("row"), guards: [], mutations }] } };
};
const remove: Task = {
  type: "mutate",
  mutation: {
    table: "t",
    row: Buffer.from("row"),
    guards: [],
    mutations: [{ type: "delete", column, part: "write", from: 0, to: Number.POSITIVE_INFINITY }],
  },
};

const store = await openLmdbStore(join(root, "data"));
await store.close();
const empty = readFileSync(data);

/** Returns how many such tasks fit together. */
function takeAll(room: Room, task: Task, onTaken = () => {}): number {
  for (let taken = 0; taken < most; taken++) {
    if (!room.take(task, false)) return taken;
    onTaken();
  }
  return most;
}

/** A block of values of `longBytes` that a bulk load puts into an empty range. */
function fillTask(): Task {
  const cells = new CellBlock("t", 1);
  for (let index = 0; index < cellsOfBlock; index++) {
    cells.add(Buffer.from(`row ${index}`), column, Buffer.alloc(9), Buffer.alloc(Number(longBytes), 1));
  }
  return {
    type: "fill",
    batch: { guarded: { table: systemTable, row: Buffer.from("owner"), guards: [] }, cells },
  };
}

/** Begins a transaction on an empty data file, when the disk has so many free bytes. */
function begin(bytes: string): Room {
  rmSync(ballast, { force: true });
  writeFileSync(data, empty);
  const { bavail, bsize } = statfsSync(root);
  writeFileSync(ballast, Buffer.alloc(bavail * bsize - Number(bytes)));
  return Room.begin(data, () => Number.POSITIVE_INFINITY)!;
}

const found = freeBytes.map((bytes) => {
  const room = begin(bytes);
  const begun = statSync(data).size;
  let ahead = 0;
  const long = takeAll(room, put(Number(longBytes)), () => {
    if (statSync(data).size === begun) ahead++;
  });
  const short = takeAll(room, put(shortBytes));
  const deletes = room.take(remove, false);
  const system = room.take(put(shortBytes, systemTable), false);
  const loading = begin(bytes);
  const fills = takeAll(loading, fillTask());
  const afterFills = loading.take(put(shortBytes), false) && loading.take(remove, false);
  return { long, ahead, short, deletes, system, filled: fills * cellsOfBlock, afterFills };
});
process.stdout.write(`${JSON.stringify(found)}\n`);
