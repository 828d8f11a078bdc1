import type { Mark, Sample } from "./chart.js";

export const rowOf = (number: number) => `${(number * 7919) % 1_000}-${number}`;
export const contentsOf = (number: number) => "x".repeat(1 + (number % 400));

/** A document as it was found in the end. */
export interface Document {
  readonly contents?: string | undefined;
  readonly length?: number | undefined;
  readonly runs?: number | undefined;
}

/**
 * Of the documents with numbers below `written`, the rows of those that are missing, that are not as they were written, or that were not
 * handled, or more than once; and rows that nobody wrote.
 */
export function wrongDocuments(
  found: Iterable<readonly [row: string, document: Document]>,
  written: number,
): readonly string[] {
  const expected = new Map(
    Array.from({ length: written }, (_, number) => [rowOf(number), contentsOf(number)]),
  );
  const wrong: string[] = [];
  for (const [row, { contents, length, runs }] of found) {
    const wanted = expected.get(row);
    expected.delete(row);
    if (wanted === undefined || contents !== wanted || length !== wanted.length || runs !== 1)
      wrong.push(row);
  }
  return [...wrong, ...expected.keys()];
}

/** What was found in the end. */
export interface Verdict {
  readonly changes: number;
  /** Lost, or handled twice. */
  readonly wrong: number;
  /** That `check` found. */
  readonly problems: number;
}

export function exitCodeOf({ changes, wrong, problems }: Verdict): number {
  return changes > 0 && wrong === 0 && problems === 0 ? 0 : 1;
}

/** Mean rates, in runs a second. */
export interface Phases {
  readonly before: number;
  /** From the kill to the replacement. */
  readonly during: number;
  /** In the second half after the replacement: until then the new workers begin. */
  readonly after: number;
}

/** The first mark is the kill, the second the replacement. Throws where a phase has no sample. */
export function phasesOf(samples: readonly Sample[], marks: readonly Mark[]): Phases {
  const [killed, replaced] = marks.map(({ at }) => at) as [number, number];
  const end = samples.at(-1)?.at ?? 0;
  const mean = (from: number, to: number) => {
    const rates = samples.filter(({ at }) => at > from && at <= to).map(({ rate }) => rate);
    if (rates.length === 0) throw new RangeError(`There is no sample from ${from} to ${to} s.`);
    return rates.reduce((sum, rate) => sum + rate, 0) / rates.length;
  };
  return {
    before: mean(0, killed),
    during: mean(killed, replaced),
    after: mean((replaced + end) / 2, end),
  };
}
