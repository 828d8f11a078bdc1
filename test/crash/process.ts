import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { VictimOrders } from "./victim.js";

export const root = fileURLToPath(new URL("../../", import.meta.url));

/** Longer than anything here may take, on a machine however busy. */
export const patienceMs = 60_000;

export const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Waits until `isTrue`, which is asked again and again; false where that takes longer than `withinMs`. */
export async function until(isTrue: () => boolean, withinMs = patienceMs): Promise<boolean> {
  const end = performance.now() + withinMs;
  while (!isTrue()) {
    if (performance.now() > end) return false;
    await pause(2);
  }
  return true;
}

/** A process of victim.ts, loaded ahead of time, so that a round need not wait for it. */
export class Victim {
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;
  #output = "";
  #errors = "";
  #orders: VictimOrders | undefined;

  constructor() {
    this.#child = spawn(process.execPath, ["--import", "tsx", "test/crash/victim.ts"], {
      cwd: root,
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.#child.stdout!.on("data", (data: Buffer) => {
      this.#output += data.toString();
    });
    this.#child.stderr!.on("data", (data: Buffer) => {
      this.#errors += data.toString();
    });
    this.#child.stdin!.on("error", () => undefined);
    this.#exited = once(this.#child, "exit");
  }

  get pid(): number {
    return this.#child.pid!;
  }

  get errors(): string {
    return this.#errors;
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** The signal or the exit code that it ended with. */
  get end(): string {
    return this.#child.signalCode ?? String(this.#child.exitCode);
  }

  /** Whether it is stopped, as the system tells. */
  get isStopped(): boolean {
    try {
      const state = readFileSync(`/proc/${this.pid}/stat`, "latin1");
      return state.slice(state.lastIndexOf(")") + 2).startsWith("T");
    } catch {
      return false;
    }
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

  /** Lets it begin; resolves when its database is open, or when it has ended. */
  async start(orders: VictimOrders): Promise<void> {
    this.#orders = orders;
    this.#child.stdin!.write(`${JSON.stringify(orders)}\n`);
    const opened = await until(() => this.#output.includes("started") || this.hasEnded || this.isStopped);
    if (!opened) throw new Error(`The process ${this.pid} has not opened its database. ${this.#errors}`);
  }

  signal(signal: "SIGKILL" | "SIGSTOP" | "SIGCONT" | "SIGTERM"): void {
    if (!this.hasEnded) this.#child.kill(signal);
  }

  /** Resolves when it has ended, by itself or however; throws where that takes too long. */
  async ended(): Promise<void> {
    const timer = setTimeout(() => this.signal("SIGKILL"), patienceMs);
    const before = performance.now();
    if (!this.hasEnded) await this.#exited;
    clearTimeout(timer);
    if (performance.now() - before >= patienceMs) throw new Error(`A process did not end. ${this.#errors}`);
  }

  async kill(): Promise<void> {
    this.signal("SIGKILL");
    await this.ended();
  }
}
