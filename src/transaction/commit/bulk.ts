import type { StoreCapabilities } from "../../store/index.js";

const maxGraceMs = 60_000;
/** The grace as a part of the retention. */
const share = 20;

/**
 * For how much longer than the retention collection keeps what is superseded, in milliseconds, on a store of which
 * secondaries are committed in bulk, and so without a guard (protocol §7.4). Such a mutation arrives at most
 * the retention after it was sent, and is sent within half of the grace after its commit timestamp was asked for. So whatever of
 * its cell came after it, and would hide it, still stands; what it writes then is what a guard would have let it write, or what stands
 * there already. The other half is for clocks that differ.
 */
export function graceMs({ bulkMutations }: StoreCapabilities, retentionMs: number): number {
  return bulkMutations === true ? Math.min(maxGraceMs, retentionMs / share) : 0;
}

/** Whether secondaries may go in bulk so long after their commit timestamp was asked for. */
export function mayGoInBulk(
  capabilities: StoreCapabilities,
  retentionMs: number,
  sinceAskedMs: number,
): boolean {
  return sinceAskedMs < graceMs(capabilities, retentionMs) / 2;
}
