import { type Environment, systemEnvironment, type Transaction } from "../../index.js";
import { hashText } from "../hash.js";

/** Beyond this number of groups with a run in progress, the slots are forgotten. */
const maxGroups = 10_000;

/**
 * Chooses the slot, one of a group's partial sums, that a run writes: one that no other run of this
 * process is writing. So the runs of a busy group do not conflict, and a quiet group has few slots.
 * Each process begins elsewhere. Two processes that take the same slot conflict once, and the
 * repeated run takes another. Nothing but the number of conflicts depends on the choice.
 */
export class Slots {
  readonly #count: number;
  readonly #environment: Environment | undefined;
  readonly #taken = new Map<string, Set<number>>();
  #first: number | undefined;

  constructor(count: number, environment: Environment | undefined) {
    this.#count = count;
    this.#environment = environment;
  }

  /** Returns a slot for the transaction, which holds it until its commit. */
  take(tx: Transaction, group: string): number {
    this.#first ??= hashText((this.#environment ?? systemEnvironment).uniqueId());
    const taken = this.#takenOf(group);
    let next = 0;
    while (taken.has(next)) next++;
    taken.add(next);
    tx.onCommit(() => this.#release(group, taken, next));
    return (this.#first + next) % this.#count;
  }

  #takenOf(group: string): Set<number> {
    let taken = this.#taken.get(group);
    // A run that conflicts never releases its slot: another process is writing it. When all are
    // taken, the group begins again.
    if (taken !== undefined && taken.size < this.#count) return taken;
    if (this.#taken.size >= maxGroups) this.#taken.clear();
    taken = new Set();
    this.#taken.set(group, taken);
    return taken;
  }

  #release(group: string, taken: Set<number>, slot: number): void {
    taken.delete(slot);
    if (taken.size === 0 && this.#taken.get(group) === taken) this.#taken.delete(group);
  }
}
