/** The index built from scratch in memory, by plain functions without a database: the least that there is to be done. */
import { packContents } from "../../examples/webindex/contents.js";
import { BatchIndex } from "../../examples/webindex/twin/batch.js";
import { openSources } from "./pages.js";
import { serve } from "./serve.js";

export interface Rebuilt {
  readonly pages: number;
  readonly seconds: number;
  readonly rows: number;
}

serve({
  async rebuild(paths: readonly string[]): Promise<Rebuilt> {
    const started = performance.now();
    const contents = new Map<string, Uint8Array>();
    for (const source of await openSources(paths)) {
      for await (const item of source.items()) {
        if (item.kind === "page") contents.set(item.url, packContents(item));
        if (item.kind === "gone") contents.delete(item.url);
      }
    }
    const index = new BatchIndex();
    for (const [url, packed] of contents) index.add(url, packed);
    let rows = 0;
    for (const table of Object.values(index.build())) for (const _ of table) rows++;
    return { pages: contents.size, seconds: (performance.now() - started) / 1_000, rows };
  },
  close: () => undefined,
});
