import { readFileSync } from "node:fs";
import { ProgramProcess } from "../support/program-process.js";
import { until } from "../support/waiting.js";
import type { VictimOrders } from "./victim.js";

/** A process of victim.ts. It is loaded in advance, so a round need not wait for it. */
export class Victim extends ProgramProcess {
  #orders: VictimOrders | undefined;

  constructor() {
    super("test/crash/victim.ts");
  }

  /** The operations whose commit was confirmed to it. */
  get told(): readonly string[] {
    if (this.#orders === undefined) return [];
    try {
      // An incomplete last line was still being written when the process was killed.
      return readFileSync(this.#orders.journal, "utf8").split("\n").slice(0, -1);
    } catch {
      return [];
    }
  }

  /** Whether the process has done all of its work and waits to be ended. */
  get isDone(): boolean {
    return this.lines.includes("done");
  }

  /** Starts its work. Resolves when its database is open, or when the process has ended. */
  async start(orders: VictimOrders): Promise<void> {
    this.#orders = orders;
    this.tell(JSON.stringify(orders));
    const hasStarted = () => this.lines.includes("started");
    const opened = await until(() => hasStarted() || this.hasEnded || this.isStopped);
    if (!opened) throw new Error(`The process ${this.pid} has not opened its database. ${this.errors}`);
  }
}
