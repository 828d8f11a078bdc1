import {
  type Configuration,
  type DelayReport,
  flushesInSequence,
  type KillRun,
  type PeerReport,
  type SideReport,
  type Spread,
} from "./report.js";

/** A report in words. */
export function describeReport(report: PeerReport): string {
  const { configuration, pages, percolator, postgres, rebuild, ratio, processorRatio, floor, ceilingMs } =
    report;
  return [
    describeConfiguration(configuration),
    `${pages} pages, loaded and indexed to the end`,
    `  percolatordb ${describeSpeed(percolator)}`,
    `  PostgreSQL   ${describeSpeed(postgres)}`,
    `  rebuild in memory, no database: ${rebuild.pagesPerSecond.toFixed(1)} pages/s, ${rebuild.seconds.toFixed(2)} s${memory(rebuild.memoryMiB)}`,
    `  the rebuild beside PostgreSQL: ${(rebuild.pagesPerSecond / postgres.pagesPerSecond.median).toFixed(2)} times the pages`,
    `  percolatordb beside PostgreSQL: ${spread(ratio, 2)} times the pages (${floor} wanted: ${ratio.median >= floor ? "reached" : "NOT reached"})`,
    ...(processorRatio === undefined ? [] : [`  by processor time: ${spread(processorRatio, 2)} times`]),
    "delay from a page that is due until the commit of the run by which it can be found, at half of its own full speed",
    `  percolatordb ${describeDelay(percolator)} (${ceilingMs} ms at the most: ${percolator.beyondFlushesMs.median <= ceilingMs ? "kept" : "NOT kept"})`,
    `  PostgreSQL   ${describeDelay(postgres)}`,
    "the same at a tenth of its full speed",
    `  percolatordb ${describeDelay(percolator.light)}`,
    `  PostgreSQL   ${describeDelay(postgres.light)}`,
    "after SIGKILL, processes started again at once",
    ...percolator.afterKill.map((run) => `  percolatordb ${describeKill(run, run.killed)}`),
    ...postgres.afterKill.map((run) => `  PostgreSQL   ${describeKill(run, killedBesideServer(run.killed))}`),
    ...[...percolator.problems, ...postgres.problems].map((problem) => `WRONG: ${problem}`),
  ].join("\n");
}

function describeConfiguration(configuration: Configuration): string {
  const { node, postgres, graphileWorker, system, cpu, cpus, memoryGiB, workers, concurrency } =
    configuration;
  const { settings, batches, rounds, sources, processes } = configuration;
  return [
    `node ${node}, PostgreSQL ${postgres}, graphile-worker ${graphileWorker}, ${system}, ${cpus} x ${cpu}, ${memoryGiB} GiB`,
    `sources: ${sources.length === 0 ? "the documentation in node_modules" : sources.join(", ")}; ${rounds} rounds`,
    `percolatordb: at full speed ${processes} processes, of which one also loads; else one`,
    `PostgreSQL: ${workers} workers with ${concurrency} jobs each at a time; changes of a job, by task: ${Object.entries(
      batches,
    )
      .map(([task, size]) => `${task} ${size}`)
      .join(", ")}`,
    `  synchronous_commit=on for pages and jobs, off for the queue's own statements; ${settings.join(" ")}`,
  ].join("\n");
}

function describeSpeed({ pagesPerSecond, cpuSeconds, serverCpuSeconds, memoryMiB }: SideReport): string {
  const server = serverCpuSeconds === undefined ? "" : ` (the server ${serverCpuSeconds.toFixed(1)} s)`;
  const cpu = cpuSeconds === undefined ? "" : `, ${cpuSeconds.toFixed(1)} s of processors${server}`;
  return `${spread(pagesPerSecond, 1)} pages/s${cpu}${memory(memoryMiB)}`;
}

function describeDelay({ perSecond, delayMs, flushMs, beyondFlushesMs }: DelayReport): string {
  const [p5, p50, p95] = [delayMs.p5, delayMs.p50, delayMs.p95].map((ms) => ms.toFixed(1));
  return (
    `at ${perSecond.toFixed(1)} pages/s: p5 ${p5}, p50 ${p50}, p95 ${p95} ms; a raw flush ${flushMs.toFixed(2)} ms; ` +
    `${spread(beyondFlushesMs, 1)} ms beyond ${flushesInSequence} of them in a row`
  );
}

/** Whose processes are not the store: its server lives on, while the other side loses the process that holds it. */
function killedBesideServer(killed: KillRun["killed"]): string {
  return killed === "all processes" ? "all processes but the server" : killed;
}

function describeKill(run: KillRun, killed: string): string {
  const { seconds, stuckJobs, afterSeconds, wrong, unlocked } = run;
  const begin = `${killed} killed: ${seconds.toFixed(1)} s until nothing was done any more`;
  if (unlocked === undefined) return `${begin}; ${wrong} cells wrong`;
  return (
    `${begin}; after ${afterSeconds.toFixed(0)} s ${stuckJobs} jobs locked by the dead (for up to 4 hours), ${wrong} cells wrong; ` +
    `unlocked by hand: ${unlocked.seconds.toFixed(2)} s more, ${unlocked.wrong} cells wrong`
  );
}

function spread({ median, low, high }: Spread, digits: number): string {
  return `${median.toFixed(digits)} (${low.toFixed(digits)} to ${high.toFixed(digits)})`;
}

function memory(mebibytes: number | undefined): string {
  return mebibytes === undefined ? "" : `, ${Math.round(mebibytes)} MiB at the most`;
}
