import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { build as esbuild } from "esbuild";
import { build as vite } from "vite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Packed, root } from "./packed.js";

/**
 * Bundles an application as docs/operations.md describes, with esbuild and with Vite, from the
 * packed package, and runs it.
 */

const run = promisify(execFile);

const application = `
import { open, table, text, int, observer } from "percolatordb";
import { uniqueConstraint } from "percolatordb/recipes";
import { serveDashboard } from "percolatordb/dashboard";

const documents = table("documents", { title: text(), size: int() });
const titles = uniqueConstraint("titles", documents.title, { by: (title: string) => title });
const sizes = observer("sizes", documents.title, (tx, { row, value }) => tx.set(documents.size, row, value?.length ?? 0));

const db = await open(process.argv[2]!, { tables: [titles.table], observers: [sizes] });
await db.transact((tx) => titles.set(tx, "a", "hello"));
const worker = db.work();
await db.idle();
await worker.stop();
const size = await db.transact((tx) => tx.get(documents.size, "a"));
const problems = await db.check();
const dashboard = await serveDashboard(db, { port: 0 });
const page = await fetch(dashboard.url);
const shown = (await page.text()).includes("<html") && page.status === 200 ? "pages" : String(page.status);
const { version } = await (await fetch(new URL("api/about", dashboard.url))).json() as { version?: string };
await dashboard.close();
await db.close();
console.log(JSON.stringify({ size, problems: problems.length, shown, version }));
`;

/** Cannot be part of a bundle: LMDB's native addon. */
const native = ["lmdb"];
/**
 * Optional peers, which a program on a folder does not install. A bundler must not resolve them.
 */
const optional = ["google-auth-library", "@grpc/grpc-js", "protobufjs", "long"];

const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as { version: string };

let packed: Packed;
let project: string;

beforeAll(async () => {
  packed = await Packed.create();
  project = join(packed.folder, "project");
  await packed.write("app.ts", application);
  await packed.write("package.json", JSON.stringify({ name: "project", version: "9.9.9", type: "module" }));
  await modules(project, { all: true });
  // The hook builds and packs.
}, 600_000);
afterAll(() => packed?.remove());

/**
 * Creates a folder's `node_modules`, with the package and its dependencies or with only the native
 * addon.
 */
async function modules(folder: string, { all }: { readonly all: boolean }): Promise<void> {
  const target = join(folder, "node_modules");
  await mkdir(target, { recursive: true });
  const names = (await readdir(join(root, "node_modules"))).filter((name) => !name.startsWith("."));
  for (const name of all ? names : native) {
    if (name !== "percolatordb" && !optional.includes(name) && name !== "@grpc")
      await symlink(join(root, "node_modules", name), join(target, name));
  }
  if (!all) return;
  const own = join(target, "percolatordb");
  await mkdir(own);
  await run("tar", ["-xzf", packed.tarball, "-C", own, "--strip-components", "1"]);
}

async function byEsbuild(external: readonly string[], outfile: string): Promise<void> {
  await esbuild({
    entryPoints: [join(project, "app.ts")],
    absWorkingDir: project,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    outfile,
    external: [...external],
    logLevel: "error",
  });
}

async function byVite(ssr: object, outfile: string): Promise<void> {
  await vite({
    root: project,
    configFile: false,
    logLevel: "error",
    ssr,
    build: {
      ssr: join(project, "app.ts"),
      target: "node20",
      outDir: join(outfile, ".."),
      emptyOutDir: false,
      rolldownOptions: { output: { entryFileNames: "app.mjs" } },
    },
  });
}

/**
 * Runs a built file in its own folder twice, so that the second run opens the data of the first.
 */
async function result(file: string): Promise<unknown> {
  const folder = join(file, "..");
  const data = join(folder, "data");
  const first = await run(process.execPath, [file, data], { cwd: folder });
  const second = await run(process.execPath, [file, data], { cwd: folder });
  expect(second.stdout).toBe(first.stdout);
  return JSON.parse(first.stdout);
}

describe.each([
  ["esbuild", (file: string) => byEsbuild(["percolatordb"], file)],
  ["vite build --ssr", (file: string) => byVite({ external: ["percolatordb"] }, file)],
])("%s, with the package as an external module", (name, build) => {
  test("runs, including the dashboard", async () => {
    const file = join(project, `${name.split(" ")[0]}-outside`, "app.mjs");
    await build(file);
    const built = await readFile(file, "utf8");
    expect(built).toContain('from "percolatordb"');
    expect(await result(file)).toEqual({ size: 5, problems: 0, shown: "pages", version });
  });
});

describe.each([
  ["esbuild", (file: string) => byEsbuild(native, file)],
  ["vite build --ssr", (file: string) => byVite({ noExternal: true, external: native }, file)],
])("%s, with the package in the bundle", (name, build) => {
  test("runs with only the native addon beside it, and reports that the dashboard's pages are missing", async () => {
    const folder = join(packed.folder, `${name.split(" ")[0]}-inside`);
    await modules(folder, { all: false });
    await writeFile(
      join(folder, "package.json"),
      JSON.stringify({ name: "other", version: "9.9.9", type: "module" }),
    );
    // The program's package.json is in the place where the package would expect its own.
    const file = join(folder, "dist", "server", "app.mjs");
    await mkdir(join(file, ".."), { recursive: true });
    await build(file);
    expect(await readFile(file, "utf8")).not.toMatch(/from ["']percolatordb/);
    expect(await result(file)).toEqual({ size: 5, problems: 0, shown: "503", version: "bundled" });
  });
});
