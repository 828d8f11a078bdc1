import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { normalizeUrl } from "../text/url.js";
import { readFiles } from "./files.js";
import { type Source, SourceError } from "./page.js";

/**
 * Reads a folder of HTML (`.html`, `.htm`) and Markdown (`.md`, `.markdown`). Includes all
 * subfolders except `node_modules` and those whose name begins with a dot.
 *
 * The URL of a page is `base` followed by its path from the folder. Without `base` it is the
 * `file:` URL of its absolute path, with symbolic links not resolved. So the same path always has
 * the same URL, and different folders never share one.
 */
export function folderSource(path: string, base?: string): Source {
  const root = resolve(path);
  const scope = base === undefined ? `${pathToFileURL(root).href.replace(/\/$/, "")}/` : baseUrl(path, base);
  const folder = (name: string) => name !== "node_modules" && !name.startsWith(".");
  return {
    kind: "folder",
    path,
    scope,
    items: (signal) => readFiles({ root, scope, folder }, signal),
  };
}

/** Parses `base` as the URL of a folder. */
export function baseUrl(path: string, base: string): string {
  const url = URL.canParse(base) ? new URL(base) : undefined;
  // Nothing can be resolved against a URL without a path, and a part after `?` or `#` would be
  // lost.
  if (url?.search !== "" || url.hash !== "" || !URL.canParse("./a", url.href)) {
    const example = "https://docs.example.org/stable/";
    throw new SourceError(
      path,
      `The base ${JSON.stringify(base)} is no URL of a folder; give one such as ${example}`,
    );
  }
  const href = normalizeUrl(url.href)!;
  return href.endsWith("/") ? href : `${href}/`;
}
