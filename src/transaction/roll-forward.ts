import type { Mutation } from "../store/index.js";
import { encodeWrite, type LockRecord } from "./records.js";

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
