import { type Database, open, StoreDamagedError, StoreError } from "percolatordb";
import { operation, perform } from "./operations.js";
import type { Scenario } from "./power-scenario.js";
import { Difference, doneIn } from "./twin.js";
import { openForCheck, sound, verify } from "./verify.js";

const generation = { version: 1, late: false };
/** The number of operations on each reopened state. They test that the database can be written. */
const writtenAfter = 3;

export interface StateOptions {
  /** The operations whose commit was confirmed before the cut. */
  readonly told: readonly string[];
  /** Whether to run all due observers and compare the result with the twin. */
  readonly whole: boolean;
  /**
   * The file was just being created and nothing of it was flushed. It holds no data, so it may be
   * refused.
   */
  readonly mayBeRefused: boolean;
  readonly writer: string;
}

/** Opens a state that a disk may have after a power cut. Throws if the state breaks a promise. */
export class StateCheck {
  readonly #scenario: Scenario;
  /** All operations of the recorded run, in commit order. */
  readonly #order: readonly string[];
  /** The number of states whose complete verification has begun. */
  begun = 0;

  constructor(scenario: Scenario, order: readonly string[]) {
    this.#scenario = scenario;
    this.#order = order;
  }

  async check(folder: string, { told, whole, mayBeRefused, writer }: StateOptions): Promise<void> {
    await this.#read(folder);
    const db = await this.#open(folder, mayBeRefused);
    if (db === undefined) return;
    const promised = this.#scenario.durability === "full" ? told : [];
    try {
      await sound(db, "on opening");
      const done = await doneIn(db);
      this.#inOrder(done);
      const lost = promised.filter((name) => !done.includes(name));
      if (lost.length > 0) throw new Difference(`Told committed, and not there: ${lost.join(", ")}`);
      await write(db, writer);
    } finally {
      await db.close();
    }
    const own = Array.from({ length: writtenAfter }, (_, number) => `${writer}/${number}`);
    if (whole) {
      this.begun++;
      return verify({ folder, generation, told: [...promised, ...own], commit: this.#scenario.commit });
    }
    await using again = await openForCheck(folder, generation, this.#scenario.commit);
    await sound(again, "on opening again");
    const done = new Set(await doneIn(again));
    if (own.some((name) => !done.has(name))) throw new Difference("What was written after the cut is gone.");
  }

  /** Opened only for reading, a state is either refused or whole. */
  async #read(folder: string): Promise<void> {
    let db: Database;
    try {
      db = await open(folder, { readOnly: true });
    } catch (error) {
      if (error instanceof StoreError) return;
      throw error;
    }
    try {
      await sound(db, "on opening only for reading");
      // A reader would have to resolve the locks of two-phase commits.
      if (this.#scenario.commit === "auto") this.#inOrder(await doneIn(db));
    } finally {
      await db.close();
    }
  }

  async #open(folder: string, mayBeRefused: boolean): Promise<Database | undefined> {
    try {
      return await openForCheck(folder, generation, this.#scenario.commit);
    } catch (error) {
      if (mayBeRefused && error instanceof StoreDamagedError) return undefined;
      throw error;
    }
  }

  /**
   * The operations found must be a prefix of the recorded order: no commit is lost before a later
   * one. Not checked for two-phase commits, because a lock may hide an operation.
   */
  #inOrder(done: readonly string[]): void {
    if (this.#scenario.commit !== "auto") return;
    for (const [index, name] of done.entries()) {
      if (this.#order[index] !== name) {
        throw new Difference(`Commit ${index} is ${name}; in the recorded run it was ${this.#order[index]}.`);
      }
    }
  }
}

async function write(db: Database, writer: string): Promise<void> {
  for (let number = 0; number < writtenAfter; number++) {
    const task = operation(writer, number);
    await db.transact((tx) => perform(tx, task), { isolation: task.isolation });
  }
}
