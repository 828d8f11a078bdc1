import { spawn } from "node:child_process";
import { existsSync, rmSync } from "node:fs";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { type Candidate, mutated } from "./candidates.js";
import type { Suite } from "./suites.js";

/** Longer than every suite takes on two busy cores; a mutant that takes longer hangs. */
const suiteTimeoutMs = 600_000;
/** Of one test: a test that waits for what the mutant never does. */
const testTimeoutMs = 40_000;
/** Of what a program printed, as much as says how it ended. */
const maxKeptCharacters = 20_000;
/** What a copy does without: it is large, or made by what runs there. */
const notCopied = new Set(["node_modules", ".git", "dist", "coverage"]);

/** What became of a mutant. */
export interface Verdict {
  readonly candidate: Candidate;
  readonly outcome: "killed" | "survived" | "equivalent";
  /** The suite and the test that killed it. */
  readonly suite?: string;
  readonly test?: string;
  /** What the test said, or why the mutant changes nothing. */
  readonly message?: string;
  readonly seconds: number;
}

interface Ended {
  readonly code: number | undefined;
  readonly isTimeout: boolean;
  readonly output: string;
}

interface Failure {
  readonly file: string | undefined;
  readonly test: string;
  readonly message: string;
}

/** A copy of the project in a temporary folder. Mutants stand there only, so that the project is the same if this process dies. */
export class Copy implements AsyncDisposable {
  readonly #path: string;
  /** Test files that passed here on the source as it is. */
  readonly #passed = new Set<string>();

  private constructor(path: string) {
    this.#path = path;
  }

  static async of(root: string): Promise<Copy> {
    const path = await mkdtemp(join(tmpdir(), "percolator-mutation-"));
    const filter = (source: string) =>
      !notCopied.has(relative(root, source).split(/[\\/]/).at(-1)!) &&
      relative(root, source) !== join("bench", "results");
    await cp(root, path, { recursive: true, filter });
    await symlink(join(root, "node_modules"), join(path, "node_modules"), "junction");
    process.once("exit", () => rmSync(path, { recursive: true, force: true }));
    return new Copy(path);
  }

  /** Runs the suites on a mutant until one kills it. A test that fails without the mutant too has killed nothing. */
  async judge(
    candidate: Candidate,
    suites: readonly Suite[],
    report: (text: string) => void,
  ): Promise<Verdict> {
    const startedAt = performance.now();
    const seconds = () => Math.round((performance.now() - startedAt) / 100) / 10;
    for (const suite of suites) {
      const suiteStartedAt = performance.now();
      const failure = await this.#with(candidate, () => this.#run(suite));
      report(`    ${suite.name}: ${((performance.now() - suiteStartedAt) / 1_000).toFixed(0)} s`);
      if (failure === undefined) continue;
      if (!(await this.#passesWithout(suite, failure))) {
        report(`    ${failure.test} fails without the mutant too`);
        continue;
      }
      const { test, message } = failure;
      return { candidate, outcome: "killed", suite: suite.name, test, message, seconds: seconds() };
    }
    return { candidate, outcome: "survived", seconds: seconds() };
  }

  async #with<T>(candidate: Candidate, run: () => Promise<T>): Promise<T> {
    const path = join(this.#path, candidate.path);
    const text = await readFile(path, "utf8");
    await writeFile(path, mutated(text, candidate));
    try {
      return await run();
    } finally {
      await writeFile(path, text);
    }
  }

  async #passesWithout(suite: Suite, { file }: Failure): Promise<boolean> {
    const key = file ?? suite.name;
    if (this.#passed.has(key)) return true;
    const again = file === undefined ? suite : { name: suite.name, tests: [file] };
    const passes = (await this.#run(again)) === undefined;
    if (passes) this.#passed.add(key);
    return passes;
  }

  /** Runs a suite on the copy as it stands; the first failure, if there is one. */
  async #run(suite: Suite): Promise<Failure | undefined> {
    if ("program" in suite) {
      const ended = await this.#node(["--import", "tsx", ...suite.program]);
      if (ended.code === 0) return undefined;
      const lines = ended.output.trim().split("\n");
      return {
        file: undefined,
        test: ended.isTimeout ? `${suite.name} hangs` : suite.name,
        message: lines.slice(-6).join("\n"),
      };
    }
    const tests = suite.tests.filter((each) => existsSync(join(this.#path, each)));
    if (tests.length === 0) return undefined;
    const reportPath = join(this.#path, "mutation-report.json");
    await rm(reportPath, { force: true });
    const timeouts = [`--testTimeout=${testTimeoutMs}`, `--hookTimeout=${testTimeoutMs}`];
    const ended = await this.#node([
      join("node_modules", "vitest", "vitest.mjs"),
      ...["run", "--bail=1", "--maxWorkers=1", "--typecheck.enabled=false", ...timeouts],
      ...["--reporter=json", `--outputFile=${reportPath}`, ...tests],
      ...(suite.without ?? []).map((each) => `--exclude=${each}`),
    ]);
    if (ended.code === 0) return undefined;
    const found = existsSync(reportPath)
      ? failureIn(await readFile(reportPath, "utf8"), this.#path)
      : undefined;
    const test = ended.isTimeout
      ? `${suite.name} hangs`
      : `${suite.name} ends with an error outside of its tests`;
    return found ?? { file: undefined, test, message: ended.output.slice(-1_000) };
  }

  /** A program in a process group of its own, which ends as a whole when its time is over. */
  #node(args: readonly string[]): Promise<Ended> {
    const child = spawn("nice", ["-n", "5", process.execPath, ...args], {
      cwd: this.#path,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, FORCE_COLOR: "0" },
    });
    let output = "";
    let isTimeout = false;
    const keep = (data: Buffer) => {
      output = (output + data.toString()).slice(-maxKeptCharacters);
    };
    child.stdout.on("data", keep);
    child.stderr.on("data", keep);
    const end = () => endGroup(child.pid);
    const timer = setTimeout(() => {
      isTimeout = true;
      end();
    }, suiteTimeoutMs);
    const interrupted = () => process.exit(130);
    process.once("exit", end);
    process.once("SIGINT", interrupted).once("SIGTERM", interrupted);
    return new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("exit", (code) => {
        clearTimeout(timer);
        process.off("exit", end);
        process.off("SIGINT", interrupted).off("SIGTERM", interrupted);
        end();
        resolve({ code: code ?? undefined, isTimeout, output });
      });
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#path, { recursive: true, force: true });
  }
}

/** Ends a process and the ones that it started. */
function endGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

interface VitestReport {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message: string;
    readonly assertionResults: readonly {
      status: string;
      fullName: string;
      failureMessages: readonly string[];
    }[];
  }[];
}

/** The first test that failed, or the first file that could not be run. */
export function failureIn(json: string, root: string): Failure | undefined {
  const report = JSON.parse(json) as VitestReport;
  for (const { name, status, message, assertionResults } of report.testResults) {
    const file = relative(root, name).replaceAll("\\", "/");
    const failed = assertionResults.find((each) => each.status === "failed");
    if (failed !== undefined) {
      const [said = ""] = failed.failureMessages;
      const isTimeout = said.includes("timed out in");
      return {
        file,
        test: `${file}: ${failed.fullName}${isTimeout ? " (hangs)" : ""}`,
        message: said.slice(0, 600),
      };
    }
    if (status === "failed") return { file, test: `${file} (does not load)`, message: message.slice(0, 600) };
  }
  return undefined;
}
