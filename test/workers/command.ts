import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { nodeArguments, root } from "../support/built/files.js";

/** The output of the command line with `--json`, one document on each line. */
export type Told = Readonly<Record<string, unknown>> & { readonly event?: string };

/** The command line in its own process. */
export class Command {
  readonly process: ChildProcess;
  readonly told: Told[] = [];
  errors = "";
  readonly ended: Promise<number | string>;
  readonly #listeners = new Set<() => void>();

  constructor(args: readonly string[]) {
    this.process = spawn(process.execPath, nodeArguments("src/cli/main.ts", args), {
      cwd: root,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let rest = "";
    this.process.stdout!.setEncoding("utf8").on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop()!;
      for (const line of lines) this.told.push(JSON.parse(line) as Told);
      for (const listener of [...this.#listeners]) listener();
    });
    this.process.stderr!.setEncoding("utf8").on("data", (text: string) => {
      this.errors += text;
    });
    this.ended = once(this.process, "close").then(([code, signal]) => (code ?? signal) as number | string);
  }

  events(name: string): readonly Told[] {
    return this.told.filter(({ event }) => event === name);
  }

  /** Resolves when `isTrue` holds for its output. Rejects if it ends first. */
  until(isTrue: (command: this) => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = () => {
        if (!isTrue(this)) return;
        this.#listeners.delete(look);
        resolve();
      };
      this.#listeners.add(look);
      const over = (end: unknown) => reject(new Error(`It ended: ${String(end)}. ${this.errors}`));
      this.ended.then(over, over);
      look();
    });
  }

  signal(signal: NodeJS.Signals): void {
    this.process.kill(signal);
  }
}
