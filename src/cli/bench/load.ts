import { throwIfAborted } from "../../environment/index.js";
import type { Cli } from "../cli.js";
import { Samples } from "./samples.js";

/** The result of one load of `percolator bench`. */
export interface Measured {
  readonly name: string;
  readonly operations: number;
  readonly seconds: number;
  /** Latency quantiles in milliseconds, or undefined if the load did not time single operations. */
  readonly quantiles: readonly [p50: number, p95: number, p99: number, max: number] | undefined;
}

/**
 * Runs an operation in a loop for `durationMs`, with `concurrency` copies at the same time.
 * `percolator bench` calls it once for each load.
 */
export async function loadFor(
  cli: Cli,
  name: string,
  durationMs: number,
  concurrency: number,
  run: () => Promise<unknown>,
): Promise<Measured> {
  const { environment, signal } = cli;
  const samples = new Samples(() => environment.random());
  const startedAt = environment.monotonic();
  const work = async () => {
    do {
      throwIfAborted(signal, "The measurement");
      const from = environment.monotonic();
      await run();
      samples.add(environment.monotonic() - from);
    } while (environment.monotonic() - startedAt < durationMs);
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  const seconds = (environment.monotonic() - startedAt) / 1_000;
  const quantiles = [0.5, 0.95, 0.99, 1].map((share) => samples.quantile(share));
  return {
    name,
    operations: samples.count,
    seconds,
    quantiles: quantiles as unknown as Measured["quantiles"],
  };
}

/** Converts the figures to JSON. Milliseconds are rounded to three decimals. */
export function measuredToJson({ name, operations, seconds, quantiles }: Measured) {
  const round = (value: number | undefined) =>
    value === undefined ? null : Math.round(value * 1_000) / 1_000;
  return {
    name,
    operations,
    seconds: round(seconds),
    perSecond: seconds === 0 ? 0 : Math.round(operations / seconds),
    p50Ms: round(quantiles?.[0]),
    p95Ms: round(quantiles?.[1]),
    p99Ms: round(quantiles?.[2]),
    maxMs: round(quantiles?.[3]),
  };
}
