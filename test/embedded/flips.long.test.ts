import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { nodeArguments } from "../support/built/files.js";
import { fill, flipMark } from "./flips-table.js";

const child = fileURLToPath(new URL("flips-child.ts", import.meta.url));
const flips = 300;

interface Outcome {
  readonly number: number;
  readonly step: "open" | "reads" | "done";
  readonly check?: string | readonly string[];
  readonly reads?: string;
}

/**
 * Runs the flips from number `first` until all are done or the child ends. Returns, for each flip,
 * what the child printed about it.
 */
async function run(whole: string, folder: string, seed: number, first: number) {
  const process_ = spawn(
    process.execPath,
    nodeArguments(child, [whole, folder, String(seed), String(first), String(flips - first)]),
    { stdio: ["ignore", "pipe", "pipe"] },
  );
  let errors = "";
  process_.stderr.on("data", (chunk) => {
    errors += String(chunk);
  });
  const ended = new Promise<string | number | null>((resolve) => {
    process_.on("close", (code, signal) => resolve(signal ?? code));
  });
  const outcomes = new Map<number, Outcome>();
  for await (const line of createInterface(process_.stdout)) {
    const outcome = JSON.parse(line) as Outcome;
    outcomes.set(outcome.number, { ...outcomes.get(outcome.number), ...outcome });
  }
  return { outcomes, ended: await ended, errors };
}

/** What a flip printed to stderr. */
function linesOf(errors: string, flip: number): readonly string[] {
  const lines = errors.split("\n");
  const first = lines.indexOf(`${flipMark}${flip}`) + 1;
  const count = lines.slice(first).findIndex((line) => line.startsWith(flipMark));
  return lines.slice(first, count < 0 ? undefined : first + count).filter((line) => line !== "");
}

test("a changed bit in the file is harmless, a named error, or found by check; never another answer, and no output of LMDB", async () => {
  const folder = await mkdtemp(join(tmpdir(), "percolatordb-flips-"));
  try {
    await fill(join(folder, "whole"));
    const whole = join(folder, "whole", "data.mdb");
    const silent: unknown[] = [];
    const faults: unknown[] = [];
    const printed: string[] = [];
    let found = 0;
    let first = 0;
    while (first < flips) {
      const { outcomes, ended, errors } = await run(whole, folder, 1, first);
      for (const outcome of outcomes.values()) {
        const isFound = typeof outcome.check === "string" || (outcome.check?.length ?? 0) > 0;
        if (isFound) found++;
        else printed.push(...linesOf(errors, outcome.number));
        if (outcome.step === "open") faults.push({ ...outcome, ended, errors });
        else if (outcome.step === "reads" && !isFound) faults.push({ ...outcome, ended, errors });
        else if (outcome.reads === "wrong" && !isFound) silent.push(outcome);
      }
      const last = Math.max(first - 1, ...outcomes.keys());
      if (ended === 0) break;
      expect(last, errors).toBeGreaterThanOrEqual(first);
      first = last + 1;
    }
    expect(silent).toEqual([]);
    expect(faults).toEqual([]);
    // LMDB prints its own messages to stderr. Flips that `check` found are not in `printed`: if a
    // write uses the damaged part of the file, LMDB may print a message.
    expect(printed).toEqual([]);
    // Many flips must hit used parts of the file.
    expect(found).toBeGreaterThan(flips / 10);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}, 600_000);
