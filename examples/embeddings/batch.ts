import type { Snapshot } from "percolatordb";
import { embedByFeatureHashing, encodeVector } from "./feature-hashing.js";
import { split } from "./split.js";
import { chunks, documents, vectors } from "./tables.js";

/** Every cell of the index, by `TABLE ROW COLUMN`, as text. */
type Cells = Map<string, string>;

/** The batch twin: builds the whole index from the documents alone, in one snapshot. */
async function build(view: Snapshot): Promise<Cells> {
  const cells: Cells = new Map();
  for await (const { row: path, value: text } of view.scan(documents.text)) {
    const parts = split(text);
    cells.set(`documents ${path} chunks`, JSON.stringify(parts.map(({ id }) => id)));
    for (const { id, text: part } of parts) {
      cells.set(`chunks ${id} text`, part);
      cells.set(`chunks ${id} documents:${path}`, "");
      cells.set(`vectors ${id} vector`, hexadecimal(encodeVector(embedByFeatureHashing(part))));
    }
  }
  return cells;
}

/**
 * Compares the observers' results with the twin's. Returns the cells that differ. Empty when all
 * work is done.
 */
export async function differences(view: Snapshot): Promise<readonly string[]> {
  const expected = await build(view);
  const found: string[] = [];
  const compare = (cell: string, value: string) => {
    if (expected.get(cell) !== value) found.push(cell);
    expected.delete(cell);
  };
  for await (const { row, value } of view.scan(documents.chunks))
    compare(`documents ${row} chunks`, JSON.stringify(value));
  for await (const { row, value } of view.scan(chunks)) {
    if (value.text !== undefined) compare(`chunks ${row} text`, value.text);
    for (const path of value.documents.keys()) compare(`chunks ${row} documents:${path}`, "");
  }
  for await (const { row, value } of view.scan(vectors.vector))
    compare(`vectors ${row} vector`, hexadecimal(value));
  return [...found, ...expected.keys()];
}

function hexadecimal(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}
