import { InvalidValueError } from "../../index.js";
import {
  addExact,
  type ExactNumber,
  exactOf,
  exactZero,
  formatExact,
  negated,
  parseExact,
  toNumber,
} from "./exact-number.js";

/** What some rows of a group add to its count and its sum. Parts of a group add up to the group. */
export interface PartialSum {
  readonly rows: number;
  readonly sum: ExactNumber;
  /** Number of summands that are no safe integers. If there are none, the sum must be exact. */
  readonly fractions: number;
}

export const emptySum: PartialSum = { rows: 0, sum: exactZero, fractions: 0 };

/** Returns what one row with this summand adds, or takes away with a sign of -1. */
export function partialOf(summand: number | undefined, sign: 1 | -1): PartialSum {
  if (summand === undefined) return { rows: sign, sum: exactZero, fractions: 0 };
  const exact = exactOf(summand);
  const fractions = Number.isSafeInteger(summand) ? 0 : sign;
  return { rows: sign, sum: sign === 1 ? exact : negated(exact), fractions };
}

export function addPartial(one: PartialSum, other: PartialSum): PartialSum {
  return {
    rows: one.rows + other.rows,
    sum: addExact(one.sum, other.sum),
    fractions: one.fractions + other.fractions,
  };
}

export function isEmptySum({ rows, sum, fractions }: PartialSum): boolean {
  return rows === 0 && sum.units === 0n && fractions === 0;
}

/** Returns the partial sum as text: `ROWS SUM FRACTIONS`. */
export function formatPartial({ rows, sum, fractions }: PartialSum): string {
  return `${rows} ${formatExact(sum)} ${fractions}`;
}

/** Parses what {@link formatPartial} returned. */
export function parsePartial(stored: string): PartialSum {
  const [rows, sum, fractions] = stored.split(" ");
  return { rows: Number(rows), sum: parseExact(sum!), fractions: Number(fractions) };
}

/**
 * Returns the sum as a number. A sum of integers is exact. A sum with fractions is rounded once.
 *
 * @throws InvalidValueError if a sum of integers leaves the safe integers, or any sum the numbers.
 */
export function sumOf(derivation: string, group: string, { sum, fractions }: PartialSum): number {
  const value = toNumber(sum);
  if (fractions === 0 ? Number.isSafeInteger(value) : Number.isFinite(value)) return value;
  const range =
    fractions === 0
      ? `only from ${Number.MIN_SAFE_INTEGER} to ${Number.MAX_SAFE_INTEGER}`
      : "only up to 1.8e308";
  throw new InvalidValueError(
    `Derivation "${derivation}", group ${group}: the sum is too large, because it goes ${range}. No row is lost: the sum is ` +
      "right again when the rows add up to less. Sum smaller units, or divide the group.",
  );
}
