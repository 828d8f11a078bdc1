import type { ScaleResult } from "./simulate.js";

export interface NamedResult {
  readonly name: string;
  readonly result: ScaleResult;
}

type Cell = (result: ScaleResult) => string;

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

function percent(part: number): string {
  return Number.isFinite(part) ? `${Math.round(part * 100)} %` : "";
}

function perRun(result: ScaleResult, count: number): string {
  const { committed } = result.counts;
  return committed === 0 ? "" : (count / committed).toFixed(2);
}

/** The columns of a table, in their order. */
const columns: readonly (readonly [string, Cell])[] = [
  ["workers", ({ settings }) => whole.format(settings.workers)],
  ["servers", ({ settings }) => whole.format(settings.servers)],
  ["runs/s", ({ throughput }) => whole.format(throughput)],
  ["of ideal", ({ throughput, ideal }) => percent(throughput / ideal)],
  ["p50 ms", ({ delay }) => whole.format(delay.p50)],
  ["p99 ms", ({ delay }) => whole.format(delay.p99)],
  ["workers' CPU", ({ use }) => percent(use.workers)],
  ["servers, mean", ({ use }) => percent(use.servers)],
  ["system tablet", ({ use }) => percent(use.system)],
  ["hint tablet", ({ use }) => percent(use.hints)],
  ["coordinator", ({ use }) => percent(use.coordinator)],
  ["conflicts", (result) => perRun(result, result.counts.conflicts)],
  ["done before", (result) => perRun(result, result.counts.clean)],
  [
    "claims refused",
    ({ counts }) => (counts.claims === 0 ? "" : percent(counts.claimsRefused / counts.claims)),
  ],
  [
    "timestamps a message",
    ({ counts }) => (counts.timestamps / Math.max(1, counts.timestampRequests)).toFixed(1),
  ],
  ["taken for dead", ({ counts }) => whole.format(counts.sessionsTakenForDead)],
];

/** A table in Markdown, a row a result. */
export function tableOf(results: readonly NamedResult[]): string {
  const head = `| | ${columns.map(([name]) => name).join(" | ")} |`;
  const rule = `| --- |${columns.map(() => " ---: |").join("")}`;
  const rows = results.map(
    ({ name, result }) => `| ${name} | ${columns.map(([, cell]) => cell(result)).join(" | ")} |`,
  );
  return [head, rule, ...rows].join("\n");
}

/** One line, for who watches. */
export function lineOf({ name, result }: NamedResult): string {
  const { settings, throughput, ideal, delay, hash } = result;
  const of = `${whole.format(throughput)} runs/s, ${percent(throughput / ideal)} of ideal`;
  const took = `p50 ${whole.format(delay.p50)} ms, p99 ${whole.format(delay.p99)} ms`;
  return `${name}, ${whole.format(settings.workers)} workers: ${of}; ${took}; ${hash}`;
}
