import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { normalizeUrl } from "../text/url.js";
import { readFiles } from "./files.js";
import { type Source, SourceError } from "./page.js";

/**
 * A folder of HTML (`.html`, `.htm`) and Markdown (`.md`, `.markdown`), with all folders below
 * except `node_modules` and those whose name begins with a dot.
 *
 * The URL of a page is `base` and its path from the folder. Without `base` it is the `file:` URL of
 * its absolute path (links not resolved): always the same for the same place, and never that of a
 * page of another folder.
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

/** `base` as the URL of a folder. */
export function baseUrl(path: string, base: string): string {
  const url = URL.canParse(base) ? new URL(base) : undefined;
  // Against a URL without a path nothing can be resolved, and what follows `?` or `#` would be
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
