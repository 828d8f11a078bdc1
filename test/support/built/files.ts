import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { TestProject } from "vitest/node";

/** The folder of this project. */
export const root = fileURLToPath(new URL("../../../", import.meta.url));

const folderVariable = "PERCOLATORDB_TEST_BUILT";
const builder = fileURLToPath(new URL("./build.mjs", import.meta.url));

/** Called by vitest once before all test files. Builds nothing: the first test that needs a file does. */
export function setup(project: Pick<TestProject, "onTestsRerun">): void {
  // Within the project, so that what is built finds the packages.
  const folder = join(root, "node_modules", ".cache", "percolatordb-tests", String(process.pid));
  process.env[folderVariable] = folder;
  project.onTestsRerun(async () => teardown());
}

/** Called by vitest after all test files. */
export function teardown(): void {
  rmSync(process.env[folderVariable]!, { recursive: true, force: true });
}

/**
 * Has the processes that a command starts built first, as in a run of the tests. Removes what was built
 * when the command ends.
 */
export function buildForCommand(): void {
  setup({ onTestsRerun: () => undefined });
  process.once("exit", teardown);
}

/**
 * Builds TypeScript files of this project, given by their paths in it. They share what they import.
 * Builds the same files once in a run of the tests, within a second. Undefined where neither the tests'
 * runner nor {@link buildForCommand} has prepared it.
 */
export function builtFiles(sources: readonly string[]): readonly string[] | undefined {
  const parent = process.env[folderVariable];
  if (parent === undefined) return undefined;
  const name = createHash("sha256").update(sources.join("\n")).digest("hex").slice(0, 16);
  const folder = join(parent, name);
  if (!existsSync(folder)) {
    const own = `${folder}-${process.pid}`;
    mkdirSync(own, { recursive: true });
    execFileSync(process.execPath, [builder, root, own, ...sources], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    try {
      renameSync(own, folder);
    } catch (error) {
      // Another process of the tests was faster.
      if (!existsSync(folder)) throw error;
      rmSync(own, { recursive: true });
    }
  }
  return sources.map((source) => join(folder, source.replace(/\.ts$/, ".mjs")));
}

/**
 * Returns the arguments of Node for a TypeScript file of this project with arguments. In a run of the
 * tests, Node gets built files, also instead of arguments that are TypeScript files of this project, as
 * modules for the command line are. They start within a quarter of a second of CPU time. A loader of
 * TypeScript, which compiles each file for itself, takes one to three seconds.
 */
export function nodeArguments(source: string, args: readonly string[] = []): readonly string[] {
  const isSource = (arg: string) => arg.endsWith(".ts") && existsSync(join(root, arg));
  const sources = [relative(root, resolve(root, source)), ...args.filter(isSource)];
  const built = builtFiles(sources);
  if (built === undefined) return ["--import", import.meta.resolve("tsx"), source, ...args];
  return [built[0]!, ...args.map((arg) => (isSource(arg) ? built[sources.lastIndexOf(arg)]! : arg))];
}

/** {@link nodeArguments} as a command for a shell. */
export function shellCommand(source: string, args: readonly string[] = []): string {
  return [process.execPath, ...nodeArguments(source, args)].map((each) => `"${each}"`).join(" ");
}
