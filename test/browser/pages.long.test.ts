import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type FixtureServer, type Scenario, serveFixture } from "../../web/testing/fixture-server.js";
import { axeViolations, overflowOf } from "./support/axe.js";
import { openPage, startBrowser, type WatchedPage } from "./support/browser.js";
import { buildPages } from "./support/pages.js";

/** The pages with made-up answers, for states that are rare in a real pipeline. */

let pages: Awaited<ReturnType<typeof buildPages>>;
let browser: Browser;
beforeAll(async () => {
  pages = await buildPages();
  browser = await startBrowser();
});
afterAll(async () => {
  await browser?.close();
  await pages?.remove();
});

let server: FixtureServer | undefined;
const opened: WatchedPage[] = [];
afterEach(async () => {
  const wrongs = opened.flatMap((each) => each.wrongs);
  await Promise.all(opened.splice(0).map((each) => each.close()));
  await server?.close();
  server = undefined;
  expect(wrongs).toEqual([]);
});

interface Shown {
  readonly scenario?: Scenario;
  readonly writable?: boolean;
  readonly with?: BrowserContextOptions;
}

async function show(
  hash: string,
  { scenario = "busy", writable = false, with: with_ = {} }: Shown = {},
): Promise<Page> {
  server ??= await serveFixture({ pages: pages.path, scenario, writable });
  const opening = await openPage(browser, `${server.url}#/${hash}`, with_);
  opened.push(opening);
  return opening.page;
}

const aRow = encodeURIComponent("https://example.org/manual/00012.html");

/** Every view, and each of its parts. */
const places: Readonly<Record<string, { readonly hash: string; readonly shows: string }>> = {
  overview: { hash: "overview", shows: "[data-observer=invert]" },
  pipeline: { hash: "pipeline?reads=1&node=observer:cluster", shows: ".node.selected" },
  internal: { hash: "pipeline?node=internal:postings", shows: ".node.internal.selected" },
  data: { hash: "data?table=documents", shows: ".data-rows" },
  row: { hash: `data?table=documents&row=${aRow}`, shows: ".cells" },
  history: { hash: `data?table=documents&row=${aRow}&cell=title&show=history`, shows: ".versions" },
  protocol: { hash: `data?table=documents&row=${aRow}&show=protocol`, shows: ".protocol .lock" },
  transactions: { hash: "transactions", shows: "table.transactions" },
  transaction: { hash: "transactions?id=t400", shows: ".timeline" },
  conflicts: { hash: "transactions?show=conflicts", shows: ".conflicts" },
  parked: { hash: "failures", shows: ".parked" },
  locks: { hash: "failures?show=locks", shows: ".locks" },
  workers: { hash: "workers", shows: ".heat canvas" },
};

describe.each(["light", "dark"] as const)("%s", (colorScheme) => {
  test.each(Object.entries(places))("%s is accessible", async (_, { hash, shows }) => {
    const page = await show(hash, { writable: true, with: { colorScheme } });
    await page.locator(shows).first().waitFor();
    expect(await axeViolations(page)).toEqual([]);
  });
});

test.each(Object.entries(places))("%s fits a phone", async (_, { hash, shows }) => {
  const page = await show(hash, { writable: true, with: { viewport: { width: 360, height: 740 } } });
  await page.locator(shows).first().waitFor();
  await expect.poll(() => overflowOf(page)).toBeLessThanOrEqual(0);
});

const views = ["overview", "pipeline", "data", "transactions", "failures", "workers"];

test.each(views)("%s says that there is nothing to show", async (view) => {
  const page = await show(view, { scenario: "empty" });
  await page.locator(".state.empty").first().waitFor();
  expect(await page.locator(".state.failed").count()).toBe(0);
  expect(await axeViolations(page)).toEqual([]);
});

test.each(views.filter((view) => view !== "overview"))("%s shows an error, and tries again", async (view) => {
  const page = await show(view, { scenario: "failing" });
  const failure = page.locator(".state.failed").first();
  await failure.waitFor();
  expect(await failure.textContent()).toContain("The store at ./data does not answer: it was closed.");
  await failure.getByRole("button", { name: "Try again" }).click();
  await failure.waitFor();
  expect(await axeViolations(page)).toEqual([]);
});

test.each(["overview", "pipeline", "transactions", "workers"])(
  "%s says what is not visible from the store alone",
  async (view) => {
    const page = await show(view, { scenario: "store" });
    await page.getByText("This dashboard reads only the store").first().waitFor();
  },
);

test("if only the store is read, transaction figures are shown as unknown, not as zero", async () => {
  const page = await show("overview", { scenario: "store" });
  expect(await page.locator("[data-figure=Throughput] b").textContent()).toBe("–");
  expect(await page.locator("[data-figure=Backlog] b").textContent()).toBe("10,421+");
});

test("the worst problem is shown first, and links to its observer", async () => {
  const page = await show("overview");
  const listed = page.getByRole("region", { name: "What is wrong" }).getByRole("listitem");
  expect(await listed.first().textContent()).toMatch(/^"shop"\."orders".*parked.*since.*no column "total"/s);
  const worst = listed.nth(1);
  expect(await worst.textContent()).toMatch(/^invert.*late/s);
  await worst.getByRole("link", { name: "invert", exact: true }).click();
  await page.getByRole("heading", { name: "invert" }).waitFor();
  expect(page.url()).toContain("node=observer%3Ainvert");
});

test("schedules show overdue rows", async () => {
  const page = await show("overview");
  const row = page.locator("[data-schedule=reminders]");
  await row.waitFor();
  expect(await row.locator("td").allTextContents()).toEqual([
    expect.stringContaining("behind"),
    "3",
    "12 s ago",
  ]);
  expect(await page.locator("[data-schedule=renewals]").textContent()).toContain("on time");
});

test("a lost connection is shown, and restored", async () => {
  const page = await show("overview");
  await page.locator("[data-connection=live]").waitFor();
  server!.cut(true);
  await page.locator("[data-connection=lost]").waitFor();
  await page.getByText("Not connected, trying again.").waitFor();
  expect(await page.locator("[data-observer]").count()).toBe(6);
  server!.cut(false);
  await page.locator("[data-connection=live]").waitFor();
  expect(await page.getByText("Not connected").count()).toBe(0);
});

test("a colour scheme can be chosen, is kept, and can follow the system again", async () => {
  const page = await show("overview", { with: { colorScheme: "dark" } });
  await page.locator("[data-observer]").first().waitFor();
  const background = () => page.evaluate("getComputedStyle(document.documentElement).backgroundColor");
  const dark = await background();
  await page.keyboard.press("t");
  await expect.poll(background).not.toBe(dark);
  await page.reload();
  await page.locator("[data-observer]").first().waitFor();
  expect(await background()).not.toBe(dark);
  await page.locator("[data-theme-button]").click();
  await expect.poll(background).toBe(dark);
  await page.locator("[data-theme-button]").click();
  expect(await page.evaluate("document.documentElement.dataset.theme ?? 'none'")).toBe("none");
});

test("everything can be reached with the keyboard", async () => {
  const page = await show("overview");
  await page.locator("[data-observer]").first().waitFor();
  await page.keyboard.press("Tab");
  expect(await focused(page)).toContain("Skip to the view");
  await page.keyboard.press("Enter");
  expect(await page.evaluate("document.activeElement.id")).toBe("main");
  await page.keyboard.press("3");
  await page.getByRole("heading", { level: 1, name: "Data" }).waitFor();
  await page.locator("[data-search]").waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("https://example.org/manual/0004");
  await page.locator("[data-row]").first().getByText("00040").waitFor();
  await page.keyboard.press("Escape");
  await page.locator("[data-row]").first().focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  expect(await focused(page)).toBe("https://example.org/manual/00042.html");
  await page.keyboard.press("Enter");
  await page.locator(".cells").waitFor();
  await page.keyboard.press("Escape");
  await page.locator(".cells").waitFor({ state: "detached" });
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keyboard" }).waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
});

const focused = (page: Page) => page.evaluate("document.activeElement.textContent") as Promise<string>;

test("arrow keys move along the graph, and Enter shows only connected nodes", async () => {
  const page = await show("pipeline");
  const first = page.locator('[data-node="column:documents.contents"]');
  await first.focus();
  const at = () => page.evaluate("document.activeElement.dataset.node");
  await page.keyboard.press("ArrowRight");
  expect(await at()).toBe("observer:extract");
  await page.keyboard.press("ArrowRight");
  const beside = (await at()) as string;
  expect(beside).toMatch(/^column:documents\./);
  await page.keyboard.press("ArrowLeft");
  expect(await at()).toBe("observer:extract");
  await page.keyboard.press("Enter");
  await page.locator('.node.selected [data-node="observer:extract"]').waitFor();
  expect(page.url()).toContain("node=observer%3Aextract");
  await page.keyboard.press("Escape");
  await page.locator(".node.selected").waitFor({ state: "detached" });
});

test("arrow keys read the key space", async () => {
  const page = await show("workers");
  await page.locator("canvas").focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowDown");
  await page
    .getByText(/writes? from https:\/\/example\.org\/400 up to https:\/\/example\.org\/800, /)
    .waitFor();
});

test("keys of every script and values of any size are shown unchanged", async () => {
  const page = await show("data?table=documents");
  const rows = page.locator(".data-rows [data-row]");
  await rows.first().waitFor();
  const shown = await rows.allTextContents();
  expect(shown.slice(0, 7)).toEqual([
    "empty key",
    "\\u0000control\\tand\\nline ends",
    "<script>alert(1)</script>",
    "emoji/🦉🧪/👩‍👩‍👧",
    "עברית/דף ראשי?מספר=12",
    "العربية/صفحة",
    "日本語/ページ",
  ]);
  await rows.nth(7).click();
  await page.getByText("… of 5.1 MB").first().waitFor();
  await expect.poll(() => overflowOf(page)).toBeLessThanOrEqual(0);
});

test("ten thousand rows can be paged forwards and backwards", async () => {
  const page = await show("data?table=documents");
  await page.getByRole("link", { name: "Next rows" }).click();
  await page.getByRole("link", { name: /00050/ }).waitFor();
  await page.getByRole("button", { name: "Back" }).click();
  await page.getByText("empty key").waitFor();
  await page.goto(`${server!.url}#/data?table=documents&after=9949`);
  await page.getByRole("link", { name: /09999/ }).waitFor();
  await page.getByText("the end").waitFor();
});

test("the slider goes back in time, and the link contains the time", async () => {
  const page = await show("data?table=documents");
  const slider = page.getByRole("slider", { name: "Time within the retention" });
  await slider.focus();
  await page.keyboard.press("Home");
  await expect.poll(() => page.url()).toMatch(/at=\d{13}/);
  // The shown time stays the same while the clock runs.
  await page
    .getByText(/, (59 min 5\d s|1 h) ago/)
    .first()
    .waitFor();
  expect(await page.locator(".command code").textContent()).toMatch(
    /^percolator scan \.\/data documents --at \d{4}-\d\d-\d\dT[\d:.]+Z --limit 50$/,
  );
  await page.getByRole("button", { name: "Now" }).click();
  await expect.poll(() => page.url()).not.toContain("at=");
});

test("a filter also applies to new transactions", async () => {
  const page = await show("transactions?observer=cluster&show=failed");
  await page.locator("table.transactions [data-row]").first().waitFor();
  await page.waitForTimeout(2_500);
  const words = await page.locator("table.transactions .run-name").allTextContents();
  expect(new Set(words)).toEqual(new Set(["cluster"]));
  expect(new Set(await page.locator("table.transactions .word").allTextContents())).toEqual(
    new Set(["rolled back"]),
  );
});

test("cause and effect are links", async () => {
  const page = await show("transactions?id=t400");
  await page.getByText("No change: the program began it.").waitFor();
  await page.locator(".transaction-link").first().click();
  await page.getByText("committed at 17").waitFor();
  await page.locator(".transaction-link").first().click();
  await expect.poll(() => page.url()).toContain("id=t400");
});

test("nothing changes before it is confirmed", async () => {
  const page = await show("failures?observer=index", { writable: true });
  const group = page.locator("[data-group^=TypeError]");
  await group.locator("summary").first().click();
  const items = group.locator(".examples > li");
  await items.first().waitFor();
  expect(await items.count()).toBe(9);
  await items.first().getByRole("button", { name: "Discard" }).click();
  const dialog = page.getByRole("dialog", { name: "Discard this change?" });
  expect(await axeViolations(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Leave it" }).click();
  expect(await items.count()).toBe(9);
  await items.first().getByRole("button", { name: "Retry" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Retry" }).click();
  await page.getByText("1 change is due again.").waitFor();
  await expect.poll(() => items.count()).toBe(8);
  await page.getByRole("button", { name: "Discard all of index" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Discard all" }).click();
  await page.getByText("9 changes count as handled; 1 was no longer there.").waitFor();
  await page.getByText("Nothing is parked.").waitFor();
});

test("a lock of a live owner is not resolved, and the page says why", async () => {
  const page = await show("failures?show=locks", { writable: true });
  const line = page.locator(".locks tbody tr").filter({ hasText: "lives" });
  await line.getByRole("button", { name: "Resolve" }).click();
  await page.getByRole("dialog").getByText("Its owner is alive").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Resolve" }).click();
  await page.getByText("0 locks were resolved; 1 lock still stands: the owner is alive.").waitFor();
});

test("a read-only dashboard says why there are no buttons", async () => {
  const page = await show("failures");
  await page.locator(".parked > li").first().waitFor();
  expect(await page.locator("[data-read-only]").textContent()).toContain("This dashboard only reads.");
  expect(await page.getByRole("button", { name: /Retry|Discard/ }).count()).toBe(0);
});

test("a reader who prefers reduced motion gets no animations", async () => {
  const page = await show("overview", { with: { reducedMotion: "reduce" } });
  await page.locator("[data-observer]").first().waitFor();
  const running = "document.getAnimations().filter(({ playState }) => playState === 'running').length";
  expect(await page.evaluate(running)).toBe(0);
});
