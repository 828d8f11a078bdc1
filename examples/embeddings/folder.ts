import { readdir, readFile } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import type { Database } from "percolatordb";
import { documents } from "./tables.js";

export interface LoadReport {
  readonly documents: number;
  readonly changed: number;
  readonly deleted: number;
}

/**
 * Makes the documents equal to a folder's Markdown files. Unchanged files are not written, so they
 * cause no work.
 */
export async function loadFolder(db: Database, folder: string): Promise<LoadReport> {
  const paths = await markdownFiles(folder);
  let changed = 0;
  for (const path of paths) {
    const text = await readFile(join(folder, path), "utf8");
    if (await setDocument(db, path, text)) changed++;
  }
  const gone = new Set<string>();
  {
    await using view = await db.snapshot();
    for await (const { row: path } of view.scan(documents.text)) gone.add(path);
  }
  for (const path of paths) gone.delete(path);
  for (const path of gone) await db.transact((tx) => tx.delete(documents.text, path));
  return { documents: paths.length, changed, deleted: gone.size };
}

/** Sets a document. Returns whether it is new or changed. */
export function setDocument(db: Database, path: string, text: string): Promise<boolean> {
  return db.transact(async (tx) => {
    if ((await tx.get(documents.text, path)) === text) return false;
    tx.set(documents.text, path, text);
    return true;
  });
}

/** Returns paths within the folder. Leaves out folders of packages and hidden ones. */
async function markdownFiles(folder: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
    const path = relative(folder, join(entry.parentPath, entry.name)).split(sep).join("/");
    const isHidden = path.split("/").some((part) => part.startsWith(".") || part === "node_modules");
    if (entry.isFile() && !isHidden && path.endsWith(".md")) found.push(path);
  }
  return found.sort();
}
