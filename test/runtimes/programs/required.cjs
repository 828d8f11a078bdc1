const { open, table, text } = require("percolatordb");
const recipes = require("percolatordb/recipes");

const notes = table("notes", { text: text() });

async function main() {
  const db = await open("memory:", { tables: [notes] });
  await db.transact((tx) => tx.set(notes.text, "a", "b"));
  const found = await db.transact((tx) => tx.get(notes.text, "a"));
  await db.close();
  if (found !== "b" || typeof recipes.derive !== "function") throw new Error(`found ${found}`);
}

main().catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exitCode = 1;
});
