/**
 * Predicts which other columns of a row a transaction will read (the paper, section 2.5).
 * `Prefetch` fetches them with the first request for the row. A wrong prediction only costs bytes.
 * `src/observer` implements this interface.
 */
export interface ReadPredictor {
  /**
   * Columns of a row that are likely to be read, each once. Called once per row, before the first
   * request for it is sent.
   */
  expected(table: string, row: Uint8Array): readonly Uint8Array[];
  /**
   * Reports that a column was read, in a row for which `expected` was called. `bytes`: the size of
   * the cell.
   */
  read(table: string, row: Uint8Array, column: Uint8Array, how: ReadHow, bytes: number): void;
  /** Reports that the first request for a row fetched a column that no read had asked for yet. */
  fetched(table: string, row: Uint8Array, column: Uint8Array): void;
}

/**
 * How a column was read. `first`: by the first request for its row. `atHand`: from prefetched
 * cells. `asked`: by a later request.
 */
export type ReadHow = "first" | "atHand" | "asked";
