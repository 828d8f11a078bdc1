import { afterAll, beforeAll, expect, test } from "vitest";
import { openPage, startBrowser } from "./support/browser.js";
import { buildPages } from "./support/pages.js";
import { Pipeline, pageCount, visits } from "./support/pipeline.js";

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

test("a row that is open follows its changes, and its history too", async () => {
  await pipeline.settle();
  const row = "page-03";
  const { page, wrongs, close } = await openPage(browser, `${pipeline.url}#/data?table=documents&row=${row}`);
  await page.locator(".cells dd").first().waitFor();
  const write = (words: number) => pipeline.db.transact((tx) => tx.set(pipeline.documents.rank, row, words));
  for (const rank of [1_001, 1_002]) {
    await write(rank);
    await page.locator(".cells").getByText(String(rank), { exact: true }).waitFor();
  }
  await page.goto(`${pipeline.url}#/data?table=documents&row=${row}&cell=rank&show=history`);
  // The whole text of the value, since a timestamp may contain these digits.
  const version = (rank: string) => page.locator(".versions").getByText(rank, { exact: true });
  await version("1002").waitFor();
  await write(1_003);
  await version("1003").waitFor();
  await close();
  expect(wrongs).toEqual([]);
});

test("a composite key has a column for each part, `oslo` finds its rows, and the table is kept", async () => {
  await pipeline.db.transact(
    (tx) => {
      for (const [city, number] of [
        ["oslo", 1],
        ["oslo", 2],
        ["rome", 1],
      ] as const)
        tx.set(visits.seen, [city, number], { by: city });
    },
    { label: "visit" },
  );
  const { page, wrongs, close } = await openPage(browser, `${pipeline.url}#/data?table=visits`);
  await page.getByLabel("Rows that begin with").fill("oslo");
  await page.locator(".data-rows tbody tr").nth(1).waitFor();
  await expect.poll(() => page.locator(".data-rows tbody tr").count()).toBe(2);
  expect(await page.locator(".data-rows tbody tr").first().locator("th, td").allTextContents()).toEqual([
    "oslo",
    "1",
    '{"by":"oslo"}',
  ]);
  expect(await page.locator(".data-rows thead th").allTextContents()).toEqual([
    "key 1, text",
    "key 2, int",
    "seen",
  ]);
  await page.goto(
    `${pipeline.url}#/data?table=visits&row=${encodeURIComponent('["oslo",1]')}&cell=seen&show=history`,
  );
  const version = page.locator(".versions li").first();
  await version.getByText("written by").waitFor();
  expect(await version.locator(".written-by").textContent()).toMatch(/^written by visit in .+/);
  expect(await version.locator("pre").textContent()).toBe('{\n  "by": "oslo"\n}');
  await page.goto(`${pipeline.url}#/overview`);
  // A key that is pressed before the view has changed goes into the field that has the focus.
  await page.locator("[data-observer]").first().waitFor();
  await page.keyboard.press("3");
  await expect.poll(() => page.getByLabel("Table").inputValue()).toBe("visits");
  await close();
  expect(wrongs).toEqual([]);
});
