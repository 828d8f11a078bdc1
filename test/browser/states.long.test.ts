import { expect, test } from "vitest";
import type { Failures, HeatMap, Pipeline } from "../../src/dashboard/api/index.js";
import { locksPage } from "../../web/testing/failures.js";
import { serveFixture } from "../../web/testing/fixture-server.js";
import { startedAt } from "../../web/testing/pipeline.js";
import { openPage } from "./support/browser.js";
import { inventAnswers } from "./support/invented.js";

/** What the overview says of observers in trouble, with invented answers. */

const invented = inventAnswers();

test("all states of an observer are shown, unhealthy ones first, with since when and what to do", async () => {
  const { page, wrongs, close } = await openPage(invented.browser, `${invented.server.url}#/overview`);
  const rows = page.locator("[data-observer]");
  await rows.first().waitFor();
  const names = await rows.evaluateAll((all) => all.map((row) => row.getAttribute("data-observer")));
  expect(names).toEqual(["invert", "rank", "cluster", "index", "extract", "merge"]);
  expect(await page.locator("[data-observer=index] .states .word").allTextContents()).toEqual([
    "parked",
    "failing",
  ]);
  const index = page.locator("[data-wrong=index]");
  await index
    .getByText(/since \d\d:\d\d:\d\d/)
    .first()
    .waitFor();
  await index.getByRole("link", { name: /retry them/ }).click();
  await page.locator("[data-group]").first().waitFor();
  expect(page.url()).toContain("failures?observer=index");
  await close();
  expect(wrongs).toEqual([]);
});

test("the page opens with the hour before it", async () => {
  const { page, close } = await openPage(invented.browser, `${invented.server.url}#/overview`);
  const line = page.locator('[data-figure="Backlog"] .sparkline .line');
  await line.waitFor({ state: "attached" });
  expect((await line.getAttribute("d"))!.split("L").length).toBeGreaterThan(300);
  await close();
});

test("on a phone, a healthy observer takes one line and an unhealthy one more", async () => {
  const { page, close } = await openPage(invented.browser, `${invented.server.url}#/overview`, {
    viewport: { width: 390, height: 844 },
  });
  const height = async (name: string) =>
    (await page.locator(`[data-observer=${name}]`).boundingBox())!.height;
  await page.locator("[data-observer=extract]").waitFor();
  expect(await height("extract")).toBeLessThan(40);
  expect(await height("invert")).toBeGreaterThan(90);
  await close();
});

test.each(["overview", "data?table=documents", "transactions", "workers"])(
  "on a phone, no text of %s runs out of its cell",
  async (view) => {
    const { page, close } = await openPage(invented.browser, `${invented.server.url}#/${view}`, {
      viewport: { width: 390, height: 844 },
    });
    const cells = page.locator("tbody :is(td, th):visible");
    await cells.first().waitFor();
    const outside = await cells.evaluateAll((all) =>
      all
        .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth + 1)
        .map(({ textContent }) => textContent),
    );
    expect(await cells.count()).toBeGreaterThan(1);
    expect(outside).toEqual([]);
    await close();
  },
);

test("on a phone, long names, labels and errors neither widen a list nor fill the screen", async () => {
  const { page, close } = await openPage(invented.browser, "about:blank", {
    viewport: { width: 390, height: 844 },
  });
  await page.route("**/api/transactions?*", async (route) => {
    const response = await route.fetch();
    const [first, ...others] = (await response.json()) as object[];
    const long = { observer: undefined, label: "l".repeat(500), error: "e".repeat(2_000) };
    await route.fulfill({ response, json: [{ ...first, ...long }, ...others] });
  });
  await page.goto(`${invented.server.url}#/transactions`);
  const row = page.locator("table.transactions tbody tr", { hasText: "llll" });
  await row.waitFor();
  expect((await row.boundingBox())!.height).toBeLessThan(300);
  await page.locator(".fold summary", { hasText: "Filters" }).click();
  await page.evaluate(`document.querySelector("select").add(new Option("o".repeat(64)))`);
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(390);
  await close();
});

test("on a phone, a transaction begins with what took how long, and then says when, how and why", async () => {
  const { page, close } = await openPage(invented.browser, `${invented.server.url}#/transactions`, {
    viewport: { width: 390, height: 844 },
  });
  const row = page.locator("table.transactions tbody tr").first();
  await row.waitFor();
  const top = async (part: string) => (await row.locator(part).boundingBox())!.y;
  expect(Math.abs((await top(".took")) - (await top(".what")))).toBeLessThan(4);
  expect(await top(".what")).toBeLessThan(await top(".time"));
  expect(await page.locator("td.none:visible").count()).toBe(0);
  expect(await page.locator("td.none").count()).toBeGreaterThan(0);
  await close();
});

test("without the server everything is grey and says how old it is, until it answers again", async () => {
  const { page, close } = await openPage(invented.browser, `${invented.server.url}#/overview`);
  await page.locator("[data-connection=live]").waitFor();
  invented.server.cut(true);
  await page.locator(".banner", { hasText: /Everything below is as it was at \d\d:\d\d:\d\d/ }).waitFor();
  const filter = () => page.evaluate("getComputedStyle(document.querySelector('main')).filter");
  await expect.poll(filter).toBe("grayscale(1)");
  invented.server.cut(false);
  await page.locator("[data-connection=live]").waitFor();
  await expect.poll(filter).toBe("none");
  await close();
});

test("a later page that is empty by now leads to the first one, and does not say that there is nothing", async () => {
  const { page, close } = await openPage(invented.browser, `${invented.server.url}#/overview`);
  const none = { locks: [], isCut: false };
  await page.route(/api\/locks\?/, (route) => route.fulfill({ json: none }));
  await page.goto(`${invented.server.url}#/failures?show=locks&after=x`);
  await page.getByText("There are no more locks.").waitFor();
  expect(await page.getByText("There are no locks.").count()).toBe(0);
  expect(await page.getByRole("link", { name: "First page" }).getAttribute("href")).toBe(
    "#/failures?show=locks",
  );
  await page.goto(`${invented.server.url}#/data?table=documents&after=9999`);
  await page.getByText("No row is behind the last one").waitFor();
  await page.getByRole("link", { name: "First page" }).click();
  await page.locator(".data-rows tbody tr").first().waitFor();
  await close();
});

test("a search for locks that was stopped has not come to their end", async () => {
  const { page, close } = await openPage(invented.browser, `${invented.server.url}#/overview`);
  let isCut = true;
  await page.route(/api\/locks\?/, (route) => route.fulfill({ json: { ...locksPage(new Set()), isCut } }));
  await page.goto(`${invented.server.url}#/failures?show=locks&after=x`);
  await page.locator("[data-cut]").waitFor();
  expect(await page.getByText("the end", { exact: true }).count()).toBe(0);
  isCut = false;
  await page.getByText("the end", { exact: true }).waitFor();
  await close();
});

test("changes that are tried again and that another filter has found are not shown for this one", async () => {
  const { page, close } = await openPage(invented.browser, `${invented.server.url}#/failures`);
  await page.locator("[data-retrying]").first().waitFor();
  await page.route(/api\/retrying\?.*observer=merge/, () => {});
  await page.goto(`${invented.server.url}#/failures?observer=merge`);
  await page.getByText("merge has parked no change").waitFor();
  expect(await page.locator("[data-retrying]").count()).toBe(0);
  await close();
});

test("a cell and who lost on it are named in their direction", async () => {
  const { page, close } = await openPage(invented.browser, `${invented.server.url}#/overview`);
  const row = { row: "r", count: 2 };
  const pair = { loser: "a\u202eb", winner: "c\u202ed", count: 2 };
  const column = { table: "t", column: "c", count: 2, lastAt: 0, rowCount: 1, rows: [row], pairs: [pair] };
  const conflicts = { reach: "here", sinceMs: 1, pairs: [], columns: [{ ...column, isInternal: false }] };
  await page.route(/api\/conflicts$/, (route) => route.fulfill({ json: conflicts }));
  await page.goto(`${invented.server.url}#/transactions?show=conflicts`);
  expect(await page.locator(".conflicts").textContent()).toContain("a\\u202eb lost to c\\u202ed");
  await page.route(/api\/locks\?/, (route) => {
    const [lock] = locksPage(new Set()).locks;
    return route.fulfill({ json: { locks: [{ ...lock, column: "links:\u202ea" }], isCut: false } });
  });
  await page.goto(`${invented.server.url}#/failures?show=locks`);
  expect(await page.locator(".locks .cell-column").first().textContent()).toBe("documents.links:\\u202ea");
  await close();
});

test("a panel that is closed gives the focus back to its row", async () => {
  const { page, close } = await openPage(invented.browser, `${invented.server.url}#/data?table=documents`);
  for (const [hash, panel] of [
    ["data?table=documents", ".row-panel"],
    ["transactions", ".transaction-panel"],
  ]) {
    await page.goto(`${invented.server.url}#/${hash}`);
    await page.locator("tbody [data-row]").nth(5).click();
    const name = await page.locator("[data-row][aria-current=true]").textContent();
    await page.locator(panel!).getByRole("button", { name: "Close" }).focus();
    await page.keyboard.press("Enter");
    await page.locator(panel!).waitFor({ state: "detached" });
    expect(await page.evaluate("document.activeElement.textContent")).toBe(name);
  }
  await close();
});

test.each([
  ["pipeline", "[data-node]"],
  ["workers", ".heat canvas"],
])("in the picture of %s, Alt and an arrow go back as in any page", async (view, place) => {
  const { page, close } = await openPage(invented.browser, `${invented.server.url}#/${view}`);
  await page.locator(place).first().waitFor();
  const isTaken = (altKey: boolean) =>
    page
      .locator(place)
      .first()
      .evaluate((element, isAlt) => {
        const init = { key: "ArrowRight", altKey: isAlt, bubbles: true, cancelable: true };
        return !element.dispatchEvent(new KeyboardEvent("keydown", init));
      }, altKey);
  expect([await isTaken(true), await isTaken(false)]).toEqual([false, true]);
  await close();
});

test("until the versions of a cell are read, those of another cell are not shown as its own", async () => {
  const hash = "data?table=documents&row=x&show=history&cell=";
  const { page, close } = await openPage(invented.browser, `${invented.server.url}#/${hash}contents`);
  await page.locator(".versions").waitFor();
  await page.route(/api\/history\?.*column=hash/, () => {});
  await page.goto(`${invented.server.url}#/${hash}hash`);
  await page.getByText("Loading the history").waitFor({ timeout: 5_000 });
  expect(await page.locator(".versions").count()).toBe(0);
  await close();
});

test("a time that the slider has not applied yet does not replace the one that was chosen after it", async () => {
  const { page, close } = await openPage(
    invented.browser,
    `${invented.server.url}#/data?table=documents&at=${startedAt - 60_000}`,
  );
  await page.locator(".moment").waitFor();
  await page.evaluate(async () => {
    const slider = document.querySelector<HTMLInputElement>(".moment input[type=range]")!;
    slider.value = "500";
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    await new Promise((resolve) => requestAnimationFrame(resolve));
    document.querySelector<HTMLButtonElement>(".moment button")!.click();
    await new Promise((resolve) => setTimeout(resolve, 500));
  });
  expect(page.url()).not.toContain("at=");
  await close();
});

test("a dashboard that reads only the store knows no rates of an observer", async () => {
  const store = await serveFixture({ pages: invented.pages.path, scenario: "store" });
  const { page, close } = await openPage(invented.browser, `${store.url}#/pipeline?node=observer:extract`);
  const pairs = page.locator(".detail .pairs > div");
  await pairs.first().waitFor();
  const shown = new Map(
    (await pairs.allInnerTexts()).map((text) => text.split(/\s*\n\s*/) as [string, string]),
  );
  expect(["Runs", "Failures", "Conflicts"].map((name) => shown.get(name))).toEqual(["–", "–", "–"]);
  expect(await page.locator("[data-node='observer:extract'] + .node-text").textContent()).toContain("–/s");
  await close();
  await store.close();
});

test.each([
  ["workers", "workers", "[data-session]"],
  ["failures?show=locks", "locks", ".locks tbody tr"],
  ["failures", "failures", "[data-group]"],
  ["transactions", "transactions", ".transactions tbody tr"],
])("if the list of %s can no longer be read, the page says that it may be old", async (view, api, line) => {
  const { page, close } = await openPage(invented.browser, `${invented.server.url}#/${view}`);
  await page.locator(line).first().waitFor();
  const isAsked = new RegExp(`/api/${api}(\\?|$)`);
  const failure = { code: "TOO_MANY", message: "There are too many requests." };
  await page.route(isAsked, (route) => route.fulfill({ status: 503, json: failure }));
  await page.locator("[data-not-renewed]", { hasText: failure.message }).waitFor();
  expect(await page.locator(line).count()).toBeGreaterThan(0);
  await page.unroute(isAsked);
  await page.locator("[data-not-renewed]").waitFor({ state: "detached" });
  await close();
});

test("times are those of the server's clock", async () => {
  const { page, close } = await openPage(invented.browser, `${invented.server.url}#/transactions`, {
    timezoneId: "UTC",
  });
  await page.locator("[data-connection=live]").waitFor();
  await page.locator("table.transactions [data-row]").first().waitFor();
  await page.keyboard.press("p");
  // The server's invented day begins at noon.
  await page.getByText(/as they were at 12:\d\d:\d\d/).waitFor();
  invented.server.cut(true);
  await page.locator(".banner", { hasText: /Everything below is as it was at 12:\d\d:\d\d/ }).waitFor();
  invented.server.cut(false);
  await close();
});

test("a paused list keeps its rows, which can be filtered and opened; it goes on when asked", async () => {
  const { page, wrongs, close } = await openPage(invented.browser, `${invented.server.url}#/transactions`);
  const links = page.locator("table.transactions [data-row]");
  const rows = () =>
    links.evaluateAll((all) => all.map((each) => /id=\w+/.exec(each.getAttribute("href")!)![0]));
  await links.first().waitFor();
  await page.keyboard.press("p");
  await page.getByText(/as they were at \d\d:\d\d:\d\d/).waitFor();
  await page.getByRole("button", { name: "Show all 200" }).click();
  const before = await rows();
  // The fixture has new transactions each second, and the page would ask for them every two.
  await page.waitForResponse((response) => response.url().includes("api/past"), { timeout: 20_000 });
  expect(await rows()).toEqual(before);
  await page.getByLabel("Slower than, ms").fill("300");
  await expect.poll(async () => (await rows()).length).toBeLessThan(before.length);
  const slow = await rows();
  expect(slow.every((id) => before.includes(id))).toBe(true);
  await page.getByRole("link", { name: /^Took, ms/ }).click();
  const took = await page.locator("td[data-label='Took, ms']").allTextContents();
  expect(took.map((text) => Number(text.replace(",", "")))).toEqual(
    took.map((text) => Number(text.replace(",", ""))).toSorted((a, b) => b - a),
  );
  await page.locator("table.transactions tbody tr").nth(1).locator("td").nth(1).click();
  await page.locator(".transaction-panel .timeline").waitFor();
  await page.getByLabel("Slower than, ms").fill("");
  await page.getByRole("button", { name: "Go on" }).click();
  await expect.poll(async () => (await rows()).some((id) => !before.includes(id))).toBe(true);
  await close();
  expect(wrongs).toEqual([]);
});

test("a list without an answer cannot be paused", async () => {
  const { page, wrongs, close } = await openPage(invented.browser, `${invented.server.url}#/overview`);
  let answer = () => {};
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  await page.route("**/api/transactions?*", async (route) => {
    await answered;
    await route.continue();
  });
  await page.keyboard.press("4");
  await page.locator("[data-pause]").waitFor();
  await page.keyboard.press("p");
  answer();
  await page.locator("table.transactions [data-row]").first().waitFor();
  await close();
  expect(wrongs).toEqual([]);
});

test("details of a transaction that the server has forgotten are those of the list", async () => {
  const { page, close } = await openPage(
    invented.browser,
    `${invented.server.url}#/transactions?show=failed`,
  );
  await page.locator("table.transactions [data-row]").first().waitFor();
  await page.route("**/api/transaction?*", (route) =>
    route.fulfill({ status: 404, json: { code: "NOT_FOUND", message: "It is no longer known." } }),
  );
  await page.locator("table.transactions tbody tr").first().click();
  await page.locator("[data-forgotten]").waitFor();
  await page.locator(".transaction-panel .error-text", { hasText: "TypeError" }).waitFor();
  await close();
});

test("processes that are not seen are named", async () => {
  const { page, close } = await openPage(invented.browser, `${invented.server.url}#/transactions`);
  await page.locator("[data-unseen]", { hasText: "993 on beta" }).waitFor();
  await close();
});

test("the key space opens on the hottest table, with keys and times beside it", async () => {
  const { page, wrongs, close } = await openPage(invented.browser, `${invented.server.url}#/workers`);
  await page.locator(".heat canvas").waitFor();
  expect(await page.getByLabel("Table").inputValue()).toBe("documents");
  expect(await page.locator(".heat-keys li").count()).toBeGreaterThan(4);
  const times = page.locator(".heat-times span");
  expect(await times.count()).toBeGreaterThan(3);
  await times.first().scrollIntoViewIfNeeded();
  const { y } = (await page.locator(".heat canvas").boundingBox())!;
  for (const time of await times.all()) {
    // The field above a time begins at it.
    await page.mouse.move((await time.boundingBox())!.x + 2, y + 300);
    await page.locator(".heat-read", { hasText: `, ${await time.textContent()}:` }).waitFor();
  }
  await page.locator('[data-session="1203 on gamma"]', { hasText: "stopped or blocked" }).waitFor();
  const beta = page.locator('[data-session="993 on beta"]');
  expect(await beta.locator("[data-label=CPU]").textContent()).toBe("42 %");
  expect(await beta.locator("[data-label=Clock]").textContent()).toBe("+12 s");
  expect(await beta.locator("[data-label='Loop delay']").getAttribute("class")).toContain("warn-text");
  await close();
  expect(wrongs).toEqual([]);
});

test("a field of the key space that no longer exists is not read", async () => {
  const { page, close } = await openPage(invented.browser, "about:blank");
  let shown = 24;
  await page.route("**/api/heat*", async (route) => {
    const response = await route.fetch();
    const { ranges, counts, ...rest } = (await response.json()) as HeatMap;
    const json = { ...rest, ranges: ranges.slice(0, shown), counts: counts.slice(0, shown) };
    await route.fulfill({ response, json });
  });
  await page.goto(`${invented.server.url}#/workers`);
  await page.locator(".heat canvas").focus();
  for (let step = 0; step < 5; step++) await page.keyboard.press("ArrowDown");
  await page.locator(".heat-read", { hasText: / from .* up to / }).waitFor();
  shown = 3;
  await page.locator(".heat-read", { hasText: "Point at a field" }).waitFor();
  await close();
});

test("a long name of an observer ends before its state", async () => {
  const { page, close } = await openPage(invented.browser, "about:blank");
  await page.route("**/api/pipeline", async (route) => {
    const response = await route.fetch();
    const { observers, ...rest } = (await response.json()) as Pipeline;
    const renamed = observers.map((each, index) => ({ ...each, name: `derive_everything_of_${index}` }));
    await route.fulfill({ response, json: { ...rest, observers: renamed } });
  });
  await page.goto(`${invented.server.url}#/pipeline`);
  const nodes = page.locator(".node.observer");
  await nodes.first().waitFor();
  for (const node of await nodes.all()) {
    const [name, word, sub, box] = await Promise.all(
      [".node-name", ".node-word", ".node-sub", ".box"].map(
        async (part) => (await node.locator(part).boundingBox())!,
      ),
    );
    expect(name!.x + name!.width).toBeLessThan(word!.x);
    expect(sub!.x + sub!.width).toBeLessThan(box!.x + box!.width);
  }
  await close();
});

test("the dark theme is not printed, since browsers print no background", async () => {
  const { page, close } = await openPage(invented.browser, `${invented.server.url}#/overview`, {
    colorScheme: "dark",
  });
  await page.locator("[data-observer]").first().waitFor();
  const ink = () => page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--ink')");
  const dark = await ink();
  for (const theme of ["", "dark"]) {
    await page.evaluate(`document.documentElement.dataset.theme = "${theme}"`);
    await page.emulateMedia({ media: "print", colorScheme: "dark" });
    expect(await ink()).not.toBe(dark);
    await page.emulateMedia({ media: "screen", colorScheme: "dark" });
    expect(await ink()).toBe(dark);
  }
  await close();
});

test("an error cannot turn the letters after it around", async () => {
  const { page, close } = await openPage(invented.browser, "about:blank");
  await page.route(/api\/(failures|retrying)/, async (route) => {
    const response = await route.fetch();
    const { groups, ...rest } = (await response.json()) as Failures;
    const turned = groups.map((group) => ({
      ...group,
      message: `\u202e${group.message}`,
      newest: group.newest.map((each) => ({ ...each, error: `\u202e${each.error}\nnext line` })),
    }));
    await route.fulfill({ response, json: { ...rest, groups: turned } });
  });
  await page.goto(`${invented.server.url}#/failures`);
  const errors = page.locator("summary.error-text");
  await page.locator("[data-retrying]").first().waitFor();
  const texts = await errors.allTextContents();
  expect(texts.length).toBeGreaterThan(2);
  for (const text of texts) expect(text).toMatch(/^\\u202e/);
  await close();
});

test("conflicts are shown by column, and rows that conflicted once without a remedy", async () => {
  const { page, close } = await openPage(
    invented.browser,
    `${invented.server.url}#/transactions?show=conflicts`,
  );
  const members = page.locator('[data-conflicts="clusters.members"]');
  await members.locator(".advice", { hasText: "concurrency: 1" }).waitFor();
  expect(await members.textContent()).toContain("cluster lost to cluster");
  await page.locator('[data-conflicts="documents.hash"]', { hasText: "nothing to do" }).waitFor();
  await close();
});

test("failures that are tried again are groups too, below those that are parked", async () => {
  const { page, wrongs, close } = await openPage(invented.browser, `${invented.server.url}#/failures`);
  const group = page.locator("[data-retrying='Error: connect ECONNREFUSED #']");
  await group.waitFor();
  expect(await group.locator(".parked-count").textContent()).toBe("7");
  expect(await group.textContent()).toMatch(/newest change .+ ago · oldest \d\d:\d\d:\d\d/);
  await group.locator("summary").click();
  expect(await group.locator(".examples > li").count()).toBe(7);
  expect(await group.locator(".examples > li").first().textContent()).toContain("is due now");
  expect(await group.locator(".examples > li").last().textContent()).toMatch(/runs again in \d+ h/);
  await page.getByRole("searchbox", { name: "Error" }).fill("10.0.0.3");
  await page.locator("[data-retrying] .parked-count", { hasText: /^1$/ }).waitFor();
  await page.getByRole("searchbox", { name: "Error" }).fill("no such thing");
  await page.locator("[data-retrying]").waitFor({ state: "detached" });
  await page.goto(`${invented.server.url}#/overview`);
  const remedy = page.locator("[data-wrong=index]");
  await remedy
    .getByText("7 changes failed and are tried again: 0.40 of its runs fail each second.")
    .waitFor();
  await remedy.getByRole("link", { name: "Read the errors.", exact: true }).click();
  await group.waitFor();
  await close();
  expect(wrongs).toEqual([]);
});

test("rows say when they expire, and that an expired one is not deleted yet", async () => {
  const { page, wrongs, close } = await openPage(
    invented.browser,
    `${invented.server.url}#/data?table=documents`,
  );
  const rows = page.locator(".data-rows tbody tr");
  await rows.first().waitFor();
  const expires = (index: number) => rows.nth(index).locator("[data-label=Expiry]").textContent();
  expect(await expires(8)).toMatch(/^expires in \d+ h/);
  expect(await expires(9)).toMatch(/^expired .+ ago, not deleted yet$/);
  expect(await expires(10)).toBe("–");
  await rows.nth(9).locator("a").click();
  const cell = page.locator(".cells > div", { hasText: "hash" });
  await cell.getByText(/^expired .+ ago, not deleted yet$/).waitFor();
  await page.locator(".cells > div", { hasText: "title" }).first().waitFor();
  expect(await page.locator(".cells .expiry").count()).toBe(1);
  await close();
  expect(wrongs).toEqual([]);
});

test("the graph keeps what recipes keep for themselves under internal, collapsed", async () => {
  const { page, wrongs, close } = await openPage(invented.browser, `${invented.server.url}#/pipeline`);
  const node = page.locator('[data-node="internal:postings"]');
  await node.waitFor();
  expect(await page.locator('[data-node^="column:postings_"]').count()).toBe(0);
  const apart = page.locator("[data-apart=internal]");
  expect(await apart.locator("summary").textContent()).toBe("internal: 1 more column");
  expect(await apart.getByText("percolator_past.moment").isVisible()).toBe(false);
  await apart.locator("summary").click();
  await apart.getByText("percolator_past.moment").waitFor();
  await node.click();
  const detail = page.locator(".detail");
  await detail.getByRole("link", { name: "postings_buckets.resume" }).waitFor();
  await detail.getByRole("link", { name: "merge" }).waitFor();
  await detail.getByRole("link", { name: "Show its columns in the graph" }).click();
  await page.locator('[data-node="column:postings_buckets.resume"]').waitFor();
  expect(await node.count()).toBe(0);
  // Links within the view keep what it shows.
  await page.locator('[data-node="column:postings_updates.update"]').click();
  await detail.getByRole("link", { name: "merge" }).click();
  await detail.getByRole("link", { name: "postings_buckets.resume" }).waitFor();
  await page.getByLabel("internal columns").uncheck();
  await node.waitFor();
  await close();
  expect(wrongs).toEqual([]);
});
