import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { build } from "esbuild";
import { int, open, table } from "percolatordb";
import { liveQuery, liveResponse, toNode } from "percolatordb/live";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openPage, startBrowser } from "./support/browser.js";

/** `useLive` in components of the real React and Preact, in a browser, over a real live query. */

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser?.close());

const counters = table("counters", { value: int() });
const counter = liveQuery(async (snapshot) => ({ count: (await snapshot.get(counters.value, "a")) ?? 0 }));

/** Two components with the same query, the second of which can be closed. */
const app = `
function Count({ name }) {
  const { value, isLoading, state } = useLive("/live");
  return h("p", { id: name }, isLoading ? "loading" : value.count + " " + state);
}
export function App() {
  const [isOpen, setOpen] = useState(true);
  return h("div", null, h(Count, { name: "one" }), isOpen ? h(Count, { name: "two" }) : null,
    h("button", { onClick: () => setOpen(false) }, "close"));
}`;

const libraries = {
  react: `
import { createElement as h, useState } from "react";
import { createRoot } from "react-dom/client";
import { useLive } from "./src/live/client/react.ts";
${app}
createRoot(document.getElementById("app")).render(h(App));`,
  preact: `
import { h, render } from "preact";
import { useState } from "preact/hooks";
import { useLive } from "./src/live/client/preact.ts";
${app}
render(h(App), document.getElementById("app"));`,
};

async function bundled(contents: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: process.cwd(), loader: "js" },
    bundle: true,
    format: "esm",
    define: { "process.env.NODE_ENV": '"production"' },
    // The types that the project gives to hooks are not the libraries.
    tsconfigRaw: {},
    write: false,
    logLevel: "error",
  });
  return outputFiles[0]!.text;
}

test.each(Object.entries(libraries))("%s shows each value, on one connection", async (_, source) => {
  const script = await bundled(source);
  await using db = await open("memory:", { tables: [counters] });
  let connections = 0;
  const answer = toNode((request) => {
    const { pathname } = new URL(request.url);
    if (pathname === "/live") {
      connections++;
      return liveResponse(db, counter, request);
    }
    if (pathname === "/app.js")
      return new Response(script, { headers: { "content-type": "text/javascript" } });
    return new Response('<!doctype html><div id="app"></div><script type="module" src="/app.js"></script>', {
      headers: { "content-type": "text/html" },
    });
  });
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const { page, wrongs, close } = await openPage(browser, `http://127.0.0.1:${port}/`);
  const shows = (id: string, text: string) => page.locator(`#${id}`, { hasText: text }).waitFor();
  await shows("one", "0 open");
  await shows("two", "0 open");
  await db.transact((tx) => tx.set(counters.value, "a", 1));
  await shows("one", "1 open");
  await shows("two", "1 open");
  await page.getByRole("button").click();
  await page.locator("#two").waitFor({ state: "detached" });
  await db.transact((tx) => tx.set(counters.value, "a", 2));
  await shows("one", "2 open");
  expect(connections).toBe(1);
  await close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  expect(wrongs).toEqual([]);
});
