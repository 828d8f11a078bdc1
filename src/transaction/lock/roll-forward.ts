import type { Mutation, RowStore } from "../../store/index.js";
import type { BufferedWrite } from "../buffer.js";
import { encodeWrite, type LockRecord } from "../cell/records.js";

/** What a lock, and later the write record, holds of a write: the value where it is short. */
export function lockedValue(
  { capabilities }: Pick<RowStore, "capabilities">,
  { value }: Pick<BufferedWrite, "value">,
): Pick<LockRecord, "kind" | "value"> {
  const isInline = value !== undefined && value.length <= capabilities.inlineBytes;
  return { kind: value === undefined ? "delete" : "put", value: isInline ? value : undefined };
}

/**
 * What commits a cell that the transaction at `start` has locked: its write record at `commit`, in the lock's place. Whoever does it
 * writes the same bytes, so that a second time changes nothing.
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
