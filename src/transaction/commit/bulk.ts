import type { StoreCapabilities } from "../../store/index.js";

/** 1 min: the longest grace. */
const maxGraceMs = 60_000;
/** A twentieth of the retention: collection keeps versions at most 5% longer for the grace. */
const share = 20;

/**
 * Milliseconds that collection adds to the retention on a store with bulk mutations (protocol
 * §7.4).
 *
 * Secondaries in bulk have no guard, so a late one must still find the later versions that hide it.
 * It is sent within half of the grace after the transaction asked for its commit timestamp. It
 * arrives at most the retention after that. Collection keeps the later versions until then. The
 * late mutation therefore writes only what its guard would have allowed, or what is there already.
 * The other half of the grace covers clocks that differ.
 */
export function graceMs({ bulkMutations }: StoreCapabilities, retentionMs: number): number {
  return bulkMutations === true ? Math.min(maxGraceMs, retentionMs / share) : 0;
}

/**
 * Whether secondaries may still go in bulk, `sinceAskedMs` after the transaction asked for its
 * commit timestamp.
 */
export function mayGoInBulk(
  capabilities: StoreCapabilities,
  retentionMs: number,
  sinceAskedMs: number,
): boolean {
  return sinceAskedMs < graceMs(capabilities, retentionMs) / 2;
}
