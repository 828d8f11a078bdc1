/**
 * Asks for the room of one LMDB transaction on the small file system that its folder lies on, with so many bytes of it left. Prints for each
 * number of bytes how many long values have room together, how many of them before the data file was made longer for them, how many short ones
 * have room behind them, and whether then a deleted cell and a record of a process have.
 */
import { readFileSync, rmSync, statfsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openLmdbStore } from "../../src/store/lmdb/index.js";
import type { Task } from "../../src/store/lmdb/write/request.js";
import { Room } from "../../src/store/lmdb/write/room.js";
import { systemTable } from "../../src/transaction/index.js";

const [root, longBytes, ...freeBytes] = process.argv.slice(2) as [string, string, ...string[]];
const data = join(root, "data", "data.mdb");
const ballast = join(root, "ballast");
const shortBytes = 100;
const most = 10_000;

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

/** How many such tasks have room, one beside the other. */
function takeAll(room: Room, task: Task, onTaken = () => {}): number {
  for (let taken = 0; taken < most; taken++) {
    if (!room.take(task, false)) return taken;
    onTaken();
  }
  return most;
}

const found = freeBytes.map((bytes) => {
  rmSync(ballast, { force: true });
  writeFileSync(data, empty);
  const { bavail, bsize } = statfsSync(root);
  writeFileSync(ballast, Buffer.alloc(bavail * bsize - Number(bytes)));
  const room = Room.begin(data, () => Number.POSITIVE_INFINITY)!;
  const begun = statSync(data).size;
  let ahead = 0;
  const long = takeAll(room, put(Number(longBytes)), () => {
    if (statSync(data).size === begun) ahead++;
  });
  const short = takeAll(room, put(shortBytes));
  return {
    long,
    ahead,
    short,
    deletes: room.take(remove, false),
    system: room.take(put(shortBytes, systemTable), false),
  };
});
process.stdout.write(`${JSON.stringify(found)}\n`);
