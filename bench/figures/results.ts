import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { Machine } from "../harness/machine.js";
import type { Summary } from "../harness/statistics.js";
import { type Drawing, type Figure, FigureResults, type Size } from "./figure.js";

/** One measurement that was run. */
export interface Measured {
  /** The command line that repeats it. */
  readonly command: string;
  readonly size: Size;
  readonly date: string;
  readonly seconds: number;
  /**
   * The share of the processors that other programs used just before. Undefined if the system does
   * not report it.
   */
  readonly busyBefore?: number | undefined;
  /**
   * The measured commit, with "-dirty" if files had changed since. Undefined outside of a clone.
   */
  readonly revision?: string | undefined;
  /** Includes the milliseconds to flush a page of 4 KiB appended to a temporary file. */
  readonly machine: Machine & { readonly flushMs: Summary };
  /** The program's output. */
  readonly result: unknown;
}

export type FigureMeasured = Readonly<Record<string, Measured>>;

/** A run of all measurements, one after the other. */
export interface WholeRun {
  readonly date: string;
  readonly seconds: number;
  readonly revision: Measured["revision"];
  readonly machine: Machine;
  /** How many web archives it was given. Without any, the measurements that need some are left out. */
  readonly archives: number;
}

export interface Results {
  /** By figure and measurement. */
  readonly figures: Readonly<Record<string, FigureMeasured>>;
  /** The last run of all measurements at each size. */
  readonly runs?: Readonly<Partial<Record<Size, WholeRun>>> | undefined;
}

export const noResults: Results = { figures: {} };

/** Reads results. Throws if the file has none. */
export function readResults(path: string): Results {
  const { figures, runs } = JSON.parse(readFileSync(path, "utf8")) as Partial<Results>;
  if (typeof figures === "object") return { figures, runs };
  throw new Error(`${path} has no results: it must be a results.json that npm run figures wrote.`);
}

export function readResultsIfAny(path: string): Results {
  return existsSync(path) ? readResults(path) : noResults;
}

export function writeResults(path: string, results: Results): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${JSON.stringify(results, undefined, 1)}\n`);
}

/** Merges both. If both have a result of a measurement, or a whole run of a size, that in `second` counts. */
export function merged(first: Results, second: Results): Results {
  const figures = { ...first.figures };
  for (const [name, measurements] of Object.entries(second.figures))
    figures[name] = { ...figures[name], ...measurements };
  return { figures, runs: { ...first.runs, ...second.runs } };
}

/** Draws a figure. Returns nothing if it has no results. */
export function drawFigure(figure: Figure, results: Results): Drawing {
  const measured = Object.entries(results.figures[figure.name] ?? {});
  if (measured.length === 0) return { tables: [], plots: [] };
  return figure.draw(
    new FigureResults(Object.fromEntries(measured.map(([name, { result }]) => [name, result]))),
  );
}

/**
 * Leaves out results that cannot be drawn, such as older ones with another type. Returns their
 * names too.
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
    readable: { ...results, figures: Object.fromEntries(kept.map((name) => [name, results.figures[name]!])) },
    dropped: names.filter((name) => !kept.includes(name)),
  };
}
