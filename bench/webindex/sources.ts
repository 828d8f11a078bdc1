import { packContents } from "../../examples/webindex/contents.js";
import {
  openDefaultSource,
  openSource,
  type Page,
  type Source,
  type SourceItem,
} from "../../examples/webindex/sources/index.js";
import { urlFitsKey } from "../../examples/webindex/text/index.js";

/** Child processes inherit the limit. */
const limitVariable = "PERCOLATORDB_BENCH_PAGES";

/** From now on, this process and those that it starts read at most so many pages of each source. */
export function limitPages(most: number): void {
  process.env[limitVariable] = String(most);
}

/**
 * The web archives or folders at these paths, or else the documentation of the packages in
 * `node_modules`.
 */
export async function openSources(paths: readonly string[]): Promise<Source[]> {
  const sources =
    paths.length === 0
      ? [await openDefaultSource(process.cwd())]
      : await Promise.all(paths.map((path) => openSource(path)));
  const most = process.env[limitVariable];
  return most === undefined ? sources : sources.map((source) => firstPages(source, Number(most)));
}

/** Reads all items of several sources, one source after another. */
export async function readItems(paths: readonly string[]): Promise<SourceItem[]> {
  const items: SourceItem[] = [];
  for (const source of await openSources(paths)) for await (const item of source.items()) items.push(item);
  return items;
}

/**
 * Reads the first pages of sources into memory, each URL once, so that reading them takes no time
 * later.
 */
export async function readPages(paths: readonly string[], max: number): Promise<Page[]> {
  const pages = new Map<string, Page>();
  for (const source of await openSources(paths)) {
    for await (const item of source.items()) {
      if (pages.size >= max) return [...pages.values()];
      if (item.kind === "page" && !pages.has(item.url)) pages.set(item.url, item);
    }
  }
  return [...pages.values()];
}

/**
 * The first pages of a source, as an archive: pages that it does not contain are not considered
 * gone.
 */
export function firstPages(source: Source, max: number): Source {
  return {
    ...source,
    scope: undefined,
    async *items(signal) {
      let count = 0;
      for await (const item of source.items(signal)) {
        yield item;
        if (item.kind === "page" && ++count === max) return;
      }
    },
  };
}

/** Items in memory, as an archive. */
export function sourceOf(path: string, items: Iterable<SourceItem>): Source {
  return {
    kind: "archive",
    path,
    scope: undefined,
    async *items() {
      yield* items;
    },
  };
}

/**
 * Returns the contents by URL after all sources, and how many pages were read, counted as every
 * loader counts them.
 */
export async function readContents(
  sources: readonly Source[],
): Promise<{ readonly contents: ReadonlyMap<string, Uint8Array>; readonly pages: number }> {
  const contents = new Map<string, Uint8Array>();
  let pages = 0;
  for (const source of sources) {
    for await (const item of source.items()) {
      if (item.kind === "problem" || item.kind === "skipped") continue;
      if (item.kind !== "gone") pages++;
      if (!urlFitsKey(item.url)) continue;
      if (item.kind === "gone") contents.delete(item.url);
      else {
        const packed = item.kind === "page" ? packContents(item) : contents.get(item.refersTo);
        if (packed !== undefined) contents.set(item.url, packed);
      }
    }
  }
  return { contents, pages };
}
