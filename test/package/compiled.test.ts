import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PackageCopy } from "../support/package-copy.js";

/**
 * Checks which compiled files a process loads. Each file costs a process about a millisecond at its
 * start, so the build joins the sources into few files. These tests count files instead of
 * measuring time.
 */

const run = promisify(execFile);
const hook = new URL("loading-hook.mjs", import.meta.url).href;
const register = `data:text/javascript,import { register } from "node:module"; register("${hook}");`;

interface Manifest {
  readonly version: string;
  readonly bin: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
}

let copy: PackageCopy;
let manifest: Manifest;
beforeAll(async () => {
  copy = new PackageCopy();
  manifest = JSON.parse(readFileSync(join(copy.folder, "package.json"), "utf8")) as Manifest;
  await run("npm", ["run", "build:modules"], { cwd: copy.folder });
  await run("npm", ["run", "build:client"], { cwd: copy.folder });
}, 120_000);
afterAll(() => copy?.[Symbol.dispose]());

interface Loaded {
  /** Files of this package. */
  readonly files: readonly string[];
  /** Folders of `src` whose code is in these files. */
  readonly rooms: readonly string[];
  /** Other packages. */
  readonly packages: readonly string[];
  readonly stdout: string;
}

/** Runs Node with some arguments and reports what it loaded. */
async function load(...args: readonly string[]): Promise<Loaded> {
  const options = { cwd: copy.folder, maxBuffer: 1 << 26 };
  const { stdout, stderr } = await run(process.execPath, ["--import", register, ...args], options);
  const urls = [...stderr.matchAll(/^loaded (file:\S+)$/gm)].map(([, url]) => url!);
  const packages = urls.flatMap((url) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? []);
  const files = urls.filter((url) => url.includes("/dist/") && !url.includes("/node_modules/"));
  const sources = files.flatMap((url) => [
    ...readFileSync(fileURLToPath(url), "utf8").matchAll(/^\/\/ src\/(.+)\/[^/]+$/gm),
  ]);
  const rooms = new Set(sources.map(([, folder]) => folder!));
  return { files, rooms: [...rooms].sort(), packages: [...new Set(packages)].sort(), stdout };
}

const isIn = (rooms: readonly string[]) => (room: string) =>
  rooms.some((each) => room === each || room.startsWith(`${each}/`));

const compiled = (path: string) => join(copy.folder, path);

/** The compiled file of an entry point. */
function fileOf(entry: string): string {
  const target = manifest.exports[entry]!;
  return compiled(typeof target === "string" ? target : target.default);
}

describe("the compiled package", () => {
  test("has a file for each entry point and for the command", () => {
    const files = [
      ...Object.keys(manifest.exports).map(fileOf),
      ...Object.values(manifest.bin).map(compiled),
    ];
    expect(files.filter((file) => !existsSync(file))).toEqual([]);
  });

  test('loads few files, no store and no other package for `import "percolatordb"`', async () => {
    const code = `import ${JSON.stringify(pathToFileURL(fileOf(".")).href)};`;
    const { files, rooms, packages } = await load("--input-type=module", "-e", code);
    expect(packages).toEqual([]);
    expect(files.length).toBeGreaterThan(0);
    expect(files.length).toBeLessThanOrEqual(12);
    expect(rooms).toContain("transaction/commit");
    const unwanted = [
      "store/memory",
      "store/lmdb",
      "store/postgres",
      "store/bigtable",
      "coordinator",
      "recipes",
      "testing",
    ];
    expect(rooms.filter(isIn([...unwanted, "dashboard", "cli"]))).toEqual([]);
  });

  test("loads few files, no store, no server and only commander for `percolator --help`", async () => {
    const { files, rooms, packages, stdout } = await load(compiled(manifest.bin.percolator!), "--help");
    expect(stdout).toContain("percolator [options] [command]");
    expect(packages).toEqual(["commander"]);
    expect(files.length).toBeGreaterThan(0);
    expect(files.length).toBeLessThanOrEqual(16);
    expect(rooms).toContain("cli/commands/serve");
    const unwanted = [
      "store/memory",
      "store/lmdb",
      "store/postgres",
      "store/bigtable",
      "coordinator",
      "testing",
    ];
    expect(rooms.filter(isIn([...unwanted, "dashboard/server"]))).toEqual([]);
  });

  test('loads only the client for `import "percolatordb/live/client"`, as a browser would', async () => {
    const code = `import ${JSON.stringify(pathToFileURL(fileOf("./live/client")).href)};`;
    const { files, rooms, packages } = await load("--input-type=module", "-e", code);
    expect(packages).toEqual([]);
    expect(files.length).toBeLessThanOrEqual(3);
    expect(rooms).toEqual(["live/client"]);
    for (const file of files) {
      expect(readFileSync(fileURLToPath(file), "utf8")).not.toMatch(/node:|process\./);
    }
  });

  test('loads neither a store nor the database for `import "percolatordb/live"`', async () => {
    const code = `import ${JSON.stringify(pathToFileURL(fileOf("./live")).href)};`;
    const { rooms, packages } = await load("--input-type=module", "-e", code);
    expect(packages).toEqual([]);
    expect(rooms).toContain("live/http");
    expect(rooms.filter(isIn(["store/lmdb", "store/postgres", "coordinator", "dashboard", "cli"]))).toEqual(
      [],
    );
  });

  test("finds its package.json", async () => {
    const { stdout } = await load(compiled(manifest.bin.percolator!), "--version");
    expect(stdout.trim()).toBe(manifest.version);
  });

  test("keeps the names of errors", async () => {
    // A bundler renames one of two classes that have the same name, and an error's `name` is that
    // of its class.
    const code = `const all = await import(${JSON.stringify(pathToFileURL(fileOf(".")).href)});
const classes = Object.entries(all).filter(([, value]) => value?.prototype instanceof Error);
console.log(JSON.stringify(classes.map(([name, value]) => [name, value.name])));`;
    const { stdout } = await load("--input-type=module", "-e", code);
    const names = JSON.parse(stdout) as readonly (readonly [string, string])[];
    expect(names.length).toBeGreaterThan(20);
    expect(names.filter(([name, own]) => name !== own)).toEqual([]);
  });

  test("has one copy of the errors for all entry points", () => {
    const dist = compiled("dist");
    const copies = readdirSync(dist, { recursive: true, encoding: "utf8" }).filter(
      (path) =>
        path.endsWith(".js") &&
        /^\/\/ src\/errors\/errors\.ts$/m.test(readFileSync(join(dist, path), "utf8")),
    );
    expect(copies).toHaveLength(1);
  });
});
