import type { SimulationCounts } from "../plan/counts.js";
import type { Incident, Plan } from "../plan/plan.js";
import type { Reduction } from "../plan/reduction.js";
import type { EventMachine } from "../world/event-queue.js";
import type { Clocks, Machine } from "../world/machine.js";
import type { World } from "../world/world.js";
import { ElectedOracle, type OracleService } from "./oracles.js";

export interface IncidentsOptions {
  readonly plan: Plan;
  readonly counts: SimulationCounts;
  readonly reduction: Reduction;
  readonly world: () => World;
  /** Returns the machine of a client's first process. */
  readonly clientMachine: (index: number) => Machine | undefined;
  readonly oracle: () => OracleService | undefined;
  /** Starts the client's program again, in a new process. */
  readonly beginAgain: (index: number) => void;
  readonly makeMachine: (name: string, clocks: Clocks | undefined) => Machine;
}

/**
 * The incidents of a run: faults of whole processes. Each is due after a certain number of events
 * of its process.
 */
export class Incidents {
  /** Names of the incidents that happened. */
  readonly happened: string[] = [];
  /** Count of clients that were stopped and will restart. */
  restarting = 0;
  readonly #options: IncidentsOptions;
  readonly #left: Set<Incident>;

  constructor(options: IncidentsOptions) {
    this.#options = options;
    const { plan, reduction } = options;
    this.#left = new Set(plan.incidents.filter(({ name }) => !reduction.leftIncidents.has(name)));
  }

  /** Called before an event of a machine. Triggers an incident if one is due. */
  before(one: EventMachine): void {
    for (const incident of this.#left) {
      const machine = this.#machineOf(incident);
      if (incident.atEvent > one.happened || machine === undefined || machine !== one) continue;
      const { name, kind, ms } = incident;
      this.#left.delete(incident);
      this.happened.push(name);
      this.#options.counts.faults[kind]++;
      this.#options.world().note(machine.processName, `${kind} (${name}), ${ms.toFixed(1)} ms`);
      this.#befall(machine, incident);
      if (machine.isStopped) return;
    }
  }

  #machineOf({ kind, target }: Incident): Machine | undefined {
    if (!kind.startsWith("oracle")) return this.#options.clientMachine(target);
    const oracle = this.#options.oracle();
    return oracle instanceof ElectedOracle ? oracle.candidates[target]?.machine : undefined;
  }

  #befall(machine: Machine, { kind, ms, target }: Incident): void {
    const { time } = this.#options.world();
    switch (kind) {
      case "stop":
        machine.stop();
        return;
      case "restart":
        machine.stop();
        this.#beginAgain(ms, target);
        return;
      case "oracleStop":
        machine.stop();
        this.#replace(ms, target, machine);
        return;
      case "pause":
      case "oraclePause":
        machine.pausedUntil = time + ms;
        return;
      case "cut":
      case "oracleCut":
        machine.cutUntil = time + ms;
        return;
      case "clockJump":
      case "oracleClockJump":
        machine.setClock(ms);
    }
  }

  #beginAgain(afterMs: number, index: number): void {
    this.restarting++;
    this.#later(afterMs, () => {
      this.restarting--;
      this.#options.beginAgain(index);
    });
  }

  /** Starts another candidate after a while, in place of the one that has stopped. */
  #replace(afterMs: number, index: number, { processName }: Machine): void {
    const { plan, makeMachine, oracle } = this.#options;
    this.#later(afterMs, () => {
      const machine = makeMachine(`${processName}'`, plan.oracleClocks[index]);
      (oracle() as ElectedOracle).replace(index, machine);
    });
  }

  #later(afterMs: number, happen: () => void): void {
    const world = this.#options.world();
    world.plan(world.time + afterMs, "other", undefined, happen);
  }
}
