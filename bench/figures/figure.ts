import type { z } from "zod";

export type Size = "small" | "full";
export type BySize<T> = Readonly<Record<Size, T>>;

/** A measurement that can be run alone: a script of package.json that writes what it found as JSON. */
export interface Measurement {
  /** Its name within the figure. */
  readonly name: string;
  readonly script: string;
  readonly args: BySize<readonly string[]>;
  /** Minutes after which it is ended. */
  readonly minutes: BySize<number>;
  /** How many web archives it takes, where some are named; undefined: none. */
  readonly archives?: "one" | "all" | undefined;
  /** Not made with fewer web archives; 0 by default. What was found with some stays until it is made again. */
  readonly minArchives?: number | undefined;
  /** Options that name files which are of no use here, each with a file's name: they are written beside the JSON, and forgotten. */
  readonly unused?: Readonly<Record<string, string>> | undefined;
}

export interface Plot {
  /** The name of its file, without the ending. */
  readonly name: string;
  /** What stands in place of the picture. */
  readonly alt: string;
  readonly svg: string;
}

/** What is made of the results of a figure. */
export interface Drawing {
  /** Tables in Markdown. */
  readonly tables: readonly string[];
  readonly plots: readonly Plot[];
}

/** One figure of the page: what is measured for it, and what is made of that. */
export interface Figure {
  readonly name: string;
  readonly about: string;
  readonly measurements: readonly Measurement[];
  draw(results: FigureResults): Drawing;
}

/** What the measurements of a figure wrote, by their names; some may not be there. */
export class FigureResults {
  readonly #figure: string;
  readonly #results: Readonly<Record<string, unknown>>;

  constructor(figure: string, results: Readonly<Record<string, unknown>>) {
    this.#figure = figure;
    this.#results = results;
  }

  /** The result of a measurement; undefined where it was not made. Throws where it is not of the wanted shape. */
  get<T extends z.ZodType>(measurement: string, schema: T): z.output<T> | undefined {
    const result = this.#results[measurement];
    if (result === undefined) return undefined;
    const parsed = schema.safeParse(result);
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    throw new UnreadableResultError(
      `The result of ${this.#figure}/${measurement} cannot be read: ${issue?.path.join(".")}: ${issue?.message}`,
    );
  }
}

/** A measurement wrote something else than its figure reads. */
export class UnreadableResultError extends Error {
  override readonly name = "UnreadableResultError";
}
