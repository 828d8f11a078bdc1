import * as preact from "percolatordb/live/preact";
import * as react from "percolatordb/live/react";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../../support/waiting.js";
import { FakeNode, fakeDocument } from "./fake-document.js";
import { FakeWire, settle } from "./fake-wire.js";

/** What the test uses of Preact, whose own types would bring those of browsers into all tests. */
interface Preact {
  createElement(type: unknown, properties: object, ...children: unknown[]): unknown;
  render(node: unknown, parent: unknown): void;
  readonly options: { requestAnimationFrame?: unknown; debounceRendering?: unknown };
}
const { createElement, render, options } = (await import("preact" as string)) as Preact;

/** React is not installed for tests: `preact/compat` has its hooks, with the same names. */
const libraries = { preact, react };

const globals = globalThis as { document?: unknown };
beforeAll(() => {
  globals.document = fakeDocument;
  // Without these, Preact renders and runs effects after times of its own.
  Object.assign(options, { requestAnimationFrame: setImmediate, debounceRendering: setImmediate });
});
afterAll(() => {
  delete globals.document;
  Object.assign(options, { requestAnimationFrame: undefined, debounceRendering: undefined });
});

/** Lets requests, renderings and effects follow one another. */
async function rendered(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await settle();
}

describe.each(Object.entries(libraries))("useLive of %s", (name, { useLive }) => {
  /** A page with components that show the values at some addresses. */
  class Page {
    readonly wire = new FakeWire();
    readonly views: unknown[] = [];
    readonly #root = new FakeNode(1, "body");
    readonly #Shown = ({ url }: { readonly url: string | undefined }) => {
      const view = useLive<string>(url, { fetch: this.wire.fetch });
      this.views.push(view);
      return createElement("p", {}, `[${view.isLoading ? "loading" : view.value}${view.error?.code ?? ""}]`);
    };

    async show(...urls: readonly (string | undefined)[]): Promise<void> {
      render(
        urls.map((url, index) => createElement(this.#Shown, { url, key: index })),
        this.#root,
      );
      await rendered();
    }

    get text(): string {
      return this.#root.textContent;
    }
  }

  test("shows that it loads, each value, and failures beside the last value", async () => {
    const page = new Page();
    await page.show("/a");
    expect(page.text).toBe("[loading]");
    expect(page.views.at(-1)).toMatchObject({ value: undefined, timestamp: undefined, state: "open" });
    page.wire.last.send('id: 5-x\ndata: "first"\n\n');
    await rendered();
    expect(page.text).toBe("[first]");
    expect(page.views.at(-1)).toEqual({
      value: "first",
      timestamp: 5,
      error: undefined,
      state: "open",
      isLoading: false,
    });
    page.wire.last.send('event: error\ndata: {"code":"QUERY","isFinal":true}\n\n');
    await rendered();
    expect(page.text).toBe("[firstQUERY]");
    expect(page.views.at(-1)).toMatchObject({ state: "closed" });
    await page.show();
  });

  test("shows no failure any more after the next value", async () => {
    const page = new Page();
    page.wire.answers.push(Response.json({ code: "STORE" }, { status: 503 }));
    await page.show("/a");
    expect(page.text).toBe("[loadingSTORE]");
    expect(await until(() => page.wire.calls.length === 2)).toBe(true);
    page.wire.last.send('id: 5-x\ndata: "first"\n\n');
    await rendered();
    expect(page.text).toBe("[first]");
    await page.show();
  });

  test("a component that takes the place of another keeps the connection", async () => {
    const page = new Page();
    await page.show("/a");
    page.wire.last.send('id: 5-x\ndata: "first"\n\n');
    await rendered();
    await page.show(undefined, "/a");
    expect(page.text).toBe("[undefined][first]");
    expect(page.wire.calls.map(({ signal }) => signal.aborted)).toEqual([false]);
    await page.show();
  });

  test("is not loading any more after a final failure before the first value", async () => {
    const page = new Page();
    page.wire.answers.push(Response.json({ code: "FORBIDDEN" }, { status: 403 }));
    await page.show("/a");
    expect(page.text).toBe("[undefinedFORBIDDEN]");
    await page.show();
  });

  test("a component that is mounted after a final failure tries again, for all with the same address", async () => {
    const page = new Page();
    page.wire.answers.push(Response.json({ code: "FORBIDDEN" }, { status: 403 }));
    await page.show("/a");
    // The first component goes, and another one comes in the same turn, as with a new `key`.
    await page.show(undefined, "/a");
    expect(page.text).toBe("[undefined][loading]");
    page.wire.last.send('id: 5-x\ndata: "first"\n\n');
    await rendered();
    expect(page.text).toBe("[undefined][first]");
    page.wire.last.send('event: error\ndata: {"code":"QUERY","isFinal":true}\n\n');
    await rendered();
    await page.show("/a", "/a");
    expect(page.text).toBe("[first][first]");
    await page.show();
    expect(page.wire.calls.map(({ signal }) => signal.aborted)).toEqual([true, true, true]);
  });

  test("components with the same address share a connection until the last one is gone", async () => {
    const page = new Page();
    await page.show("/a", "/a", "/b");
    expect(page.wire.calls.map(({ url }) => url)).toEqual(["/a", "/b"]);
    page.wire.calls[0]!.send('id: 5-x\ndata: "first"\n\n');
    await rendered();
    expect(page.text).toBe("[first][first][loading]");
    await page.show("/a");
    expect(page.wire.calls.map(({ signal }) => signal.aborted)).toEqual([false, true]);
    await page.show("/a", "/a");
    expect(page.text).toBe("[first][first]");
    await page.show();
    expect(page.wire.calls.map(({ signal }) => signal.aborted)).toEqual([true, true]);
    await page.show("/a");
    expect(page.text).toBe("[loading]");
    expect(page.wire.calls).toHaveLength(3);
    await page.show();
    expect(page.wire.last.signal.aborted).toBe(true);
  });

  test("follows its address, and needs none", async () => {
    const page = new Page();
    await page.show(undefined);
    expect(page.text).toBe("[undefined]");
    expect(page.wire.calls).toHaveLength(0);
    await page.show("/a");
    page.wire.last.send('id: 5-x\ndata: "of a"\n\n');
    await rendered();
    expect(page.text).toBe("[of a]");
    await page.show("/b");
    expect(page.text).toBe("[loading]");
    expect(page.wire.calls.map(({ signal }) => signal.aborted)).toEqual([true, false]);
    await page.show();
    expect(name).toMatch(/react/);
  });
});
