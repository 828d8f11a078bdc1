import { createHash } from "node:crypto";
import { basename } from "node:path";
import type { Page, Source, SourceItem } from "../../examples/webindex/sources/index.js";
import { readItems, sourceOf } from "../webindex/sources.js";

/**
 * Successive crawls: from archives or, if none is given, generated from the documentation in
 * `node_modules`.
 */
export interface CrawlPlan {
  readonly archives: readonly string[];
  /** The percentages of pages that change from one generated crawl to the next. */
  readonly changes: readonly number[];
}

/** One crawl, in memory, so that reading it takes no time later. */
export interface Crawl {
  readonly name: string;
  /**
   * The crawled pages as an archive. A page that an archive does not contain does not count as
   * gone.
   */
  readonly source: Source;
  /** Every page that exists after it, with its body. */
  readonly whole: Source;
  /** Every page that existed before it, without those that it adds or changes. */
  readonly rest: Source;
  readonly pages: number;
}

/** Returns how many crawls follow the first. */
export function laterCrawls({ archives, changes }: CrawlPlan): number {
  return archives.length === 0 ? changes.length : archives.length - 1;
}

/** Reads or generates the crawl with that number. The first is 0. */
export async function readCrawl(plan: CrawlPlan, number: number): Promise<Crawl> {
  const state = new Map<string, Page>();
  let name = "";
  let items: readonly SourceItem[] = [];
  let rest: readonly Page[] = [];
  for (let each = 0; each <= number; each++) {
    [name, items] = await itemsOf(plan, state, each);
    const before = new Map(state);
    for (const item of items) apply(state, item);
    rest = [...before.values()].filter((page) => isSame(page, state.get(page.url)));
  }
  const live = [...state.values()];
  return {
    name,
    source: sourceOf(name, items),
    whole: sourceOf(`${name}, whole`, live),
    rest: sourceOf(`${name}, rest`, rest),
    pages: live.length,
  };
}

async function itemsOf(
  { archives, changes }: CrawlPlan,
  state: ReadonlyMap<string, Page>,
  number: number,
): Promise<readonly [name: string, items: readonly SourceItem[]]> {
  const archive = archives[number];
  if (archive !== undefined) return [basename(archive), await readItems([archive])];
  if (number === 0) return ["node_modules", await readItems([])];
  const percent = changes[number - 1]!;
  const pages = [...state.values()].map((page) =>
    isChosen(page.url, number, percent) ? changed(page, number) : page,
  );
  return [`${percent} % changed`, pages];
}

/**
 * Applies an item to the state. A page can be unchanged because its body is that of another page.
 */
function apply(state: Map<string, Page>, item: SourceItem): void {
  if (item.kind === "gone") state.delete(item.url);
  if (item.kind === "page") state.set(item.url, item);
  if (item.kind !== "unchanged" || item.refersTo === item.url) return;
  const same = state.get(item.refersTo);
  if (same !== undefined) state.set(item.url, { ...same, url: item.url });
}

/** Whether a crawl left a page as it was, or removed it. */
function isSame(before: Page, after: Page | undefined): boolean {
  return after === undefined || Buffer.compare(before.body, after.body) === 0;
}

/** Whether a crawl that changes `percent` of all pages changes this one. Always the same answer. */
function isChosen(url: string, number: number, percent: number): boolean {
  const place = createHash("sha256").update(`${number} ${url}`).digest().readUInt32BE(0);
  return place < (percent / 100) * 2 ** 32;
}

/** Returns the page with another paragraph at its end, of words that no other crawl has. */
function changed(page: Page, number: number): Page {
  const added = Buffer.from(`\n\nRevised in edition${number} of this page.\n`);
  return { ...page, body: Buffer.concat([page.body, added]), digest: undefined, payloadDigests: undefined };
}
