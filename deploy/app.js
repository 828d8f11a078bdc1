// A small application for trying a cluster. Counts the words of each document, and the documents
// with each number of words.
import { int, observer, table, text } from "percolatordb";

const documents = table("documents", { contents: text(), words: int() });
const lengths = table("lengths", { documents: int() });

const count = observer("count", documents.contents, async (tx, { row, value }) => {
  const before = await tx.get(documents.words, row);
  const words = value === undefined ? undefined : value.split(/\s+/).filter((word) => word !== "").length;
  if (before === words) return;
  for (const [length, by] of [
    [before, -1],
    [words, 1],
  ]) {
    if (length === undefined) continue;
    const key = String(length);
    tx.set(lengths.documents, key, ((await tx.get(lengths.documents, key)) ?? 0) + by);
  }
  if (words === undefined) tx.delete(documents.words, row);
  else tx.set(documents.words, row, words);
});

// biome-ignore lint/style/noDefaultExport: it is what the program looks for
export default { tables: [documents, lengths], observers: [count] };
