import { byteString, type MaybePromise } from "../../store/index.js";
import type { CellAddress } from "../../transaction/index.js";
import type { Cluster } from "../cluster.js";

/** A row that is claimed, and by how many tasks of this process. */
interface Claim {
  users: number;
  /** Undefined once it was granted. */
  asking: Promise<boolean> | undefined;
}

/**
 * The rows on which this process works, as the cluster knows them (the paper, section 2.4). All
 * hints of one observer on one row share a claim. There are never more than tasks on the board.
 */
export class Claims {
  readonly #cluster: Cluster;
  readonly #held = new Map<string, Claim>();

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  /** Rows that are claimed, or about to be. */
  get size(): number {
    return this.#held.size;
  }

  /** Claims a hint's row. False where another process has it; each true is to be given back. */
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
    // A claim is advice: where nobody says no, the work is done.
    const isGranted = await asking.catch(() => true);
    claim.asking = undefined;
    if (isGranted) return true;
    if (this.#held.get(name) === claim) this.#held.delete(name);
    return false;
  }

  /** A task is over, or was let go: the claim goes back with the last. */
  give(hint: CellAddress): void {
    const name = byteString(hint.row);
    const held = this.#held.get(name);
    if (held === undefined || --held.users > 0) return;
    this.#held.delete(name);
    this.#cluster.release(hint.row);
  }
}
