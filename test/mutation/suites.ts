import { readdir, readFile } from "node:fs/promises";
import { dirname, join, posix } from "node:path";
import { folderOf } from "./draw.js";

/**
 * What runs on a copy of the project: vitest tests, or a program that exits with 0 if it finds no
 * error.
 */
export type Suite =
  | { readonly name: string; readonly tests: readonly string[]; readonly without?: readonly string[] }
  | { readonly name: string; readonly program: readonly string[] };

/** The tests nearest to a folder, and those of its direct users. */
const rooms: Readonly<Record<string, readonly string[]>> = {
  "src/transaction": ["src/transaction"],
  "src/observer": ["src/observer"],
  "src/oracle": ["src/oracle", "test/coordinator/sessions.test.ts"],
  "src/store/memory": ["test/conformance/memory.test.ts", "src/transaction"],
  "src/store/lmdb": ["src/store/lmdb", "test/conformance/lmdb.test.ts"],
  "src/store/bigtable": ["src/store/bigtable", "test/bigtable/conformance.test.ts"],
};

/** Slow tests of rooms, which come after the others. */
const slow = ["beside", "damage", "stress", "backfill", "failover"].map((name) => `**/${name}.test.ts`);

const otherRooms = [
  "src/transaction",
  "src/observer",
  "src/coordinator",
  "src/database",
  "src/recipes",
  "src/testing",
];

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
  return [
    { name: "near", tests: await nearTests(root, path) },
    { name: "room", tests: rooms[folderOf(path)!]!, without: slow },
    // Mutants of the store for Bigtable skip the next suite, because the tests of their room use
    // the store through a service.
    ...(folderOf(path) === "src/store/bigtable"
      ? []
      : [{ name: "api", tests: ["test/api", "test/conformance"] }]),
  ];
}

/** Returns the suites for a mutant that survives the quick ones. */
export function wideSuites(path: string): readonly Suite[] {
  const folder = folderOf(path)!;
  const suites: Suite[] = [
    { name: "isolation", tests: ["test/isolation"] },
    { name: "peers", tests: ["test/peers"] },
    { name: "properties", tests: ["test/properties"] },
  ];
  if (isOnFolder(folder)) {
    suites.push({ name: "folder", tests: ["test/embedded", "test/crash"] });
    suites.push({ name: "kills", program: ["test/crash/main.ts", "--kills", "5"] });
  }
  if (isSimulated(folder)) {
    const runs = ["--runs", "400", "--processes", "1"];
    suites.push({ name: "exploration", tests: ["test/exploration/programs.test.ts"] });
    suites.push({ name: "simulation", program: ["test/simulation/main.ts", ...runs] });
  }
  suites.push({ name: "slow", tests: rooms[folder]! });
  if (folder === "src/store/bigtable") suites.push({ name: "bigtable", tests: ["test/bigtable"] });
  const others = otherRooms.filter((each) => !rooms[folder]!.includes(each));
  return [...suites, { name: "rest", tests: [...others, "test/coordinator", "test/workers"] }];
}

function isOnFolder(folder: string): boolean {
  return folder !== "src/store/memory" && folder !== "src/store/bigtable";
}

function isSimulated(folder: string): boolean {
  return folder !== "src/store/lmdb" && folder !== "src/store/bigtable";
}
