/**
 * Asks whether the free pages of a data file have space for a value on a full disk: first as LMDB
 * left them, and then after they became holes. A copy that leaves out zeros creates such holes.
 * Prints both answers as JSON.
 */
import { execFileSync } from "node:child_process";
import { closeSync, fstatSync, ftruncateSync, openSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { RowMutation } from "../../src/store/index.js";
import { DataFile } from "../../src/store/lmdb/file/pages.js";
import { openLmdbStore } from "../../src/store/lmdb/index.js";
import { Room } from "../../src/store/lmdb/write/room.js";

const [root] = process.argv.slice(2) as [string];
const data = join(root, "data", "data.mdb");
const ballast = join(root, "ballast");

const column = Buffer.from("c");
const mutation = (row: string, ...mutations: RowMutation["mutations"]): RowMutation => ({
  table: "t",
  row: Buffer.from(row),
  guards: [],
  mutations,
});
const put = (row: string, value: Buffer) =>
  mutation(row, { type: "put", column, part: "write", timestamp: 1, value });
const remove = (row: string) =>
  mutation(row, { type: "delete", column, part: "write", from: 0, to: Number.POSITIVE_INFINITY });

const store = await openLmdbStore(join(root, "data"));
const rows = Array.from({ length: 10 }, (_, index) => `row${index}`);
for (const row of rows) await store.mutate(put(row, Buffer.alloc(400_000)));
for (const row of rows) await store.mutate(remove(row));
for (const row of rows) await store.mutate(put("small", Buffer.from(row)));
await store.close();

// Cuts the file off after LMDB's last page, so that it has no space that was added in advance.
const file = openSync(data, "r+");
const state = new DataFile(file, fstatSync(file).size).newest();
ftruncateSync(file, (state.lastPage + 1) * state.pageSize);
closeSync(file);

function hasRoom(): boolean {
  const { bavail, bsize } = statfsSync(root);
  writeFileSync(ballast, Buffer.alloc(bavail * bsize));
  const room = Room.begin(data, () => Number.POSITIVE_INFINITY)!;
  const isTaken = room.take({ type: "mutate", mutation: put("other", Buffer.alloc(100, 1)) }, false);
  rmSync(ballast);
  return isTaken;
}

const whole = hasRoom();
execFileSync("fallocate", ["--dig-holes", data]);
process.stdout.write(`${JSON.stringify({ whole, holes: hasRoom() })}\n`);
