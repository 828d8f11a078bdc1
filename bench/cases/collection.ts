import { monitorEventLoopDelay } from "node:perf_hooks";
import { open, table, text } from "percolatordb";
import { WrongResultError } from "../harness/compare.js";
import type { Bench, BenchCase, CaseFigure } from "./bench.js";

const sizes = [10_000, 100_000] as const;
const quickSizes = [2_000, 20_000] as const;

const counters = table("counters", { value: text() });

/** One cell is written repeatedly. Then all its versions except the newest are collected. */
export const collection: BenchCase = {
  name: "collection",
  about:
    "to collect the versions of one cell that was written very often, and for how long that holds others up",
  async run(bench) {
    const figures: CaseFigure[] = [];
    const perVersion: number[] = [];
    for (const size of bench.options.quick ? quickSizes : sizes) {
      const { tookMs, pauseMs } = await measure(bench, size);
      const of = `${size.toLocaleString("en")} versions`;
      perVersion.push(tookMs / size);
      figures.push(
        { name: `${of} collected`, unit: "ms", value: tookMs },
        { name: `longest pause of the process meanwhile, ${of}`, unit: "ms", value: pauseMs },
      );
    }
    const factor = perVersion.at(-1)! / perVersion[0]!;
    figures.push({
      name: "a version of the most, by one of the fewest",
      unit: "times",
      value: factor,
      ceiling: 3,
    });
    return { comparisons: [], figures };
  },
};

async function measure(
  bench: Bench,
  size: number,
): Promise<{ readonly tookMs: number; readonly pauseMs: number }> {
  const folder = bench.newFolder(`collection-${size}`);
  await using db = await open(folder, { tables: [counters], durability: "none", collectEveryMs: 0 });
  for (let i = 0; i < size; i++) {
    if (i % 1_000 === 0) bench.say(`${i} of ${size} versions written`);
    await db.transact((tx) => tx.set(counters.value, "hot", `version ${i}`));
  }
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const began = performance.now();
  delay.enable();
  const { versionsDropped } = await db.collect({ retentionMs: 0 });
  delay.disable();
  const tookMs = performance.now() - began;
  if (versionsDropped < size - 1)
    throw new WrongResultError(`Only ${versionsDropped} of ${size} versions were dropped.`);
  return { tookMs, pauseMs: delay.max / 1e6 };
}
