import { stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { readFiles } from "./files.js";
import { baseUrl } from "./folder.js";
import type { Source } from "./page.js";

/** The default prefix of the URLs of the packages' pages. */
export const modulesScope = "npm:/";

/**
 * The documentation of the packages in a `node_modules` folder: every Markdown and HTML file of
 * each package, including scoped and nested packages. If several packages contain the same page,
 * each copy is a separate page.
 *
 * The URL of a page is `npm:/` followed by its path from the folder, as in `npm:/marked/README.md`
 * and `npm:/@types/node/README.md`. It contains no version, so an updated package changes its pages
 * and does not replace them. To load several such folders into one index, give each a different
 * `base`.
 */
export function modulesSource(path: string, base?: string): Source {
  const root = resolve(path);
  const scope = base === undefined ? modulesScope : baseUrl(path, base);
  // Skips folders of tools, whose names begin with a dot. The packages in a package manager's
  // store, such as `.pnpm`, are found by the links to them.
  const folder = (name: string) => !name.startsWith(".");
  return {
    kind: "modules",
    path,
    scope,
    items: (signal) => readFiles({ root, scope, folder }, signal),
  };
}

/**
 * Finds the nearest `node_modules` folder, from `from` upwards. Returns `undefined` if there is
 * none.
 */
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
