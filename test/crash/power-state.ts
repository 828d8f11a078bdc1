import { type Database, StoreDamagedError } from "percolatordb";
import { operation, perform } from "./operations.js";
import type { Scenario } from "./power-scenario.js";
import { Difference, doneIn } from "./twin.js";
import { openForCheck, sound, verify } from "./verify.js";

const generation = { version: 1, late: false };
/** Operations on a state that was opened again: whether it can be written, and not only read. */
const writtenAfter = 3;

export interface StateOptions {
  /** What had been answered before the cut. */
  readonly told: readonly string[];
  /** Works off all that is due, and compares with the twin. */
  readonly whole: boolean;
  /** The file was just being made, and nothing of it flushed: it may be refused, as it holds nothing. */
  readonly unborn: boolean;
  readonly writer: string;
}

/** Opens what a disk may hold after a power cut, and throws where it is not as promised. */
export class StateCheck {
  readonly #scenario: Scenario;
  /** All that was done in the recorded run, in the order of the commits. */
  readonly #order: readonly string[];
  /** States on which all of the work was done again. */
  begun = 0;

  constructor(scenario: Scenario, order: readonly string[]) {
    this.#scenario = scenario;
    this.#order = order;
  }

  async check(folder: string, { told, whole, unborn, writer }: StateOptions): Promise<void> {
    const db = await this.#open(folder, unborn);
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

  async #open(folder: string, unborn: boolean): Promise<Database | undefined> {
    try {
      return await openForCheck(folder, generation, this.#scenario.commit);
    } catch (error) {
      if (unborn && error instanceof StoreDamagedError) return undefined;
      throw error;
    }
  }

  /** What is there is the beginning of what was done: no commit is lost before a later one. In two phases locks may hide one. */
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
