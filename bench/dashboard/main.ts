/**
 * How smoothly the browser draws the dashboard's pages while a pipeline commits, compared with an
 * idle page: `npm run frames -- --help`.
 */
import type { Browser, Page } from "playwright-core";
import { openPage, startBrowser } from "../../test/browser/support/browser.js";
import { buildPages } from "../../test/browser/support/pages.js";
import { withChildren } from "../harness/child.js";
import { pause } from "../harness/pause.js";
import { type CommonOptions, runProgram, sayProgress, whole } from "../harness/program.js";
import { quantile } from "../harness/statistics.js";
import { right, short, table } from "../harness/words.js";
import type { Opening } from "./process.js";

interface Options extends CommonOptions {
  readonly seconds: number;
  readonly rate: number;
}

/** How evenly a page was drawn. */
interface Frames {
  readonly name: string;
  readonly count: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** Periods of more than 50 ms in which the page could not react. */
  readonly longTasks: number;
  readonly longestTaskMs: number;
  readonly heapMb: number;
  /** Undefined for the idle page. */
  readonly commitsPerSecond?: number | undefined;
}

const views = ["overview", "pipeline", "transactions", "workers"] as const;
/** The time for a page to load, which is not measured. */
const warmUpMs = 3_000;

/** Runs in the page. Collects the times between frames, and long tasks. */
const collect = (ms: number) => `new Promise((resolve) => {
  const intervals = [];
  const tasks = [];
  const watcher = new PerformanceObserver((list) => tasks.push(...list.getEntries().map(({ duration }) => duration)));
  watcher.observe({ type: "longtask" });
  const end = performance.now() + ${ms};
  let before;
  const frame = (now) => {
    if (before !== undefined) intervals.push(now - before);
    before = now;
    if (now < end) return requestAnimationFrame(frame);
    watcher.disconnect();
    resolve(JSON.stringify({ intervals, tasks, heap: performance.memory?.usedJSHeapSize ?? 0 }));
  };
  requestAnimationFrame(frame);
})`;

await runProgram<Options, readonly Frames[]>({
  name: "frames",
  about:
    "Measures the frames of the dashboard's pages under a load, beside an idle page; 1280 × 860, no GPU.",
  examples: ["frames", "frames -- --rate 5000 --seconds 30"],
  wrongIf: "the dashboard or the browser fails",
  define: (command) =>
    command
      .option("--seconds <number>", "how long to look at each page", whole, 15)
      .option("--rate <number>", "changes a second, each with the run of an observer", whole, 1_000),
  measure,
  describe: (all) => [
    table(
      [
        "page",
        ...["frames", "p50 ms", "p99 ms", "max ms", "long tasks", "longest ms", "heap MB", "commits/s"].map(
          right,
        ),
      ],
      all.map(({ name, count, p50Ms, p99Ms, maxMs, longTasks, longestTaskMs, heapMb, commitsPerSecond }) => [
        name,
        ...[count, p50Ms, p99Ms, maxMs, longTasks, longestTaskMs, heapMb].map(short),
        commitsPerSecond === undefined ? "" : short(commitsPerSecond),
      ]),
    ),
  ],
  isRight: () => true,
});

async function measure({ seconds, rate }: Options): Promise<readonly Frames[]> {
  const pages = await buildPages();
  const browser = await startBrowser();
  try {
    return await withChildren(async (start) => {
      const child = start(new URL("./process.ts", import.meta.url), "The pipeline");
      const url = await child.ask<string>("open", { rate, pages: pages.path } satisfies Opening);
      const all: Frames[] = [{ name: "idle, blank", ...(await look(browser, "about:blank", seconds)) }];
      for (const view of views) {
        sayProgress(view);
        const frames = await look(browser, `${url}#/${view}`, seconds);
        const response = await fetch(new URL("api/overview", url));
        const { commitsPerSecond } = (await response.json()) as { readonly commitsPerSecond: number };
        all.push({ name: view, ...frames, commitsPerSecond });
      }
      return all;
    });
  } finally {
    await browser.close();
    await pages.remove();
  }
}

async function look(browser: Browser, url: string, seconds: number): Promise<Omit<Frames, "name">> {
  const { page, close } = await openPage(browser, url);
  try {
    await pause(warmUpMs);
    return await framesOf(page, seconds);
  } finally {
    await close();
  }
}

async function framesOf(page: Page, seconds: number): Promise<Omit<Frames, "name">> {
  const { intervals, tasks, heap } = JSON.parse(
    (await page.evaluate(collect(seconds * 1_000))) as string,
  ) as {
    readonly intervals: number[];
    readonly tasks: number[];
    readonly heap: number;
  };
  const sorted = intervals.sort((a, b) => a - b);
  return {
    count: sorted.length,
    p50Ms: quantile(sorted, 0.5),
    p99Ms: quantile(sorted, 0.99),
    maxMs: sorted.at(-1) ?? 0,
    longTasks: tasks.length,
    longestTaskMs: Math.max(0, ...tasks),
    heapMb: heap / 1e6,
  };
}
