import { z } from "zod";
import { lineChart } from "../chart/lines.js";
import type { Drawing, Figure } from "../figure.js";
import { right, short, table, whole } from "../words.js";

const trendSchema = z.object({
  start: z.number(),
  median: z.number(),
  end: z.number(),
  most: z.number(),
  perMinute: z.number(),
});

const schema = z.object({
  perSecond: z.number(),
  collections: z.number(),
  wrong: z.number(),
  trends: z.record(z.string(), trendSchema),
  samples: z.array(
    z.object({ at: z.number(), resident: z.number(), anonymous: z.number().optional(), heap: z.number() }),
  ),
});

const mebibyte = 2 ** 20;
const shown: Readonly<Record<string, string>> = {
  anonymous: "anonymous: heap, buffers, stacks",
  heap: "of it, heap in use",
  external: "of it, buffers outside of the heap",
  resident: "resident, with the mapped pages of the file",
};

export const memory: Figure = {
  name: "memory",
  about: "memory of a database under constant updates, with observers and collection, over time",
  measurements: [
    {
      name: "lmdb",
      script: "memory",
      args: { small: ["--seconds", "40", "--warm-up", "10"], full: ["--seconds", "600", "--warm-up", "60"] },
      minutes: { small: 3, full: 15 },
    },
  ],
  draw(results): Drawing {
    const found = results.get("lmdb", schema);
    if (found === undefined) return { tables: [], plots: [] };
    const { perSecond, collections, wrong, trends, samples } = found;
    const rows = Object.entries(trends).map(([kind, { start, median, end, most, perMinute }]) => [
      shown[kind] ?? kind,
      ...[start, median, end, most].map(short),
      `${perMinute > 0 ? "+" : ""}${short(perMinute)}`,
    ]);
    const columns = ["MiB", right("start"), right("median"), right("end"), right("most"), right("a minute")];
    const load = `${whole(perSecond)} updates/s, each with the run of an observer; ${whole(collections)} collections meanwhile; rows wrong in the end: ${whole(wrong)}.`;
    const title = "Memory under constant updates";
    const svg = lineChart({
      title,
      description:
        "Memory of the process that keeps the database, in mebibytes, over the seconds of a constant load of updates with an observer, with collection running.",
      across: { name: "seconds" },
      up: { name: "MiB" },
      lines: [
        {
          name: "anonymous",
          plain: true,
          points: samples.flatMap(({ at, anonymous }) =>
            anonymous === undefined ? [] : [{ x: at, y: anonymous / mebibyte }],
          ),
        },
        {
          name: "heap in use",
          plain: true,
          points: samples.map(({ at, heap }) => ({ x: at, y: heap / mebibyte })),
        },
      ],
    });
    return { tables: [load, table(columns, rows)], plots: [{ name: "memory", alt: title, svg }] };
  },
};
