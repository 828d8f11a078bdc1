/** Memory of a database under constant updates. See `npm run memory -- --help`. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { CommanderError } from "commander";
import type { MemoryReport } from "./child.js";
import { type MemoryOptions, parseOptions } from "./options.js";
import type { MemorySample } from "./sample.js";
import { type Trend, trendOf } from "./trend.js";
import { exitCodeOf } from "./verdict.js";

const megabyte = 2 ** 20;
const kinds = ["anonymous", "heap", "external", "resident"] as const;

const say = (line: string) => process.stdout.write(`${line}\n`);

async function main(args: readonly string[]): Promise<number> {
  const options = parseOptions(args);
  const folder = mkdtempSync(join(options.data ?? tmpdir(), "percolatordb-memory-"));
  try {
    const report = await runChild(folder, options);
    const trends = trendsOf(report.samples);
    const perSecond = report.samples.at(-1)!.updates / report.samples.at(-1)!.at;
    describe(report, trends, perSecond);
    const { data: _, json, ...shown } = options;
    if (json !== undefined) save(json, { options: shown, perSecond, trends, ...report });
    return exitCodeOf(report);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function runChild(folder: string, options: MemoryOptions): Promise<MemoryReport> {
  const script = fileURLToPath(new URL("child.ts", import.meta.url));
  const child = fork(script, [folder, JSON.stringify(options)], { execArgv: ["--import", "tsx"] });
  const stop = () => child.kill("SIGKILL");
  process.once("exit", stop);
  const ended = once(child, "exit");
  const [message] = (await Promise.race([
    once(child, "message"),
    ended.then(([code]) =>
      Promise.reject(new Error(`The process that is measured ended with code ${code}.`)),
    ),
  ])) as [MemoryReport];
  const [code, signal] = (await ended) as [number | null, string | null];
  process.off("exit", stop);
  if (code !== 0) throw new Error(`The process that is measured ended with ${code ?? signal}.`);
  return message;
}

/** In megabytes, of each kind that the system tells of. */
function trendsOf(samples: readonly MemorySample[]): Record<string, Trend> {
  const trends: Record<string, Trend> = {};
  for (const kind of kinds) {
    const values = samples.flatMap((sample) => {
      const bytes = sample[kind];
      return bytes === undefined ? [] : [{ at: sample.at, value: bytes / megabyte }];
    });
    if (values.length > 0) trends[kind] = trendOf(values);
  }
  return trends;
}

function describe(report: MemoryReport, trends: Readonly<Record<string, Trend>>, perSecond: number): void {
  say(
    `${Math.round(perSecond)} updates/s, ${report.collections} collections, ${report.wrong} rows wrong, ${report.problems} problems; MB:`,
  );
  for (const [kind, { start, median, end, most, perMinute }] of Object.entries(trends)) {
    const figures = [start, median, end, most].map((value) => value.toFixed(1));
    say(
      `  ${kind}: start ${figures[0]}, median ${figures[1]}, end ${figures[2]}, most ${figures[3]}, ${perMinute.toFixed(2)} a minute`,
    );
  }
}

function save(path: string, found: object): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${JSON.stringify(found, undefined, 2)}\n`);
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  process.exitCode = error.exitCode === 0 ? 0 : 2;
}
