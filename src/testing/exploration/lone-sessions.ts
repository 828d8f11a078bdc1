import { type HostedObservers, Sessions } from "../../observer/index.js";

/**
 * Sessions of a process that knows of no other process and publishes nothing about itself, so it
 * takes every hint. Knowledge of other processes only divides the work. It removes interleavings
 * and adds none.
 */
export class LoneSessions extends Sessions {
  override async host(_observers: HostedObservers): Promise<void> {}

  override async refresh(): Promise<void> {}
}
