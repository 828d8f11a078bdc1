import { type Observer, observer } from "percolatordb";
import { embedByFeatureHashing, encodeVector } from "./feature-hashing.js";
import { split } from "./split.js";
import { chunks, documents, vectors } from "./tables.js";

/*
 * A chunk exists as long as a document contains it. `cut` reads whether a chunk exists and adds its
 * document. `forget` reads whether the chunk has any document and removes it. Each reads what the
 * other writes, so both are serializable. Under snapshot isolation a chunk could be removed at the
 * moment when a second document begins to contain it.
 */
const serializable = { isolation: "serializable" } as const;

/** Cuts a changed document into chunks. Writes only the chunks that were added or removed. */
export const cut = observer(
  "cut",
  documents.text,
  async (tx, { row: path, value: text }) => {
    const after = new Map(split(text ?? "").map((chunk) => [chunk.id, chunk]));
    const before = new Set((await tx.get(documents.chunks, path)) ?? []);
    for (const id of before) if (!after.has(id)) tx.delete(chunks.documents.at(path), id);
    for (const chunk of after.values()) {
      if (before.has(chunk.id)) continue;
      tx.set(chunks.documents.at(path), chunk.id, "");
      if ((await tx.get(chunks.text, chunk.id)) === undefined) tx.set(chunks.text, chunk.id, chunk.text);
    }
    if (text === undefined) tx.delete(documents.chunks, path);
    else
      tx.set(
        documents.chunks,
        path,
        split(text).map(({ id }) => id),
      );
  },
  serializable,
);

/** Removes a chunk that no document contains any more. */
export const forget = observer(
  "forget",
  chunks.documents,
  async (tx, { row: id, value }) => {
    if (value !== undefined) return;
    for await (const _ of tx.entries(chunks.documents, id, { limit: 1 })) return;
    tx.delete(chunks.text, id);
  },
  serializable,
);

/**
 * Embeds a new chunk. Calls `onEmbedded` each time, because with a model this is the expensive
 * part.
 */
export function embedding(onEmbedded: () => void = () => {}): Observer {
  return observer("embed", chunks.text, (tx, { row: id, value: text }) => {
    if (text === undefined) return tx.delete(vectors.vector, id);
    onEmbedded();
    tx.set(vectors.vector, id, encodeVector(embedByFeatureHashing(text)));
  });
}

export const observersOf = (onEmbedded?: () => void): readonly Observer[] => [
  cut,
  forget,
  embedding(onEmbedded),
];
