/** Takes timestamps from a coordinator, on a task that the parent process sends, and sends back what it came to. */
import { systemEnvironment } from "percolatordb";
import { connectCoordinator } from "../../src/coordinator/index.js";
import { endWithParent } from "../../test/support/end-with-parent.js";

export interface OracleTask {
  readonly address: string;
  /** How many wait for a timestamp of their own at any time. */
  readonly callers: number;
  /** How many timestamps a request asks for at the most. */
  readonly batch: number;
  readonly warmUpMs: number;
  readonly ms: number;
}

export interface OracleReport {
  /** Timestamps that were delivered in the measured time, each to a caller that waited for it. */
  readonly delivered: number;
  readonly ms: number;
  /** CPU time of the process in the measured time, in milliseconds. */
  readonly cpuMs: number;
  /** The timestamps of the whole run: consecutive ones as pairs of first and last. */
  readonly ranges: readonly number[];
}

async function run({ address, callers, batch, warmUpMs, ms }: OracleTask): Promise<OracleReport> {
  const client = connectCoordinator({
    environment: systemEnvironment,
    addresses: [address],
    maxAtOnce: batch,
    maxWaiting: callers,
  });
  const { oracle } = client;
  const ranges: number[] = [];
  let delivered = 0;
  let last = 0;
  let isOver = false;
  const take = async () => {
    while (!isOver) {
      const timestamp = await oracle.next();
      if (timestamp <= last) throw new Error(`${timestamp} was delivered after ${last}.`);
      // Callers go on in the order of their timestamps.
      if (timestamp > last + 1) ranges.push(last, timestamp);
      last = timestamp;
      delivered++;
    }
  };
  const all = Promise.all(Array.from({ length: callers }, take));
  await pause(warmUpMs);
  const [before, cpuBefore, startedAt] = [delivered, process.cpuUsage(), performance.now()];
  await pause(ms);
  const [after, cpu, endedAt] = [delivered, process.cpuUsage(cpuBefore), performance.now()];
  isOver = true;
  await all;
  await client.close();
  ranges.push(last);
  return {
    delivered: after - before,
    ms: endedAt - startedAt,
    cpuMs: (cpu.user + cpu.system) / 1_000,
    // The first entry is what was there before the first timestamp.
    ranges: ranges.slice(1),
  };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

endWithParent();

process.once("message", (task: OracleTask) => {
  run(task).then(
    (report) => process.send?.(report, () => process.disconnect()),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});
