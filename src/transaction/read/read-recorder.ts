import type { Columns } from "../../store/index.js";

/** What a serializable transaction must see unchanged when it commits. */
export interface ReadRange {
  readonly table: string;
  readonly start: Uint8Array | undefined;
  readonly end: Uint8Array | undefined;
  readonly columns: Columns;
}

/** Told of everything that is read, where somebody needs to know. */
export interface ReadRecorder {
  row(table: string, row: Uint8Array, columns: Columns): void;
  range(range: ReadRange): void;
}
