import type { Mutation, RowStore } from "../../store/index.js";
import type { BufferedWrite } from "../buffer.js";
import { encodeWrite, type LockRecord } from "../cell/records.js";

/**
 * The parts of a write that its lock, and later its write record, holds: the kind, and the value if
 * it is short enough to be inline.
 */
export function lockedValue(
  { capabilities }: Pick<RowStore, "capabilities">,
  { value }: Pick<BufferedWrite, "value">,
): Pick<LockRecord, "kind" | "value"> {
  const isInline = value !== undefined && value.length <= capabilities.inlineBytes;
  return { kind: value === undefined ? "delete" : "put", value: isInline ? value : undefined };
}

/**
 * Commits one locked cell: replaces the lock of the transaction at `start` with a write record at
 * `commit`. Every process writes the same bytes, so it is safe to repeat.
 */
export function rollForwardMutations(
  column: Uint8Array,
  start: number,
  commit: number,
  { kind, value }: Pick<LockRecord, "kind" | "value">,
): readonly Mutation[] {
  const record = encodeWrite({ start, kind, onePhase: false, value });
  return [
    { type: "put", column, part: "write", timestamp: commit, value: record },
    { type: "delete", column, part: "lock", from: start, to: start + 1 },
  ];
}
