import { spawnSync } from "node:child_process";
import { closeSync, fdatasyncSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { cpus, platform, release, tmpdir, totalmem } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { summarize } from "../statistics.js";

const spread = z.object({ median: z.number(), low: z.number(), high: z.number(), count: z.number() });

/** What the figures of a run depend on. */
export const machineSchema = z.object({
  percolatordb: z.string(),
  node: z.string(),
  lmdb: z.string(),
  cpu: z.string(),
  cores: z.number(),
  memoryGiB: z.number(),
  kernel: z.string(),
  /** Milliseconds to flush a page of 4 KiB that was appended to a file, where temporary files are. */
  flushMs: spread,
});

export type Machine = z.output<typeof machineSchema>;

export function describeMachine(): Machine {
  return {
    percolatordb: versionIn(new URL("../../package.json", import.meta.url)),
    node: process.version,
    lmdb: versionIn(new URL("package.json", import.meta.resolve("lmdb"))),
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    kernel: `${platform()} ${release()}`,
    flushMs: summarize(measureFlushes()),
  };
}

/** The commit of this clone, with "-dirty" where files have changed since; undefined outside of one. */
export function revisionOf(): string | undefined {
  const { status, stdout } = spawnSync("git", ["describe", "--always", "--dirty", "--abbrev=10"], {
    encoding: "utf8",
  });
  return status === 0 ? stdout.trim() : undefined;
}

const flushes = 200;

function measureFlushes(): number[] {
  const folder = mkdtempSync(join(tmpdir(), "percolatordb-flush-"));
  const file = openSync(join(folder, "file"), "a");
  const page = Buffer.alloc(4_096, 1);
  try {
    return Array.from({ length: flushes }, () => {
      writeSync(file, page);
      const began = performance.now();
      fdatasyncSync(file);
      return performance.now() - began;
    });
  } finally {
    closeSync(file);
    rmSync(folder, { recursive: true });
  }
}

function versionIn(path: URL): string {
  return z.object({ version: z.string() }).parse(JSON.parse(readFileSync(path, "utf8"))).version;
}
