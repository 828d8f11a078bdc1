import type { Problem, ProblemKind, Skipped } from "../sources/index.js";

/** The events of one kind. */
export interface Kind<K extends string = string> {
  readonly kind: K;
  readonly count: number;
  /** The first few events, with their place in the source. */
  readonly examples: readonly string[];
}

/** The result of loading one source. */
export interface LoadReport {
  readonly path: string;
  /** Pages that were read, including revisits. */
  readonly pages: number;
  readonly added: number;
  readonly changed: number;
  /** Pages whose contents equal the stored ones, including revisits. */
  readonly unchanged: number;
  /**
   * Pages that count as unchanged only because the server says so: revisits without a comparable
   * digest.
   */
  readonly unchecked: number;
  /**
   * Pages that have changed since they were loaded, as the digest of a revisit shows. The source
   * does not contain their new contents, so they also count as problems.
   */
  readonly stale: number;
  readonly deleted: number;
  /** Items that were read but are not indexed: images, redirects. */
  readonly skipped: number;
  /** Skipped items by reason. */
  readonly skips: readonly Kind[];
  /** What could not be read or loaded. */
  readonly problems: readonly Kind<ProblemKind>[];
  readonly problemCount: number;
}

const maxProblemExamples = 10;
const maxSkipExamples = 3;
/** Reasons can contain text from the source. Reasons beyond this number are counted together. */
const maxKinds = 20;

/** The counts during a load. */
export class LoadCounts implements LoadReport {
  readonly path: string;
  readonly skips: Kind[] = [];
  readonly problems: Kind<ProblemKind>[] = [];
  problemCount = 0;
  pages = 0;
  added = 0;
  changed = 0;
  unchanged = 0;
  unchecked = 0;
  stale = 0;
  deleted = 0;
  skipped = 0;

  constructor(path: string) {
    this.path = path;
  }

  /** Counts something that the user should look at. */
  problem(what: ProblemKind, at: Pick<Problem, "file" | "offset">, message: string, url?: string): void {
    this.problemCount++;
    const said = `${placeOf(at)}: ${message}`;
    countKind(this.problems, what, url === undefined ? said : `${said} (${url})`, maxProblemExamples);
  }

  skip({ reason, url, ...at }: Pick<Skipped, "file" | "offset" | "url" | "reason">): void {
    this.skipped++;
    const isNew = this.skips.length >= maxKinds && this.skips.every(({ kind }) => kind !== reason);
    countKind(this.skips, isNew ? "other reasons" : reason, `${placeOf(at)} (${url})`, maxSkipExamples);
  }

  /** Adds the counts of another load, except its pages, which are counted already. */
  add(other: LoadReport): void {
    for (const name of ["added", "changed", "unchanged", "unchecked", "stale", "deleted"] as const)
      this[name] += other[name];
    this.skipped += other.skipped;
    this.problemCount += other.problemCount;
    for (const kind of other.skips) addKind(this.skips, kind, maxSkipExamples);
    for (const kind of other.problems) addKind(this.problems, kind, maxProblemExamples);
  }
}

function addKind<K extends string>(kinds: Kind<K>[], added: Kind<K>, maxExamples: number): void {
  const at = kinds.findIndex(({ kind }) => kind === added.kind);
  const before = kinds[at] ?? { kind: added.kind, count: 0, examples: [] };
  const examples = [...before.examples, ...added.examples].slice(0, maxExamples);
  kinds[at < 0 ? kinds.length : at] = { ...before, count: before.count + added.count, examples };
}

/** Counts one event of a kind. Keeps the first few as examples. */
export function countKind<K extends string>(
  kinds: Kind<K>[],
  kind: K,
  example: string,
  maxExamples: number,
): void {
  const at = kinds.findIndex((each) => each.kind === kind);
  const before = kinds[at] ?? { kind, count: 0, examples: [] };
  const examples = before.count < maxExamples ? [...before.examples, example] : before.examples;
  kinds[at < 0 ? kinds.length : at] = { kind, count: before.count + 1, examples };
}

/** Describes a place in a source, for messages. */
export function placeOf({ file, offset }: Pick<Problem, "file" | "offset">): string {
  return offset === 0 ? file : `${file}, byte ${offset}`;
}
