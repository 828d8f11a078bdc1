/** The index built from scratch in memory, by plain functions without a database: the least that there is to be done. */
import { BatchIndex } from "../../examples/webindex/twin/batch.js";
import { readContents } from "./contents.js";
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
    const { contents, pages } = await readContents(await openSources(paths));
    const index = new BatchIndex();
    for (const [url, packed] of contents) index.add(url, packed);
    let rows = 0;
    for (const table of Object.values(index.build())) for (const _ of table) rows++;
    return { pages, seconds: (performance.now() - started) / 1_000, rows };
  },
  close: () => undefined,
});
