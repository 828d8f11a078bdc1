/**
 * A process of panic.test.ts on the folder that it is given. `flusher`: commits little transactions, whose flushes are delayed from
 * outside, from its first line of input until it is killed. `survivor`: commits large and small ones, several at a time, and reads, until its input ends; says when
 * one waits, and answers each line with how often the store was mended. At last it looks whether all that it was told is there, and prints what it came to as JSON.
 */
import { once } from "node:events";
import { open, PercolatorError, table, text } from "percolatordb";
import { openLmdbStore } from "percolatordb/lmdb";
import { pause } from "../support/waiting.js";

const log = table("log", { contents: text() });
/** Of 3 KB each: enough pages for LMDB to wait for the flush inside the transaction. */
const largeRows = 600;
/** A transaction that takes so long waits for the flush of the other process. */
const waitingMs = 150;
const [folder, role] = process.argv.slice(2) as [string, "flusher" | "survivor"];
process.stdout.write(`loaded ${process.pid}\n`);
// Loaded ahead of time, so that a round need not wait for it.
if (role === "flusher") await once(process.stdin, "data");
const store = await openLmdbStore(folder);
const db = await open(store, { tables: [log], collectEveryMs: 0 });
const told: string[] = [];
const unknown: string[] = [];
const errors: string[] = [];
let reads = 0;
let over = false;

function note(doing: string, error: unknown): void {
  const code = error instanceof PercolatorError ? error.code : "no error of the package";
  errors.push(`${doing}: ${code}: ${String(error)}`);
}

async function write(name: string, rows: number, bytes: number): Promise<void> {
  const value = "x".repeat(bytes);
  try {
    await db.transact((tx) => {
      for (let row = 0; row < rows; row++) tx.set(log.contents, `${name} ${row}`, value);
    });
    told.push(`${name} ${rows - 1}`);
  } catch (error) {
    if (error instanceof PercolatorError && error.code === "COMMIT_OUTCOME_UNKNOWN") unknown.push(name);
    else note("write", error);
  }
}

/**
 * One large transaction, and others that come while it waits for the flush of another process. Every group has a large one, so that
 * the process holds LMDB's write lock whenever it waits. Over and over on the same rows: the file stays small.
 */
async function writer(): Promise<void> {
  for (let round = 0; !over; round = (round + 1) % 10) {
    const first = write(`large ${round}`, largeRows, 3_000);
    const late = setTimeout(() => process.stdout.write("waiting\n"), waitingMs);
    void first.then(() => clearTimeout(late));
    await pause(20);
    await Promise.all([first, write(`other ${round}`, largeRows, 3_000), write(`small ${round}`, 1, 10)]);
  }
}

async function reader(): Promise<void> {
  for (; !over; reads++) {
    try {
      await using snapshot = await db.snapshot();
      for await (const _ of snapshot.scan(log.contents, { limit: 20 }));
    } catch (error) {
      note("read", error);
    }
    await pause(2);
  }
}

process.stdout.write("ready\n");
if (role === "flusher") {
  for (;;) await write("flusher", 1, 1);
}
process.stdin.on("data", () => {
  void Promise.resolve(store.statistics()).then(({ timesMended }) =>
    process.stdout.write(`mended ${timesMended}\n`),
  );
});
process.stdin.on("end", () => {
  over = true;
});
await Promise.all([writer(), reader(), reader()]);
{
  await using snapshot = await db.snapshot();
  for (const row of new Set(told))
    if ((await snapshot.get(log.contents, row)) === undefined) errors.push(`${row} is gone`);
}
for (const problem of await db.check()) errors.push(JSON.stringify(problem));
const { timesMended: mended } = await store.statistics();
await db.close();
await store.close();
process.stdout.write(
  `${JSON.stringify({ told: told.length, unknown: unknown.length, reads, errors, mended })}\n`,
  () => process.exit(0),
);
