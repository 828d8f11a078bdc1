import { ratio, short } from "../harness/words.js";

/** One bulk update, with and without triggers, in milliseconds. */
export interface BulkRound {
  readonly plainMs: number;
  readonly attachedMs: number;
}

/** Delays of SQL writes in milliseconds. */
export interface Delays {
  readonly count: number;
  readonly p50: number;
  readonly p99: number;
}

export interface AttachedResult {
  readonly bulk: readonly BulkRound[];
  /** Writes before the table is attached, and while its rows are copied and changes are moved. */
  readonly before: Delays;
  readonly during: Delays;
  readonly copyMs: number;
  /** Milliseconds until nothing was left to do, after the last write. */
  readonly drainMs: number;
  /** Rows of the derived tables that differ from the recomputation in SQL. */
  readonly wrong: number;
}

/** The writers' p99 grows at most by this factor. */
export const maxGrowth = 1.2;

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

export function describeAttached(result: AttachedResult): readonly string[] {
  const { bulk, before, during, copyMs, drainMs, wrong } = result;
  const cost = median(bulk.map(({ plainMs, attachedMs }) => attachedMs / plainMs));
  const growth = during.p99 / before.p99;
  const delays = ({ count, p50, p99 }: Delays) => `| ${count} | ${short(p50)} | ${short(p99)} |`;
  return [
    "| bulk update, ms | without triggers | with |\n| --- | ---: | ---: |\n" +
      bulk
        .map(({ plainMs, attachedMs }, i) => `| ${i + 1} | ${short(plainMs)} | ${short(attachedMs)} |`)
        .join("\n"),
    `A bulk update takes ${ratio(cost)} times as long with triggers (median).`,
    "| SQL writes | count | p50, ms | p99, ms |\n| --- | ---: | ---: | ---: |\n" +
      `| before ${delays(before)}\n| while attaching ${delays(during)}`,
    `The writers' p99 is ${ratio(growth)} times as long; the floor of ${maxGrowth} is ${growth <= maxGrowth ? "met" : "missed"}.`,
    `The copy took ${short(copyMs / 1_000)} s; ${short(drainMs / 1_000)} s after the last write nothing was left to do.`,
    `Derived rows that differ from the recomputation in SQL: ${wrong}.`,
  ];
}
