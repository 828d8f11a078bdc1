import type { Page } from "../../examples/webindex/sources/index.js";
import { openSources } from "../webindex/sources.js";

/**
 * Reads the first pages of sources into memory. A page whose URL an earlier source has too gets a
 * URL on another host, so that two crawls of a site are as many pages as two sites.
 */
export async function readAllPages(paths: readonly string[], max: number): Promise<Page[]> {
  const pages = new Map<string, Page>();
  for (const [place, source] of (await openSources(paths)).entries()) {
    for await (const item of source.items()) {
      if (pages.size >= max) return [...pages.values()];
      if (item.kind !== "page") continue;
      const url = pages.has(item.url) ? onHost(item.url, place) : item.url;
      if (!pages.has(url)) pages.set(url, { ...item, url });
    }
  }
  return [...pages.values()];
}

function onHost(url: string, place: number): string {
  const moved = new URL(url);
  if (moved.hostname !== "") moved.hostname = `crawl-${place + 1}.${moved.hostname}`;
  return moved.href;
}
