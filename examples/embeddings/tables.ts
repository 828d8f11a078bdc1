/** What is stored. Documents come in by `documents.text`; the observers derive everything else. */
import { bytes, family, json, table, text } from "percolatordb";

/** Documents by path. */
export const documents = table("documents", {
  text: text(),
  /** The ids of its chunks, in their order. */
  chunks: json<readonly string[]>(),
});

/**
 * Chunks by id, which is the hash of their text: one that stands in several documents is there
 * once.
 */
export const chunks = table("chunks", {
  text: text(),
  /** The documents that contain it, by path. */
  documents: family(text()),
});

/** The index: the embedding of each chunk, by its id. */
export const vectors = table("vectors", { vector: bytes() });

export const tables = [documents, chunks, vectors];
