/**
 * A process that loads one crawl into an index, or builds an index from it. Each crawl gets a new
 * process, and so a new heap.
 */
import { packContents } from "../../examples/webindex/contents.js";
import { BatchIndex } from "../../examples/webindex/twin/batch.js";
import { WebIndex } from "../../examples/webindex/webindex.js";
import { serve } from "../harness/child.js";
import { secondsSince } from "../harness/program.js";
import { committedRuns } from "../harness/requests.js";
import { cpuSeconds } from "../harness/usage.js";
import { verdictOfDatabase } from "../webindex/verdict.js";
import { type CrawlPlan, readCrawl } from "./crawls.js";
import type { Cost, IndexCost } from "./figure.js";

export interface CrawlTask {
  readonly plan: CrawlPlan;
  readonly number: number;
}

export interface IndexTask extends CrawlTask {
  readonly data: string;
  /** Which pages to load: the names are those of `Crawl`. */
  readonly pages: "source" | "whole" | "rest";
}

async function timed<T>(work: () => Promise<T>): Promise<readonly [T, Cost]> {
  const [cpu, started] = [process.cpuUsage(), performance.now()];
  const answer = await work();
  return [answer, { seconds: secondsSince(started), cpuSeconds: cpuSeconds(cpu) }];
}

serve({
  async describe({ plan, number }: CrawlTask) {
    const { name, pages } = await readCrawl(plan, number);
    return { name, pages };
  },
  async index({ plan, number, data, pages }: IndexTask): Promise<IndexCost> {
    const crawl = await readCrawl(plan, number);
    await using index = await WebIndex.open(data);
    const [report, cost] = await timed(async () => {
      const loaded = await index.load(crawl[pages]);
      await index.settle();
      return loaded;
    });
    const { commits, cellsCommitted: cells } = index.metrics;
    const runs = committedRuns(index.db);
    const { wrong, problems } = await verdictOfDatabase(index.db);
    const { added, changed, unchanged, deleted } = report;
    return { ...cost, added, changed, unchanged, deleted, runs, commits, cells, wrong, problems };
  },
  async rebuild({ plan, number }: CrawlTask): Promise<Cost> {
    const { whole } = await readCrawl(plan, number);
    const [, cost] = await timed(async () => {
      const index = new BatchIndex();
      for await (const item of whole.items())
        if (item.kind === "page") index.add(item.url, packContents(item));
      let rows = 0;
      for (const table of Object.values(index.build())) for (const _ of table) rows++;
      return rows;
    });
    return cost;
  },
});
