import { type HostedObservers, Sessions } from "../../observer/index.js";

/**
 * Sessions of a process that knows of no other process and publishes nothing about itself, so it
 * takes every hint. If processes knew of each other, they would only divide the work. The explorer
 * would then see fewer interleavings, and no new ones.
 */
export class LoneSessions extends Sessions {
  override async host(_observers: HostedObservers): Promise<void> {}

  override async refresh(): Promise<void> {}
}
