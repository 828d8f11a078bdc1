import { readFileSync, statSync } from "node:fs";
import { dirname, extname, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** Specifiers of `import`, `export ... from`, `import()` and `require()` that name a file. */
const specifier = /\b(?:from|import|require)\s*\(?\s*(["'])((?:\.{1,2}\/|\/|file:)[^"'\n]*)\1/g;
const scripts = new Set([".ts", ".mts", ".cts", ".tsx", ".js", ".mjs", ".cjs", ".jsx"]);
const endings = ["", ".ts", ".mts", ".cts", ".tsx", ".js", ".mjs", ".cjs", ".jsx", ".json"];
/** Files that are watched at most. */
const maxFiles = 5_000;

interface Imports {
  readonly state: string;
  readonly files: readonly string[];
}

/** Finds the files of a module. Reads a file again only if it has changed. */
export class ModuleFiles {
  readonly #module: string;
  readonly #imports = new Map<string, Imports>();

  constructor(module: string) {
    this.#module = module;
  }

  /**
   * The module and what it imports by a path, transitively, with the state of each on the disk. A file that does not
   * exist is among them, so that its creation is a change. Packages are not. Finds imports by their text, also in
   * modules with syntax errors.
   */
  find(): ReadonlyMap<string, string> {
    const found = new Map<string, string>();
    const left = [this.#module];
    for (let file = left.pop(); file !== undefined && found.size < maxFiles; file = left.pop()) {
      if (found.has(file)) continue;
      const state = stateOf(file);
      found.set(file, state);
      if (scripts.has(extname(file))) left.push(...this.#importsOf(file, state, found));
    }
    return found;
  }

  #importsOf(file: string, state: string, found: ReadonlyMap<string, string>): readonly string[] {
    const known = this.#imports.get(file);
    const isKnown = known?.state === state && known.files.every((each) => found.has(each) || isFile(each));
    if (isKnown) return known.files;
    const files = [...textOf(file).matchAll(specifier)].map(([, , name]) => resolved(file, name!));
    this.#imports.set(file, { state, files });
    return files;
  }
}

function stateOf(file: string): string {
  const stat = statSync(file, { throwIfNoEntry: false });
  return stat === undefined ? "missing" : `${stat.mtimeMs} ${stat.size} ${stat.ino}`;
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    // It does not exist, or an editor is about to replace it.
    return "";
  }
}

/** The file of a specifier. If there is none, the path as it is written. */
function resolved(from: string, name: string): string {
  const path = name.startsWith("file:") ? fileURLToPath(name) : resolve(dirname(from), name);
  const withoutScript = path.replace(/\.([mc]?)jsx?$/, ".$1ts");
  const candidates = [...endings.map((end) => path + end), withoutScript, `${withoutScript}x`];
  candidates.push(...endings.slice(1).map((end) => resolve(path, `index${end}`)));
  return candidates.find(isFile) ?? path;
}
