import { packContents } from "../../examples/webindex/contents.js";
import type { Source } from "../../examples/webindex/sources/index.js";
import { urlFitsKey } from "../../examples/webindex/text/index.js";

/** What sources leave, read one after the other, by URL; and how many pages came, counted as both sides count them. */
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
