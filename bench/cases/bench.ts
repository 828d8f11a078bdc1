import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Database, type OpenOptions, open } from "percolatordb";
import { type Comparison, type ComparisonSpec, compare } from "../harness/compare.js";
import { type CommonOptions, sayProgress } from "../harness/program.js";
import { RawDatabase } from "../harness/raw.js";
import { type Summary, summarize } from "../harness/statistics.js";

export interface BenchOptions extends CommonOptions {
  /** The cases to run. If empty, all. */
  readonly only: readonly string[];
  readonly quick: boolean;
  readonly cells: number;
  readonly rounds: number;
  /** The source that the case `wire` loads. Undefined: crawls of a generated site. */
  readonly source?: string | undefined;
}

/** A figure other than a comparison of rates. */
export interface CaseFigure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly spread?: Summary | undefined;
  /** The upper limit for the value. Undefined if there is none. */
  readonly ceiling?: number | undefined;
}

export interface CaseResult {
  readonly comparisons: readonly Comparison[];
  readonly figures: readonly CaseFigure[];
  /** The version and the settings of the server that was measured. Undefined: no server. */
  readonly configuration?: string | undefined;
}

/** The output of `npm run bench`. */
export interface BenchResult {
  readonly cases: Readonly<Record<string, CaseResult | { readonly error: string }>>;
}

/** One measurement. It can be selected by name. */
export interface BenchCase {
  readonly name: string;
  readonly about: string;
  run(bench: Bench): Promise<CaseResult>;
}

/** The median, with quartiles. */
export function figureOf(
  name: string,
  unit: string,
  measurements: readonly number[],
  ceiling?: number,
): CaseFigure & { readonly spread: Summary } {
  const spread = summarize(measurements);
  return { name, unit, value: spread.median, spread, ceiling };
}

const warmUpMs = 1_500;

/** Shared by the cases: options, folders, and the two databases to compare. */
export class Bench {
  readonly options: BenchOptions;
  readonly #folder: string;
  #folders = 0;

  constructor(options: BenchOptions, folder: string) {
    this.options = options;
    this.#folder = folder;
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
    const raw = new RawDatabase(this.newFolder("lmdb"));
    try {
      await using db = await open(this.newFolder("percolatordb"), options);
      return await use(db, raw);
    } finally {
      await raw.close();
    }
  }

  compare(spec: ComparisonSpec): Promise<Comparison> {
    this.say(spec.name);
    return compare(spec, this.options.rounds, warmUpMs);
  }

  /** Shows the current activity. */
  say(line: string): void {
    sayProgress(line);
  }
}
