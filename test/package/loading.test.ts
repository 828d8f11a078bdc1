import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { describe, test } from "vitest";
import { builtFiles, root } from "../support/built/files.js";

/**
 * Checks which packages an import loads, with a module hook in a fresh process. Many features of
 * the package need heavy dependencies.
 */

const hook = new URL("loading-hook.mjs", import.meta.url).href;
const register = `data:text/javascript,import { register } from "node:module"; register("${hook}");`;

/** The dependencies of lmdb, direct and indirect, without binaries for single platforms. */
const ofLmdb = reachedFrom("lmdb");

function reachedFrom(name: string): readonly string[] {
  const path = join(root, "node_modules", name, "package.json");
  if (!existsSync(path)) return [];
  const manifest = JSON.parse(readFileSync(path, "utf8")) as Readonly<
    Record<"dependencies" | "optionalDependencies", Readonly<Record<string, string>> | undefined>
  >;
  const needed = { ...manifest.dependencies, ...manifest.optionalDependencies };
  return [name, ...Object.keys(needed).flatMap(reachedFrom)];
}

const sources = [
  "src/index.ts",
  "src/recipes/index.ts",
  "src/store/bigtable/index.ts",
  "src/coordinator/index.ts",
  "src/cli/index.ts",
  "src/cli/print/io.ts",
];

/** The address of the built file of a source. The builder leaves packages out of it. */
const built = (path: string) => pathToFileURL(builtFiles(sources)![sources.indexOf(`src/${path}`)]!).href;

/** Reports the modules in the cache of `require`. The hook reports only imports. */
const tellRequired = `import { createRequire } from "node:module";
for (const path of Object.keys(createRequire(${JSON.stringify(import.meta.url)}).cache)) process._rawDebug("loaded file://" + path);`;

/** Returns the packages under `node_modules` that some code loads. */
async function packagesLoaded(code: string): Promise<readonly string[]> {
  const script = `data:text/javascript,${encodeURIComponent(`${code}\n${tellRequired}`)}`;
  const args = ["--import", register, "--input-type=module", "-e", `import ${JSON.stringify(script)}`];
  const { stderr } = await promisify(execFile)(process.execPath, args, { cwd: root });
  const urls = [...stderr.matchAll(/^loaded (\S+)$/gm)].map(([, url]) => url!);
  if (!urls.some((url) => url.includes("/percolatordb-tests/")))
    throw new Error(`Nothing was loaded: ${stderr}`);
  const names = urls.flatMap((url) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? []);
  return [...new Set(names)].filter((name) => name !== ".cache").sort();
}

describe.concurrent("the loaded packages", () => {
  test("for percolatordb: none but itself", async ({ expect }) => {
    expect(await packagesLoaded(`import ${JSON.stringify(built("index.ts"))};`)).toEqual([]);
  });

  test("for a database in memory, also with recipes: only its sorted map", async ({ expect }) => {
    const code = `import { int, open, table } from ${JSON.stringify(built("index.ts"))};
import ${JSON.stringify(built("recipes/index.ts"))};
const hits = table("hits", { count: int() });
const db = await open("memory:");
await db.transact((tx) => tx.set(hits.count, "a", 1));
await db.close();`;
    expect(await packagesLoaded(code)).toEqual(["sorted-btree"]);
  });

  test("for a folder, with an observer and a worker: LMDB and its dependencies", async ({ expect }) => {
    const folder = await mkdtemp(join(tmpdir(), "percolatordb-loading-"));
    try {
      const code = `import { int, observer, open, table, text } from ${JSON.stringify(built("index.ts"))};
const pages = table("pages", { body: text(), size: int() });
const sizes = observer("sizes", pages.body, (tx, { row, value }) => tx.set(pages.size, row, value?.length ?? 0));
const db = await open(${JSON.stringify(join(folder, "data"))}, { observers: [sizes] });
await db.transact((tx) => tx.set(pages.body, "a", "hello"));
await db.drain();
await db.close();`;
      const loaded = await packagesLoaded(code);
      expect(loaded).toContain("lmdb");
      expect(loaded.filter((name) => !ofLmdb.includes(name))).toEqual([]);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  test("for the entry points of a cluster: gRPC and the codec's runtime, but no credentials yet", async ({
    expect,
  }) => {
    for (const path of ["store/bigtable/index.ts", "coordinator/index.ts"]) {
      const loaded = await packagesLoaded(`import ${JSON.stringify(built(path))};`);
      expect(loaded).toEqual(expect.arrayContaining(["@grpc/grpc-js", "protobufjs"]));
      expect(loaded).not.toContain("google-auth-library");
    }
  });

  test("for the command line before it knows its command: commander", async ({ expect }) => {
    const code = `import { runCli } from ${JSON.stringify(built("cli/index.ts"))};
import { systemIo } from ${JSON.stringify(built("cli/print/io.ts"))};
if ((await runCli(["--help"], systemIo())) !== 0) process.exitCode = 1;`;
    expect(await packagesLoaded(code)).toEqual(["commander"]);
  });
});
