import { byteString, type MaybePromise } from "../../store/index.js";
import type { CellAddress } from "../../transaction/index.js";
import type { Cluster } from "../cluster.js";

/** A claimed row, and how many tasks of this process use it. */
interface Claim {
  users: number;
  /** The request for the claim. Undefined once it was granted. */
  asking: Promise<boolean> | undefined;
}

/**
 * The rows that this process has claimed in the cluster (the paper, section 2.4). All hints of one
 * observer on one row share a claim. There are never more claims than tasks on the board.
 */
export class Claims {
  readonly #cluster: Cluster;
  readonly #held = new Map<string, Claim>();

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  /** Number of rows that are claimed or requested. */
  get size(): number {
    return this.#held.size;
  }

  /**
   * Claims a hint's row. False if another process has it. After each `true`, call {@link give}
   * once.
   */
  take(hint: CellAddress): MaybePromise<boolean> {
    const name = byteString(hint.row);
    const held = this.#held.get(name);
    if (held !== undefined) {
      held.users++;
      return held.asking === undefined ? true : this.#settled(name, held, held.asking);
    }
    const answer = this.#cluster.claim(hint.row);
    const claim: Claim = { users: 1, asking: answer instanceof Promise ? answer : undefined };
    if (answer === false) return false;
    this.#held.set(name, claim);
    return claim.asking === undefined ? true : this.#settled(name, claim, claim.asking);
  }

  async #settled(name: string, claim: Claim, asking: Promise<boolean>): Promise<boolean> {
    // A claim is only advice. Without an answer, this process does the work.
    const isGranted = await asking.catch(() => true);
    claim.asking = undefined;
    if (isGranted) return true;
    if (this.#held.get(name) === claim) this.#held.delete(name);
    return false;
  }

  /**
   * Called when a task has ended or was dropped. When no other task of the row is left, releases
   * the claim in the cluster.
   */
  give(hint: CellAddress): void {
    const name = byteString(hint.row);
    const held = this.#held.get(name);
    if (held === undefined || --held.users > 0) return;
    this.#held.delete(name);
    this.#cluster.release(hint.row);
  }
}
