import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { nodeArguments, root } from "./built/files.js";
import type { NetworkNamespace } from "./namespace/index.js";
import { patienceMs, until } from "./waiting.js";

export interface ProcessOptions {
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** The folder in which Node runs the script as it is. Default: this project, whose scripts are built first. */
  readonly cwd?: string | undefined;
  /** The network of the process. Default: this machine's. */
  readonly namespace?: NetworkNamespace | undefined;
}

/** A Node process of a test, with its output and signals to it. */
export class ProgramProcess {
  readonly lines: string[] = [];
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;
  #errors = "";

  /** Runs a TypeScript file of this project, or a script of another folder. */
  constructor(script: string, args: readonly string[] = [], options: ProcessOptions = {}) {
    const nodeArgs = options.cwd === undefined ? nodeArguments(script, args) : [script, ...args];
    const [program, programArgs] = options.namespace?.command(process.execPath, nodeArgs) ?? [
      process.execPath,
      nodeArgs,
    ];
    this.#child = spawn(program, programArgs, {
      cwd: options.cwd ?? root,
      stdio: ["pipe", "pipe", "pipe"],
      env: { ...process.env, ...options.env },
    });
    let rest = "";
    this.#child.stdout!.setEncoding("utf8").on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop()!;
      this.lines.push(...lines);
    });
    this.#child.stderr!.setEncoding("utf8").on("data", (text: string) => {
      this.#errors = (this.#errors + text).slice(-10_000);
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

  /** The signal or the exit code with which it ended. */
  get end(): string {
    return this.#child.signalCode ?? String(this.#child.exitCode);
  }

  /** Whether the operating system says that it is stopped. */
  get isStopped(): boolean {
    try {
      const state = readFileSync(`/proc/${this.pid}/stat`, "latin1");
      return state.slice(state.lastIndexOf(")") + 2).startsWith("T");
    } catch {
      return false;
    }
  }

  tell(line: string): void {
    this.#child.stdin!.write(`${line}\n`);
  }

  /**
   * Waits for a line after the first `from` lines that satisfies `is`. Throws if the process ends
   * before that, or takes too long.
   */
  async said(is: (line: string) => boolean, from = 0): Promise<void> {
    const hasSaid = () => this.lines.slice(from).some(is);
    const came = await until(() => hasSaid() || this.hasEnded);
    if (hasSaid()) return;
    const why = came ? `ended with ${this.end}` : "has not said what was expected";
    throw new Error(`Process ${this.pid} ${why}. ${this.lines.slice(-5).join("\n")} ${this.errors}`);
  }

  signal(signal: "SIGKILL" | "SIGSTOP" | "SIGCONT" | "SIGTERM"): void {
    // On Deno, `kill` of a child also takes it for ended.
    if (!this.hasEnded) process.kill(this.pid, signal);
  }

  /**
   * Resolves when the process has ended for any reason. Kills it and throws if that takes too long.
   */
  async ended(): Promise<void> {
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      this.signal("SIGKILL");
    }, patienceMs);
    if (!this.hasEnded) await this.#exited;
    clearTimeout(timer);
    if (isLate) throw new Error(`Process ${this.pid} did not end. ${this.errors}`);
  }

  /** Shuts the process down cleanly. Throws if it ends in another way. */
  async terminate(): Promise<void> {
    this.signal("SIGTERM");
    await this.ended();
    if (this.end !== "0") throw new Error(`Process ${this.pid} ended with ${this.end}. ${this.errors}`);
  }

  async kill(): Promise<void> {
    this.signal("SIGKILL");
    await this.ended();
  }
}
