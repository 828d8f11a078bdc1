import type { Problem, Skipped } from "../sources/index.js";

/** What loading one source did. */
export interface LoadReport {
  readonly path: string;
  /** Pages that were read, revisits included. */
  readonly pages: number;
  readonly added: number;
  readonly changed: number;
  /** Pages whose contents are those that are stored, revisits included. */
  readonly unchanged: number;
  readonly deleted: number;
  /** Read, and of no use: images, redirects. */
  readonly skipped: number;
  /** What could not be read or loaded, with where it stands; the first ones. */
  readonly problems: readonly string[];
  readonly problemCount: number;
}

const mostProblems = 100;

/** A report in the making. */
export class LoadCounts implements LoadReport {
  readonly path: string;
  readonly problems: string[] = [];
  problemCount = 0;
  pages = 0;
  added = 0;
  changed = 0;
  unchanged = 0;
  deleted = 0;
  skipped = 0;

  constructor(path: string) {
    this.path = path;
  }

  /** Something that the user should look at. */
  problem(at: Pick<Problem, "file" | "offset">, message: string, url?: string): void {
    this.problemCount++;
    if (this.problems.length >= mostProblems) return;
    const place = at.offset === 0 ? at.file : `${at.file}, byte ${at.offset}`;
    this.problems.push(url === undefined ? `${place}: ${message}` : `${place}: ${message} (${url})`);
  }

  skip(_item: Skipped): void {
    this.skipped++;
  }
}
