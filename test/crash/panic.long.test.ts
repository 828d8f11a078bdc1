import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { open } from "percolatordb";
import { expect, test } from "vitest";
import { nodeArguments, root } from "../support/built/files.js";
import { temporaryFolder } from "../support/databases.js";
import { patienceMs, pause, until } from "../support/waiting.js";
import { run } from "./run.js";

/** The most processes to kill until one dies in a flush for which an open transaction waits. */
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
    const command = [process.execPath, ...nodeArguments("test/crash/panic-child.ts", [folder, role])];
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

  /** Waits until the process has printed `what` after the first `from` characters of its output. */
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

  /** Starts a flusher's commits. */
  async start(): Promise<void> {
    await this.said("loaded");
    this.#process.stdin!.write("start\n");
    await this.said("ready");
  }

  /** Kills the process itself. Its tracer then ends by itself. */
  async kill(): Promise<void> {
    process.kill(this.#pid!, "SIGKILL");
    await this.#closed;
  }

  /** Ends a survivor's input and returns its report. */
  async end(): Promise<unknown> {
    this.#process.stdin!.end();
    await Promise.race([this.#closed, until(() => false).then(() => this.#process.kill("SIGKILL"))]);
    await this.#closed;
    return JSON.parse(this.output.trim().split("\n").at(-1)!);
  }

  /** Kills everything that still runs. */
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
  "if another process dies during a flush that an open transaction waits for, LMDB is reopened and no caller sees an error",
  async () => {
    // If the test cannot run it must fail, not look as if it had passed.
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
        // The waiting transaction continues at once, whether or not the store had to be repaired.
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
