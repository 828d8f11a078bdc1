/** The tables and the observer of the other programs. */
import { int, observer, table, text } from "percolatordb";

export const documents = table("documents", { body: text(), length: int() });
export const measure = observer("measure", documents.body, (tx, { row, value }) => {
  tx.set(documents.length, row, value.length);
});

/** Ends the process with an error if two values differ. */
export function same(actual, expected) {
  const [a, b] = [actual, expected].map((value) => JSON.stringify(value));
  if (a !== b) throw new Error(`${a} instead of ${b}`);
}

/** Writes rows, runs the observer, and compares what it wrote with what it should write. */
export async function use(db, count = 100) {
  const rows = Array.from({ length: count }, (_, index) => `row ${String(index).padStart(4, "0")}`);
  await Promise.all(
    rows.map((row, index) => db.transact((tx) => tx.set(documents.body, row, "x".repeat(index % 7)))),
  );
  await db.drain();
  const found = [];
  const snapshot = await db.snapshot();
  for await (const { row, value } of snapshot.scan(documents)) found.push([row, value.length]);
  snapshot.close();
  same(
    found,
    rows.map((row, index) => [row, index % 7]),
  );
  same(await db.check(), []);
}
