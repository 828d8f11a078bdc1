/**
 * Makes several edits of a site, and shows how many pages each edit rendered again. See README.md.
 */
import { type Database, open, type Transaction } from "percolatordb";
import { commandOf } from "../support/command.js";
import { differences, renderAll } from "./batch.js";
import { observers, rendering } from "./observers.js";
import { authors, makeSite, setPost } from "./site.js";
import { data, pages, tables, templates } from "./tables.js";

const posts = 500;

const edits: readonly (readonly [what: string, edit: (tx: Transaction) => void])[] = [
  ["one post", (tx) => setPost(tx, 7, "As it was written again.")],
  ["an author's name", (tx) => tx.set(data.value, "author ann", "Ann Miller")],
  [
    "a partial of the imprint alone",
    (tx) => tx.set(templates.text, "imprint", "<h1>{{title}}</h1>{{> footer}}"),
  ],
  [
    "a banner in the header, two templates deep",
    (tx) => tx.set(templates.text, "banner", "<b>New: {{data news}}</b>"),
  ],
  ["what the banner says", (tx) => tx.set(data.value, "news", "a map")],
  ["the footer", (tx) => tx.set(templates.text, "footer", "<footer>{{data year}}</footer>")],
  ["the title, which the footer no longer has", (tx) => tx.set(data.value, "site title", "Notebook")],
  ["a value that nobody uses", (tx) => tx.set(data.value, "motto", "none")],
  ["a post that is deleted", (tx) => tx.delete(pages.source, "/posts/7")],
];

const command = commandOf(
  "pages",
  "Edits a site of posts, and shows how few of its pages are rendered again.",
)
  .argument("[location]", "where the site is kept: a folder, postgres://, or memory:", "memory:")
  .parse();
await using db = await open(command.processedArgs[0] as string, { tables, observers });
await using worker = db.work();
console.log(`${posts} posts of ${authors.length} authors, and an imprint\n`);
console.log(
  `${"edited".padEnd(46)}${"rendered".padStart(10)}${"ms".padStart(8)}${"all of it, ms".padStart(16)}`,
);
await show("everything, for the first time", () => makeSite(db, posts));
for (const [what, edit] of edits) await show(what, () => db.transact(edit));

/**
 * Makes an edit, waits until everything is rendered, and compares with a rendering from scratch.
 */
async function show(what: string, edit: () => Promise<unknown>): Promise<void> {
  const before = renders(db);
  const began = performance.now();
  await edit();
  await worker.idle();
  const ms = performance.now() - began;
  const rendered = renders(db) - before;
  await using view = await db.snapshot();
  const beganAll = performance.now();
  await renderAll(view);
  const allMs = performance.now() - beganAll;
  const columns = [String(rendered).padStart(10), ms.toFixed(0).padStart(8), allMs.toFixed(0).padStart(16)];
  console.log(`${what.padEnd(46)}${columns.join("")}`);
  const different = await differences(view);
  for (const difference of different) console.error(difference);
  if (different.length > 0) process.exitCode = 1;
}

function renders(database: Database): number {
  return database.metrics.observers[rendering.name]?.runs.committed ?? 0;
}
