import { mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { format } from "node:util";
import ts from "typescript";
import { afterAll, expect, test, vi } from "vitest";
import { type EndSignal, runCli } from "../../src/cli/index.js";
import { systemEnvironment } from "../../src/environment/index.js";
import { eventually, Printed } from "../support/command-line.js";
import { root } from "./examples.js";
import { linesOf, type Shown, type Step, shownBy, storyOf, wordsOf } from "./story.js";

/*
 * Plays docs/first-hour.md as one story, in order, in this process and with the current code.
 * `test/package/first-hour.long.test.ts` does it as a reader would, with the packed package.
 */

const page = "docs/first-hour.md";
const place = join(root, "test", "docs", "generated", `first-hour-${process.pid}`);

afterAll(() => rm(place, { recursive: true, force: true }));

/** Commands of the reader's shell and tools. This test leaves them out. */
const ofTheMachine = /^(mkdir|cd|npm|npx tsc$|node --import tsx --test|grep) ?/;

/**
 * The story's folder. Node caches loaded modules, so each change of a file creates a new module.
 */
class Project {
  readonly #files = new Map<string, string>();
  #folder = "";
  #version = 0;
  #isNew = true;

  write(name: string, text: string): void {
    this.#files.set(name, text);
    this.#isNew = true;
  }

  /** Returns the folder with the current files. All versions share one database. */
  async folder(): Promise<string> {
    if (!this.#isNew) return this.#folder;
    this.#isNew = false;
    this.#folder = join(place, String(this.#version++));
    await mkdir(this.#folder, { recursive: true });
    await mkdir(join(place, "data"), { recursive: true });
    await symlink(join(place, "data"), join(this.#folder, "data"));
    await writeFile(join(this.#folder, "node-test.js"), nodeTest);
    for (const [name, text] of this.#files) {
      await writeFile(join(this.#folder, name), text);
      if (name.endsWith(".ts"))
        await writeFile(join(this.#folder, name.replace(/ts$/, "js")), this.#script(text));
    }
    return this.#folder;
  }

  /**
   * Adapts a script so that this process can load it with the library's sources and the shared
   * database.
   */
  #script(text: string): string {
    const { outputText } = ts.transpileModule(text, {
      compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 },
    });
    return outputText
      .replaceAll('"./data"', JSON.stringify(join(place, "data")))
      .replaceAll('"node:test"', '"./node-test.js"');
  }
}

/**
 * Takes the place of `node:test`. It collects the reader's tests, because they must end before the
 * story continues.
 */
const nodeTest = "export const ends = [];\nexport const test = (_name, run) => ends.push(run());\n";

interface Running {
  readonly stdout: Printed;
  readonly ended: Promise<number>;
  stop(): void;
}

function start(args: readonly string[], cwd: string, stdout: Printed, stderr: Printed): Running {
  const listeners = new Set<(signal: EndSignal) => void>();
  const io = {
    stdin: process.stdin,
    stdout,
    stderr,
    cwd,
    environment: systemEnvironment,
    onSignal(listener: (signal: EndSignal) => void) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const words = args.map((word) => word.replace(/^(\.\/.+)\.ts$/, "$1.js"));
  return {
    stdout,
    ended: runCli(words, io),
    stop() {
      for (const listener of listeners) listener("SIGINT");
    },
  };
}

/** Runs one command and returns its output as on a terminal. */
async function show(command: string, folder: string): Promise<Shown> {
  const [, program, ...args] = wordsOf(command);
  if (program === "percolator") {
    const [stdout, stderr] = [new Printed(), new Printed()];
    const code = await start(args, folder, stdout, stderr).ended;
    expect(code, `${command}: ${stderr.text}`).toBe(0);
    return { data: linesOf(stdout.text), notes: linesOf(stderr.text) };
  }
  expect(program, command).toBe("tsx");
  const printed: string[] = [];
  const log = vi.spyOn(console, "log").mockImplementation((...parts) => {
    printed.push(format(...parts));
  });
  try {
    await import(/* @vite-ignore */ pathToFileURL(join(folder, args[0]!.replace(/ts$/, "js"))).href);
  } finally {
    log.mockRestore();
  }
  return { data: linesOf(printed.join("\n")), notes: [] };
}

test(`${page}, from its first block to its last`, async () => {
  await rm(place, { recursive: true, force: true });
  const project = new Project();
  let running: Running | undefined;
  const steps = storyOf(await readFile(join(root, page), "utf8"));
  try {
    for (const step of steps) running = await take(step, project, running);
  } finally {
    running?.stop();
    await running?.ended;
  }
  expect(running).toBe(undefined);

  const folder = await project.folder();
  const { ends } = (await import(/* @vite-ignore */ join(folder, "node-test.js"))) as {
    readonly ends: Promise<void>[];
  };
  await import(/* @vite-ignore */ join(folder, "app.test.js"));
  expect(ends).toHaveLength(2);
  await Promise.all(ends);
});

async function take(
  step: Step,
  project: Project,
  running: Running | undefined,
): Promise<Running | undefined> {
  if (step.type === "file") project.write(step.name, step.text);
  if (step.type === "stop") {
    running!.stop();
    expect(await running!.ended).toBe(0);
    return undefined;
  }
  if (step.type === "start") {
    expect(running).toBe(undefined);
    const [, , ...args] = wordsOf(step.command);
    const started = start(args, await project.folder(), new Printed(), new Printed());
    await eventually(() => expect(linesOf(started.stdout.text)).toEqual(linesOf(step.shows)));
    return started;
  }
  if (step.type === "run") {
    const commands = step.commands.filter((command) => !ofTheMachine.test(command));
    const shown: Shown[] = [];
    for (const command of commands) shown.push(await show(command, await project.folder()));
    if (commands.length > 0) {
      expect(
        { data: shown.flatMap(({ data }) => data), notes: shown.flatMap(({ notes }) => notes) },
        `line ${step.line}`,
      ).toEqual(shownBy(step.shows ?? ""));
    }
  }
  return running;
}
