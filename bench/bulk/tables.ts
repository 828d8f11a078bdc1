import { createHash } from "node:crypto";
import { int, type LoadPart, loadPart, observer, table, text } from "percolatordb";

export const documents = table("documents", { contents: text(), hash: text() });
/** A document's length by its hash. Derived, as a cluster of documents is. */
export const clusters = table("clusters", { length: int() });

export interface Shape {
  readonly rows: number;
  readonly bytes: number;
}

export const hashOf = (contents: string) =>
  createHash("sha256").update(contents).digest("base64").slice(0, 16);

export const documentOf = (index: number) => `https://site.example/${String(index).padStart(9, "0")}`;

/** Contents that no other document has. */
export const contentsOf = (index: number, { bytes }: Shape) => `document ${index} `.padEnd(bytes, "words ");

export const derive = observer("derive", documents.contents, (tx, { row, value }) => {
  const hash = hashOf(value ?? "");
  tx.set(documents.hash, row, hash);
  tx.set(clusters.length, hash, value?.length ?? 0);
});

/** The same tables as the observer makes, in key order. */
export function partsOf(shape: Shape): readonly LoadPart[] {
  const hashes = Array.from({ length: shape.rows }, (_, index) => hashOf(contentsOf(index, shape)));
  return [
    loadPart(clusters, () => [...hashes].sort().map((row) => ({ row, value: { length: shape.bytes } }))),
    loadPart(documents, function* () {
      for (const [index, hash] of hashes.entries())
        yield { row: documentOf(index), value: { contents: contentsOf(index, shape), hash } };
    }),
  ];
}
