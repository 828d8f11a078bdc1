import { afterAll, beforeAll, expect, test } from "vitest";
import { openPage, startBrowser } from "./support/browser.js";
import { buildPages } from "./support/pages.js";
import { Pipeline, pageCount } from "./support/pipeline.js";

/** A quick look at the dashboard of a real pipeline. `dashboard.long.test.ts` tests all of it. */

let pages: Awaited<ReturnType<typeof buildPages>>;
let pipeline: Pipeline;
let browser: Awaited<ReturnType<typeof startBrowser>>;
beforeAll(async () => {
  pages = await buildPages();
  pipeline = await Pipeline.start({ commit: "auto", writable: false, pages: pages.path });
  browser = await startBrowser();
});
afterAll(async () => {
  await browser?.close();
  await pipeline?.close();
  await pages?.remove();
});

test("shows a pipeline at work, without errors in the page", async () => {
  const { page, wrongs, close } = await openPage(browser, pipeline.url);
  await page.locator("[data-connection=live]").waitFor();
  await pipeline.load();
  await pipeline.settle();
  const row = page.locator("[data-observer=extract]");
  await row.getByText("fresh").waitFor();
  await page.locator('[data-figure="Parked"] b', { hasText: "3" }).waitFor();
  await page.keyboard.press("4");
  await page.locator("table.transactions tbody tr").first().waitFor();
  await page.keyboard.press("3");
  await page
    .locator(".data-rows tbody tr")
    .nth(pageCount - 1)
    .waitFor();
  await close();
  expect(wrongs).toEqual([]);
});
