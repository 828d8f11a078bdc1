import {
  openDefaultSource,
  openSource,
  type Page,
  type Source,
} from "../../examples/webindex/sources/index.js";

/** What is named, or else the documentation of the packages in `node_modules`. */
export async function openSources(paths: readonly string[]): Promise<Source[]> {
  if (paths.length === 0) return [await openDefaultSource(process.cwd())];
  return Promise.all(paths.map((path) => openSource(path)));
}

/** The first pages of sources, each URL once, in memory: so that reading them takes no time later. */
export async function readPages(paths: readonly string[], most: number): Promise<Page[]> {
  const pages = new Map<string, Page>();
  for (const source of await openSources(paths)) {
    for await (const item of source.items()) {
      if (pages.size >= most) return [...pages.values()];
      if (item.kind === "page" && !pages.has(item.url)) pages.set(item.url, item);
    }
  }
  return [...pages.values()];
}
