import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { Machine } from "../harness/machine.js";
import type { Summary } from "../harness/statistics.js";
import { type Drawing, type Figure, FigureResults, type Size } from "./figure.js";

/** One measurement as it was made. */
export interface Measured {
  /** The command line that measures it again. */
  readonly command: string;
  readonly size: Size;
  readonly date: string;
  readonly seconds: number;
  /**
   * What other programs took of the processors just before; undefined if the system does not tell.
   */
  readonly busyBefore?: number | undefined;
  /**
   * The commit that was measured, with "-dirty" if files had changed since; undefined outside of a
   * clone.
   */
  readonly revision?: string | undefined;
  /** With the milliseconds to flush a page of 4 KiB that was appended to a temporary file. */
  readonly machine: Machine & { readonly flushMs: Summary };
  /** What the program wrote. */
  readonly result: unknown;
}

export type FigureMeasured = Readonly<Record<string, Measured>>;

/** By figure and measurement. */
export interface Results {
  readonly figures: Readonly<Record<string, FigureMeasured>>;
}

export const noResults: Results = { figures: {} };

/** Throws if the file has no results. */
export function readResults(path: string): Results {
  const results = JSON.parse(readFileSync(path, "utf8")) as Partial<Results>;
  if (typeof results.figures === "object") return { figures: results.figures };
  throw new Error(`${path} has no results: it must be a results.json that npm run figures wrote.`);
}

export function readResultsIfAny(path: string): Results {
  return existsSync(path) ? readResults(path) : noResults;
}

export function writeResults(path: string, results: Results): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${JSON.stringify(results, undefined, 1)}\n`);
}

/** All of both; the second one's if both have a measurement. */
export function merged(first: Results, second: Results): Results {
  const figures = { ...first.figures };
  for (const [name, measurements] of Object.entries(second.figures))
    figures[name] = { ...figures[name], ...measurements };
  return { figures };
}

/** What is drawn of a figure; nothing if nothing was measured. */
export function drawFigure(figure: Figure, results: Results): Drawing {
  const measured = Object.entries(results.figures[figure.name] ?? {});
  if (measured.length === 0) return { tables: [], plots: [] };
  return figure.draw(
    new FigureResults(Object.fromEntries(measured.map(([name, { result }]) => [name, result]))),
  );
}

/**
 * Results without those that cannot be drawn, with the names of these: older ones, of another
 * shape.
 */
export function readableOf(
  figures: readonly Figure[],
  results: Results,
): { readonly readable: Results; readonly dropped: readonly string[] } {
  const isReadable = (name: string) => {
    const figure = figures.find((each) => each.name === name);
    if (figure === undefined) return false;
    try {
      return !/NaN|undefined|Infinity/.test(JSON.stringify(drawFigure(figure, results)));
    } catch {
      return false;
    }
  };
  const names = Object.keys(results.figures);
  const kept = names.filter(isReadable);
  return {
    readable: { figures: Object.fromEntries(kept.map((name) => [name, results.figures[name]!])) },
    dropped: names.filter((name) => !kept.includes(name)),
  };
}
