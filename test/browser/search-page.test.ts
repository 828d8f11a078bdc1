import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { SearchServer } from "../../examples/webindex/server/server.js";
import { crawl, page as sitePage } from "../../examples/webindex/testing/site.js";
import { WebIndex } from "../../examples/webindex/webindex.js";
import { NetworkProxy } from "../support/proxy/index.js";
import { openPage, startBrowser } from "./support/browser.js";

/** A page of results that is open while the index changes. */

const site = "https://example.org/";
const about = (word: string) => sitePage(`About ${word}`, `walrus <b>and</b> ${word}`);

let browser: Browser;
let index: WebIndex;
let server: SearchServer;
let network: NetworkProxy;
beforeAll(async () => {
  browser = await startBrowser();
  index = await WebIndex.open("memory:");
  await crawl(index, { [`${site}otter`]: about("otter") });
  server = await SearchServer.start(index.db, {
    host: "127.0.0.1",
    port: 0,
    loading: () => "crawl.warc.gz",
    waiting: async () => 0,
    onError: (error) => expect.unreachable(String(error)),
  });
  network = await NetworkProxy.start(new URL(server.url).host);
});
afterAll(async () => {
  await browser?.close();
  await network?.close();
  await server?.stop();
  await index?.close();
});

/** What the browser itself says of a connection that was lost. No program can keep it from doing so. */
const isLostConnection = (wrong: string) => /net::ERR_/.test(wrong);

test("shows pages that are committed while it is open, also those that it has missed", async () => {
  const { page, wrongs, close } = await openPage(browser, `http://${network.address}/search?q=walrus`);
  try {
    const titles = () => page.locator("#found h2").allTextContents();
    const note = () => page.locator("#state").textContent();
    const isLive = "Live: new and changed pages appear here by themselves.";
    await expect.poll(note).toBe(isLive);
    expect(await titles()).toEqual(["About otter"]);
    // A reload would remove it.
    await page.evaluate("document.body.dataset.loaded = 'once'");

    await crawl(index, { [`${site}badger`]: about("badger") });
    await expect.poll(titles).toEqual(["About badger", "About otter"]);
    expect(await page.locator("#found").textContent()).toContain("2 pages found.");
    expect(await page.locator("#found mark").allTextContents()).toEqual(["walrus", "walrus"]);
    expect(wrongs).toEqual([]);

    network.refuse();
    network.cut();
    await expect
      .poll(note)
      .toMatch(/^Not live: the connection is lost\. These are the results of \d.*\. Trying again\.$/);
    await crawl(index, { [`${site}marmot`]: about("marmot"), [`${site}otter`]: undefined });
    expect(await titles()).toEqual(["About badger", "About otter"]);
    network.heal();
    await expect.poll(titles).toEqual(["About badger", "About marmot"]);
    await expect.poll(note).toBe(isLive);
    expect(await page.locator("body").getAttribute("data-loaded")).toBe("once");
    expect(wrongs.filter((wrong) => !isLostConnection(wrong))).toEqual([]);
  } finally {
    await close();
  }
});

test("keeps the focus, and has no connection while nobody sees the page", async () => {
  const other = (word: string) => sitePage(`About ${word}`, `lynx ${word}`);
  await crawl(index, { [`${site}fox`]: other("fox"), [`${site}hare`]: other("hare") });
  const { page, wrongs, close } = await openPage(browser, `http://${network.address}/search?q=lynx`);
  try {
    const isLive = /^Live:/;
    const note = () => page.locator("#state").textContent();
    await expect.poll(note).toMatch(isLive);
    const link = page.locator("#found a", { hasText: "About hare" });
    await link.focus();
    await crawl(index, { [`${site}beaver`]: other("beaver") });
    await expect.poll(() => page.locator("#found h2").count()).toBe(3);
    expect(await page.evaluate("document.activeElement.textContent")).toBe("About hare");

    const connections = network.connections;
    const show = (state: string) =>
      page.evaluate(
        `Object.defineProperty(document, "visibilityState", { value: "${state}", configurable: true });
        document.dispatchEvent(new Event("visibilitychange"))`,
      );
    await show("hidden");
    await expect.poll(() => network.connections).toBe(connections - 1);
    await crawl(index, { [`${site}weasel`]: other("weasel") });
    expect(await page.locator("#found h2").count()).toBe(3);
    await show("visible");
    await expect.poll(() => page.locator("#found h2").count()).toBe(4);
    await expect.poll(note).toMatch(isLive);
    expect(wrongs).toEqual([]);
  } finally {
    await close();
  }
});

test("is the same page without JavaScript, and says when it was made", async () => {
  const { page, wrongs, close } = await openPage(browser, `${server.url}search?q=walrus`, {
    javaScriptEnabled: false,
  });
  try {
    expect(await page.locator("#found h2").count()).toBeGreaterThan(0);
    expect(await page.locator("#state").textContent()).toMatch(
      /^Searched in \d+ ms\. Still loading: crawl\.warc\.gz$/,
    );
    expect(wrongs).toEqual([]);
  } finally {
    await close();
  }
});
