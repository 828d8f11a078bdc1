/**
 * Loads rows into a folder on a small file system until it is full, discards the load, and loads
 * rows that fit. Prints what happened.
 */
import { bytes, loadPart, open, PercolatorError, table } from "../../src/index.js";

const [folder, rowBytes] = process.argv.slice(2) as [string, string];
const things = table("things", { value: bytes() });
const value = Buffer.alloc(Number(rowBytes), 7);

function rowsOf(count: number) {
  return [
    loadPart(things, function* (after) {
      const from = after === undefined ? 0 : Number(after) + 1;
      for (let index = from; index < count; index++)
        yield { row: String(index).padStart(9, "0"), value: { value } };
    }),
  ];
}

async function codeOf(run: Promise<unknown>): Promise<string> {
  return run.then(
    () => "none",
    (error: unknown) => (error instanceof PercolatorError ? error.code : String(error)),
  );
}

const db = await open(folder, { tables: [things], collectEveryMs: 0 });
const many = 1e9;
const first = await codeOf(db.load("first", rowsOf(many)));
const [stored] = await db.loads();
// Still full: the load continues where it stopped, and fails again.
const again = await codeOf(db.load("first", rowsOf(many)));
const [continued] = await db.loads();
const discarded = await codeOf(db.discardLoad("first"));
const left = (await db.inspect(things, "0".padStart(9, "0"))).length;
const fewer = Math.floor(stored!.rows / 2);
const second = await codeOf(db.load("second", rowsOf(fewer)));
let rows = 0;
await using snapshot = await db.snapshot();
for await (const { value } of snapshot.scan(things)) rows += value.value?.length === Number(rowBytes) ? 1 : 0;
const problems = (await db.check()).length;
process.stdout.write(
  `${JSON.stringify({
    first,
    again,
    storedBytes: stored!.rows * Number(rowBytes),
    grew: continued!.rows >= stored!.rows,
    discarded,
    left,
    second,
    missing: fewer - rows,
    problems,
  })}\n`,
);
await snapshot.close();
await db.close();
