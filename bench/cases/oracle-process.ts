/**
 * A process of the case `oracle`: a coordinator on a store in memory, or a client whose callers
 * take timestamps.
 */
import { EventEmitter, once } from "node:events";
import { systemEnvironment } from "percolatordb";
import { memoryStore } from "percolatordb/memory";
import { connectCoordinator, startCoordinator } from "../../src/coordinator/index.js";
import { serve } from "../harness/child.js";
import { pause } from "../harness/pause.js";
import { cpuSeconds } from "../harness/usage.js";

export interface OracleTask {
  readonly address: string;
  /** How many callers wait for a timestamp at any time. */
  readonly callers: number;
  /** The most timestamps in one request. */
  readonly batch: number;
  readonly warmUpMs: number;
  readonly ms: number;
}

export interface OracleReport {
  /** Timestamps delivered in the measured time. Each went to a caller that waited for it. */
  readonly delivered: number;
  readonly ms: number;
  /** Processor time in the measured time. */
  readonly cpuMs: number;
  /**
   * All timestamps of the run, as ranges of consecutive timestamps. Each range is a pair of
   * numbers: its first and its last timestamp.
   */
  readonly ranges: readonly number[];
}

let close: () => unknown = () => undefined;

serve({
  /** Resolves to the address when the coordinator is the leader. */
  async lead(): Promise<string> {
    const changes = new EventEmitter();
    const leading = once(changes, "leading");
    const coordinator = await startCoordinator({
      store: memoryStore({ atomicBatches: false }),
      environment: systemEnvironment,
      onChange: ({ role }) => changes.emit(role),
    });
    close = () => coordinator.stop();
    await leading;
    return coordinator.address;
  },
  cpuMs: () => cpuSeconds() * 1_000,
  async take({ address, callers, batch, warmUpMs, ms }: OracleTask): Promise<OracleReport> {
    const client = connectCoordinator({
      environment: systemEnvironment,
      addresses: [address],
      maxAtOnce: batch,
      maxWaiting: callers,
    });
    const ranges: number[] = [];
    let [delivered, last, isOver] = [0, 0, false];
    const take = async () => {
      while (!isOver) {
        const timestamp = await client.oracle.next();
        if (timestamp <= last) throw new Error(`${timestamp} was delivered after ${last}.`);
        // Callers continue in the order of their timestamps.
        if (timestamp > last + 1) ranges.push(last, timestamp);
        last = timestamp;
        delivered++;
      }
    };
    const all = Promise.all(Array.from({ length: callers }, take));
    await pause(warmUpMs);
    const [before, cpu, startedAt] = [delivered, process.cpuUsage(), performance.now()];
    await pause(ms);
    const measured = {
      delivered: delivered - before,
      ms: performance.now() - startedAt,
      cpuMs: cpuSeconds(cpu) * 1_000,
    };
    isOver = true;
    await all;
    await client.close();
    // Drops the first entry, which is the initial value of `last`, not a timestamp.
    return { ...measured, ranges: [...ranges, last].slice(1) };
  },
  close: () => close(),
});
