import { readFileSync } from "node:fs";
import { ProgramProcess } from "../support/program-process.js";
import { until } from "../support/waiting.js";
import type { VictimOrders } from "./victim.js";

/** A process of victim.ts, loaded ahead of time, so that a round need not wait for it. */
export class Victim extends ProgramProcess {
  #orders: VictimOrders | undefined;

  constructor() {
    super("test/crash/victim.ts");
  }

  /** What it was told committed. */
  get told(): readonly string[] {
    if (this.#orders === undefined) return [];
    try {
      // A line that is not whole was not yet written when it was killed.
      return readFileSync(this.#orders.journal, "utf8").split("\n").slice(0, -1);
    } catch {
      return [];
    }
  }

  /** Whether it has done all that it was to do, and stays. */
  get isDone(): boolean {
    return this.lines.includes("done");
  }

  /** Lets it begin; resolves when its database is open, or when it has ended. */
  async start(orders: VictimOrders): Promise<void> {
    this.#orders = orders;
    this.tell(JSON.stringify(orders));
    const hasStarted = () => this.lines.includes("started");
    const opened = await until(() => hasStarted() || this.hasEnded || this.isStopped);
    if (!opened) throw new Error(`The process ${this.pid} has not opened its database. ${this.errors}`);
  }
}
