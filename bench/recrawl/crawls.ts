import { createHash } from "node:crypto";
import { basename } from "node:path";
import type { Page, Source, SourceItem } from "../../examples/webindex/sources/index.js";
import { openSources } from "../postgres/pages.js";

/** Crawls that follow one another: archives, or, where none is named, ones made of the documentation in `node_modules`. */
export interface CrawlPlan {
  readonly archives: readonly string[];
  /** Percent of the pages that change from one made crawl to the next. */
  readonly changes: readonly number[];
}

/** One crawl, in memory, so that reading it takes no time later. */
export interface Crawl {
  readonly name: string;
  /** What it brings: as an archive, so that nothing is said about pages that it does not name. */
  readonly source: Source;
  /** Every page that there is after it, bodies and all. */
  readonly whole: Source;
  readonly pages: number;
}

/** How many crawls follow the first. */
export function laterCrawls({ archives, changes }: CrawlPlan): number {
  return archives.length === 0 ? changes.length : archives.length - 1;
}

/** Reads, or makes, the crawl of that number; the first is 0. */
export async function readCrawl(plan: CrawlPlan, number: number): Promise<Crawl> {
  const state = new Map<string, Page>();
  let name = "";
  let items: SourceItem[] = [];
  for (let each = 0; each <= number; each++) {
    [name, items] =
      plan.archives.length === 0 ? await made(plan, state, each) : await read(plan.archives[each]!);
    for (const item of items) apply(state, item);
  }
  const live = [...state.values()];
  return { name, source: sourceOf(name, items), whole: sourceOf(`${name}, whole`, live), pages: live.length };
}

async function read(path: string): Promise<[string, SourceItem[]]> {
  const items: SourceItem[] = [];
  for (const source of await openSources([path])) for await (const item of source.items()) items.push(item);
  return [basename(path), items];
}

/** What stands after an item. An unchanged page has another's body where the crawler recognised that. */
function apply(state: Map<string, Page>, item: SourceItem): void {
  if (item.kind === "gone") state.delete(item.url);
  if (item.kind === "page") state.set(item.url, item);
  if (item.kind !== "unchanged" || item.refersTo === item.url) return;
  const same = state.get(item.refersTo);
  if (same !== undefined) state.set(item.url, { ...same, url: item.url });
}

async function made(
  { changes }: CrawlPlan,
  state: ReadonlyMap<string, Page>,
  number: number,
): Promise<[string, SourceItem[]]> {
  if (number === 0) {
    const items: SourceItem[] = [];
    for (const source of await openSources([])) for await (const item of source.items()) items.push(item);
    return ["node_modules", items];
  }
  const percent = changes[number - 1]!;
  const pages = [...state.values()].map((page) =>
    isChosen(page.url, number, percent) ? changed(page, number) : page,
  );
  return [`${percent} % changed`, pages];
}

/** Whether a page is among so many percent, always the same for a crawl. */
function isChosen(url: string, number: number, percent: number): boolean {
  const place = createHash("sha256").update(`${number} ${url}`).digest().readUInt32BE(0);
  return place < (percent / 100) * 2 ** 32;
}

/** The page with another paragraph at its end, of words that are the crawl's. */
export function changed(page: Page, number: number): Page {
  const added = Buffer.from(`\n\nRevised in edition${number} of this page.\n`);
  return { ...page, body: Buffer.concat([page.body, added]), digest: undefined, payloadDigests: undefined };
}

function sourceOf(path: string, items: readonly SourceItem[]): Source {
  return {
    kind: "archive",
    path,
    scope: undefined,
    async *items() {
      yield* items;
    },
  };
}
