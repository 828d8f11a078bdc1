import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { axeViolations } from "./support/axe.js";
import { openPage, startBrowser } from "./support/browser.js";
import { type Site, startSite } from "./support/site.js";
import { followTo, measurePage, type SitePage } from "./support/site-page.js";

/** The documentation as a reader sees it: built, and on a phone. */

const phone = { viewport: { width: 390, height: 844 } };
const desk = { viewport: { width: 1440, height: 900 } };
/** The build takes minutes on a busy machine. */
const buildTimeoutMs = 1_200_000;
const visitTimeoutMs = 1_200_000;

let site: Site;
let browser: Browser;
beforeAll(async () => {
  [site, browser] = await Promise.all([startSite(), startBrowser()]);
}, buildTimeoutMs);
afterAll(async () => {
  await browser?.close();
  await site?.close();
});

describe("on a phone", () => {
  const visited: SitePage[] = [];
  const wrongs: string[] = [];

  // Loads each page of the guide. The many pages of the API are reached as by links, which is faster.
  beforeAll(async () => {
    const opened = await openPage(browser, site.url, phone);
    const { page } = opened;
    page.on("response", (response) => {
      if (response.status() >= 400) wrongs.push(`${response.status()} ${response.url()}`);
    });
    for (const path of site.pages) {
      const before = opened.wrongs.length;
      if (path.startsWith("api/") && path !== "api/index.html") await followTo(page, `/${path}`);
      else await load(page, path);
      visited.push(await measurePage(page));
      wrongs.push(...opened.wrongs.slice(before).map((wrong) => `${path}: ${wrong}`));
    }
    await opened.close();
  }, visitTimeoutMs);

  const found = (what: (page: SitePage) => readonly string[]) =>
    visited.flatMap((page) => what(page).map((each) => `${page.path}: ${each}`));

  test("all pages were seen", () => {
    expect(visited.map(({ path }) => path.slice(1))).toEqual(site.pages);
    expect(visited.length).toBeGreaterThan(500);
  });

  test("no page scrolls sideways", () => {
    expect(found(({ overflow }) => (overflow > 0 ? [`${overflow} px`] : []))).toEqual([]);
    expect(found(({ outside }) => outside)).toEqual([]);
  });

  test("tables can be read: no text runs out of its cell, no column has a few letters, and only numbers scroll", () => {
    expect(found(({ cells, cutTables }) => [...cells, ...cutTables])).toEqual([]);
  });

  test("the letters of drawings are large enough", () => {
    expect(found(({ smallFigures }) => smallFigures)).toEqual([]);
  });

  test("blocks of code show their names", () => {
    expect(found(({ strayNames }) => strayNames)).toEqual([]);
    const first = visited.find(({ path }) => path === "/first-hour.html")!;
    expect(first.blockNames).toEqual(
      expect.arrayContaining(["tsconfig.json", "tables.ts", "second terminal"]),
    );
  });

  test("every link leads to a page and a place on it", () => {
    const anchors = new Map(visited.map((page) => [page.path, new Set(page.anchors)]));
    const isDead = (link: string) => {
      const [address = "", anchor = ""] = link.split("#").map(decodeURIComponent);
      const path = address.endsWith("/") ? `${address}index.html` : address;
      if (!anchors.has(path)) return !site.has(path.slice(1));
      return anchor !== "" && !anchors.get(path)!.has(anchor);
    };
    expect(found(({ links }) => links.filter(isDead))).toEqual([]);
    expect(visited.flatMap(({ links }) => links).length).toBeGreaterThan(5_000);
  });

  test("no page asks another server, misses a file or logs an error", () => {
    expect(wrongs).toEqual([]);
  });

  test("the menu leads to other pages", async () => {
    const { page, close } = await openPage(browser, `${site.url}first-hour.html`, {
      ...phone,
      isMobile: true,
      hasTouch: true,
    });
    await page.getByRole("button", { name: "Menu", exact: true }).tap();
    await page.locator(".VPSidebar").getByRole("link", { name: "Guarantees" }).tap();
    await page.getByRole("heading", { name: "Guarantees", level: 1 }).waitFor();
    await page.locator(".VPNavBarHamburger").tap();
    await page.locator(".VPNavScreen").getByRole("link", { name: "Recipes" }).tap();
    await page.getByRole("heading", { name: "Recipes", level: 1 }).waitFor();
    await page.locator(".VPNavScreen").waitFor({ state: "detached" });
    await close();
  });
});

/** Loads a page, and waits until it can be used. */
async function load(page: Page, path: string): Promise<void> {
  await page.goto(`${site.url}${path}`);
  await page.waitForFunction("document.querySelector('#app')?.__vue_app__ !== undefined");
}

const chosen = [
  "index.html",
  "first-hour.html",
  "command-line.html",
  "observability.html",
  "comparison.html",
  "errors.html",
  "limits.html",
  "how-it-works.html",
  "decisions/index.html",
  "api/index.html",
  "api/percolatordb/classes/Database.html",
  "404.html",
];

describe.each([
  ["a phone in the light", { ...phone, colorScheme: "light" }],
  ["a desk in the dark", { ...desk, colorScheme: "dark" }],
] as const)("on %s", (_, with_) => {
  test.each(chosen)("%s is accessible", async (path) => {
    const { page, wrongs, close } = await openPage(browser, site.url, with_);
    await load(page, path);
    // What the theme leaves out is added when the page is drawn.
    await page.locator("main, [role=main]").first().waitFor();
    await page.locator(".DocSearch-Button-Key[data-key]").first().waitFor({ state: "attached" });
    expect(await axeViolations(page)).toEqual([]);
    expect(wrongs).toEqual([]);
    await close();
  });
});

test("a page does not hold the menus of all others", async () => {
  const sizeOf = async (path: string) => (await (await fetch(`${site.url}${path}`)).text()).length;
  expect(await sizeOf("api/percolatordb/functions/open.html")).toBeLessThan(60_000);
  expect(await sizeOf("index.html")).toBeLessThan(40_000);
  const { page, close } = await openPage(browser, `${site.url}api/percolatordb/functions/open.html`, desk);
  const menu = page.locator(".VPSidebar");
  await menu.getByRole("link", { name: "observer", exact: true }).waitFor();
  await menu.getByRole("link", { name: "percolatordb/recipes", exact: true }).click();
  await menu.getByRole("link", { name: "Functions", exact: true }).waitFor();
  await close();
});

/** Words, and a page that must be among the first results. */
const searches: Readonly<Record<string, string>> = {
  "tx.set": "/api/percolatordb/interfaces/Transaction.html#set",
  "db.transact": "/api/percolatordb/classes/Database.html#transact",
  attach: "/attached-tables.html#attach-a-table",
  parked: "/alerts.html#changes-parked",
};

test.each(Object.entries(searches))("a search for %s finds %s", async (words, target) => {
  const { page, wrongs, close } = await openPage(browser, `${site.url}first-hour.html`, phone);
  await page.getByRole("button", { name: "Search" }).first().click();
  await page.locator("#localsearch-input").fill(words);
  const result = page.locator(`.VPLocalSearchBox a.result[href="${target}"]`);
  await result.waitFor();
  const places = await page.evaluate(
    "[...document.querySelectorAll('.VPLocalSearchBox a.result')].map((link) => link.getAttribute('href'))",
  );
  expect((places as readonly string[]).indexOf(target)).toBeLessThan(5);
  await result.click();
  await page.waitForURL(`**${target}`);
  await page.locator(`[id="${target.split("#")[1]}"]`).waitFor();
  expect(wrongs).toEqual([]);
  await close();
});
