import type { StoreCapabilities } from "../../store/index.js";

const maxGraceMs = 60_000;
/** The grace is a twentieth of the retention. */
const share = 20;

/**
 * Milliseconds that collection adds to the retention on a store with bulk mutations (protocol
 * §7.4). Secondaries in bulk have no guard, so superseded versions must outlive them.
 *
 * Such a mutation is sent within half of the grace after the transaction asked for its commit
 * timestamp. It arrives at most the retention after that. Every later version of its cell still
 * exists then. Its write therefore changes only what a guard would have allowed, or repeats what is
 * there. The other half of the grace covers clocks that differ.
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
