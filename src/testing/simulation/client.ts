import type { Database } from "../../database/index.js";
import type { Environment } from "../../environment/index.js";
import type { Observer } from "../../observer/index.js";
import type { AnyTable } from "../../schema/index.js";
import type { SeededRandom } from "../world/index.js";

/** How another database of a simulated client is opened. */
export interface OpenAnotherOptions {
  /** What it hosts. Default: the workload's. */
  readonly observers?: readonly Observer[] | undefined;
  readonly tables?: readonly AnyTable[] | undefined;
}

/** What a program of a simulation has: a process of its own. */
export interface SimulatedClient {
  readonly name: string;
  /** 1, or more where its process was stopped and another one runs its program again from the beginning. */
  readonly life: number;
  /** The process's database. A worker may stand in it already, as is drawn. */
  readonly db: Database;
  /** The process's clocks and timers. */
  readonly environment: Environment;
  /** Random numbers that the seed decides. */
  readonly random: SeededRandom;
  /** Opens the database once more in this process, as a program with other observers would. */
  open(options?: OpenAnotherOptions): Promise<Database>;
  /** Waits, in virtual time. */
  sleep(ms: number): Promise<void>;
  /**
   * Does one thing, by name. Errors that faults explain, such as a conflict or a store that does not answer, end the step
   * and nothing else; any other error is a failure of the run. A failing run is made shorter by leaving
   * steps out, so they should not build on each other; `random` is the step's own. False where it was left out or ended early.
   */
  step(name: string, run: (random: SeededRandom) => unknown): Promise<boolean>;
}

/** What one process does. It ends when the promise does; a worker in its database goes on until everything has ended. */
export type SimulatedProgram = (client: SimulatedClient) => Promise<unknown>;

/** What is simulated: programs of processes that share a database, and what must be true of it. */
export interface Workload {
  readonly tables?: readonly AnyTable[] | undefined;
  /** Hosted by every process. */
  readonly observers?: readonly Observer[] | undefined;
  /** Observers that clients register on their way, new versions too; the last process of a run hosts them instead. */
  readonly laterObservers?: readonly Observer[] | undefined;
  /** Done once, alone and without faults, before the clients begin. */
  readonly setup?: ((db: Database) => Promise<unknown>) | undefined;
  /** A process each. */
  readonly clients: readonly SimulatedProgram[];
  /** Looks at the database when everything is healed, and nothing is due. Throws where it is not as it should be. */
  readonly check?: ((db: Database) => Promise<unknown>) | undefined;
}
