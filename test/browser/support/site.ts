import { execFile } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join, relative, resolve } from "node:path";
import { promisify } from "node:util";
import { root } from "../../support/built/files.js";
import { temporaryFolder } from "../../support/databases.js";

/** The documentation site, built and served on loopback. */
export interface Site {
  /** Ends with a slash. */
  readonly url: string;
  /** The path of each page, such as `first-hour.html`, without that for missing pages. */
  readonly pages: readonly string[];
  /** Whether a path is a file of the site. */
  has(path: string): boolean;
  close(): Promise<void>;
}

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".png": "image/png",
};

const run = promisify(execFile);

/** Builds the site into a folder, as `npm run docs:build` does. */
async function build(folder: string): Promise<void> {
  const node = (...args: string[]) => run(process.execPath, args, { cwd: root, maxBuffer: 2 ** 26 });
  await node("--import", "tsx", "scripts/api-pages.ts");
  await node("node_modules/vitepress/bin/vitepress.js", "build", "docs", "--outDir", folder);
}

/** Builds the site, which takes minutes. If `PERCOLATORDB_SITE` names a folder with a built site, serves that one. */
export async function startSite(): Promise<Site> {
  const built = process.env.PERCOLATORDB_SITE;
  const temporary = built === undefined ? await temporaryFolder() : undefined;
  const folder = resolve(temporary?.path ?? built!);
  if (temporary !== undefined) await build(folder);
  const files = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((file) =>
    file.isFile(),
  );
  const paths = files.map((file) => relative(folder, join(file.parentPath, file.name)));
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url!, "http://localhost");
    const path = decodeURIComponent(pathname.endsWith("/") ? `${pathname}index.html` : pathname);
    const file = join(folder, path);
    const isThere = existsSync(file);
    response.writeHead(isThere ? 200 : 404, {
      "content-type": types[isThere ? extname(file) : ".html"] ?? "application/octet-stream",
    });
    response.end(await readFile(isThere ? file : join(folder, "404.html")));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    pages: paths.filter((path) => path.endsWith(".html") && path !== "404.html").sort(),
    has: (path) => paths.includes(path),
    async close() {
      server.closeAllConnections();
      server.close();
      await temporary?.remove();
    },
  };
}
