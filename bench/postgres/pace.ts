import { pageId } from "../../examples/webindex/identity.js";
import type { Page } from "../../examples/webindex/sources/index.js";

/**
 * The time of an event for a page, by page id: milliseconds on a clock that all processes share.
 */
export type Moment = readonly [id: string, at: number];

export interface PacedLoad {
  readonly paths: readonly string[];
  readonly perSecond: number;
  readonly pages: number;
}

/** Milliseconds on the system clock, finer than `Date.now`. */
export function clock(): number {
  return performance.timeOrigin + performance.now();
}

/**
 * Puts each page when it is due, whether or not earlier ones have committed, because a crawl does
 * not wait. Returns the due times. Leaves out the first tenth, during which the processes still
 * compile their code.
 */
export async function putAtPace(
  pages: readonly Page[],
  perSecond: number,
  put: (page: Page) => Promise<unknown>,
): Promise<Moment[]> {
  const due: Moment[] = [];
  const puts: Promise<unknown>[] = [];
  const start = clock();
  for (const [index, page] of pages.entries()) {
    const at = start + (index * 1_000) / perSecond;
    const wait = at - clock();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    due.push([pageId(page.url).text, at]);
    puts.push(put(page));
  }
  await Promise.all(puts);
  return due.slice(Math.floor(pages.length / 10));
}

/**
 * Returns how long each page took from its due time until it could first be found, ascending. Also
 * counts the pages that were not found themselves: duplicates, in whose place their canonical page
 * is found.
 */
export function delaysOf(
  due: readonly Moment[],
  found: readonly Moment[],
): { readonly delays: readonly number[]; readonly unfound: number } {
  const first = new Map<string, number>();
  for (const [id, at] of found) first.set(id, Math.min(at, first.get(id) ?? Number.POSITIVE_INFINITY));
  const delays = due.filter(([id]) => first.has(id)).map(([id, at]) => first.get(id)! - at);
  return { delays: delays.sort((a, b) => a - b), unfound: due.length - delays.length };
}
