import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openPage, startBrowser } from "./support/browser.js";
import { type Crawl, startCrawl } from "./support/crawl.js";
import { buildPages } from "./support/pages.js";
import { Pipeline } from "./support/pipeline.js";

/**
 * Pictures of every view. They show the web index while it loads the web archive that
 * `DASHBOARD_CRAWL` names, or else the tests' pipeline. Pictures of failures always show that
 * pipeline. With `UPDATE_SCREENSHOTS=1` they are written to docs/figures/dashboard, otherwise
 * nowhere.
 */
const archive = process.env.DASHBOARD_CRAWL;
const isKept = process.env.UPDATE_SCREENSHOTS === "1";
const maxBytes = 200_000;

let pages: Awaited<ReturnType<typeof buildPages>>;
let browser: Browser;
let subject: Crawl | Pipeline;
let failing: Pipeline;
let folder: string;
beforeAll(async () => {
  pages = await buildPages();
  browser = await startBrowser();
  folder = isKept
    ? fileURLToPath(new URL("../../docs/figures/dashboard/", import.meta.url))
    : await mkdtemp(join(tmpdir(), "percolatordb-pictures-"));
  failing = await Pipeline.start({ commit: "two-phase", writable: true, pages: pages.path });
  await failing.load();
  await failing.settle();
  subject = archive === undefined ? failing : await startCrawl(archive, pages.path);
  await subject.load();
});
afterAll(async () => {
  await browser?.close();
  if (subject !== failing) await subject?.close();
  await failing?.close();
  await pages?.remove();
  if (!isKept && folder !== undefined) await rm(folder, { recursive: true, force: true });
});

interface Picture {
  readonly hash: string;
  readonly shows: string;
  /** Runs before the picture is taken. */
  readonly first?: (page: Page) => Promise<void>;
  readonly height?: number;
  /** Whether it shows the failing pipeline. */
  readonly isFailing?: boolean;
  readonly isDark?: boolean;
  readonly isPhone?: boolean;
}

const openFirst = (selector: string, shows: string) => async (page: Page) => {
  await page.locator(selector).first().click();
  await page.locator(shows).first().waitFor();
};

const pictures: Readonly<Record<string, Picture>> = {
  overview: { hash: "overview", shows: "[data-observer]" },
  "overview-dark": { hash: "overview", shows: "[data-observer]", isDark: true },
  "overview-phone": { hash: "overview", shows: "[data-observer]", isPhone: true },
  pipeline: { hash: "pipeline?fit=1", shows: ".node.observer", height: 460 },
  "pipeline-dark": { hash: "pipeline?fit=1", shows: ".node.observer", isDark: true, height: 460 },
  data: { hash: "data?table=documents", shows: ".data-rows [data-row]", height: 540 },
  protocol: {
    hash: "data?table=documents&show=protocol",
    shows: ".data-rows [data-row]",
    first: openFirst("[data-row]", ".protocol"),
  },
  transactions: {
    hash: "transactions",
    shows: "table.transactions [data-row]",
    first: async (page) => {
      await page.keyboard.press("p");
      await openFirst("table.transactions [data-row]", ".timeline")(page);
    },
  },
  conflicts: { hash: "transactions?show=conflicts", shows: ".conflicts", isFailing: true, height: 460 },
  failures: { hash: "failures", shows: ".parked", isFailing: true, height: 540 },
  locks: { hash: "failures?show=locks", shows: ".locks", isFailing: true, height: 460 },
  workers: { hash: "workers?table=documents", shows: ".heat canvas" },
};

/** The limit for each wait. The load of a crawl leaves little processor time for anything else. */
const patienceMs = 90_000;
/**
 * How long the overview is open before its picture is taken. By then its lines over time have some
 * points.
 */
const watchMs = archive === undefined ? 2_000 : 9_000;

test("every view has a picture", async () => {
  const names = Object.keys(pictures);
  for (const name of names) {
    const {
      hash,
      shows,
      first,
      height = 800,
      isFailing = false,
      isDark = false,
      isPhone = false,
    } = pictures[name]!;
    const viewport = isPhone ? { width: 360, height: 780 } : { width: 1280, height };
    const colorScheme = isDark ? "dark" : "light";
    const { page, wrongs, close } = await openPage(
      browser,
      `${(isFailing ? failing : subject).url}#/${hash}`,
      {
        viewport,
        colorScheme,
      },
    );
    await page.locator(shows).first().waitFor({ timeout: patienceMs });
    await first?.(page);
    await page.waitForTimeout(hash === "overview" ? watchMs : 700);
    const path = join(folder, `${name}.png`);
    await page.screenshot({ path });
    await close();
    expect(wrongs).toEqual([]);
    expect((await stat(path)).size).toBeLessThan(maxBytes);
  }
}, 300_000);
