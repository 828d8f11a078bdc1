/** What a page costs the web index while the index grows: `npm run growth -- --help`. */
import { packContents } from "../../examples/webindex/contents.js";
import { describePage } from "../../examples/webindex/derive.js";
import type { Page } from "../../examples/webindex/sources/index.js";
import { WebIndex } from "../../examples/webindex/webindex.js";
import { type CommonOptions, runProgram, sayProgress, whole, withFolder } from "../harness/program.js";
import { committedRuns } from "../harness/requests.js";
import { cpuSeconds } from "../harness/usage.js";
import { sourceOf } from "../webindex/sources.js";
import { verdictOfDatabase } from "../webindex/verdict.js";
import { describeGrowth, type GrowthResult, type Step } from "./figure.js";
import { makePages, type SiteShape } from "./site.js";

type Options = CommonOptions & SiteShape & { readonly step: number };

await runProgram<Options, GrowthResult>({
  name: "growth",
  about: "Loads a made site into the web index, step by step, and reports what a page of each step costs.",
  examples: ["growth", "growth -- --pages 6000 --step 1000 --json growth.json"],
  wrongIf: "the index differs from the batch twin",
  define: (command) =>
    command
      .option("--pages <number>", "pages of the site", whole, 30_000)
      .option("--step <number>", "pages of a step", whole, 2_000)
      .option("--links <number>", "links of a page", whole, 60)
      .option("--window <number>", "links lead to so many pages before the page", whole, 1_000)
      .option("--words <number>", "words of a page", whole, 300),
  measure: ({ json: _, data, args: __, ...options }) =>
    withFolder("growth", (folder) => measure(folder, options), data),
  describe: describeGrowth,
  isRight: ({ wrong }) => wrong === 0,
});

async function measure(folder: string, options: Omit<Options, keyof CommonOptions>): Promise<GrowthResult> {
  await using index = await WebIndex.open(folder);
  const steps: Step[] = [];
  for (let from = 0; from < options.pages; from += options.step) {
    const to = Math.min(options.pages, from + options.step);
    sayProgress(`${from} of ${options.pages} pages`);
    const pages = makePages(options, from, to);
    const ownMs = cpuMsOf(pages, () => {
      for (const page of pages) describePage(packContents(page), page.url);
    });
    const { pagesWritten: before } = (await index.db.status()).statistics;
    const runsBefore = committedRuns(index.db);
    const began = process.cpuUsage();
    await index.load(sourceOf("made", pages));
    await index.settle();
    const cpuMs = (1_000 * cpuSeconds(began)) / pages.length;
    const { pagesWritten: after, pageBytes } = (await index.db.status()).statistics;
    const runs = (committedRuns(index.db) - runsBefore) / pages.length;
    const writtenMiB = ((after! - before!) * pageBytes!) / pages.length / 2 ** 20;
    steps.push({ from, to, cpuMs, ownMs, runs, writtenMiB });
  }
  sayProgress("comparing");
  return { options, steps, ...(await verdictOfDatabase(index.db)) };
}

function cpuMsOf(pages: readonly Page[], run: () => void): number {
  const began = process.cpuUsage();
  run();
  return (1_000 * cpuSeconds(began)) / pages.length;
}
