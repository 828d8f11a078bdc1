/**
 * Loads the long site into a folder, but not to its end: `child.ts FOLDER`. Its source waits for ever
 * after some pages, until the process is killed. Prints each progress report.
 */
import { type LoadRow, loadPart, open } from "percolatordb";
import { documents, longSiteOf, observersOf, partsOf, tables } from "./app.js";

/** More than the batches that a load has under way at once. */
const maxPages = 150;
const [folder] = process.argv.slice(2);
const [pages, ...others] = partsOf(longSiteOf(400));
// A promise alone does not keep a process alive.
setInterval(() => {}, 60_000);

async function* unfinished(after: string | undefined): AsyncGenerator<LoadRow<typeof documents>> {
  let count = 0;
  for await (const row of pages!.rows(after)) {
    if (count++ === maxPages) await new Promise(() => {});
    yield row as LoadRow<typeof documents>;
  }
}

await using db = await open(folder!, { tables, observers: observersOf({ count: 0 }) });
await db.load("first", [loadPart(documents, unfinished), ...others], {
  onProgress: ({ rows }) => process.stdout.write(`stored ${rows}\n`),
});
