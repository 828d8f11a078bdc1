/** The hint of one observer for one cell. */
export interface HintModel {
  readonly observer: string;
  /** Row and column of the observed cell, as strings of their bytes. */
  readonly row: string;
  readonly column: string;
  /** Timestamps of the hint's versions in the store. */
  stamps: number[];
}
