import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { basename, join } from "node:path";
import { Others } from "../scaling/others.js";
import type { Measurement, Size } from "./figure.js";
import type { Machine } from "./machine.js";
import type { Measured } from "./results.js";
import { runCommand } from "./run.js";

export interface MeasureOptions {
  readonly size: Size;
  /** Web archives for what indexes pages; none: what each measurement does without. */
  readonly archives: readonly string[];
  readonly machine: Machine;
  /** See {@link Measured}. */
  readonly revision: string | undefined;
  readonly signal: AbortSignal;
  readonly onLine?: ((line: string) => void) | undefined;
}

/** A measurement was not made. */
export class NotMeasuredError extends Error {
  override readonly name = "NotMeasuredError";
  readonly isCancelled: boolean;

  constructor(message: string, isCancelled = false) {
    super(message);
    this.isCancelled = isCancelled;
  }
}

/** The measurements of a figure that are made with so many web archives. */
export function madeWith(
  measurements: readonly Measurement[],
  archives: readonly string[],
): readonly Measurement[] {
  return measurements.filter(({ minArchives = 0 }) => archives.length >= minArchives);
}

/** The command line that makes a measurement, as one would type it; archives without their folders. */
export function commandLine(measurement: Measurement, size: Size, archives: readonly string[]): string {
  const { script, args } = measurement;
  const all = [...args[size], ...archivesOf(measurement, archives).map((path) => basename(path))];
  return [`npm run ${script}`, ...(all.length > 0 ? ["--", ...all] : [])].join(" ");
}

function archivesOf(measurement: Measurement, archives: readonly string[]): readonly string[] {
  if (measurement.archives === undefined) return [];
  return measurement.archives === "one" ? archives.slice(0, 1) : archives;
}

/** Makes a measurement, and reads what it wrote. Throws where it could not be made. */
export async function measure(measurement: Measurement, options: MeasureOptions): Promise<Measured> {
  const { size, archives, machine, revision, signal, onLine } = options;
  const folder = temporaryFolder();
  try {
    const busyBefore = await othersShare(1_000);
    const path = join(folder, "result.json");
    const unused = Object.entries(measurement.unused ?? {}).flatMap(([option, name]) => [
      option,
      join(folder, name),
    ]);
    const args = [
      "run",
      measurement.script,
      "--",
      ...measurement.args[size],
      "--json",
      path,
      ...unused,
      ...archivesOf(measurement, archives),
    ];
    const limitMs = measurement.minutes[size] * 60_000;
    const date = new Date().toISOString();
    const began = performance.now();
    const { outcome, output } = await runCommand("npm", args, {
      limitMs,
      signal,
      environment: { TMPDIR: folder },
      onLine,
    });
    if (outcome === "cancelled") throw new NotMeasuredError("It was cancelled.", true);
    if (outcome === "too late")
      throw new NotMeasuredError(`It was not done after ${measurement.minutes[size]} minutes.`);
    if (outcome === "failed") throw new NotMeasuredError(`It failed:\n${output.trimEnd()}`);
    const seconds = Math.round((performance.now() - began) / 100) / 10;
    const result: unknown = JSON.parse(readFileSync(path, "utf8"));
    return {
      command: commandLine(measurement, size, archives),
      size,
      date,
      seconds,
      busyBefore,
      revision,
      machine,
      result,
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * A folder for all that a measurement makes, so that nothing of a cancelled one is left. Other accounts may pass through it, as a
 * database server's does; what the TypeScript loader has compiled stays where it is, since processes that compile are slower.
 */
function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "percolatordb-figures-"));
  chmodSync(folder, 0o711);
  const compiled = `tsx-${userInfo().uid}`;
  if (existsSync(join(tmpdir(), compiled))) symlinkSync(join(tmpdir(), compiled), join(folder, compiled));
  return folder;
}

/** What others take of the machine: a measurement beside much else says little. */
async function othersShare(ms: number): Promise<number | undefined> {
  const others = new Others();
  await new Promise((resolve) => setTimeout(resolve, ms));
  const share = others.share(0);
  return share === undefined ? undefined : Math.round(share * 100) / 100;
}
