import { contentHash } from "../../examples/webindex/identity.js";
import type { Page, Source } from "../../examples/webindex/sources/index.js";
import { openSources } from "../webindex/sources.js";

/** Reads the first pages of web archives, or of the documentation in `node_modules`, into memory. */
export async function readAllPages(paths: readonly string[], max: number): Promise<Page[]> {
  return await firstPagesOf(await openSources(paths), max);
}

/**
 * Reads the first pages of sources. A page whose URL an earlier source has too gets a URL on another
 * host, so that two crawls of a site are as many pages as two sites. Of pages with the same body, only
 * the first is read: the web index shows one of them, and other engines show each.
 */
export async function firstPagesOf(sources: readonly Source[], max: number): Promise<Page[]> {
  const pages = new Map<string, Page>();
  const seen = new Set<string>();
  for (const [place, source] of sources.entries()) {
    for await (const item of source.items()) {
      if (pages.size >= max) return [...pages.values()];
      if (item.kind !== "page" || isRepeated(seen, contentHash(item.body))) continue;
      const url = pages.has(item.url) ? onHost(item.url, place) : item.url;
      if (!pages.has(url)) pages.set(url, { ...item, url });
    }
  }
  return [...pages.values()];
}

function isRepeated(seen: Set<string>, hash: string): boolean {
  const { size } = seen;
  return seen.add(hash).size === size;
}

function onHost(url: string, place: number): string {
  const moved = new URL(url);
  if (moved.hostname !== "") moved.hostname = `crawl-${place + 1}.${moved.hostname}`;
  return moved.href;
}
