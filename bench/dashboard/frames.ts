import type { Page } from "playwright-core";
import { quantile } from "../statistics.js";

/** How evenly a page was drawn. */
export interface Frames {
  readonly count: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** Stretches of more than 50 ms in which the page could not answer. */
  readonly longTasks: number;
  readonly maxTaskMs: number;
  readonly heapMb: number;
}

/** Runs in the page: collects the times between frames, and long tasks. */
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

/** Looks at a page for some seconds. */
export async function framesOf(page: Page, seconds: number): Promise<Frames> {
  const said = (await page.evaluate(collect(seconds * 1_000))) as string;
  const { intervals, tasks, heap } = JSON.parse(said) as {
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
    maxTaskMs: Math.max(0, ...tasks),
    heapMb: heap / 1e6,
  };
}
