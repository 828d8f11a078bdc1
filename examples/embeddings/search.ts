import type { Snapshot } from "percolatordb";
import { decodeVector, embedByFeatureHashing, similarity } from "./feature-hashing.js";
import { chunks, vectors } from "./tables.js";

export interface Neighbour {
  readonly similarity: number;
  readonly text: string;
  /** The documents that contain it. */
  readonly documents: readonly string[];
}

/**
 * Returns the chunks nearest to a question, the nearest first. The result is exact: it reads every
 * vector, which is fast for up to some hundred thousand vectors. Everything is read from one
 * snapshot. The vector of a removed chunk may exist a moment longer than its text, and is skipped.
 */
export async function nearest(view: Snapshot, question: string, limit = 3): Promise<readonly Neighbour[]> {
  const wanted = embedByFeatureHashing(question);
  let best: { readonly id: string; readonly similarity: number }[] = [];
  for await (const { row: id, value } of view.scan(vectors.vector)) {
    const found = { id, similarity: similarity(wanted, decodeVector(value)) };
    if (best.length === limit && found.similarity <= best.at(-1)!.similarity) continue;
    best = [...best, found].sort((a, b) => b.similarity - a.similarity).slice(0, limit);
  }
  const found = await Promise.all(
    best.map(async ({ id, similarity }) => {
      const { text, documents } = (await view.row(chunks, id)) ?? {};
      return text === undefined ? undefined : { similarity, text, documents: [...(documents?.keys() ?? [])] };
    }),
  );
  return found.filter((each) => each !== undefined);
}
