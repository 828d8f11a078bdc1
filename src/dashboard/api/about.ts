import type { Reach } from "./shared.js";

/** `GET api/about`: facts that never change while the server runs. */
export interface About {
  readonly version: string;
  /** The location as the command line takes it. */
  readonly location: string;
  readonly store: string;
  readonly commit: "one-phase" | "two-phase";
  readonly retentionMs: number;
  /** Whether retry, discard and resolve are allowed. */
  readonly writable: boolean;
  readonly reach: Reach;
  readonly now: number;
}
