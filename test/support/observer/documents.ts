import { observer } from "../../../src/observer/index.js";
import { family, int, signal, table, text } from "../../../src/schema/index.js";

/** The table of these tests. */
export const documents = table("documents", {
  contents: text(),
  length: int(),
  anchors: family(text()),
  anchorLengths: family(int()),
  words: int(),
  poke: signal(),
  poked: int(),
});

/** Stores the length of a document's contents. */
export const length = observer("length", documents.contents, (tx, { row, value }) => {
  if (value === undefined) tx.delete(documents.length, row);
  else tx.set(documents.length, row, value.length);
});

/** Stores the number of words of a document's contents. */
export const words = observer("words", documents.contents, (tx, { row, value }) => {
  tx.set(documents.words, row, value === undefined ? 0 : value.split(" ").length);
});
