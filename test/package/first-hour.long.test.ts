import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { linesOf, type Step, shownBy, storyOf } from "../docs/story.js";
import { eventually } from "../support/command-line.js";
import { Packed, root } from "./packed.js";

/**
 * A new user's path: docs/first-hour.md from its first block to its last, in a fresh folder, in a
 * shell, with the package as npm packs it. It prints how many seconds that took, but sets no limit.
 */

const page = "docs/first-hour.md";

let packed: Packed;
beforeAll(async () => {
  packed = await Packed.create();
}, 600_000);
afterAll(() => packed?.remove());

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
class Terminal {
  cwd: string;

  constructor(cwd: string) {
    this.cwd = cwd;
  }

  async run(commands: readonly string[]): Promise<{ readonly stdout: string; readonly stderr: string }> {
    const where = join(packed.folder, "cwd");
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
class SecondTerminal {
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
    expect(this.shown).toMatch(/stopped after \d+ runs?\n/);
  }

  kill(): void {
    if (this.#child.exitCode === null && this.#child.signalCode === null)
      process.kill(-this.#child.pid!, "SIGKILL");
  }
}

test(`${page}: a new user's path`, async () => {
  const terminal = new Terminal(dirname(packed.tarball));
  const seconds: Record<string, number> = {};
  let second: SecondTerminal | undefined;
  const began = performance.now();
  const note = (what: string) => {
    seconds[what] ??= Math.round((performance.now() - began) / 100) / 10;
  };
  try {
    for (const step of storyOf(await readFile(join(root, page), "utf8"))) {
      second = await take(step, terminal, second);
      if (step.type === "run" && step.commands.some((command) => command.startsWith("npm install")))
        note("installed");
      if (step.type === "run" && step.commands.includes("npx percolator scan ./data words"))
        note("first observer run seen");
    }
  } finally {
    second?.kill();
  }
  note("the whole page");
  expect(Object.keys(seconds)).toEqual(["installed", "first observer run seen", "the whole page"]);
  const told = Object.entries(seconds).map(([what, after]) => `${what} after ${after} s`);
  process.stdout.write(`${page}: ${told.join(", ")}\n`);
}, 600_000);

async function take(step: Step, terminal: Terminal, second: SecondTerminal | undefined) {
  if (step.type === "file") await writeFile(join(terminal.cwd, step.name), step.text);
  if (step.type === "stop") {
    await second!.interrupt();
    return undefined;
  }
  if (step.type === "start") {
    const started = new SecondTerminal(step.command, terminal.cwd);
    await eventually(() => expect(linesOf(started.shown)).toEqual(linesOf(step.shows)));
    return started;
  }
  if (step.type === "run") {
    const commands = step.commands.map((command) =>
      command.replace(/^npm install percolatordb$/, `npm install ${packed.tarball}`),
    );
    const { stdout, stderr } = await terminal.run(commands);
    if (step.shows !== undefined) {
      expect({ data: linesOf(stdout), notes: linesOf(stderr) }, `line ${step.line}`).toEqual(
        shownBy(step.shows),
      );
    }
  }
  return second;
}
