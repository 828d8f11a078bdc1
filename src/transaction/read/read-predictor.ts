/**
 * What a transaction is likely to read of a row beside what it reads first (the paper, section 2.5: the other columns of a
 * row that earlier runs read are fetched in the same request). Only a guess: a wrong one costs bytes and nothing else. Stated
 * here, made by the observer room.
 */
export interface ReadPredictor {
  /** Columns likely to be read of a row, each once. Asked once for each row, before the first request for it is sent. */
  expected(table: string, row: Uint8Array): readonly Uint8Array[];
  /** A column was read of a row that was asked about. `bytes`: what its cell holds. */
  read(table: string, row: Uint8Array, column: Uint8Array, how: ReadHow, bytes: number): void;
  /** A column came with the first request for a row, and nobody had asked for it. */
  fetched(table: string, row: Uint8Array, column: Uint8Array): void;
}

/** By the first request for the row; without one, since it had come with that; or by one of its own. */
export type ReadHow = "first" | "atHand" | "asked";
