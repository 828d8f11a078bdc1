import { withChildren } from "../harness/child.js";
import { WrongResultError } from "../harness/compare.js";
import { type BenchCase, type CaseFigure, figureOf } from "./bench.js";
import type { OracleReport, OracleTask } from "./oracle-process.js";

/** All concurrent calls go in one request. */
const unlimited = 100_000;

/**
 * The number of client processes, the number of waiting callers in each, and the most timestamps in
 * one request.
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
 * Timestamps that one coordinator delivers to callers in other processes over loopback. Each caller
 * awaits its timestamp before it asks for the next one. All delivered timestamps are checked: they
 * increase in each process, and none was delivered twice.
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
        // This figure is disturbed least by other programs on the machine.
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
  /** Timestamps for each second of processor time of all clients together. */
  readonly perClientSecond: number;
  /** The coordinator's processor time as a share of the whole run. */
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

/** Checks that no timestamp was delivered twice, in all processes. */
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
