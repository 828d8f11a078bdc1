import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Database, type OpenOptions, open } from "percolatordb";
import { type Comparison, type ComparisonSpec, compare } from "./harness.js";
import type { BenchOptions } from "./options.js";
import { RawDatabase } from "./raw.js";
import type { Summary } from "./statistics.js";

/** A figure that is no comparison of rates. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly spread?: Summary | undefined;
  /** The most that is wanted; undefined where nothing was set. */
  readonly ceiling?: number | undefined;
}

/** What a case found. */
export interface CaseResult {
  readonly comparisons: readonly Comparison[];
  readonly figures: readonly Figure[];
}

/** One measurement that can be asked for by name. */
export interface BenchCase {
  readonly name: string;
  readonly about: string;
  run(bench: Bench): Promise<CaseResult>;
}

const warmUpMs = 1_500;

/** What the cases share: options, folders, and the two databases side by side. */
export class Bench {
  readonly options: BenchOptions;
  readonly #folder: string;
  readonly #say: (line: string) => void;
  #folders = 0;

  constructor(options: BenchOptions, folder: string, say: (line: string) => void) {
    this.options = options;
    this.#folder = folder;
    this.#say = say;
  }

  /** A new empty folder. */
  newFolder(name: string): string {
    const folder = join(this.#folder, `${++this.#folders}-${name}`);
    mkdirSync(folder, { recursive: true });
    return folder;
  }

  /** Runs `use` with an empty database of each kind, and closes them. */
  async withDatabases<T>(
    options: OpenOptions,
    use: (db: Database, raw: RawDatabase) => Promise<T>,
  ): Promise<T> {
    const db = await open(this.newFolder("percolatordb"), options);
    const raw = new RawDatabase(this.newFolder("lmdb"));
    try {
      return await use(db, raw);
    } finally {
      await db.close();
      await raw.close();
    }
  }

  compare(spec: ComparisonSpec): Promise<Comparison> {
    this.say(spec.name);
    return compare(spec, this.options.rounds, warmUpMs);
  }

  /** Says what is being done. */
  say(line: string): void {
    this.#say(line);
  }
}
