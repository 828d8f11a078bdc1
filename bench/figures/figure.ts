export type Size = "small" | "full";
type BySize<T> = Readonly<Record<Size, T>>;

/** A measurement that can be run alone: a script of package.json that writes its result as JSON. */
export interface Measurement {
  /** Its name within the figure. */
  readonly name: string;
  readonly script: string;
  readonly args: BySize<readonly string[]>;
  /** Minutes after which it is stopped. */
  readonly minutes: BySize<number>;
  /** How many of the given web archives it takes; undefined: none. */
  readonly archives?: "one" | "all" | undefined;
  /** With fewer web archives it is not made, and its last result stays; 0 by default. */
  readonly minArchives?: number | undefined;
}

export interface Plot {
  /** The name of its file, without the ending. */
  readonly name: string;
  /** What stands in place of the picture. */
  readonly alt: string;
  readonly svg: string;
}

export interface Drawing {
  /** Tables in Markdown. */
  readonly tables: readonly string[];
  readonly plots: readonly Plot[];
}

/** One figure of docs/performance.md: its measurements, and what is made of their results. */
export interface Figure {
  readonly name: string;
  readonly about: string;
  readonly measurements: readonly Measurement[];
  draw(results: FigureResults): Drawing;
}

/** The results of a figure's measurements, as their programs wrote them; some may be missing. */
export class FigureResults {
  readonly #results: Readonly<Record<string, unknown>>;

  constructor(results: Readonly<Record<string, unknown>>) {
    this.#results = results;
  }

  /**
   * The result of a measurement; undefined if it was not made. The caller knows its type, and
   * drawing fails for another.
   */
  get<T>(measurement: string): T | undefined {
    return this.#results[measurement] as T | undefined;
  }
}
