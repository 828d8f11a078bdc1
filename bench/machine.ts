import { readFileSync } from "node:fs";
import { cpus, platform, release, totalmem } from "node:os";
import type { BenchOptions } from "./options.js";

/** What the figures depend on. */
export interface Configuration {
  readonly date: string;
  readonly node: string;
  readonly lmdb: string;
  readonly percolatordb: string;
  readonly system: string;
  readonly cpu: string;
  readonly cpus: number;
  readonly memoryGiB: number;
  readonly cells: number;
  readonly valueBytes: readonly number[];
  readonly rounds: number;
  readonly quick: boolean;
}

export function describeConfiguration(options: BenchOptions, valueBytes: readonly number[]): Configuration {
  const { cells, rounds, quick } = options;
  return {
    date: new Date().toISOString(),
    node: process.version,
    lmdb: versionIn(new URL("package.json", import.meta.resolve("lmdb"))),
    percolatordb: versionIn(new URL("../package.json", import.meta.url)),
    system: `${platform()} ${release()}`,
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    cpus: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    cells,
    valueBytes,
    rounds,
    quick,
  };
}

function versionIn(path: URL): string {
  return (JSON.parse(readFileSync(path, "utf8")) as { version: string }).version;
}
