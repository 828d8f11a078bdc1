import { z } from "zod";
import { chartOf } from "../../recovery/chart.js";
import type { Drawing, Figure } from "../figure.js";
import { percent, right, short, table } from "../words.js";

const schema = z.object({
  workers: z.number(),
  before: z.number(),
  during: z.number(),
  after: z.number(),
  marks: z.array(z.object({ at: z.number(), text: z.string() })),
  samples: z.array(z.object({ at: z.number(), rate: z.number() })),
  changes: z.number().optional(),
  wrong: z.number().optional(),
  problems: z.number().optional(),
});

export const recovery: Figure = {
  name: "recovery",
  about: "a third of the workers killed under load, and replaced (figure 10)",
  measurements: [
    {
      name: "bigtable",
      script: "recovery",
      args: { small: ["--phase", "10"], full: ["--phase", "60"] },
      minutes: { small: 4, full: 15 },
      unused: { "--svg": "recovery.svg" },
    },
  ],
  draw(results): Drawing {
    const found = results.get("bigtable", schema);
    if (found === undefined) return { tables: [], plots: [] };
    const { workers, before, during, after, changes, wrong, problems, samples, marks } = found;
    const row = (what: string, rate: number) => [what, short(rate), percent(rate / before)];
    const rates = table(
      ["", right("runs/s, mean"), right("of before")],
      [
        row(`${workers} workers, before the kill`, before),
        row("from the kill to the replacement", during),
        row("in the second half after the replacement", after),
      ],
    );
    const lost =
      changes === undefined
        ? []
        : [
            `${changes.toLocaleString("en")} changes; lost or handled twice: ${wrong ?? "-"}; problems that \`check\` found: ${problems ?? "-"}.`,
          ];
    const alt = `Runs committed each second while a third of ${workers} workers is killed and replaced`;
    return {
      tables: [rates, ...lost],
      plots: [{ name: "recovery", alt, svg: chartOf(samples, marks, alt) }],
    };
  },
};
