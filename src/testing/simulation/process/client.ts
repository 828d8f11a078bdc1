import type { Database } from "../../../database/index.js";
import type { Environment } from "../../../environment/index.js";
import type { OptionNames } from "../../../errors/index.js";
import type { Observer } from "../../../observer/index.js";
import type { AnyTable } from "../../../schema/index.js";
import type { SeededRandom } from "../../world/index.js";

/** How a simulated client opens another database. */
export interface OpenAnotherOptions {
  /** The observers that it runs. Default: the workload's. */
  readonly observers?: readonly Observer[] | undefined;
  readonly tables?: readonly AnyTable[] | undefined;
}

/** What a program of a simulation works with. It runs in a process of its own. */
export interface SimulatedClient {
  readonly name: string;
  /**
   * 1 at first. One more each time the process was stopped and another one runs its program from
   * the beginning.
   */
  readonly life: number;
  /** The process's database. The simulation may have started a worker in it. */
  readonly db: Database;
  /** The process's clocks and timers. */
  readonly environment: Environment;
  /** Random numbers that the seed decides. */
  readonly random: SeededRandom;
  /** Opens another database in this process, as a program with other observers would. */
  open(options?: OpenAnotherOptions): Promise<Database>;
  /** Waits in virtual time. */
  sleep(ms: number): Promise<void>;
  /**
   * Performs one named step. An error that a fault explains, such as a conflict or a store that
   * does not answer, ends only the step. Any other error fails the run. To shorten a failing run,
   * the simulation leaves out steps, so they should not depend on each other. Each step gets random
   * numbers of its own, which do not change if other steps are left out. Resolves to false if the
   * step was left out or ended early.
   */
  step(name: string, run: (random: SeededRandom) => unknown): Promise<boolean>;
}

/**
 * The program of one process. It ends when the promise settles. A worker in its database continues
 * until all programs have ended.
 */
export type SimulatedProgram = (client: SimulatedClient) => Promise<unknown>;

/** What to simulate: the programs of processes that share a database, and what must hold for it. */
export interface Workload {
  readonly tables?: readonly AnyTable[] | undefined;
  /** Observers that every process runs. Default: none. */
  readonly observers?: readonly Observer[] | undefined;
  /**
   * Observers that clients register during the run, possibly newer versions of others. The last
   * process of a run uses them in place of the originals. Default: none.
   */
  readonly laterObservers?: readonly Observer[] | undefined;
  /** Runs once, alone and without faults, before the clients begin. */
  readonly setup?: ((db: Database) => Promise<unknown>) | undefined;
  /** The programs. Each runs in a process of its own. */
  readonly clients: readonly SimulatedProgram[];
  /**
   * Checks the database when all faults have ended and nothing is due. Throws if its state is
   * wrong.
   */
  readonly check?: ((db: Database) => Promise<unknown>) | undefined;
}

export const workloadNames: OptionNames<Workload> = {
  tables: true,
  observers: true,
  laterObservers: true,
  setup: true,
  clients: true,
  check: true,
};
