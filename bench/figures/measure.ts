import { chmodSync, existsSync, readFileSync, symlinkSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { basename, join } from "node:path";
import { othersNow } from "../harness/machine.js";
import { secondsSince, withFolder } from "../harness/program.js";
import type { Measurement, Size } from "./figure.js";
import type { Measured } from "./results.js";
import { runCommand } from "./run.js";

export interface MeasureOptions {
  readonly size: Size;
  /**
   * Web archives for measurements that index pages. If empty, each measurement uses its default.
   */
  readonly archives: readonly string[];
  readonly machine: Measured["machine"];
  readonly revision: Measured["revision"];
  readonly signal: AbortSignal;
  readonly onLine?: ((line: string) => void) | undefined;
}

/** Returns the measurements that can run with these web archives. */
export function madeWith(
  measurements: readonly Measurement[],
  archives: readonly string[],
): readonly Measurement[] {
  return measurements.filter(({ minArchives = 0 }) => archives.length >= minArchives);
}

/**
 * Returns the command line of a measurement, as a reader would type it, with archives without their
 * folders.
 */
export function commandLine(measurement: Measurement, size: Size, archives: readonly string[]): string {
  const { script, args } = measurement;
  const all = [...args[size], ...archivesOf(measurement, archives).map((path) => basename(path))];
  return [`npm run ${script}`, ...(all.length > 0 ? ["--", ...all] : [])].join(" ");
}

function archivesOf(measurement: Measurement, archives: readonly string[]): readonly string[] {
  if (measurement.archives === undefined) return [];
  return measurement.archives === "one" ? archives.slice(0, 1) : archives;
}

/**
 * Runs a measurement and reads its result. Throws if it fails. Returns undefined if it was
 * cancelled.
 */
export function measure(measurement: Measurement, options: MeasureOptions): Promise<Measured | undefined> {
  const { size, archives, machine, revision, signal, onLine } = options;
  return withFolder("figures", async (folder) => {
    shareWithOthers(folder);
    const share = await othersNow();
    const busyBefore = share === undefined ? undefined : Math.round(share * 100) / 100;
    const path = join(folder, "result.json");
    const own = [...measurement.args[size], "--json", path, ...archivesOf(measurement, archives)];
    const date = new Date().toISOString();
    const began = performance.now();
    const { outcome, output } = await runCommand("npm", ["run", measurement.script, "--", ...own], {
      limitMs: measurement.minutes[size] * 60_000,
      signal,
      environment: { TMPDIR: folder },
      onLine,
    });
    if (outcome === "cancelled") return undefined;
    if (outcome === "too late")
      throw new Error(`It was not done after ${measurement.minutes[size]} minutes.`);
    if (outcome === "failed") throw new Error(`It failed:\n${output.trimEnd()}`);
    const seconds = Math.round(secondsSince(began) * 10) / 10;
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
  });
}

/**
 * Prepares the folder for all temporary files of a measurement. Other accounts, such as that of a
 * database server, may enter it. It links to the TypeScript loader's cache outside, because
 * processes that must first compile their code are slower.
 */
function shareWithOthers(folder: string): void {
  chmodSync(folder, 0o711);
  const compiled = `tsx-${userInfo().uid}`;
  if (existsSync(join(tmpdir(), compiled))) symlinkSync(join(tmpdir(), compiled), join(folder, compiled));
}
