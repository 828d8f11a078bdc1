/**
 * The application of the operated cluster. It counts the words of each document. For each number of
 * words, it also counts the documents that have that number.
 */
import { int, observer, table, text } from "percolatordb";

export const documents = table("documents", { contents: text(), words: int() });
export const lengths = table("lengths", { documents: int() });

const wordsOf = (contents: string) => contents.split(" ").length;

const count = observer("count", documents.contents, async (tx, { row, value, previous }) => {
  const [before, now] = [previous, value].map((each) => (each === undefined ? undefined : wordsOf(each)));
  if (now === undefined) tx.delete(documents.words, row);
  else tx.set(documents.words, row, now);
  if (before === now) return;
  for (const [length, by] of [
    [before, -1],
    [now, 1],
  ] as const) {
    if (length === undefined) continue;
    const key = String(length);
    tx.set(lengths.documents, key, ((await tx.get(lengths.documents, key)) ?? 0) + by);
  }
});

// biome-ignore lint/style/noDefaultExport: what the command line takes
export default { tables: [documents, lengths], observers: [count] };
