import { type Environment, systemEnvironment, type Transaction } from "../../index.js";
import { hashText } from "../hash.js";

/** Beyond this number of groups, the slots are forgotten. */
const maxGroups = 10_000;

/**
 * Chooses the slot, one of a group's partial sums, that a run writes: one that no run of this process
 * has written since the run began. So the runs of a busy group do not conflict, and a quiet group has
 * few slots. Each process begins elsewhere. Two processes that take the same slot conflict once, and
 * the repeated run takes another. Nothing but the number of conflicts depends on the choice.
 */
export class Slots {
  readonly #count: number;
  readonly #environment: Environment | undefined;
  /** By group, for each slot: when the last run that wrote it has committed. Infinity until it has. */
  readonly #written = new Map<string, number[]>();
  #first: number | undefined;

  constructor(count: number, environment: Environment | undefined) {
    this.#count = count;
    this.#environment = environment;
  }

  /** Returns a slot for the transaction, which holds it until its commit. */
  take(tx: Transaction, group: string): number {
    this.#first ??= hashText((this.#environment ?? systemEnvironment).uniqueId());
    const written = this.#writtenOf(group);
    let next = written.findIndex((commit) => commit < tx.startTimestamp);
    if (next < 0) next = written.length;
    // A run that conflicts keeps its slot: another process is writing it. When all are taken, the
    // group begins again.
    if (next === this.#count) {
      written.length = 0;
      next = 0;
    }
    written[next] = Number.POSITIVE_INFINITY;
    tx.onCommit((commit) => {
      written[next] = commit;
    });
    return (this.#first + next) % this.#count;
  }

  #writtenOf(group: string): number[] {
    let written = this.#written.get(group);
    if (written !== undefined) return written;
    if (this.#written.size >= maxGroups) this.#written.clear();
    written = [];
    this.#written.set(group, written);
    return written;
  }
}
