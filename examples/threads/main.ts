/**
 * Renders every Markdown document of a folder in the main thread and on threads, and shows how long
 * that took and how busy the main thread was. See README.md.
 */
import { readdir, readFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { type Observer, observer, open } from "percolatordb";
import { commandOf, whole } from "../support/command.js";
import { rendering } from "./observers.js";
import { type Rendering, render } from "./render.js";
import { documents, tables } from "./tables.js";
import { ThreadPool } from "./thread-pool.js";

const command = commandOf(
  "threads",
  "Renders Markdown files in an observer, on the main thread and on others.",
)
  .argument("[folder]", "the folder of the files", "docs")
  .option("--threads <number>", "how many threads", whole(1, 256), availableParallelism())
  .parse();
const { threads } = command.opts<{ threads: number }>();
const pages = await read(command.processedArgs[0] as string);

const inMainThread = observer("render", documents.markdown, (tx, { row: path, value }) => {
  if (value === undefined) tx.delete(documents.html, path);
  else tx.set(documents.html, path, render({ markdown: value }));
});

await using pool = new ThreadPool<Rendering, Uint8Array>(new URL("./render.ts", import.meta.url), {
  threads,
  onError: (error) => console.error(error),
});
// The first documents also wait for the threads to start.
await show("in the main thread", inMainThread);
await show(`on threads: ${threads}`, rendering(pool));

async function read(folder: string): Promise<ReadonlyMap<string, Uint8Array>> {
  const found = new Map<string, Uint8Array>();
  for (const name of await readdir(folder, { recursive: true })) {
    if (name.endsWith(".md")) found.set(name, await readFile(join(folder, name)));
  }
  return found;
}

async function show(where: string, observer: Observer): Promise<void> {
  await using db = await open("memory:", { tables, observers: [observer] });
  await db.transact((tx) => {
    for (const [path, markdown] of pages) tx.set(documents.markdown, path, markdown);
  });
  const began = performance.now();
  const before = performance.eventLoopUtilization();
  await db.drain();
  const { utilization } = performance.eventLoopUtilization(before);
  const ms = performance.now() - began;
  await using view = await db.snapshot();
  let right = 0;
  for await (const { row, value } of view.scan(documents.html)) {
    if (Buffer.compare(value, render({ markdown: pages.get(row)! })) === 0) right++;
  }
  const busy = `main thread ${(utilization * 100).toFixed(0)} % busy`;
  console.log(`${where.padEnd(20)} ${right} of ${pages.size} documents right, ${ms.toFixed(0)} ms, ${busy}`);
}
