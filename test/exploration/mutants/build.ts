import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import type { Mutant, Patch } from "./mutant.js";

const root = fileURLToPath(new URL("../../../", import.meta.url));
/** Below node_modules, so that the compiled code finds its imports. */
const folder = join(root, "node_modules", ".cache", "percolatordb", "mutants");

/** The compiled sources: the library, and the programs that explore it. */
const sources = ["src", join("test", "exploration", "programs")];

let compiled: Promise<ReadonlyMap<string, string>> | undefined;

/** Compiles every module to JavaScript. Returns the modules by path. */
async function compileAll(): Promise<ReadonlyMap<string, string>> {
  const modules = new Map<string, string>();
  for (const source of sources) {
    for (const path of await readdir(join(root, source), { recursive: true })) {
      if (!path.endsWith(".ts") || /\.test\.ts$|(^|[\\/])cli[\\/]/.test(path)) continue;
      const file = join(source, path);
      modules.set(file, compile(await readFile(join(root, file), "utf8")));
    }
  }
  return modules;
}

function compile(text: string): string {
  const compilerOptions = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 };
  return ts.transpileModule(text, { compilerOptions }).outputText;
}

function javaScript(file: string): string {
  return file.replace(/\.ts$/, ".js");
}

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

/** Returns the changed files of a mutant. Throws if a patch does not match exactly one place. */
export async function mutatedFiles({
  patches,
}: Pick<Mutant, "patches">): Promise<ReadonlyMap<string, string>> {
  const changed = new Map<string, string>();
  for (const file of new Set(patches.map((patch) => patch.file))) {
    const text = await readFile(join(root, file), "utf8");
    const own = patches.filter((patch) => patch.file === file);
    changed.set(file, patched(text, file, own));
  }
  return changed;
}

/** The location of a build: every module of the library, with or without mutations. */
export interface Build {
  readonly path: string;
  remove(): Promise<void>;
}

/** Builds the library with a mutant, or unchanged. */
export async function build(name: string, mutant?: Pick<Mutant, "patches">): Promise<Build> {
  compiled ??= compileAll();
  const modules = new Map(await compiled);
  for (const [file, text] of await mutatedFiles(mutant ?? { patches: [] }))
    modules.set(join(...file.split("/")), compile(text));
  const path = join(folder, `${process.pid}`, name.replaceAll(/[^a-z0-9]+/gi, "-"));
  await rm(path, { recursive: true, force: true });
  const made = new Set<string>();
  for (const [file, text] of modules) {
    const target = join(path, javaScript(file));
    if (!made.has(dirname(target))) await mkdir(dirname(target), { recursive: true });
    made.add(dirname(target));
    await writeFile(target, text);
  }
  await writeFile(join(path, "package.json"), '{"type":"module"}');
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}
