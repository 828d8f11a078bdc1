import { lineChart } from "../figures/chart.js";
import type { Figure } from "../figures/figure.js";
import { mean, percent, right, short, table, whole } from "../harness/words.js";

/** The runs that committed in one interval. */
export interface Sample {
  /** The end of the interval, in seconds since the beginning. */
  readonly at: number;
  /** Runs a second. */
  readonly rate: number;
}

export interface Mark {
  readonly at: number;
  readonly text: string;
}

/** Mean rates, in runs a second. */
export interface Phases {
  readonly before: number;
  /** From the kill to the replacement. */
  readonly during: number;
  /**
   * The second half of the time after the replacement. In the first half, the new workers start.
   */
  readonly after: number;
}

export interface RecoveryResult extends Phases {
  readonly workers: number;
  readonly concurrency: number;
  readonly work: number;
  readonly phase: number;
  readonly changes: number;
  /** Changes that were lost or handled twice. */
  readonly wrong: number;
  /** The problems that `check` found, and changes that were still due or parked at the end. */
  readonly problems: number;
  readonly marks: readonly Mark[];
  readonly samples: readonly Sample[];
}

/**
 * Returns the mean rate of each phase. The first of the marks is the kill, and the second is the
 * replacement. Throws if a phase has no sample.
 */
export function phasesOf(samples: readonly Sample[], marks: readonly Mark[]): Phases {
  const [killed, replaced] = marks.map(({ at }) => at) as [number, number];
  const end = samples.at(-1)?.at ?? 0;
  const rate = (from: number, to: number) => {
    const rates = samples.filter(({ at }) => at > from && at <= to).map((sample) => sample.rate);
    if (rates.length === 0) throw new RangeError(`There is no sample from ${from} to ${to} s.`);
    return mean(rates);
  };
  return {
    before: rate(0, killed),
    during: rate(killed, replaced),
    after: rate((replaced + end) / 2, end),
  };
}

export const recovery: Figure = {
  name: "recovery",
  about: "a third of the workers killed under load, and replaced (figure 10)",
  measurements: [
    {
      name: "bigtable",
      script: "recovery",
      args: { small: ["--phase", "6"], full: ["--phase", "60"] },
      minutes: { small: 4, full: 15 },
    },
  ],
  draw(results) {
    const found = results.get<RecoveryResult>("bigtable")!;
    const { workers, samples, marks } = found;
    const alt = `Runs committed each second while a third of ${workers} workers is killed and replaced`;
    const svg = lineChart({
      title: alt,
      description: `Runs of observers committed in each second, over time. Marked: ${marks.map(({ text }) => text).join("; ")}.`,
      across: { name: "seconds" },
      up: { name: "runs a second" },
      lines: [{ name: "runs", points: samples.map(({ at, rate }) => ({ x: at, y: rate })), plain: true }],
      events: marks.map(({ at, text }) => ({ x: at, name: text })),
      height: 360,
    });
    return { tables: describeRecovery(found), plots: [{ name: "recovery", alt, svg }] };
  },
};

export function describeRecovery(result: RecoveryResult): readonly string[] {
  const { workers, before, during, after, changes, wrong, problems } = result;
  const row = (what: string, rate: number) => [what, short(rate), percent(rate / before)];
  const rates = table(
    ["", right("runs/s, mean"), right("of the rate before the kill")],
    [
      row(`${workers} workers, before the kill`, before),
      row("from the kill to the replacement", during),
      row("in the second half after the replacement", after),
    ],
  );
  return [
    rates,
    `${whole(changes)} changes; lost or handled twice: ${wrong}; problems that \`check\` found: ${problems}.`,
  ];
}
