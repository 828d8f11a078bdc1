import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openPage, startBrowser } from "./support/browser.js";
import { buildPages } from "./support/pages.js";
import { brokenPages, Pipeline } from "./support/pipeline.js";

/** The failures of a real pipeline: from a list of groups to a retry, as on call. */

let pages: Awaited<ReturnType<typeof buildPages>>;
let pipeline: Pipeline;
let browser: Awaited<ReturnType<typeof startBrowser>>;
beforeAll(async () => {
  pages = await buildPages();
  pipeline = await Pipeline.start({ commit: "auto", writable: true, pages: pages.path });
  await pipeline.load();
  await pipeline.settle();
  browser = await startBrowser();
});
afterAll(async () => {
  await browser?.close();
  await pipeline?.close();
  await pages?.remove();
});

test("failures are one group with a count, examples, an export, and a retry that asks first", async () => {
  const { page, wrongs, close } = await openPage(browser, `${pipeline.url}#/failures`);
  const group = page.locator("[data-group='RangeError: The title \"…\" cannot be reviewed']");
  await group.waitFor();
  expect(await page.locator(".parked > li").count()).toBe(1);
  expect(await group.locator(".parked-count").textContent()).toBe(String(brokenPages.length));
  await group.locator("summary").first().click();
  expect(await group.locator(".examples > li").count()).toBe(brokenPages.length);
  expect(await page.locator(".command code").textContent()).toBe("percolator parked ./data --group");
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    group.getByRole("link", { name: "Export" }).click(),
  ]);
  const file = JSON.parse(await readFile(await download.path(), "utf8")) as { parked: { row: string }[] };
  expect(file.parked.map(({ row }) => row)).toEqual([...brokenPages]);
  await group.getByRole("button", { name: `Retry ${brokenPages.length}` }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Retry all" }).click();
  await page.getByText(`${brokenPages.length} changes are due again.`).waitFor();
  await pipeline.settle();
  await expect.poll(() => pipeline.parked()).toBe(brokenPages.length);
  await close();
  expect(wrongs).toEqual([]);
});

test("while another search is under way, nothing can be done to what the last one found", async () => {
  const { page, wrongs, close } = await openPage(browser, `${pipeline.url}#/failures?text=${brokenPages[1]}`);
  const discard = page.locator(".parked").getByRole("button", { name: /^Discard/ });
  await page.locator(".parked-count", { hasText: /^1$/ }).waitFor();
  expect(await discard.count()).toBe(1);
  let answer!: () => void;
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  await page.route(/api\/failures$/, async (route) => {
    await answered;
    await route.continue();
  });
  await page.getByRole("searchbox", { name: "Error" }).fill("");
  await expect.poll(() => page.url()).not.toContain("text=");
  await expect.poll(() => discard.count()).toBe(0);
  answer();
  await page.getByRole("button", { name: `Discard ${brokenPages.length}`, exact: true }).waitFor();
  await close();
  expect(wrongs).toEqual([]);
});

test("a search finds one of the group, and then only that one is meant", async () => {
  const { page, wrongs, close } = await openPage(browser, `${pipeline.url}#/failures`);
  await page.locator(".parked > li").first().waitFor();
  await page.getByLabel("Error").fill(brokenPages[1].toUpperCase());
  await page.locator(".parked-count", { hasText: /^1$/ }).waitFor();
  await page.getByRole("button", { name: "Discard", exact: true }).first().click();
  await page.getByRole("dialog").getByRole("button", { name: "Discard all" }).click();
  await page.getByText("1 change counts as handled.").waitFor();
  expect(await pipeline.parked()).toBe(brokenPages.length - 1);
  await close();
  expect(wrongs).toEqual([]);
});
