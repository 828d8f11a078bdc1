import type { Problem, ProblemKind, Skipped } from "../sources/index.js";

/** What happened of one kind. */
export interface Kind<K extends string = string> {
  readonly kind: K;
  readonly count: number;
  /** The first of them, with where they stand. */
  readonly examples: readonly string[];
}

/** What loading one source did. */
export interface LoadReport {
  readonly path: string;
  /** Pages that were read, revisits included. */
  readonly pages: number;
  readonly added: number;
  readonly changed: number;
  /** Pages whose contents are those that are stored, revisits included. */
  readonly unchanged: number;
  /**
   * Those of them that are unchanged by the server's word alone: revisits without a digest that
   * could be compared.
   */
  readonly unchecked: number;
  /**
   * Pages that have changed since they were loaded, by the digest of a revisit, and whose contents
   * are not in the source. Problems, too.
   */
  readonly stale: number;
  readonly deleted: number;
  /** Read, and of no use: images, redirects. */
  readonly skipped: number;
  /** By reason. */
  readonly skips: readonly Kind[];
  /** What could not be read or loaded. */
  readonly problems: readonly Kind<ProblemKind>[];
  readonly problemCount: number;
}

const maxProblemExamples = 10;
const maxSkipExamples = 3;
/** Reasons may have something of the source in them: further ones are counted together. */
const maxKinds = 20;

/** A report in the making. */
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

  /** Something that the user should look at. */
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
}

/** Counts one more of a kind; of the first ones, what they are. */
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

/** A place in a source, for a reader. */
export function placeOf({ file, offset }: Pick<Problem, "file" | "offset">): string {
  return offset === 0 ? file : `${file}, byte ${offset}`;
}
