import { right, short, table, whole } from "../harness/words.js";

/** One table of the schema at one moment, as the server counts it. */
export interface TableSample {
  /** The table's pages, with those of its large values, in bytes. */
  readonly bytes: number;
  /** The pages of its indexes, in bytes. */
  readonly indexBytes: number;
  /** Dead rows. The server's estimate. */
  readonly dead: number;
  /** How often autovacuum has passed since the server's start. */
  readonly vacuums: number;
}

/** The schema at one moment. */
export interface BloatSample {
  /** Seconds since the samples began. */
  readonly at: number;
  /** Updates committed since the samples began. */
  readonly updates: number;
  /** By the table's name. */
  readonly tables: Readonly<Record<string, TableSample>>;
}

/** What the samples say. */
export interface Bloat {
  /** Committed updates a second. */
  readonly perSecond: number;
  /** Size of `cells` with its index at the start of the second half of the samples, in bytes. */
  readonly before: number;
  /** The largest size of `cells` with its index in the second half, in bytes. */
  readonly after: number;
  /** By how much `after` is larger than `before`: 0.1 is 10 %. */
  readonly growth: number;
  /** The largest size of each small table with its index, in bytes. */
  readonly small: Readonly<Record<string, number>>;
}

export interface BloatResult extends Bloat {
  readonly options: object;
  readonly server: string;
  readonly samples: readonly BloatSample[];
  /** Garbage collections of the database that ran during the samples. */
  readonly collections: number;
  readonly wrong: number;
  /** The problems that `check` found. */
  readonly problems: number;
}

/** The most by which `cells` may grow in the second half: 0.1 is 10 %. */
export const maxGrowth = 0.1;
/**
 * The most that a table with a row for the database, a process or a table may take: 1 MiB, far less
 * than the versions of its rows take if nothing removes them.
 */
export const maxSmallBytes = 2 ** 20;

const mebibyte = 2 ** 20;
const main = "cells";

function sizeOf(sample: BloatSample, name: string): number {
  const found = sample.tables[name];
  return found === undefined ? 0 : found.bytes + found.indexBytes;
}

/** The verdict on samples in the order of their seconds. */
export function bloatOf(samples: readonly BloatSample[]): Bloat {
  const last = samples.at(-1)!;
  const half = samples.filter(({ at }) => at >= last.at / 2);
  const before = sizeOf(half[0]!, main);
  const after = Math.max(...half.map((sample) => sizeOf(sample, main)));
  const names = Object.keys(last.tables).filter((name) => name !== main);
  return {
    perSecond: last.updates / last.at,
    before,
    after,
    growth: after / before - 1,
    small: Object.fromEntries(
      names.map((name) => [name, Math.max(...samples.map((sample) => sizeOf(sample, name)))]),
    ),
  };
}

/** Whether the tables kept their size. */
export function isFlat({ growth, small }: Pick<Bloat, "growth" | "small">): boolean {
  return growth <= maxGrowth && Object.values(small).every((bytes) => bytes <= maxSmallBytes);
}

export function describeBloat(result: BloatResult): readonly string[] {
  const { samples, perSecond, growth, small, collections, wrong, problems } = result;
  const step = Math.max(1, Math.floor(samples.length / 12));
  const shown = samples.filter((_, index) => index % step === 0 || index === samples.length - 1);
  const columns = [
    right("minute"),
    right("updates"),
    right("MiB table"),
    right("MiB index"),
    right("dead rows"),
    right("autovacuums"),
  ];
  const rows = shown.map(({ at, updates, tables }) => {
    const cells = tables[main]!;
    return [
      (at / 60).toFixed(1),
      whole(updates),
      short(cells.bytes / mebibyte),
      short(cells.indexBytes / mebibyte),
      whole(cells.dead),
      whole(cells.vacuums),
    ];
  });
  const others = Object.entries(small).map(([name, bytes]) => `${name} ${whole(bytes / 1_024)} KiB`);
  return [
    `${whole(perSecond)} updates/s, each with the run of an observer; ${whole(collections)} collections meanwhile; rows wrong in the end: ${whole(wrong)}; problems: ${whole(problems)}.`,
    table(columns, rows),
    `\`cells\` grew by ${(100 * growth).toFixed(1)} % in the second half, with its index; at most ${100 * maxGrowth} % are allowed. The largest sizes of the others: ${others.join(", ")}; at most ${whole(maxSmallBytes / 1_024)} KiB are allowed.`,
  ];
}
