import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { axeViolations, overflowOf } from "./support/axe.js";
import { openPage, startBrowser, type WatchedPage } from "./support/browser.js";
import { buildPages } from "./support/pages.js";
import { brokenPages, Pipeline, pageCount } from "./support/pipeline.js";

/** Every view of the dashboard, for a real pipeline at work. */

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

const opened: WatchedPage[] = [];
afterEach(async () => {
  const wrongs = opened.flatMap((each) => each.wrongs);
  await Promise.all(opened.splice(0).map((each) => each.close()));
  expect(wrongs).toEqual([]);
});

describe.each([
  { commit: "two-phase", writable: true },
  { commit: "auto", writable: false },
] as const)("a pipeline, commit $commit, writable $writable", ({ commit, writable }) => {
  let pipeline: Pipeline;
  beforeAll(async () => {
    pipeline = await Pipeline.start({ commit, writable, pages: pages.path });
    await pipeline.load();
    await pipeline.load();
    await pipeline.settle();
  });
  afterAll(() => pipeline?.close());

  async function show(hash: string, with_: BrowserContextOptions = {}): Promise<Page> {
    const opening = await openPage(browser, `${pipeline.url}#/${hash}`, with_);
    opened.push(opening);
    return opening.page;
  }

  const views: Readonly<Record<string, { readonly hash: string; readonly shows: string }>> = {
    overview: { hash: "overview", shows: "[data-observer=total]" },
    pipeline: { hash: "pipeline", shows: '[data-node="column:totals.words"]' },
    data: { hash: "data?table=documents", shows: ".data-rows" },
    protocol: { hash: "data?table=documents&row=page-07&show=protocol", shows: ".protocol" },
    transactions: { hash: "transactions", shows: "table.transactions" },
    failures: { hash: "failures", shows: ".parked" },
    workers: { hash: "workers", shows: ".heat canvas" },
  };

  describe.each(["light", "dark"] as const)("%s", (colorScheme) => {
    test.each(Object.entries(views))("%s is accessible, also on a phone", async (_, { hash, shows }) => {
      const page = await show(hash, { colorScheme });
      await page.locator(shows).first().waitFor();
      expect(await axeViolations(page)).toEqual([]);
      await page.setViewportSize({ width: 360, height: 740 });
      await expect.poll(() => overflowOf(page)).toBeLessThanOrEqual(0);
    });
  });

  test("the overview shows each observer's freshness, and what is parked", async () => {
    const page = await show("overview");
    const review = page.locator("[data-observer=review]");
    await review.getByText("parked").first().waitFor();
    expect(await review.locator("[data-label=Parked]").textContent()).toBe(String(brokenPages.length));
    for (const observer of ["extract", "invert", "rank", "total"]) {
      const row = page.locator(`[data-observer=${observer}]`);
      expect(await row.locator("[data-label=State]").textContent()).toMatch(/fresh|idle/);
      expect(await row.locator("[data-label=p99]").textContent()).toMatch(/^[\d.]+ (ms|s)$/);
      expect(await row.locator("[data-label=Hosts]").textContent()).toBe("1");
    }
    expect(await page.locator("[data-figure=Workers] b").textContent()).toBe("1");
    expect(await page.locator(".command code").textContent()).toBe("percolator status ./data");
  });

  test("the overview updates by itself", async () => {
    const page = await show("overview");
    const newest = () => page.locator("[data-figure=Safepoint] .figure-note").textContent();
    const before = await newest();
    await pipeline.db.transact((tx) => tx.set(pipeline.documents.rank, "somewhere", 1));
    await expect.poll(newest).not.toBe(before);
  });

  test("the graph shows what observers write, and a click on a node opens a link", async () => {
    const page = await show("pipeline");
    const node = page.locator('[data-node="observer:extract"]');
    await node.click();
    const detail = page.getByRole("region", { name: "The selected node" });
    await detail.getByRole("link", { name: "documents.title" }).waitFor();
    expect(await detail.textContent()).toContain("watches documents.contents");
    // The signal is only notified, never written.
    await page.locator('[data-node="observer:invert"]').click();
    await detail.getByRole("link", { name: "documents.rescore" }).waitFor();
    await node.click();
    await detail.getByRole("link", { name: "documents.title" }).waitFor();
    expect(await page.locator(".command code").textContent()).toBe(
      "percolator pending ./data --observer extract",
    );
    const again = await show(new URL(page.url()).hash.slice(2));
    await again.locator('.node.selected [data-node="observer:extract"]').waitFor();
    expect(await again.locator('.node.dim [data-node="column:totals.words"]').count()).toBe(0);
    expect(await again.locator('.node.dim [data-node="observer:extract"]').count()).toBe(0);
  });

  test("rows are found by prefix, opened, and shown as of the past", async () => {
    const page = await show("data?table=documents&prefix=page-1");
    await page.locator(".data-rows [data-row]").nth(9).waitFor();
    expect(await page.locator(".data-rows [data-row]").count()).toBe(10);
    await page.getByRole("link", { name: "page-12" }).first().click();
    await page.locator(".cells dt", { hasText: "contents" }).getByRole("link", { name: "History" }).click();
    const versions = page.locator(".versions li");
    await versions.nth(1).waitFor();
    expect(await versions.nth(0).textContent()).toContain("revision 2");
    expect(await versions.nth(1).textContent()).toContain("revision 1");
    await versions.nth(1).getByRole("link", { name: "Show the row at this time" }).click();
    await page.locator(".cells dd", { hasText: "revision 1" }).first().waitFor();
    expect(page.url()).toMatch(/at=\d{16}/);
    const again = await show(new URL(page.url()).hash.slice(2));
    await again.locator(".cells dd", { hasText: "revision 1" }).first().waitFor();
    expect(await again.locator(".command code").textContent()).toMatch(
      /^percolator get \.\/data documents page-12 --at \d{16}$/,
    );
  });

  test("the protocol view shows values, write records and acknowledgments", async () => {
    const page = await show("data?table=documents&row=page-07&show=protocol");
    const column = (name: string) => page.locator(".protocol-column", { hasText: name });
    await column("contents").first().waitFor();
    expect(await column("contents").first().textContent()).toMatch(/put from \d{16}/);
    await page.locator(".protocol-column.acknowledgment").first().waitFor();
    await page.locator(".protocol-column.parked").first().waitFor();
    expect(await page.locator(".command code").textContent()).toBe(
      "percolator inspect ./data documents page-07",
    );
  });

  test("a transaction links to its cause and to its effects", async () => {
    await pipeline.db.transact((tx) => tx.set(pipeline.documents.contents, "newest", "The last\npage-01"), {
      label: "one page",
    });
    await pipeline.settle();
    const page = await show("transactions?observer=extract");
    // The server's data may be a second old. Until it is current, other transactions come first.
    const run = page.locator("table.transactions tbody tr", { hasText: "newest" });
    await run.locator("[data-row]").click();
    await page.locator(".timeline").waitFor();
    await page.getByRole("heading", { name: "Wrote" }).waitFor();
    const cause = page.locator(".transaction-link", { hasText: "one page" });
    await cause.click();
    await page.locator(".transaction-panel h2", { hasText: "one page" }).waitFor();
    await page.locator(".transaction-link", { hasText: "extract" }).waitFor();
    expect(await axeViolations(page)).toEqual([]);
  });

  test("new transactions appear by themselves", async () => {
    const page = await show("transactions?label=by+hand");
    await page.getByText("No transaction matches.").waitFor();
    await pipeline.db.transact((tx) => tx.set(pipeline.documents.rank, "somewhere", 2), { label: "by hand" });
    await page.locator("table.transactions tbody tr", { hasText: "by hand" }).waitFor();
  });

  test("conflicts are ranked, with advice", async () => {
    const page = await show("transactions?show=conflicts");
    const first = page.locator(".conflicts li").first();
    await first.waitFor();
    expect(await first.textContent()).toContain("totals.words");
    expect(await first.textContent()).toContain("total lost to total");
    expect(await first.locator(".advice").textContent()).not.toBe("");
    expect(await axeViolations(page)).toEqual([]);
  });

  test("the worker, and the rows with most writes", async () => {
    const page = await show("workers?table=documents&metric=hints");
    await page.getByText("here", { exact: true }).waitFor();
    await page.getByRole("row", { name: /extract, invert, rank/ }).waitFor();
    const hottest = page.locator(".hottest li").first();
    await hottest.getByRole("link").click();
    await page.locator(".data-rows").waitFor();
  });

  if (writable) {
    test("one change is retried and parked again; a group is discarded", async () => {
      const page = await show("failures?observer=review");
      const group = page.locator(".parked > li");
      await group.getByText('RangeError: The title "…" cannot be reviewed').click();
      expect(await group.count()).toBe(1);
      const items = group.locator(".examples > li");
      await items.nth(brokenPages.length - 1).waitFor();
      await items.first().locator("summary").click();
      await items
        .first()
        .getByText(/at .*pipeline\.ts/)
        .first()
        .waitFor();
      expect(await items.first().textContent()).toContain("2 attempts");
      await items.first().getByRole("button", { name: "Retry" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Retry" }).click();
      await page.getByText("1 change is due again.").waitFor();
      await expect.poll(() => pipeline.parked()).toBe(brokenPages.length);
      await page.getByRole("button", { name: `Discard ${brokenPages.length}`, exact: true }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Discard all" }).click();
      await page.getByText(`${brokenPages.length} changes count as handled.`).waitFor();
      await page.getByText("Nothing is parked.").waitFor();
      expect(await pipeline.parked()).toBe(0);
    });

    test("a lock of an ended owner is resolved", async () => {
      const page = await show("failures?show=locks");
      const line = page.locator(".locks tbody tr", { hasText: "left-behind" });
      await line.getByText("ended").waitFor();
      expect(await axeViolations(page)).toEqual([]);
      await line.getByRole("button", { name: "Resolve" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Resolve" }).click();
      await page.getByText("1 lock was resolved.").waitFor();
      await line.waitFor({ state: "detached" });
    });
  } else {
    test("a read-only dashboard explains why changes are not possible, and the server refuses them too", async () => {
      const page = await show("failures");
      await page.locator(".parked > li").first().waitFor();
      expect(await page.locator("[data-read-only]").textContent()).toContain("only reads");
      expect(await page.getByRole("button", { name: /Retry|Discard/ }).count()).toBe(0);
      const refused = await fetch(new URL("api/parked/discard", pipeline.url), {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ observer: "review" }),
      });
      expect(refused.status).toBe(403);
      expect(await pipeline.parked()).toBe(brokenPages.length);
      await page.getByRole("link", { name: "Locks" }).click();
      await page.getByText("This database commits in one phase, which needs no locks.").waitFor();
    });
  }

  test(`${pageCount} pages stay up to date while writes go on`, async () => {
    const page = await show("data?table=documents&row=page-03");
    await page.locator(".cells").waitFor();
    await pipeline.load();
    await pipeline.settle();
    await page.locator(".cells dd", { hasText: "revision 3" }).first().waitFor();
  });
});
