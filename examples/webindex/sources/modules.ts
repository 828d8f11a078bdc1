import { stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { readFiles } from "./files.js";
import { baseUrl } from "./folder.js";
import type { Source } from "./page.js";

/** What the URLs of the packages' pages begin with, unless told otherwise. */
export const modulesScope = "npm:/";

/**
 * The documentation of the packages in a `node_modules` folder: every Markdown and HTML file of
 * each package, scoped and nested packages included. The same page in several packages stays
 * several pages.
 *
 * The URL of a page is `npm:/` and its path from the folder, as in `npm:/marked/README.md` and
 * `npm:/@types/node/README.md`. It names no version, so that a package that was updated changes its
 * pages and does not replace them. To load several such folders into one index, give each its
 * `base`.
 */
export function modulesSource(path: string, base?: string): Source {
  const root = resolve(path);
  const scope = base === undefined ? modulesScope : baseUrl(path, base);
  // Not what tools keep there for themselves; a package manager's store is reached through its
  // links.
  const folder = (name: string) => !name.startsWith(".");
  return {
    kind: "modules",
    path,
    scope,
    items: (signal) => readFiles({ root, scope, folder }, signal),
  };
}

/** The nearest `node_modules` folder, from `from` upwards; `undefined` if there is none. */
export async function findModules(from: string): Promise<string | undefined> {
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    const modules = join(folder, "node_modules");
    if (
      await stat(modules).then(
        (found) => found.isDirectory(),
        () => false,
      )
    )
      return modules;
    if (dirname(folder) === folder) return undefined;
  }
}
