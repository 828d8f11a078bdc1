import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import { linesOf, type Step, shownBy } from "../../docs/story.js";
import { eventually } from "../../support/command-line.js";
import type { Packed } from "../packed.js";

/** Prevents npm's own messages, and uses npm's cache. */
const environment = {
  ...process.env,
  npm_config_audit: "false",
  npm_config_fund: "false",
  npm_config_loglevel: "error",
  npm_config_prefer_offline: "true",
  npm_config_update_notifier: "false",
};

/** A terminal. Each command runs in the folder to which earlier ones changed. */
export class Terminal {
  cwd: string;
  readonly #folder: string;
  readonly #tarball: string;

  /** A terminal in a new user's home, where the package is installed from its tarball. */
  constructor({ folder, tarball }: Packed) {
    this.#folder = folder;
    this.#tarball = tarball;
    this.cwd = dirname(tarball);
  }

  /** Takes one step of a page's story. Returns the second terminal, if there is one after it. */
  async take(step: Step, second: SecondTerminal | undefined): Promise<SecondTerminal | undefined> {
    if (step.type === "file") await writeFile(join(this.cwd, step.name), step.text);
    if (step.type === "stop") {
      await second!.interrupt();
      return undefined;
    }
    if (step.type === "start") {
      const started = new SecondTerminal(step.command, this.cwd);
      await eventually(() => expect(linesOf(started.shown)).toEqual(linesOf(step.shows)));
      return started;
    }
    if (step.type === "run") {
      const commands = step.commands.map((command) =>
        command.replace(/^npm install percolatordb$/, `npm install ${this.#tarball}`),
      );
      const { stdout, stderr } = await this.run(commands);
      if (step.shows !== undefined) {
        expect({ data: linesOf(stdout), notes: linesOf(stderr) }, `line ${step.line}`).toEqual(
          shownBy(step.shows),
        );
      }
    }
    return second;
  }

  async run(commands: readonly string[]): Promise<{ readonly stdout: string; readonly stderr: string }> {
    const where = join(this.#folder, "cwd");
    const script = `set -euo pipefail\n${commands.join("\n")}\npwd > ${JSON.stringify(where)}\n`;
    const child = spawn("bash", ["-c", script], { cwd: this.cwd, env: environment });
    const printed = { stdout: "", stderr: "" };
    child.stdout.on("data", (text) => {
      printed.stdout += text;
    });
    child.stderr.on("data", (text) => {
      printed.stderr += text;
    });
    const [code] = await once(child, "close");
    expect(code, `${commands.join("\n")}\n${printed.stdout}${printed.stderr}`).toBe(0);
    this.cwd = (await readFile(where, "utf8")).trim();
    return printed;
  }
}

/** A command in a second terminal. */
export class SecondTerminal {
  readonly #child: ChildProcess;
  shown = "";

  constructor(command: string, cwd: string) {
    // A separate process group, as a terminal creates for its commands, so that Ctrl-C reaches all
    // of its processes.
    this.#child = spawn("bash", ["-c", command], { cwd, env: environment, detached: true });
    for (const stream of [this.#child.stdout!, this.#child.stderr!]) {
      stream.on("data", (text) => {
        this.shown += text;
      });
    }
  }

  async interrupt(): Promise<void> {
    const closed = once(this.#child, "close");
    process.kill(-this.#child.pid!, "SIGINT");
    await closed;
  }

  kill(): void {
    if (this.#child.exitCode === null && this.#child.signalCode === null)
      process.kill(-this.#child.pid!, "SIGKILL");
  }
}
