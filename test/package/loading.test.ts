import { execFile } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { describe, test } from "vitest";

/** What an import loads, seen by a loader of a fresh process. Much of what the package can do needs a heavy dependency. */

const root = fileURLToPath(new URL("../../", import.meta.url));
const hook = new URL("loading-hook.mjs", import.meta.url).href;
const register = `data:text/javascript,import { register } from "node:module"; register("${hook}");`;

const source = (path: string) => pathToFileURL(join(root, "src", path)).href;

/** The packages under `node_modules` that a module, and then perhaps a few lines of code, load. */
async function packagesLoaded(code: string): Promise<readonly string[]> {
  const script = `data:text/javascript,${encodeURIComponent(code)}`;
  const args = [
    "--import",
    "tsx",
    "--import",
    register,
    "--input-type=module",
    "-e",
    `import ${JSON.stringify(script)}`,
  ];
  const { stderr } = await promisify(execFile)(process.execPath, args, { cwd: root });
  const urls = [...stderr.matchAll(/^loaded (\S+)$/gm)].map(([, url]) => url!);
  if (!urls.some((url) => url.includes("/src/"))) throw new Error(`Nothing was loaded: ${stderr}`);
  const names = urls.flatMap((url) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? []);
  return [...new Set(names)].filter((name) => name !== "tsx").sort();
}

describe.concurrent("what is loaded", () => {
  test("by percolatordb: nothing but itself", async ({ expect }) => {
    expect(await packagesLoaded(`import ${JSON.stringify(source("index.ts"))};`)).toEqual([]);
  });

  test("by a database in memory, also with recipes: no more than its sorted map", async ({ expect }) => {
    const code = `import { int, open, table } from ${JSON.stringify(source("index.ts"))};
import ${JSON.stringify(source("recipes/index.ts"))};
const hits = table("hits", { count: int() });
const db = await open("memory:");
await db.transact((tx) => tx.set(hits.count, "a", 1));
await db.close();`;
    expect(await packagesLoaded(code)).toEqual(["sorted-btree"]);
  });

  test("by the command line before it knows its command: commander", async ({ expect }) => {
    const code = `import { runCli } from ${JSON.stringify(source("cli/index.ts"))};
import { systemIo } from ${JSON.stringify(source("cli/print/io.ts"))};
if ((await runCli(["--help"], systemIo())) !== 0) process.exitCode = 1;`;
    expect(await packagesLoaded(code)).toEqual(["commander"]);
  });
});
