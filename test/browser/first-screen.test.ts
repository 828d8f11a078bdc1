import { expect, test } from "vitest";
import { axeViolations, overflowOf } from "./support/axe.js";
import { openPage } from "./support/browser.js";
import { inventAnswers } from "./support/invented.js";

/** What each view says on the first screen of a phone, without a tap or a scroll. */

const invented = inventAnswers();

const phone = { width: 390, height: 844 };
const row = encodeURIComponent("https://example.org/manual/00010.html");

/** What must be above the end of the screen: the last of it, by a selector and its place. */
const views: Readonly<Record<string, readonly (readonly [selector: string, place: number])[]>> = {
  overview: [["[data-wrong] .remedy", 2]],
  pipeline: [
    ["[data-worst]", 3],
    [".node.observer", 0],
  ],
  "data?table=documents&prefix=https%3A%2F%2Fexample.org%2Fmanual": [[".data-rows tbody tr", 1]],
  [`data?table=documents&row=${row}`]: [[".cells .written-by", 0]],
  [`data?table=documents&row=${row}&cell=contents&show=history`]: [[".versions .written-by", 0]],
  transactions: [
    ["[data-worst=failing]", 0],
    ["[data-worst=conflicting]", 0],
    ["[data-worst=slow]", 0],
    ["table.transactions tbody tr", 2],
  ],
  "transactions?show=slow": [["table.transactions tbody tr", 2]],
  "transactions?show=conflicts": [[".conflicts .advice", 0]],
  failures: [["[data-group]", 1]],
  workers: [["[data-session] .word.bad", 0]],
};

test.each(Object.entries(views))("%s", async (hash, wanted) => {
  const { page, wrongs, close } = await openPage(invented.browser, `${invented.server.url}#/${hash}`, {
    viewport: phone,
  });
  for (const [selector, place] of wanted) {
    const element = page.locator(selector).nth(place);
    await element.waitFor();
    const bottom = async () => {
      const box = (await element.boundingBox())!;
      return box.y + box.height;
    };
    // The figures above it come one after the other.
    await expect.poll(bottom, { message: selector }).toBeLessThan(phone.height);
  }
  expect(await page.locator(".views a:visible").count()).toBe(6);
  await close();
  expect(wrongs).toEqual([]);
});

test.each(Object.keys(views))("%s fits narrow phones, and dark ones can be read", async (hash) => {
  const { page, close } = await openPage(invented.browser, `${invented.server.url}#/${hash}`, {
    viewport: phone,
    colorScheme: "dark",
  });
  await page.locator(views[hash]![0]![0]).first().waitFor();
  expect(await axeViolations(page)).toEqual([]);
  for (const width of [390, 320]) {
    await page.setViewportSize({ width, height: 700 });
    await expect.poll(() => overflowOf(page)).toBeLessThanOrEqual(0);
  }
  await close();
});

test("the heads of a list by which it is sorted are seen when they have the focus", async () => {
  const { page, close } = await openPage(invented.browser, `${invented.server.url}#/transactions`, {
    viewport: phone,
  });
  const head = page.locator("table.transactions thead");
  await head.waitFor({ state: "attached" });
  expect((await head.boundingBox())!.height).toBe(1);
  await head.locator("a", { hasText: "Took" }).focus();
  expect((await head.boundingBox())!.height).toBeGreaterThan(20);
  expect(await overflowOf(page)).toBeLessThanOrEqual(0);
  await close();
});
