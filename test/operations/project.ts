import { execFile } from "node:child_process";
import { copyFile, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { root } from "../docs/examples.js";
import { storyOf } from "../docs/story.js";
import { Packed } from "../package/packed.js";
import { Terminal } from "../package/support/terminal.js";
import { Outcome } from "../support/command-line.js";
import { ProgramProcess } from "../support/program-process.js";

const sources = join(root, "test/operations/week");

/** A user's project: an empty folder with the packed package, made as docs/first-hour.md says. */
export class Project implements AsyncDisposable {
  readonly folder: string;
  readonly #packed: Packed;
  readonly #processes: ProgramProcess[] = [];

  private constructor(packed: Packed, folder: string) {
    this.#packed = packed;
    this.folder = folder;
  }

  static async create(): Promise<Project> {
    const packed = await Packed.create();
    const terminal = new Terminal(packed);
    for (const step of storyOf(await readFile(join(root, "docs/first-hour.md"), "utf8"))) {
      if (step.type === "file" && step.name !== "tsconfig.json") break;
      await terminal.take(step, undefined);
    }
    // docs/operations.md, "Packages that a cluster needs".
    await terminal.run(["npm install pg"]);
    return new Project(packed, terminal.cwd);
  }

  file(name: string): string {
    return join(this.folder, name);
  }

  /** Gives the program the files of a week, and checks their types against those of the package. */
  async edit(week: "first" | "second"): Promise<void> {
    const from = week === "first" ? sources : join(sources, week);
    // The second week of another test has more files.
    if (week === "first") await rm(this.file("verify.ts"), { force: true });
    const names = (await readdir(from)).filter((name) => name.endsWith(".ts"));
    for (const name of names) await copyFile(join(from, name), this.file(name));
    await this.run(["npx", "tsc"]);
  }

  /** Runs a command to its end, and expects its exit code, or any. */
  async run(words: readonly string[], code: number | "any" = 0): Promise<Outcome> {
    const [program, ...args] = words as [string, ...string[]];
    const installed = program === "percolator" ? join("node_modules/.bin", program) : program;
    const outcome = await new Promise<Outcome>((resolve) => {
      execFile(installed, args, { cwd: this.folder, maxBuffer: 1 << 26 }, (error, stdout, stderr) => {
        const ended = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
        resolve(new Outcome(ended, stdout, stderr));
      });
    });
    if (code !== "any")
      expect(outcome.code, `${words.join(" ")}\n${outcome.stdout}${outcome.stderr}`).toBe(code);
    return outcome;
  }

  /** Starts a program of the project, which gets signals directly. */
  start(words: readonly string[]): ProgramProcess {
    const [program, ...args] = words as [string, ...string[]];
    const started = new ProgramProcess(join("node_modules/.bin", program), args, { cwd: this.folder });
    this.#processes.push(started);
    return started;
  }

  /** Kills what still runs. */
  async end(): Promise<void> {
    for (const each of this.#processes.splice(0)) await each.kill();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
    await this.#packed.remove();
  }
}
