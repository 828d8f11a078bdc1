import type { StoreCapabilities } from "../../store/index.js";

/** 1 min: the longest grace. */
const maxGraceMs = 60_000;
/** A twentieth of the retention: collection keeps versions at most 5% longer for the grace. */
const share = 20;

/**
 * Milliseconds that collection adds to the retention on a store with bulk mutations (protocol
 * §7.4).
 *
 * When secondaries are committed in bulk, their mutations have no guard. A late mutation is
 * harmless only if the store still holds the later versions that hide it. The transaction sends the
 * mutation within half of the grace after it asked for its commit timestamp. No request takes
 * longer than the retention to arrive, and for that long collection keeps the later versions. A
 * late mutation therefore writes only what its guard would have allowed, or what the store already
 * holds. The other half of the grace allows for clocks that differ.
 */
export function graceMs({ bulkMutations }: StoreCapabilities, retentionMs: number): number {
  return bulkMutations === true ? Math.min(maxGraceMs, retentionMs / share) : 0;
}

/**
 * Whether secondaries may still be committed in bulk. `sinceAskedMs` is the time since the
 * transaction asked for its commit timestamp.
 */
export function mayGoInBulk(
  capabilities: StoreCapabilities,
  retentionMs: number,
  sinceAskedMs: number,
): boolean {
  return sinceAskedMs < graceMs(capabilities, retentionMs) / 2;
}
