/** A process of `npm run disk` that keeps a web index in a folder, compressed or not. */
import { statSync } from "node:fs";
import { basename, join } from "node:path";
import { WebIndex } from "../../examples/webindex/webindex.js";
import { serve } from "../harness/child.js";
import { secondsSince } from "../harness/program.js";
import { cpuSeconds } from "../harness/usage.js";
import { firstPages, openSources } from "../webindex/sources.js";
import type { LoadedCrawl } from "./figure.js";

export interface CrawlTask {
  readonly folder: string;
  /** The web archive or the folder with the pages. */
  readonly path: string;
  /** The most pages to load. */
  readonly max: number;
  readonly concurrency: number;
}

serve({
  /** Makes compressed columns store every value as it is, which they do if DEFLATE saves nothing. */
  leavePlain() {
    process.getBuiltinModule("node:zlib").deflateRawSync = (plain) => plain as Buffer<ArrayBuffer>;
  },

  async load({ folder, path, max, concurrency }: CrawlTask): Promise<LoadedCrawl> {
    const source = firstPages((await openSources([path]))[0]!, max);
    let bodyBytes = 0;
    const [cpu, start] = [process.cpuUsage(), performance.now()];
    const index = await WebIndex.open(folder, { concurrency });
    const { pages } = await index.load(source, {
      onItem(item) {
        if (item.kind === "page") bodyBytes += item.body.length;
      },
    });
    await index.settle();
    const { statistics } = await index.db.status();
    await index.close();
    return {
      name: basename(path),
      pages,
      bodyBytes,
      seconds: secondsSince(start),
      cpuSeconds: cpuSeconds(cpu),
      transactions: statistics.writeTransactions!,
      written: statistics.pagesWritten! * statistics.pageBytes!,
      bytes: statSync(join(folder, "data.mdb")).size,
    };
  },
});
