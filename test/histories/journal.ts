import { openSync, readFileSync, writeSync } from "node:fs";
import type { Micro, Operation } from "./operations.js";

/** An operation that one logical client of a process began, or its outcome. */
export interface JournalEntry {
  /**
   * Nanoseconds since the run began, on the system's monotonic clock, which all processes of a
   * machine share.
   */
  readonly time: number;
  readonly client: number;
  readonly type: Operation["type"];
  readonly value: readonly Micro[];
}

/**
 * The file in which a process records its operations and their outcomes. Each line is in the file
 * before the process continues.
 */
export class Journal {
  readonly #file: number;
  readonly #originNs: bigint;
  #last = -1;

  constructor(path: string, originNs: bigint) {
    this.#file = openSync(path, "a");
    this.#originNs = originNs;
  }

  /** Milliseconds since the run began. */
  get elapsedMs(): number {
    return Number(process.hrtime.bigint() - this.#originNs) / 1e6;
  }

  add(client: number, type: Operation["type"], value: readonly Micro[]): void {
    const now = Number(process.hrtime.bigint() - this.#originNs);
    // Two entries of a process never have the same time, so that their order is visible.
    this.#last = Math.max(now, this.#last + 1);
    const entry: JournalEntry = { time: this.#last, client, type, value };
    writeSync(this.#file, `${JSON.stringify(entry)}\n`);
  }
}

/**
 * Reads all entries of a journal. An incomplete last line was still being written when its process
 * was killed.
 */
export function readJournal(path: string): readonly JournalEntry[] {
  const lines = readFileSync(path, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as JournalEntry);
}
