/**
 * Maintains an index of embeddings over a folder of Markdown, and shows the cost of each change.
 * See README.md.
 */
import { existsSync } from "node:fs";
import { open } from "percolatordb";
import { commandOf } from "../support/command.js";
import { differences } from "./batch.js";
import { loadFolder, setDocument } from "./folder.js";
import { observersOf } from "./observers.js";
import { nearest } from "./search.js";
import { documents, tables, vectors } from "./tables.js";

const command = commandOf(
  "embeddings",
  "Keeps vectors of the parts of Markdown files up to date, and searches by meaning.",
)
  .argument("[folder]", "the folder of the files", existsSync("docs") ? "docs" : "node_modules")
  .option("--data <location>", "where the vectors are kept: a folder, postgres://, or memory:", "memory:")
  .option("--ask <question...>", "what to search for")
  .parse();
const options = command.opts<{ data: string; ask?: string[] }>();
const folder = command.processedArgs[0] as string;
const questions = options.ask ?? [
  "serializable isolation prevents write skew",
  "garbage collection, safepoint and retention",
];

let embedded = 0;
await using db = await open(options.data, { tables, observers: observersOf(() => embedded++) });
await using worker = db.work();

console.log(`${"".padEnd(44)}${"chunks".padStart(8)}${"embedded".padStart(10)}${"ms".padStart(8)}`);
await show(`all of ${folder}`, () => loadFolder(db, folder));
await show("the same again", () => loadFolder(db, folder));
const [path, text] = await longest();
const middle = text.indexOf("\n", text.length / 2) + 1;
const longer = `${text.slice(0, middle)}\nA paragraph was added here.\n${text.slice(middle)}`;
await show(`a paragraph is added to ${path}`, () => setDocument(db, path, longer));
await show("a copy of it comes", () => setDocument(db, `copy of ${path}`, longer));
await show("the copy goes", () => db.transact((tx) => tx.delete(documents.text, `copy of ${path}`)));
await show("the paragraph is taken out", () => setDocument(db, path, text));
for (const question of questions) await ask(question);

/**
 * Makes a change, waits until the index is up to date, and compares it with an index built from
 * scratch.
 */
async function show(what: string, change: () => Promise<unknown>): Promise<void> {
  const before = embedded;
  const began = performance.now();
  await change();
  await worker.idle();
  const ms = performance.now() - began;
  await using view = await db.snapshot();
  let count = 0;
  for await (const _ of view.scan(vectors.vector)) count++;
  const columns = [
    String(count).padStart(8),
    String(embedded - before).padStart(10),
    ms.toFixed(0).padStart(8),
  ];
  console.log(`${what.padEnd(44)}${columns.join("")}`);
  for (const cell of await differences(view)) {
    console.error(`It differs from an index built from scratch: ${cell}`);
    process.exitCode = 1;
  }
}

async function longest(): Promise<readonly [path: string, text: string]> {
  await using view = await db.snapshot();
  let found: readonly [string, string] = ["none.md", "Nothing.\n"];
  for await (const { row, value } of view.scan(documents.text)) {
    if (value.length > found[1].length) found = [row, value];
  }
  return found;
}

async function ask(question: string): Promise<void> {
  await using view = await db.snapshot();
  console.log(`\n"${question}"`);
  for (const { similarity, text, documents } of await nearest(view, question)) {
    const line = text.replace(/\s+/g, " ").trim();
    console.log(
      `  ${similarity.toFixed(2)}  ${documents.join(", ")}: ${line.slice(0, 90)}${line.length > 90 ? "..." : ""}`,
    );
  }
}
