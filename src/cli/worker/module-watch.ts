import { relative, resolve } from "node:path";
import { sleep } from "../../environment/index.js";
import type { Cli } from "../cli.js";
import { exitCodes } from "../print/exit.js";
import { counted, oneLine } from "../print/layout.js";
import { ModuleFiles } from "./module-files.js";
import { endedInOrder, endOf, type ProcessEnd, type WorkerProcess } from "./worker-process.js";

export interface ModuleWatchOptions {
  readonly cli: Cli;
  /** Path of the module, as the user gave it. */
  readonly module: string;
  readonly start: () => WorkerProcess;
  /** Milliseconds after a signal until a process that has not ended is killed. */
  readonly killAfterMs: number;
}

/** How often the files are looked at. Shorter than it takes to switch to another window. */
const lookEveryMs = 300;

/**
 * Runs a worker process for `percolator worker --watch`, and restarts it when the module or a file that it
 * imports has changed. If the process ends by itself, such as for a module with an error, waits for the next change.
 */
export class ModuleWatch {
  readonly #options: ModuleWatchOptions;
  readonly #cli: Cli;
  readonly #file: string;
  readonly #files: ModuleFiles;

  constructor(options: ModuleWatchOptions) {
    this.#options = options;
    this.#cli = options.cli;
    this.#file = resolve(options.cli.io.cwd, options.module);
    this.#files = new ModuleFiles(this.#file);
  }

  /** Resolves after a signal, when the process has ended. */
  async run(): Promise<void> {
    const { signal } = this.#cli;
    let files = this.#files.find();
    await this.#tell(
      "watching",
      { files: files.size },
      `watching ${this.#name(this.#file)} and ${counted(files.size - 1, "file")} that it imports`,
    );
    while (!signal.aborted) {
      const changing = new AbortController();
      const changed = this.#untilChanged(files, changing.signal);
      const process = this.#options.start();
      let hasEnded = false;
      const ended = this.#live(process).finally(() => {
        hasEnded = true;
      });
      const first = await Promise.race([changed, ended.then(() => undefined)]);
      if (first === undefined && !signal.aborted) await this.#ended(await ended);
      const file = first ?? (await changed);
      changing.abort();
      if (file !== undefined)
        await this.#tell("changed", { file }, `${file} has changed; restarting the worker`);
      // A process that has ended by itself was reported, and may have had any exit code.
      if (first !== undefined || !hasEnded) await this.#stop(process, ended);
      files = this.#files.find();
    }
  }

  /** Resolves to the name of a changed file, or to undefined after a signal. */
  async #untilChanged(before: ReadonlyMap<string, string>, ending: AbortSignal): Promise<string | undefined> {
    const { environment, signal } = this.#cli;
    let known = before;
    let changed: string | undefined;
    while (!signal.aborted && !ending.aborted) {
      await sleep(environment, lookEveryMs, signal).catch(() => undefined);
      const now = this.#files.find();
      const difference = differenceOf(known, now);
      // An editor may write several files, so it waits until none has changed for a moment.
      if (difference === undefined && changed !== undefined) return changed;
      if (difference !== undefined) changed = this.#name(difference);
      known = now;
    }
    return undefined;
  }

  /** Runs a process until its output is printed. */
  async #live(process: WorkerProcess): Promise<ProcessEnd> {
    const { out, err, environment } = this.#cli;
    const hand = async (lines: AsyncIterable<string>, to: "out" | "err") => {
      for await (const line of lines) await (to === "out" ? out : err).line(line);
    };
    const printed = Promise.allSettled([hand(process.output, "out"), hand(process.errors, "err")]);
    return await endOf(process, printed, environment);
  }

  async #stop(process: WorkerProcess, ended: Promise<ProcessEnd>): Promise<void> {
    const { environment, signal, endSignal } = this.#cli;
    process.kill(endSignal ?? "SIGTERM");
    const late = environment.setTimer(() => process.kill("SIGKILL"), this.#options.killAfterMs, {
      background: true,
    });
    const end = await ended;
    late.cancel();
    if (signal.aborted && !endedInOrder(end, endSignal)) this.#cli.exitCode = exitCodes.data;
  }

  async #ended({ code, signal, error }: ProcessEnd): Promise<void> {
    const how = error?.message ?? signal ?? `exit code ${code}`;
    await this.#tell(
      "ended",
      { code: code ?? null, signal: signal ?? null },
      `the worker ended with ${how}; waiting for a change`,
    );
  }

  #name(file: string): string {
    return relative(this.#cli.io.cwd, file) || file;
  }

  async #tell(event: string, details: object, text: string): Promise<void> {
    const time = new Date(this.#cli.environment.now()).toISOString();
    await this.#cli.print({ event, time, ...details }, () => [`${time} ${oneLine(text)}`]);
  }
}

/** A file that is new, gone or changed. */
function differenceOf(
  before: ReadonlyMap<string, string>,
  now: ReadonlyMap<string, string>,
): string | undefined {
  for (const [file, state] of now) if (before.get(file) !== state) return file;
  for (const file of before.keys()) if (!now.has(file)) return file;
  return undefined;
}
