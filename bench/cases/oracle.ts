import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { BenchCase, Figure } from "../context.js";
import { WrongResultError } from "../harness.js";
import { summarize } from "../statistics.js";
import type { OracleReport, OracleTask } from "./oracle-child.js";
import type { OracleServerReport } from "./oracle-server.js";

/** As many as are asked for at a time go in one request. */
const unlimited = 100_000;

/** Client processes, how many of each wait at any time, and how many timestamps a request asks for at the most. */
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
 * Timestamps that one coordinator delivers to callers of other processes over loopback. Each is a promise of its own, which a
 * caller waits for before it asks again. All that are delivered are checked: increasing in each process, and no two alike.
 */
export const oracle: BenchCase = {
  name: "oracle",
  about: "timestamps a second, from one coordinator to waiting callers in client processes",
  async run(bench) {
    const figures: Figure[] = [];
    const ms = bench.options.quick ? 1_000 : 3_000;
    const rounds = bench.options.quick ? 1 : 5;
    for (const { clients, callers, batch } of shapes) {
      const name = `timestamps to ${clients} x ${callers} callers${batch === unlimited ? "" : `, ${batch} a request`}`;
      const rates: number[] = [];
      const shares: number[] = [];
      const efforts: number[] = [];
      for (let round = 0; round < rounds; round++) {
        bench.say(`${name}, ${round + 1} of ${rounds}`);
        const result = await measure(clients, { callers, batch, warmUpMs, ms });
        rates.push(result.perSecond);
        shares.push(result.serverShare);
        efforts.push(result.perClientSecond);
      }
      const rate = summarize(rates);
      figures.push({ name, unit: "timestamps/s", value: rate.median, spread: rate });
      // What a machine that others use disturbs least.
      const effort = summarize(efforts);
      figures.push({
        name: `${name}: per second of the clients' CPU`,
        unit: "timestamps",
        value: effort.median,
        spread: effort,
      });
      figures.push({
        name: `${name}: CPU of the coordinator`,
        unit: "of a core",
        value: summarize(shares).median,
      });
    }
    return { comparisons: [], figures };
  },
};

interface Measured {
  readonly perSecond: number;
  /** Timestamps for each second of CPU time that the clients took together. */
  readonly perClientSecond: number;
  /** CPU time of the coordinator over the whole run, as a share of the time. */
  readonly serverShare: number;
}

async function measure(clients: number, task: Omit<OracleTask, "address">): Promise<Measured> {
  const server = start("oracle-server.ts");
  try {
    const { address, cpuMs: before } = await message<OracleServerReport>(server);
    const reports = await Promise.all(
      Array.from({ length: clients }, () => runClient({ ...task, address: address! })),
    );
    server.send("cpu");
    const { cpuMs: after } = await message<OracleServerReport>(server);
    check(reports);
    const perSecond = reports.reduce((sum, { delivered, ms }) => sum + (delivered / ms) * 1_000, 0);
    const delivered = reports.reduce((sum, report) => sum + report.delivered, 0);
    const cpuMs = reports.reduce((sum, report) => sum + report.cpuMs, 0);
    const perClientSecond = (delivered / cpuMs) * 1_000;
    return { perSecond, perClientSecond, serverShare: (after - before) / (task.warmUpMs + task.ms) };
  } finally {
    const exited = once(server, "exit");
    server.disconnect();
    await exited;
  }
}

async function runClient(task: OracleTask): Promise<OracleReport> {
  const child = start("oracle-child.ts");
  child.send(task);
  return await message<OracleReport>(child);
}

function start(file: string): ChildProcess {
  return fork(fileURLToPath(new URL(file, import.meta.url)), { execArgv: ["--import", "tsx"] });
}

async function message<T>(child: ChildProcess): Promise<T> {
  return await new Promise((resolve, reject) => {
    const onExit = (code: number | null) => reject(new Error(`A process ended with ${code}.`));
    child.once("exit", onExit);
    child.once("message", (received) => {
      child.off("exit", onExit);
      resolve(received as T);
    });
  });
}

/** No timestamp was delivered twice, in whichever processes. */
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
