import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { RowStore } from "percolatordb";
import { nodeArguments } from "../support/built/files.js";
import { until } from "../support/waiting.js";
import { zeroCopyStore } from "./lent-store.js";

const child = fileURLToPath(new URL("child.ts", import.meta.url));

/** A coordinator in its own process. */
export class Candidate {
  readonly #process: ChildProcess;
  #lines: Record<string, unknown>[] = [];
  #rest = "";
  #errors = "";

  /** `store` is a folder, or a store of this process. */
  constructor(store: string | RowStore, leaseMs: number) {
    const args = nodeArguments(child, [String(leaseMs), ...(typeof store === "string" ? [store] : [])]);
    this.#process = spawn(process.execPath, args, {
      stdio: ["ignore", "pipe", "pipe", ...(typeof store === "string" ? [] : ["ipc" as const])],
      serialization: "advanced",
    });
    if (typeof store !== "string") zeroCopyStore(store, this.#process);
    this.#process.stdout!.on("data", (data: Buffer) => {
      const lines = (this.#rest + data.toString()).split("\n");
      this.#rest = lines.pop()!;
      this.#lines.push(...lines.map((line) => JSON.parse(line) as Record<string, unknown>));
    });
    this.#process.stderr!.on("data", (data: Buffer) => {
      this.#errors += data.toString();
    });
  }

  get address(): string | undefined {
    return this.#lines.find((line) => line.address !== undefined)?.address as string | undefined;
  }

  get role(): string | undefined {
    return this.#lines.findLast((line) => line.role !== undefined)?.role as string | undefined;
  }

  /** The epochs in which it was the leader. */
  get epochs(): readonly number[] {
    return this.#lines.filter((line) => line.role === "leading").map((line) => line.epoch as number);
  }

  /** Its last output, for messages. */
  get lastWords(): string {
    return this.#lines
      .slice(-6)
      .map((line) => JSON.stringify(line))
      .join("\n");
  }

  get hasEnded(): boolean {
    return this.#process.exitCode !== null || this.#process.signalCode !== null;
  }

  /** Resolves when it listens. */
  async started(): Promise<this> {
    const isThere = await until(() => this.address !== undefined || this.hasEnded);
    if (isThere && !this.hasEnded) return this;
    throw new Error(`A coordinator has not started. ${this.#errors}`);
  }

  signal(signal: "SIGKILL" | "SIGSTOP" | "SIGCONT" | "SIGTERM"): void {
    if (!this.hasEnded) this.#process.kill(signal);
  }

  /** Resolves when it has ended after a signal. */
  async ended(): Promise<void> {
    if (!this.hasEnded) await once(this.#process, "exit");
  }

  async kill(): Promise<void> {
    this.signal("SIGKILL");
    await this.ended();
  }
}
