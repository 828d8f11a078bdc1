import { spawnSync } from "node:child_process";
import { closeSync, fdatasyncSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { cpus, platform, release, tmpdir, totalmem } from "node:os";
import { join } from "node:path";
import { pause } from "./pause.js";
import { type Summary, summarize } from "./statistics.js";

/** The properties of the machine on which figures depend. */
export interface Machine {
  readonly percolatordb: string;
  readonly node: string;
  readonly lmdb: string;
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly kernel: string;
}

export function describeMachine(): Machine {
  return {
    percolatordb: versionIn(new URL("../../package.json", import.meta.url)),
    node: process.version,
    lmdb: versionIn(new URL("package.json", import.meta.resolve("lmdb"))),
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    kernel: `${platform()} ${release()}`,
  };
}

/**
 * Returns the commit of this clone, with "-dirty" if files have changed since. Undefined outside of
 * a clone.
 */
export function revisionOf(): string | undefined {
  const { status, stdout } = spawnSync("git", ["describe", "--always", "--dirty", "--abbrev=10"], {
    encoding: "utf8",
  });
  return status === 0 ? stdout.trim() : undefined;
}

/** Measures the milliseconds to flush a page of 4 KiB appended to a temporary file. */
export function measureFlushes(): Summary {
  const folder = mkdtempSync(join(tmpdir(), "percolatordb-flush-"));
  const file = openSync(join(folder, "file"), "a");
  const page = Buffer.alloc(4_096, 1);
  try {
    const times = Array.from({ length: 200 }, () => {
      writeSync(file, page);
      const began = performance.now();
      fdatasyncSync(file);
      return performance.now() - began;
    });
    return summarize(times);
  } finally {
    closeSync(file);
    rmSync(folder, { recursive: true });
  }
}

function versionIn(path: URL): string {
  return (JSON.parse(readFileSync(path, "utf8")) as { version: string }).version;
}

/** The machine's processor time in seconds: used, and available. */
interface MachineTime {
  readonly busy: number;
  readonly all: number;
}

/** If other programs use more of the processors than this, a comparison is meaningless. */
export const maxOthersShare = 0.1;

/** Measures how much of the processors other programs use during a measurement. */
export class Others {
  readonly #start = machineTime();

  /**
   * Returns the share of the processors that other programs used. Undefined if the system does not
   * report it. `ownSeconds` is the processor time of the measurement itself.
   */
  share(ownSeconds: number): number | undefined {
    const end = machineTime();
    if (this.#start === undefined || end === undefined) return undefined;
    const all = end.all - this.#start.all;
    return all === 0 ? undefined : Math.max(0, end.busy - this.#start.busy - ownSeconds) / all;
  }
}

/**
 * Measures for one second which share of the processors other programs use. Undefined if the system
 * does not report it.
 */
export async function othersNow(): Promise<number | undefined> {
  const others = new Others();
  await pause(1_000);
  return others.share(0);
}

/** Waits until the machine has been nearly idle for one second, but at most `seconds`. */
export async function untilQuiet(seconds: number): Promise<void> {
  const until = performance.now() + seconds * 1_000;
  while (performance.now() < until && ((await othersNow()) ?? 0) >= maxOthersShare);
}

function machineTime(): MachineTime | undefined {
  try {
    return parseMachineTime(readFileSync("/proc/stat", "latin1"));
  } catch {
    return undefined;
  }
}

/** Reads Linux's `/proc/stat`, which counts in hundredths of a second. */
export function parseMachineTime(stat: string): MachineTime {
  const [user = 0, nice = 0, system = 0, idle = 0, ioWait = 0, irq = 0, softIrq = 0, steal = 0] = stat
    .split("\n", 1)[0]!
    .split(/\s+/)
    .slice(1)
    .map((count) => Number(count) / 100);
  const busy = user + nice + system + irq + softIrq + steal;
  return { busy, all: busy + idle + ioWait };
}
