import { openSync, readFileSync, writeSync } from "node:fs";
import type { Micro, Operation } from "./operations.js";

/** What one logical client of a process began or was told. */
export interface JournalEntry {
  /** Nanoseconds of the system's monotonic clock, which all processes of a machine share, since the run began. */
  readonly time: number;
  readonly client: number;
  readonly type: Operation["type"];
  readonly value: readonly Micro[];
}

/** A process's record of what it began and was told: a file, in which each line stands before the process goes on. */
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
    // No two entries of a process have the same time: their order must show.
    this.#last = Math.max(now, this.#last + 1);
    const entry: JournalEntry = { time: this.#last, client, type, value };
    writeSync(this.#file, `${JSON.stringify(entry)}\n`);
  }
}

/** All that stands in a journal. A line that is not whole was not yet written when its process was killed. */
export function readJournal(path: string): readonly JournalEntry[] {
  const lines = readFileSync(path, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as JournalEntry);
}
