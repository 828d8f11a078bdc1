import type { Browser } from "playwright-core";
import { afterAll, beforeAll } from "vitest";
import { type FixtureServer, serveFixture } from "../../../web/testing/fixture-server.js";
import { startBrowser } from "./browser.js";
import { buildPages } from "./pages.js";

/** The current pages, a server that invents its answers, and a browser, for all tests of a file. */
export interface Invented {
  pages: Awaited<ReturnType<typeof buildPages>>;
  server: FixtureServer;
  browser: Browser;
}

/** Call it once, outside of tests. The returned object is filled before the first one. */
export function inventAnswers(): Invented {
  const all: Partial<Invented> = {};
  beforeAll(async () => {
    all.pages = await buildPages();
    all.server = await serveFixture({ pages: all.pages.path });
    all.browser = await startBrowser();
  });
  afterAll(async () => {
    await all.browser?.close();
    await all.server?.close();
    await all.pages?.remove();
  });
  return all as Invented;
}
