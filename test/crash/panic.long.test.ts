import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { open } from "percolatordb";
import { expect, test } from "vitest";
import { temporaryFolder } from "../support/databases.js";
import { root } from "../support/program-process.js";
import { patienceMs, pause, until } from "../support/waiting.js";
import { run } from "./run.js";

/** Processes that are killed at most, until one leaves its flush to a transaction that is open. */
const maxKills = 30;
const slowFlushes = "-f -qq -o /dev/null -e trace=fdatasync -e inject=fdatasync:delay_enter=400000".split(
  " ",
);

/** A process of panic-child.ts. */
class Child {
  readonly #process: ChildProcess;
  readonly #closed: Promise<unknown>;
  output = "";
  errors = "";

  constructor(folder: string, role: "flusher" | "survivor") {
    const command = [process.execPath, "--import", "tsx", "test/crash/panic-child.ts", folder, role];
    const [name, ...args] = role === "flusher" ? ["strace", ...slowFlushes, ...command] : command;
    this.#process = spawn(name!, args, { cwd: root, stdio: ["pipe", "pipe", "pipe"] });
    this.#closed = once(this.#process, "close");
    this.#process.stdin!.on("error", () => undefined);
    this.#process.stdout!.on("data", (data: Buffer) => {
      this.output += data.toString();
    });
    this.#process.stderr!.on("data", (data: Buffer) => {
      this.errors += data.toString();
    });
  }

  /** Waits until it has said `what` after the first `from` characters. */
  async said(what: string, from = 0): Promise<void> {
    await until(() => this.output.includes(what, from) || this.#hasEnded);
    if (!this.output.includes(what, from)) throw new Error(`No "${what}": ${this.output}${this.errors}`);
  }

  async ask(): Promise<number> {
    const from = this.output.length;
    this.#process.stdin!.write("?\n");
    await this.said("mended ", from);
    return Number(/mended (\d+)/.exec(this.output.slice(from))![1]);
  }

  /** Lets a flusher begin. */
  async start(): Promise<void> {
    await this.said("loaded");
    this.#process.stdin!.write("start\n");
    await this.said("ready");
  }

  /** Kills the process itself, not its tracer, which ends with it. */
  async kill(): Promise<void> {
    process.kill(this.#pid!, "SIGKILL");
    await this.#closed;
  }

  /** Lets a survivor come to its end. */
  async end(): Promise<unknown> {
    this.#process.stdin!.end();
    await Promise.race([this.#closed, until(() => false).then(() => this.#process.kill("SIGKILL"))]);
    await this.#closed;
    return JSON.parse(this.output.trim().split("\n").at(-1)!);
  }

  /** Leaves nothing running, however far it came. */
  destroy(): void {
    if (this.#hasEnded) return;
    const pid = this.#pid;
    if (pid !== undefined) process.kill(pid, "SIGKILL");
    this.#process.kill("SIGKILL");
  }

  get #pid(): number | undefined {
    const said = /loaded (\d+)/.exec(this.output)?.[1];
    return said === undefined ? undefined : Number(said);
  }

  get #hasEnded(): boolean {
    return this.#process.exitCode !== null || this.#process.signalCode !== null;
  }
}

test(
  "a process into whose open transaction another one dies while it flushes opens LMDB anew, and nobody notices",
  async () => {
    // A test that did not run must not look as if it had.
    const probe = await run("strace", ["-V"]);
    if (probe.status !== 0) {
      throw new Error(`strace cannot be run (${probe.stderr}). Install it: apt-get install --yes strace`);
    }
    const folder = await temporaryFolder();
    const survivor = new Child(folder.path, "survivor");
    let flusher = new Child(folder.path, "flusher");
    try {
      await survivor.said("ready");
      let mended = 0;
      for (let kills = 0; mended === 0 && kills < maxKills; kills++) {
        const current = flusher;
        await current.start();
        flusher = new Child(folder.path, "flusher");
        await survivor.said("waiting", survivor.output.length);
        await current.kill();
        // What waits goes on at once, one way or the other.
        for (let look = 0; mended === 0 && look < 10; look++) {
          await pause(30);
          mended = await survivor.ask();
        }
      }
      await flusher.said("loaded");
      await flusher.kill();
      const result = await survivor.end();
      expect(result, survivor.errors).toMatchObject({ unknown: 0, errors: [] });
      expect(result).toMatchObject({ mended: expect.any(Number), told: expect.any(Number) });
      expect((result as { mended: number }).mended, "LMDB was never broken").toBeGreaterThan(0);
      expect(survivor.errors).toBe("");
      await using db = await open(folder.path);
      expect(await db.check()).toEqual([]);
    } finally {
      survivor.destroy();
      flusher.destroy();
      await folder.remove();
    }
  },
  10 * patienceMs,
);
