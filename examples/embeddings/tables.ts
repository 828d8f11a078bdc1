/** The tables. Documents are loaded into `documents.text`. The observers derive everything else. */
import { bytes, family, json, table, text } from "percolatordb";

/** Documents by path. */
export const documents = table("documents", {
  text: text(),
  /** The ids of its chunks, in order. */
  chunks: json<readonly string[]>(),
});

/** Chunks by id, which is the hash of their text. A chunk in several documents is stored once. */
export const chunks = table("chunks", {
  text: text(),
  /** The documents that contain it, by path. */
  documents: family(text()),
});

/** The index: the embedding of each chunk, by its id. */
export const vectors = table("vectors", { vector: bytes() });

export const tables = [documents, chunks, vectors];
