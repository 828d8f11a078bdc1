import { z } from "zod";
import { lineChart } from "../chart/lines.js";
import { timeText } from "../chart/numbers.js";
import type { Drawing, Figure, Plot } from "../figure.js";
import { percent, ratio, right, short, table, whole } from "../words.js";

const costSchema = z.object({ seconds: z.number(), cpuSeconds: z.number() });

const indexSchema = costSchema.extend({
  added: z.number(),
  changed: z.number(),
  deleted: z.number(),
  runs: z.number(),
  commits: z.number(),
  wrong: z.number(),
});

const crawlSchema = z.object({
  name: z.string(),
  pages: z.number(),
  update: indexSchema,
  load: indexSchema,
  rebuild: costSchema,
});

const schema = z.object({
  first: z.object({ name: z.string(), pages: z.number(), load: indexSchema }),
  crawls: z.array(crawlSchema),
});

type Recrawl = z.output<typeof schema>;
type Crawl = z.output<typeof crawlSchema>;

export const recrawl: Figure = {
  name: "recrawl",
  about: "the web index brought up to date with a crawl, beside a load of all of it and a rebuild in memory",
  measurements: [
    {
      name: "made",
      script: "recrawl",
      args: { small: ["--changes", "1,10,50"], full: ["--changes", "1,2,5,10,25,50,100"] },
      minutes: { small: 6, full: 60 },
    },
    {
      name: "archives",
      script: "recrawl",
      archives: "all",
      minArchives: 2,
      args: { small: [], full: [] },
      minutes: { small: 30, full: 60 },
    },
  ],
  draw(results): Drawing {
    const made = results.get("made", schema);
    const archived = results.get("archives", schema);
    return {
      tables: [
        ...(made === undefined ? [] : [costs(made), work(made)]),
        ...(archived === undefined
          ? []
          : ["Crawls of a site as an archive has them:", costs(archived), work(archived)]),
      ],
      plots: made === undefined ? [] : [plot(made.crawls)],
    };
  },
};

/** The part of the pages that a crawl changed. */
function shareChanged({ pages, update: { added, changed, deleted } }: Crawl): number {
  return (added + changed + deleted) / Math.max(1, pages + deleted);
}

function costs({ first, crawls }: Recrawl): string {
  const show = (cost: z.output<typeof costSchema>) => `${short(cost.seconds)} (${short(cost.cpuSeconds)})`;
  const rows = crawls.map((crawl) => [
    crawl.name,
    whole(crawl.pages),
    percent(shareChanged(crawl)),
    show(crawl.update),
    show(crawl.load),
    show(crawl.rebuild),
    ratio(crawl.update.seconds / crawl.load.seconds),
    ratio(crawl.update.seconds / crawl.rebuild.seconds),
    whole(crawl.update.wrong + crawl.load.wrong),
  ]);
  rows.unshift([
    first.name,
    whole(first.pages),
    "",
    "",
    show(first.load),
    "",
    "",
    "",
    whole(first.load.wrong),
  ]);
  const columns = [
    "crawl",
    right("pages"),
    right("of them changed"),
    right("brought up to date, s (CPU s)"),
    right("all of it loaded, s (CPU s)"),
  ];
  return table(
    [
      ...columns,
      right("rebuilt in memory, s (CPU s)"),
      right("of the load"),
      right("of the rebuild"),
      right("wrong cells"),
    ],
    rows,
  );
}

/** What the observers did for each page that changed. */
function work({ crawls }: Recrawl): string {
  const rows = crawls.map(({ name, update: { added, changed, deleted, runs, commits } }) => {
    const documents = Math.max(1, added + changed + deleted);
    return [
      name,
      whole(added),
      whole(changed),
      whole(deleted),
      short(runs / documents),
      short(commits / documents),
    ];
  });
  const columns = ["crawl", right("added"), right("changed"), right("deleted")];
  return table([...columns, right("runs a changed page"), right("commits a changed page")], rows);
}

function plot(crawls: readonly Crawl[]): Plot {
  const points = (of: (crawl: Crawl) => number) =>
    crawls
      .map((crawl) => ({ x: 100 * shareChanged(crawl), y: of(crawl) * 1_000 }))
      .filter(({ x }) => x > 0)
      .sort((a, b) => a.x - b.x);
  const title = "The next crawl of the web index, by how much of it changed";
  const svg = lineChart({
    title,
    description:
      "Time to bring the web index up to date with a crawl, beside the time to load all of that crawl into an empty database and to rebuild the index in memory with no database, against the percentage of the pages that changed. Both axes are logarithmic.",
    across: { name: "of the pages changed", kind: "log", show: (value) => `${value} %` },
    up: { name: "time", kind: "log", show: timeText },
    lines: [
      { name: "brought up to date", points: points(({ update }) => update.seconds) },
      { name: "all of it loaded", points: points(({ load }) => load.seconds) },
      { name: "rebuilt in memory, no database", points: points(({ rebuild }) => rebuild.seconds) },
    ],
  });
  return { name: "recrawl", alt: title, svg };
}
