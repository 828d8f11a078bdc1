/**
 * A process of panic.test.ts on the given folder.
 *
 * - `flusher` commits small transactions from its first line of input until it is killed. Its
 *   flushes are delayed from outside.
 * - `survivor` commits large and small transactions, several at a time, and reads, until its input
 *   ends. It reports when a transaction waits, and answers each input line with the number of times
 *   that the store was repaired. At the end it checks that every confirmed commit is in the
 *   database, and prints the result as JSON.
 */
import { once } from "node:events";
import { open, PercolatorError, table, text } from "percolatordb";
import { openLmdbStore } from "percolatordb/lmdb";
import { pause } from "../support/waiting.js";

const log = table("log", { contents: text() });
/**
 * The rows of a large transaction, 3 KB each. They need so many pages that LMDB waits for a running
 * flush inside the transaction.
 */
const largeRows = 600;
/** A transaction that takes this long waits for the other process's flush. */
const waitingMs = 150;
const [folder, role] = process.argv.slice(2) as [string, "flusher" | "survivor"];
process.stdout.write(`loaded ${process.pid}\n`);
// The process is started in advance, so a round need not wait for it to load.
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
 * Commits one large transaction, and other transactions that arrive while it waits for another
 * process's flush. Every group contains a large transaction, so the process holds LMDB's write lock
 * whenever it waits. Large transactions always write the same rows, so the file stays small.
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
