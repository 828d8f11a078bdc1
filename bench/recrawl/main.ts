/** What a re-crawl costs, beside a load from nothing and a rebuild. See `npm run recrawl -- --help`. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { cpus, platform, release, tmpdir, totalmem } from "node:os";
import { dirname, join } from "node:path";
import { CommanderError } from "commander";
import { Child } from "../postgres/child.js";
import { laterCrawls } from "./crawls.js";
import { parseOptions, type RecrawlOptions } from "./options.js";
import type { CrawlTask, IndexTask } from "./process.js";
import {
  type Cost,
  describeFirst,
  describeRecrawl,
  type IndexCost,
  type Recrawl,
  type RecrawlReport,
  wrongOf,
} from "./report.js";

const say = (line: string) => process.stdout.write(`${line}\n`);

async function main(args: readonly string[]): Promise<number> {
  const options = parseOptions(args);
  const folder = mkdtempSync(join(tmpdir(), "percolatordb-recrawl-"));
  try {
    const report = await measure(options, folder);
    if (options.json !== undefined) {
      mkdirSync(dirname(options.json), { recursive: true });
      writeFileSync(options.json, `${JSON.stringify(report, undefined, 2)}\n`);
      say(`Written to ${options.json}`);
    }
    return wrongOf(report) === 0 ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measure({ archives, changes }: RecrawlOptions, folder: string): Promise<RecrawlReport> {
  const plan = { archives, changes };
  const kept = join(folder, "kept");
  const index = (number: number, data: string, whole: boolean) =>
    inProcess<IndexCost>("index", { plan, number, data, whole } satisfies IndexTask);
  const first = {
    ...(await inProcess<{ name: string; pages: number }>("describe", { plan, number: 0 })),
    load: await index(0, kept, false),
  };
  say(describeFirst(first));
  const crawls: Recrawl[] = [];
  for (let number = 1; number <= laterCrawls(plan); number++) {
    const crawl = {
      ...(await inProcess<{ name: string; pages: number }>("describe", { plan, number })),
      update: await index(number, kept, false),
      load: await index(number, join(folder, `${number}`), true),
      rebuild: await inProcess<Cost>("rebuild", { plan, number } satisfies CrawlTask),
    };
    crawls.push(crawl);
    say(describeRecrawl(crawl));
  }
  const configuration = {
    date: new Date().toISOString(),
    node: process.version,
    system: `${platform()} ${release()}`,
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    cpus: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
  };
  return { configuration, first, crawls };
}

async function inProcess<T>(method: string, task: CrawlTask | IndexTask): Promise<T> {
  const child = new Child(new URL("./process.ts", import.meta.url), "The index");
  try {
    const answer = await child.ask<T>(method, task);
    await child.stop();
    return answer;
  } finally {
    await child.kill();
  }
}

process.exitCode = await main(process.argv.slice(2)).catch((error: unknown) => {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  return 1;
});
