/** Loads the long archive in bulk: `bulk-child.ts FOLDER PAGES`. Prints each stage. */
import { WebIndex } from "../webindex.js";
import { longArchive } from "./bulk-crawl.js";

const [folder, pages] = process.argv.slice(2);
await using index = await WebIndex.open(folder!);
await index.bulkLoad([longArchive(Number(pages))], {
  onStage: ({ doing, pages: count }) => process.stdout.write(`${doing} ${count}\n`),
});
process.stdout.write("loaded\n");
