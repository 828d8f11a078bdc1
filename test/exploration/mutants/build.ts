import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build as bundle, type Plugin } from "esbuild";
import type { Mutant, Patch } from "./mutant.js";

const root = fileURLToPath(new URL("../../../", import.meta.url));
/** Below node_modules, so that a build finds its packages. */
const folder = join(root, "node_modules", ".cache", "percolatordb", "mutants");

/** What a build exports: the explorer, and the programs that it explores. */
const entry = `
  export { explore } from "./src/testing/exploration/index.js";
  export * as programs from "./test/exploration/programs/index.js";
`;

/**
 * Returns the source of a file with a mutant's patches. Each patch must match exactly one place.
 */
function patched(text: string, file: string, patches: readonly Patch[]): string {
  return patches.reduce((changed, { find, replace }) => {
    const places = changed.split(find).length - 1;
    if (places !== 1) throw new Error(`${file} has ${places} places where one was to be changed: ${find}`);
    return changed.replace(find, () => replace);
  }, text);
}

/**
 * Returns the changed files of a mutant, by their paths. Throws if a patch does not match exactly one
 * place.
 */
export async function mutatedFiles({
  patches,
}: Pick<Mutant, "patches">): Promise<ReadonlyMap<string, string>> {
  const changed = new Map<string, string>();
  for (const file of new Set(patches.map((patch) => patch.file))) {
    const path = join(root, file);
    const own = patches.filter((patch) => patch.file === file);
    changed.set(path, patched(await readFile(path, "utf8"), file, own));
  }
  return changed;
}

/** The location of a build: one module with the library and the programs. */
export interface Build {
  readonly file: string;
  remove(): Promise<void>;
}

/** Builds the library with a mutant. */
export async function build({ name, patches }: Pick<Mutant, "name" | "patches">): Promise<Build> {
  const changed = await mutatedFiles({ patches });
  const used = new Set<string>();
  const mutation: Plugin = {
    name: "mutation",
    setup({ onLoad }) {
      onLoad({ filter: /\.ts$/ }, async ({ path }) => {
        used.add(path);
        const source = changed.get(path) ?? (await readFile(path, "utf8"));
        const address = JSON.stringify(pathToFileURL(path).href);
        return { contents: source.replaceAll("import.meta.url", address), loader: "ts" };
      });
    },
  };
  const file = join(folder, `${process.pid}`, `${name.replaceAll(/[^a-z0-9]+/gi, "-")}.mjs`);
  await bundle({
    stdin: { contents: entry, resolveDir: root },
    absWorkingDir: root,
    outfile: file,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20.19",
    packages: "external",
    logLevel: "silent",
    plugins: [mutation],
  });
  for (const path of changed.keys())
    if (!used.has(path)) throw new Error(`No program of the explorer contains ${path}, so it finds nothing.`);
  return { file, remove: () => rm(file, { force: true }) };
}
