import { readdir, readFile } from "node:fs/promises";
import { dirname, join, posix } from "node:path";
import { roomOf } from "./rooms.js";

/**
 * What runs on a copy of the project: vitest tests, or a program that exits with 0 if it finds no
 * error.
 */
export type Suite =
  | { readonly name: string; readonly tests: readonly string[]; readonly without?: readonly string[] }
  | { readonly name: string; readonly program: readonly string[] };

/** Slow tests of rooms, which come after the others. */
const slow = ["beside", "damage", "stress", "backfill", "failover"].map((name) => `**/${name}.test.ts`);

/** Returns the tests that import a source file directly, and the test next to that file. */
export async function nearTests(root: string, path: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const folder of ["src", "test"]) {
    const names = (await readdir(join(root, folder), { recursive: true })).map((name) =>
      name.replaceAll("\\", "/"),
    );
    for (const name of names.filter((each) => each.endsWith(".test.ts") && !each.endsWith(".long.test.ts"))) {
      const test = `${folder}/${name}`;
      const text = await readFile(join(root, test), "utf8");
      const imported = [...text.matchAll(/from "(\.[^"]+)\.js"/g)].map((match) =>
        posix.join(dirname(test), `${match[1]}.ts`),
      );
      if (imported.includes(path) || test === path.replace(/\.ts$/, ".test.ts")) found.push(test);
    }
  }
  return found.sort();
}

/**
 * Returns the fastest suites for a mutant of a file. Each suite runs only if no earlier suite has
 * killed the mutant.
 */
export async function quickSuites(root: string, path: string): Promise<readonly Suite[]> {
  const { tests, isBelowTransactions = false } = roomOf(path);
  const api = { name: "api", tests: ["test/api", "test/conformance"] };
  return [
    { name: "near", tests: await nearTests(root, path) },
    { name: "room", tests, without: slow },
    ...(isBelowTransactions ? [api] : []),
  ];
}

/** Returns the suites for a mutant that survives the quick ones. */
export function wideSuites(path: string): readonly Suite[] {
  const { tests, isBelowTransactions = false, isSimulated = false } = roomOf(path);
  const suites: Suite[] = [];
  if (isBelowTransactions) {
    suites.push({ name: "isolation", tests: ["test/isolation"] });
    suites.push({ name: "peers", tests: ["test/peers"] });
    suites.push({ name: "properties", tests: ["test/properties"] });
    suites.push({ name: "folder", tests: ["test/embedded", "test/crash"] });
    suites.push({ name: "kills", program: ["test/crash/main.ts", "--kills", "5"] });
  }
  if (isSimulated) {
    const runs = ["--runs", "400", "--processes", "1"];
    suites.push({ name: "exploration", tests: ["test/exploration/programs.test.ts"] });
    suites.push({ name: "simulation", program: ["test/simulation/main.ts", ...runs] });
  }
  suites.push({ name: "slow", tests });
  return [...suites, { name: "rest", tests: ["src", "test"] }];
}
