import { z } from "zod";
import { barChart } from "../chart/bars.js";
import type { Drawing, Figure, Plot } from "../figure.js";
import { duration, range, ratio, right, short, table, verdict, whole } from "../words.js";

const spread = z.object({ median: z.number(), low: z.number(), high: z.number() });

const killSchema = z.object({
  killed: z.string(),
  seconds: z.number(),
  stuckJobs: z.number(),
  afterSeconds: z.number(),
  wrong: z.number(),
  unlocked: z.object({ seconds: z.number(), wrong: z.number() }).optional(),
});

const sideSchema = z.object({
  pagesPerSecond: spread,
  cpuSeconds: z.number().optional(),
  memoryMiB: z.number().optional(),
  perSecond: z.number(),
  delayMs: z.object({ p5: z.number(), p50: z.number(), p95: z.number() }),
  flushMs: z.number(),
  beyondFlushesMs: spread,
  afterKill: z.array(killSchema),
  wrong: z.number(),
});

const schema = z.object({
  configuration: z.object({ postgres: z.string(), graphileWorker: z.string() }),
  pages: z.number(),
  percolator: sideSchema,
  postgres: sideSchema,
  rebuild: z.object({ seconds: z.number(), pagesPerSecond: z.number() }),
  ratio: spread,
  floor: z.number().optional(),
  ceilingMs: z.number().optional(),
});

type Peer = z.output<typeof schema>;
type Side = z.output<typeof sideSchema>;

export const peer: Figure = {
  name: "peer",
  about: "the web index beside PostgreSQL with graphile-worker, and beside building it anew",
  measurements: [
    {
      name: "postgres",
      script: "peer",
      archives: "all",
      args: { small: ["--quick"], full: [] },
      minutes: { small: 8, full: 90 },
    },
    {
      name: "each",
      script: "peer",
      archives: "all",
      args: { small: ["--quick", "--batch", "1"], full: ["--batch", "1"] },
      minutes: { small: 10, full: 120 },
    },
  ],
  draw(results): Drawing {
    const found = results.get("postgres", schema);
    if (found === undefined) return { tables: [], plots: [] };
    const { postgres, graphileWorker } = found.configuration;
    const versions = `${whole(found.pages)} pages; PostgreSQL ${postgres}, graphile-worker ${graphileWorker}.`;
    const each = results.get("each", schema);
    const ofEach =
      each === undefined
        ? []
        : [
            "With each change a job of its own, as observers are run:",
            sides(each),
            verdicts(each),
            kills(each),
          ];
    return {
      tables: [versions, sides(found), verdicts(found), kills(found), ...ofEach],
      plots: [rates(found), delays(found)],
    };
  },
};

const named = ({ percolator, postgres }: Peer): readonly (readonly [string, Side])[] => [
  ["percolatordb", percolator],
  ["PostgreSQL", postgres],
];

function sides(found: Peer): string {
  const rows = named(found).map(([name, side]) => [
    name,
    short(side.pagesPerSecond.median),
    range(side.pagesPerSecond, short),
    side.cpuSeconds === undefined ? "" : short(side.cpuSeconds),
    side.memoryMiB === undefined ? "" : whole(side.memoryMiB),
    short(side.perSecond),
    [side.delayMs.p5, side.delayMs.p50, side.delayMs.p95].map(duration).join(", "),
    duration(side.beyondFlushesMs.median),
    whole(side.wrong),
  ]);
  const { seconds, pagesPerSecond } = found.rebuild;
  rows.push([
    "built anew, no database",
    short(pagesPerSecond),
    `${short(seconds)} s in all`,
    "",
    "",
    "",
    "",
    "",
    "",
  ]);
  const columns = [
    "",
    right("pages/s"),
    "quartiles",
    right("CPU seconds"),
    right("MiB"),
    right("paced at, pages/s"),
  ];
  return table(
    [...columns, right("delay p5, p50, p95"), right("p50 beyond flushes"), right("wrong cells")],
    rows,
  );
}

function verdicts({ ratio: of, floor, ceilingMs, percolator }: Peer): string {
  const rows: string[][] = [
    [
      "pages/s, percolatordb by PostgreSQL",
      ratio(of.median),
      range(of, ratio),
      floor === undefined ? "" : verdict(of.median >= floor, `at least ${floor}`),
    ],
    [
      "median delay beyond the flushes",
      duration(percolator.beyondFlushesMs.median),
      range(percolator.beyondFlushesMs, duration),
      ceilingMs === undefined
        ? ""
        : verdict(percolator.beyondFlushesMs.median <= ceilingMs, `at most ${ceilingMs} ms`),
    ],
  ];
  return table(["", right("median"), "quartiles", "wanted"], rows);
}

function kills(found: Peer): string {
  const rows = named(found).flatMap(([name, { afterKill }]) =>
    afterKill.map(({ killed, seconds, stuckJobs, afterSeconds, wrong, unlocked }) => [
      name,
      name === "PostgreSQL" && killed === "all processes" ? "all processes but the server" : killed,
      `${short(seconds)} s`,
      stuckJobs === 0 ? "0" : `${whole(stuckJobs)} after ${short(afterSeconds)} s`,
      whole(wrong),
      unlocked === undefined ? "" : `${whole(unlocked.wrong)} wrong, ${short(unlocked.seconds)} s later`,
    ]),
  );
  const columns = [
    "",
    "killed (`SIGKILL`)",
    right("until nothing was done any more"),
    right("work that nobody did"),
  ];
  return table([...columns, right("wrong cells then"), "when it was unlocked by hand"], rows);
}

function rates(found: Peer): Plot {
  const title = "The web index: pages a second";
  const svg = barChart({
    title,
    description:
      "Pages loaded and indexed each second by percolatordb, by PostgreSQL with graphile-worker, and by building the same index from scratch with no database.",
    axis: "pages a second",
    series: ["pages"],
    groups: [
      ...named(found).map(
        ([
          name,
          {
            pagesPerSecond: { median, low, high },
          },
        ]) => ({
          name: name === "PostgreSQL" ? "PostgreSQL and graphile-worker" : name,
          bars: [{ value: median, low, high, text: short(median) }],
        }),
      ),
      {
        name: "built anew, no database",
        bars: [{ value: found.rebuild.pagesPerSecond, text: short(found.rebuild.pagesPerSecond) }],
      },
    ],
  });
  return { name: "peer", alt: title, svg };
}

function delays(found: Peer): Plot {
  const title = "The web index: from a page's coming to its being found";
  const svg = barChart({
    title,
    description:
      "Delay from when a page was due to the commit from which a search finds it, 5th, 50th and 95th percentile; the axis is logarithmic.",
    axis: "ms",
    kind: "log",
    series: ["p5", "p50", "p95"],
    groups: named(found).map(
      ([
        name,
        {
          delayMs: { p5, p50, p95 },
        },
      ]) => ({
        name,
        bars: [p5, p50, p95].map((value) => ({ value, text: duration(value) })),
      }),
    ),
  });
  return { name: "peer-delay", alt: title, svg };
}
