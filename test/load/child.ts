/** Loads the long site into a folder: `child.ts FOLDER`. Prints each progress report. */
import { open } from "percolatordb";
import { longSiteOf, observersOf, partsOf, tables } from "./app.js";

const [folder] = process.argv.slice(2);
await using db = await open(folder!, { tables, observers: observersOf({ count: 0 }) });
await db.load("first", partsOf(longSiteOf(200)), {
  onProgress: ({ rows }) => process.stdout.write(`stored ${rows}\n`),
});
process.stdout.write("published\n");
