import type { RowMutation } from "../../store/index.js";
import type { BufferedWrite } from "../buffer.js";
import type { CellAddress } from "../cell/address.js";
import type { Hint } from "../context.js";
import type { ReadSet } from "./read-set.js";

/** A transaction that is to be committed: everything that the commit protocols need to know of it. */
export interface CommitRequest {
  readonly start: number;
  /** By table, row and column; no cell twice. */
  readonly writes: readonly BufferedWrite[];
  readonly signals: readonly CellAddress[];
  /** Which of the writes is to be the primary. Default: the first. */
  readonly primary: CellAddress | undefined;
  /** Present under `serializable`. */
  readonly reads: ReadSet | undefined;
  /** Writes the registry itself, and so does not ask it. */
  readonly system: boolean;
  /** Unguarded mutations that go into the batch of a one-phase commit, and only with it: hints that are done with. */
  readonly extras: readonly RowMutation[];
  /** Hints that are written besides those of the cells: of one observer, that is to look again. */
  readonly hints: readonly Hint[];
  readonly label: string | undefined;
  readonly signal: AbortSignal | undefined;
}
