import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { root } from "./program-process.js";

const entries = { index: "src/index.ts", recipes: "src/recipes/index.ts" };

/** The files of the built library, to import from. */
export type BuiltLibrary = Readonly<Record<keyof typeof entries, string>>;

let built: Promise<BuiltLibrary> | undefined;

/**
 * Builds the library of this checkout for modules that a test writes and the command line loads: once
 * a process, within a second. From the library's sources, the command line's loader of TypeScript
 * takes half a minute, because it compiles every file of them.
 */
export function builtLibrary(): Promise<BuiltLibrary> {
  built ??= buildLibrary();
  return built;
}

async function buildLibrary(): Promise<BuiltLibrary> {
  // Within the project, so that the library finds its packages.
  const folder = join(root, "node_modules", ".cache", "percolatordb-tests", String(process.pid));
  mkdirSync(folder, { recursive: true });
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  await build({
    absWorkingDir: root,
    entryPoints: entries,
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20.19",
    packages: "external",
    logLevel: "warning",
  });
  return { index: join(folder, "index.mjs"), recipes: join(folder, "recipes.mjs") };
}
