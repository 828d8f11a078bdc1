import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { serveStatic } from "@hono/node-server/serve-static";
import type { MiddlewareHandler } from "hono";
import { answer } from "./answers.js";
import { notBuiltPage } from "./plain-page.js";

const hasIndex = (folder: string) => existsSync(join(folder, "index.html"));

/**
 * The folder of the built pages: in `dist` next to the compiled modules, or in the build folder if
 * this runs from the sources.
 */
export function builtPages(): string {
  // A bundle of CommonJS has no URL, but a file name.
  const here = (import.meta.url as string | undefined) ?? pathToFileURL(__filename);
  const compiled = fileURLToPath(new URL("../dashboard/pages/", here));
  return hasIndex(compiled) ? compiled : fileURLToPath(new URL("../../../dist/dashboard/pages/", here));
}

/** Serves the files of a folder under a base, and nothing outside of the folder. */
export function staticPages(folder: string, base: string): MiddlewareHandler {
  const rewriteRequestPath = (path: string) => path.slice(base.length - 1);
  let serve: MiddlewareHandler | undefined;
  return async (c, next) => {
    // Each request looks for the pages until they exist, because they may be built while the server
    // runs.
    if (serve === undefined && hasIndex(folder)) serve = serveStatic({ root: folder, rewriteRequestPath });
    if (serve === undefined) {
      return c.req.path === base ? answer(c, 503, "text/html; charset=utf-8", notBuiltPage) : await next();
    }
    const page = await serve(c, async () => undefined);
    if (page === undefined) return await next();
    // The name of an asset changes with its contents, so browsers may keep the asset.
    const isHashed = c.req.path.startsWith(`${base}assets/`);
    page.headers.set("cache-control", isHashed ? "private, max-age=31536000, immutable" : "no-cache");
    return page;
  };
}
