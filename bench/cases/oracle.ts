import { withChildren } from "../harness/child.js";
import { WrongResultError } from "../harness/compare.js";
import { type BenchCase, type CaseFigure, figureOf } from "./bench.js";
import type { OracleReport, OracleTask } from "./oracle-process.js";

/** As many as are asked for at a time go in one request. */
const unlimited = 100_000;

/**
 * Client processes, how many of each wait at any time, and how many timestamps a request asks for
 * at the most.
 */
const shapes = [
  { clients: 1, callers: 1, batch: unlimited },
  { clients: 1, callers: 50, batch: unlimited },
  { clients: 1, callers: 5_000, batch: unlimited },
  { clients: 2, callers: 5_000, batch: unlimited },
  { clients: 4, callers: 2_500, batch: unlimited },
  { clients: 1, callers: 5_000, batch: 1 },
  { clients: 1, callers: 5_000, batch: 10 },
  { clients: 1, callers: 5_000, batch: 100 },
  { clients: 1, callers: 5_000, batch: 1_000 },
];
const warmUpMs = 1_000;

/**
 * Timestamps that one coordinator delivers to callers of other processes over loopback. Each is a
 * promise of its own, which a caller waits for before it asks again. All that are delivered are
 * checked: increasing in each process, and no two alike.
 */
export const oracle: BenchCase = {
  name: "oracle",
  about: "timestamps a second, from one coordinator to waiting callers in client processes",
  async run(bench) {
    const figures: CaseFigure[] = [];
    const ms = bench.options.quick ? 1_000 : 3_000;
    const rounds = bench.options.quick ? 1 : 5;
    for (const { clients, callers, batch } of shapes) {
      const name = `timestamps to ${clients} x ${callers} callers${batch === unlimited ? "" : `, ${batch} a request`}`;
      const measured: Measured[] = [];
      while (measured.length < rounds) {
        bench.say(`${name}, ${measured.length + 1} of ${rounds}`);
        measured.push(await measure(clients, { callers, batch, warmUpMs, ms }));
      }
      const { spread: _, ...share } = figureOf(
        `${name}: CPU of the coordinator`,
        "of a core",
        measured.map(({ serverShare }) => serverShare),
      );
      figures.push(
        figureOf(
          name,
          "timestamps/s",
          measured.map(({ perSecond }) => perSecond),
        ),
        // Other programs on the machine disturb this figure least.
        figureOf(
          `${name}: per second of the clients' CPU`,
          "timestamps",
          measured.map(({ perClientSecond }) => perClientSecond),
        ),
        share,
      );
    }
    return { comparisons: [], figures };
  },
};

interface Measured {
  readonly perSecond: number;
  /** Timestamps for each second of processor time that the clients took together. */
  readonly perClientSecond: number;
  /** Processor time of the coordinator over the whole run, as a share of the time. */
  readonly serverShare: number;
}

function measure(clients: number, task: Omit<OracleTask, "address">): Promise<Measured> {
  const script = new URL("./oracle-process.ts", import.meta.url);
  return withChildren(async (start) => {
    const server = start(script, "The coordinator");
    const address = await server.ask<string>("lead");
    const before = await server.ask<number>("cpuMs");
    const reports = await Promise.all(
      Array.from({ length: clients }, () =>
        start(script, "A client").ask<OracleReport>("take", { ...task, address } satisfies OracleTask),
      ),
    );
    const after = await server.ask<number>("cpuMs");
    check(reports);
    const sum = (of: (report: OracleReport) => number) => reports.reduce((all, each) => all + of(each), 0);
    return {
      perSecond: sum(({ delivered, ms }) => (delivered / ms) * 1_000),
      perClientSecond: (sum(({ delivered }) => delivered) / sum(({ cpuMs }) => cpuMs)) * 1_000,
      serverShare: (after - before) / (task.warmUpMs + task.ms),
    };
  });
}

/** No timestamp was delivered twice, over all processes. */
function check(reports: readonly OracleReport[]): void {
  const ranges = reports.flatMap((report) => pairs(report.ranges)).sort(([a], [b]) => a - b);
  let last = 0;
  for (const [from, to] of ranges) {
    if (from <= last) throw new WrongResultError(`The timestamp ${from} was delivered twice.`);
    last = to;
  }
}

function pairs(ranges: readonly number[]): (readonly [number, number])[] {
  return Array.from({ length: ranges.length / 2 }, (_, index) => [
    ranges[2 * index]!,
    ranges[2 * index + 1]!,
  ]);
}
