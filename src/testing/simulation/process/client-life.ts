import type { Database } from "../../../database/index.js";
import { sleep } from "../../../environment/index.js";
import type { SeededRandom } from "../../world/index.js";
import type { SimulationCounts } from "../plan/counts.js";
import type { Machine } from "../world/machine.js";
import type { World } from "../world/world.js";
import type { SimulatedClient, SimulatedProgram } from "./client.js";
import { isExplained, type SimulatedProcess, showError } from "./process.js";

export interface ClientLifeOptions {
  /** Index of the client in the workload. */
  readonly index: number;
  /** 1 for the first life, one more for each restart. */
  readonly number: number;
  readonly process: SimulatedProcess;
  readonly program: SimulatedProgram;
  readonly hasWorker: boolean;
  readonly world: World;
  readonly counts: SimulationCounts;
  readonly leftSteps: ReadonlySet<string>;
  readonly onStep: (name: string) => void;
  /** Whether the client must begin no more steps. */
  readonly isEnding: () => boolean;
  /** Far more steps and sleeps than a program has left when a run ends. */
  readonly maxLeftOut: number;
  readonly fail: (message: string) => void;
}

/** One life of a client: a process that runs the client's program from the beginning. */
export class ClientLife {
  readonly index: number;
  readonly name: string;
  readonly machine: Machine;
  db: Database | undefined;
  readonly #options: ClientLifeOptions;
  readonly #named = new Map<string, number>();
  /** The steps that have begun and not ended. */
  readonly #begun = new Set<string>();
  #leftOut = 0;
  #hasEnded = false;

  constructor(options: ClientLifeOptions) {
    this.#options = options;
    this.index = options.index;
    this.name = options.process.name;
    this.machine = options.process.machine;
    this.#run().then(
      () => {
        this.#hasEnded = true;
      },
      (error: unknown) => {
        this.#hasEnded = true;
        if (!isExplained(error)) options.fail(`${this.name} failed: ${showError(error)}`);
      },
    );
  }

  /** Whether its program has ended, or will never continue. */
  get isOver(): boolean {
    return this.#hasEnded || this.machine.isStopped;
  }

  /** What it does now, for people: its name, and the steps that it performs. */
  get doing(): string {
    return [...this.#begun].join(", ") || `${this.name}: between steps`;
  }

  async #run(): Promise<void> {
    const { process, program, hasWorker, number, world } = this.#options;
    const db = await process.open();
    this.db = db;
    if (hasWorker) db.work({ concurrency: 4 });
    const client: SimulatedClient = {
      name: this.name,
      life: number,
      db,
      environment: this.machine,
      random: world.random.fork(`client/${this.name}`),
      open: (another) => process.open(another),
      sleep: (ms) =>
        this.#options.isEnding()
          ? (this.#leaveOut("sleep") ?? sleep(this.machine, 0))
          : sleep(this.machine, ms),
      step: (name, run) => this.#step(name, run),
    };
    await program(client);
  }

  /** Fails the run, and ends the program, if it asks for ever more that is left out. */
  #leaveOut(what: string): Promise<never> | undefined {
    const { maxLeftOut, fail } = this.#options;
    if (++this.#leftOut <= maxLeftOut) return undefined;
    fail(
      `${this.name} did not end, although ${maxLeftOut} steps and sleeps were left out. The last was ${what}.`,
    );
    return new Promise(() => {});
  }

  async #step(name: string, run: (random: SeededRandom) => unknown): Promise<boolean> {
    const { leftSteps, onStep, isEnding, world, counts } = this.#options;
    const times = (this.#named.get(name) ?? 0) + 1;
    this.#named.set(name, times);
    const full = `${this.name}: ${name}${times === 1 ? "" : ` ${times}`}`;
    if (leftSteps.has(full) || isEnding()) {
      await this.#leaveOut(`step "${name}"`);
      return false;
    }
    onStep(full);
    this.#begun.add(full);
    world.note(this.name, `begins "${name}"`);
    try {
      await run(world.random.fork(`step/${full}`));
      counts.steps++;
      world.note(this.name, `has done "${name}"`);
      return true;
    } catch (error) {
      counts.failedSteps++;
      world.note(this.name, `"${name}" ended in ${String(error)}`);
      if (!isExplained(error)) this.#options.fail(`${full} failed: ${showError(error)}`);
      return false;
    } finally {
      this.#begun.delete(full);
    }
  }

  /** Ends everything that runs in its process. */
  close(): Promise<void> {
    return this.#options.process.close();
  }
}
