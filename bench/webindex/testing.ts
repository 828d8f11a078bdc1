import type { Page, SourceItem, Unchanged } from "../../examples/webindex/sources/index.js";

const at = { file: "crawl", offset: 0, position: 0, total: 0, digest: undefined, at: 0 };

export const urlOf = (name: string) => `https://example.org/${name}`;

export function page(name: string, text: string): Page {
  return { ...at, kind: "page", url: urlOf(name), contentType: "text/plain", body: Buffer.from(text) };
}

/** A revisit: the page equals another one, or its own earlier version. */
export function revisit(name: string, refersTo: string): Unchanged {
  return { ...at, kind: "unchanged", url: urlOf(name), refersTo: urlOf(refersTo) };
}

export function gone(name: string): SourceItem {
  return { ...at, kind: "gone", url: urlOf(name), status: 404 };
}
