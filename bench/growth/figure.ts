import { lineChart } from "../figures/chart.js";
import type { Figure, Plot } from "../figures/figure.js";
import { duration, ratio, right, short, table, verdict, whole } from "../harness/words.js";
import type { SiteShape } from "./site.js";

/** What one step of a load cost. Processor times are of all threads, in milliseconds a page. */
export interface Step {
  /** Pages in the index before the step, and after it. */
  readonly from: number;
  readonly to: number;
  readonly cpuMs: number;
  /** The part that plain functions take to read a page: its text, words and links. */
  readonly ownMs: number;
  /** Runs of observers that committed, for a page. */
  readonly runs: number;
  /** MiB that LMDB wrote for a page. */
  readonly writtenMiB: number;
}

export interface GrowthResult {
  readonly options: SiteShape & { readonly step: number };
  readonly steps: readonly Step[];
  /** Cells that differ from the twin's, and other problems. */
  readonly wrong: number;
  readonly problems: readonly string[];
}

/**
 * The cost of a page must stay flat: the last step costs at most this many times what the second
 * one costs. The first warms up. Neighbouring steps differ by up to a fifth by chance.
 */
const maxGrowth = 1.25;

const restOf = ({ cpuMs, ownMs }: Step) => cpuMs - ownMs;

export const growth: Figure = {
  name: "growth",
  about: "what a page costs the web index while the index grows",
  measurements: [
    {
      name: "lmdb",
      script: "growth",
      args: { small: ["--pages", "1200", "--step", "300"], full: [] },
      minutes: { small: 5, full: 30 },
    },
  ],
  draw(results) {
    const found = results.get<GrowthResult>("lmdb")!;
    return { tables: describeGrowth(found), plots: [plot(found)] };
  },
};

export function describeGrowth({ options, steps, wrong, problems }: GrowthResult): readonly string[] {
  const { pages, links, words, window } = options;
  const base = steps[1] ?? steps[0]!;
  const rows = steps.map((step) => [
    `${whole(step.from)} to ${whole(step.to)}`,
    duration(step.cpuMs),
    duration(step.ownMs),
    duration(restOf(step)),
    ratio(restOf(step) / restOf(base)),
    short(step.runs),
    short(step.writtenMiB),
  ]);
  const growthOf = restOf(steps.at(-1)!) / restOf(base);
  return [
    `${whole(pages)} made pages with ${whole(words)} words and ${whole(links)} links each, to the ${whole(window)} pages before them; wrong in the end: ${whole(wrong)}.`,
    table(
      [
        "pages",
        right("CPU time a page"),
        right("of it, reading the page"),
        right("the rest"),
        right("the rest, divided by that of the second step"),
        right("runs a page"),
        right("MiB written a page"),
      ],
      rows,
    ),
    verdict(growthOf <= maxGrowth, `flat: the last step at most ${maxGrowth} times the second`),
    ...problems,
  ];
}

function plot({ steps }: GrowthResult): Plot {
  const alt = "Processor time of a page while the index grows";
  const line = (name: string, of: (step: Step) => number) => ({
    name,
    points: steps.map((step) => ({ x: step.to, y: of(step) })),
  });
  const svg = lineChart({
    title: alt,
    description:
      "Milliseconds of processor time that a page costs the web index, and that plain functions take to read it, over the number of pages in the index.",
    across: { name: "pages in the index" },
    up: { name: "ms a page" },
    lines: [
      line("the web index", ({ cpuMs }) => cpuMs),
      line("reading the page alone", ({ ownMs }) => ownMs),
    ],
  });
  return { name: "growth", alt, svg };
}
