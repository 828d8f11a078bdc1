export type Size = "small" | "full";
type BySize<T> = Readonly<Record<Size, T>>;

/** A measurement that can run alone: a script of package.json that writes its result as JSON. */
export interface Measurement {
  /** Its name within the figure. */
  readonly name: string;
  readonly script: string;
  readonly args: BySize<readonly string[]>;
  /** The time limit in minutes. */
  readonly minutes: BySize<number>;
  /** How many of the given web archives it uses. Undefined: none. */
  readonly archives?: "one" | "all" | undefined;
  /**
   * With fewer web archives the measurement is skipped, and its last result is kept. Default: 0.
   */
  readonly minArchives?: number | undefined;
}

export interface Plot {
  /** The name of its file, without the extension. */
  readonly name: string;
  /** The alternative text of the picture. */
  readonly alt: string;
  readonly svg: string;
}

export interface Drawing {
  /** Tables in Markdown. */
  readonly tables: readonly string[];
  readonly plots: readonly Plot[];
}

/** One figure of docs/performance.md: its measurements, and how to draw their results. */
export interface Figure {
  readonly name: string;
  readonly about: string;
  readonly measurements: readonly Measurement[];
  draw(results: FigureResults): Drawing;
}

/** The results of a figure's measurements, as their programs wrote them. Some may be missing. */
export class FigureResults {
  readonly #results: Readonly<Record<string, unknown>>;

  constructor(results: Readonly<Record<string, unknown>>) {
    this.#results = results;
  }

  /**
   * Returns the result of a measurement, or undefined if there is none. The caller knows its type.
   * If the type is wrong, drawing fails.
   */
  get<T>(measurement: string): T | undefined {
    return this.#results[measurement] as T | undefined;
  }
}
