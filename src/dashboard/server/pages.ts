import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { extname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";

/** A file of the pages. */
export interface Page {
  readonly body: Buffer;
  readonly type: string;
  readonly etag: string;
  /** Its name changes with what it holds: it can be kept for good. */
  readonly isHashed: boolean;
}

const types: ReadonlyMap<string, string> = new Map([
  [".html", "text/html; charset=utf-8"],
  [".js", "text/javascript; charset=utf-8"],
  [".css", "text/css; charset=utf-8"],
  [".svg", "image/svg+xml"],
  [".png", "image/png"],
  [".ico", "image/x-icon"],
  [".json", "application/json; charset=utf-8"],
  [".txt", "text/plain; charset=utf-8"],
  [".woff2", "font/woff2"],
  [".webmanifest", "application/manifest+json"],
]);

/** Where the built pages are: beside the compiled code; for the sources in the folder that is built. */
export function builtPages(): string {
  const beside = fileURLToPath(new URL("../pages/", import.meta.url));
  if (existsSync(join(beside, "index.html"))) return beside;
  return fileURLToPath(new URL("../../../dist/dashboard/pages/", import.meta.url));
}

/** The files of a folder, read when they are first asked for. Nothing outside of it is ever read. */
export class Pages {
  readonly #folder: string;
  readonly #pages = new Map<string, Promise<Page>>();
  #names: Promise<ReadonlySet<string>> | undefined;

  constructor(folder: string) {
    this.#folder = join(folder, sep);
  }

  /** The file of a path without a leading slash; undefined where there is none. */
  async find(path: string): Promise<Page | undefined> {
    if (!(await this.#list()).has(path)) return undefined;
    let page = this.#pages.get(path);
    if (page === undefined) {
      page = this.#read(path);
      this.#pages.set(path, page);
      page.catch(() => this.#pages.delete(path));
    }
    return await page;
  }

  /** Whether they have been built. */
  async areBuilt(): Promise<boolean> {
    return (await this.#list()).has("index.html");
  }

  #list(): Promise<ReadonlySet<string>> {
    this.#names ??= this.#readNames();
    return this.#names;
  }

  async #readNames(): Promise<ReadonlySet<string>> {
    try {
      const entries = await readdir(this.#folder, { recursive: true, withFileTypes: true });
      const files = entries.filter((entry) => entry.isFile());
      const names = files.map((entry) => join(entry.parentPath, entry.name).slice(this.#folder.length));
      const isBuilt = names.includes("index.html");
      // They may be built while this runs.
      if (!isBuilt) this.#names = undefined;
      return new Set(names.map((name) => name.split(sep).join("/")));
    } catch {
      this.#names = undefined;
      return new Set();
    }
  }

  async #read(path: string): Promise<Page> {
    const body = await readFile(join(this.#folder, path));
    const digest = createHash("sha256").update(body).digest("base64url").slice(0, 22);
    return {
      body,
      type: types.get(extname(path)) ?? "application/octet-stream",
      etag: `"${digest}"`,
      isHashed: path.startsWith("assets/"),
    };
  }
}
