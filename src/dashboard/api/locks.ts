import type { CellName } from "./shared.js";

/** `GET api/locks?after=&limit=`. */
export interface LocksPage {
  readonly locks: readonly LockShown[];
  readonly next: string | undefined;
  /** Whether reading took too long and was stopped, so that there may be more. */
  readonly isCut: boolean;
}

export interface LockShown extends CellName {
  /** Send it as `{ "id": ... }` to `POST api/locks/resolve`. */
  readonly id: string;
  readonly kind: string;
  readonly startTimestamp: number;
  readonly primary: CellName;
  readonly isPrimary: boolean;
  readonly session: string;
  readonly ageMs: number;
  readonly ttlMs: number;
  readonly ownerLives: boolean | undefined;
}
