import { type HostedObservers, Sessions } from "../../observer/index.js";

/**
 * Sessions of a process that knows of no other, and tells none of itself: it takes every hint on. What processes know of each other
 * divides the work; it takes interleavings away, and adds none.
 */
export class LoneSessions extends Sessions {
  override async host(_observers: HostedObservers): Promise<void> {}

  override async refresh(): Promise<void> {}
}
