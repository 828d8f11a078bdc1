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
      sleep: (ms) => sleep(this.machine, this.#options.isEnding() ? 0 : ms),
      step: (name, run) => this.#step(name, run),
    };
    await program(client);
  }

  async #step(name: string, run: (random: SeededRandom) => unknown): Promise<boolean> {
    const { leftSteps, onStep, isEnding, world, counts } = this.#options;
    const times = (this.#named.get(name) ?? 0) + 1;
    this.#named.set(name, times);
    const full = `${this.name}: ${name}${times === 1 ? "" : ` ${times}`}`;
    if (leftSteps.has(full) || isEnding()) return false;
    onStep(full);
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
    }
  }

  /** Ends everything that runs in its process. */
  close(): Promise<void> {
    return this.#options.process.close();
  }
}
