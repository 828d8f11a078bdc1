import { existsSync } from "node:fs";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { type Candidate, mutated } from "./candidates.js";
import { type Ended, runNode } from "./child.js";
import type { Suite } from "./suites.js";

/** Longer than every suite takes on two busy cores; a mutant that takes longer hangs. */
const suiteTimeoutMs = 600_000;
/** Of one test: a test that waits for what the mutant never does. */
const testTimeoutMs = 40_000;
/** What a copy does without: it is large, or made by what runs there. */
const notCopied = new Set(["node_modules", ".git", "dist", "coverage"]);

/** What became of a mutant. */
export interface Verdict {
  readonly candidate: Candidate;
  readonly outcome: "killed" | "survived" | "equivalent" | "does not compile";
  /** The suite and the test that killed it. */
  readonly suite?: string;
  readonly test?: string;
  /** Whether nothing failed but a deadline: the test or the suite never ended. */
  readonly isHang?: boolean;
  /** What the test or the compiler said, or why the mutant changes nothing. */
  readonly message?: string;
  readonly seconds: number;
}

interface Failure {
  readonly file: string | undefined;
  readonly test: string;
  readonly isHang: boolean;
  readonly message: string;
}

export interface CopyOptions {
  /** Ends what runs in the copy; what was asked of the copy rejects then. */
  readonly signal: AbortSignal;
  /** How long a suite may take, in milliseconds. Default: 600,000. */
  readonly suiteTimeoutMs?: number;
  /** How long a test may take that says nothing else, in milliseconds. Default: 40,000. */
  readonly testTimeoutMs?: number;
}

/** A copy of the project in a temporary folder. Mutants stand there only, so that the project is the same if this process dies. */
export class Copy implements AsyncDisposable {
  readonly #path: string;
  readonly #options: CopyOptions;
  /** Test files that passed here on the source as it is. */
  readonly #passed = new Set<string>();

  private constructor(path: string, options: CopyOptions) {
    this.#path = path;
    this.#options = options;
  }

  static async of(root: string, options: CopyOptions): Promise<Copy> {
    const path = await mkdtemp(join(tmpdir(), "percolator-mutation-"));
    const copy = new Copy(path, options);
    const filter = (source: string) =>
      !notCopied.has(relative(root, source).split(/[\\/]/).at(-1)!) &&
      relative(root, source) !== join("bench", "results");
    try {
      await cp(root, path, { recursive: true, filter });
      await symlink(join(root, "node_modules"), join(path, "node_modules"), "junction");
    } catch (error) {
      await copy[Symbol.asyncDispose]();
      throw error;
    }
    return copy;
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
      const failure = await this.#failureBy(candidate, suite, report);
      if (failure === undefined) continue;
      const { test, isHang, message } = failure;
      return { candidate, outcome: "killed", suite: suite.name, test, isHang, message, seconds: seconds() };
    }
    return { candidate, outcome: "survived", seconds: seconds() };
  }

  /**
   * The first failure in a suite that is the mutant's doing. A run ends at its first failure; if that one has another cause,
   * the suite runs again without the file, since nothing is known yet about the tests after it.
   */
  async #failureBy(
    candidate: Candidate,
    suite: Suite,
    report: (text: string) => void,
  ): Promise<Failure | undefined> {
    const failing: string[] = [];
    for (;;) {
      const startedAt = performance.now();
      const failure = await this.#with(candidate, () => this.#run(suite, failing));
      report(`    ${suite.name}: ${((performance.now() - startedAt) / 1_000).toFixed(0)} s`);
      if (failure === undefined || (await this.#passesWithout(suite, failure))) return failure;
      report(`    ${failure.test} fails without the mutant too`);
      if (failure.file === undefined || failing.includes(failure.file)) return undefined;
      failing.push(failure.file);
    }
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

  /** Whether what failed passes without the mutant. After a hang it must do so now: this machine may have become slow meanwhile. */
  async #passesWithout(suite: Suite, { file, isHang }: Failure): Promise<boolean> {
    const key = file ?? suite.name;
    if (this.#passed.has(key) && !isHang) return true;
    const again = file === undefined ? suite : { name: suite.name, tests: [file] };
    const passes = (await this.#run(again)) === undefined;
    if (passes) this.#passed.add(key);
    return passes;
  }

  /** Runs a suite on the copy as it stands, without some of its files; the first failure, if there is one. */
  async #run(suite: Suite, leftOut: readonly string[] = []): Promise<Failure | undefined> {
    if ("program" in suite) {
      const { code, isTimeout, output } = await this.#node(["--import", "tsx", ...suite.program]);
      const message = output.trim().split("\n").slice(-6).join("\n");
      return code === 0 ? undefined : { file: undefined, test: suite.name, isHang: isTimeout, message };
    }
    const tests = suite.tests.filter((each) => !leftOut.includes(each) && existsSync(join(this.#path, each)));
    if (tests.length === 0) return undefined;
    const reportPath = join(this.#path, "mutation-report.json");
    await rm(reportPath, { force: true });
    const timeoutMs = this.#options.testTimeoutMs ?? testTimeoutMs;
    const { code, isTimeout, output } = await this.#node([
      join("node_modules", "vitest", "vitest.mjs"),
      ...["run", "--bail=1", "--maxWorkers=1", "--typecheck.enabled=false"],
      ...[`--testTimeout=${timeoutMs}`, `--hookTimeout=${timeoutMs}`],
      ...["--reporter=json", `--outputFile=${reportPath}`, ...tests],
      ...[...(suite.without ?? []), ...leftOut].map((each) => `--exclude=${each}`),
    ]);
    if (code === 0) return undefined;
    const found = existsSync(reportPath)
      ? failureIn(await readFile(reportPath, "utf8"), this.#path)
      : undefined;
    const test = isTimeout ? suite.name : `${suite.name} ends with an error outside of its tests`;
    return found ?? { file: undefined, test, isHang: isTimeout, message: output.slice(-1_000) };
  }

  #node(args: readonly string[]): Promise<Ended> {
    const timeoutMs = this.#options.suiteTimeoutMs ?? suiteTimeoutMs;
    return runNode(args, { cwd: this.#path, timeoutMs, signal: this.#options.signal });
  }

  /** Removes the copy. Nothing runs there by then; what was killed a moment ago may still write, so that a folder is tried again. */
  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#path, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
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

/**
 * What vitest's report says of a test or a hook that has not ended in time. Of a test it shows the stack alone, which is one that
 * was made for this. Errors of the library may speak of time as well.
 */
const hang = /^(?:Error: STACK_TRACE_ERROR\n|(?:Error: )?(?:Test|Hook) timed out in \d+ms)/;

/** The first test that failed, or else the first file that could not be run. */
export function failureIn(json: string, root: string): Failure | undefined {
  const { testResults } = JSON.parse(json) as VitestReport;
  const fileOf = (name: string) => relative(root, name).replaceAll("\\", "/");
  for (const { name, assertionResults } of testResults) {
    const file = fileOf(name);
    const failed = assertionResults.find((each) => each.status === "failed");
    if (failed === undefined) continue;
    const [said = ""] = failed.failureMessages;
    const message = said.slice(0, 600);
    return { file, test: `${file}: ${failed.fullName}`, isHang: hang.test(said), message };
  }
  const broken = testResults.find(({ status }) => status === "failed");
  if (broken === undefined) return undefined;
  const file = fileOf(broken.name);
  const message = broken.message.slice(0, 600);
  return { file, test: `${file} (does not load)`, isHang: hang.test(message), message };
}
