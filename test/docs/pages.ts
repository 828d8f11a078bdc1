import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { root } from "./examples.js";

/** Returns the pages of a folder, by their paths in the repository. */
export async function pagesOf(folder: string): Promise<readonly string[]> {
  const names = (await readdir(join(root, folder))).filter(
    (name) => name.endsWith(".md") && !name.startsWith("["),
  );
  return names.sort().map((name) => `${folder}/${name}`);
}

/** Returns every hand-written page: those of the root, those under `docs/`, and those of the examples. */
export async function allPages(): Promise<readonly string[]> {
  const folders = ["docs", "docs/recipes", "docs/decisions"];
  const docs = (await Promise.all(folders.map(pagesOf))).flat();
  const examples = (await readdir(join(root, "examples"))).sort().map((name) => `examples/${name}/README.md`);
  return [
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    ...docs,
    ...examples.filter((page) => existsSync(join(root, page))),
  ];
}
